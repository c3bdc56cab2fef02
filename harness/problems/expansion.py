"""f(x_i) and |w|^2 of a model with bounds of their rounding: from the usual float64 values, and from finer ones.

The usual values cost what they always did. Their bounds hold for any order of summation and follow from |k(x, z)|^2 <=
k(x, x) k(z, z): n numbers more. Where a certificate finds them too wide (see Certificate.settled), the values are
computed anew in numpy's longdouble, and w of small problems in fractions. What an offset of the data takes is not lost
there: w = sum_j coef_j x_j is summed about a centre c, as sum_j coef_j (x_j - c) + (sum_j coef_j) c, and an RBF kernel
from differences x - z. A kernel that is not one of the harness's own has no finer values.

The model is what its float64 coefficients say, as real numbers: that they sum to 0 or 1 up to rounding alone is part
of it, and what an offset of the data makes of that is bounded as well (Expansion.slack_of_sum, slack_of_classes).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.kernels.engine import EXPAND_ROWS
from harness.kernels.functions import Exponential, GivenValues, Power, squared_norms
from harness.problems.rounding import Bounded, underflow_of, unit_of

if TYPE_CHECKING:
    from harness.arrays import Vector
    from harness.kernels.oracle import KernelOracle

_SHORTEST = 16.0 * 2.0**-53  # |w| over the spread below which w is 0 as far as float64 coefficients go
_STRANGER = 256.0  # roundings that a value of a kernel of unknown making is taken to be off, over sqrt(k(x, x) k(z, z))
_FINE_OPERATIONS = 100_000_000  # longdouble operations that finer values of a kernel may take: about half a second
_FINE_PRODUCTS = 2_000_000_000  # the same for inner products with w, which are one pass over the data
_EXACT_PRODUCTS = 20_000  # products of fractions, for small problems: about a tenth of a second
_LEAST_EXACT = Fraction(1, 2**900)  # sums nearer to the ends of float64 would not be represented to twice its precision
_AN_EXPONENTIAL = 20  # longdouble operations that take as long
_FILLED = 1000  # features up to which sparse points are summed like dense ones
_PIECE = 250_000  # longdouble numbers held at a time


@dataclass(frozen=True)
class Expansion:
    """What a certificate is computed from.

    scores : f(x_i) without intercept, (n,)
    squared : |w|^2, the ridge included
    longest : no less than the largest sqrt(k(x_i, x_i)), the ridge included
    spread : sum_j |coef_j| |x_j - c| about a centre c, >= 0; 0 where |w| = 0 is not to be told
    known : whether the bounds hold; False: the scores were given, and nobody knows how they were computed
    plain : of k + z z', that of k
    """

    scores: Bounded
    squared: Bounded
    longest: Any = 0.0
    spread: Any = 0.0
    known: bool = True
    plain: Expansion | None = None

    @classmethod
    def of_scores(cls, dual_coef: Vector, scores: Vector, doubt: float = 0.0) -> Expansion:
        """Return the expansion of plain ``scores``, (n,), whose history is unknown.

        doubt : |w|^2 below this counts as rounding of w = 0
        """
        values = Bounded.exact(scores)
        squared = values.dot(dual_coef)
        return cls(values, Bounded(squared.value, squared.error + doubt), known=False)

    def sum_off(self, dual_coef: Vector, total: float = 0.0) -> float:
        """Return by how much the coefficients sum to more than ``total``, correct however much cancels."""
        return math.fsum([*dual_coef[dual_coef != 0.0].tolist(), -total])

    def slack_of_sum(self, dual_coef: Vector, linear: Vector, price: float = 0.0) -> Any:
        """Return what scaling coefficients of one sign so that all sum to 0 may take off a dual.

        The dual is sum_i linear_i coef_i - price |coef_i| less |w|^2 / 2. With m the mean of the points of that sign,
        by coefficient, it changes by -s (mean of linear - <w, m>) and price |s| and s^2 |m|^2 / 2, s the sum.
        """
        off = self.sum_off(dual_coef)
        side = dual_coef > 0.0 if off > 0.0 else dual_coef < 0.0
        if off == 0.0 or not side.any():
            return 0.0
        weights = Bounded.exact(dual_coef[side])
        mean = (Bounded.exact(linear[side]) - self.scores[side]).dot(weights) / weights.sum()
        return 1.01 * (abs(off) * (abs(mean).upper + price) + 0.5 * (off * self.longest) ** 2)

    def slack_of_classes(self, dual_coef: Vector, positive: Any, total: float) -> Any:
        """Return how far |w|^2 may be from that of the coefficients scaled so that those of each class sum to ``total``.

        w = P - Q, P the part of the ``positive`` points and Q what the others take off.
        """
        up, down = self.sum_off(dual_coef[positive], total), self.sum_off(-dual_coef[~positive], total)
        up, down = up / (total + up), down / (total + down)
        # w - up P + down Q = (1 - up) w - (up - down) Q
        along = abs(self.scores[~positive].dot(dual_coef[~positive])).upper
        length = self.squared.sqrt().upper
        change = abs(up) * length + abs(up - down) * total * self.longest * 1.01
        return (2.0 * (abs(up) * length**2 + abs(up - down) * along) + change**2) * 1.01

    @property
    def _shortest(self) -> Any:
        return (np.longdouble(self.spread) * _SHORTEST) ** 2 + 4.0 * underflow_of(np.longdouble)

    @property
    def has_direction(self) -> bool:
        """Whether w is proved to be longer than what rounding the coefficients of w = 0 makes."""
        return bool(self.squared.lower > self._shortest)

    @property
    def vanishes(self) -> bool:
        """Whether w is proved to be no longer than that."""
        return self.known and bool(self.squared.upper <= self._shortest)


def expansions(kernel: KernelOracle, dual_coef: Vector, scores: Vector | None = None) -> Iterator[Expansion]:
    """Yield the usual expansion of a model, and then, if asked for and not too dear, others in more precision.

    Counts as kernel.expand() does.

    Parameters
    ----------
    scores : kernel.expand(dual_coef), where the caller has it already
    """
    support = np.flatnonzero(dual_coef)
    yield _usual(kernel, dual_coef, support, scores)
    if _is_affordable(kernel, support):
        yield _finer(kernel, dual_coef, support)
        if kernel.kernel.form == Power() and len(support) * kernel.points.shape[1] <= _EXACT_PRODUCTS:
            yield _finer(kernel, dual_coef, support, exact=True)


def of_weights(kernel: KernelOracle, weights: Vector, dtype: Any) -> Expansion:
    """Return the expansion of w = ``weights``, (d,), for a linear kernel, in ``dtype``; without the ridge, uncounted."""
    w = _Weights(weights.astype(np.longdouble), np.longdouble(0.0), np.longdouble(0.0), _features(kernel.points))
    return w.expansion(kernel.replace(ridge=0.0), weights, np.dtype(dtype))


def _usual(kernel: KernelOracle, coef: Vector, support: Any, scores: Vector | None = None) -> Expansion:
    """Return the expansion in float64; of a linear kernel w alone is summed in longdouble."""
    if kernel.z is not None:
        return _plus_product(_usual(kernel.replace(z=None), coef, support), kernel.z, coef)
    if kernel.is_linear:
        kernel.count(kernel.n * len(support))
        return _Weights.of(kernel, coef, support).expansion(kernel, coef, np.dtype(np.float64))
    values = kernel.expand(coef) if scores is None else scores
    errors, longest = _usual_errors(kernel, coef, support)
    bounded = Bounded(values, errors + unit_of(np.float64) * np.abs(values))
    return Expansion(bounded, bounded.dot(coef), longest + math.sqrt(kernel.ridge))


def _usual_errors(kernel: KernelOracle, coef: Vector, support: Any) -> tuple[Any, Any]:
    """Return bounds of the errors of kernel.expand(coef), (n,), but for the rounding of the result itself.

    And, second, a bound of sqrt(k(x, x)) without the ridge.
    """
    size, form, width = np.abs(coef), kernel.kernel.form, _features(kernel.points)
    # a tile of rows is one product, the tiles are added one after the other
    terms = EXPAND_ROWS + len(support) // EXPAND_ROWS + 4
    unit, value_unit = unit_of(np.float64), unit_of(kernel.dtype)
    ridge = kernel.ridge * size * unit
    if isinstance(form, GivenValues):
        largest = kernel.largest
        return largest * size.sum() * terms * unit + ridge, math.sqrt(largest)
    if isinstance(form, Exponential):
        # e^t t <= 1/e for the relative error of an exponent t summed from squares, 2 ulp of the exponential
        error = np.full(kernel.n, size.sum() * (terms * unit + (0.4 * width + 8.0) * value_unit))
        if not kernel.sums_differences:
            norms = squared_norms(kernel.points)
            apart = norms * size.sum() + norms @ size
            error += 4.0 * form.gamma * (width + 6) * value_unit * apart
        return error + ridge, 1.0
    length = np.sqrt(np.abs(kernel.replace(ridge=0.0, z=None).diagonal()) + width * underflow_of(np.float64))
    factor = 1.1 * form.degree * (width + 8) if isinstance(form, Power) else _STRANGER
    errors = length * float(length @ size) * (terms * unit + factor * value_unit) * 1.01
    return errors + ridge, length.max() * 1.01


def error_of_scores(kernel: KernelOracle, total: float) -> float:
    """Return a bound of the errors of sums of kernel values times coefficients whose absolute values sum to ``total``.

    It is largest where all of them are on the point of the largest k(x, x), or, by exponentials, farthest out.
    """
    points, everyone = kernel.points, np.arange(kernel.n)
    diagonal = kernel.diagonal()  # counted, as a solver may have asked for this
    longest = diagonal if isinstance(kernel.kernel.form, GivenValues) else squared_norms(points)
    worst = 0.0
    for i in {int(np.argmax(diagonal)), int(np.argmax(longest))}:
        alone = np.zeros(kernel.n)
        alone[i] = total
        worst = max(worst, float(np.max(_usual_errors(kernel, alone, everyone)[0])))
    return worst


def _is_affordable(kernel: KernelOracle, support: Any) -> bool:
    """Return whether there are finer values at a bearable cost; there are none of a stranger's kernel."""
    form, width = kernel.kernel.form, _features(kernel.points)
    if form == Power():
        return kernel.n * width <= _FINE_PRODUCTS
    kind, a_value = type(form), {GivenValues: 1, Exponential: width + _AN_EXPONENTIAL, Power: width + 8}
    return kind in a_value and kernel.n * len(support) * a_value[kind] <= _FINE_OPERATIONS


