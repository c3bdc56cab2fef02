"""Kernel values one by one or row by row, for compiled loops and for light calls; every value is counted.

A `harness.kernels.layout.Layout` has the points of a kernel as the column scan reads them. ``KernelOracle.layout()`` makes
that of the training points, :func:`blank` one with room for extra points of the solver, such as landmarks and merged
support vectors. Compiled loops take layouts as arguments and call the functions below. Importing this module imports numba.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic

from harness.kernels.chunks import data_of, fma, to_values
from harness.kernels.compiled import add_by_point, dense_rows, gather, scan
from harness.kernels.layout import CHUNK_BYTES, PRODUCTS, RBF_OF_DIFFERENCES, Layout
from harness.kernels.scan import BLOCK, parts_of
from harness.support.jit import compiled, inner

_parts_of: Any = inner(parts_of)


def _typed_add(_typing: Any, _total: Any, _values: Any) -> Any:
    """Add to total[0] in one step that other threads and processes cannot divide."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = data_of(context, builder, signature.args[0], arguments[0])
        builder.atomic_rmw("add", pointer, arguments[1], "monotonic")
        return context.get_dummy_value()

    return types.void(_total, types.int64), build


_add: Any = intrinsic(_typed_add)


@inner
def _form(k):  # type: ignore[no-untyped-def]
    """Return the form with numbers of the layout's dtype, which Python's are not."""
    number = k.points[0].dtype.type
    return k.form[0], number(k.form[1]), number(k.form[2]), k.form[3]


@inner
def _prepared(k, rows):  # type: ignore[no-untyped-def]
    """Return the features of ``rows`` as scan() takes them."""
    panels, depth, norms = k.points
    ends = np.empty((rows.size, _parts_of(depth) + 1), np.int64)
    offsets, values = np.empty(rows.size * depth, np.int32), np.empty(rows.size * depth, panels.dtype)
    dense_rows(panels, depth, rows, k.features[2], ends, offsets, values)
    row_ptr, row_feature, row_value = k.rare
    return ends, offsets, values, norms[rows], rows, row_ptr, row_feature, row_value


