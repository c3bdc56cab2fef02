"""f(x_i) and |w|^2 of a model with bounds of their rounding, in float64 and, if that is not enough, in numpy's longdouble.

The bounds of float64 values are valid for any order of summation and follow from |k(x, z)|^2 <= k(x, x) k(z, z), at the
cost of n further numbers. In longdouble an offset of the data loses no digits: w = sum_j coef_j x_j is summed about a centre
c, as sum_j coef_j (x_j - c) + (sum_j coef_j) c, and an RBF kernel is computed from differences x - z. Kernels of plugins
have no longdouble values.

The coefficients of the model are exact real numbers, and their sums are exactly those of the constraints, see
DualForm.repaired, so that w contains no offset of the data.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.kernels.engine import EXPAND_ROWS
from harness.kernels.functions import Exponential, GivenValues, Power, squared_norms
from harness.problems.rounding import Bounded, underflow_of, unit_of

if TYPE_CHECKING:
    from harness.kernels.oracle import KernelOracle
    from harness.support.arrays import Vector

_SHORTEST = 16.0 * 2.0**-53  # |w| over the spread below which w is 0 up to rounding of float64 coefficients
_STRANGER = 256.0  # assumed error of a value of an unknown kernel, in roundings of sqrt(k(x, x) k(z, z))
_FINE_OPERATIONS = 100_000_000  # largest number of longdouble operations for kernel values: about half a second
_FINE_PRODUCTS = 2_000_000_000  # largest number of longdouble operations for inner products with w
_AN_EXPONENTIAL = 20  # longdouble operations that take as long as one exponential
_FILLED = 1000  # number of features up to which sparse points are summed like dense ones
_PIECE = 250_000  # longdouble numbers in memory at a time
_FINE = np.dtype(np.longdouble)


@dataclass(frozen=True)
class Expansion:
    """Scores and norm of a model, from which certificates are computed.

    scores : f(x_i) without intercept, (n,)
    squared : |w|^2, including the ridge
    spread : sum_j |coef_j| |x_j - c| about a centre c, >= 0; 0 if it does not matter whether |w| = 0
    known : whether the bounds are valid; False for given scores, whose computation is unknown
    plain : the expansion for k, if this one is for k + z z'
    """

    scores: Bounded
    squared: Bounded
    spread: Any = 0.0
    known: bool = True
    plain: Expansion | None = None

    @classmethod
    def of_scores(cls, dual_coef: Vector, scores: Vector, doubt: float = 0.0) -> Expansion:
        """Return the expansion of ``scores``, (n,), without bounds of their errors.

        doubt : |w|^2 up to which w may be 0 up to rounding
        """
        values = Bounded.exact(scores)
        squared = values.dot(dual_coef)
        return cls(values, Bounded(squared.value, squared.error + doubt), known=False)

    @property
    def _shortest(self) -> Any:
        return (np.longdouble(self.spread) * _SHORTEST) ** 2 + 4.0 * underflow_of(np.longdouble)

    @property
    def has_direction(self) -> bool:
        """Whether w is proved to be longer than rounding the coefficients of w = 0 can make it."""
        return bool(self.squared.lower > self._shortest)

    @property
    def vanishes(self) -> bool:
        """Whether w is proved to be no longer than rounding the coefficients of w = 0 can make it."""
        return self.known and bool(self.squared.upper <= self._shortest)


def expansions(
    kernel: KernelOracle, dual_coef: Vector, scores: Vector | None = None, given: Vector | None = None
) -> Iterator[Expansion]:
    """Yield the expansion of a model in float64, and then, if affordable, in longdouble.

    Kernel values are counted as by kernel.expand().

    Parameters
    ----------
    scores : kernel.expand(given), to save its cost; None to compute it
    given : coefficients near ``dual_coef``, so that only the difference is expanded; None: ``dual_coef``
    """
    history = None if scores is None else (dual_coef if given is None else given, scores)
    yield _expansion(kernel, dual_coef, np.dtype(np.float64), history)
    if _is_affordable(kernel, int(np.count_nonzero(dual_coef))):
        yield _expansion(kernel, dual_coef, _FINE)


def of_weights(kernel: KernelOracle, weights: Vector, dtype: Any) -> Expansion:
    """Return the expansion of w = ``weights``, (d,), for a linear kernel, in ``dtype``; without the ridge, uncounted."""
    return _linear(kernel, weights.astype(_FINE), _FINE.type(0.0), np.dtype(dtype))


def _expansion(kernel: KernelOracle, coef: Vector, dtype: np.dtype[Any], history: Any = None) -> Expansion:
    """Return the expansion in ``dtype``; w of a linear kernel is always summed in longdouble.

    history : coefficients near ``coef`` and their scores; None if unknown
    """
    support = np.flatnonzero(coef)
    if kernel.z is not None:
        return _plus_product(_expansion(kernel.replace(z=None), coef, dtype), kernel.z, coef)
    if kernel.is_linear:
        kernel.count(kernel.n * len(support) * (dtype != _FINE))
        w, error, spread = _weights(_points(kernel), coef, support)
        return _with_ridge(_linear(kernel, w, error, dtype, spread), kernel.ridge, coef)
    size = np.abs(coef)
    if dtype == _FINE:
        values = np.concatenate([rows @ coef[support].astype(_FINE) for rows in _fine_values(kernel, support)])
        values, terms = values + kernel.ridge * coef.astype(_FINE), len(support) + 5
    else:
        # each tile of rows is one product, and the tiles are added in sequence
        terms = EXPAND_ROWS + len(support) // EXPAND_ROWS + 6
        given, values = history or (coef, kernel.expand(coef))
        change = coef - given
        if change.any():
            values, size = values + kernel.expand(change), np.abs(given) + np.abs(change)
    bounded = Bounded(values, _errors(kernel, size, terms, dtype) + unit_of(dtype) * np.abs(values))
    return Expansion(bounded, bounded.dot(coef))


def _points(kernel: KernelOracle) -> Any:
    """Return the points, on which the rounding of values depends; not for solvers."""
    return kernel._part.points  # noqa: SLF001 - the public attribute records an access


def _errors(kernel: KernelOracle, size: Vector, terms: int, dtype: Any = np.float64) -> Any:
    """Return bounds of the errors of sums of ``terms`` kernel values times coefficients of this ``size``, both (n,).

    The rounding of the result is not included.
    """
    form, width, total = kernel.kernel.form, _features(_points(kernel)), float(size.sum())
    unit = unit_of(dtype)
    a_value = max(unit, unit_of(kernel.dtype)) if dtype != _FINE else unit
    ridge = kernel.ridge * size * unit
    if isinstance(form, GivenValues):
        return np.full(kernel.n, kernel.largest * total * terms * unit) + ridge
    if isinstance(form, Exponential):
        # e^t t <= 1/e for the relative error of an exponent t summed from squares, 2 ulp of the exponential
        errors = np.full(kernel.n, total * (terms * unit + (0.4 * width + 8.0) * a_value))
        if dtype != _FINE and not kernel.sums_differences:
            norms = squared_norms(_points(kernel))
            errors += 4.0 * form.gamma * (width + 6) * a_value * (norms * total + norms @ size)
        return errors + ridge
    length = np.sqrt(np.abs(kernel.kernel.diagonal(_points(kernel))) + width * underflow_of(np.float64))
    factor = 1.1 * form.degree * (width + 8) if isinstance(form, Power) else _STRANGER
    return length * float(length @ size) * (terms * unit + factor * a_value) * 1.01 + ridge


def error_of_scores(kernel: KernelOracle, total: float) -> float:
    """Return a bound of the errors of sums of kernel values times coefficients whose absolute values sum to ``total``.

    It is largest if all coefficients are on the point with the largest k(x, x), or, with exponentials, the largest norm.
    """
    diagonal = kernel.diagonal()  # counted, as a solver may call this function
    given = isinstance(kernel.kernel.form, GivenValues)
    longest = diagonal if given else squared_norms(_points(kernel))
    terms, worst = EXPAND_ROWS + kernel.n // EXPAND_ROWS + 6, 0.0
    for i in {int(np.argmax(diagonal)), int(np.argmax(longest))}:
        worst = max(worst, float(np.max(_errors(kernel, np.where(np.arange(kernel.n) == i, total, 0.0), terms))))
    return worst


def _is_affordable(kernel: KernelOracle, support: int) -> bool:
    """Return whether longdouble values are affordable; kernels of plugins have none."""
    form, width = kernel.kernel.form, _features(_points(kernel))
    if form == Power():
        return kernel.n * width <= _FINE_PRODUCTS
    kind, a_value = type(form), {GivenValues: 1, Exponential: width + _AN_EXPONENTIAL, Power: width + 8}
    return kind in a_value and kernel.n * support * a_value[kind] <= _FINE_OPERATIONS


def _with_ridge(plain: Expansion, ridge: float, coef: Vector) -> Expansion:
    """Return the expansion for k + ridge delta_ij from that for k; with a ridge no model has w = 0."""
    if not ridge:
        return plain
    fine = Bounded.exact(coef.astype(_FINE))
    return Expansion(plain.scores + Bounded.exact(coef) * ridge, plain.squared + fine.dot(fine) * ridge)


def _plus_product(plain: Expansion, z: Vector, coef: Vector) -> Expansion:
    """Return the expansion for k + z z' from that for k."""
    along = Bounded.exact(z.astype(_FINE)).dot(coef)
    scores = plain.scores + Bounded.exact(z.astype(_FINE)) * along
    spread = plain.spread + float(np.abs(z) @ np.abs(coef)) if plain.spread else plain.spread
    return Expansion(scores, plain.squared + along * along, spread, plain=plain)


