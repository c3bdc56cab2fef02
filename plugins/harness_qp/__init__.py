"""Plugin `qp`: the reference optimum from a general convex solver."""

from __future__ import annotations

from harness import Solver, hookimpl
from harness_qp.qp import QP


@hookimpl
def harness_solvers() -> list[type[Solver]]:
    """Return the solvers of this plugin."""
    return [QP]
