"""Models that are no dual solution of the stated problem: scored as they are, and certified as far as they can be.

A linear model of weights, f(x) = <w, x> + b, which may be over features of the solver's own, f(x) = <w, z(x)> + b, and an
expansion over the training points and points of the solver's own, f(x) = sum_i coef_i k(x_i, x) + sum_j own_j k(z_j, x) +
b: different costs, synthetic points, landmarks. What solvers hand over is looked at before any of it is copied, and once
more by the process that scores it. Features are numbers that the host evaluates: it runs no code of a model.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.kernels.engine import Engine
from harness.kernels.features import pieces
from harness.kernels.functions import reason_against
from harness.kernels.oracle import KernelOracle
from harness.kernels.points import bytes_of, shape_of, stored_as
from harness.problems.certificate import Certificate
from harness.problems.rounding import Bounded
from harness.support.errors import InvalidModel

if TYPE_CHECKING:
    from harness.kernels.points import Points
    from harness.problems.problem import Problem
    from harness.support.arrays import Array, Vector

# as large as the training points, a model's own points may be: CSR points between two have the union
_TIMES_THE_DATA = 4
_LEAST_ROOM, _MOST_ROOM = 1 << 20, 1 << 30  # bytes
_MOST_VALUES = 4_000_000_000  # kernel values between a model's own points that a primal value may take


@dataclass(frozen=True, eq=False)
class CosineFeatures:
    """z(x) = sqrt(2 / m) cos(x @ directions + offsets): m features of a point in place of its d own ones.

    With normal directions and uniform offsets they are the random Fourier features of an RBF kernel (Rahimi and Recht
    2007): <z(x), z(y)> is k(x, y) on average.

    directions : (d, m) float64
    offsets : (m,) float64
    """

    directions: Array
    offsets: Vector

    def of(self, points: Any) -> Array:
        """Return z of points, dense or CSR, (rows of ``points``, m) float64."""
        angles: Array = np.asarray(points @ self.directions, dtype=np.float64) + self.offsets
        np.cos(angles, out=angles)
        angles *= math.sqrt(2.0 / len(self.offsets))
        return angles

    @classmethod
    def checked(cls, kernel: KernelOracle, features: Any) -> CosineFeatures:
        """Return a copy of what a solver gave, of which nothing but its two arrays is used.

        Raises
        ------
        InvalidModel : another kind of features, wrong shapes or types, NaN or infinity, more of them than can be meant.
        """
        if not isinstance(features, cls):
            raise InvalidModel(f"features are of type {type(features).__name__}; give harness.CosineFeatures.")
        count = np.size(features.offsets)
        if not count:
            raise InvalidModel("features have no offsets; give one for each of at least one feature.")
        d, meaning = kernel.n_features, f"for {count:,} features of points with {kernel.n_features}"
        _limit_size(kernel, f"the directions of {count:,} features", 8 * d * count)  # before as much memory is taken
        directions = _numbers("the directions of features", features.directions, (d, count), meaning)
        return cls(directions, _numbers("the offsets of features", features.offsets, (count,), meaning))


@dataclass(frozen=True)
class Weights:
    """f(x) = <weights, x> + intercept, (d,) float64; with ``features`` of m, <weights, z(x)> + intercept, (m,)."""

    weights: Vector
    intercept: float
    features: CosineFeatures | None = None

    @classmethod
    def checked(cls, kernel: KernelOracle, weights: Any, intercept: Any, features: Any = None) -> Weights:
        """Return the model of what a solver gave, copied.

        Raises
        ------
        InvalidModel : they are not as many finite numbers as there are features, or the features are none.
        """
        own = None if features is None else CosineFeatures.checked(kernel, features)
        count = kernel.n_features if own is None else len(own.offsets)
        return cls(_numbers("weights", weights, (count,), "one for each feature"), _offset(intercept), own)

    @property
    def support(self) -> None:
        """Number of points with a coefficient: the model has no such."""

    @property
    def form(self) -> str:
        """What its solver calls it."""
        return "weights" if self.features is None else "features"

    def scores(self, kernel: KernelOracle, points: Any) -> Vector:
        """Return f(x) of points, (m,)."""
        if self.features is None:
            return np.asarray(points @ self.weights) + self.intercept
        found = np.empty(points.shape[0])
        for part in pieces(len(found), len(self.weights)):
            found[part] = self.features.of(points[part]) @ self.weights
        return found + self.intercept

    def certificate(self, problem: Problem, train: Vector) -> Certificate:
        """Return what is known of the model; ``train`` : its scores of the training points."""
        if self.features is not None:
            return Certificate()
        return problem.certify_weights(self.weights, self.intercept)


@dataclass(frozen=True)
class FreeModel:
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
    def checked(cls, kernel: KernelOracle, free_coef: Any, extra_points: Any, intercept: Any) -> FreeModel:
        """Return the model of what a solver gave, copied; its own points without those whose coefficient is 0.

        Raises
        ------
        InvalidModel : wrong shapes or types, NaN or infinity, points of another width, more of them than can be meant.
        """
        n, shape = kernel.n, None if extra_points is None else shape_of(extra_points)
        m = shape[0] if shape else 0
        _limit_size(kernel, f"the coefficients of {m:,} extra_points", 8 * m)  # before as much memory is taken
        meaning = f"one for each of {n:,} training points and {m:,} extra_points"
        coef = _numbers("free_coef", free_coef, (n + m,), meaning)
        own = None if extra_points is None else _own(kernel, extra_points, np.flatnonzero(coef[n:]))
        return cls(coef[:n], coef[n:][coef[n:] != 0.0], own, _offset(intercept))

    @property
    def free_coef(self) -> Vector:
        """The coefficients of the training points and the model's own, (n + m,)."""
        return np.concatenate([self.coef, self.own_coef])

    form = "free_coef"

    @property
    def support(self) -> int:
        """Number of points with a coefficient."""
        return int(np.count_nonzero(self.coef)) + len(self.own_coef)

    def scores(self, kernel: KernelOracle, points: Any) -> Vector:
        """Return f(x) of points, (m,); for ``precomputed`` they are kernel values with the training points. Uncounted."""
        found = kernel.expand_new(self.coef, points)
        if self.own is not None:
            found += Engine(kernel.kernel, self.own).expand_new(self.own_coef, points)
        return found + self.intercept

    def certificate(self, problem: Problem, train: Vector) -> Certificate:
        """Return the primal value, of |w|^2 = sum_i coef_i f(x_i) + sum_j own_coef_j f(own_j); ``train`` : f(x_i) + intercept.

        None where the formulation has none, or the own points are so many that it would take too long.
        """
        if (self.intercept and not problem.has_bias) or len(self.own_coef) * self.support > _MOST_VALUES:
            return Certificate()
        plain, squared = train - self.intercept, 0.0
        if self.own is not None:
            squared = float(self.own_coef @ (self.scores(problem.kernel, self.own) - self.intercept))
        squared = max(0.0, squared + float(self.coef @ plain))
        return Certificate.of_primal(problem.primal_of(Bounded.exact(squared), Bounded.exact(plain), self.intercept))


