"""The anytime trace: the model at geometrically spaced times and kernel counts."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from harness.measure.outcome import TracePoint
from harness.problems.problem import FEASIBLE, Certificate, Problem
from harness.support.printable import bounded

if TYPE_CHECKING:
    from harness.solver.protocol import Iterate
    from harness.support.arrays import Vector

Dual = tuple[Any, float]  # coefficients, (n,), and intercept
_CERTIFIED = {figure.name for figure in fields(Certificate)}
FIGURES = tuple(name for name in TracePoint.__struct_fields__ if name in _CERTIFIED)
"""Names of the figures of a certificate in a trace point."""


@dataclass(frozen=True)
class TracePlan:
    """Schedule of trace points, and the largest cost of each.

    per_decade : points per factor of ten of seconds and of evaluations
    first_seconds, first_evaluations : first values of the two series
    queries_per_decade : points per factor of ten of queried targets
    certificate_values : largest number of kernel values for the certificate of a point's model, or for its scores of the
        test points; costlier points have no model
    """

    per_decade: int = 5
    first_seconds: float = 1e-3
    first_evaluations: int = 1000
    queries_per_decade: int = 20
    certificate_values: int = 20_000_000

    SERIES: ClassVar = ("queried", "seconds", "kernel_evaluations")  # the first series that is due names a trace point

    def next(self, series: str, value: float) -> float:
        """Return the first value of a series after ``value``."""
        firsts = {"queried": 1.0, "seconds": self.first_seconds, "kernel_evaluations": float(self.first_evaluations)}
        first, per_decade = firsts[series], self.queries_per_decade if series == "queried" else self.per_decade
        if value < first:
            return first
        step = math.floor(per_decade * math.log10(value / first) + 1e-9) + 1
        return float(first * 10.0 ** (step / per_decade))


def copied_dual(problem: Problem, iterate: Iterate, support: int, most_values: int) -> Dual | None:
    """Return copies of the coefficients and the intercept of a dual solution.

    Return None if the coefficients are not n finite numbers, or if a certificate takes more than ``most_values`` kernel
    values.
    """
    if problem.certificate_cost(support) > most_values:
        return None
    coef, intercept = np.array(iterate.dual_coef, dtype=np.float64), float(iterate.intercept)
    if coef.shape != (problem.n,) or not np.isfinite(coef).all() or not math.isfinite(intercept):
        return None
    return coef, intercept


def certificate_of(problem: Problem, coef: Vector, intercept: float) -> Certificate:
    """Return the certificate of a trace point's model; empty if it contradicts itself or ``coef`` is infeasible."""
    certificate = problem.certify(coef, intercept)
    # a gap of infeasible coefficients bounds nothing
    invalid = (certificate.feasibility_violation or 0.0) > FEASIBLE or certificate.contradicts_itself
    return Certificate() if invalid else certificate


def claims(info: Any, entries: int, characters: int) -> tuple[dict[str, Any], bool]:
    """Return the info of a solver as JSON data of at most so many entries and characters, and whether it was truncated.

    Infinity and NaN become strings, as JSON has no such numbers.
    """
    values = {
        name: repr(float(value)) if isinstance(value, (float, np.floating)) and not math.isfinite(value) else value
        for name, value in itertools.islice(info.items(), entries + 1)
    }
    result: tuple[dict[str, Any], bool] = bounded(values, entries, characters)
    return result
