"""Models that are no dual solution of the stated problem: an honest one, and ways to hand over what is none."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from harness import CSVC, Iterate, Problem, Solver, hookimpl, parameter
from harness.measure import scored

WIDE = 40  # points: more than those of the warm-up


def _forge(own_coef: Any, own: Any) -> None:
    """Have the solver's own process send what no check has seen."""

    def forged(kernel: Any, free_coef: Any, extra_points: Any, intercept: Any) -> scored.FreeModel:
        return scored.FreeModel(np.ones(kernel.n), own_coef, own, 0.0)

    scored.FreeModel.checked = forged  # type: ignore[method-assign]


@dataclass(frozen=True)
class FreeModel(Solver):
    """The difference of the classes' means in feature space, the negatives' mean from points of its own."""

    name = "free-model"
    solves = (CSVC,)
    way: str = parameter("honest", "of handing it over")

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        y, points, n = problem.targets, np.asarray(problem.kernel.points), problem.n
        coef = np.where(y > 0, 1.0 / np.sum(y > 0), 0.0)
        own_coef, own = np.full(int(np.sum(y < 0)), -1.0 / np.sum(y < 0)), points[y < 0]
        if n > WIDE:
            if self.way == "forged-nan":
                _forge(np.full(2, np.nan), own[:2])
            elif self.way == "forged-width":
                _forge(np.ones(2), own[:2, :1])
            elif self.way == "forged-size":
                _forge(np.ones(1 << 20), np.ones((1 << 20, 8)))
        yield Iterate(free_coef=np.concatenate([coef, own_coef]), extra_points=own, done=True)


@hookimpl
def harness_solvers() -> list[type[Solver]]:
    return [FreeModel]
