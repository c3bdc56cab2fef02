"""Who is in S: members come and go, and what the candidates for it are fetched with."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness.support.jit import compiled, inlined, inner
from harness_lasvm.compiled.rows import drop_row, own_row, take_row
from harness_lasvm.compiled.scans import copy, dot, mark, scan
from harness_lasvm.compiled.state import Candidates, Members, borrowed


@inner
def _enter(x: Members, k: int, alpha: float, grad: float) -> int:
    """Let example k into S with the spare row as its row; return its slot."""
    now, example = x.now[0], x.examples[k]
    if now.holes > 0:
        now.holes -= 1
        slot: int = x.stacks[now.holes].hole
    else:
        slot = now.top
        now.top += 1
    example.slot = slot
    x.alpha[slot], x.grad[slot], x.diagonal[slot] = alpha, grad, example.diagonal
    into = x.slots[slot]
    into.member, into.lower, into.upper, into.listed = k, example.lower, example.upper, 0
    mark(x, slot)
    x.pool[now.spare * now.width + slot] = example.diagonal
    x.log[now.clock] = slot
    now.clock += 1
    own_row(x, now.spare, slot)
    now.spare = take_row(x)
    return slot


@compiled
def admit(x: Members, entering: Candidates, alphas: Any, grads: Any) -> None:
    """Let all of ``entering`` into S."""
    held = x.now[0].top
    entered = np.empty(entering.examples.size, np.int64)
    for q in range(entered.size):
        base = x.now[0].spare * x.now[0].width
        copy(x.pool[base : base + held], entering.values[q])
        for p in range(q):
            x.pool[base + entered[p]] = entering.among[q, p]
        entered[q] = _enter(x, entering.examples[q], alphas[q], grads[q])
    scan(x)


@inlined
def lay(x: Members, fetched: Candidates, place: int) -> int:
    """Write the kernel values of a candidate into the spare row; return the row's first place in the pool."""
    base: int = x.now[0].spare * x.now[0].width
    copy(x.pool[base : base + fetched.values.shape[1]], fetched.values[place])
    for q in range(x.now[0].born):
        x.pool[base + x.born[q].slot] = fetched.among[place, x.born[q].place]
    return base


@inlined
def is_complete(x: Members, fetched: Candidates, place: int) -> bool:
    """Return whether later candidates have their values with this one; if not, note that they are wanted."""
    if np.isnan(fetched.among[place, place]):
        x.now[0].wanted = -1 - place
        return False
    return True


@inlined
def gradient(x: Members, k: int, base: int) -> float:
    """Return the gradient of an example whose values with the slots stand at ``base``."""
    grad: float = x.examples[k].target - dot(x.alpha[: x.now[0].top], x.pool[base : base + x.now[0].top])
    return grad


@inner
def be_born(x: Members, k: int, place: int, grad: float) -> int:
    """Let a candidate, whose row was laid, into S with alpha = 0; return its slot."""
    slot: int = _enter(x, k, 0.0, grad)
    x.born[x.now[0].born].slot = slot
    x.born[x.now[0].born].place = place
    x.now[0].born += 1
    return slot


@inner
def leave(x: Members, slot: int) -> None:
    """Remove the member in ``slot``, whose alpha is 0, from S."""
    k = x.slots[slot].member
    x.examples[k].slot = -1
    x.coef[k] = 0.0
    x.slots[slot].member = -1
    x.rise[slot], x.fall[slot] = -np.inf, np.inf
    drop_row(x, slot)
    x.stacks[x.now[0].holes].hole = slot
    x.now[0].holes += 1


@compiled
def write(x: Members) -> int:
    """Write the members' alpha into ``coef``; return the number of support vectors among them."""
    support = 0
    for s in range(x.now[0].top):
        if x.slots[s].member >= 0:
            x.coef[x.slots[s].member] = x.alpha[s]
            if x.alpha[s] != 0.0:
                support += 1
    return support


# -- preparing the next candidates -------------------------------------------------------------------------------------


@compiled
def foresee(x: Members, fresh: Any, values: Any, distances: Any) -> None:
    """Write how far the gradients of ``fresh`` are from those that PROCESS lets in now; at most 0 for those.

    values : ``values[q]`` begins with K(fresh[q], slots 0 .. top - 1)
    """
    x = borrowed(x)
    top = x.now[0].top
    low, high = min(x.now[0].g_min, x.now[0].g_max), max(x.now[0].g_min, x.now[0].g_max)
    for q in range(fresh.size):
        target = x.examples[fresh[q]].target
        grad = target - dot(x.alpha[:top], values[q, :top])
        distances[q] = low - grad if target > 0.0 else grad - high


@compiled
def spread(values: Any, columns: Any, among: Any) -> None:
    """Write the columns of ``values`` to the ``columns`` of ``among``."""
    for q in range(values.shape[0]):
        for p in range(columns.size):
            among[q, columns[p]] = values[q, p]


@compiled
def add_scores(values: Any, coef: Any, scores: Any) -> None:
    """Add sum_s coef_s values[c, s] to scores[c], in float64 whatever the dtype of the values."""
    for c in range(values.shape[0]):
        scores[c] += dot(coef, values[c])
