"""The anytime trace: the model at geometrically spaced times and kernel counts."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.kernels.oracle import uncounted
from harness.problems.problem import FEASIBLE, Certificate, Problem
from harness.run.record import ENTRIES, clean

if TYPE_CHECKING:
    from harness.solver import Iterate

    Metric = Callable[[Any, float], float | None]
    Vector = np.ndarray[Any, np.dtype[np.float64]]


_INFO = (1000, 20_000)  # entries and characters of the info of a point: all points of a run are to fit in a record
FIGURES = ("primal", "dual", "relative_gap", "kkt_violation", "margin_lower", "margin_upper", "epsilon")
"""The figures of a certificate that a trace point holds."""


@dataclass(frozen=True)
class TracePoint:
    """One point of the trace; figures that would cost too much in mid-run are None.

    seconds : inside the solver so far; certificates are outside the clock
    reason : which series made the point due, ``seconds`` or ``kernel_evaluations`` (``end``: the last iterate)
    model : (coefficients, intercept), copied, where somebody else is to certify it, see `TracePlan`
    reached : the target, by the certificate
    """

    seconds: float
    kernel_evaluations: int | None
    iteration: int
    reason: str
    support_vectors: int | None = None
    primal: float | None = None
    dual: float | None = None
    relative_gap: float | None = None
    kkt_violation: float | None = None
    margin_lower: float | None = None
    margin_upper: float | None = None
    epsilon: float | None = None
    test_accuracy: float | None = None
    info: dict[str, Any] = field(default_factory=dict)
    model: tuple[Vector, float] | None = field(default=None, repr=False, compare=False)
    reached: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Return the point without its empty figures, its model, and whether it reached the target."""
        found = {each.name: getattr(self, each.name) for each in fields(self) if each.name not in ("model", "reached")}
        return {name: value for name, value in found.items() if value is not None and value != {}}


@dataclass(frozen=True)
class TracePlan:
    """When a trace point is due, and what it may cost.

    per_decade : points per factor of ten, of seconds from ``first_seconds`` and of evaluations from ``first_evaluations``
    certificate_values : kernel values one mid-run certificate may cost the host; above: cheap figures only
    deferred : keep the models, for a process that never ran the solver to certify; at once only where a target needs it
    """

    per_decade: int = 5
    first_seconds: float = 1e-3
    first_evaluations: int = 1000
    certificate_values: int = 20_000_000
    deferred: bool = False

    def next_seconds(self, seconds: float) -> float:
        """Return the first point of the series of seconds after ``seconds``."""
        return _next_in_series(self.first_seconds, self.per_decade, seconds)

    def next_evaluations(self, evaluations: int) -> float:
        """Return the first point of the series of kernel evaluations after ``evaluations``."""
        return _next_in_series(float(self.first_evaluations), self.per_decade, float(evaluations))


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
    iteration: int,
    reason: str,
    plan: TracePlan,
    observable: bool = True,
    target: float | None = None,
) -> TracePoint:
    """Measure an iterate: with its certificate where what that costs is allowed, else what is cheap."""
    evaluations = problem.kernel.counter.evaluations if observable else None
    info = claims(iterate.info, *_INFO)
    if iterate.dual_coef is None:
        return TracePoint(seconds, evaluations, iteration, reason, info=info)
    coef, intercept = np.array(iterate.dual_coef, dtype=np.float64), float(iterate.intercept)
    support = int(np.count_nonzero(coef))
    point = TracePoint(seconds, evaluations, iteration, reason, support, info=info)
    if coef.shape != (problem.n,) or not np.isfinite(coef).all() or not math.isfinite(intercept):
        return point
    if problem.certificate_cost(support) > plan.certificate_values:
        return point
    if plan.deferred:
        point = replace(point, model=(coef, intercept))
        if target is None:
            return point
    figures, reached = certified_figures(problem, coef, intercept, target=target)
    return replace(point, reached=reached) if plan.deferred else replace(point, **figures, reached=reached)


def certified_figures(
    problem: Problem, coef: Vector, intercept: float, metric: Metric | None = None, target: float | None = None
) -> tuple[dict[str, Any], bool]:
    """Return the figures of a trace point's certificate, uncounted, and whether it meets the target."""
    with uncounted(problem.kernel):
        found = problem.certify(coef, intercept)
    if (found.feasibility_violation or 0.0) > FEASIBLE:  # a gap of infeasible coefficients bounds nothing
        found = Certificate(feasibility_violation=found.feasibility_violation)
    figures: dict[str, Any] = {name: getattr(found, name) for name in FIGURES}
    if metric is not None:
        figures["test_accuracy"] = metric(coef, intercept)
    return figures, target is not None and found.meets(target)


def claims(info: Any, *room: int) -> dict[str, Any]:
    """Return a solver's own figures as JSON data, of at most so many entries and characters, see ``clean``.

    Infinity and NaN are told in words, they may be what it has to say.
    """
    told = {
        name: repr(float(value)) if isinstance(value, (float, np.floating)) and not math.isfinite(value) else value
        for name, value in itertools.islice(info.items(), ENTRIES + 1)
    }
    found: dict[str, Any] = clean(told, *room)
    return found
