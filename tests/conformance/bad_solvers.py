"""Tiny solvers with one planted fault each, and the sound one they are made from."""

import contextlib
import ctypes
import os
import time
from dataclasses import dataclass, replace

import numpy as np

from harness import CSVCNoBias, Iterate, KernelOracle, Solver, parameter
from harness.problems import L2SVC, HardMargin

_BUFFER = {}


@dataclass(frozen=True)
class Sound(Solver):
    """Frank-Wolfe with away steps on the hull pair, in a few lines and without a fault."""

    name = "sound"
    solves = (HardMargin, L2SVC)
    epsilon: float = parameter(1e-4, "relative gap at the end", gt=0, lt=1)

    def iterates(self, problem, rng):
        y, kernel = problem.targets, problem.kernel
        coef, scores = self.start(problem, rng)
        while True:
            gap, up, down, steepest, squared = self.look(y, coef, scores)
            done = gap <= self.epsilon * squared
            yield self.model(coef, scores, y, done)
            if done:
                return
            difference = self.row(kernel, up) - self.row(kernel, down)
            curvature = difference[up] - difference[down]
            longest = abs(coef[down])
            step = longest if curvature <= 0 else min(longest, steepest / curvature)
            sign = y[up]
            coef[up] += sign * step
            coef[down] = 0.0 if step == longest else coef[down] - sign * step
            scores += sign * step * difference

    def start(self, problem, rng):
        coef = np.zeros(problem.n)
        for sign in (1.0, -1.0):
            members = np.flatnonzero(problem.targets == sign)
            coef[members[int(rng.integers(len(members)))]] = sign
        scores = sum(coef[i] * self.row(problem.kernel, int(i)) for i in np.flatnonzero(coef))
        return coef, np.array(scores)

    def row(self, kernel, i):
        return kernel.row(i)

    def look(self, y, coef, scores):
        """Return the gap, the best pair of one class, its steepness, and |w|^2."""
        squared, total, best = float(coef @ scores), 0.0, (-1.0, 0, 0)
        extremes = []
        for sign in (1.0, -1.0):
            members = np.flatnonzero(y == sign)
            used = np.flatnonzero((y == sign) & (coef != 0.0))
            up = members[np.argmin(sign * scores[members])]
            down = used[np.argmax(sign * scores[used])]
            steepest = float(sign * (scores[down] - scores[up]))
            best = max(best, (steepest, int(up), int(down)))
            extremes.append(sign * scores[up])
            total += steepest
        lower = max(0.0, sum(extremes)) ** 2 / max(squared, 1e-300)
        return squared - lower, best[1], best[2], best[0], squared

    def model(self, coef, scores, y, done):
        near = scores[y > 0].min() + scores[y < 0].max()
        return Iterate(coef, -0.5 * float(near), done=done)


class SharedBuffer(Sound):
    """Keeps its coefficients in a module-level buffer."""

    def start(self, problem, rng):
        coef, scores = super().start(problem, rng)
        buffer = _BUFFER.setdefault(problem.n, coef)
        buffer[:] = coef
        return buffer, scores


class WritesIntoRow(Sound):
    """Shifts the rows that the oracle keeps, under the rows that it gives."""

    def row(self, kernel, i):
        row = kernel.row(i)
        kernel._buffer.rows += 1.0
        return row


class WritesIntoSparsePoints(Sound):
    """Scales the caller's points in place where they are sparse."""

    def start(self, problem, rng):
        points = problem.kernel.points
        if not isinstance(points, np.ndarray):
            points.data *= 2.0
        return super().start(problem, rng)


class LosesMass(Sound):
    """Its weights shrink with every step."""

    def model(self, coef, scores, y, done):
        coef *= 1.0 - 1e-3
        return super().model(coef, scores, y, done)


class FreeModel(Sound):
    """Without a fault: its model is no dual solution, and two points of its own take part."""

    def skip(self, problem):
        return "it has points of its own." if problem.kernel.name == "precomputed" else None

    def iterates(self, problem, rng):
        for found in super().iterates(problem, rng):
            own = np.ones((2, problem.kernel.n_features))
            coef = np.append(found.dual_coef, [0.5, 0.0])
            yield self.free(Iterate(None, found.intercept, None, coef, own, found.done))

    def free(self, found):
        return found


class FreeOfNaN(FreeModel):
    """On the way, a coefficient of its model is NaN."""

    def free(self, found):
        return replace(found, free_coef=np.where(found.done, found.free_coef, np.nan))


class FreePointsOfChance(FreeModel):
    """Draws its own points by numpy's global generator."""

    def free(self, found):
        return replace(found, extra_points=np.random.normal(size=found.extra_points.shape))  # noqa: NPY002 - the planted fault


class StopsEarly(Sound):
    """Says done after its first iterate."""

    def model(self, coef, scores, y, done):
        return super().model(coef, scores, y, True)


class NeverEnds(Sound):
    """Forgets its stopping rule."""

    def iterates(self, problem, rng):
        last = None
        for last in super().iterates(problem, rng):
            last.done = False
            yield last
        while last is not None:
            yield last


class WrongProblem(Sound):
    """Minimises the distance of the hulls of other labels."""

    def look(self, y, coef, scores):
        return super().look(y, coef, scores + 0.3 * np.arange(len(y)) * y)


class HiddenRandomness(Sound):
    """Starts where numpy's global generator says."""

    def start(self, problem, rng):
        seed = int(np.random.randint(1 << 30))  # noqa: NPY002
        return super().start(problem, np.random.default_rng(seed))


