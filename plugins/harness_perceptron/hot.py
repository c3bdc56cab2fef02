"""Compiled loops of the perceptrons: what follows from kernel values that are already there."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from harness.support.jit import compiled, summing


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


@summing
def catch_up(scores, values, weights, first):  # type: ignore[no-untyped-def]
    """Add the weighted sum of row p of ``values`` (b, m) from column first[p] on to scores[p]."""
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
    """Run the kernel perceptron over a batch; write the places of its mistakes, return their number.

    scores : (b,) f at the batch's examples, kept up to date
    among : (b, b) kernel values between them
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
    """Return K between the member in ``slot`` and the batch's example q."""
    column = x.fetched[slot]
    return fetched[q, column] if column >= 0 else among[x.born[slot], q]


@compiled
def _most_correct(x, y, own):  # type: ignore[no-untyped-def]
    """Return the slot whose y_i (f(x_i) - alpha_i K_ii) is largest now that y k(x, .) has joined, -1: the newcomer.

    x : the members, as many as may be; x.row : the newcomer's values against them
    own : the newcomer's y_t (f(x_t) - alpha_t K_tt)

    Among equals the first slot's, the newcomer last.
    """
    leaving, largest = -1, -np.inf
    for s in range(x.example.size):
        alpha = x.alpha[s]
        margin = x.scores[s] + y * x.row[s] - alpha * x.gram[s, s]
        if alpha < 0.0:
            margin = -margin
        if margin > largest:
            leaving, largest = s, margin
    return leaving if own <= largest else -1


@compiled
def visit_with_budget(x, size, batch, targets, scores, fetched, among, beta):  # type: ignore[no-untyped-def]
    """Run the budget perceptron over a batch; return the number of its updates and of the members now.

    batch, targets, scores : (b,) the batch's examples, their labels, and f at them, kept up to date
    fetched : (b, m) kernel values against the members at the batch's beginning
    among : (b, b) kernel values between the batch's examples
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
        if slot < 0:  # it joined and left at once
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
