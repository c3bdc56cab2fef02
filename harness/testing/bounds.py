"""Feasible models of a test problem with their certificates, and what is wrong with these as bounds of one optimum."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.support.errors import InvalidModel

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from harness.problems.cases import Case
    from harness.problems.dual import DualForm
    from harness.problems.problem import Certificate, Problem
    from harness.support.arrays import Vector

_DRAWS = 8  # vertices of the feasible set, and as many points inside, that are drawn
_SHARES = (0.5, 0.9, 0.99, 0.999, 1.0)  # places on the way from a drawn point to the optimum
_SCALES = (1e-2, 0.1, 1.0, 10.0)  # sums of the guessed coefficients of a class
_ROUNDING = 1e-9  # tolerance of objectives, as a fraction of the sizes of their terms
_TOLERANCE = 1e-6  # largest overlap of bounds, as a fraction of the larger one


@dataclass(frozen=True)
class Point:
    """A feasible model, by its certificate.

    primal, dual : its objectives, with the sign of a problem whose primal is minimised
    value : objective of the dual form; size : sum of the sizes of its terms; least : least primal value that the dual form
        implies, -inf if it implies none
    """

    certificate: Certificate
    primal: float
    dual: float
    value: float = 0.0
    size: float = 0.0
    least: float = -np.inf


def wrong_dual(points: Sequence[Point]) -> str:
    """Return a sentence on a point whose dual value is not the objective of the dual form; empty if there is none."""
    for point in points:
        if not abs(point.dual - point.value) <= _ROUNDING * point.size:
            return f"the dual value of a feasible point is {point.dual:.9g}; by dual_form() it is {point.value:.9g}."
    return ""


def wrong_bound(points: Sequence[Point], optimum: float | None) -> str:
    """Return a sentence on objectives that do not bound one optimum, or on a gap that is not their difference; else empty.

    optimum : with the sign of the dual values; None if it is not known
    """
    for point in points:
        size, gap = abs(point.primal) + abs(point.dual) + point.size, point.primal - point.dual
        if gap < -_ROUNDING * size or abs((point.certificate.gap or 0.0) - gap) > _TOLERANCE * size:
            figures = f"the primal value is {point.primal:.6g}, the dual value {point.dual:.6g}"
            return f"the gap of a feasible point is {point.certificate.gap:.6g}; {figures}."
        if not point.primal >= point.least - _ROUNDING * size:
            return (
                f"the primal value of a model is {point.primal:.9g}; by dual_form() it is at least {point.least:.9g}."
            )
    known = [] if optimum is None else [optimum]
    low, high = max([point.dual for point in points] + known), min([point.primal for point in points] + known)
    if low - high <= _TOLERANCE * max(abs(low), abs(high)) + _ROUNDING * max(point.size for point in points):
        return ""
    return (
        f"the bounds of two models contradict each other: the optimum is at least {low:.6g} by the dual value of one, and at most "
        f"{high:.6g} by the primal value of another. Do the scores contain a ridge that f has not?"
    )


def certified_points(case: Case, last: Any) -> tuple[list[Point], float]:
    """Return the certified points of a case, and the sign: -1 if the formulation maximises its primal, as margins are.

    The points are vertices of the feasible set, points inside, and points between these and the optimum.

    last : the last iterate of an exact solver; None if there is none
    """
    problem = case.problem()
    points = [point for model in _models(problem, last) if (point := _certified(problem, *model))]
    apart = [sum(abs(sign * point.dual - point.value) for point in points) for sign in (1.0, -1.0)]
    rising = apart[0] <= apart[1] if problem.has_dual_form() else sum(p.primal - p.dual for p in points) >= 0.0
    sign = 1.0 if rising else -1.0
    return [replace(point, primal=sign * point.primal, dual=sign * point.dual) for point in points], sign


def _models(problem: Problem, last: Any) -> Iterator[tuple[Vector, float]]:
    """Yield coefficients and intercepts, which need not be feasible if the formulation has no dual form."""
    rng, drawn = np.random.default_rng(17), list[Any]()
    if problem.has_dual_form():
        form = problem.dual_form()
        inside = [
            form.feasible(form.lower + rng.random(len(form.lower)) * (form.upper - form.lower)) for _ in range(_DRAWS)
        ]
        drawn = [form.coef(a) for a in (form.start, *(_vertex(form, rng) for _ in range(_DRAWS)), *inside)]
    best = None if last is None else np.asarray(last.dual_coef, dtype=np.float64)
    offset = 0.0 if last is None else float(last.intercept)
    for coef in drawn or [np.zeros(problem.n), *_guesses(problem, rng)]:
        yield coef, offset
        if problem.has_bias:
            yield coef, float(rng.normal())
        if best is not None:
            yield from ((coef + share * (best - coef), offset) for share in _SHARES)


def _guesses(problem: Problem, rng: np.random.Generator) -> Iterator[Vector]:
    """Yield coefficients that may be feasible: of the sign of the targets, with the same sum over each class, on several scales."""
    positive = problem.targets > np.median(problem.targets) if problem.task == "regression" else problem.targets > 0.0
    for scale in np.repeat(_SCALES, 2):
        weights = rng.random(problem.n)
        for members in (positive, ~positive):
            weights[members] /= max(float(weights[members].sum()), 1e-300)
        yield scale * np.where(positive, weights, -weights)


def _vertex(form: DualForm, rng: np.random.Generator) -> Vector:
    """Return a vertex of the feasible set, (V,): variables at their bounds, but for one of each group whose sum is fixed."""
    a = np.where(rng.random(len(form.lower)) < 0.5, form.lower, form.upper)
    for k in range(form.groups):
        members = rng.permutation(np.flatnonzero(form.group == k))
        room = (form.upper - form.lower)[members]
        needed = float(form.start[members].sum() - form.lower[members].sum())
        a[members] = form.lower[members] + np.clip(needed - (np.cumsum(room) - room), 0.0, room)
    return a


def _certified(problem: Problem, coef: Vector, intercept: float) -> Point | None:
    """Return the point of a model; None if it is infeasible, or has no gap."""
    try:
        coef, intercept = problem.checked(coef, intercept)
    except InvalidModel:
        return None
    certificate = problem.certify(coef, intercept)
    if certificate.primal is None or certificate.dual is None or certificate.gap is None:
        return None
    if not problem.has_dual_form():
        return Point(certificate, certificate.primal, certificate.dual)
    form, scores, ridge = problem.dual_form(), problem.kernel.expand(coef), problem.kernel.ridge
    a = form.split(problem.feasible(coef))
    squared, gain = float(coef @ scores), form.linear * a
    size = float(np.abs(gain).sum()) + 0.5 * squared + abs(form.constant)
    value, least = float(gain.sum()) - 0.5 * squared + form.constant, -np.inf
    if form.groups <= 1 and not form.start.any():
        # the loss at f is at least the largest of a (linear - f) - ridge / 2 a^2 over the bounds of a
        slope = form.linear - np.tile(scores - ridge * coef + intercept, form.copies)
        at = np.clip(slope / ridge, form.lower, form.upper) if ridge else np.where(slope > 0.0, form.upper, form.lower)
        loss = slope * at - 0.5 * ridge * at * at
        least = 0.5 * (squared - ridge * float(coef @ coef)) + float(loss.sum()) + form.constant
        size += float(np.abs(loss).sum())
    return Point(certificate, certificate.primal, certificate.dual, value, size, least)
