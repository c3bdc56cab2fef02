"""What a perceptron knows during a run: the list of its mistakes, or the members of a budget."""

from __future__ import annotations

import numpy as np

from harness import Problem
from harness.support.arrays import Array
from harness_perceptron import hot

_VALUES = 4_000_000  # kernel values held at a time


class Mistakes:
    """The state of the kernel and the averaged perceptron.

    f is the sum over the mistakes made, in their order, of y_k k(x_k, .). An example visited again needs those made
    since only: ``seen`` says how many are in its ``scores``.

    alpha : (n,) sum of y_k over the mistakes on an example
    late : (n,) sum of y_k times the examples that were visited before the mistake
    averaged : whether the model is the mean of alpha over the iterations so far, each as it was after its update
    """

    def __init__(self, problem: Problem, dtype: str, *, averaged: bool = False) -> None:
        self.averaged, n = averaged, problem.n
        self.kernel, self.targets = problem.kernel.replace(dtype=dtype), problem.targets
        self.alpha, self.late, self.scores = np.zeros(n), np.zeros(n), np.zeros(n)
        self.seen = np.zeros(n, dtype=np.int64)
        self.made = np.zeros(min(n, 1024), dtype=np.int64)  # the examples of the mistakes, in order; grows
        self.mistakes, self.visited, self.members = 0, 0, 0
        self._oldest = self._at_epoch = 0

    @property
    def due(self) -> int:
        """Number of mistakes that the next batch's kernel values are against, at most."""
        return self.mistakes - self._oldest

    def start_epoch(self) -> None:
        """Note that every example has been visited since the last call."""
        self._oldest, self._at_epoch = self._at_epoch, self.mistakes

    def visit(self, batch: Array) -> None:
        """Visit the examples of ``batch``, all different, in order."""
        scores, seen, targets = self.scores[batch], self.seen[batch], self.targets[batch]
        step = max(1, _VALUES // len(batch))
        for start in range(int(seen.min()), self.mistakes, step):
            new = self.made[start : min(start + step, self.mistakes)]
            hot.catch_up(scores, self.kernel.block(batch, new), self.targets[new], np.maximum(seen - start, 0))
        if (targets * scores <= 0.0).any():  # else there is no mistake: f stays as it is
            places = np.empty(len(batch), dtype=np.int64)
            count = hot.visit(scores, targets, self.kernel.block(batch, batch), places)
            self._note(batch[places[:count]], self.visited + places[:count])
        self.visited += len(batch)
        self.scores[batch] = scores
        self.seen[batch] = self.mistakes

    def coef(self) -> Array:
        """Return the signed coefficients of all examples, (n,)."""
        return self.alpha - self.late / max(1, self.visited) if self.averaged else self.alpha

    def _note(self, examples: Array, before: Array) -> None:
        """Add mistakes, of which each was made when ``before`` examples had been visited."""
        self.members += int(np.count_nonzero(self.alpha[examples] == 0.0))
        self.alpha[examples] += self.targets[examples]
        self.late[examples] += self.targets[examples] * before
        total = self.mistakes + len(examples)
        if total > len(self.made):
            self.made = np.concatenate([self.made, np.zeros(total, dtype=np.int64)])
        self.made[self.mistakes : total] = examples
        self.mistakes = total


class Budgeted:
    """The state of the budget perceptron: at most ``most`` members, updates where y f <= ``beta``."""

    def __init__(self, problem: Problem, dtype: str, *, beta: float, most: int) -> None:
        self.kernel, self.targets = problem.kernel.replace(dtype=dtype), problem.targets
        self.n, self.beta = problem.n, beta
        most = min(most, problem.n)
        self.state = hot.Members(
            example=np.zeros(most, dtype=np.int64),
            alpha=np.zeros(most),
            scores=np.zeros(most),
            gram=np.zeros((most, most), dtype=dtype),
            row=np.zeros(most, dtype=dtype),
            fetched=np.zeros(most, dtype=np.int64),
            born=np.zeros(most, dtype=np.int64),
            where=np.full(problem.n, -1, dtype=np.int64),
        )
        self.mistakes, self.visited, self.members = 0, 0, 0

    @property
    def due(self) -> int:
        """Number of members that the next batch's kernel values are against."""
        return self.members

    def start_epoch(self) -> None:
        """Nothing to note: what an example was told in the last epoch no longer holds."""

    def visit(self, batch: Array) -> None:
        """Visit the examples of ``batch``, all different, in order."""
        state, size = self.state, self.members
        values = self.kernel.block(batch, state.example[:size])
        targets, scores = self.targets[batch], np.zeros(len(batch))
        hot.catch_up(scores, values, state.alpha[:size], np.zeros(len(batch), dtype=np.int64))
        if (targets * scores <= self.beta).any():
            state.fetched[:size] = np.arange(size)
            among = self.kernel.block(batch, batch)
            found, self.members = hot.visit_with_budget(state, size, batch, targets, scores, values, among, self.beta)
            self.mistakes += found
        self.visited += len(batch)

    def coef(self) -> Array:
        """Return the signed coefficients of all examples, (n,)."""
        coef = np.zeros(self.n)
        coef[self.state.example[: self.members]] = self.state.alpha[: self.members]
        return coef
