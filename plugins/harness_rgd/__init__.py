"""Random gradient descent trees: see :mod:`harness_rgd.solvers`."""

from __future__ import annotations

from harness import Solver, hookimpl


@hookimpl
def harness_solvers() -> list[type[Solver]]:
    """Return the solvers of this plugin."""
    return []
