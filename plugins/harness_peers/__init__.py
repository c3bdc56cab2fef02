"""Plugin `peers`: other people's SVM libraries, run on the same problems and judged by the same certificates.

Each solver appears only where its package is installed.
"""

from __future__ import annotations

import importlib.util

from harness import Solver, hookimpl
from harness_peers.libsvm import LibSVM, SklearnEx

__all__ = ["LibSVM", "SklearnEx"]


@hookimpl
def harness_solvers() -> list[type[Solver]]:
    """Return the solvers whose packages can be found, without importing them."""
    packages: dict[str, type[Solver]] = {"sklearn": LibSVM, "sklearnex": SklearnEx}
    return [solver for package, solver in packages.items() if importlib.util.find_spec(package) is not None]
