"""The compiled loops of the column scan (see scan.py for the layout): sums of products, rare features, values.

Numba compiles every function once for float32 and once for float64. Importing this module imports numba.
"""

from __future__ import annotations

import numpy as np

from harness.kernels.backend import PRODUCTS
from harness.kernels.chunks import squares, values_of_row, values_of_rows
from harness.kernels.simd import CHUNK_BYTES, ROWS
from harness.support.jit import compiled, copied, inlined, inner

_FEATURES = 96  # at most, whose lines of a panel, 24 kB, are read by many rows in turn
# chunks that a row is scanned with before the next one: writing in short pieces to hundreds of rows costs more than sums
_RUN, _SHORT_RUN = 16, 4  # of rows scanned together, and alone, whose lines should be in the first cache
_GROUP_BYTES = 1 << 18  # of output touched while a block of points is scanned: part of a core's L2


@compiled
def _cut(ptr, offsets, parts, length):  # type: ignore[no-untyped-def]
    """Return where each row's list of offsets passes multiples of ``length``, (rows, parts + 1)."""
    ends = np.empty((ptr.size - 1, parts + 1), np.int64)
    for q in range(ptr.size - 1):
        f, ends[q, 0] = ptr[q], ptr[q]
        for b in range(parts):
            while f < ptr[q + 1] and offsets[f] < (b + 1) * length:
                f += 1
            ends[q, b + 1] = f
    return ends


@inner
def _add_rare(columns, rows, q, part, out):  # type: ignore[no-untyped-def]
    """Set ``out`` to the products of row q's rare features with a block of points."""
    _, block_ptr, rare_index, rare_value = columns
    _, _, _, _, rare_ptr, rare_features, rare_values = rows
    out[:] = 0.0
    for f in range(rare_ptr[q], rare_ptr[q + 1]):
        factor, feature = rare_values[f], rare_features[f]
        for k in range(block_ptr[part, feature], block_ptr[part, feature + 1]):
            out[rare_index[k]] += factor * rare_value[k]


@compiled
def add_by_point(rare, count, index, rows, out, slots, position):  # type: ignore[no-untyped-def]
    """Set ``out[slots[q], position:]`` to the products of the rows' rare features with the points ``index``.

    rare : (row_ptr, row_feature, row_value) of all points, of ``count`` rare features
    """
    row_ptr, row_feature, row_value = rare
    _, _, _, _, rare_ptr, rare_features, rare_values = rows
    factors = np.zeros(count, row_value.dtype)
    for q in range(slots.size):
        for f in range(rare_ptr[q], rare_ptr[q + 1]):
            factors[rare_features[f]] = rare_values[f]
        sums = out[slots[q], position : position + index.size]
        for k in range(index.size):
            total = row_value.dtype.type(0.0)
            for e in range(row_ptr[index[k]], row_ptr[index[k] + 1]):
                total += factors[row_feature[e]] * row_value[e]
            sums[k] = total
        for f in range(rare_ptr[q], rare_ptr[q + 1]):
            factors[rare_features[f]] = 0.0


