"""Fully corrective steps on w itself: all violating points enter the core set at once, its optimum by Newton's method.

l2-svc has an optimum whose support may be a large part of the data, and a solver that moves one vertex an iteration needs
as many passes over the points as there are support vectors. With w at hand the optimum over a core set S, all weights
free, is one linear system of d unknowns, whatever |S| is:

    min 1/2 |w|^2 + chi/2 sum_{i in S} (1 - y_i (<w, x_i> + b))^2

A round goes toward it as far as the primal objective falls, which makes the points below the new level (positive slack)
the next core set: a point enters when its slack does, and leaves with it. The slacks are the weights, up to a factor for
each class; once the core set stays, the round's end is the optimum.

O. L. Mangasarian, "A finite Newton method for classification", Optimization Methods and Software 17, 2002;
S. S. Keerthi, D. DeCoste, "A modified finite Newton method for fast solution of large scale linear SVMs", JMLR 6, 2005.
Differs in: the bias is free, not penalised; the stop is that of Kumar & Yildirim on the pair of nearest points.

Any other kernel stands for coordinates along a few pivots (pivots.py; O. Chapelle, "Training a support vector machine in
the primal", Neural Computation 19, 2007, has Newton's method on kernels). The first rounds are on a sixteenth of the
points, and there are as many pivots as the accuracy reached so far calls for. Where the model has epsilon in coordinates,
all its kernel values are computed, block by block, and decide; if they say no, pivots are added where coordinates were
most in error. So memory is some vectors of n, the matrix of the pivots and the coordinates of a sample, whatever the size
of the core set.
Where pivots (pivots.py) do not span the points, w = sum_i c_i phi(x_i) is stored by its coefficients and its products with
all points, and the optimum over a core set S, all weights free, is a linear system of |S| unknowns (O. Chapelle,
"Training a support vector machine in the primal", Neural Computation 19, 2007):

    (K_SS + I / chi) c + 1 b = y,    1'c = 0

by a Cholesky factor while K_SS fits the memory for kernel rows, else by conjugate gradients whose products are computed
from kernel values anew each time. A round costs |S|^2 + 2 n |S| kernel evaluations, or |S|^2 for each product.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from typing import Any

import numpy as np

from harness import Iterate, KernelOracle, Problem
from harness.support.arrays import Index, Vector
from harness_fw.hulls import figures, iterate
from harness_fw.pivots import Coordinates, Pivots

_DIRECT = 1500  # features up to which the system is built and factored
_BLOCK_VALUES = 1 << 18  # features in the rows of a product, 2 MB
_FORCING = 0.1  # of the gradient, at most, that conjugate gradients leave
_PATIENCE = 5  # rounds in a row that make neither epsilon nor the objective smaller: rounding is at work
_ROUNDING = 1e-14  # of the objective
_PART = 16  # of so many points one is in the part for the first rounds ...
_MANY = 16384  # ... if there are so many
_ROUGH = 0.3  # epsilon on that part
_SHARPER = 0.01  # of the residual is left when exact scores call for more pivots
_SHARE = 1e-4  # of the slacks times epsilon: the residual that conjugate gradients leave on an expansion
_MOST_STEPS = 1000  # of conjugate gradients, for a right side
_BALANCED = 1e-12  # of the sum of the slacks: a difference between both classes that is as good as 0
_FLAT = 1e-6  # of the slope at the beginning of a step: a slope that is as good as 0
_EVALUATIONS = 60  # of a function whose root is sought, at most


class NewtonRun:
    """Which points the rounds look at, in which coordinates, and when it is over."""

    def __init__(self, problem: Problem, rng: np.random.Generator, epsilon: float) -> None:
        self.epsilon, self.kernel, self.targets, self.rng = epsilon, problem.kernel, problem.targets, rng
        self.pivots: Pivots | None = None
        self.taken, self.checks = 0, 0
        self.ended = ""  # how the last rounds did; spent: for want of pivots

    def iterates(self) -> Iterator[Iterate]:
        """Solve in the coordinates of the points: on a part of them first if there are no features and many points."""
        kernel = self.kernel
        features: Any = kernel.features()
        if features is None:
            self.pivots = Pivots.of(kernel, self.rng)
            features = Coordinates(self.pivots, kernel.ridge)
        rounds = Rounds(features, self.targets)
        if self.pivots is not None and kernel.n >= _MANY:
            part = self._part()
            # the penalty of all points falls to the part's
            ridge = kernel.ridge * len(part) / kernel.n
            first = yield from self._solve(Rounds(Coordinates(self.pivots, ridge, part), self.targets[part]), part)
            if self.ended != "next":
                return
            self.taken += 1
            w = first.w
            if self.pivots is None:
                w = np.zeros(kernel.n)
                w[part] = first.w
                rounds = ExactRounds(kernel, self.targets)
            rounds.start(w, first.bias)
        yield from self._solve(rounds, None)

    def _solve(self, rounds: Rounds, part: Index | None) -> Generator[Iterate, None, Rounds]:
        """Yield round after round, without pivots where these do not do; return the last rounds."""
        yield from self._rounds(rounds, part)
        if self.ended != "spent":
            return rounds
        self.taken += 1
        self.pivots = None
        kernel = self.kernel.replace(ridge=rounds.features.ridge)
        exact = ExactRounds(kernel if part is None else kernel.restrict(part), rounds.targets)
        if part is None:
            exact.start(rounds.features.expansion(rounds.w), rounds.bias)
        yield from self._rounds(exact, part)
        return exact

    def _part(self) -> Index:
        """Return the points of the first rounds: of each class its share, at random."""
        sides = [np.flatnonzero(self.targets == label) for label in (1.0, -1.0)]
        return np.sort(np.concatenate([self.rng.choice(side, -(-len(side) // _PART), replace=False) for side in sides]))

    def _rounds(self, rounds: Rounds, part: Index | None) -> Iterator[Iterate]:
        """Yield round after round; on a part of the points until it is solved roughly."""
        goal = self.epsilon if part is None else max(_ROUGH, self.epsilon)
        least, lowest, idle = np.inf, np.inf, 0
        while True:
            rounds.look()
            better = rounds.epsilon < least or rounds.objective < lowest * (1.0 - _ROUNDING)
            idle = 0 if better else idle + 1
            least, lowest = min(least, rounds.epsilon), min(lowest, rounds.objective)
            status = ""
            if rounds.epsilon <= goal or idle >= _PATIENCE:
                sharper = self._sharper(rounds, goal, idle >= _PATIENCE) if part is None else False
                status = "" if sharper else "done" if rounds.epsilon <= goal else "stalled"
                if sharper:
                    least, lowest, idle = np.inf, np.inf, 0
                elif part is not None:
                    status = "next"
            if self.pivots is not None:
                # scores may be off by more than |w|^2 for want of pivots
                hopeless = self.pivots.exhausted and self.pivots.residual > rounds.norm
                status = "spent" if status == "stalled" or (status != "done" and hopeless) else status
            self.ended = status
            yield self._iterate(rounds, part, status)
            if status:
                return
            if self.pivots is not None:
                self.pivots.grow(max(goal, min(1.0, rounds.epsilon)) * rounds.norm)
                rounds.widen()
            rounds.correct()
            self.taken += 1

    def _sharper(self, rounds: Rounds, goal: float, idle: bool) -> bool:
        """Judge the model by exact scores once the pivots are good enough; True if there are more of them now instead."""
        pivots = self.pivots
        if pivots is None:
            return False
        tolerance = goal * rounds.norm
        if idle or pivots.exhausted or pivots.residual <= tolerance:
            self.checks += 1
            exact = self.targets * self.kernel.expand(rounds.coef)
            rounds.judge(exact)
            if rounds.epsilon <= goal:
                return False
            pivots.watch(np.argsort(-np.abs(exact - rounds.scores), kind="stable"))
            if pivots.exhausted:
                return False
            tolerance = min(tolerance, _SHARPER * pivots.residual)
        pivots.grow(tolerance)
        rounds.widen()
        return True

    def _iterate(self, rounds: Rounds, part: Index | None, status: str) -> Iterate:
        coef = rounds.coef
        if part is not None:
            coef = np.zeros(self.kernel.n)
            coef[part] = rounds.coef
        info = {**rounds.info, "points": rounds.features.n}
        if self.pivots is not None:
            info.update(pivots=len(self.pivots.index), residual=self.pivots.residual, exact_checks=self.checks)
        status = "" if status in ("next", "spent") else status
        return iterate(coef, rounds.threshold, status, info, self.taken, len(rounds.support), None)


class Rounds:
    """w, b and f(x) in the units of the squared hinge, and the pair of nearest points that the slacks give.

    features : ``harness.KernelOracle.features()`` of a linear kernel, or the :class:`Coordinates` of another one
    """

    def __init__(self, features: Any, targets: Vector) -> None:
        self.features, self.targets = features, targets
        self.chi = 1.0 / features.ridge
        n = features.n
        self.w, self.bias, self.products = np.zeros(features.d), 0.0, np.zeros(n)
        self.sides = [np.flatnonzero(targets > 0.0), np.flatnonzero(targets < 0.0)]
        self.gradient_first = 0.0
        self.systems = self.gradients = 0

    def start(self, w: Vector, bias: float) -> None:
        """Begin with another w and b."""
        self.w, self.bias = w, bias
        self.products = self.features.scores(w)

    def widen(self) -> None:
        """Append zeros to w for coordinates that are new; it stays the same point."""
        self.w = np.concatenate([self.w, np.zeros(self.features.d - len(self.w))])

    def look(self) -> None:
        """Find the best bias and the pair of nearest points of the slacks, and judge them from all scores."""
        targets, (plus, minus) = self.targets, self.sides
        self.bias, self.slack = balance(targets, self.products, self.bias)
        if not self.slack.any():  # separated, by a w that is too long: both nearest points get slacks, 1 together
            scale = 1.0 / float(self.products[plus].min() - self.products[minus].max())
            self.w, self.products = scale * self.w, scale * self.products
            self.bias, self.slack = balance(targets, self.products, self.bias)
        length = self._inner(self.w, self.w, self.products)
        self.objective = 0.5 * length + 0.5 * self.chi * float(self.slack @ self.slack)
        self.coef = targets * self.slack
        for side in self.sides:
            self.coef[side] /= abs(self.coef[side].sum())
        self.support = np.flatnonzero(self.coef)
        w = self.features.add(self.support, self.coef[self.support], np.zeros(self.features.d))
        self.scores = targets * self.features.scores(w) + self.features.ridge * np.abs(self.coef)
        self.judge(self.scores)

    def _inner(self, w: Vector, other: Vector, products: Vector) -> float:
        """Return <w, other>, ``products`` being those of ``other`` with all points."""
        return float(w @ other)

    @property
    def epsilon(self) -> float:
        """max(epsilon_+, epsilon_-) of the last judgement."""
        return max(self.plus, self.minus)

    def judge(self, signed: Vector) -> None:
        """Set |w|^2, epsilon_+, epsilon_- and the threshold from y_i <w, phi(x_i)>, (n,), the ridge's share included."""
        coef = self.coef[self.support]
        self.norm = float(np.abs(coef) @ signed[self.support])
        near = [float(signed[side].min()) for side in self.sides]
        far = [float(signed[self.support[used]].max()) for used in (coef > 0.0, coef < 0.0)]
        self.threshold = 0.5 * (near[0] - near[1])
        self.plus, self.minus = 1.0 - sum(near) / self.norm, sum(far) / self.norm - 1.0

    def correct(self) -> None:
        """Go toward the optimum over the core set, all its weights free, as far as the objective falls."""
        support, targets = self.support, self.targets
        level = float(targets[support].mean())
        # w and b of the least squares over the core set; b by the means, which leaves a system for w alone
        goal, products = self._goal()
        bias = level - float(products[support].mean())
        direction, along = goal - self.w, products - self.products
        straight, bent = self._inner(self.w, direction, along), self._inner(direction, direction, along)
        missing = 1.0 - targets * (self.products + self.bias)
        change = targets * (along + (bias - self.bias))

        def derivative(step: float) -> tuple[float, float, float]:
            slack = np.maximum(0.0, missing - step * change)
            used = change[slack > 0.0]
            value = straight + step * bent - self.chi * float(slack @ change)
            return value, bent + self.chi * float(used @ used), abs(start)

        start = straight - self.chi * float(np.maximum(0.0, missing) @ change)
        step = root(derivative, 1.0, 0.0, 1.0, _FLAT) if start < 0.0 else 1.0
        self.w, self.bias = self.w + step * direction, self.bias + step * (bias - self.bias)
        self.products += step * along

    def _goal(self) -> tuple[Vector, Vector]:
        """Return the w of the least squares over the core set, and its products with all points, (n,)."""
        goal = self._direct() if self.features.d <= _DIRECT else self._conjugate()
        return goal, self.features.scores(goal)

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
            rows = features.rows(part) - middle  # before the product: far from the origin it would cancel
            matrix += rows.T @ rows
            right += rows.T @ self.targets[part]
        matrix.flat[:: d + 1] += features.ridge
        self.systems += 1
        return np.asarray(scipy.linalg.solve(matrix, right, assume_a="pos", check_finite=False))

    def _conjugate(self) -> Vector:
        """The same by conjugate gradients from w, as far as the gradient is small compared with that of the first round."""
        features, support = self.features, self.support
        ridge, y = features.ridge, self.targets[support]

        def times(vector: Vector) -> Vector:
            products = features.scores(vector)[support]
            image: Vector = features.add(support, products - products.mean(), ridge * vector)
            return image

        solution = self.w.copy()
        residual = features.add(support, y - y.mean(), np.zeros(features.d)) - times(solution)
        squared = float(residual @ residual)
        self.gradient_first = max(self.gradient_first, squared)
        goal = squared * min(_FORCING, (squared / self.gradient_first) ** 0.25) ** 2
        self.gradients += conjugate_gradients(times, solution, residual, goal)
        return solution

    @property
    def info(self) -> dict[str, Any]:
        """The paper's figures and what a round cost."""
        return {**figures(self.plus, self.minus, self.norm), "systems": self.systems, "gradients": self.gradients}