def _finer(kernel: KernelOracle, coef: Vector, support: Any, *, exact: bool = False) -> Expansion:
    """Return the expansion in longdouble; of a linear kernel, ``exact``: with w summed in fractions."""
    fine = np.dtype(np.longdouble)
    if kernel.z is not None:
        return _plus_product(_finer(kernel.replace(z=None), coef, support, exact=exact), kernel.z, coef)
    if kernel.is_linear:
        weights = _Weights.of(kernel, coef, support)
        weights = weights.summed_exactly(kernel, coef, support) if exact else weights
        return weights.expansion(kernel, coef, fine)
    form, width, size = kernel.kernel.form, _features(kernel.points), np.abs(coef)
    weights = coef[support].astype(fine)
    scores = np.concatenate([values @ weights for values in _fine_values(kernel, support)])
    if isinstance(form, Power):
        length = np.sqrt(_poly(form, _norms(kernel.points, fine)))
        roundings = 1.1 * form.degree * (width + 8) + len(support) + 4
        errors, longest = length * (length @ size) * roundings, length.max() * 1.01
    elif isinstance(form, GivenValues):
        errors = np.full(kernel.n, kernel.largest * size.sum() * (len(support) + 4), dtype=fine)
        longest = math.sqrt(kernel.largest)
    else:
        errors, longest = np.full(kernel.n, size.sum() * (len(support) + width + 16), dtype=fine), 1.0
    bounded = Bounded(scores, errors * unit_of(fine) * 1.01)
    return _with_ridge(Expansion(bounded, bounded.dot(coef), longest), kernel.ridge, coef)


