"""Shares of points as whole numbers."""

from __future__ import annotations

import math

_ROUNDING = 1e-9  # a share times a number of points is a whole number up to this


def rounded_down(points: float) -> int:
    """Return a share times a number of points, >= 0, as a whole number of them: 0.29 x 100 is 29."""
    return math.floor(points + _ROUNDING)
