"""Compiled loops of the perceptrons over computed kernel values."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from harness.support.jit import compiled, summing


class Members(NamedTuple):
    """The members in slots 0 .. size - 1, changed in place by the compiled loop.

    example : (N,) int, the example in each slot
    alpha, scores : (N,) signed coefficient of each member, and f at it
    gram : (N, N) kernel values between the members, of the kernel's dtype
    row : (N,) kernel values between a new member and the members
    fetched : (N,) int, column of a member in the kernel values between the batch and the members; -1 if it joined later
    born : (N,) int, index in the batch of a member that joined during the batch
    where : (n,) int, the slot of each example; -1 if it is no member
    """

    example: Any
    alpha: Any
    scores: Any
    gram: Any
    row: Any
    fetched: Any
    born: Any
    where: Any


@summing
def catch_up(scores, values, weights, first):  # type: ignore[no-untyped-def]
    """Add the weighted sum of row p of ``values``, (b, m), from column first[p] on, to scores[p]."""
    for p in range(scores.size):
        total = 0.0
        for q in range(first[p], weights.size):
            total += weights[q] * values[p, q]
        scores[p] += total


@compiled
def _add(scores, weight, values):  # type: ignore[no-untyped-def]
    for q in range(scores.size):
        scores[q] += weight * values[q]


@compiled
def visit(scores, targets, among, places):  # type: ignore[no-untyped-def]
    """Run the kernel perceptron over a batch; write the indices of its mistakes to ``places`` and return their number.

    scores : (b,) f at the examples of the batch, updated in place
    among : (b, b) kernel values between these examples
    """
    count = 0
    for p in range(scores.size):
        if targets[p] * scores[p] <= 0.0:
            places[count] = p
            count += 1
            _add(scores, targets[p], among[p])
    return count


@compiled
def _against(x, slot, fetched, among, q):  # type: ignore[no-untyped-def]
    """Return the kernel value between the member in ``slot`` and example q of the batch."""
    column = x.fetched[slot]
    return fetched[q, column] if column >= 0 else among[x.born[slot], q]


@compiled
def _most_correct(x, y, newcomer):  # type: ignore[no-untyped-def]
    """Return the slot with the largest y_i (f(x_i) - alpha_i K_ii) after y k(x, .) is added; -1 for the newcomer.

    x : the members, in all slots; x.row has the kernel values between the newcomer and them
    newcomer : y_t (f(x_t) - alpha_t K_tt) of the newcomer

    Of equal values that of the first slot is taken, and the newcomer's last.
    """
    leaving, largest = -1, -np.inf
    for s in range(x.example.size):
        alpha = x.alpha[s]
        margin = x.scores[s] + y * x.row[s] - alpha * x.gram[s, s]
        if alpha < 0.0:
            margin = -margin
        if margin > largest:
            leaving, largest = s, margin
    return leaving if newcomer <= largest else -1


@compiled
def visit_with_budget(x, size, batch, targets, scores, fetched, among, beta):  # type: ignore[no-untyped-def]
    """Run the budget perceptron over a batch; return the number of its updates and the new number of members.

    batch, targets, scores : (b,) the examples of the batch, their labels, and f at them, updated in place
    fetched : (b, m) kernel values between the batch and the members before it
    among : (b, b) kernel values between the examples of the batch
    """
    limit = x.example.size
    updates = 0
    for p in range(scores.size):
        y = targets[p]
        if y * scores[p] > beta:
            continue
        updates += 1
        slot = x.where[batch[p]]
        if slot >= 0:
            x.alpha[slot] += y
            _add(x.scores[:size], y, x.gram[slot])
            _add(scores, y, among[p])
            continue
        for s in range(size):
            x.row[s] = _against(x, s, fetched, among, p)
        slot = size if size < limit else _most_correct(x, y, y * scores[p])
        if slot < 0:  # the new member is also the one that leaves
            continue
        if slot < size:
            weight = x.alpha[slot]
            _add(x.scores[:size], -weight, x.gram[slot])
            for q in range(scores.size):
                scores[q] -= weight * _against(x, slot, fetched, among, q)
            x.where[x.example[slot]] = -1
        else:
            size += 1
        _add(scores, y, among[p])
        x.row[slot] = among[p, p]
        _add(x.scores[:size], y, x.row[:size])
        x.example[slot], x.where[batch[p]] = batch[p], slot
        x.alpha[slot], x.scores[slot] = y, scores[p]
        x.fetched[slot], x.born[slot] = -1, p
        for s in range(size):
            x.gram[slot, s] = x.gram[s, slot] = x.row[s]
    return updates, size
