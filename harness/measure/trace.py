"""The anytime trace: the model at geometrically spaced times and kernel counts."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from harness.plain import bounded
from harness.problems.problem import FEASIBLE, Certificate, Problem
from harness.run.record import TracePoint

if TYPE_CHECKING:
    from harness.arrays import Vector
    from harness.solver import Iterate

    Metric = Callable[[Any, float], float | None]

_INFO = (200, 5000)  # entries and characters of the info of a point: all points of a run are to fit in a record
_CERTIFIED = {each.name for each in fields(Certificate)}
FIGURES = tuple(each.name for each in fields(TracePoint) if each.name in _CERTIFIED)
"""The figures of a certificate that a trace point holds."""


@dataclass(frozen=True)
class TracePlan:
    """When a trace point is due, and what it may cost.

    per_decade : points per factor of ten, of seconds and of evaluations
    first_seconds, first_evaluations : where the two series begin
    queries_per_decade : where targets are queried, points per factor of ten of them, from the first one
    certificate_values : most kernel values that one mid-run certificate, or the scores of the test points, may take; beyond,
        a point has cheap figures only
    deferred : keep the models for the certifier, and certify here only what a target needs
    """

    per_decade: int = 5
    first_seconds: float = 1e-3
    first_evaluations: int = 1000
    queries_per_decade: int = 20
    certificate_values: int = 20_000_000
    deferred: bool = False

    SERIES: ClassVar = ("queried", "seconds", "kernel_evaluations")  # the first one that is due names a trace point

    def next(self, series: str, value: float) -> float:
        """Return the first point of a series after ``value``; of queried targets every one up to 9, then ever fewer."""
        firsts = {"queried": 1.0, "seconds": self.first_seconds, "kernel_evaluations": float(self.first_evaluations)}
        first, per_decade = firsts[series], self.queries_per_decade if series == "queried" else self.per_decade
        if value < first:
            return first
        step = math.floor(per_decade * math.log10(value / first) + 1e-9) + 1
        return float(first * 10.0 ** (step / per_decade))


def trace_point(
    problem: Problem,
    iterate: Iterate,
    *,
    seconds: float,
    cpu_seconds: float | None = None,
    iteration: int,
    reason: str,
    plan: TracePlan,
    observable: bool = True,
    metric: Metric | None = None,
    target: float | None = None,
    plain: Problem | None = None,
) -> TracePoint:
    """Measure an iterate: with its certificate where that is cheap enough, else without.

    plain : the problem whose kernel counts nothing, on which certificates are computed; None: ``problem``
    """
    evaluations = problem.kernel.counter.evaluations if observable else None
    queried = len(problem.queried) if problem.queries_targets else None
    info, _ = claims(iterate.info, *_INFO)
    held = iterate.free_coef if iterate.dual_coef is None else iterate.dual_coef
    support = None if held is None else int(np.count_nonzero(held))
    point = TracePoint(
        seconds, evaluations, iteration, reason, support, queried=queried, cpu_seconds=cpu_seconds, info=info
    )
    if iterate.dual_coef is None or support is None:
        return point
    coef, intercept = np.array(iterate.dual_coef, dtype=np.float64), float(iterate.intercept)
    if coef.shape != (problem.n,) or not np.isfinite(coef).all() or not math.isfinite(intercept):
        return point
    if problem.certificate_cost(support) > plan.certificate_values:
        return point
    if plan.deferred:
        point = replace(point, model=(coef, intercept))
        if target is None:
            return point
    figures, reached = certified_figures(plain or problem, coef, intercept, None if plan.deferred else metric, target)
    return replace(point, reached=reached) if plan.deferred else replace(point, **figures, reached=reached)


def certified_figures(
    problem: Problem, coef: Vector, intercept: float, metric: Metric | None = None, target: float | None = None
) -> tuple[dict[str, Any], bool]:
    """Return the figures of a trace point's certificate, and whether it meets the target."""
    found = problem.certify(coef, intercept)
    # a gap of infeasible coefficients bounds nothing
    if (found.feasibility_violation or 0.0) > FEASIBLE or found.contradicts_itself:
        found = Certificate(feasibility_violation=found.feasibility_violation)
    figures: dict[str, Any] = {name: getattr(found, name) for name in FIGURES}
    if metric is not None:
        figures["test_accuracy"] = metric(coef, intercept)
    return figures, target is not None and found.meets(target)


def claims(info: Any, entries: int, characters: int) -> tuple[dict[str, Any], bool]:
    """Return a solver's own figures as JSON data, of at most so many entries and characters, and whether some were cut.

    Infinity and NaN become words, as JSON has no such numbers.
    """
    told = {
        name: repr(float(value)) if isinstance(value, (float, np.floating)) and not math.isfinite(value) else value
        for name, value in itertools.islice(info.items(), entries + 1)
    }
    found: tuple[dict[str, Any], bool] = bounded(told, entries, characters)
    return found
