"""Fully corrective steps on w itself: all violating points enter the core set at once, its optimum by Newton's method.

l2-svc over a linear kernel has an optimum whose support is a large part of the data, and a solver that moves one vertex
an iteration needs as many passes over the points as there are support vectors. With w at hand the optimum over a core set
S, all weights free, is one linear system of d unknowns, whatever |S| is:

    min 1/2 |w|^2 + chi/2 sum_{i in S} (1 - y_i (<w, x_i> + b))^2

A round goes toward it as far as the primal objective falls, which makes the points below the new level (positive slack)
the next core set: a point enters when its slack does, and leaves with it. The slacks are the weights, up to a factor for
each class; once the core set stays, the round's end is the optimum.

O. L. Mangasarian, "A finite Newton method for classification", Optimization Methods and Software 17, 2002;
S. S. Keerthi, D. DeCoste, "A modified finite Newton method for fast solution of large scale linear SVMs", JMLR 6, 2005.
Differs in: the bias is free, not penalised; the stop is that of Kumar & Yildirim on the pair of nearest points.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, final

import numpy as np

from harness import L2SVC, Iterate, Solver, parameter

if TYPE_CHECKING:
    from collections.abc import Iterator

    from harness import Problem

    Vector = np.ndarray[Any, np.dtype[np.float64]]
    Matrix = np.ndarray[Any, np.dtype[np.float64]]

_DIRECT = 1500  # features up to which the system is built and factored
_BLOCK_VALUES = 1 << 18  # features in the rows of a product, 2 MB
_FORCING = 0.1  # of the gradient, at most, that conjugate gradients leave
_MOST_STEPS = 1000  # of conjugate gradients in a round
_PATIENCE = 5  # rounds in a row that make neither epsilon nor the objective smaller: rounding is at work
_ROUNDING = 1e-14  # of the objective


@final
@dataclass(frozen=True)
class NewtonFrankWolfe(Solver):
    """Fully corrective Frank-Wolfe on w for linear l2-svc: all violating points at once, Newton's method in d dimensions."""

    name = "fw-newton"
    solves = (L2SVC,)

    epsilon: float = parameter(1e-3, "relative accuracy of the margin at which it stops", gt=0, lt=1)
    max_iterations: int | None = parameter(None, "rounds after which it gives up; none: no limit", ge=1)

    def with_target_gap(self, gap: float) -> Self:
        """Return this solver with epsilon = gap / 2: the relative gap is 1 - (1 - epsilon)^2 <= 2 epsilon."""
        return self.replaced(epsilon=min(gap / 2.0, 0.5))

    def skip(self, problem: Problem) -> str | None:
        """Refuse other kernels, and data of one class."""
        if not problem.kernel.is_linear:
            return f"fw-newton needs a linear kernel, and this is '{problem.kernel.kernel.name}': take fw."
        if len(set(problem.targets.tolist())) < 2:
            return "fw-newton needs points of both classes, and all are of one: give some of the other."
        return None

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        """Yield after every round; deterministic."""
        rounds = _Rounds(problem)
        limit = sys.maxsize if self.max_iterations is None else self.max_iterations
        least, lowest, idle, taken = np.inf, np.inf, 0, 0
        while True:
            rounds.look()
            found = max(rounds.plus, rounds.minus)
            better = found < least or rounds.objective < lowest * (1.0 - _ROUNDING)
            idle = 0 if better else idle + 1
            least, lowest = min(least, found), min(lowest, rounds.objective)
            status = "done" if found <= self.epsilon else "max_iterations" if taken >= limit else ""
            if not status and idle >= _PATIENCE:
                status = "stalled"
            info = rounds.info if status in ("", "done") else {**rounds.info, "status": status}
            yield Iterate(
                dual_coef=rounds.coef,
                intercept=-rounds.threshold,
                done=status == "done",
                step=taken,
                core_set=int(np.count_nonzero(rounds.coef)),
                info=info,
            )
            if status:
                return
            rounds.correct()
            taken += 1


