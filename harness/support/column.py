"""What a formulation adds to the records of its runs: the name, unit and meaning of a figure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal

from harness.support.errors import PluginError


@dataclass(frozen=True)
class Column:
    """A figure that a formulation adds to records and tables; the formulation declares it in ``Problem.columns``.

    A column with the name of a field of a record, ``margin_lower`` for example, shows that field in tables. The value of
    any other column is computed by ``Problem.figures``, and a record has it in its field ``figures``.

    name : an identifier
    unit : ``points``, ``s`` ...; empty: the figure has none
    better : which end is better; None: the figure is shown, and rows are not ranked by it
    meaning : a sentence for readers of a table
    title : the heading in tables, a newline between its lines; empty: the name
    """

    name: str
    unit: str = ""
    better: Literal["low", "high"] | None = None
    meaning: str = ""
    title: str = ""

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z][a-z0-9_]*", self.name):
            raise PluginError(f"a column has the name {self.name!r}; it must be lower-case letters, digits and _ only.")
        if self.better not in ("low", "high", None):
            raise PluginError(f"column '{self.name}' has better={self.better!r}; it must be 'low', 'high' or None.")

    def as_dict(self) -> dict[str, Any]:
        """Return the column as a record has it, without its name."""
        title = self.title or self.name.replace("_", "\n", 1).replace("_", " ")
        return {"title": title, "unit": self.unit, "better": self.better, "meaning": self.meaning}
