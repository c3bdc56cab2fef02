"""Plugin `peers`: other people's SVM libraries, run on the same problems and judged by the same certificates.

A library that the harness does not need itself is in the solver's ``requires``: `harness peers install` fetches it.
"""

from __future__ import annotations

from harness import Solver, hookimpl
from harness_peers.libsvm import LibSVM, LibSVMOfficial, LibSVR, SklearnEx
from harness_peers.linear import SGD, LibLinear, LinearSVC, Nystroem, RandomFeatures
from harness_peers.thunder import ThunderSVM


@hookimpl
def harness_solvers() -> list[type[Solver]]:
    """Return the solvers; no library is imported for it."""
    return [LibSVM, LibSVR, SklearnEx, LibSVMOfficial, ThunderSVM, LibLinear, LinearSVC, SGD, Nystroem, RandomFeatures]