def _with_ridge(plain: Expansion, ridge: float, coef: Vector) -> Expansion:
    """Return the expansion of k + ridge delta_ij from that of k; with a ridge w = 0 is no model's."""
    if not ridge:
        return plain
    fine = Bounded.exact(coef.astype(np.longdouble))
    scores, squared = plain.scores + Bounded.exact(coef) * ridge, plain.squared + fine.dot(fine) * ridge
    return Expansion(scores, squared, plain.longest + math.sqrt(ridge))


def _plus_product(plain: Expansion, z: Vector, coef: Vector) -> Expansion:
    """Return the expansion of k + z z' from that of k."""
    along = Bounded.exact(z.astype(np.longdouble)).dot(coef)
    scores = plain.scores + Bounded.exact(z.astype(np.longdouble)) * along
    spread = plain.spread + float(np.abs(z) @ np.abs(coef)) if plain.spread else plain.spread
    longest = plain.longest + np.abs(z).max()
    return Expansion(scores, plain.squared + along * along, longest, spread, plain=plain)


def _fine_values(kernel: KernelOracle, support: Any) -> Iterator[Any]:
    """Yield K[part, support] in longdouble for consecutive parts of the points; no ridge."""
    points, form, fine = kernel.points, kernel.kernel.form, np.longdouble
    if isinstance(form, GivenValues):
        for part in _parts(kernel.n, len(support)):
            yield _dense(points[part][:, support]).astype(fine)
        return
    vectors = _dense(points[support]).astype(fine)
    for part in _parts(kernel.n, len(support)):
        rows = _dense(points[part]).astype(fine)
        values = np.zeros((len(rows), len(support)), dtype=fine)
        for f in range(vectors.shape[1]):
            if isinstance(form, Exponential):
                values += (rows[:, f, None] - vectors[None, :, f]) ** 2
            else:
                values += rows[:, f, None] * vectors[None, :, f]
        yield np.exp(-fine(form.gamma) * values) if isinstance(form, Exponential) else _poly(form, values)


