"""Members of S and their kernel rows: entering, bringing rows up to date; passes that both families of solvers share."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic

from harness.support import jit
from harness.support.jit import smaller, summing
from harness_lasvm.compiled.state import Candidates, Members
from harness_lasvm.compiled.uncounted import compiled, inlined, inner

NOWHERE: Any = np.int64(-1)  # no slot; for a plain -1 another first_slot() would be compiled
SEGMENT = 512  # slots scanned at a time; the slot of an extreme is looked up in its segment only
_STRIP = 64  # slots of a segment that are compared with its extreme together
SIDE = 8  # values of the side of a transposed square: one AVX2 register of float32


# -- passes over slots -------------------------------------------------------------------------------------------------


@summing
def dot(alpha: Any, row: Any) -> float:
    """Return alpha . row in float64; the order of the sum is left to the compiler."""
    total = 0.0
    for s in range(alpha.size):
        total += alpha[s] * np.float64(row[s])
    return total


@compiled
def add_scores(values: Any, coef: Any, scores: Any) -> None:
    """Add sum_s coef_s values[c, s] to scores[c], in float64 whatever the dtype of the values."""
    for c in range(values.shape[0]):
        scores[c] += dot(coef, values[c])


@inner
def first_slot(grad: Any, way: Any, start: int, value: float) -> int:
    """Return the first slot from ``start`` on at which grad + way is ``value``; -1 if ``start`` is."""
    if start < 0:
        return -1
    while True:
        grads, ways = grad[start : start + _STRIP], way[start : start + _STRIP]
        nearest = np.inf
        for s in range(grads.size):
            nearest = smaller(nearest, abs(grads[s] + ways[s] - value))
        if nearest == 0.0:
            break
        start += _STRIP
    while grad[start] + way[start] != value:
        start += 1
    return start


# -- members -----------------------------------------------------------------------------------------------------------


@inner
def mark(x: Members, s: int) -> None:
    """Renew what follows from alpha_s: whether it may rise or fall, and the list of slots with alpha = 0."""
    alpha, slot, now = x.alpha[s], x.slots[s], x.now[0]
    x.rise[s] = 0.0 if alpha < slot.upper else -np.inf
    x.fall[s] = 0.0 if alpha > slot.lower else np.inf
    if alpha == 0.0 and slot.listed == 0:
        slot.listed = 1
        x.stacks[now.zeros].zero = s
        now.zeros += 1


@inlined
def lay_row(x: Members, fetched: Candidates, place: int) -> int:
    """Write the kernel values of a candidate into the spare row; return the row's first place in the pool."""
    base: int = x.now[0].spare * x.now[0].width
    row, values = x.pool[base : base + fetched.values.shape[1]], fetched.values[place]
    for s in range(row.size):  # a slice assignment takes 1 s to compile
        row[s] = values[s]
    for q in range(x.now[0].entered):
        entered = x.stacks[q]
        x.pool[base + entered.entered] = fetched.among[place, entered.place]
    return base


@inner
def enter(x: Members, k: int, place: int, grad: float) -> int:
    """Let a candidate, whose values are in the spare row, into S with alpha = 0; return its slot."""
    now, example = x.now[0], x.examples[k]
    if now.holes > 0:
        now.holes -= 1
        slot: int = x.stacks[now.holes].hole
    else:
        slot = now.top
        now.top += 1
    example.slot = slot
    x.alpha[slot], x.grad[slot], x.diagonal[slot] = 0.0, grad, example.diagonal
    x.pool[now.spare * now.width + slot] = example.diagonal
    x.log[now.clock] = slot
    now.clock += 1
    now.tick += 1
    member, row, entered = x.slots[slot], x.rows[now.spare], x.stacks[now.entered]
    member.member, member.row, member.lower, member.upper, member.listed = k, now.spare, example.lower, example.upper, 0
    row.slot, row.logged, row.used = slot, now.clock, now.tick
    entered.entered, entered.place = slot, place
    now.entered += 1
    mark(x, slot)
    if now.free_rows > 0:
        now.free_rows -= 1
        now.spare = x.stacks[now.free_rows].free_row
        return slot
    oldest = -1
    for r in range(now.rows):
        if x.rows[r].slot >= 0 and (oldest < 0 or x.rows[r].used < x.rows[oldest].used):
            oldest = r
    x.slots[x.rows[oldest].slot].row = -1
    x.rows[oldest].slot = -1
    now.spare = oldest
    return slot


@compiled
def admit(x: Members, fetched: Candidates, alphas: Any, grads: Any) -> None:
    """Let all candidates into S, each with its alpha and its gradient; the extremes stay as they were."""
    for place in range(alphas.size):
        lay_row(x, fetched, place)
        slot = enter(x, fetched.examples[place], place, grads[place])
        x.alpha[slot] = alphas[place]
        mark(x, slot)


