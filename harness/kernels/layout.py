"""The points of a kernel as compiled loops take them; this module imports no numba."""

from __future__ import annotations

from typing import Any, NamedTuple


class Layout(NamedTuple):
    """Points and kernel for compiled loops; to be passed on, and changed by :func:`put` and :func:`combine` only.

    n : number of points, or of places for extra points of the solver
    points : (panels, depth, squared norms), see scan.py
    rare : (row_ptr, row_feature, row_value), the rare features point by point
    place : (d,) int32, place of each feature among the dense ones, or the inverted one (~) among the rare ones
    centre : (depth,) what is subtracted from the dense features
    form : (mode of the scan, gamma, coef0, degree), degree 0 where the scan's values are the kernel's
    listed : whether rows list all dense features
    ridge : added by :func:`row` and :func:`value` to k(x_i, x_i)
    evaluations : (1,) int64, the counter's memory
    """

    n: int
    points: Any
    rare: Any
    place: Any
    centre: Any
    form: Any
    listed: bool
    ridge: float
    evaluations: Any