Scored = Weights | FreeModel


def no_gap(form: str, formulation: type[Problem], *, linear: bool) -> str:
    """Return of what no gap can be certified, a few words; empty if one can be.

    form : of the model, as `harness.Solver.model_form`
    linear : whether the kernel is
    """
    if not formulation.has_gap:
        return f"{formulation.name}, which has no optimum"
    if form == "features":
        return "a model over features of its own, which belongs to another problem"
    if form == "free_coef":
        return "a model that is no dual solution of the problem"
    if form == "weights" and not linear:
        return "weights where the kernel is not linear"
    if form == "weights" and not formulation.bounds_weights:
        return f"weights for {formulation.name}, from which the harness builds no dual point"
    return ""


def room_for_own_points(kernel: KernelOracle) -> int:
    """Return the bytes that a model's own points may take: a few times what the training points take, at most 1 GiB."""
    return min(_MOST_ROOM, max(_LEAST_ROOM, _TIMES_THE_DATA * kernel.nbytes))


def _own(kernel: KernelOracle, points: Any, used: Any) -> Points | None:
    """Return the points whose coefficient is not 0, checked and copied; None if there are none."""

    def checked(given: Any) -> Any:
        refused = reason_against(given, kernel.kernel, kernel.n_features)
        if refused is not None:
            raise InvalidModel(f"extra_points: {refused}")
        return given

    # of a dense array nothing is read yet, it may be a small one that says it is large; of CSR the structure is
    checked(points[:0] if isinstance(points, np.ndarray) and points.ndim == 2 else points)
    if not len(used):
        return None
    source, share = kernel.storage, len(used) / points.shape[0]
    size = int(share * bytes_of(points))
    if isinstance(source, np.ndarray):  # where CSR points become dense
        size = max(size, len(used) * kernel.n_features * source.itemsize)
    _limit_size(kernel, f"the {len(used):,} extra_points that have a coefficient", size)
    return stored_as(checked(points if share == 1.0 else points[used]), source)


def _numbers(name: str, given: Any, shape: tuple[int, ...], meaning: str) -> Array:
    """Return finite real numbers of a shape, copied as float64; raise an ``InvalidModel`` for others."""
    array = np.asarray(given)
    if array.dtype.kind not in "biuf" or array.shape != shape:
        raise InvalidModel(
            f"{name} must be real numbers of shape {shape}, {meaning}; they have shape {array.shape} and type {array.dtype}."
        )
    wrong = np.flatnonzero(~np.isfinite(array))
    if len(wrong):
        raise InvalidModel(f"{name} must be finite numbers; number {wrong[0]} is {array.flat[wrong[0]]}.")
    return array.astype(np.float64)


def _limit_size(kernel: KernelOracle, name: str, size: int) -> None:
    room = room_for_own_points(kernel)
    if size > room:
        raise InvalidModel(
            f"{name} take {size / 2**20:,.1f} MB at least; what a model brings may take {room / 2**20:,.1f} MB, a few times "
            "what the training points take: give less."
        )


def _offset(intercept: Any) -> float:
    given = np.asarray(intercept)
    if given.dtype.kind not in "biuf" or given.shape != () or not np.isfinite(given):
        raise InvalidModel(f"the intercept is {str(intercept)[:80]}; it must be a finite number.")
    return float(given)
