"""The compiled loops of the column scan (see scan.py for the layout): sums of products, rare features, values.

Numba compiles every function once for float32 and once for float64. They get arrays to write to, as each allocation in a loop
is one more function to compile. Importing this module imports numba.
"""

from __future__ import annotations

import numpy as np

from harness.kernels.chunks import ROWS, add_up, fma, to_values
from harness.kernels.layout import CHUNK_BYTES, PRODUCTS, RBF_OF_DIFFERENCES
from harness.support.arrays import Block
from harness.support.jit import compiled, summing

_TOGETHER = 16  # points whose products with several w are written together
_RUN = 16  # chunks scanned in a run by rows together; longer runs write in longer pieces
_SHORT_RUN = 4  # chunks scanned in a run by a single row, whose lines should be in the L1 cache
_GROUP_BYTES = 1 << 18  # bytes of output written while a block of points is scanned: part of a core's L2


@compiled
def add_by_point(  # type: ignore[no-untyped-def]
    row_ptr, row_feature, row_value, index, places, from_ptr, from_feature, from_value, factors,
    flat, slots, stride, position,
):  # fmt: skip
    """Set ``flat[slots[q] * stride + position :]`` to the products of the rows' rare features with the points ``index``.

    row_ptr, row_feature, row_value : the rare features of all points, see ScanBackend
    places to from_value : the rows, see scan()
    factors : zeros, one for each rare feature; zeros again at the end
    """
    for q in range(slots.size):
        for f in range(from_ptr[places[q]], from_ptr[places[q] + 1]):
            factors[from_feature[f]] = from_value[f]
        at = slots[q] * stride + position
        for k in range(index.size):
            total = row_value.dtype.type(0.0)
            for e in range(row_ptr[index[k]], row_ptr[index[k] + 1]):
                total += factors[row_feature[e]] * row_value[e]
            flat[at + k] = total
        for f in range(from_ptr[places[q]], from_ptr[places[q] + 1]):
            factors[from_feature[f]] = 0.0


