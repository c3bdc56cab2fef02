"""The pool of packed kernel rows: who holds which row, bringing rows up to date, moving them."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic

from harness.support.jit import compiled, inner
from harness_lasvm.compiled.scans import copy
from harness_lasvm.compiled.state import Members, borrowed

# a square of values turned in registers: what stands in rows of the pool, as columns for other rows
SIDE = 8  # values of a square's side: one AVX2 register of float32


@inner
def take_row(x: Members) -> int:
    """Return a row of the pool to write into: a free one, or the one not used for longest."""
    now = x.now[0]
    if now.free_rows > 0:
        now.free_rows -= 1
        free: int = x.stacks[now.free_rows].free_row
        return free
    oldest = -1
    for row in range(now.rows):
        if x.rows[row].slot >= 0 and (oldest < 0 or x.rows[row].used < x.rows[oldest].used):
            oldest = row
    x.slots[x.rows[oldest].slot].row = -1
    x.rows[oldest].slot = -1
    return oldest


@inner
def use_row(x: Members, row: int) -> None:
    """Note that ``row`` was used."""
    x.now[0].tick += 1
    x.rows[row].used = x.now[0].tick


@inner
def own_row(x: Members, row: int, slot: int) -> None:
    """Note that ``row`` holds the values of ``slot`` against all members of now."""
    x.slots[slot].row = row
    x.rows[row].slot = slot
    x.rows[row].seen = x.now[0].clock
    use_row(x, row)


@inner
def drop_row(x: Members, slot: int) -> None:
    """Free the row of ``slot``, if it has one."""
    row = x.slots[slot].row
    if row >= 0:
        x.rows[row].slot = -1
        x.slots[slot].row = -1
        x.stacks[x.now[0].free_rows].free_row = row
        x.now[0].free_rows += 1


@inner
def ready(x: Members, slot: int) -> bool:
    """Bring the row of ``slot`` up to date; False (and what is wanted noted) if that takes kernel values."""
    now = x.now[0]
    now.wanted = slot
    now.gaps = 0
    row = x.slots[slot].row
    if row < 0:
        return False
    use_row(x, row)
    base = row * now.width
    for t in range(x.rows[row].seen, now.clock):
        s = x.log[t]
        if s < 0 or x.slots[s].member < 0:
            continue
        other = x.slots[s].row
        if other >= 0:
            x.pool[base + s] = x.pool[other * now.width + slot]
        elif 2 * now.gaps < now.top:
            x.stacks[now.gaps].gap = s
            now.gaps += 1
        else:  # too much is missing: the whole row is wanted
            drop_row(x, slot)
            now.gaps = 0
            return False
    if now.gaps > 0:
        return False
    x.rows[row].seen = now.clock
    return True


@compiled
def catch_up(x: Members) -> None:
    """Bring all rows up to date with the members that entered since the last call, as far as their rows are held.

    A row at a time, as :func:`ready` does it, each value read lies in another row; here lines of memory are shared.
    """
    x = borrowed(x)
    now = x.now[0]
    now.caught = min(now.caught, now.clock)  # the log may have been shortened
    pending = now.clock - now.caught
    entered, sources, since = np.empty(pending, np.int64), np.empty(pending, np.int64), np.empty(pending + 1, np.int64)
    n = 0
    for t in range(pending):
        since[t] = n
        s = x.log[now.caught + t]
        if s >= 0 and x.slots[s].member >= 0:
            if x.slots[s].row < 0:
                now.caught = now.clock
                return
            entered[n], sources[n] = s, x.slots[s].row * now.width
            n += 1
    since[pending] = n
    width = -(-n // SIDE) * SIDE
    columns = np.empty(SIDE * width, x.pool.dtype)  # of SIDE slots, the values they lack
    for low in range(0, now.top, SIDE):
        whole = n - n % SIDE if low + SIDE <= now.width else 0
        for q in range(0, whole, SIDE):
            turn(x.pool, sources, q, low, columns, q, width)
        for q in range(whole, n):
            for k in range(min(SIDE, now.width - low)):
                columns[k * width + q] = x.pool[sources[q] + low + k]
        for s in range(low, min(low + SIDE, now.top)):
            row = x.slots[s].row
            if row < 0 or x.rows[row].seen < now.caught:
                continue
            base, lacked = row * now.width, (s - low) * width
            for q in range(since[x.rows[row].seen - now.caught], n):
                x.pool[base + entered[q]] = columns[lacked + q]
            x.rows[row].seen = now.clock
    now.caught = now.clock


@compiled
def move_rows(pool: Any, rows: Any, columns: Any, old_width: int, width: int) -> None:
    """Move the values pool[rows[r], columns[p]] to place (r, p) of rows of another width; both lists ascend."""
    # first columns and numbers, then the width: each pass moves all values in one direction, so none is overwritten
    size = columns.size
    gathered = size > 0 and columns[-1] != size - 1
    for r in range(rows.size):
        source = rows[r] * old_width
        target = r * old_width
        if gathered:
            for p in range(size):
                pool[target + p] = pool[source + columns[p]]
        elif source != target:
            copy(pool[target : target + size], pool[source : source + size])
    if width < old_width:
        for r in range(1, rows.size):
            copy(pool[r * width : r * width + size], pool[r * old_width : r * old_width + size])
    elif width > old_width:
        for r in range(rows.size - 1, 0, -1):
            if r * (width - old_width) >= size:
                copy(pool[r * width : r * width + size], pool[r * old_width : r * old_width + size])
            else:
                for p in range(size - 1, -1, -1):
                    pool[r * width + p] = pool[r * old_width + p]


# -- rows that are computed anew ---------------------------------------------------------------------------------------


@inner
def is_young(x: Members, s: int, known: Any) -> bool:
    """Return whether the member in slot s is not the point ``known`` for it."""
    return bool(s >= known.size or known[s] != x.slots[s].member)


@compiled
def take_rows(x: Members, slot: int, known: Any, slots: Any, rows: Any) -> int:
    """Give a row of the pool each to ``slot`` and to those members without one that violate most; return how many.

    known : the point that stands at each slot among the kernel's columns; a member that entered since is left out
    slots, rows : changed in place; the members, ``slot`` first, and their rows, not filled yet
    """
    x = borrowed(x)
    middle = 0.5 * (x.now[0].g_max + x.now[0].g_min)
    slots[0] = slot
    count = 1
    violations = np.empty(slots.size)
    for s in range(x.now[0].top if slots.size > 1 else 0):
        if x.slots[s].member < 0 or x.slots[s].row >= 0 or s == slot or is_young(x, s, known):
            continue
        violation = max(x.grad[s] + x.rise[s] - middle, middle - x.grad[s] - x.fall[s])
        if count == slots.size and violation <= violations[count - 1]:
            continue
        place = min(count, slots.size - 1)
        while place > 1 and violations[place - 1] < violation:
            violations[place], slots[place] = violations[place - 1], slots[place - 1]
            place -= 1
        violations[place], slots[place] = violation, s
        count = min(count + 1, slots.size)
    for q in range(count):
        rows[q] = take_row(x)
        own_row(x, rows[q], slots[q])
    return count


@compiled
def complete(x: Members, slots: Any, rows: Any, since: int) -> None:
    """Give the rows of ``slots`` their values with the members that entered since, from the rows of these."""
    width = x.now[0].width
    for t in range(since, x.now[0].clock):
        s = x.log[t]
        if s >= 0 and x.slots[s].member >= 0:
            base = x.slots[s].row * width
            for q in range(slots.size):
                x.pool[rows[q] * width + s] = x.pool[base + slots[q]]


# -- a square of values turned in registers: what stands in rows of the pool, as columns for other rows ----------------


def _turn(_typing: Any, pool: Any, bases: Any, _first: Any, _column: Any, out: Any, _at: Any, _width: Any) -> Any:
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


turn: Any = intrinsic(_turn)
