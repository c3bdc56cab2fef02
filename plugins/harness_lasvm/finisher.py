"""An exact solver that takes over a finishing step which is long: on all of S, from LASVM's coefficients.

Where many members have coefficients between 0 and a large C, REPROCESS takes hundreds of steps a member: each pair it
improves puts others wrong. A solver that minimises over all free variables together takes as long as a few dozen. It
computes its kernel values anew, and from the online coefficients it would take longer than REPROCESS does as a rule:
whoever ends within :data:`LONG` steps a member is never handed over, and the others are nearly sorted by then.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from harness import CSVC, Oracle, get_solver, oracle_refusal

if TYPE_CHECKING:
    from harness import Problem, Solver
    from harness.arrays import Vector

LONG = 30  # REPROCESS operations for each member that S began with: measured, 10 and 100 take longer
_MANY = 2500  # members: exact solvers do not compute the matrix of more at once, and take longer for it
_LONGER = 2  # times as many operations with more
_BYTES = 16  # of memory for each pair of members: the oracle's kernel matrix in float64, and what it works in
_SURE = 0.9  # of tau: scores that are computed anew round otherwise


def named(name: str, tau: float) -> Solver:
    """Return the solver called ``name``, ending at ``tau`` if that is a parameter of it, else at as small a relative gap.

    Raises
    ------
    UsageError : there is no such solver.
    """
    solver = get_solver(name)
    own: float | None = getattr(solver, "tau", None)
    # over S, delta <= tau leaves a relative gap of about tau
    return solver.with_target_gap(_SURE * tau) if own is None else solver.replaced(tau=min(own, _SURE * tau))


def refusal(owner: str, name: str) -> str | None:
    """Return why the solver called ``name`` cannot finish for ``owner``, in a sentence; None if it can."""

    def judged(oracle: Solver) -> str | None:
        if not oracle.takes(CSVC):
            return f"solves {oracle.solved()}, not {CSVC.name}; name smo-block, or none."
        return None if oracle.exact else "is not exact: it may end above tau; name smo-block, or none."

    return oracle_refusal(owner, name, judged)


def is_due(operations: int, began: int, members: int) -> bool:
    """Return whether so many operations, on S that ``began`` with as many members, are more than an exact solver costs."""
    return operations >= LONG * began * (1 if members <= _MANY else _LONGER)


def fits(members: int, cache_mb: float) -> bool:
    """Return whether the kernel matrix of so many members leaves the memory for kernel rows as it is said to be."""
    return _BYTES * members**2 <= cache_mb * 2**20


class Finisher:
    """One finishing step by an exact solver, and what came of it.

    Parameters
    ----------
    problem : over all examples
    members : (m,) of S, ascending: those set aside included
    start : (n,) coefficients, 0 but for members

    Attributes
    ----------
    coef : (n,) the latest model
    intercept : of it
    steps : of the solver, as it counts them
    delta : gradient difference of the most violating pair of S, computed from the last model; infinity before, and if the
        solver ended without being done
    """

    def __init__(self, solver: Solver, problem: Problem, members: Any, start: Vector) -> None:
        self.oracle, self.sub = Oracle(solver), problem.restrict(members)
        self.members, self.coef = members, start.copy()
        self.intercept, self.steps, self.delta = 0.0, 0, np.inf

    def run(self) -> Iterator[None]:
        """Drive the solver to its end; pause where it does.

        Raises
        ------
        OracleFailure : it failed; the sentence names it.
        """
        with self.oracle.failing_in("the finishing step of lasvm"):
            last: Any = None
            for last in self.oracle.iterates(self.sub, start=self.coef[self.members]):
                self.coef[self.members] = last.dual_coef
                self.intercept, self.steps = float(last.intercept), last.step or self.steps + 1
                yield
            if last is not None and last.done:
                coef, _ = self.sub.checked(self.coef[self.members], self.intercept)
                self.delta = self.sub.kkt_violation(coef, self.sub.kernel.expand(coef))
