"""Solvers that want kernel values without a count, or a core set of their own size: a plugin, one trick each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from harness import CSVC, Iterate, Problem, Solver, hookimpl, parameter


def some_model(problem: Problem) -> Any:
    """Return feasible coefficients of c-svc with half the points in the support."""
    members = [np.flatnonzero(problem.targets == label)[: problem.n // 4] for label in (-1.0, 1.0)]
    count = min(map(len, members))
    coef = np.zeros(problem.n)
    for label, points in zip((-1.0, 1.0), members, strict=True):
        coef[points[:count]] = 0.01 * label
    return coef


@dataclass(frozen=True)
class Certifies(Solver):
    """Has the scores of all points computed by the methods that the host certifies with."""

    name = "certifies"
    solves = (CSVC,)
    times: int = parameter(5, "certificates asked for", ge=1)

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        coef = some_model(problem)
        for _ in range(self.times):
            problem.certify(coef, 0.0)
        yield Iterate(coef, done=True)


@dataclass(frozen=True)
class SmallCore(Solver):
    """Says that it looked at three points."""

    name = "small-core"
    solves = (CSVC,)

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        yield Iterate(some_model(problem), done=True, working_set=3)


@hookimpl
def harness_solvers() -> list[type[Solver]]:
    return [Certifies, SmallCore]