class _Rounds:
    """One run: w, b and f(x) in the units of the squared hinge, and the pair of nearest points that the slacks give."""

    def __init__(self, problem: Problem) -> None:
        features = problem.kernel.features()
        assert features is not None
        self.features, self.targets = features, problem.targets
        self.chi = 1.0 / features.ridge
        n = problem.n
        self.w, self.bias, self.products = np.zeros(features.d), 0.0, np.zeros(n)
        self.slack, self.coef, self.scores = np.empty(n), np.zeros(n), np.empty(n)
        self.gradient_first = 0.0
        self.taken = self.systems = self.gradients = 0
        self.length = 0.0

    def look(self) -> None:
        """Find the best bias and the pair of nearest points of the slacks, and judge them from all scores."""
        from harness_fw import linear_newton_hot as hot

        targets, ridge, positive = self.targets, self.features.ridge, self.targets > 0
        self.bias = hot.best_bias(targets, self.products, self.bias)
        hot.slacks(targets, self.products, self.bias, self.slack)
        if not self.slack.any():  # separated, by a w that is too long: both nearest points get slacks, 1 together
            scale = 1.0 / float(self.products[positive].min() - self.products[~positive].max())
            self.w, self.bias, self.products = scale * self.w, scale * self.bias, scale * self.products
            self.bias = hot.best_bias(targets, self.products, self.bias)
            hot.slacks(targets, self.products, self.bias, self.slack)
        self.objective = 0.5 * float(self.w @ self.w) + 0.5 * self.chi * float(self.slack @ self.slack)
        sums = np.where(positive, self.slack[positive].sum(), self.slack[~positive].sum())
        np.divide(targets * self.slack, sums, out=self.coef)
        self.support = np.flatnonzero(self.coef)
        w = self.features.add(self.support, self.coef[self.support], np.zeros(self.features.d))
        signed = self.features.scores(w, self.scores)
        signed *= targets
        signed += ridge * np.abs(self.coef)
        used = self.coef != 0.0
        self.norm = float(np.abs(self.coef) @ signed)
        near = [float(signed[side].min()) for side in (positive, ~positive)]
        far = [float(signed[side & used].max()) for side in (positive, ~positive)]
        self.threshold = 0.5 * (near[0] - near[1])
        self.plus, self.minus = 1.0 - sum(near) / self.norm, sum(far) / self.norm - 1.0

    def correct(self) -> None:
        """Go toward the optimum over the core set, all its weights free, as far as the objective falls."""
        from harness_fw import linear_newton_hot as hot

        support, targets = self.support, self.targets
        level = float(targets[support].mean())
        # w and b of the least squares over the core set; b by the means, which leaves a system for w alone
        goal = self._direct() if self.features.d <= _DIRECT else self._conjugate()
        products = self.features.scores(goal)
        bias = level - float(products[support].mean())
        direction = goal - self.w
        now, change = self.products + self.bias, (products - self.products) + (bias - self.bias)
        straight, bent = float(self.w @ direction), float(direction @ direction)
        step = hot.best_step(straight, bent, self.chi, targets, now, change)
        self.length = step
        self.w, self.bias = self.w + step * direction, self.bias + step * (bias - self.bias)
        self.products += step * (products - self.products)

    def _direct(self) -> Vector:
        """Solve (I / chi + X'X) w = X'y over the core set, X and y centred, by a Cholesky factor."""
        import scipy.linalg

        features, support = self.features, self.support
        d = features.d
        matrix, right = np.zeros((d, d)), np.zeros(d)
        middle = features.add(support, np.full(len(support), 1.0 / len(support)), np.zeros(d))
        step = max(1, _BLOCK_VALUES // max(1, d))
        for start in range(0, len(support), step):
            part = support[start : start + step]
            block = features.rows(part) - middle  # before the product: far from the origin it would cancel
            matrix += block.T @ block
            right += block.T @ self.targets[part]
        matrix.flat[:: d + 1] += features.ridge
        self.systems += 1
        return np.asarray(scipy.linalg.solve(matrix, right, assume_a="pos", check_finite=False))

    def _conjugate(self) -> Vector:
        """The same by conjugate gradients from w, as far as the gradient is small beside that of the first round."""
        features, support = self.features, self.support
        ridge, y = features.ridge, self.targets[support]

        def times(vector: Vector) -> Vector:
            products = features.scores(vector)[support]
            return features.add(support, products - products.mean(), ridge * vector)

        solution = self.w.copy()
        residual = features.add(support, y - y.mean(), np.zeros(features.d)) - times(solution)
        squared = float(residual @ residual)
        self.gradient_first = max(self.gradient_first, squared)
        goal = squared * min(_FORCING, (squared / self.gradient_first) ** 0.25) ** 2
        direction = residual.copy()
        for _ in range(_MOST_STEPS):
            if squared <= goal:
                break
            image = times(direction)
            length = squared / float(direction @ image)
            solution += length * direction
            residual -= length * image
            before, squared = squared, float(residual @ residual)
            direction *= squared / before
            direction += residual
            self.gradients += 1
        return solution

    @property
    def info(self) -> dict[str, Any]:
        """The paper's figures and what a round cost."""
        return {
            "epsilon": max(self.plus, self.minus),
            "epsilon_plus": self.plus,
            "epsilon_minus": self.minus,
            "norm": self.norm**0.5,
            "step_length": self.length,
            "systems": self.systems,
            "gradients": self.gradients,
        }
