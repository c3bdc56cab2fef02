"""LASVM example by example while K coef at all points is up to date: what does not enter S takes no kernel values."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from harness.support.jit import add_rows, compiled
from harness_lasvm.compiled.state import DONE, PAUSED, Candidates, Members
from harness_lasvm.compiled.steps import run

NEED_POINT = -1  # code of `learn`: room in S and the kernel row of the example over all points are needed


class Cached(NamedTuple):
    """Scores of all n points, and kernel rows of all n values from which they are updated.

    scores : (n,) K coef, float64
    coef : (n,) coefficients that the scores belong to
    rows, slot_of, last_used : those of a ``RowCache``
    targets : (n,) those of the problem
    support : (n,) stack of the points whose ``coef`` is not 0
    missing : (n,) stack of the points whose coefficient has changed and whose row is not cached
    sizes : (6,) of the stacks ``support`` and ``missing``; the number of rows that were added; of :func:`learn`: the number of
        examples that may follow, the example in work, -1 if none is, and whether its row is cached and S has room for it
    """

    scores: Any
    coef: Any
    rows: Any
    slot_of: Any
    last_used: Any
    targets: Any
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
        add_rows(c.scores, c.rows, slots[:added], weights[:added], np.int64(0), c.scores.size)
    c.sizes[0], c.sizes[1] = count, missing
    c.sizes[2] += added


@compiled
def learn(x: Members, c: Cached, choose: Any, rule: Any) -> int:
    """PROCESS examples, each with a REPROCESS, and update the scores; after another code than DONE, call it again.

    choose : C function of the intercept, the number of support vectors and the margin that returns the next example, or -1
    rule : tau, delta_max and second_order_from of ``run``
    """
    now, sizes = x.now[0], c.sizes
    while not sizes[1]:
        if sizes[4] < 0:
            if sizes[3]:  # the extremes are finite, as there are support vectors, and their coefficients add up to 0
                sizes[4] = choose(0.5 * (now.g_max + now.g_min), sizes[0], 1.0 + 0.5 * (now.g_max - now.g_min))
            if sizes[4] < 0:
                return DONE
            sizes[3] -= 1
        k, target = sizes[4], c.targets[sizes[4]]
        example = x.examples[k]
        now.at, now.entered = 0, 0
        values = np.empty((1, now.top), c.rows.dtype)
        if now.stage == 0 and example.slot < 0:
            example.target = target
            example.lower, example.upper = (0.0, example.upper) if target > 0.0 else (example.lower, 0.0)
            grad, low, high = target - c.scores[k], min(now.g_min, now.g_max), max(now.g_min, now.g_max)
            if grad <= low if target > 0.0 else grad >= high:
                # PROCESS would let it in and step 4 of REPROCESS would remove it at once
                now.operations += 1
                now.stage = 1
            elif not sizes[5]:
                return NEED_POINT
            else:
                row = c.rows[c.slot_of[k]]
                for s in range(now.top):  # the value in a hole is not used, as alpha is 0 there
                    values[0, s] = row[max(x.slots[s].member, 0)]
        work = Candidates(np.full(1, k), np.zeros(1, np.int64), values, np.zeros((1, 1), c.rows.dtype))
        code: int = run(x, work, *rule)
        if code != DONE:
            return code
        sizes[4], sizes[5] = -1, 0
        update(x, c)
    return PAUSED
