"""A dual point beside a linear model of weights: any feasible one is a lower bound of the optimum, so that w has a gap.

At the optimum the margins of w say which coefficients are at a bound, and leave open those of the points on the margin.
Here the margins of any w say where to begin. The dual is then raised over some of the variables at a time, at first those
nearest to the margin, later those that violate the optimality conditions most (chunking: Osuna, Freund, Girosi 1997), each
part by L-BFGS-B (Byrd, Lu, Nocedal, Zhu 1995). A sum that is fixed, where there is a bias, is asked for by an augmented
Lagrangian (Hestenes 1969) that begins at the model's own intercept, and then met by :meth:`DualForm.feasible`. What is
found never decides whether the gap is right, only how small it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from harness.kernels.features import combination, products_with, width_of

if TYPE_CHECKING:
    from harness.problems.dual import DualForm
    from harness.support.arrays import Vector

_BANDS = (1e-3, 1e-2, 1e-1, 1.0)  # scores from the margin within which a start is between its bounds
_GOAL = 1e-5  # relative gap at which nothing is to be won any more
_ROUNDS, _ITERATIONS = 20, 200  # parts, at most, and iterations of each
_LITTLE, _STALE = 1e-2, 3  # of what is left of the gap: to win less of it in so many of the largest parts ends them
_PRODUCTS = 5e8  # multiply-adds after which no further part begins: some seconds
_OWN = 40  # multiply-adds of L-BFGS-B itself for a variable at each step
_SPARE = 200  # variables of a part beside five for each feature
_HELD = 1 << 25  # numbers of a part's points: 256 MB


def dual_point(form: DualForm, points: Any, scores: Vector, intercept: float, primal: float) -> Vector:
    """Return feasible coefficients, (n,), whose dual value is near the optimum where the model is.

    Parameters
    ----------
    form : a dual with one sum that is fixed to 0, or none
    points : (n, d), dense or CSR
    scores, intercept : f(x_i) = scores_i + intercept of the model, (n,)
    primal : the model's primal value
    """
    count, width = len(form.linear), width_of(points)
    rows, whole = np.arange(count) % form.n, form.n * width

    def weights(a: Vector) -> Vector:
        coef = form.coef(a)
        found: Vector = combination(points, coef, np.flatnonzero(coef))
        return found

    def valued(a: Vector) -> tuple[float, Vector]:
        """Return the dual value of the feasible variables near ``a``, and their coefficients, as far from 0 as is best."""
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
    most = min(count, max(1, _HELD // max(1, width)))
    size = min(most, 5 * points.shape[1] + _SPARE)
    part, weight, spent, stale = np.argpartition(np.abs(gradient), size - 1)[:size], 0.0, 4.0 * whole, 0
    for _ in range(_ROUNDS):
        if primal - value <= _GOAL * primal or spent > _PRODUCTS or stale == _STALE:
            break
        some = points[rows[part]].astype(np.float64)
        if form.groups and not weight:
            weight = float((some * some).sum()) / size  # of the sum's square, the scale of |x|^2
        fixed, total = weights(a) - some.T @ a[part], float(a.sum() - a[part].sum())
        linear = form.linear[part] - some @ fixed - level - weight * total
        a[part], steps = _raised(some, linear, weight, a[part], form.lower[part], form.upper[part])
        before = value
        value, best = max((value, best), valued(a), key=lambda pair: pair[0])
        stale = stale + 1 if size == most and value - before <= _LITTLE * (primal - value) else 0
        level += weight * float(a.sum())
        spent += 2.0 * steps * size * (width + _OWN) + 4.0 * whole
        gradient = form.gradient(products_with(points, weights(a))) - level
        room = np.where(gradient > 0.0, form.upper - a, a - form.lower)
        size = min(most, 2 * size)
        part = np.argpartition(-np.where(room > 0.0, np.abs(gradient), 0.0), size - 1)[:size]
    return best


def _raised(points: Any, linear: Vector, weight: float, a: Vector, lower: Vector, upper: Vector) -> tuple[Vector, int]:
    """Return variables that raise linear'a - 1/2 |points' a|^2 - weight / 2 (sum a)^2 inside their bounds, and the steps."""
    from scipy.optimize import Bounds, minimize

    def descent(variables: Vector) -> tuple[float, Vector]:
        w, total = points.T @ variables, float(variables.sum())
        value = 0.5 * float(w @ w) + 0.5 * weight * total**2 - float(linear @ variables)
        return value, points @ w + weight * total - linear

    options: Any = {"maxiter": _ITERATIONS, "maxfun": 2 * _ITERATIONS, "ftol": 0.0, "gtol": 0.0}
    found: Any = minimize(descent, a, jac=True, method="L-BFGS-B", bounds=Bounds(lower, upper), options=options)
    return np.clip(found.x, lower, upper), int(found.nfev)
