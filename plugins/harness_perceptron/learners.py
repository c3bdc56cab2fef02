"""State of a perceptron during a run: the list of its mistakes, or the members of a budget."""

from __future__ import annotations

import numpy as np

from harness import Problem
from harness.support.arrays import Array
from harness_perceptron import hot

_VALUES = 4_000_000  # largest number of kernel values in memory at a time


class Mistakes:
    """State of the kernel perceptron and the averaged perceptron.

    f is the sum of y_k k(x_k, .) over the mistakes, in their order. A further visit of an example adds only the mistakes since its
    last visit to its score.

    alpha : (n,) sum of y_k over the mistakes on an example
    late : (n,) sum over these of y_k times the number of visits before the mistake
    included : (n,) number of mistakes that the score of each example includes
    averaged : whether the model is the mean of alpha after each visit so far
    """

    def __init__(self, problem: Problem, dtype: str, *, averaged: bool = False) -> None:
        self.averaged, n = averaged, problem.n
        self.kernel, self.targets = problem.kernel.replace(dtype=dtype), problem.targets
        self.alpha, self.late, self.scores = np.zeros(n), np.zeros(n), np.zeros(n)
        self.included = np.zeros(n, dtype=np.int64)
        self.made = np.zeros(min(n, 1024), dtype=np.int64)  # the examples of the mistakes, in order; grows
        self.mistakes, self.visited, self.members = 0, 0, 0
        self._oldest = self._at_epoch = 0

    @property
    def due(self) -> int:
        """Largest number of mistakes for which an example of the next batch needs kernel values."""
        return self.mistakes - self._oldest

    def start_epoch(self) -> None:
        """Start an epoch, after which every example has been visited since the previous call."""
        self._oldest, self._at_epoch = self._at_epoch, self.mistakes

    def visit(self, batch: Array) -> None:
        """Visit the distinct examples of ``batch`` in order."""
        scores, included, targets = self.scores[batch], self.included[batch], self.targets[batch]
        step = max(1, _VALUES // len(batch))
        for start in range(int(included.min()), self.mistakes, step):
            new = self.made[start : min(start + step, self.mistakes)]
            hot.catch_up(scores, self.kernel.block(batch, new), self.targets[new], np.maximum(included - start, 0))
        if (targets * scores <= 0.0).any():  # else there is no mistake and f does not change
            places = np.empty(len(batch), dtype=np.int64)
            count = hot.visit(scores, targets, self.kernel.block(batch, batch), places)
            self._record(batch[places[:count]], self.visited + places[:count])
        self.visited += len(batch)
        self.scores[batch] = scores
        self.included[batch] = self.mistakes

    def coef(self) -> Array:
        """Return the signed coefficients of all examples, (n,)."""
        return self.alpha - self.late / max(1, self.visited) if self.averaged else self.alpha

    def _record(self, examples: Array, before: Array) -> None:
        """Add mistakes on ``examples``, each made after ``before`` visits."""
        self.members += int(np.count_nonzero(self.alpha[examples] == 0.0))
        self.alpha[examples] += self.targets[examples]
        self.late[examples] += self.targets[examples] * before
        total = self.mistakes + len(examples)
        if total > len(self.made):
            self.made = np.concatenate([self.made, np.zeros(total, dtype=np.int64)])
        self.made[self.mistakes : total] = examples
        self.mistakes = total


class Budgeted:
    """State of the budget perceptron with at most ``budget`` members, which updates if y f <= ``beta``."""

    def __init__(self, problem: Problem, dtype: str, *, beta: float, budget: int) -> None:
        self.kernel, self.targets = problem.kernel.replace(dtype=dtype), problem.targets
        self.n, self.beta = problem.n, beta
        slots = min(budget, problem.n)
        self.state = hot.Members(
            example=np.zeros(slots, dtype=np.int64),
            alpha=np.zeros(slots),
            scores=np.zeros(slots),
            gram=np.zeros((slots, slots), dtype=dtype),
            row=np.zeros(slots, dtype=dtype),
            fetched=np.zeros(slots, dtype=np.int64),
            born=np.zeros(slots, dtype=np.int64),
            where=np.full(problem.n, -1, dtype=np.int64),
        )
        self.mistakes, self.visited, self.members = 0, 0, 0

    @property
    def due(self) -> int:
        """Number of members for which an example of the next batch needs kernel values."""
        return self.members

    def start_epoch(self) -> None:
        """Do nothing, as no scores are stored between visits."""

    def visit(self, batch: Array) -> None:
        """Visit the distinct examples of ``batch`` in order."""
        state, size = self.state, self.members
        values = self.kernel.block(batch, state.example[:size])
        targets, scores = self.targets[batch], np.zeros(len(batch))
        hot.catch_up(scores, values, state.alpha[:size], np.zeros(len(batch), dtype=np.int64))
        if (targets * scores <= self.beta).any():
            state.fetched[:size] = np.arange(size)
            among = self.kernel.block(batch, batch)
            updates, self.members = hot.visit_with_budget(state, size, batch, targets, scores, values, among, self.beta)
            self.mistakes += updates
        self.visited += len(batch)

    def coef(self) -> Array:
        """Return the signed coefficients of all examples, (n,)."""
        coef = np.zeros(self.n)
        coef[self.state.example[: self.members]] = self.state.alpha[: self.members]
        return coef
