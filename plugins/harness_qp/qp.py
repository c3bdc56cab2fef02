"""The exact optimum of any convex formulation from cvxpy: ground truth for small problems, and an oracle.

It needs the whole kernel matrix: n^2 kernel evaluations and O(n^2) memory, O(n^3) time (O(n r^2) for a kernel
matrix of rank r).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from harness import CSVC, L2SVC, CSVCNoBias, HardMargin, Iterate, ReducedHull, Solver, UsageError, parameter
from harness_qp.convex import BoxQP

if TYPE_CHECKING:
    from collections.abc import Iterator

    from harness import Problem

    Vector = np.ndarray[Any, np.dtype[np.float64]]

_LINEAR_ONLY = ("CBC", "GLOP", "GLPK", "GLPK_MI", "PDLP", "SCIPY")  # cvxpy backends without quadratic objectives
_INTERSECTING = 1e-13  # |w|^2 below this part of the largest k(x, x): w = 0 up to rounding


@dataclass(frozen=True)
class QP(Solver):
    """The dual as a quadratic program, solved by a cvxpy backend and polished by an active-set method."""

    name = "qp"
    solves = (CSVC, CSVCNoBias, L2SVC, HardMargin, ReducedHull)

    backend: str = parameter("CLARABEL", "cvxpy backend for quadratic programs, by cvxpy's name")
    max_points: int = parameter(5000, "skip larger problems: the kernel matrix and its factor are n x n", ge=1)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "backend", self.backend.upper())
        if self.backend != "CLARABEL":  # cvxpy is slow to import: not for the default
            import cvxpy as cp

            known = [name for name in cp.installed_solvers() if name not in _LINEAR_ONLY]
            if self.backend not in known:
                listing = ", ".join(sorted(known))
                raise UsageError(
                    f"solver 'qp': '{self.backend}' is no installed cvxpy backend for quadratic programs; {listing} are."
                )

    def skip(self, problem: Problem) -> str | None:
        """Refuse problems whose matrices are too large."""
        if problem.n <= self.max_points:
            return None
        megabytes = 3 * 8 * problem.n**2 / 2**20
        return (
            f"qp needs the whole kernel matrix and its factors, about {megabytes:,.0f} MB for {problem.n:,} points; "
            f"it takes at most max_points={self.max_points:,}."
        )

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        """Yield the optimum, once."""
        everything = np.arange(problem.n)
        kernel = problem.kernel.block(everything).astype(np.float64)
        ridge = problem.kernel.ridge
        kernel[everything, everything] -= ridge
        if isinstance(problem, CSVC):
            yield self._svc(problem, kernel, ridge)
        else:
            assert isinstance(problem, HardMargin)
            yield self._hulls(problem, kernel, ridge)

    def _svc(self, problem: CSVC, kernel: Vector, ridge: float) -> Iterate:
        groups, totals = ((np.arange(problem.n),), (0.0,)) if problem.has_bias else ((), ())
        program = BoxQP(kernel, ridge, problem.targets, problem.lower_bounds, problem.upper_bounds, groups, totals)
        x, status = program.interior(self.backend, scale=float(problem.upper.max()))
        x = program.polished(program.feasible(x))
        gradient = problem.targets - program.scores(x)
        up = float(np.max(gradient[x < program.upper], initial=-np.inf))
        low = float(np.min(gradient[x > program.lower], initial=np.inf))
        # with one class only, one end of the interval of b is open
        ends = [end for end in (up, low) if np.isfinite(end)]
        intercept = float(np.mean(ends)) if problem.has_bias and ends else 0.0
        return self._iterate(program, x, intercept, status)

    def _hulls(self, problem: HardMargin, kernel: Vector, ridge: float) -> Iterate:
        y = problem.targets
        caps = np.where(y > 0, problem.caps[0], problem.caps[1])
        groups, totals = (np.flatnonzero(y > 0), np.flatnonzero(y < 0)), (1.0, -1.0)
        zero = np.zeros(problem.n)
        program = BoxQP(kernel, ridge, zero, np.minimum(0.0, caps * y), np.maximum(0.0, caps * y), groups, totals)
        largest = float(np.diagonal(kernel).max()) + ridge
        scale = largest if largest > 0.0 else 1.0
        x, status = program.interior(self.backend, scale)
        x = program.feasible(x)
        squared = float(x @ program.scores(x))
        for _ in range(3):
            if squared >= 1e-2 * scale or squared <= _INTERSECTING * largest:
                break
            # near hulls have an optimum that the backend's absolute tolerance hides: ask again in its own units
            scale = squared
            try:
                candidate, new_status = program.interior(self.backend, scale)
            except ArithmeticError:
                break
            candidate = program.feasible(candidate)
            squared = float(candidate @ program.scores(candidate))
            if squared < scale:
                x, status = candidate, new_status
        x = program.polished(x)
        scores = program.scores(x)
        if float(x @ scores) <= _INTERSECTING * largest:
            status = "hulls intersect"
        thresholds = [
            _threshold(sign * scores[y == sign], sign * x[y == sign], problem.caps[0]) for sign in (1.0, -1.0)
        ]
        return self._iterate(program, x, -0.5 * (thresholds[0] - thresholds[1]), status)

    def _iterate(self, program: BoxQP, x: Vector, intercept: float, status: str) -> Iterate:
        info = {"status": status, "backend": self.backend, "kkt_violation": program.violation(x)}
        return Iterate(x, intercept, done=True, info=info)


def _threshold(projections: Vector, weights: Vector, cap: float) -> float:
    """Return where the free weights of a class sit along w: at the optimum all at one projection.

    The full hull's is its nearest point; a capped weight lies before the threshold, an unused one behind it.
    """
    if cap >= 1.0:
        return float(projections.min())
    before, behind = projections[weights > 0.0], projections[weights < cap]
    if len(behind) == 0:
        return float(before.max())
    return 0.5 * (float(before.max()) + float(behind.min()))