# -- rows --------------------------------------------------------------------------------------------------------------


@inner
def free_row(x: Members, slot: int) -> None:
    """Free the row of ``slot``, if it has one."""
    member, now = x.slots[slot], x.now[0]
    row = member.row
    if row >= 0:
        x.rows[row].slot = member.row = -1
        x.stacks[now.free_rows].free_row = row
        now.free_rows += 1


@inner
def ready(x: Members, slot: int) -> bool:
    """Bring the row of ``slot`` up to date; return False, with what is needed noted, if that takes kernel values."""
    now = x.now[0]
    now.needed = slot
    row = x.slots[slot].row
    if row < 0:
        return False
    now.tick += 1
    x.rows[row].used = now.tick
    base = row * now.width
    for t in range(x.rows[row].logged, now.clock):
        s = x.log[t]
        if s < 0 or x.slots[s].member < 0:
            continue
        other = x.slots[s].row
        if other < 0:  # the whole row is computed anew
            free_row(x, slot)
            return False
        x.pool[base + s] = x.pool[other * now.width + slot]
    x.rows[row].logged = now.clock
    return True


@jit.compiled
def catch_up(x: Members) -> None:
    """Bring all rows up to date with the members that entered since the last call, as far as these have rows.

    A row at a time, as :func:`ready` does it, each value read lies in another row; here lines of memory are shared.
    """
    now, pool, slots, rows, log = x.now[0], x.pool, x.slots, x.rows, x.log  # arrays are counted, once
    now.caught_up = min(now.caught_up, now.clock)  # the log may have been shortened
    pending = now.clock - now.caught_up
    entered, sources, since = np.empty(pending, np.int64), np.empty(pending, np.int64), np.empty(pending + 1, np.int64)
    n = 0
    for t in range(pending):
        since[t] = n
        s = log[now.caught_up + t]
        if s >= 0 and slots[s].member >= 0:
            if slots[s].row < 0:
                now.caught_up = now.clock
                return
            entered[n], sources[n] = s, slots[s].row * now.width
            n += 1
    since[pending] = n
    width = -(-n // SIDE) * SIDE
    columns = np.empty(SIDE * width, pool.dtype)  # of SIDE slots, the values they lack
    for low in range(0, now.top, SIDE):
        whole = n - n % SIDE if low + SIDE <= now.width else 0
        for q in range(0, whole, SIDE):
            transpose(pool, sources, q, low, columns, q, width)
        for q in range(whole, n):
            for k in range(min(SIDE, now.width - low)):
                columns[k * width + q] = pool[sources[q] + low + k]
        for s in range(low, min(low + SIDE, now.top)):
            row = slots[s].row
            if row < 0 or rows[row].logged < now.caught_up:
                continue
            base, lacked = row * now.width, (s - low) * width
            for q in range(since[rows[row].logged - now.caught_up], n):
                pool[base + entered[q]] = columns[lacked + q]
            rows[row].logged = now.clock
    now.caught_up = now.clock


def _transpose(_typing: Any, pool: Any, bases: Any, _first: Any, _column: Any, out: Any, _at: Any, _width: Any) -> Any:
    """Write out[at + k width + q] = pool[bases[first + q] + column + k] for q, k < SIDE."""

    def build(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        source, begin, target = (
            context.make_array(kind)(context, builder, value=arguments[k]).data
            for k, kind in ((0, pool), (1, bases), (4, out))
        )
        first, column, at, width = (arguments[k] for k in (2, 3, 5, 6))
        size = pool.dtype.bitwidth // 8
        index, lane = ir.IntType(64), ir.IntType(32)
        vector = ir.VectorType(source.type.pointee, SIDE).as_pointer()

        def mask(start: int) -> Any:
            return ir.Constant(ir.VectorType(lane, SIDE), [start + k // 2 + k % 2 * SIDE for k in range(SIDE)])

        lines = []
        for q in range(SIDE):
            base = builder.load(builder.gep(begin, [builder.add(first, index(q))]))
            place = builder.bitcast(builder.gep(source, [builder.add(base, column)]), vector)
            lines.append(builder.load(place, align=size))
        for _ in range(SIDE.bit_length() - 1):  # each interleaves the first half of the lines with the second
            pairs = list(zip(lines[: SIDE // 2], lines[SIDE // 2 :], strict=True))
            lines = [builder.shuffle_vector(*pair, mask(half)) for pair in pairs for half in (0, SIDE // 2)]
        for k, line in enumerate(lines):
            place = builder.gep(target, [builder.add(at, builder.mul(width, index(k)))])
            builder.store(line, builder.bitcast(place, vector), align=size)
        return context.get_dummy_value()

    index = types.intp
    return types.void(pool, bases, index, index, out, index, index), build


transpose: Any = intrinsic(_transpose)
