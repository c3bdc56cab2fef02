"""Plugin `peers`: other people's SVM libraries, run on the same problems and judged by the same certificates.

Each solver appears only where its package is installed.
"""

from __future__ import annotations

import importlib.util

from harness import Solver, hookimpl
from harness_peers.libsvm import LibSVM, LibSVMOfficial, LibSVR, SklearnEx
from harness_peers.linear import SGD, LinearSVC, Nystroem, RandomFeatures
from harness_peers.thunder import ThunderSVM


@hookimpl
def harness_solvers() -> list[type[Solver]]:
    """Return the solvers whose packages can be found, without importing them."""
    solvers = (LibSVM, LibSVR, SklearnEx, LibSVMOfficial, ThunderSVM, LinearSVC, SGD, Nystroem, RandomFeatures)
    return [solver for solver in solvers if importlib.util.find_spec(solver.package.partition(".")[0]) is not None]
