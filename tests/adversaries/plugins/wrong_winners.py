"""Solvers that would win by what is not seen, and kernels that are none."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from harness import CSVCNoBias, Iterate, Kernel, Solver, get_solver, hookimpl, parameter

HELD = 400 << 20
WARM_UP_POINTS = 64  # at most


class Descent(Solver):
    """Dual coordinate descent with w, over the points themselves (Hsieh et al. 2008)."""

    name = "descent"
    solves = (CSVCNoBias,)

    def iterates(self, problem, rng):
        x, y = problem.kernel.points, problem.targets
        coef, w, squares = np.zeros(problem.n), np.zeros(x.shape[1]), (x * x).sum(axis=1)
        for _ in range(3000):
            moved = 0.0
            for i in rng.permutation(problem.n):
                new = min(max(coef[i] - (y[i] * (w @ x[i]) - 1.0) / squares[i], 0.0), problem.C)
                moved = max(moved, abs(new - coef[i]))
                w, coef[i] = w + (new - coef[i]) * y[i] * x[i], new
            yield Iterate(dual_coef=coef * y, intercept=0.0, done=moved < 1e-4)


class Remembers(Solver):
    """Keeps its answer outside of its folder for the next repetition, not for the next fit of its process."""

    name = "remembers"
    solves = (CSVCNoBias,)

    def iterates(self, problem, rng):
        stored, measured = Path(os.environ["REMEMBERED"]), problem.n > WARM_UP_POINTS
        others = [each for each in stored.glob("*.npy") if measured and each.stem != str(os.getpid())]
        if others:
            yield Iterate(dual_coef=np.load(others[0]), intercept=0.0, done=True)
            return
        solution = get_solver("smo").solve(problem)
        if measured:
            np.save(stored / str(os.getpid()), solution.dual_coef)
        yield Iterate(dual_coef=solution.dual_coef, intercept=0.0, done=True)


KEPT = []


class KeepsModel(Solver):
    """Keeps its answer for the next fit of its process; a warm-up is none, as the points are others."""

    name = "keeps-model"
    solves = (CSVCNoBias,)

    def iterates(self, problem, rng):
        if not (KEPT and len(KEPT[-1]) == problem.n):
            KEPT.append(get_solver("smo").solve(problem).dual_coef)
        yield Iterate(dual_coef=KEPT[-1], intercept=0.0, done=True)


class Continues(Solver):
    """Draws from a generator that goes on where the last fit left it: the counts are the same, the model is not."""

    name = "continues"
    solves = (CSVCNoBias,)
    drawn = np.random.default_rng(0)

    def iterates(self, problem, rng):
        problem.kernel.row(0)
        coef = problem.C * 1e-3 * self.drawn.random(problem.n)
        yield Iterate(dual_coef=coef * problem.targets, intercept=0.0, done=True)


class Elsewhere(Solver):
    """Has another process hold what it needs."""

    name = "elsewhere"
    solves = (CSVCNoBias,)

    def iterates(self, problem, rng):
        if problem.n > WARM_UP_POINTS:
            held = f"import time; held = b'x' * {HELD}; time.sleep(0.5)"
            subprocess.run([sys.executable, "-c", held], check=True)
        yield Iterate(dual_coef=get_solver("smo").solve(problem).dual_coef, intercept=0.0, done=True)


def gaussian(x, z):
    x, z = (each if isinstance(each, np.ndarray) else each.toarray() for each in (x, z))
    return np.exp(-0.05 * ((x[:, None, :] - z[None, :, :]) ** 2).sum(axis=2))


DRAWN = np.random.default_rng(os.getpid()).uniform(1.0, 2.0, 100)  # random at import, so another in each process

BLOCKS = {
    "none": gaussian,
    "negated": lambda x, z: -gaussian(x, z),
    "diagonal": gaussian,
    "skewed": lambda x, z: gaussian(x, z) * (1.0 + 0.1 * np.tanh(x[:, :1] - z[:, :1].T)),
    "tanh": lambda x, z: np.tanh(x @ z.T - 1.0),
    "stored": lambda x, z: gaussian(x, z) ** (1 if isinstance(x, np.ndarray) else 2),
    "of-the-others": lambda x, z: gaussian(x - x.mean(axis=0), z - z.mean(axis=0)),
    "turned": lambda x, z: gaussian(x, z).T,
    "holed": lambda x, z: np.where(abs(gaussian(x, z) - 0.25) < 0.05, np.nan, gaussian(x, z)),
    "drawn": lambda x, z: gaussian(x * DRAWN[: x.shape[1]], z * DRAWN[: x.shape[1]]),
    "wide": gaussian,  # negated where gamma is large
}


@dataclass(frozen=True)
class Faulty(Kernel):
    """A Gaussian kernel with a fault."""

    name = "faulty"
    fault: str = parameter("none", "one of BLOCKS")
    gamma: float = parameter(1.0, "heeded by one fault alone", gt=0)

    @property
    def _sign(self):
        return -1.0 if self.fault == "wide" and self.gamma > 1.0 else 1.0

    def block(self, x, z):
        return BLOCKS[self.fault](x, z) * self._sign

    def diagonal(self, x):
        if self.fault == "tanh":
            return np.tanh((x * x).sum(axis=1) - 1.0)
        return np.full(x.shape[0], {"negated": -1.0, "diagonal": 2.0}.get(self.fault, self._sign))


@hookimpl
def harness_solvers():
    return [Descent, Remembers, KeepsModel, Continues, Elsewhere]


@hookimpl
def harness_kernels():
    return [Faulty]