def _fine_values(kernel: KernelOracle, support: Any) -> Iterator[Any]:
    """Yield K[part, support] in longdouble for consecutive slices of the points, without the ridge."""
    points, form = _points(kernel), kernel.kernel.form
    given = isinstance(form, GivenValues)
    vectors = None if given else _dense(points[support]).astype(_FINE)
    for part in _parts(kernel.n, len(support)):
        rows = _dense(points[part][:, support] if given else points[part]).astype(_FINE)
        if vectors is None:
            yield rows
            continue
        values = np.zeros((len(rows), len(support)), dtype=_FINE)
        for f in range(vectors.shape[1]):
            row, vector = rows[:, f, None], vectors[None, :, f]
            values += (row - vector) ** 2 if isinstance(form, Exponential) else row * vector
        if isinstance(form, Exponential):
            yield np.exp(-_FINE.type(form.gamma) * values)
        else:
            assert isinstance(form, Power)
            base = _FINE.type(form.gamma) * values + _FINE.type(form.coef0)
            yield math.prod([base] * form.degree)


def _weights(points: Any, coef: Vector, support: Any) -> tuple[Any, Any, Any]:
    """Return w = sum_j coef_j x_j in longdouble, a bound of the length of its error, and the spread.

    The sum is about the mean of the support, or of a piece of it. Sparse points of many features, which centring would
    fill, are not centred.
    """
    width = _features(points)
    dense = isinstance(points, np.ndarray) or points.shape[1] <= max(_FILLED, 4 * width)
    some = support[: max(1, _PIECE // max(1, width))] if dense else support[:0]
    centre = np.asarray(points[some].astype(_FINE).sum(axis=0)).reshape(-1) / max(1, len(some))
    w, spread = np.zeros(points.shape[1], dtype=_FINE), _FINE.type(0.0)
    for part in _parts(len(support), points.shape[1] if dense else width):
        rows = points[support[part]].astype(_FINE)
        rows = _dense(rows) - centre if dense else rows
        weights = coef[support[part]].astype(_FINE)
        w += np.einsum("ij,i->j", rows, weights) if dense else rows.T @ weights
        spread += np.abs(weights) @ np.sqrt(_squares(rows))
    unit, high = unit_of(_FINE), math.fsum(coef[support])
    total = _FINE.type(high) + _FINE.type(math.fsum([*coef[support].tolist(), -high]))
    error = (len(support) + width + 4) * unit * spread + underflow_of(_FINE)
    error += 4.0 * unit * abs(total) * np.sqrt(centre @ centre)
    w += total * centre
    return w, error + 4.0 * unit * np.sqrt(w @ w), spread


def _linear(kernel: KernelOracle, w: Any, error: Any, dtype: np.dtype[Any], spread: Any = 0.0) -> Expansion:
    """Return f(x_i) = <x_i, w> in ``dtype``, and |w|^2; ``error`` bounds the length of the error of w."""
    points, n = _points(kernel), kernel.n
    width, scores, norms = _features(points), np.empty(n, dtype=dtype), np.empty(n, dtype=dtype)
    for part in _parts(n, width):
        rows = points[part].astype(dtype, copy=False)
        dense = isinstance(rows, np.ndarray)
        scores[part] = np.einsum("ij,j->i", rows, w.astype(dtype)) if dense else rows @ w.astype(dtype)
        norms[part] = _squares(rows)
    length = np.sqrt(w @ w)
    roundings, least = (width + 6) * unit_of(dtype), width * underflow_of(dtype)
    reach = np.sqrt(norms * (1.0 + roundings) + least)
    # w is rounded to ``dtype``, and loses more in subnormal numbers
    errors = reach * dtype.type(roundings * length + error + least) * 1.01 + least
    size = Bounded(length, error + width * unit_of(_FINE) * length)
    return Expansion(Bounded(scores, errors), size * size, spread)


def _parts(length: int, width: int) -> Iterator[slice]:
    """Yield slices of rows of ``width`` numbers, each of at most `_PIECE` numbers."""
    step = max(1, _PIECE // max(1, width))
    for start in range(0, length, step):
        yield slice(start, start + step)


def _features(points: Any) -> int:
    """Return the number of features; for sparse points the largest number of nonzeros of a point."""
    if isinstance(points, np.ndarray):
        return int(points.shape[1])
    return int(np.diff(points.indptr).max(initial=0))


def _dense(points: Any) -> Any:
    return points if isinstance(points, np.ndarray) else points.toarray()


def _squares(rows: Any) -> Any:
    if isinstance(rows, np.ndarray):
        return np.einsum("ij,ij->i", rows, rows)
    return np.asarray(rows.power(2).sum(axis=1)).reshape(-1)
