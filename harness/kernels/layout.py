"""Compiled layout of points for the column scan (see scan.py): one pass over what there is, in memory order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from harness.jit import compiled

if TYPE_CHECKING:
    from harness.arrays import Block


@compiled
def fill_panels(x: Block, centre: Block, dense: Block, first: int, panels: Block) -> None:
    """Put the dense features of the rows ``x``, less ``centre``, where the scan reads them.

    Parameters
    ----------
    x : (m, d) rows of the points first, first + 1, ...
    centre : (d,) float64
    dense : (depth,) the features to take
    panels : (panels, depth, chunk); point p stands at [p // chunk, :, p % chunk]
    """
    chunk = panels.shape[2]
    for i in range(x.shape[0]):
        panel, lane = panels[(first + i) // chunk], (first + i) % chunk
        row = x[i]
        for f in range(len(dense)):
            panel[f, lane] = row[dense[f]] - centre[dense[f]]


@compiled
def set_where_same(out: Block, slots: Block, position: int, rows: Block, columns: Block, value: float) -> None:
    """Set out[slots[q], position + k] to ``value`` wherever rows[q] and columns[k] are the same point."""
    order = np.argsort(rows)
    ranked = rows[order]
    for k in range(columns.size):
        at = np.searchsorted(ranked, columns[k])
        while at < ranked.size and ranked[at] == columns[k]:
            out[slots[order[at]], position + k] = value
            at += 1


@compiled
def copy_rows(source: Block, rows: Block, out: Block, slots: Block) -> None:
    """Copy source[rows[q]], (n,), to out[slots[q], :n]; both C-ordered and of one dtype."""
    n = source.shape[1]
    for q in range(len(rows)):
        out[slots[q], :n] = source[rows[q]]


@compiled
def carry(rows: Block, slots: Block, columns: Block, target: Block) -> None:
    """Write the chosen columns of ``rows[slots]``, slots ascending, to the first rows of ``target`` in the same memory.

    Row t of ``target``, no longer than the others, ends before row t + 1 of ``rows`` begins: none is overwritten unread.
    """
    kept = np.empty(columns.size, rows.dtype)
    for t in range(slots.size):
        source = rows[slots[t]]
        for j in range(columns.size):
            kept[j] = source[columns[j]]
        target[t, : columns.size] = kept


@compiled
def _leave(places: Block, gone: Block, fresh: Block, leaving: Block, before: int, block: int) -> int:
    """Mark ``places`` as gone and list each of them once in ``fresh``; return how many there are."""
    added = 0
    for k in range(places.size):
        place = places[k]
        if not gone[place]:
            gone[place] = True
            fresh[added] = place
            added += 1
            leaving[place // block] = leaving[place // block] or place < before
    return added


@compiled
def _entries(row_ptr: Block, row_feature: Block, index: Block, fresh: Block, features: int, block: int) -> Block:
    """Return (3, entries) of the points at ``fresh``, ascending: block * features + feature, place in the block, entry."""
    size = 0
    for k in range(fresh.size):
        size += row_ptr[index[fresh[k]] + 1] - row_ptr[index[fresh[k]]]
    found, size = np.empty((3, size), np.int64), 0
    for k in range(fresh.size):
        place = fresh[k]
        for e in range(row_ptr[index[place]], row_ptr[index[place] + 1]):
            found[0, size], found[1, size], found[2, size] = (
                place // block * features + row_feature[e],
                place % block,
                e,
            )
            size += 1
    return found[:, np.argsort(found[0], kind="mergesort")]


@compiled
def renewed_columns(
    columns: tuple[Block, ...], rare: tuple[Block, ...], index: Block, places: Block, before: int, block: int
) -> tuple[Block, ...]:
    """Return compiled.rare_columns() of the points ``index``, given that of the points that stood there before.

    Takes one pass in memory order over what stays.

    Parameters
    ----------
    columns : (block_ptr, rare_index, rare_value) before
    rare : (row_ptr, row_feature, row_value) of all points
    index : (count,) the points that stand there now
    places : those whose point is another one; may name a place twice
    before : places that ``columns`` is of
    """
    old_ptr, old_index, old_value = columns
    row_ptr, row_feature, row_value = rare
    features, count = old_ptr.shape[1] - 1, index.size
    blocks, old_blocks = -(-count // block), old_ptr.shape[0]
    gone, leaving = np.zeros(max(blocks, old_blocks) * block, np.bool_), np.zeros(blocks, np.bool_)
    gone[count:] = True
    leaving[blocks - 1] = before > count
    fresh = np.empty(places.size, np.int64)
    fresh = fresh[: _leave(places, gone, fresh, leaving, before, block)]
    entries = _entries(row_ptr, row_feature, index, fresh, features, block)
    block_ptr, size = np.empty((blocks, features + 1), np.int64), old_index.size + entries.shape[1]
    rare_index, rare_value = np.empty(size, np.uint16), np.empty(size, row_value.dtype)
    written = taken = 0
    nothing = np.zeros(features + 1, np.int64)
    for b in range(blocks):
        ends = old_ptr[b] if b < old_blocks else nothing
        leaves = gone[b * block : (b + 1) * block]
        low = ends[0]
        begin = 0
        while begin < features:  # up to the next feature that a new point has
            stop = features
            if taken < entries.shape[1]:
                stop = min(features, entries[0, taken] - b * features + 1)
            if leaving[b]:
                for f in range(begin, stop):
                    block_ptr[b, f] = written
                    for k in range(ends[f], ends[f + 1]):
                        rare_index[written], rare_value[written] = old_index[k], old_value[k]
                        written += not leaves[old_index[k]]
            else:
                for f in range(begin, stop):
                    block_ptr[b, f] = ends[f] + (written - low)
                size = ends[stop] - low
                for k in range(size):
                    rare_index[written + k] = old_index[low + k]
                for k in range(size):
                    rare_value[written + k] = old_value[low + k]
                written += size
            low, begin = ends[stop], stop
            while taken < entries.shape[1] and entries[0, taken] == b * features + stop - 1:
                rare_index[written], rare_value[written] = entries[1, taken], row_value[entries[2, taken]]
                written += 1
                taken += 1
        block_ptr[b, features] = written
    return block_ptr, rare_index[:written], rare_value[:written]


@compiled
def settle(index: Block, before: int, count: int, places: Block, points: Block, n: int, changed: Block) -> int:
    """Note in ``index`` which point stands where, as Columns.put() has it, and list the places whose point is a new one.

    Parameters
    ----------
    index : (>= count,) changed in place: index[places] = points, and 0 where [before, count) stays unfilled
    before : places that were in use
    n : the points are below
    changed : (>= places.size + count - before,) filled

    Returns
    -------
    the number of changed places; -1, with ``index`` as it was, if a place or point is out of range or one is missing
    """
    if places.size != points.size:
        return -1
    for k in range(places.size):
        if not (0 <= places[k] < count and 0 <= points[k] < n):
            return -1
    index[before:count] = -1
    written = 0
    for k in range(places.size):
        index[places[k]] = points[k]
        changed[written] = places[k]
        written += 1
    for place in range(before, count):
        if index[place] < 0:
            index[place] = 0
            changed[written] = place
            written += 1
    return written


def split_dense(
    x: Any, is_dense: Block, panels: Block, dtype: np.dtype[Any], centre: Any, piece: int
) -> tuple[Block, ...]:
    """Fill the panels with the dense features and return the rare ones, point by point.

    Parameters
    ----------
    x : (n, d) dense, read ``piece`` rows at a time
    is_dense : (d,) which features are dense
    panels : (panels, depth, chunk), zeros where there are no points
    centre : (d,) subtracted from all, or None

    Returns
    -------
    (row_ptr, row_feature, row_value) : the rare features of each point.
    """
    dense, rare = np.flatnonzero(is_dense), np.flatnonzero(~is_dense)
    middle = np.zeros(x.shape[1]) if centre is None else centre
    counts, features, values = np.zeros(len(x) + 1, np.int64), [np.empty(0, np.int32)], [np.empty(0, dtype)]
    for start in range(0, len(x), piece):
        rows = np.ascontiguousarray(x[start : start + piece])
        if rows.dtype not in (np.float32, np.float64):
            rows = rows.astype(np.float64)
        fill_panels(rows, middle, dense, start, panels)
        if len(rare):
            points, found = np.nonzero(rows[:, rare])
            counts[start + 1 : start + len(rows) + 1] = np.bincount(points, minlength=len(rows))
            features.append(found.astype(np.int32))
            values.append(rows[points, rare[found]].astype(dtype))
    return np.cumsum(counts), np.concatenate(features), np.concatenate(values)
