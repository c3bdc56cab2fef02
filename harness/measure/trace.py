"""The anytime trace: the model at geometrically spaced times and kernel counts."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.kernels.oracle import uncounted
from harness.problems.problem import Problem

if TYPE_CHECKING:
    from harness.solver import Iterate

    Metric = Callable[[Any, float], float | None]


FIGURES = ("primal", "dual", "relative_gap", "kkt_violation", "margin_lower", "margin_upper", "epsilon")
"""The figures of a certificate that a trace point holds."""


@dataclass(frozen=True)
class TracePoint:
    """One point of the trace; figures that would cost too much in mid-run are None.

    seconds : inside the solver so far; certificates are outside the clock
    reason : which series made the point due, ``seconds`` or ``kernel_evaluations`` (``end``: the last iterate)
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

    def as_dict(self) -> dict[str, Any]:
        """Return the point without its empty figures."""
        return {name: value for name, value in asdict(self).items() if value is not None and value != {}}


@dataclass(frozen=True)
class TracePlan:
    """When a trace point is due, and what it may cost.

    per_decade : points per factor of ten, of seconds from ``first_seconds`` and of evaluations from ``first_evaluations``
    certificate_values : kernel values one mid-run certificate may cost the host; above: cheap figures only
    """

    per_decade: int = 5
    first_seconds: float = 1e-3
    first_evaluations: int = 1000
    certificate_values: int = 20_000_000

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
    metric: Metric | None = None,
) -> TracePoint:
    """Measure an iterate: with its certificate where what that costs is allowed, else what is cheap."""
    evaluations = problem.kernel.counter.evaluations if observable else None
    info = plain(iterate.info)
    if iterate.dual_coef is None:
        return TracePoint(seconds, evaluations, iteration, reason, info=info)
    coef = np.array(iterate.dual_coef, dtype=np.float64)
    support = int(np.count_nonzero(coef))
    figures: dict[str, Any] = {}
    if (
        coef.shape == (problem.n,)
        and np.isfinite(coef).all()
        and problem.certificate_cost(support) <= plan.certificate_values
    ):
        intercept = float(iterate.intercept)  # the solver's own code at the latest here: it is counted
        with uncounted(problem.kernel):
            found = problem.certify(coef, intercept)
        figures = {name: getattr(found, name) for name in FIGURES}
        if metric is not None:
            figures["test_accuracy"] = metric(coef, intercept)
    return TracePoint(seconds, evaluations, iteration, reason, support, **figures, info=info)


def plain(info: Any) -> dict[str, Any]:
    """Return a solver's info with numpy scalars turned into Python's, so that it can be written as JSON."""
    result: dict[str, Any] = {}
    for name, value in dict(info).items():
        if isinstance(value, np.generic):
            value = value.item()
        elif isinstance(value, np.ndarray):
            value = value.tolist()
        if isinstance(value, float) and not math.isfinite(value):
            value = repr(value)
        result[str(name)] = value if isinstance(value, (int, float, str, bool, list, type(None))) else repr(value)
    return result
