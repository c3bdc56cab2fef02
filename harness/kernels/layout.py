"""The points of a kernel as compiled loops take them; this module imports no numba."""

from __future__ import annotations

from typing import Any, NamedTuple

# bytes of a chunk, 8 AVX2 registers: two fused multiply-adds a cycle, each four cycles long, keep 8 sums in flight
CHUNK_BYTES = 256
# values of compiled.scan(): <x, z>, the RBF kernel in two ways, or (gamma <x, z> + coef0)^degree
PRODUCTS, RBF_OF_PRODUCTS, RBF_OF_DIFFERENCES, POWER = range(4)


class Layout(NamedTuple):
    """Points and kernel for compiled loops; to be passed on, and changed by `put()` and `combine()` of loops.py only.

    n : number of points, or of places for extra points of the solver
    points : (panels, depth, squared norms), see scan.py
    rare : (row_ptr, row_feature, row_value), the rare features point by point
    features : (place, centre, listed): (d,) int32, place of each feature among the dense ones, or the inverted one (~)
        among the rare ones; (depth,) what is subtracted from the dense features; whether rows list all dense features
    form : (mode of the scan, gamma, coef0, degree), degree 0 where the scan's values are the kernel's
    ridge : added by `row()` and `value()` of loops.py to k(x_i, x_i)
    evaluations : (1,) int64, the counter's memory
    """

    n: int
    points: Any
    rare: Any
    features: Any
    form: Any
    ridge: float
    evaluations: Any
