"""The anytime trace: the model at geometrically spaced times and kernel counts."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

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
    labels_per_decade : where labels are sold, points per factor of ten of those that were bought, from the first one
    certificate_values : most kernel values that one mid-run certificate, or the scores of the test points, may take; beyond,
        a point has cheap figures only
    deferred : keep the models for the certifier, and certify here only what a target needs
    """

    per_decade: int = 5
    first_seconds: float = 1e-3
    first_evaluations: int = 1000
    labels_per_decade: int = 20
    certificate_values: int = 20_000_000
    deferred: bool = False

    def next_seconds(self, seconds: float) -> float:
        """Return the first point of the series of seconds after ``seconds``."""
        return _next_in_series(self.first_seconds, self.per_decade, seconds)

    def next_evaluations(self, evaluations: int) -> float:
        """Return the first point of the series of kernel evaluations after ``evaluations``."""
        return _next_in_series(float(self.first_evaluations), self.per_decade, float(evaluations))

    def next_labels(self, labels: int) -> float:
        """Return the first point of the ladder of labels after ``labels``: every one up to 9, then ever fewer."""
        return _next_in_series(1.0, self.labels_per_decade, float(labels))


def _next_in_series(first: float, per_decade: int, value: float) -> float:
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
    labels = problem.kernel.counter.labels if problem.sells_labels else None
    info, _ = claims(iterate.info, *_INFO)
    held = iterate.free_coef if iterate.dual_coef is None else iterate.dual_coef
    support = None if held is None else int(np.count_nonzero(held))
    point = TracePoint(
        seconds, evaluations, iteration, reason, support, labels_used=labels, cpu_seconds=cpu_seconds, info=info
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
    if (found.feasibility_violation or 0.0) > FEASIBLE:  # a gap of infeasible coefficients bounds nothing
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
