"""Models that are no dual solution of the stated problem: scored as they are, and certified by nothing.

A linear model of weights, f(x) = <w, x> + b, and an expansion over the training points and points of the solver's own,
f(x) = sum_i coef_i k(x_i, x) + sum_j own_j k(z_j, x) + b: different costs, synthetic points. What solvers hand over is
looked at before any of it is copied, and once more by the process that scores it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.errors import InvalidModel
from harness.kernels.extra import bytes_of, reason_against, shape_of, stored_as
from harness.kernels.oracle import KernelOracle, engine_of, uncounted

if TYPE_CHECKING:
    from harness.arrays import Vector
    from harness.kernels.extra import Points

# as large as the training points, a model's own points may be: CSR points between two have the union
_TIMES_THE_DATA = 4
_LEAST_ROOM, _MOST_ROOM = 1 << 20, 1 << 30  # bytes


@dataclass(frozen=True)
class Weights:
    """f(x) = <weights, x> + intercept; weights (d,) float64."""

    weights: Vector
    intercept: float

    @classmethod
    def checked(cls, kernel: KernelOracle, weights: Any, intercept: Any) -> Weights:
        """Return the model of what a solver gave.

        Raises
        ------
        InvalidModel : they are not as many finite numbers as the data have features.
        """
        given, shape = np.asarray(weights), (kernel.n_features,)
        if given.dtype.kind not in "biuf" or given.shape != shape or not np.isfinite(given).all():
            raise InvalidModel(
                f"weights have shape {given.shape} and type {given.dtype}, or are not finite; the data have {shape[0]} features"
            )
        return cls(given.astype(np.float64), _offset(intercept))

    @property
    def support(self) -> None:
        """Number of points with a coefficient: the model has no such."""

    def scores(self, kernel: KernelOracle, points: Any) -> Vector:
        """Return f(x) of points, (m,)."""
        return np.asarray(points @ self.weights) + self.intercept


@dataclass(frozen=True)
class FreeExpansion:
    """f(x) = sum_i coef_i k(x_i, x) + sum_j own_coef_j k(own_j, x) + intercept, the kernel's own k, without a ridge.

    coef : (n,) float64, of the training points
    own_coef : (m,) float64, none of them 0
    own : (m, d), dense or CSR as the training points are; None where m = 0
    """

    coef: Vector
    own_coef: Vector
    own: Points | None
    intercept: float

    @classmethod
    def checked(cls, kernel: KernelOracle, free_coef: Any, extra_points: Any, intercept: Any) -> FreeExpansion:
        """Return the model of what a solver gave, copied; its own points without those whose coefficient is 0.

        Raises
        ------
        InvalidModel : wrong shapes or types, NaN or infinity, points of another width, more of them than can be meant.
        """
        shape = (0, 0) if extra_points is None else shape_of(extra_points)
        given, n = np.asarray(free_coef), kernel.n
        count = n + (0 if shape is None else shape[0])
        if given.dtype.kind not in "biuf" or given.shape != (count,):
            raise InvalidModel(
                f"free_coef has shape {given.shape} and type {given.dtype}; expected ({count},) real numbers, one for each "
                f"of {n} training points and {count - n} extra_points."
            )
        _within(kernel, f"the {count - n:,}", 8 * (count - n))  # before anything as long is made of them
        if not np.isfinite(given).all():
            first = int(np.flatnonzero(~np.isfinite(given))[0])
            raise InvalidModel(f"free_coef[{first}] is {given[first]}; coefficients must be finite.")
        coef = given.astype(np.float64)
        own = None if extra_points is None else _own(kernel, extra_points, np.flatnonzero(coef[n:]))
        return cls(coef[:n], coef[n:][coef[n:] != 0.0], own, _offset(intercept))

    @property
    def free_coef(self) -> Vector:
        """The coefficients of the training points and the model's own, (n + m,)."""
        return np.concatenate([self.coef, self.own_coef])

    @property
    def support(self) -> int:
        """Number of points with a coefficient."""
        return int(np.count_nonzero(self.coef)) + len(self.own_coef)

    def scores(self, kernel: KernelOracle, points: Any) -> Vector:
        """Return f(x) of points, (m,); for ``precomputed`` they are kernel values with the training points. Uncounted."""
        with uncounted(kernel):
            found = kernel.expand_new(self.coef, points)
            if self.own is not None:
                found += KernelOracle(kernel.kernel, self.own).expand_new(self.own_coef, points)
        return found + self.intercept


Scored = Weights | FreeExpansion


def room_for_own_points(kernel: KernelOracle) -> int:
    """Return the bytes that a model's own points may take: a few times what the training points take, at most 1 GiB."""
    return min(_MOST_ROOM, max(_LEAST_ROOM, _TIMES_THE_DATA * bytes_of(engine_of(kernel).source)))


def _own(kernel: KernelOracle, points: Any, used: Any) -> Points | None:
    """Return those of the points that have a coefficient, checked and copied; None if none has."""
    # of a dense array nothing is read yet, it may be a small one that says it is large; of CSR the structure is
    without_values = points[:0] if isinstance(points, np.ndarray) and points.ndim == 2 else points
    refused = reason_against(without_values, kernel.kernel, kernel.n_features)
    if refused is not None:
        raise InvalidModel(f"extra_points: {refused}")
    if not len(used):
        return None
    source, share = engine_of(kernel).source, len(used) / points.shape[0]
    asked = int(share * bytes_of(points))
    if isinstance(source, np.ndarray):  # where CSR points become dense
        asked = max(asked, len(used) * kernel.n_features * source.itemsize)
    _within(kernel, f"the {len(used):,} that have a coefficient", asked)
    chosen = points if share == 1.0 else points[used]
    refused = reason_against(chosen, kernel.kernel, kernel.n_features)
    if refused is not None:
        raise InvalidModel(f"extra_points: {refused}")
    return stored_as(chosen, source)


def _within(kernel: KernelOracle, which: str, asked: int) -> None:
    room = room_for_own_points(kernel)
    if asked > room:
        raise InvalidModel(
            f"extra_points: {which} take {asked / 2**20:,.1f} MB at least; a model's own points may take "
            f"{room / 2**20:,.1f} MB, a few times what the training points take: give fewer."
        )


def _offset(intercept: Any) -> float:
    given = np.asarray(intercept)
    if given.dtype.kind not in "biuf" or given.shape != () or not np.isfinite(given):
        raise InvalidModel(f"the intercept is {str(intercept)[:80]}; it must be a finite number.")
    return float(given)
