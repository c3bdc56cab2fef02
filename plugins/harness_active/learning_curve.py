"""Compute the area under learning curves over the number of labels (AUBC: area under the budget curve)."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

_REASONS = ("queried", "end")  # reasons of trace points that belong to a curve


def areas(trace: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return the area under the curve of each test figure over the labels, by the trapezoidal rule, divided by their range.

    The range is from the first point of the curve to its last. Curves with one point and metrics that are not numbers are left out.

    trace : points as from `TracePoint.as_dict`. A curve consists of the points at fixed numbers of labels and the last point.
        Other points are left out, as their times depend on the machine, and so are points without labels or without the
        figure. ``accuracy`` is the fraction of the test points with the right sign
    """
    curves: dict[str, list[tuple[int, float]]] = {}
    for point in trace:
        labels = point.get("queried")
        if not labels or point.get("reason") not in _REASONS:
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