class ExactRounds(Rounds):
    """Rounds on an expansion over the points of ``kernel``, whose ridge is the formulation's; exact scores each round."""

    def __init__(self, kernel: KernelOracle, targets: Vector) -> None:
        super().__init__(_Points(kernel), targets)
        self.kernel = kernel
        self._most = int((kernel.cache_mb * 2**20 / 16) ** 0.5)  # of which matrix and factor fit the memory for rows

    def _inner(self, w: Vector, other: Vector, products: Vector) -> float:
        return float(w @ products)

    def _goal(self) -> tuple[Vector, Vector]:
        solved = self._solved(np.column_stack([self.targets[self.support], np.ones(len(self.support))]))
        goal = np.zeros(self.features.n)
        goal[self.support] = solved[:, 0] - solved[:, 1] * (solved[:, 0].sum() / solved[:, 1].sum())
        return goal, self.features.scores(goal)

    def _solved(self, right: Any) -> Any:
        """Return (K_SS + I / chi)^-1 ``right``, (|S|, 2)."""
        import scipy.linalg

        support = self.support
        if len(support) <= self._most:
            matrix = np.array(self.kernel.block(support, support), dtype=np.float64)
            self.systems += 1
            try:
                return scipy.linalg.solve(matrix, right, assume_a="pos", overwrite_a=True, check_finite=False)
            except scipy.linalg.LinAlgError:
                pass  # singular up to rounding: as far as gradients get
        part = self.kernel.restrict(support)
        return np.column_stack([self._conjugated(part, np.ascontiguousarray(each)) for each in right.T])

    def _conjugated(self, part: KernelOracle, right: Vector) -> Vector:
        solution = np.zeros_like(right)
        # what is left of the residual is an error of the slacks, of which the weights are made
        slack = self.slack[self.support]
        enough = float(slack @ slack) * (_SHARE * min(1.0, self.epsilon)) ** 2
        self.gradients += conjugate_gradients(part.expand, solution, right.copy(), enough)
        return solution


