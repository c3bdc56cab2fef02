"""A whole file as a classification problem: what the readers give, with the labels as signs."""

from __future__ import annotations

from typing import Any

from harness.datasets.labels import learn_classes
from harness.datasets.readers import read_table
from harness.datasets.tables import Options


def read(path: str, *, positive: str | None = None, **options: Any) -> tuple[Any, Any]:
    """Return the (n, d) points and (n,) labels -1 / +1 of a file."""
    table = read_table(path, options=Options(**options))
    return table.x, learn_classes(table.labels, positive, path).signs(table.labels, path)
