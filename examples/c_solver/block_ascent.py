"""Coordinate ascent on the dual of the SVM without a bias, its loop in C: a solver."""

import ctypes
import importlib.util
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from harness import CSVCNoBias, Iterate, Solver, hookimpl, parameter


def _library() -> ctypes.CDLL:
    """Load the compiled library, which lies where Python finds modules."""
    found = importlib.util.find_spec("_block_ascent")
    if found is None or found.origin is None:
        raise ImportError("the library of block-ascent is not built; install the project: pip install -e .")
    library = ctypes.CDLL(found.origin)
    reals = np.ctypeslib.ndpointer(np.float64, flags="C_CONTIGUOUS")
    written = np.ctypeslib.ndpointer(np.float64, flags="C_CONTIGUOUS,WRITEABLE")
    points = np.ctypeslib.ndpointer(np.int64, flags="C_CONTIGUOUS")
    size = ctypes.c_int64
    library.sweep.argtypes = (size, size, points, reals, reals, reals, written, written)
    library.sweep.restype = None
    return library


_LIBRARY = _library()


@dataclass(frozen=True)
class BlockAscent(Solver):
    """Coordinate ascent on the dual of the SVM without a bias, block by block, several sweeps over each."""

    name = "block-ascent"
    solves = (CSVCNoBias,)
    gap: float = parameter(1e-3, "relative duality gap at which it stops", gt=0)
    block: int = parameter(64, "points whose kernel rows are asked for together", ge=1)
    sweeps: int = parameter(3, "sweeps over a block before the next one", ge=1)

    def iterates(self, problem: Any, rng: np.random.Generator) -> Iterator[Iterate]:
        y, upper, n = problem.targets, problem.upper, problem.n
        dual_coef, scores = np.zeros(n), np.zeros(n)
        while True:
            squared, hinge = dual_coef @ scores, np.maximum(0.0, 1.0 - y * scores)
            primal, dual = 0.5 * squared + upper @ hinge, y @ dual_coef - 0.5 * squared
            done = bool(primal - dual <= self.gap * primal)
            yield Iterate(dual_coef=dual_coef, done=done)
            if done:
                return
            order = rng.permutation(n).astype(np.int64)
            for start in range(0, n, self.block):
                points = order[start : start + self.block]
                # counted: n kernel evaluations each, none for a row that is still in memory
                rows = np.array(problem.kernel.rows(points), dtype=np.float64)
                for _ in range(self.sweeps):
                    _LIBRARY.sweep(len(points), n, points, rows, y, upper, dual_coef, scores)


@hookimpl
def harness_solvers() -> list[type[Solver]]:
    """Return the solvers of this plugin."""
    return [BlockAscent]
