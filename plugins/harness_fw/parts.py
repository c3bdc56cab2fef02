"""Runs on parts of the points, for problems whose kernel rows do not fit in memory.

The rule runs on a part of the points alone, so that a row is as short as the part. Then the scores of all points, computed
in one product, decide: the run is done, or the points beyond the level of their hull join the support in the next part.
A part that would take most of the points is all of them. This is chunking (B. Boser, I. Guyon, V. Vapnik, "A training
algorithm for optimal margin classifiers", COLT 1992) with the rule as the solver of a chunk.
"""

from __future__ import annotations

import numpy as np

from harness import Problem
from harness.support.arrays import Index, Vector
from harness_fw import rules
from harness_fw.descent import Descent
from harness_fw.hulls import Hulls

PART = 4096  # points of the first part, and points that may join a part at least
_ROUGH = 0.3  # epsilon of the first part
_SHARPER = 0.1  # ratio of the next part's epsilon to that of all points, while points join
_COMPLETE = 1.5  # ratio of the epsilon of all points to that of the part up to which the next part goes to the end
_SAFE = 0.95  # ratio of the last part's epsilon to the target
_MOST = 0.5  # fraction of the points beyond which the next part is all of them


class PartDescent(Descent):
    """A run on parts of the points; its figures are those of the part, at the end of a part those of all points."""

    def __init__(
        self, problem: Problem, rule: str, epsilon: float, explicit: bool, start: Vector | None = None
    ) -> None:
        self.whole, self.name, self.target = problem, rule, epsilon
        self.hulls_of_all = Hulls(problem)
        self.coef_of_all = np.zeros(problem.n) if start is None else start.copy()
        spread = [side[:: -(-problem.n // PART)] for side in self.hulls_of_all.sides]
        self._restart(np.union1d(np.concatenate(spread), np.flatnonzero(self.coef_of_all)), max(epsilon, _ROUGH))

    def _restart(self, part: Index, epsilon: float) -> None:
        """Go on with the points ``part`` from the weights as they are."""
        start = self.coef_of_all[part]
        self.part = part
        problem = self.whole if len(part) == self.whole.n else self.whole.restrict(part)
        super().__init__(problem, self.name, epsilon, False, start if start.any() else None)

    def advance(self, until: int) -> str:
        """Iterate as :class:`Descent` does; at the end of a part go on with the next one unless all points agree."""
        status = super().advance(until)
        if status not in ("done", "stalled") or len(self.part) == self.whole.n:
            return status
        hulls = self.hulls_of_all
        weights = hulls.sign * self.dual_coef
        scores = hulls.sign * self.whole.kernel.expand(self.coef_of_all)
        plus, minus = hulls.epsilons(scores, weights)
        self.state.figures[rules.PLUS : rules.MINUS + 1] = plus, 0.0 if self.rule == rules.GILBERT else minus
        reached = max(self.epsilons)
        if reached <= self.target:
            return "done"
        support, beyond = np.flatnonzero(weights), hulls.beyond(scores, weights, max(PART, self.working_set))
        part = np.sort(np.concatenate([support, beyond]))
        if status == "stalled" or len(part) > _MOST * self.whole.n:
            part = np.arange(self.whole.n)
        last = _SAFE * self.target
        sharper = last if reached <= _COMPLETE * self.epsilon else min(_ROUGH, max(last, _SHARPER * reached))
        counts, computed = self.state.counts, self.source.computed
        judged = self.state.figures[rules.PLUS : rules.MINUS + 1]
        del self.state, self.source  # their memory is that of the next part's rows
        self._restart(part, self.target if len(part) == self.whole.n else sharper)
        self._run(0)
        self.state.counts[: rules.IDLE] = counts[: rules.IDLE]
        self.state.counts[rules.KIND] = counts[rules.KIND]
        self.state.figures[rules.PLUS : rules.MINUS + 1] = judged
        self.source.passing += computed
        self.next_refresh += self.taken
        return ""

    @property
    def dual_coef(self) -> Vector:
        self.coef_of_all[self.part] = super().dual_coef
        return self.coef_of_all
