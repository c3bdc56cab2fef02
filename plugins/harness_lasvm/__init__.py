"""The LASVM family of online kernel machines: see :mod:`harness_lasvm.solver`."""

from __future__ import annotations

from harness import Solver, hookimpl
from harness_lasvm.solver import LASVM

__all__ = ["LASVM"]


@hookimpl
def harness_solvers() -> list[type[Solver]]:
    """Return the solvers of this plugin."""
    return [LASVM]
