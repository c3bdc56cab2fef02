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
    def queries_targets(self) -> bool: ...

    def build(self, kernel: Any, targets: Any, values: Mapping[str, Any] | None = None) -> Any:
        """State the problem over ``kernel`` and ``targets`` with the formulation's parameters by name."""


class Allowance(Protocol):
    """How many points may be given up: of the positives (against the origin: of all), of the negatives, and in sum."""

    @property
    def positive(self) -> int: ...

    @property
    def negative(self) -> int: ...

    @property
    def both(self) -> int: ...

    def splits(self) -> range:
        """Return the numbers of positives that may be given up where ``both`` points are."""


class WithOutliers(Protocol):
    """A problem of hulls some of whose points may be given up, as the bounds of its optimum see it."""

    kernel: Any
    positive: Any
    share: Any

    @property
    def n(self) -> int: ...

    @property
    def against_origin(self) -> bool: ...
