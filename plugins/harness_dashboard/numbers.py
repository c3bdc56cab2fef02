"""Read the figures of a run and round them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from harness.report.figures import is_number
from harness.report.timing import seconds

if TYPE_CHECKING:
    from collections.abc import Mapping


def figure(run: Mapping[str, Any], name: str) -> float | None:
    """Return a field, a metric or ``test_error`` of a run or of a point of its trace; None if it has no such number."""
    if name == "test_error":
        accuracy = run.get("test_accuracy")
        return 1.0 - accuracy if is_number(accuracy) else None
    value = seconds(run, name) if name in run else (run.get("metrics") or {}).get(name)
    return value if is_number(value) else None


def rounded(value: float, digits: int = 6) -> float | int:
    """Return the value rounded to ``digits`` significant digits; an int if it is whole."""
    short = float(f"{value:.{digits}g}")
    return int(short) if short.is_integer() and abs(short) < 1e15 else short
