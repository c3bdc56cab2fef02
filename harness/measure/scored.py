"""Models that are no dual solution of the problem, with their scores and, as far as possible, a certificate.

They are linear models f(x) = <w, x> + b, linear models over features f(x) = <w, z(x)> + b, and expansions over training
points and further points, f(x) = sum_i coef_i k(x_i, x) + sum_j c_j k(z_j, x) + b, which arise from different costs,
synthetic points and landmarks. The arrays of a solver are validated before they are copied, and again by the process that
scores them. The host evaluates features from arrays and runs no code of a model.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.kernels.engine import Engine
from harness.kernels.features import pieces
from harness.kernels.functions import reason_against
from harness.kernels.layout import Layout
from harness.kernels.oracle import KernelOracle
from harness.kernels.points import bytes_of, shape_of, stored_as
from harness.problems.certificate import Certificate
from harness.problems.rounding import Bounded
from harness.support.errors import InvalidModel

if TYPE_CHECKING:
    from harness.kernels.points import Points
    from harness.problems.problem import Problem
    from harness.support.arrays import Array, Vector

_MAX_SIZE_RATIO = 4  # largest size of extra points, as a multiple of that of the training points
_MIN_ROOM = 1 << 20  # bytes that extra points may always take
_MAX_ROOM = 1 << 30  # bytes that extra points may take at most
_MAX_VALUES = 4_000_000_000  # kernel values of extra points that a primal value may take


@dataclass(frozen=True, eq=False)
class CosineFeatures:
    """z(x) = sqrt(2 / m) cos(x @ directions + offsets): m features that replace the d features of a point.

    With normal directions and uniform offsets these are the random Fourier features of an RBF kernel (Rahimi and Recht
    2007): <z(x), z(y)> is k(x, y) on average.

    directions : (d, m) float64
    offsets : (m,) float64
    """

    directions: Array
    offsets: Vector

    def of(self, points: Any) -> Array:
        """Return z(x) for dense or CSR points, (rows of ``points``, m) float64."""
        angles: Array = np.asarray(points @ self.directions, dtype=np.float64) + self.offsets
        np.cos(angles, out=angles)
        angles *= math.sqrt(2.0 / len(self.offsets))
        return angles

    @classmethod
    def checked(cls, kernel: KernelOracle, features: Any) -> CosineFeatures:
        """Return validated copies of the two arrays of a solver's features.

        Raises
        ------
        InvalidModel : another type of features, wrong shapes or types, NaN or infinity, or too many features.
        """
        if not isinstance(features, cls):
            raise InvalidModel(f"features are of type {type(features).__name__}; give harness.CosineFeatures.")
        count = np.size(features.offsets)
        if not count:
            raise InvalidModel("features have no offsets; give one for each of at least one feature.")
        d, meaning = kernel.n_features, f"for {count:,} features of points with {kernel.n_features}"
        _limit_size(kernel, f"the directions of {count:,} features", 8 * d * count)  # before the memory is allocated
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
        """Return the model from validated copies of a solver's arrays.

        Raises
        ------
        InvalidModel : the weights are not one finite number for each feature, or the features are invalid.
        """
        copied = None if features is None else CosineFeatures.checked(kernel, features)
        count = kernel.n_features if copied is None else len(copied.offsets)
        return cls(_numbers("weights", weights, (count,), "one for each feature"), _offset(intercept), copied)

    @property
    def support(self) -> None:
        """None, as the model has no coefficients of points."""

    @property
    def form(self) -> str:
        """The field of the iterate that the model comes from."""
        return "weights" if self.features is None else "features"

    def scores(self, kernel: KernelOracle, points: Any) -> Vector:
        """Return f(x) for points, (m,)."""
        if self.features is None:
            return np.asarray(points @ self.weights) + self.intercept
        scores = np.empty(points.shape[0])
        for part in pieces(len(scores), len(self.weights)):
            scores[part] = self.features.of(points[part]) @ self.weights
        return scores + self.intercept

    def certificate(self, problem: Problem, train: Vector) -> Certificate:
        """Return the certificate of the model; ``train`` : its scores of the training points."""
        if self.features is not None:
            return Certificate()
        return problem.certify_weights(self.weights, self.intercept)

    def primal(self, problem: Problem) -> float | None:
        """Return the primal value of the model; None if the formulation has none of it, as of weights over features."""
        if self.features is not None or not problem.kernel.is_linear:
            return None
        squared, scores = float(self.weights @ self.weights), self.scores(problem.kernel, problem.kernel.points)
        return _primal(problem, squared, scores - self.intercept, self.intercept).primal


@dataclass(frozen=True)
class FreeModel:
    """f(x) = sum_i coef_i k(x_i, x) + sum_j own_coef_j k(own_j, x) + intercept, without the ridge of the kernel.

    coef : (n,) float64, coefficients of the training points
    own_coef : (m,) float64, nonzero coefficients of the extra points
    own : (m, d) extra points, dense or CSR like the training points; None if m = 0
    """

    coef: Vector
    own_coef: Vector
    own: Points | None
    intercept: float

    @classmethod
    def checked(cls, kernel: KernelOracle, free_coef: Any, extra_points: Any, intercept: Any) -> FreeModel:
        """Return the model from validated copies of a solver's arrays, without extra points whose coefficient is 0.

        Raises
        ------
        InvalidModel : wrong shapes or types, NaN or infinity, points of another width, or too many points.
        """
        extra_points = points_of(extra_points)
        n, shape = kernel.n, None if extra_points is None else shape_of(extra_points)
        m = shape[0] if shape else 0
        _limit_size(kernel, f"the coefficients of {m:,} extra_points", 8 * m)  # before the memory is allocated
        meaning = f"one for each of {n:,} training points and {m:,} extra_points"
        coef = _numbers("free_coef", free_coef, (n + m,), meaning)
        extra = None if extra_points is None else _used_points(kernel, extra_points, np.flatnonzero(coef[n:]))
        return cls(coef[:n], coef[n:][coef[n:] != 0.0], extra, _offset(intercept))

    @property
    def free_coef(self) -> Vector:
        """The coefficients of the training points and of the extra points, (n + m,)."""
        return np.concatenate([self.coef, self.own_coef])

    form = "free_coef"

    @property
    def support(self) -> int:
        """Number of points with a coefficient."""
        return int(np.count_nonzero(self.coef)) + len(self.own_coef)

    def scores(self, kernel: KernelOracle, points: Any) -> Vector:
        """Return f(x) for points, (m,), or for kernel values with the training points if ``precomputed``; not counted."""
        scores = kernel.expand_new(self.coef, points)
        if self.own is not None:
            scores += Engine(kernel.kernel, self.own).expand_new(self.own_coef, points)
        return scores + self.intercept

    def certificate(self, problem: Problem, train: Vector) -> Certificate:
        """Return the primal value, of |w|^2 = sum_i coef_i f(x_i) + sum_j own_coef_j f(own_j); ``train`` : f(x_i) + intercept.

        Return an empty certificate if the formulation has no primal value of the model, or if it takes too many kernel values.
        """
        if len(self.own_coef) * self.support > _MAX_VALUES:
            return Certificate()
        scores, squared = train - self.intercept, 0.0
        if self.own is not None:
            squared = float(self.own_coef @ (self.scores(problem.kernel, self.own) - self.intercept))
        return _primal(problem, max(0.0, squared + float(self.coef @ scores)), scores, self.intercept)

    def primal(self, problem: Problem) -> float | None:
        """Return the primal value of the model; None if the formulation has none."""
        return self.certificate(problem, self.scores(problem.kernel, problem.kernel.points)).primal


Scored = Weights | FreeModel


def _primal(problem: Problem, squared: float, scores: Vector, intercept: float) -> Certificate:
    """Return the certificate with the primal value of f(x_i) = scores_i + intercept, empty if the problem has no bias."""
    if intercept and not problem.has_bias:
        return Certificate()
    with np.errstate(all="ignore"):
        return Certificate.of_primal(problem.primal_of(Bounded.exact(squared), Bounded.exact(scores), intercept))


def no_gap(form: str, formulation: type[Problem], *, linear: bool) -> str:
    """Return why models of a form have no certified gap, in a few words; empty if they have one.

    form : the form of the model, as in `harness.Solver.model_form`
    linear : whether the kernel is linear
    """
    if not formulation.has_gap:
        return f"{formulation.name}, which has no optimum"
    if form == "features":
        return "a model over other features, which belongs to another problem"
    if form == "free_coef":
        return "a model that is no dual solution of the problem"
    if form == "weights" and not linear:
        return "weights where the kernel is not linear"
    if form == "weights" and not formulation.bounds_weights:
        return f"weights for {formulation.name}, from which the harness builds no dual point"
    return ""


def room_for_own_points(kernel: KernelOracle) -> int:
    """Return the bytes that extra points of a model may take: four times those of the training points, at most 1 GiB."""
    return min(_MAX_ROOM, max(_MIN_ROOM, _MAX_SIZE_RATIO * kernel.nbytes))


def points_of(extra_points: Any) -> Any:
    """Return the extra points of an iterate; those of a layout as a new (m, d) array."""
    if not isinstance(extra_points, Layout):
        return extra_points
    from harness.kernels.loops import coordinates

    return coordinates(extra_points)


def _used_points(kernel: KernelOracle, points: Any, used: Any) -> Points | None:
    """Return validated copies of the points whose coefficient is not 0; None if there are none."""

    def checked(given: Any) -> Any:
        refused = reason_against(given, kernel.kernel, kernel.n_features)
        if refused is not None:
            raise InvalidModel(f"extra_points: {refused}")
        return given

    # validate the type of a dense array without reading it, as its shape may be false; validate the structure of CSR
    checked(points[:0] if isinstance(points, np.ndarray) and points.ndim == 2 else points)
    if not len(used):
        return None
    source, share = kernel.storage, len(used) / points.shape[0]
    size = int(share * bytes_of(points))
    if isinstance(source, np.ndarray):  # CSR points become dense
        size = max(size, len(used) * kernel.n_features * source.itemsize)
    _limit_size(kernel, f"the {len(used):,} extra_points that have a coefficient", size)
    return stored_as(checked(points if share == 1.0 else points[used]), source)


def _numbers(name: str, given: Any, shape: tuple[int, ...], meaning: str) -> Array:
    """Return a float64 copy of finite real numbers; raise InvalidModel for other values or shapes."""
    array = np.asarray(given)
    if array.dtype.kind not in "biuf" or array.shape != shape:
        raise InvalidModel(
            f"{name} must be real numbers of shape {shape}, {meaning}; they have shape {array.shape} and type {array.dtype}."
        )
    invalid = np.flatnonzero(~np.isfinite(array))
    if len(invalid):
        raise InvalidModel(f"{name} must be finite numbers; number {invalid[0]} is {array.flat[invalid[0]]}.")
    return array.astype(np.float64)


def _limit_size(kernel: KernelOracle, name: str, size: int) -> None:
    room = room_for_own_points(kernel)
    if size > room:
        raise InvalidModel(
            f"{name} take at least {size / 2**20:,.1f} MB; the arrays of a model may take {room / 2**20:,.1f} MB, a few times "
            "the size of the training points: give less."
        )


def _offset(intercept: Any) -> float:
    given = np.asarray(intercept)
    if given.dtype.kind not in "biuf" or given.shape != () or not np.isfinite(given):
        raise InvalidModel(f"the intercept is {str(intercept)[:80]}; it must be a finite number.")
    return float(given)