@compiled
def _write_rows(a, rows, b, columns, out):  # type: ignore[no-untyped-def]
    """Write k(a_i, b_j) for i in ``rows`` to ``out``, (q * m,), without counting; j in ``columns``, all of b if it is empty."""
    panels, depth, norms = b.points
    width, index, chunk = b.n, columns, CHUNK_BYTES // panels.itemsize
    if columns.size:
        width = columns.size
        size = -(-width // chunk) * chunk
        panels, norms = np.zeros(size * depth, panels.dtype), np.zeros(size, panels.dtype)
        gather(b.points[0], depth, b.points[2], columns, np.arange(width), panels, norms)
    prepared, slots = _prepared(a, rows), np.arange(rows.size)
    zero, rare = np.int64(0), b.features[0].size - depth  # a literal 0 would compile another specialization of the scan
    if rare:
        index = columns if columns.size else np.arange(width)
        add_by_point(*b.rare, index, *prepared[4:], np.zeros(rare, panels.dtype), out, slots, width, zero)
    none = np.int64(BLOCK), zero, np.zeros(1, np.int64), np.empty(0, np.uint16), norms[:0]
    scan(panels, depth, norms, *none, *prepared, out, slots, width, zero, zero, width, rare > 0, *_form(b))


@compiled
def row_between(a, i, b, columns, out):  # type: ignore[no-untyped-def]
    """Write k(a_i, b_j) for j in ``columns`` to ``out``, for all points of b if it is empty; one evaluation a value."""
    width = columns.size if columns.size else b.n
    _write_rows(a, np.array([i]), b, columns, out[:width])
    _add(b.evaluations, width)


@compiled
def row(k, i, out):  # type: ignore[no-untyped-def]
    """Write K[i, :] to ``out``, (n,) contiguous, in the dtype of the layout; n evaluations."""
    row_between(k, i, k, np.empty(0, np.int64), out)
    out[i] += k.ridge


@compiled
def value(k, i, j):  # type: ignore[no-untyped-def]
    """Return K[i, j]; one evaluation."""
    panels, depth, norms = k.points
    row_ptr, row_feature, row_value = k.rare
    mode, gamma, coef0, degree = _form(k)
    out, (at_i, chunk), at_j = np.zeros(1, panels.dtype), _at(k, i), _at(k, j)[0]
    e, total = row_ptr[i], out[0]
    for f in range(row_ptr[j], row_ptr[j + 1]):  # both lists ascend
        while e < row_ptr[i + 1] and row_feature[e] < row_feature[f]:
            e += 1
        if e < row_ptr[i + 1] and row_feature[e] == row_feature[f]:
            total += row_value[e] * row_value[f]
    for f in range(0, depth * chunk, chunk):
        x, z = panels[at_i + f], panels[at_j + f]
        total = fma(x - z, x - z, total) if mode == RBF_OF_DIFFERENCES else fma(x, z, total)
    out[0] = total
    if mode != PRODUCTS:
        to_values(out, 0, 1, norms, j, norms[i], mode, gamma, coef0, degree)
    _add(k.evaluations, 1)
    return out[0] + (k.ridge if i == j else 0.0)


@compiled
def blank(k, room):  # type: ignore[no-untyped-def]
    """Return a layout with ``room`` extra points of the solver, all features 0, of the kernel of ``k``."""
    panels, depth, _ = k.points
    chunk, rare = CHUNK_BYTES // panels.itemsize, k.features[0].size - depth
    size = -(-room // chunk) * chunk
    features = np.empty(room * rare, np.int32)
    for p in range(room * rare):
        features[p] = p % rare
    listed = np.arange(room + 1) * rare, features, np.zeros(room * rare, panels.dtype)
    points = np.zeros(size * depth, panels.dtype), depth, np.zeros(size, panels.dtype)
    return Layout(room, points, listed, k.features, k.form, 0.0, k.evaluations)


@compiled
def leading(extra, count):  # type: ignore[no-untyped-def]
    """Return the layout of the first ``count`` points of ``extra``, in the same memory."""
    return Layout(count, extra.points, extra.rare, extra.features, extra.form, extra.ridge, extra.evaluations)


@inner
def _at(k, i):  # type: ignore[no-untyped-def]
    """Return where the first dense feature of point i is, and how far apart its features are."""
    chunk = CHUNK_BYTES // k.points[0].itemsize
    return (i // chunk) * chunk * k.points[1] + i % chunk, chunk


@inner
def _set_norm(extra, slot):  # type: ignore[no-untyped-def]
    panels, depth, norms = extra.points
    (at, chunk), total = _at(extra, slot), panels.dtype.type(0.0)
    for e in range(extra.rare[0][slot], extra.rare[0][slot + 1]):
        total += extra.rare[2][e] * extra.rare[2][e]
    for f in range(at, at + depth * chunk, chunk):
        total = fma(panels[f], panels[f], total)
    norms[slot] = total


@compiled
def put(extra, slot, x):  # type: ignore[no-untyped-def]
    """Write the point ``x``, (d,), to a place of ``extra``; return whether it is finite."""
    at, chunk = _at(extra, slot)
    finite = True
    for f in range(x.size):
        p = extra.features[0][f]
        if p >= 0:
            extra.points[0][at + p * chunk] = x[f] - extra.features[1][p]
        else:
            extra.rare[2][extra.rare[0][slot] + ~p] = x[f]
        finite &= np.isfinite(x[f])
    _set_norm(extra, slot)
    return finite


@compiled
def combine(extra, slot, a, i, b, j, share):  # type: ignore[no-untyped-def]
    """Write ``share`` a_i + (1 - ``share``) b_j to a place of ``extra``; a and b may be ``extra``, or the training points."""
    at, chunk = _at(extra, slot)
    at_a, at_b = _at(a, i)[0], _at(b, j)[0]
    for f in range(extra.points[1]):
        line = f * chunk
        extra.points[0][at + line] = share * a.points[0][at_a + line] + (1.0 - share) * b.points[0][at_b + line]
    sums = np.zeros(extra.features[0].size - extra.points[1], extra.points[0].dtype)
    for e in range(a.rare[0][i], a.rare[0][i + 1]):
        sums[a.rare[1][e]] += share * a.rare[2][e]
    for e in range(b.rare[0][j], b.rare[0][j + 1]):
        sums[b.rare[1][e]] += (1.0 - share) * b.rare[2][e]
    for f in range(sums.size):
        extra.rare[2][extra.rare[0][slot] + f] = sums[f]
    _set_norm(extra, slot)


@compiled
def rows_at(k, x, columns, out):  # type: ignore[no-untyped-def]
    """Write k(x_q, .) of the points ``x``, (m, d), to out[q], counted; return whether all points are finite."""
    finite, extra, slots = True, blank(k, len(x)), np.arange(len(x))
    for q in range(len(x)):
        finite &= put(extra, q, x[q])
    _write_rows(extra, slots, k, columns, out.reshape(out.size))
    _add(k.evaluations, out.size)
    return finite


@compiled
def coordinates(extra):  # type: ignore[no-untyped-def]
    """Return the points of ``extra``, (n, d)."""
    x = np.empty((extra.n, extra.features[0].size), extra.points[0].dtype)
    for slot in range(extra.n):
        at, chunk = _at(extra, slot)
        for f in range(extra.features[0].size):
            p = extra.features[0][f]
            if p >= 0:
                x[slot, f] = extra.points[0][at + p * chunk] + extra.features[1][p]
            else:
                x[slot, f] = extra.rare[2][extra.rare[0][slot] + ~p]
    return x
