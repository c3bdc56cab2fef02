"""Plugin `peers`: solvers that call other SVM libraries on the same problems, with the same certificates.

`harness peers install` installs the libraries in the solvers' ``requires``, which the harness itself does not need.
"""

from __future__ import annotations

from harness import Solver, hookimpl
from harness_peers.libsvm import LibSVM, LibSVMOfficial, LibSVR, SklearnEx
from harness_peers.linear import SGD, LibLinear, LinearSVC, Nystroem, RandomFeatures
from harness_peers.thunder import ThunderSVM


@hookimpl
def harness_solvers() -> list[type[Solver]]:
    """Return the solvers, without importing their libraries."""
    return [LibSVM, LibSVR, SklearnEx, LibSVMOfficial, ThunderSVM, LibLinear, LinearSVC, SGD, Nystroem, RandomFeatures]
