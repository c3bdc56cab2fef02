"""LASVM example by example while K coef at all points is up to date: what does not enter S takes no kernel values."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from harness.support.jit import add_rows, compiled
from harness_lasvm.compiled.state import DONE, Candidates, Members
from harness_lasvm.compiled.steps import run

NEED_POINT = -1  # code of `learn`: room in S and the kernel row of the example over all points are needed


class Cached(NamedTuple):
    """Scores of all n points, and kernel rows of all n values from which they are updated.

    scores : (n,) K coef, float64
    coef : (n,) coefficients that the scores belong to
    rows, slot_of, last_used : those of a ``RowCache``
    support : (n,) stack of the points whose ``coef`` is not 0
    missing : (n,) stack of the points whose coefficient has changed and whose row is not cached
    sizes : (3,) of the stacks ``support`` and ``missing``, and the number of rows that were added
    """

    scores: Any
    coef: Any
    rows: Any
    slot_of: Any
    last_used: Any
    support: Any
    missing: Any
    sizes: Any


@compiled
def update(x: Members, c: Cached) -> None:
    """Add to the scores the rows of the coefficients that have changed, except for those that are left in ``missing``."""
    count, added, missing, before = 0, 0, 0, c.sizes[0]
    slots, weights = np.empty(before + x.now[0].top, np.int64), np.empty(before + x.now[0].top)
    for q in range(slots.size):
        if q < before:
            p = c.support[q]
            alpha = x.alpha[x.examples[p].slot] if x.examples[p].slot >= 0 else 0.0
        else:
            p, alpha = x.slots[q - before].member, x.alpha[q - before]
            if alpha == 0.0 or c.coef[p] != 0.0:  # nothing to add, or in the stack
                continue
        if alpha != c.coef[p]:
            row = c.slot_of[p]
            if row < 0:
                c.missing[missing] = p
                missing += 1
            else:
                slots[added], weights[added] = row, alpha - c.coef[p]
                c.coef[p], c.last_used[row] = alpha, x.now[0].operations
                added += 1
        if c.coef[p] != 0.0:
            c.support[count] = p
            count += 1
    if added:
        add_rows(c.scores, c.rows, slots[:added], weights[:added], 0, c.scores.size)
    c.sizes[0], c.sizes[1] = count, missing
    c.sizes[2] += added


@compiled
def learn(x: Members, c: Cached, k: int, target: float, reach: float, has_row: bool, rule: Any) -> int:
    """PROCESS example k, a REPROCESS, and update the scores; after NEED_POINT, NEED_ROW and PAUSED, call it again.

    reach : the bound of its coefficient that is not 0
    has_row : whether its row is cached, and S has room for it
    rule : tau, delta_max and second_order_from of ``run``
    """
    now, example = x.now[0], x.examples[k]
    now.at, now.entered = 0, 0
    values = np.empty((1, now.top), c.rows.dtype)
    if now.stage == 0 and example.slot < 0:
        example.target, example.lower, example.upper = target, min(reach, 0.0), max(reach, 0.0)
        grad, low, high = target - c.scores[k], min(now.g_min, now.g_max), max(now.g_min, now.g_max)
        if grad <= low if target > 0.0 else grad >= high:
            # PROCESS would let it in and step 4 of REPROCESS would remove it at once
            now.operations += 1
            now.stage = 1
        elif not has_row:
            return NEED_POINT
        else:
            row = c.rows[c.slot_of[k]]
            for s in range(now.top):
                values[0, s] = row[max(x.slots[s].member, 0)]  # the value in a hole is not used, as alpha is 0 there
    work = Candidates(np.full(1, k), np.zeros(1, np.int64), values, np.zeros((1, 1), c.rows.dtype))
    code: int = run(x, work, *rule)
    if code == DONE:
        update(x, c)
    return code
