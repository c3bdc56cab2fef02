"""Plugin `primal`: solvers of the primal problem: kernel Pegasos, budgeted SGD, and Newton's method."""

from __future__ import annotations

from harness import Solver, hookimpl
from harness_primal.newton import PrimalNewton
from harness_primal.sgd import BudgetedSGD, Pegasos


@hookimpl
def harness_solvers() -> list[type[Solver]]:
    """Return the solvers of this plugin."""
    return [PrimalNewton, Pegasos, BudgetedSGD]
