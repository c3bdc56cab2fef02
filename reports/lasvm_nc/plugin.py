"""A plugin for this study alone: parts of a set, and a record of where on the ramp each example lay when its turn came."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from harness import Dataset, DataSource, Iterate, Problem, Solver, get_solver, hookimpl, parameter
from harness.problems import CSVCNoBias
from harness.support.errors import DataError, UsageError
from reports.kit.plugin_tools import dataset, load, uncounted


class _Recording(np.random.Generator):
    """A generator that remembers the last permutation it gave."""

    def permutation(self, *arguments: Any, **options: Any) -> Any:
        self.order = super().permutation(*arguments, **options)
        return self.order


@dataclass(frozen=True)
class Admissions(Solver):
    """One epoch of ``oracle``, which is given the examples one by one, each scored just before (Ertekin et al., Table 1).

    info: ``admitted`` (examples), of these ``admitted_left`` (y f < bend at their turn) and ``admitted_right``
    (y f > 1); ``cleaned_left`` and ``cleaned_right``, those of them that are not in S at the end; ``support_vectors``
    and ``non_support``, the members of S with and without a coefficient. Kernel values of the record are not counted.
    """

    name = "admissions"
    solves = (CSVCNoBias,)
    exact = False
    oracle: str = parameter("lasvm-g", "an online solver whose info says how many examples it has visited")
    bend: float = parameter(-1.0, "s of the ramp loss", lt=1)

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        recording = _Recording(rng.bit_generator)
        targets = problem.targets
        z = np.zeros(problem.n)  # y f at the example's turn; before the first one f = 0
        scored = 0
        for last in get_solver(self.oracle, block=1).iterates(problem, recording):
            visited = last.info.get("visited")
            if visited is None:
                raise UsageError(
                    f"solver 'admissions': the info of {self.oracle} has no 'visited', the number of examples so far; "
                    "take an oracle that has it."
                )
            if scored < visited < problem.n:
                scored = visited
                k = recording.order[visited : visited + 1]
                support = np.flatnonzero(last.dual_coef)
                z[k] = targets[k] * (uncounted(problem).kernel.block(k, support) @ last.dual_coef[support])
                yield Iterate(last.dual_coef, step=last.step)
        support = int(np.count_nonzero(last.dual_coef))
        whole = int(last.working_set) == problem.n  # nothing was removed
        gone = np.zeros(problem.n, bool) if whole else np.asarray(last.dual_coef) == 0.0
        left, right = z < self.bend, z > 1.0
        sides = {
            "admitted_left": left, "admitted_right": right, "cleaned_left": left & gone, "cleaned_right": right & gone,
        }  # fmt: skip
        counts = {"support_vectors": support, "non_support": int(last.working_set) - support, "admitted": problem.n}
        yield replace(last, done=True, info={**counts, **{name: int(those.sum()) for name, those in sides.items()}})


@dataclass(frozen=True)
class Subset(DataSource):
    """Training points of a set drawn at random, of one seed fewer are some of more; all of its test points."""

    name = "subset"
    description = "Some of a set's training points, drawn at random; its test points, +1 and the rest are that set's."
    of: str = parameter("breast-cancer", "the set, as ``harness compare`` takes it")
    n: int = parameter(100, "training points", ge=2)
    seed: int = parameter(0, "seed of the draw", ge=0)

    def load(self) -> Dataset:
        whole = load(self.of)
        if self.n > len(whole.y_train):
            raise DataError(
                f"data set '{self.label}': {self.of} has {len(whole.y_train)} training points; expected n up to that. "
                "Choose a smaller n."
            )
        rows = np.random.default_rng(self.seed).permutation(len(whole.y_train))[: self.n]
        x, y = whole.x_train[rows], np.asarray(whole.y_train)[rows]
        return dataset(self, x, y, whole.x_test, whole.y_test, like=whole)


@hookimpl
def harness_datasets() -> list[type[DataSource]]:
    """Return the data sources of the study."""
    return [Subset]


@hookimpl
def harness_solvers() -> list[type[Solver]]:
    """Return the solvers of the study."""
    return [Admissions]
