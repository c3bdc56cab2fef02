"""The members of a budgeted expansion, with their scores and the kernel values between them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from harness_perceptron import hot

if TYPE_CHECKING:
    from harness import Problem
    from harness.arrays import Array


class Members(NamedTuple):
    """The members in slots 0 .. size - 1, changed in place by the compiled loop.

    example : (N,) int, the example in each slot
    alpha, scores : (N,) its signed coefficient and f at it
    gram : (N, N) kernel values between the members, of the kernel's dtype
    row : (N,) a newcomer's values against the members
    fetched, born : (N,) int, where a member's values against the batch's examples are: a column of those fetched, or
        (fetched < 0) the member's place in the batch
    where : (n,) int, the slot of each example, -1 if it is no member
    """

    example: Any
    alpha: Any
    scores: Any
    gram: Any
    row: Any
    fetched: Any
    born: Any
    where: Any


class Budgeted:
    """The state of the budget perceptron: at most ``most`` members, updates where y f <= ``beta``."""

    def __init__(self, problem: Problem, dtype: str, *, beta: float, most: int) -> None:
        self.kernel = problem.kernel.astype(dtype)
        self.targets = problem.targets
        self.n, self.beta = problem.n, beta
        most = min(most, problem.n)
        self.state = Members(
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
            updates, self.members = hot.visit_with_budget(state, size, batch, targets, scores, values, among, self.beta)
            self.mistakes += updates
        self.visited += len(batch)

    def coef(self) -> Array:
        """Return the signed coefficients of all examples, (n,)."""
        coef = np.zeros(self.n)
        coef[self.state.example[: self.members]] = self.state.alpha[: self.members]
        return coef
