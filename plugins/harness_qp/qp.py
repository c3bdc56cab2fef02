"""The exact optimum of any convex formulation from cvxpy: ground truth for small problems, and an oracle.

It needs the whole kernel matrix: n^2 kernel evaluations and O(n^2) memory, O(n^3) time (O(n r^2) for a kernel
matrix of rank r).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from harness import (
    CSVC,
    Iterate,
    Solver,
    UsageError,
    parameter,
)
from harness_qp.convex import BoxQP

if TYPE_CHECKING:
    from collections.abc import Iterator

    from harness import Problem
    from harness.arrays import Vector

_LINEAR_ONLY = ("CBC", "GLOP", "GLPK", "GLPK_MI", "PDLP", "SCIPY")  # cvxpy backends without quadratic objectives
_INTERSECTING = 1e-13  # |w|^2 below this part of the largest k(x, x): w = 0 up to rounding


@dataclass(frozen=True)
class QP(Solver):
    """The dual as a quadratic program, solved by a cvxpy backend and polished by an active-set method."""

    name = "qp"
    solves = (CSVC,)
    solves_dual_forms = True
    serves = ("reference",)

    backend: str = parameter("CLARABEL", "cvxpy backend for quadratic programs, by cvxpy's name")
    gap: float = parameter(1e-5, "relative duality gap up to which the answer counts as the optimum", gt=0)
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

    def with_target_gap(self, gap: float) -> Self:
        """Return this solver with ``gap``: it works as exactly as it can, and is done if that is enough."""
        return self.replaced(gap=gap)

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
        form = problem.dual_form()
        largest = float(np.diagonal(kernel).max()) + ridge
        program = BoxQP(form, kernel, ridge)
        if form.linear.any():
            scale = float((form.upper - form.lower).max() * np.abs(form.linear).max())
            x, status = program.interior(self.backend, scale)
            x = program.feasible(x)
            if form.copies > 1:  # what a point has of both signs cancels
                x = program.feasible(form.variables(form.coef(x)))
            x = program.polished(x)
        else:
            x, status = self._nearest(program, largest)
        gradient = program.gradient(x)
        intercept = form.intercept(form.levels(form.ends(x, gradient)))
        coef = form.coef(x)
        if not form.linear.any() and float(coef @ form.scores(gradient)) <= _INTERSECTING * largest:
            status = "hulls intersect" if form.groups == 2 else "the origin is inside"
        info = {"status": status, "backend": self.backend, "kkt_violation": program.violation(x)}
        if form.relative or not form.linear.any():
            problem.kernel.diagonal()  # what tells the certificate whether w is zero: asked for here, so that it counts
        reached = problem.certificate(coef, intercept, form.scores(gradient)).relative_gap
        done = reached is None or reached <= self.gap
        if not done:
            info["stopped"] = (
                f"the backend {self.backend} ended '{status}', and the polish at a relative gap of {reached:.2g}, above "
                f"{self.gap:g}"
            )
        yield Iterate(coef, intercept, done=done, info=info)

    def _nearest(self, program: BoxQP, largest: float) -> tuple[Vector, str]:
        """Solve a program without a linear part: the shortest w, whose length is not known beforehand."""
        scale = largest if largest > 0.0 else 1.0
        x, status = program.interior(self.backend, scale)
        x = program.feasible(x)
        squared = program.squared_norm(x)
        for _ in range(3):
            if squared >= 1e-2 * scale or squared <= _INTERSECTING * largest:
                break
            # a short w is an optimum that the backend's absolute tolerance hides: ask again in its own units
            scale = squared
            try:
                candidate, new_status = program.interior(self.backend, scale)
            except ArithmeticError:
                break
            candidate = program.feasible(candidate)
            squared = program.squared_norm(candidate)
            if squared < scale:
                x, status = candidate, new_status
        return program.polished(x), status
