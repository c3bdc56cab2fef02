"""Newton's method on the primal of the squared hinge, 1/2 |w|^2 + chi / 2 sum_i max(0, 1 - y_i (f(x_i) + b))^2.

The objective is quadratic while the set of points with y f < 1, the support, is the same. A Newton step from there is the
solution of the linear system over these points (K + I / chi) beta = y - b, sum beta = 0, with beta = 0 elsewhere, whatever the point
it starts from; where it leads to the same support, it is the optimum.

Source: Chapelle, 'Training a support vector machine in the primal', Neural Computation 19 (2007): Newton's method for the
kernel SVM with L2 loss, and the growth of the support, by which the set of points is doubled and every set starts from the solution
of the one before. With lambda = 1 / chi, this is chi / 2 times the paper's lambda |w|^2 + sum_i max(0, 1 - y f)^2. Differs in:

* a step is halved until the objective falls; the paper takes the whole step, and leaves the line search out.
* the doubling is a loop from ``start`` points on, in a random order, where the paper's is a recursion.
* the model is scaled to the two hulls' points of l2-svc here, as its dual solution; weights of the wrong sign are 0 there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from harness import Conformance, Iterate, Problem, Solver, parameter
from harness.problems import L2SVC
from harness.support.arrays import Index, Vector

_HALVINGS = 30  # of one step
_STEPS = 100  # for one set of points


@dataclass(frozen=True)
class PrimalNewton(Solver):
    """Newton's method on the primal, over a growing set of points (Chapelle 2007).

    Take it for l2-svc with few support vectors, to all digits. Paper: Chapelle 2007.

    It solves linear systems over the support vectors: O(support^2) memory and O(support^3) time. ``info`` has the size of the
    set of points and of the support.
    """

    name: ClassVar[str] = "primal-newton"
    solves: ClassVar[tuple[type[Problem], ...]] = (L2SVC,)
    conformance: ClassVar[Conformance] = Conformance(gap=1e-6)

    start: int = parameter(500, "points of the first set, which is doubled until it is all points", ge=2)
    max_support: int = parameter(10_000, "largest support; the last model is that of the set before", ge=2)

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
    """Return the first ``count`` points of ``order``, and the first of each class if all are of the other."""
    firsts = [int(order[np.argmax(targets[order] == label)]) for label in (-1.0, 1.0)]
    return np.union1d(order[:count], firsts)


class _State:
    """beta, b and the scores of all points."""

    def __init__(self, problem: L2SVC) -> None:
        self.problem, self.kernel, self.targets = problem, problem.kernel, problem.targets
        self.beta, self.scores, self.b = np.zeros(problem.n), np.zeros(problem.n), 0.0
        self.rows = problem.kernel.row_cache()
        self._last: Index | None = None  # the support of the last whole step

    @property
    def outputs(self) -> Vector:
        """f(x_i) + b, (n,)."""
        return self.scores + self.b

    def solves(self, support: Index) -> bool:
        """Return whether a Newton step over ``support`` leads to where it is."""
        return self._last is not None and np.array_equal(self._last, support)

    def step(self, support: Index, points: Index) -> bool:
        """Take a Newton step over ``support``; return whether the objective over ``points`` fell."""
        beta, b = self._solution(support)
        scores = self.rows.expand(beta) - self.kernel.ridge * beta
        before, share = self._objective(points, self.beta, self.scores, self.b), 1.0
        for _ in range(_HALVINGS):
            tried = tuple(old + share * (new - old) for old, new in self._pairs(beta, scores, b))
            if self._objective(points, *tried) < before or not self.beta.any():
                self.beta, self.scores, self.b = tried
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
        """Return the nearest points of the hulls, weights that sum to 1 in each class, and the intercept."""
        weights = np.maximum(0.0, self.targets * self.beta)
        coef = np.zeros(self.problem.n)
        for label in (-1.0, 1.0):
            members = self.targets == label
            total = weights[members].sum()
            coef[members] = label * (weights[members] / total if total > 0.0 else 1.0 / members.sum())
        return coef, self.b / max(float(weights.sum()) / 2.0, 1e-300)