def _poly(form: Any, products: Any) -> Any:
    base = np.longdouble(form.gamma) * products + np.longdouble(form.coef0)
    value = base
    for _ in range(form.degree - 1):
        value = value * base
    return value


@dataclass(frozen=True)
class _Weights:
    """w = sum_j coef_j x_j of a linear kernel in longdouble.

    value : (d,)
    error : bound of the length of what rounding did to it
    spread : sum_j |coef_j| |x_j - c| about the mean c of the support, or of a piece of it
    width : features that a point may have
    """

    value: Any
    error: Any
    spread: Any
    width: int

    @classmethod
    def of(cls, kernel: KernelOracle, coef: Vector, support: Any) -> _Weights:
        """Sum the points about c; sparse ones of many features, which that would fill, as they are."""
        points, fine = kernel.points, np.longdouble
        width, unit = _features(points), unit_of(fine)
        dense = isinstance(points, np.ndarray) or points.shape[1] <= max(_FILLED, 4 * width)
        some = support[: max(1, _PIECE // max(1, width))]
        centre = np.asarray(points[some].astype(fine).sum(axis=0)).reshape(-1) / max(1, len(some))
        w, size, spread = np.zeros(points.shape[1], dtype=fine), fine(0.0), fine(0.0)
        for part in _parts(len(support), points.shape[1] if dense else width):
            weights, rows = coef[support[part]].astype(fine), points[support[part]].astype(fine)
            if dense:
                rows = _dense(rows) - centre
                w += np.einsum("ij,i->j", rows, weights)
                apart = lengths = _squares(rows)
            else:
                w += rows.T @ weights
                lengths = _squares(rows)
                apart = np.maximum(0.0, lengths - 2.0 * (rows @ centre) + centre @ centre)
            size += np.abs(weights) @ np.sqrt(lengths)
            spread += np.abs(weights) @ np.sqrt(apart)
        error = (len(support) + width + 4) * unit * size + underflow_of(fine)
        if dense:
            total = _exact_sum(coef[support])
            w += total * centre
            error += 4.0 * unit * abs(total) * np.sqrt(centre @ centre)
        return cls(w, error + 4.0 * unit * np.sqrt(w @ w), spread, width)

    def summed_exactly(self, kernel: KernelOracle, coef: Vector, support: Any) -> _Weights:
        """Return w as a sum of fractions, rounded at the end; this one where float64 does not reach so far."""
        weights = [Fraction(each) for each in coef[support].tolist()]
        columns = _dense(kernel.points[support]).astype(np.float64).T.tolist()
        sums = [sum(c * Fraction(v) for c, v in zip(weights, column, strict=True)) for column in columns]
        if any(each and not _LEAST_EXACT < abs(each) < 1 / _LEAST_EXACT for each in sums):
            return self
        high = [float(each) for each in sums]
        low = [float(each - Fraction(first)) for each, first in zip(sums, high, strict=True)]
        value = np.array(high, dtype=np.longdouble) + np.array(low, dtype=np.longdouble)
        return replace(self, value=value, error=4.0 * unit_of(np.longdouble) * np.sqrt(value @ value))

    def expansion(self, kernel: KernelOracle, coef: Vector, dtype: np.dtype[Any]) -> Expansion:
        """Return f(x_i) = <x_i, w> in ``dtype``, and |w|^2."""
        w, scores = self.value.astype(dtype), np.empty(kernel.n, dtype=dtype)
        for part in _parts(kernel.n, self.width):
            rows = kernel.points[part].astype(dtype, copy=False)
            scores[part] = np.einsum("ij,j->i", rows, w) if isinstance(rows, np.ndarray) else rows @ w
        length = np.sqrt(self.value @ self.value)
        roundings, least = (self.width + 6) * unit_of(dtype), self.width * underflow_of(dtype)
        reach = np.sqrt(_norms(kernel.points, dtype) * (1.0 + roundings) + least)
        # w itself is rounded to ``dtype``, and loses more where that is below the normal numbers
        errors = reach * dtype.type(roundings * length + self.error + least) * 1.01 + least
        size = Bounded(length, self.error + self.width * unit_of(np.longdouble) * length)
        return _with_ridge(
            Expansion(Bounded(scores, errors), size * size, reach.max(), self.spread), kernel.ridge, coef
        )


def _parts(length: int, width: int) -> Iterator[slice]:
    """Cut rows of ``width`` numbers into parts of a piece of longdouble numbers."""
    step = max(1, _PIECE // max(1, width))
    for start in range(0, length, step):
        yield slice(start, start + step)


def _exact_sum(values: Vector) -> Any:
    """Return the sum in longdouble, correct to its precision however much cancels."""
    high = math.fsum(values)
    return np.longdouble(high) + np.longdouble(math.fsum([*values.tolist(), -high]))


def _features(points: Any) -> int:
    """Return the number of features that a point may have: of sparse points the most that any has."""
    if isinstance(points, np.ndarray):
        return int(points.shape[1])
    return int(np.diff(points.indptr).max(initial=0))


def _dense(points: Any) -> Any:
    return points if isinstance(points, np.ndarray) else points.toarray()


def _norms(points: Any, dtype: np.dtype[Any]) -> Any:
    """Return |x_i|^2 in ``dtype``, (n,)."""
    return np.concatenate(
        [_squares(points[part].astype(dtype, copy=False)) for part in _parts(points.shape[0], _features(points))]
    )


def _squares(rows: Any) -> Any:
    if isinstance(rows, np.ndarray):
        return np.einsum("ij,ij->i", rows, rows)
    return np.asarray(rows.power(2).sum(axis=1)).reshape(-1)
