"""The LASVM family of online kernel machines: see :mod:`harness_lasvm.solver`, and for streams :class:`LASVMStream`."""

from __future__ import annotations

from harness import Solver, hookimpl
from harness_lasvm.nobias import LASVMG, LASVMI, LASVMNC, FullSVM
from harness_lasvm.solver import LASVM
from harness_lasvm.stream import LASVMStream, StreamModel

__all__ = ["LASVM", "LASVMG", "LASVMI", "LASVMNC", "FullSVM", "LASVMStream", "StreamModel"]


@hookimpl
def harness_solvers() -> list[type[Solver]]:
    """Return the solvers of this plugin."""
    return [LASVM, LASVMG, LASVMNC, LASVMI, FullSVM]
