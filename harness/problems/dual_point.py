"""A dual point for a linear model of weights, whose dual value is a lower bound of the optimum, so that w has a gap.

At the optimum the margins of w determine which coefficients are at a bound, except for points on the margin. The margins of
the given w determine the start. The dual is then maximised over subsets of the variables, at first those nearest to the
margin, later those that violate the optimality conditions most (chunking: Osuna, Freund, Girosi 1997), each by L-BFGS-B
(Byrd, Lu, Nocedal, Zhu 1995). The fixed sum of a problem with a bias is enforced by an augmented Lagrangian (Hestenes 1969)
that starts at the model's intercept, and then by :meth:`DualForm.feasible`. Any result gives a valid gap; a better one gives
a smaller gap.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from harness.kernels.features import combination, products_with, width_of

if TYPE_CHECKING:
    from harness.problems.dual import DualForm
    from harness.support.arrays import Vector

_BANDS = (1e-3, 1e-2, 1e-1, 1.0)  # distances of scores from the margin within which a start is between its bounds
_GOAL = 1e-5  # relative gap at which the search ends
_ROUNDS = 20  # largest number of subsets
_ITERATIONS = 200  # largest number of iterations on a subset
_LITTLE = 1e-2  # decrease of the gap by a subset, as a fraction of the gap, that counts as little
_STALE = 3  # number of largest subsets in a row with little decrease after which the search ends
_PRODUCTS = 5e8  # multiply-adds after which no further subset begins: some seconds
_OVERHEAD = 40  # multiply-adds of L-BFGS-B for a variable in each step
_SPARE = 200  # variables of the first subset in addition to five for each feature
_MAX_NUMBERS = 1 << 25  # largest number of values of a subset's points: 256 MB


def dual_point(form: DualForm, points: Any, scores: Vector, intercept: float, primal: float) -> Vector:
    """Return feasible coefficients, (n,), whose dual value is near the optimum if the model is.

    Parameters
    ----------
    form : a dual with one sum fixed to 0, or without a fixed sum
    points : (n, d), dense or CSR
    scores, intercept : f(x_i) = scores_i + intercept of the model, (n,)
    primal : primal value of the model
    """
    count, width = len(form.linear), width_of(points)
    rows, whole = np.arange(count) % form.n, form.n * width

    def weights(a: Vector) -> Vector:
        coef = form.coef(a)
        combined: Vector = combination(points, coef, np.flatnonzero(coef))
        return combined

    def valued(a: Vector) -> tuple[float, Vector]:
        """Return the dual value and the coefficients of the best multiple of the feasible variables near ``a``."""
        a = form.feasible(a)
        w, coef = weights(a), form.coef(a)
        linear, squared = float(form.linear @ a), float(w @ w)
        share = min(1.0, max(0.0, linear / squared)) if squared > 0.0 else 1.0
        return share * linear - 0.5 * share**2 * squared, share * coef

    level = intercept if form.groups else 0.0
    gradient = form.gradient(scores) - level
    starts = [
        form.lower + (form.upper - form.lower) * np.clip(0.5 + 0.5 * gradient / band, 0.0, 1.0) for band in _BANDS
    ]
    values = [valued(start) for start in starts]
    first = max(range(len(_BANDS)), key=lambda which: values[which][0])
    a, (value, best) = starts[first], values[first]
    most = min(count, max(1, _MAX_NUMBERS // max(1, width)))
    size = min(most, 5 * points.shape[1] + _SPARE)
    part, weight, spent, stale = np.argpartition(np.abs(gradient), size - 1)[:size], 0.0, 4.0 * whole, 0
    for _ in range(_ROUNDS):
        if primal - value <= _GOAL * primal or spent > _PRODUCTS or stale == _STALE:
            break
        some = points[rows[part]].astype(np.float64)
        if form.groups and not weight:
            weight = float((some * some).sum()) / size  # weight of the squared sum, on the scale of |x|^2
        fixed, total = weights(a) - some.T @ a[part], float(a.sum() - a[part].sum())
        linear = form.linear[part] - some @ fixed - level - weight * total
        a[part], steps = _raised(some, linear, weight, a[part], form.lower[part], form.upper[part])
        before = value
        value, best = max((value, best), valued(a), key=lambda pair: pair[0])
        stale = stale + 1 if size == most and value - before <= _LITTLE * (primal - value) else 0
        level += weight * float(a.sum())
        spent += 2.0 * steps * size * (width + _OVERHEAD) + 4.0 * whole
        gradient = form.gradient(products_with(points, weights(a))) - level
        room = np.where(gradient > 0.0, form.upper - a, a - form.lower)
        size = min(most, 2 * size)
        part = np.argpartition(-np.where(room > 0.0, np.abs(gradient), 0.0), size - 1)[:size]
    return best


def _raised(points: Any, linear: Vector, weight: float, a: Vector, lower: Vector, upper: Vector) -> tuple[Vector, int]:
    """Return variables inside their bounds that increase linear'a - 1/2 |points' a|^2 - weight / 2 (sum a)^2, and the steps."""
    from scipy.optimize import Bounds, minimize

    def descent(variables: Vector) -> tuple[float, Vector]:
        w, total = points.T @ variables, float(variables.sum())
        value = 0.5 * float(w @ w) + 0.5 * weight * total**2 - float(linear @ variables)
        return value, points @ w + weight * total - linear

    options: Any = {"maxiter": _ITERATIONS, "maxfun": 2 * _ITERATIONS, "ftol": 0.0, "gtol": 0.0}
    result: Any = minimize(descent, a, jac=True, method="L-BFGS-B", bounds=Bounds(lower, upper), options=options)
    return np.clip(result.x, lower, upper), int(result.nfev)
