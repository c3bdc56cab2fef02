"""An exact solver as a learner: after each purchase it solves the whole problem over what was bought.

The classical method of active learning (Tong and Koller 2001; the paper's step iii). Where the solver can start from
coefficients it starts from those of the last solution.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from harness import Iterate, Learner, Oracle, PluginError

if TYPE_CHECKING:
    from harness import PoolSVC
    from harness.arrays import Vector


class Retrained(Learner):
    """The solution over all labels that were bought; w = 0 and that label as intercept while they are of one class."""

    def __init__(self, problem: PoolSVC, oracle: Oracle, rng: np.random.Generator) -> None:
        self._problem, self._oracle, self._rng = problem, oracle, rng
        self._kernel = problem.kernel.astype(np.float32)  # of the scores
        self._coef = np.zeros(problem.n)
        self._intercept = 0.0
        self._both = False

    def learn(self, indices: Any) -> None:
        bought = self._problem.bought
        targets = self._problem.targets[bought]
        self._both = bool(len(targets)) and targets.min() < targets.max()
        if not self._both:
            self._intercept = float(targets[0]) if len(targets) else 0.0
            return
        stated, start = self._problem.labelled(), self._coef[bought]
        last: Iterate | None = None
        with self._oracle.failing_in(f"after {len(bought)} labels"):
            for last in self._oracle.iterates(stated, start=start if start.any() else None, rng=self._rng):  # noqa: B007
                continue  # the last counts
            if last is None or last.dual_coef is None:
                raise PluginError("it ended without dual coefficients.")
            self._coef[bought], self._intercept = stated.checked(last.dual_coef, last.intercept)

    def scores(self, indices: Any, *, keep: bool | None = False) -> Vector:
        return self._kernel.expand(self._coef, np.asarray(indices, dtype=np.intp)) + self._intercept

    def finish(self) -> None:
        """Do nothing: every model is a solution."""

    def iterate(self, *, done: bool = False, **info: Any) -> Iterate:
        spent = {"oracle_calls": self._oracle.calls, "oracle_seconds": self._oracle.seconds}
        return Iterate(self._coef, self._intercept, done=done, info={**spent, **info})

    @property
    def support(self) -> int:
        """Number of support vectors."""
        return int(np.count_nonzero(self._coef))

    @property
    def margin(self) -> float:
        """1; infinite while the labels are of one class."""
        return 1.0 if self._both else math.inf