@inlined
def _together(points, listed, own, q, span, flat, slots, stride, position, begin, end, kind, gamma):  # type: ignore[no-untyped-def]
    """Scan ROWS rows from ``q`` on, that list all features, with the points [begin, end), chunk by chunk."""
    panels, depth, sq = points
    for panel in range(begin, end, CHUNK_BYTES // flat.itemsize):
        values_of_rows(
            panels, panel * depth, depth, listed, q, span[0], span[1], flat, slots, stride, position + panel,
            span[0] > 0, kind, sq, panel, own, gamma,
        )  # fmt: skip


@inner
def _alone(panels, depth, sq, offsets, values, span, flat, position, begin, end, seeded, kind, own, gamma):  # type: ignore[no-untyped-def]
    """Scan a row, its features listed in ``span``, with the points [begin, end), chunk by chunk, to flat[position:]."""
    for panel in range(begin, end, CHUNK_BYTES // flat.itemsize):
        values_of_row(
            panels, panel * depth, offsets, values, span[0], span[1], flat, position + panel - begin,
            seeded, kind, sq, panel, own, gamma,
        )  # fmt: skip


@compiled
def scan(points, columns, rows, out, slots, position, start, stop, seeded, gamma, mode):  # type: ignore[no-untyped-def]
    """Write the values of all rows with points [start, stop) to ``out[slots[q], position:]``.

    points : (panels, depth, sq), see scan.py
    columns : (block, block_ptr, rare_index, rare_value), see rare_columns()
    rows : (ptr, offsets, values, sq, rare_ptr, rare_features, rare_values), see dense_rows() and rare_rows()
    out : C-ordered; start is a multiple of block, stop too unless it is the number of points
    seeded : whether ``out`` has the sums of the rare features, by add_by_point()
    """
    panels, depth, sq = points
    ptr, offsets, values, own, _, _, _ = rows
    block, flat = columns[0], out.reshape(out.size)
    stride, chunk = out.shape[1], CHUNK_BYTES // out.itemsize
    tail = np.zeros(chunk, panels.dtype)
    group = max(1, _GROUP_BYTES // (block * out.itemsize))
    count = ptr.size - 1
    parts = max(1, -(-depth // _FEATURES))
    length = -(-depth // parts)  # parts are alike: a pass over few features costs nearly what one over many does
    ends = _cut(ptr, offsets, parts, length * chunk)
    filled = seeded or columns[1].shape[1] > 1
    full = ROWS > 1 and ptr[count] - ptr[0] == count * depth and not filled  # whether all rows list all features
    listed, run = values[ptr[0] :], chunk * (_RUN if full else _SHORT_RUN)
    for low in range(start, stop, block):
        high = min(low + block, stop)
        for first in range(0, count, group):
            last = min(first + group, count)
            for q in range(first, last if filled and not seeded else first):
                at = slots[q] * stride + position + low - start
                _add_rare(columns, rows, q, low // block, flat[at : at + high - low])
            whole = high - (high - low) % chunk
            for begin in range(low, whole, run):
                end = min(begin + run, whole)
                for b in range(parts):  # of the features: their lines stay at hand while all rows of the group pass
                    kind = mode if b == parts - 1 else PRODUCTS
                    span = b * length, min((b + 1) * length, depth)
                    together = first + (last - first) // ROWS * ROWS if full else first
                    for q in range(first, together, ROWS):
                        at = position - start
                        _together(points, listed, own, q, span, flat, slots, stride, at, begin, end, kind, gamma)
                    for q in range(together, last):
                        at = slots[q] * stride + position + begin - start
                        more = b > 0 or filled
                        span = ends[q, b], ends[q, b + 1]
                        _alone(
                            panels, depth, sq, offsets, values, span, flat, at, begin, end, more, kind, own[q], gamma
                        )  # fmt: skip
            if whole < high:  # vectors are whole: the last points go through an array of their own
                for q in range(first, last):
                    at = slots[q] * stride + position + whole - start
                    copied(flat, at, tail, 0, high - whole)
                    more, span, past = filled, (ptr[q], ptr[q + 1]), whole + chunk
                    # a literal 0 would compile it once more
                    _alone(
                        panels, depth, sq, offsets, values, span, tail, np.int64(0), whole, past, more, mode, own[q], gamma
                    )  # fmt: skip
                    copied(tail, 0, flat, at, high - whole)


@compiled
def rare_rows(row_ptr, row_feature, row_value, rows):  # type: ignore[no-untyped-def]
    """Return the rare features of ``rows``: (rare_ptr, rare_features, rare_values)."""
    rare_ptr = np.zeros(rows.size + 1, np.int64)
    for q in range(rows.size):
        rare_ptr[q + 1] = rare_ptr[q] + row_ptr[rows[q] + 1] - row_ptr[rows[q]]
    features, values = np.empty(rare_ptr[rows.size], np.int32), np.empty(rare_ptr[rows.size], row_value.dtype)
    for q in range(rows.size):
        begin, size = row_ptr[rows[q]], rare_ptr[q + 1] - rare_ptr[q]
        copied(row_feature, begin, features, rare_ptr[q], size)
        copied(row_value, begin, values, rare_ptr[q], size)
    return rare_ptr, features, values


@compiled
def dense_rows(panels, depth, sq, rows, everything):  # type: ignore[no-untyped-def]
    """Return (ptr, offsets, values, sq) of the non-zero dense features of ``rows``, all of them if ``everything``."""
    chunk = CHUNK_BYTES // panels.itemsize
    ptr, own = np.zeros(rows.size + 1, np.int64), np.empty(rows.size, panels.dtype)
    offsets, values = np.empty(rows.size * depth, np.int32), np.empty(rows.size * depth, panels.dtype)
    found = 0
    for q in range(rows.size):
        i = rows[q]
        base = (i // chunk) * chunk * depth + i % chunk
        for f in range(depth):
            value = panels[base + f * chunk]
            if everything or value != 0.0:
                offsets[found], values[found] = f * chunk, value
                found += 1
        ptr[q + 1], own[q] = found, sq[i]
    return ptr, offsets, values, own


@compiled
def gather(panels, depth, sq, points, places, result, norms):  # type: ignore[no-untyped-def]
    """Copy the dense features of ``points`` to ``places`` of the panels ``result``, and their |x|^2 to ``norms``."""
    chunk = CHUNK_BYTES // panels.itemsize
    for k in range(points.size):
        i, place = points[k], places[k]
        base = (i // chunk) * chunk * depth + i % chunk
        target = (place // chunk) * chunk * depth + place % chunk
        for f in range(depth):
            result[target + f * chunk] = panels[base + f * chunk]
        norms[place] = sq[i]


@compiled
def rare_columns(row_ptr, row_feature, row_value, columns, count, block):  # type: ignore[no-untyped-def]
    """Return the rare features of the points ``columns`` feature by feature, in blocks of points.

    count : rare features
    Returns block_ptr (blocks, count + 1) into rare_index (place within the block) and rare_value.
    """
    blocks = -(-columns.size // block)
    block_ptr = np.zeros((blocks, count + 1), np.int64)
    for k in range(columns.size):
        for e in range(row_ptr[columns[k]], row_ptr[columns[k] + 1]):
            block_ptr[k // block, row_feature[e]] += 1
    total = 0
    for b in range(blocks):
        for f in range(count + 1):  # counts become where each feature begins
            size = block_ptr[b, f]
            block_ptr[b, f] = total
            total += size
    rare_index, rare_value = np.empty(total, np.uint16), np.empty(total, row_value.dtype)
    for k in range(columns.size):
        for e in range(row_ptr[columns[k]], row_ptr[columns[k] + 1]):
            f = row_feature[e]
            place = block_ptr[k // block, f]
            rare_index[place], rare_value[place] = k % block, row_value[e]
            block_ptr[k // block, f] += 1
    for b in range(blocks):  # each has moved to where the next one begins
        for f in range(count, 0, -1):
            block_ptr[b, f] = block_ptr[b, f - 1]
        block_ptr[b, 0] = block_ptr[b - 1, count] if b else 0
    return block_ptr, rare_index, rare_value


@compiled
def squared_norms(panels, depth, row_ptr, row_value, count):  # type: ignore[no-untyped-def]
    """Return |x|^2 of all points, summed in the order of scan(): a point's distance from itself is exactly 0."""
    chunk = CHUNK_BYTES // panels.itemsize
    size = -(-count // chunk) * chunk
    result = np.zeros(size, panels.dtype)
    for i in range(count):
        for e in range(row_ptr[i], row_ptr[i + 1]):
            result[i] += row_value[e] * row_value[e]
    for panel in range(0, size, chunk):
        squares(panels, panel * depth, depth, result, panel)
    return result


@compiled
def powers(values, slots, position, width, gamma, coef0, degree):  # type: ignore[no-untyped-def]
    """Replace values by (gamma * values + coef0)^degree in the given rows and columns, by repeated squaring."""
    result, base = np.empty(width, values.dtype), np.empty(width, values.dtype)
    for q in range(slots.size):
        row = values[slots[q], position : position + width]
        for j in range(width):
            base[j] = gamma * row[j] + coef0
            result[j] = 1.0
        left = degree
        while left:
            if left & 1:
                for j in range(width):
                    result[j] *= base[j]
            left >>= 1
            if left:
                for j in range(width):
                    base[j] *= base[j]
        copied(result, 0, row, 0, width)


@compiled
def fill_panels(x, centre, first, panels):  # type: ignore[no-untyped-def]
    """Put the rows ``x``, (m, depth), of the points first, first + 1, ..., less ``centre``, where the scan reads them.

    panels : (panels, depth, chunk); point p stands at [p // chunk, :, p % chunk]
    """
    chunk = panels.shape[2]
    for i in range(x.shape[0]):
        panel, lane = panels[(first + i) // chunk], (first + i) % chunk
        row = x[i]
        for f in range(len(centre)):
            panel[f, lane] = row[f] - centre[f]


@compiled
def copy_rows(source, rows, out, slots):  # type: ignore[no-untyped-def]
    """Copy source[rows[q]], (n,), to out[slots[q], :n]; both C-ordered and of one dtype."""
    n = source.shape[1]
    for q in range(len(rows)):
        out[slots[q], :n] = source[rows[q]]


@compiled
def carry(rows, slots, columns, target):  # type: ignore[no-untyped-def]
    """Write the chosen columns of ``rows[slots]``, slots ascending, to the first rows of ``target`` in the same memory.

    Row t of ``target``, no longer than the others, ends before row t + 1 of ``rows`` begins: none is overwritten unread.
    """
    kept = np.empty(columns.size, rows.dtype)
    for t in range(slots.size):
        source = rows[slots[t]]
        for j in range(columns.size):
            kept[j] = source[columns[j]]
        target[t, : columns.size] = kept
