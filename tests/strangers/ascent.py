"""A plugin as a stranger would write it: a solver with its own way along a path.

    harness compare --plugin-path tests/strangers/ascent.py --plugins matrix-ascent --path C,gamma --folds 5

Coordinate ascent on the dual of the SVM without a bias, over the whole kernel matrix. From one C to the next it keeps its
coefficients, which stay feasible, and their scores, so that a cell begins where the one before it ended and nothing is
computed for that; cells that differ in C alone have one kernel matrix.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from harness import CSVCNoBias, Iterate, Solver, hookimpl, parameter

if TYPE_CHECKING:
    from harness import GridPoint, Problem, SolutionPath


@dataclass(frozen=True)
class MatrixAscent(Solver):
    """Coordinate ascent on the dual of the SVM without bias, one point after the other, with the whole kernel matrix."""

    name = "matrix-ascent"
    solves = (CSVCNoBias,)
    gap: float = parameter(1e-3, "relative duality gap at which it stops", gt=0)

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        yield from self._ascend(problem, np.zeros(problem.n), np.zeros(problem.n))

    def solve_path(self, path: SolutionPath, rng: np.random.Generator) -> Iterator[tuple[GridPoint, Iterate]]:
        dual_coef = scores = np.empty(0)
        for cell in path.cells:
            problem = path.problem(cell)
            if cell.before is None:
                dual_coef, scores = np.zeros(problem.n), np.zeros(problem.n)
            for iterate in self._ascend(problem, dual_coef, scores):
                yield cell, iterate

    def _ascend(self, problem: Any, dual_coef: Any, scores: Any) -> Iterator[Iterate]:
        """Yield after each pass over the points; ``dual_coef`` and ``scores``, (n,), are where it begins and what it changes."""
        y, upper, matrix = problem.targets, problem.upper, problem.kernel.matrix()
        diagonal = problem.kernel.diagonal()
        while True:
            squared, hinge = dual_coef @ scores, np.maximum(0.0, 1.0 - y * scores)
            primal = 0.5 * squared + upper @ hinge
            done = primal - (y @ dual_coef - 0.5 * squared) <= self.gap * primal
            yield Iterate(dual_coef=dual_coef, done=bool(done))
            if done:
                return
            for i in range(problem.n):
                best = dual_coef[i] + (y[i] - scores[i]) / diagonal[i]
                step = y[i] * np.clip(y[i] * best, 0.0, upper[i]) - dual_coef[i]
                if step != 0.0:
                    scores += step * (problem.kernel.row(i) if matrix is None else matrix[i])
                    dual_coef[i] += step


@hookimpl
def harness_solvers() -> list[type[Solver]]:
    return [MatrixAscent]
