"""What the solvers share whose accuracy is epsilon of Kumar & Yildirim: the parameter, and what they refuse."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from harness import DEFAULT_RELATIVE_GAP, PolytopeDistance, Solver, parameter

if TYPE_CHECKING:
    from harness import Problem


@dataclass(frozen=True)
class HullSolver(Solver):
    """A solver that stops at epsilon = max(epsilon_+, epsilon_-), (10) and (11)."""

    epsilon: float = parameter(
        0.5 * DEFAULT_RELATIVE_GAP,
        "relative accuracy of the margin at which it stops; the relative gap is then at most twice as large",
        gt=0,
        lt=1,
    )

    def with_target_gap(self, gap: float) -> Self:
        """Return this solver with epsilon = gap / 2: the relative gap is 1 - (1 - epsilon)^2 <= 2 epsilon."""
        return self.replaced(epsilon=min(gap / 2.0, 0.5))

    def skip(self, problem: Problem) -> str | None:
        """Refuse two hulls where the data have one class only."""
        return one_class(self.name, problem)


def one_class(name: str, problem: Problem) -> str | None:
    """Return why the solver ``name`` refuses two hulls of data that have one class only; None if they have both."""
    labels = set(problem.targets.tolist())
    if isinstance(problem, PolytopeDistance) or len(labels) > 1:
        return None
    only = "+1" if 1.0 in labels else "-1"
    return f"{name} on {problem.name} needs points of both classes, and all are {only}: give some of the other."
