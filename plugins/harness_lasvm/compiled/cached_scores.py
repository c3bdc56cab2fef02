"""LASVM example by example while K coef at all points is up to date: what does not enter S takes no kernel values."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from harness.support.jit import add_rows, compiled
from harness_lasvm.compiled.state import DONE, Candidates, Members, borrowed
from harness_lasvm.compiled.steps import online

NEED_POINT = -1  # code of `learn`: room in S and the kernel row of the example over all points are needed
_RELEASED = -(1 << 61)  # last use of a row that is needed no more: it is replaced before a slot is used that never was


class Cached(NamedTuple):
    """Scores of all n points, and kernel rows of all n values from which they are updated.

    scores : (n,) K coef, float64
    coef : (n,) coefficients that the scores belong to
    rows, slot_of, owner, last_used : those of a ``RowCache``
    support : (n,) stack of the points whose ``coef`` is not 0
    missing : (n,) stack of the points whose coefficient has changed and whose row is not cached
    slots, weights : (n,) rows that are added, and their factors
    values : (n,) kernel values of an example with the slots of S
    sizes : (3,) of the stacks ``support`` and ``missing``, and the number of rows that were added
    """

    scores: Any
    coef: Any
    rows: Any
    slot_of: Any
    owner: Any
    last_used: Any
    support: Any
    missing: Any
    slots: Any
    weights: Any
    values: Any
    sizes: Any


@compiled
def update(x: Members, c: Cached) -> None:
    """Add to the scores the rows of the coefficients that have changed, except for those that are left in ``missing``."""
    x, c = borrowed(x), borrowed(c)
    count, added, missing, before = 0, 0, 0, c.sizes[0]
    for q in range(before + x.now[0].top):
        if q < before:
            p = c.support[q]
            alpha = x.alpha[x.examples[p].slot] if x.examples[p].slot >= 0 else 0.0
        else:
            alpha = x.alpha[q - before]
            if alpha == 0.0:
                continue
            p = x.slots[q - before].member
            if c.coef[p] != 0.0:  # it is in the stack
                continue
        if alpha != c.coef[p]:
            row = c.slot_of[p]
            if row < 0:
                c.missing[missing] = p
                missing += 1
            else:
                c.slots[added], c.weights[added] = row, alpha - c.coef[p]
                c.coef[p], c.last_used[row] = alpha, x.now[0].operations
                added += 1
        if c.coef[p] != 0.0:
            c.support[count] = p
            count += 1
    if added:
        add_rows(c.scores, c.rows, c.slots[:added], c.weights[:added], 0, c.scores.size)
    c.sizes[0], c.sizes[1] = count, missing
    c.sizes[2] += added


@compiled
def release(x: Members, c: Cached) -> None:
    """Release the rows of points outside S that no score needs any more."""
    for slot in range(c.owner.size):
        p = c.owner[slot]
        if p < 0:
            return
        if x.examples[p].slot < 0 and c.coef[p] == 0.0:
            c.last_used[slot] = _RELEASED


@compiled
def learn(
    x: Members, c: Cached, k: int, target: float, upper: float, fetched: bool, tau: float, delta_max: float, many: int
) -> int:
    """PROCESS example k, a REPROCESS, and update the scores; called again after NEED_POINT (then fetched), NEED_ROW and PAUSED."""
    x, c = borrowed(x), borrowed(c)
    now, example = x.now[0], x.examples[k]
    now.at, now.born, top = 0, 0, now.top
    if now.stage == 0 and example.slot < 0:
        example.target = target
        example.lower, example.upper = min(0.0, upper * target), max(0.0, upper * target)
        grad, low, high = target - c.scores[k], min(now.g_min, now.g_max), max(now.g_min, now.g_max)
        if (target > 0.0 and grad <= low) or (target < 0.0 and grad >= high):
            # PROCESS would let it in and step 4 of REPROCESS would remove it at once
            now.operations += 1
            now.stage = 1
        elif not fetched:
            return NEED_POINT
        else:
            row = c.rows[c.slot_of[k]]
            for s in range(top):
                c.values[s] = row[max(x.slots[s].member, 0)]  # the value in a hole is not used, as alpha is 0 there
    work = Candidates(
        np.full(1, k), np.zeros(1, np.int64), c.values[:top].reshape((1, top)), np.zeros((1, 1), c.values.dtype)
    )
    code: int = online(x, work, tau, delta_max, many)
    if code == DONE:
        update(x, c)
    return code