class _Points:
    """Calls of ``harness.Features`` where w is given by its coefficients, (n,)."""

    def __init__(self, kernel: KernelOracle) -> None:
        self.kernel, self.ridge = kernel.replace(ridge=0.0), kernel.ridge
        self.n = self.d = kernel.n

    def scores(self, weights: Vector) -> Vector:
        """Return <w, phi(x_i)> of all points, (n,); n evaluations for each coefficient."""
        return self.kernel.expand(weights)

    def add(self, points: Index, coef: Vector, weights: Vector) -> Vector:
        """Add sum_k coef_k phi(x_{points_k}) to ``weights``, in place, and return it."""
        weights[points] += coef
        return weights


def balance(targets: Vector, products: Vector, bias: float) -> tuple[float, Vector]:
    """Return the b at which the slacks of both classes have the same sum, the least sum of squares, and the slacks.

    bias : where to begin
    """
    missing = 1.0 - targets * products

    def difference(b: float) -> tuple[float, float, float]:
        slack = np.maximum(0.0, missing - b * targets)
        return -float(slack @ targets), float(np.count_nonzero(slack)), float(slack.sum())

    ends = targets * missing  # the b at which a point's slack vanishes
    bias = root(difference, bias, float(ends.min()), float(ends.max()), _BALANCED)
    return bias, np.maximum(0.0, missing - bias * targets)