class Uncounted(Sound):
    """Takes its rows from an oracle of its own, past the counter."""

    def row(self, kernel, i):
        return KernelOracle(kernel.kernel, None, engine=kernel).row(i)


class BehindTheCounter(Sound):
    """Computes its rows from the points."""

    def row(self, kernel, i):
        values = kernel.kernel.block(kernel.points[i : i + 1], kernel.points)[0]
        return values + kernel.ridge * (np.arange(kernel.n) == i)


@dataclass(frozen=True)
class Silent(Sound):
    """Has a parameter without a word about it."""

    tau: float = 1e-3


class Slow(Sound):
    """Sleeps before its first yield."""

    def start(self, problem, rng):
        time.sleep(0.02)
        return super().start(problem, rng)


class LosesACell(Sound):
    """Leaves the last cell of a path out."""

    def solve_path(self, path, rng):
        last = path.cells[-1]
        yield from (found for found in super().solve_path(path, rng) if found[0] is not last)


class KeepsTheFirst(Sound):
    """Hands the model of the first cell out for all cells."""

    def solve_path(self, path, rng):
        first = None
        for cell, iterate in super().solve_path(path, rng):
            if iterate.done:
                first = first or replace(iterate, dual_coef=iterate.dual_coef.copy())
                yield cell, first


class Coordinate(Solver):
    """One coefficient after the other to its own optimum, without a fault: the dual of c-svc-nobias."""

    name = "coordinate"
    solves = (CSVCNoBias,)

    def iterates(self, problem, rng):
        y, upper, coef, scores = problem.targets, self.upper(problem), np.zeros(problem.n), np.zeros(problem.n)
        diagonal, moved = problem.kernel.diagonal(), 1.0
        rows = self.rows(problem)
        while moved > 1e-6 * upper.max():
            moved = 0.0
            for i in range(problem.n):
                best = coef[i] + (y[i] - scores[i]) / diagonal[i]
                step = y[i] * np.clip(y[i] * best, 0.0, upper[i]) - coef[i]
                coef[i] += step
                scores += step * rows(i)
                moved = max(moved, abs(step))
            yield Iterate(coef)
        yield Iterate(coef, done=True)

    def upper(self, problem):
        return problem.upper

    def rows(self, problem):
        return problem.kernel.row


class FreeCoordinate(Coordinate):
    """Without a fault: its model comes as no dual solution, so that the claimed gap is a suboptimality."""

    def iterates(self, problem, rng):
        for found in super().iterates(problem, rng):
            yield Iterate(free_coef=self.free(found.dual_coef), done=found.done)

    def free(self, coef):
        return coef


class FarFromTheOptimum(FreeCoordinate):
    """Shrinks its model, which is no dual solution, and claims a small gap."""

    def free(self, coef):
        return 0.9 * coef


class OneCost(Coordinate):
    """Bounds every coefficient by C, whatever the weight of its class."""

    def upper(self, problem):
        return np.full(problem.n, problem.C)


class NeedsTheMatrix(Coordinate):
    """Takes for granted that there is room for the kernel matrix."""

    def rows(self, problem):
        return problem.kernel.matrix().__getitem__


class RefusesAll(Sound):
    """Refuses every problem in skip."""

    def skip(self, problem):
        return "not today"


class YieldsNothingAtAll(Sound):
    """Loops before its first yield."""

    def iterates(self, problem, rng):
        while problem is not None:
            pass
        yield from super().iterates(problem, rng)


class GoesOn(Sound):
    """Yields once more after it is done."""

    def iterates(self, problem, rng):
        last = None
        for last in super().iterates(problem, rng):
            yield last
        yield last


class HugeWorkingSet(Sound):
    """Claims a working set of a thousand million points."""

    def model(self, coef, scores, y, done):
        return replace(super().model(coef, scores, y, done), working_set=10**9)


class CountsDown(Sound):
    """Counts its steps down."""

    def iterates(self, problem, rng):
        for position, found in enumerate(super().iterates(problem, rng)):
            yield replace(found, step=10**6 - position)


class WrongWidth(Sound):
    """Hands out weights for a feature that the data do not have."""

    def model(self, coef, scores, y, done):
        return Iterate(weights=np.zeros(99), done=True)


class EndsSlowly(Sound):
    """Works on when the host closes it."""

    def iterates(self, problem, rng):
        try:
            yield from super().iterates(problem, rng)
        finally:
            time.sleep(0.02)


class EqualsNothing(Sound):
    """Is not equal to its copy."""

    def __eq__(self, other):
        return self is other

    def __hash__(self):
        return id(self)


class ForgetsItself(Sound):
    """Is another solver once it has a target gap."""

    def with_target_gap(self, gap):
        return Sound(epsilon=gap)


class EndsTheProcess(Sound):
    """Ends its process without a word, as a library in C may."""

    def iterates(self, problem, rng):
        os._exit(3)
        yield Iterate()


class LoopsInC(Sound):
    """Sleeps in C with the interpreter's lock, which no signal ends."""

    def iterates(self, problem, rng):
        ctypes.PyDLL(None).sleep(3600)
        yield Iterate()


class LoopsOnThree(Sound):
    """Sleeps on problems of three points, whatever is raised."""

    name = "loops-on-three"

    def iterates(self, problem, rng):
        while problem.n == 3:
            with contextlib.suppress(BaseException):
                time.sleep(3600)
        yield from super().iterates(problem, rng)
