"""Compiled loops over the pool of packed kernel rows: who holds which row, bringing rows up to date, moving them."""

from __future__ import annotations

import numpy as np

from harness_lasvm.scans import copy, hot_loop
from harness_lasvm.state import (
    CAUGHT,
    CLOCK,
    FREE_ROW,
    FREE_ROWS,
    MEMBER,
    ROW_OF,
    ROWS,
    SEEN,
    SLOT_OF,
    TICK,
    TOP,
    USED,
    WIDTH,
)


@hot_loop
def take_row(x):  # type: ignore[no-untyped-def]
    """Return a row of the pool to write into: a free one, or the one not used for longest."""
    counts = x.counts
    if counts[FREE_ROWS] > 0:
        counts[FREE_ROWS] -= 1
        return x.lists[FREE_ROW, counts[FREE_ROWS]]
    oldest = -1
    for row in range(counts[ROWS]):
        if x.rows[SLOT_OF, row] >= 0 and (oldest < 0 or x.rows[USED, row] < x.rows[USED, oldest]):
            oldest = row
    x.slots[ROW_OF, x.rows[SLOT_OF, oldest]] = -1
    x.rows[SLOT_OF, oldest] = -1
    return oldest


@hot_loop
def own_row(x, row, slot):  # type: ignore[no-untyped-def]
    """Note that ``row`` holds the values of ``slot`` against all members of now."""
    counts = x.counts
    x.slots[ROW_OF, slot] = row
    x.rows[SLOT_OF, row] = slot
    x.rows[SEEN, row] = counts[CLOCK]
    counts[TICK] += 1
    x.rows[USED, row] = counts[TICK]


@hot_loop
def drop_row(x, slot):  # type: ignore[no-untyped-def]
    """Free the row of ``slot``, if it has one."""
    row = x.slots[ROW_OF, slot]
    if row >= 0:
        x.rows[SLOT_OF, row] = -1
        x.slots[ROW_OF, slot] = -1
        x.lists[FREE_ROW, x.counts[FREE_ROWS]] = row
        x.counts[FREE_ROWS] += 1


@hot_loop
def catch_up(x):  # type: ignore[no-untyped-def]
    """Bring all rows up to date with the members that entered since the last call, as far as their rows are held.

    A row at a time, as :func:`_ready` does it, each value read lies in another row; here lines of memory are shared.
    """
    counts = x.counts
    counts[CAUGHT] = min(counts[CAUGHT], counts[CLOCK])  # the log may have been shortened
    pending = counts[CLOCK] - counts[CAUGHT]
    entered, sources, first = np.empty(pending, np.int64), np.empty(pending, np.int64), np.empty(pending + 1, np.int64)
    n = 0
    for t in range(pending):
        first[t] = n
        s = x.log[counts[CAUGHT] + t]
        if s >= 0 and x.slots[MEMBER, s] >= 0:
            if x.slots[ROW_OF, s] < 0:
                counts[CAUGHT] = counts[CLOCK]
                return
            entered[n], sources[n] = s, x.slots[ROW_OF, s] * counts[WIDTH]
            n += 1
    first[pending] = n
    for s in range(counts[TOP]):
        row = x.slots[ROW_OF, s]
        if row < 0 or x.rows[SEEN, row] < counts[CAUGHT]:
            continue
        base = row * counts[WIDTH]
        for q in range(first[x.rows[SEEN, row] - counts[CAUGHT]], n):
            x.pool[base + entered[q]] = x.pool[sources[q] + s]
        x.rows[SEEN, row] = counts[CLOCK]
    counts[CAUGHT] = counts[CLOCK]


@hot_loop
def move_rows(pool, rows, columns, old_width, width):  # type: ignore[no-untyped-def]
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
