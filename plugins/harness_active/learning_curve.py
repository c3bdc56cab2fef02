"""Learning curves over the queried labels, and the area under them (AUBC: area under the budget curve)."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

_OF_THE_LADDER = ("queried", "end")


def areas(trace: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return for each test figure the area under its curve over the labels, by trapezoids, divided by their range.

    The range is from the first point of the curve to its last; a figure whose curve has no range is left out.

    trace : points as `TracePoint.as_dict` has them. A curve has the points that are due by the number of labels, and the
        end. Others are left out: when they are due depends on the machine. So are points without a label or the figure.
        ``accuracy`` is the share of the test points with the right sign. A metric that is no number has no curve
    """
    curves: dict[str, list[tuple[int, float]]] = {}
    for point in trace:
        labels = point.get("queried")
        if not labels or point.get("reason") not in _OF_THE_LADDER:
            continue
        for name, value in {"accuracy": point.get("test_accuracy"), **(point.get("metrics") or {})}.items():
            if isinstance(value, Real):
                curves.setdefault(name, []).append((labels, float(value)))
    result = {}
    for name, curve in curves.items():
        if (width := curve[-1][0] - curve[0][0]) > 0:
            pairs = itertools.pairwise(curve)
            result[name] = sum((after - before) * 0.5 * (low + high) for (before, low), (after, high) in pairs) / width
    return result
