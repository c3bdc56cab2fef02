"""What modules of the core know of objects from modules above them. This file imports nothing of the harness."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol


class Formulation(Protocol):
    """A class of problems, as a case of its zoo sees it: see ``harness.Problem``."""

    @property
    def name(self) -> str: ...

    @property
    def laws(self) -> Any: ...

    @property
    def sells_labels(self) -> bool: ...

    def build(self, kernel: Any, targets: Any, values: Mapping[str, Any] | None = None) -> Any:
        """State the problem over ``kernel`` and ``targets`` with the formulation's parameters by name."""
