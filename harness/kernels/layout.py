"""Compiled layout of dense points for the column scan (see scan.py): one pass over the rows, in memory order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from harness.jit import compiled
from harness.kernels.simd import CHUNK_BYTES

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
def overwrite(
    source: Block, depth: int, source_sq: Block, points: Block, places: Block, panels: Block, sq: Block
) -> None:
    """Copy ``points`` of the flat panels ``source`` to ``places`` of ``panels``, and their |x|^2; of equal depth and chunk."""
    chunk = CHUNK_BYTES // panels.itemsize
    for k in range(points.size):
        i, place = points[k], places[k]
        base = (i // chunk) * chunk * depth + i % chunk
        target = (place // chunk) * chunk * depth + place % chunk
        for f in range(depth):
            panels[target + f * chunk] = source[base + f * chunk]
        sq[place] = source_sq[i]


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


@compiled
def rare_entries(x: Block, rare: Block, counts: Block, features: Block, values: Block) -> int:
    """List the non-zero rare features of the rows ``x``, row by row; return how many there are.

    Parameters
    ----------
    rare : (r,) the features to look at; they are listed by their place in it
    counts : (m,) of each row; filled
    features, values : long enough for m * r entries, or empty to count only
    """
    found = 0
    for i in range(x.shape[0]):
        before, row = found, x[i]
        for f in range(len(rare)):
            value = row[rare[f]]
            if value != 0.0:
                if len(features):
                    features[found] = f
                    values[found] = value
                found += 1
        counts[i] = found - before
    return found


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
    n = len(x)
    dense, rare = np.flatnonzero(is_dense), np.flatnonzero(~is_dense)
    middle = np.zeros(x.shape[1]) if centre is None else centre
    row_ptr, features, values = np.zeros(n + 1, dtype=np.int64), [], []
    for start in range(0, n, piece):
        rows = np.ascontiguousarray(x[start : start + piece])
        if rows.dtype not in (np.float32, np.float64):
            rows = rows.astype(np.float64)
        fill_panels(rows, middle, dense, start, panels)
        if len(rare):
            counts = row_ptr[start + 1 : start + 1 + len(rows)]
            total = rare_entries(rows, rare, counts, np.empty(0, dtype=np.int32), np.empty(0, dtype=dtype))
            feature, value = np.empty(total, dtype=np.int32), np.empty(total, dtype=dtype)
            if total:
                rare_entries(rows, rare, counts, feature, value)
            features.append(feature)
            values.append(value)
    joined = np.concatenate([np.empty(0, dtype=dtype), *values])
    return np.cumsum(row_ptr), np.concatenate([np.empty(0, dtype=np.int32), *features]), joined
