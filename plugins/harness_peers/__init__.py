"""Plugin `peers`: other people's SVM libraries, run on the same problems and judged by the same certificates.

Each solver appears only where its package is installed.
"""

from __future__ import annotations

import importlib.util

from harness import Solver, hookimpl
from harness_peers.libsvm import LibSVM, LibSVMOfficial, LibSVR, SklearnEx
from harness_peers.linear import PEERS
from harness_peers.thunder import ThunderSVM


@hookimpl
def harness_solvers() -> list[type[Solver]]:
    """Return the solvers whose packages can be found, without importing them."""
    solvers = (LibSVM, LibSVR, SklearnEx, LibSVMOfficial, ThunderSVM)
    found = [solver for solver in solvers if importlib.util.find_spec(solver.package.partition(".")[0]) is not None]
    return [*found, *(PEERS if importlib.util.find_spec("sklearn") is not None else ())]
