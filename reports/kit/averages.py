"""What sums up many numbers: a geometric mean, and the power by which a time grows."""

from __future__ import annotations

import math
from collections.abc import Iterable


def geometric_mean(values: Iterable[float]) -> float | None:
    """Return the geometric mean of positive values, None of none."""
    logs = [math.log(value) for value in values]
    return math.exp(sum(logs) / len(logs)) if logs else None


def slope(points: list[tuple[int, float]]) -> float | None:
    """Return the exponent p of time ~ n^p, least squares in logarithms; None for fewer than two sizes."""
    if len(points) < 2:
        return None
    x, y = [math.log(n) for n, _ in points], [math.log(seconds) for _, seconds in points]
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    return sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True)) / sum((a - mean_x) ** 2 for a in x)
