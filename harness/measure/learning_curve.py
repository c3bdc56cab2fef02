"""Learning curves over the labels that were bought, and the area under them (AUBC: area under the budget curve)."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

Curve = list[tuple[int, float]]
_OF_THE_LADDER = ("labels", "end")


def curves(trace: Sequence[Mapping[str, Any]]) -> dict[str, Curve]:
    """Return for each test figure its curve, pairs (labels bought, figure) in the order of the run.

    trace : points as `TracePoint.as_dict` has them. Of the curves are those of the ladder of labels, and the end: when a
        point of the other series was due depends on the machine. Without a label, or without the figure, it is none.
        ``accuracy`` is the share of the test points with the right sign. A metric that is no number has no curve
    """
    found: dict[str, Curve] = {}
    for point in trace:
        labels = point.get("labels_used")
        if not labels or point.get("reason") not in _OF_THE_LADDER:
            continue
        figures = {"accuracy": point.get("test_accuracy"), **(point.get("metrics") or {})}
        for name, value in figures.items():
            if isinstance(value, Real):
                found.setdefault(name, []).append((labels, float(value)))
    return found


def areas(trace: Sequence[Mapping[str, Any]]) -> dict[str, float] | None:
    """Return for each test figure the area under its curve, by trapezoids, over the range of labels: a mean figure.

    The range is from the first point of the curve to its last; a figure whose curve has no range is left out. None where
    no figure has one.
    """
    found = {name: area for name, curve in curves(trace).items() if (area := area_under(curve)) is not None}
    return found or None


def area_under(curve: Curve) -> float | None:
    """Return the area under one curve divided by its range of labels; None if that is empty."""
    if not curve or curve[-1][0] <= curve[0][0]:
        return None
    area = sum((after - before) * 0.5 * (low + high) for (before, low), (after, high) in itertools.pairwise(curve))
    return area / (curve[-1][0] - curve[0][0])
