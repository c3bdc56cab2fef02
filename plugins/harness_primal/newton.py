"""Solver ``primal-newton``: Newton's method on the primal of the squared hinge loss.

It minimises 1/2 |w|^2 + chi / 2 sum_i max(0, 1 - y_i (f(x_i) + b))^2, which is quadratic while the support, the set of points with
y f < 1, does not change. A Newton step leads from any such point to the solution of (K + I / chi) beta = y - b, sum beta = 0 over
the support, with beta = 0 elsewhere. If the support is still the same, that is the optimum.

Source: Chapelle, 'Training a support vector machine in the primal', Neural Computation 19 (2007): Newton's method for the
kernel SVM with L2 loss, on sets of points that double in size, each from the solution of the previous set. With lambda = 1 / chi,
the objective is chi / 2 times the paper's lambda |w|^2 + sum_i max(0, 1 - y f)^2. This code differs in three points:

* A step is halved until the objective falls; the paper always takes the full step.
* The sets double in a loop from ``start`` points on, in a random order; the paper uses a recursion.
* The model is scaled to the nearest points of the hulls of l2-svc, its dual solution, with 0 for weights of the wrong sign.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from harness import Conformance, Iterate, Problem, Solver, parameter
from harness.problems import L2SVC
from harness.support.arrays import Index, Vector

_HALVINGS = 30  # largest number of halvings of a step
_STEPS = 100  # largest number of steps on a set of points


@dataclass(frozen=True)
class PrimalNewton(Solver):
    """Newton's method on the primal, over a growing set of points (Chapelle 2007).

    Use it for exact solutions of l2-svc with few support vectors. Paper: Chapelle 2007.

    It solves linear systems over the support vectors, in O(support^2) memory and O(support^3) time. ``info`` has the size of the
    set of points and of the support.
    """

    name: ClassVar[str] = "primal-newton"
    solves: ClassVar[tuple[type[Problem], ...]] = (L2SVC,)
    conformance: ClassVar[Conformance] = Conformance(gap=1e-6)

    start: int = parameter(500, "number of points in the first set; the sets double until they have all points", ge=2)
    max_support: int = parameter(
        10_000, "largest support; beyond it the run ends with the model of the previous set", ge=2
    )

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        assert isinstance(problem, L2SVC)
        state, order, count = _State(problem), rng.permutation(problem.n), min(self.start, problem.n)
        solved = state.model()
        while True:
            points = np.sort(_with_both_classes(order, problem.targets, count))
            for _ in range(_STEPS):
                support = points[problem.targets[points] * state.outputs[points] < 1.0]
                if len(support) > self.max_support:
                    info = {"stopped": f"the support is {len(support):,}, above max_support={self.max_support:,}"}
                    yield Iterate(*solved, working_set=len(points), info=info)
                    return
                if state.solves(support) or not state.step(support, points):
                    break
                yield Iterate(*state.model(), working_set=len(points), info={"support": len(support)})
            solved = state.model()
            if count == problem.n:
                break
            count = min(2 * count, problem.n)
        yield Iterate(*solved, done=True, working_set=problem.n)


def _with_both_classes(order: Index, targets: Vector, count: int) -> Index:
    """Return the first ``count`` points of ``order`` and the first point of each class."""
    firsts = [int(order[np.argmax(targets[order] == label)]) for label in (-1.0, 1.0)]
    return np.union1d(order[:count], firsts)


class _State:
    """State of a run: beta, b and the scores of all points."""

    def __init__(self, problem: L2SVC) -> None:
        self.problem, self.kernel, self.targets = problem, problem.kernel, problem.targets
        self.beta, self.scores, self.b = np.zeros(problem.n), np.zeros(problem.n), 0.0
        self.rows = problem.kernel.row_cache()
        self._last: Index | None = None  # the support of the last step, if it was a full step

    @property
    def outputs(self) -> Vector:
        """f(x_i) + b, (n,)."""
        return self.scores + self.b

    def solves(self, support: Index) -> bool:
        """Return whether the state is the solution over ``support``."""
        return self._last is not None and np.array_equal(self._last, support)

    def step(self, support: Index, points: Index) -> bool:
        """Take a Newton step over ``support``; return whether the objective over ``points`` fell."""
        beta, b = self._solution(support)
        scores = self.rows.expand(beta) - self.kernel.ridge * beta
        before, share = self._objective(points, self.beta, self.scores, self.b), 1.0
        for _ in range(_HALVINGS):
            candidate = tuple(old + share * (new - old) for old, new in self._pairs(beta, scores, b))
            if self._objective(points, *candidate) < before or not self.beta.any():
                self.beta, self.scores, self.b = candidate
                self._last = support if share == 1.0 else None
                return True
            share *= 0.5
        return False

    def _pairs(self, beta: Vector, scores: Vector, b: float) -> Any:
        return (self.beta, beta), (self.scores, scores), (self.b, b)

    def _solution(self, support: Index) -> tuple[Vector, float]:
        from scipy.linalg import cho_factor, cho_solve

        if len(support) <= self.rows.capacity:
            self.rows.clock += 1
            self.rows.fetch(support)
            self.rows.read(len(support))
            matrix = self.rows.rows[self.rows.slot_of[support]][:, support]
        else:
            matrix = self.kernel.block(support, support)
        factor = cho_factor(matrix, lower=True, check_finite=False)
        ones, values = cho_solve(factor, np.column_stack([np.ones(len(support)), self.targets[support]])).T
        beta, b = np.zeros(self.problem.n), float(values.sum() / ones.sum())
        beta[support] = values - b * ones
        return beta, b

    def _objective(self, points: Index, beta: Vector, scores: Vector, b: float) -> float:
        slack = np.maximum(0.0, 1.0 - self.targets[points] * (scores[points] + b))
        return float(0.5 * beta @ scores + 0.5 * self.problem.chi * slack @ slack)

    def model(self) -> tuple[Vector, float]:
        """Return the nearest points of the hulls, as weights with sum 1 in each class, and the intercept."""
        weights = np.maximum(0.0, self.targets * self.beta)
        coef = np.zeros(self.problem.n)
        for label in (-1.0, 1.0):
            members = self.targets == label
            total = weights[members].sum()
            coef[members] = label * (weights[members] / total if total > 0.0 else 1.0 / members.sum())
        return coef, self.b / max(float(weights.sum()) / 2.0, 1e-300)
