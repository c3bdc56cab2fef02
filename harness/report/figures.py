"""Numbers as text: short, aligned, and never more digits than a measurement has."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import Any

from harness.support.decimals import ROUNDING, gap, power, target
from harness.support.printable import is_number

__all__ = ["ROUNDING", "gap", "is_number", "power", "target"]

NOT_OBSERVABLE = "-"
TINY = 1e-300  # a figure of 0 counts as this in a ratio or a geometric mean

SETTINGS: dict[str, Callable[[float], str]] = {
    "target_gap": lambda value: f"target {target(value)}",
    "iteration_limit": lambda value: f"iterations <= {value:,.0f}",
    "kernel_evaluation_limit": lambda value: f"kernel evals <= {value:,.0f}",
    "time_limit": lambda value: f"limit {value:g} s",
    "memory_limit": lambda value: f"memory {value / 2**20:g} MB",
    "cache_mb": lambda value: f"cache {value:g} MB",
    "threads": lambda value: f"{value:g} thread{'' if value == 1 else 's'}",
}
"""What a run was given beside its problem, and how a row says so."""


def seconds(value: float) -> str:
    """Three significant digits: ``0.0123``, ``12.0``, ``1234``; below 0.1 ms as a power of ten."""
    if value != 0 and abs(value) < 1e-4:
        return power(value)
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:#.3g}".rstrip(".")


def count(value: float) -> str:
    """A whole number up to 9999, then three digits and k, M, G or T: ``12.3k``, ``1.23M``."""
    if abs(value) < 9999.5:
        return f"{value:.0f}"
    for suffix in ("k", "M", "G"):
        value /= 1000.0
        if abs(value) < 999.5:
            return f"{value:#.3g}".rstrip(".") + suffix
    return f"{value / 1000.0:.3g}T"


def percent(value: float) -> str:
    """Return a share in per cent with two decimals: ``97.16``."""
    return f"{100.0 * value:.2f}"


def ratio(value: float) -> str:
    """Return a ratio of at most 1 to six decimals, rounded down, so that it stays a lower bound."""
    return f"{math.floor(value * 1e6) / 1e6:.6f}"


def significant(value: float) -> str:
    """Four significant digits, for figures of any kind."""
    return f"{value:.4g}"


def quantity(value: float) -> str:
    """A whole number as a count, any other with four significant digits."""
    return count(value) if value == round(value) else significant(value)


def spread(values: Sequence[float]) -> str:
    """Half the range of several values over their median: `` ±8%``; empty for a single one."""
    middle = median(values)
    if len(values) < 2 or middle <= 0:
        return ""
    half = 50.0 * (max(values) - min(values)) / middle
    return f" ±{half:.0f}%" if half >= 0.5 else " ±0%"


def span(first: str, last: str) -> str:
    """Return ``1 to 3``, or one of them if they are the same."""
    return first if first == last else f"{first} to {last}"


def assignments(values: Mapping[str, Any]) -> str:
    """Return ``C=10 chi=2``."""
    return " ".join(f"{name}={setting(value)}" for name, value in values.items())


def setting(value: Any) -> str:
    """Return a parameter's value: numbers with at most six digits."""
    return f"{value:.6g}" if isinstance(value, float) else str(value)
