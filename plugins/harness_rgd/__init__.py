"""Random gradient descent trees: see :mod:`harness_rgd.solvers`."""

from __future__ import annotations

from harness import Solver, hookimpl
from harness_rgd.solvers import RGDBoosted, RGDTree


@hookimpl
def harness_solvers() -> list[type[Solver]]:
    """Return the solvers of this plugin."""
    return [RGDTree, RGDBoosted]