def root(
    function: Callable[[float], tuple[float, float, float]], point: float, low: float, high: float, share: float
) -> float:
    """Return where an increasing function in straight pieces vanishes; ``high`` if it is negative there.

    Newton's method from ``point``, which ends in the right piece, within an interval that contains the root.

    Parameters
    ----------
    function : returns the value, the slope, and a number of which a value of ``share`` is as good as 0
    """
    for _ in range(_EVALUATIONS):
        value, slope, size = function(point)
        if abs(value) <= share * size or (value < 0.0 and point >= high):
            break
        low, high = (point, high) if value < 0.0 else (low, point)
        point -= value / slope
        if not low < point < high:
            point = 0.5 * (low + high)
    return point


def conjugate_gradients(times: Callable[[Vector], Vector], solution: Vector, residual: Vector, enough: float) -> int:
    """Improve ``solution`` of A x = b, in place; return the number of products with A.

    times : v -> A v, A symmetric and positive definite
    residual : (m,) b - A solution; changed in place
    enough : |residual|^2 at which to stop
    """
    direction, squared = residual.copy(), float(residual @ residual)
    for step in range(_MOST_STEPS):
        if squared <= enough:
            return step
        image = times(direction)
        length = squared / float(direction @ image)
        solution += length * direction
        residual -= length * image
        before, squared = squared, float(residual @ residual)
        direction *= squared / before
        direction += residual
    return _MOST_STEPS
