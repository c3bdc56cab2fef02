"""The compiled loops over stored squared distances (see distances.py). Importing this imports numba."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic

from harness.jit import compiled
from harness.kernels.simd import CHUNK_BYTES, Lanes, data_of, no_value


def _typed_exp(_typing: Any, source: Any, _begin: Any, out: Any, _at: Any, gamma: Any) -> Any:
    """Write exp(-gamma source[begin + k]) to out[at + k] for a chunk of k; the sources are not negative."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        lanes = Lanes(builder, signature.args[0].dtype)
        _, begin, _, at, width = arguments
        read, written = (data_of(context, builder, signature.args[k], arguments[k]) for k in (0, 2))
        factor = lanes.splat(builder.fneg(width))
        for k in range(lanes.per_chunk):
            step = begin.type(k * lanes.width)
            square = lanes.load(read, builder.add(begin, step))
            lanes.store(lanes.exp(builder.fmul(factor, square)), written, builder.add(at, step))
        return no_value(context)

    return types.void(source, types.intp, out, types.intp, gamma), build


_exp: Any = intrinsic(_typed_exp)


@compiled
def squared_differences(columns, out):  # type: ignore[no-untyped-def]
    """Set out[i, j] to sum_f (columns[f, i] - columns[f, j])^2; columns (d, n), out (n, n) C-ordered, one dtype."""
    d, n = columns.shape
    for i in range(n):
        row = out[i]
        row[:] = 0.0
        whole = d - d % 4
        for f in range(0, whole, 4):  # four at a time: the row is read and written once for them
            p, q, r, s = columns[f], columns[f + 1], columns[f + 2], columns[f + 3]
            own_p, own_q, own_r, own_s = p[i], q[i], r[i], s[i]
            for j in range(n):
                a, b, c, e = p[j] - own_p, q[j] - own_q, r[j] - own_r, s[j] - own_s
                row[j] += (a * a + b * b) + (c * c + e * e)
        for f in range(whole, d):
            own, others = columns[f, i], columns[f]
            for j in range(n):
                apart = others[j] - own
                row[j] += apart * apart


@compiled
def runs_of(index):  # type: ignore[no-untyped-def]
    """Return (place, first, length) of each run of consecutive numbers in an index, (m,)."""
    m = len(index)
    runs = np.empty((m, 3), np.int64)
    count = k = 0
    while k < m:
        begin = k
        k += 1
        while k < m and index[k] == index[k - 1] + 1:
            k += 1
        runs[count, 0], runs[count, 1], runs[count, 2] = begin, index[begin], k - begin
        count += 1
    return runs[:count]


@compiled
def exponentials(distances, rows, runs, gamma, out, slots, position):  # type: ignore[no-untyped-def]
    """Write exp(-gamma distances[rows[q], runs]) to ``out[slots[q], position:]``.

    distances : (n, n), C-ordered, not negative; out : C-ordered, of the same dtype, like gamma
    runs : (r, 3), the columns as place, first, length
    """
    chunk = CHUNK_BYTES // out.itemsize
    source, flat = distances.reshape(distances.size), out.reshape(out.size)
    tail = np.zeros(chunk, out.dtype)
    n, stride = distances.shape[1], out.shape[1]
    for q in range(len(rows)):
        read, written = rows[q] * n, slots[q] * stride + position
        for r in range(len(runs)):
            begin, at, length = read + runs[r, 1], written + runs[r, 0], runs[r, 2]
            rest = length % chunk
            for k in range(0, length - rest, chunk):
                _exp(source, begin + k, flat, at + k, gamma)
            if rest:
                begin, at = begin + length - rest, at + length - rest
                for k in range(rest):
                    tail[k] = source[begin + k]
                _exp(tail, 0, tail, 0, gamma)
                for k in range(rest):
                    flat[at + k] = tail[k]


@compiled
def picked_exponentials(distances, rows, columns, gamma, out, slots, position):  # type: ignore[no-untyped-def]
    """Do what exponentials() does for columns without long runs, (m,): they are gathered chunk by chunk."""
    chunk = CHUNK_BYTES // out.itemsize
    flat = out.reshape(out.size)
    some = np.zeros(chunk, out.dtype)
    m, stride = len(columns), out.shape[1]
    for q in range(len(rows)):
        source, written = distances[rows[q]], slots[q] * stride + position
        for first in range(0, m, chunk):
            width = min(chunk, m - first)
            for k in range(width):
                some[k] = source[columns[first + k]]
            _exp(some, 0, some, 0, gamma)
            for k in range(width):
                flat[written + first + k] = some[k]