@compiled
def rare_columns(  # type: ignore[no-untyped-def]
    row_ptr, row_feature, row_value, index, block, count, block_ptr, rare_index, rare_value,
):  # fmt: skip
    """Write the rare features of the points ``index`` by block of points and by feature, see ScanBackend.rare_columns().

    block_ptr : zeros, one for each block and feature, and one
    """
    for k in range(index.size):
        for e in range(row_ptr[index[k]], row_ptr[index[k] + 1]):
            block_ptr[k // block * count + row_feature[e] + 1] += 1
    for f in range(1, block_ptr.size):
        block_ptr[f] += block_ptr[f - 1]
    for k in range(index.size):
        for e in range(row_ptr[index[k]], row_ptr[index[k] + 1]):
            f = k // block * count + row_feature[e]
            place = block_ptr[f]
            rare_index[place], rare_value[place] = k % block, row_value[e]
            block_ptr[f] += 1
    for f in range(block_ptr.size - 1, 0, -1):  # each position has moved to the start of the next feature
        block_ptr[f] = block_ptr[f - 1]
    block_ptr[0] = 0


@compiled
def scan(  # type: ignore[no-untyped-def]
    panels, depth, sq, block, features, block_ptr, rare_index, rare_value,
    ends, offsets, values, norms, places, row_ptr, row_feature, row_value,
    flat, slots, stride, position, start, stop, seeded, mode, gamma, coef0, degree,
):  # fmt: skip
    """Write the values of all rows with points [start, stop) to ``flat[slots[q] * stride + position :]``.

    The arguments are not in tuples: a call from Python then takes 1 us, and not 4.

    panels, depth, sq : the points, see scan.py
    block, features, block_ptr, rare_index, rare_value : their rare features, see ScanBackend.rare_columns()
    ends to row_value : the rows, see ScanBackend.prepare_rows()
    flat : rows of ``stride`` values; start is a multiple of block, stop too unless it is the number of points
    seeded : whether ``flat`` has the sums of the rare features, by add_by_point()
    mode, gamma, coef0, degree : the kernel, see ScanBackend
    """
    count, parts = ends.shape[0], ends.shape[1] - 1  # parts of the features, whose lines stay in the cache
    group, chunk = max(1, _GROUP_BYTES // (block * flat.itemsize)), CHUNK_BYTES // flat.itemsize
    filled, differences = seeded or features > 0, mode == RBF_OF_DIFFERENCES
    lists_all = ends[count - 1, parts] - ends[0, 0] == count * depth  # then rows read each line together
    full = ROWS > 1 and lists_all and not filled
    run = chunk * (_RUN if full else _SHORT_RUN)
    for low in range(start, stop, block):
        high = min(low + block, stop)
        for first in range(0, count, group):
            last = min(first + group, count)
            for q in range(first, last if features > 0 and not seeded else first):
                at, part = slots[q] * stride + position + low - start, low // block * features
                line = flat[at : at + high - low]
                for k in range(line.size):
                    line[k] = 0.0
                for f in range(row_ptr[places[q]], row_ptr[places[q] + 1]):
                    factor, feature = row_value[f], part + row_feature[f]
                    for k in range(block_ptr[feature], block_ptr[feature + 1]):
                        line[rare_index[k]] += factor * rare_value[k]
            for begin in range(low, high, run):
                end = min(begin + run, high)
                for b in range(parts):
                    q = first
                    while q < last:
                        rows = ROWS if full and q + ROWS <= last else 1
                        listed, size, more = ends[q, b], ends[q, b + 1] - ends[q, b], b > 0 or filled
                        for panel in range(begin, end, chunk):
                            base, at, left = panel * depth, position + panel - start, end - panel
                            add_up(
                                panels, base, offsets, values, listed, depth, size,
                                flat, slots, q, stride, at, left, rows > 1, more, differences,
                            )  # fmt: skip
                            for r in range(q, q + rows if mode != PRODUCTS and b == parts - 1 else q):
                                place = slots[r] * stride + at
                                to_values(flat, place, left, sq, panel, norms[r], mode, gamma, coef0, degree)
                        q += rows


@compiled
def dense_rows(panels, depth, rows, every, ends, offsets, values):  # type: ignore[no-untyped-def]
    """List the non-zero dense features of ``rows``, all of them if ``every``, in ``offsets`` and ``values``.

    ends : (rows, parts + 1); part b of the features of row q is listed from ends[q, b] to ends[q, b + 1]
    """
    chunk, parts, count = CHUNK_BYTES // panels.itemsize, ends.shape[1] - 1, 0
    length = -(-depth // parts)  # equal parts, as a pass over few features costs nearly as much as one over many
    for q in range(rows.size):
        base, ends[q, 0] = (rows[q] // chunk) * chunk * depth + rows[q] % chunk, count
        for b in range(parts):
            for f in range(b * length, min(depth, (b + 1) * length)):
                value = panels[base + f * chunk]
                if every or value != 0.0:
                    offsets[count], values[count] = f * chunk, value
                    count += 1
            ends[q, b + 1] = count


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
def lay_out(x, centre, first, points, rare):  # type: ignore[no-untyped-def]
    """Write the rows ``x``, (m, depth), of the points first, first + 1, ..., minus ``centre``, and their |x|^2 to ``points``.

    |x|^2 is summed in the order of scan(), so that a point's distance from itself is exactly 0.

    points, rare : as in ScanBackend
    """
    (panels, depth, norms), (row_ptr, _, row_value) = points, rare
    chunk = CHUNK_BYTES // panels.itemsize
    for i in range(x.shape[0]):
        point = first + i
        base, total = (point // chunk) * chunk * depth + point % chunk, panels.dtype.type(0.0)
        for e in range(row_ptr[point], row_ptr[point + 1]):
            total += row_value[e] * row_value[e]
        for f in range(depth):
            value = panels.dtype.type(x[i, f] - centre[f])
            panels[base + f * chunk], total = value, fma(value, value, total)
        norms[point] = total


# -- inner products with w, and sums of points: in float64 for any dtype of the points. Products may be reordered: without that
# they are added one after the other, which takes several times as long as reading them from memory.


@summing
def dense_scores(x: Block, w: Block, out: Block, first: int, last: int) -> None:
    """Set out[i] to <x_i, w> for first <= i < last; x (n, d) C-ordered float32 or float64, w (d,) and out (n,) float64."""
    for i in range(first, last):
        row, total = x[i], 0.0
        for f in range(len(row)):
            total += row[f] * w[f]
        out[i] = total


@summing
def sparse_scores(indptr: Block, indices: Block, data: Block, w: Block, out: Block, first: int, last: int) -> None:
    """Set out[i] to <x_i, w> for the rows ``first`` to ``last`` of a CSR matrix."""
    place = np.uint64(indptr[first])  # unsigned: no place and no index is tested for being negative
    for i in range(first, last):
        total, end = 0.0, np.uint64(indptr[i + 1])
        while place < end:
            total += data[place] * w[np.uint64(indices[place])]
            place += np.uint64(1)
        out[i] = total


@summing
def sparse_products(indptr: Block, indices: Block, data: Block, w: Block, out: Block, first: int, last: int) -> None:
    """Set out[j, i] to <x_i, w_j> for the rows ``first`` to ``last`` of a CSR matrix; w (d, q), out (q, n) float64."""
    q = w.shape[1]
    sums = np.empty((_TOGETHER, q))
    for begin in range(first, last, _TOGETHER):  # so many points, as out[j] is written in lines of the cache
        end = min(begin + _TOGETHER, last)
        for i in range(begin, end):
            total = sums[i - begin]
            total[:] = 0.0
            for place in range(indptr[i], indptr[i + 1]):
                value, row = data[place], w[indices[place]]
                for j in range(q):
                    total[j] += value * row[j]
        for j in range(q):
            for i in range(begin, end):
                out[j, i] = sums[i - begin, j]


@compiled
def add_dense(x: Block, points: Block, coef: Block, w: Block) -> None:
    """Add sum_k coef_k x_{points_k} to w (d,), in the order of ``points``."""
    for k in range(len(points)):
        row, factor = x[points[k]], coef[k]
        for f in range(len(w)):
            w[f] += factor * row[f]


@compiled
def add_sparse(indptr: Block, indices: Block, data: Block, points: Block, coef: Block, w: Block) -> None:
    """Add sum_k coef_k x_{points_k} to w (d,) for rows of a CSR matrix, in the order of ``points``."""
    for k in range(len(points)):
        factor = coef[k]
        for place in range(indptr[points[k]], indptr[points[k] + 1]):
            w[indices[place]] += factor * data[place]
