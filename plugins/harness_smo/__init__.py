"""Plugin `smo`: sequential minimal optimisation, two coefficients at a time."""

from __future__ import annotations

from harness import Solver, hookimpl
from harness_smo.block import SMOBlock
from harness_smo.smo import SMO


@hookimpl
def harness_solvers() -> list[type[Solver]]:
    """Return the solvers of this plugin."""
    return [SMO, SMOBlock]
