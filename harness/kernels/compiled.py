"""The compiled loops of the column scan (see scan.py for the layout): sums of products, rare features, values.

Numba compiles every function once for float32 and once for float64. Importing this module imports numba.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from harness.jit import compiled, inner, summing
from harness.kernels.simd import CHUNK_BYTES, Lanes, data_of, no_value

PRODUCTS, RBF_PRODUCTS, RBF_DIFFERENCES = 0, 1, 2  # what scan() leaves: <x, z>; or the RBF kernel by either formula
_FEATURES = 96  # whose lines of a panel, 24 kB, are read by many rows in turn
_STRIP = 1024  # of sums: they stay in the core's first cache while all rows pass
_GROUP_BYTES = 1 << 18  # of output touched while a block of points is scanned: part of a core's L2

_register: Any = cgutils.alloca_once


class _Chunk:
    """The running sums of one chunk of points, in registers; arrays are reached by element offsets."""

    def __init__(self, context: Any, builder: Any, signature: Any, arguments: Any, panels: int) -> None:
        self.context, self.builder, self.types, self.arguments = context, builder, signature.args, arguments
        self.lanes = Lanes(builder, self.types[panels].dtype)
        self.sums = [_register(builder, self.lanes.vector) for _ in range(self.lanes.per_chunk)]
        self.index = ir.IntType(64)

    def pointer(self, k: int) -> Any:
        return data_of(self.context, self.builder, self.types[k], self.arguments[k])

    def offsets(self, base: Any) -> list[Any]:
        width = self.lanes.width
        return [self.builder.add(base, self.index(k * width)) for k in range(self.lanes.per_chunk)]

    def read(self, pointer: Any, base: Any) -> None:
        for total, offset in zip(self.sums, self.offsets(base), strict=True):
            self.builder.store(self.lanes.load(pointer, offset), total)

    def write(self, pointer: Any, base: Any) -> None:
        for total, offset in zip(self.sums, self.offsets(base), strict=True):
            self.lanes.store(self.builder.load(total), pointer, offset)

    def add(self, pointer: Any, base: Any, factor: Any, *, difference: bool = False) -> None:
        """Add factor * x, or (x - factor)^2, or x^2 where factor is None."""
        for total, offset in zip(self.sums, self.offsets(base), strict=True):
            x = self.lanes.load(pointer, offset)
            a = self.builder.fsub(x, factor) if difference else x
            b = a if difference or factor is None else factor
            self.builder.store(self.lanes.fma(a, b, self.builder.load(total)), total)

    def clear(self) -> None:
        for total in self.sums:
            self.builder.store(self.lanes.constant(0.0), total)

    def to_rbf(self, difference: Any, norms: Any, column: Any, own: Any, gamma: Any) -> None:
        """Turn squared distances, or products and the squared norms, into exp(-gamma |x - z|^2)."""
        lanes, builder, zero = self.lanes, self.builder, self.lanes.constant(0.0)
        with builder.if_else(difference) as (distances, products):
            with distances:
                for total in self.sums:
                    builder.store(builder.fneg(builder.load(total)), total)
            with products:
                mine = lanes.splat(own)
                for total, offset in zip(self.sums, self.offsets(column), strict=True):
                    product, norm = builder.load(total), lanes.load(norms, offset)
                    # exactly 0 for a point with itself; rounding must not give a kernel value above 1
                    distance = builder.fadd(builder.fsub(product, mine), builder.fsub(product, norm))
                    above = builder.fcmp_ordered(">", distance, zero)
                    builder.store(builder.select(above, zero, distance), total)
        width = lanes.splat(gamma)
        for total in self.sums:
            builder.store(lanes.exp(builder.fmul(width, builder.load(total))), total)


def _typed_values(
    _typing: Any, panels: Any, _base: Any, offsets: Any, values: Any, _first: Any, _last: Any, out: Any, _at: Any,
    _seeded: Any, _mode: Any, sq: Any, _column: Any, own: Any, gamma: Any,
) -> Any:  # fmt: skip
    """out[at : at + chunk] = the values of one row with a chunk of points, sums in out counted in if seeded.

    The sums are of values[f] * panels[base + offsets[f] :], or of (panels[...] - values[f])^2, first <= f < last.
    """

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        chunk = _Chunk(context, builder, signature, arguments, 0)
        _, base, _, _, first, last, _, at, seeded, mode, _, column, own, gamma = arguments
        panel = builder.gep(chunk.pointer(0), [base])
        offset_of, value_of, target, norms = (chunk.pointer(k) for k in (2, 3, 6, 10))
        with builder.if_else(seeded) as (begun, fresh):
            with begun:
                chunk.read(target, at)
            with fresh:
                chunk.clear()
        difference = builder.icmp_signed("==", mode, mode.type(RBF_DIFFERENCES))
        with builder.if_else(difference) as branches:
            for branch, differences in zip(branches, (True, False), strict=True):
                with branch, cgutils.for_range(builder, builder.sub(last, first)) as loop:
                    f = builder.add(first, loop.index)
                    offset = builder.sext(builder.load(builder.gep(offset_of, [f])), chunk.index)
                    factor = chunk.lanes.splat(builder.load(builder.gep(value_of, [f])))
                    chunk.add(panel, offset, factor, difference=differences)
        with builder.if_then(builder.icmp_signed("!=", mode, mode.type(PRODUCTS))):
            chunk.to_rbf(difference, norms, column, own, gamma)
        chunk.write(target, at)
        return no_value(context)

    index, flag = types.intp, types.boolean
    given = (panels, index, offsets, values, index, index, out, index, flag, index, sq, index, own, gamma)
    return types.void(*given), build


def _typed_squares(_typing: Any, panels: Any, _base: Any, _depth: Any, out: Any, _at: Any) -> Any:
    """Add to out[at : at + chunk] the sum of panels[base + f * chunk :]^2 over f < depth, in the order of accumulate()."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        chunk = _Chunk(context, builder, signature, arguments, 0)
        _, base, depth, _, at = arguments
        panel, target = builder.gep(chunk.pointer(0), [base]), chunk.pointer(3)
        chunk.read(target, at)
        width = chunk.index(chunk.lanes.per_chunk * chunk.lanes.width)
        with cgutils.for_range(builder, depth) as loop:
            chunk.add(panel, builder.mul(loop.index, width), None)
        chunk.write(target, at)
        return no_value(context)

    return types.void(panels, types.intp, types.intp, out, types.intp), build


def _typed_rbf(
    _typing: Any, source: Any, _from: Any, out: Any, _at: Any, sq: Any, _column: Any, own: Any, gamma: Any
) -> Any:
    """Write exp(-gamma |x - z|^2) of a chunk of products and the squared norms to out[at : at + chunk]."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        chunk = _Chunk(context, builder, signature, arguments, 0)
        _, begin, _, at, _, column, own, gamma = arguments
        chunk.read(chunk.pointer(0), begin)
        chunk.to_rbf(ir.IntType(1)(0), chunk.pointer(4), column, own, gamma)
        chunk.write(chunk.pointer(2), at)
        return no_value(context)

    return types.void(source, types.intp, out, types.intp, sq, types.intp, own, gamma), build


_values: Any = intrinsic(_typed_values)
_squares: Any = intrinsic(_typed_squares)
_rbf: Any = intrinsic(_typed_rbf)


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


@compiled
def scan(points, left, out, slots, position, start, stop, gamma, mode):  # type: ignore[no-untyped-def]
    """Write the values of all left rows with points [start, stop) to ``out[slots[q], position:]``.

    points : (panels, depth, sq, block, block_ptr, rare_index, rare_value), see scan.py
    left : (ptr, offsets, values, rare_ptr, rare_features, rare_values, sq) of the rows, from left_rows()
    out : C-ordered; start is a multiple of block, stop too unless it is the number of points
    """
    panels, depth, sq, block, block_ptr, rare_index, rare_value = points
    ptr, offsets, values, rare_ptr, rare_features, rare_values, own = left
    flat = out.reshape(out.size)
    stride, chunk = out.shape[1], CHUNK_BYTES // out.itemsize
    tail = np.zeros(chunk, panels.dtype)
    group = max(1, _GROUP_BYTES // (block * out.itemsize))
    rows = ptr.size - 1
    parts = max(1, -(-depth // _FEATURES))
    ends = _cut(ptr, offsets, parts, _FEATURES * chunk)
    for low in range(start, stop, block):
        high = min(low + block, stop)
        for first in range(0, rows, group):
            last = min(first + group, rows)
            for q in range(first, last):
                at = slots[q] * stride + position + low - start
                if rare_ptr[q] < rare_ptr[q + 1]:
                    flat[at : at + high - low] = 0.0
                for f in range(rare_ptr[q], rare_ptr[q + 1]):
                    factor, feature = rare_values[f], rare_features[f]
                    for k in range(block_ptr[low // block, feature], block_ptr[low // block, feature + 1]):
                        flat[at + rare_index[k]] += factor * rare_value[k]
            whole = high - (high - low) % chunk
            for panel in range(low, whole, chunk):
                for b in range(parts):  # of the features: their lines stay in L1 while all rows of the group pass
                    kind = mode if b == parts - 1 else PRODUCTS
                    for q in range(first, last):
                        at = slots[q] * stride + position + panel - start
                        seeded = b > 0 or rare_ptr[q] < rare_ptr[q + 1]
                        _values(
                            panels, panel * depth, offsets, values, ends[q, b], ends[q, b + 1], flat, at,
                            seeded, kind, sq, panel, own[q], gamma,
                        )  # fmt: skip
            if whole < high:  # vectors are whole: the last points go through an array of their own
                for q in range(first, last):
                    at = slots[q] * stride + position + whole - start
                    tail[: high - whole] = flat[at : at + high - whole]
                    _values(
                        panels, whole * depth, offsets, values, ptr[q], ptr[q + 1], tail, 0,
                        rare_ptr[q] < rare_ptr[q + 1], mode, sq, whole, own[q], gamma,
                    )  # fmt: skip
                    flat[at : at + high - whole] = tail[: high - whole]


@compiled
def rbf_of_products(products, own, sq, start, gamma, out, slots, position):  # type: ignore[no-untyped-def]
    """Write the RBF kernel of products with points [start, start + m) to ``out[slots[q], position : position + m]``.

    products : (q, m), the rows' own norms in ``own``; sq : of all points, one chunk longer than the last of them
    """
    chunk = CHUNK_BYTES // out.itemsize
    source, flat = products.reshape(products.size), out.reshape(out.size)
    tail = np.zeros(chunk, products.dtype)
    width = products.shape[1]
    for q in range(products.shape[0]):
        base = slots[q] * out.shape[1] + position
        for k in range(0, width - width % chunk, chunk):
            _rbf(source, q * width + k, flat, base + k, sq, start + k, own[q], gamma)
        rest = width % chunk
        if rest:
            tail[:rest] = products[q, width - rest :]
            _rbf(tail, 0, tail, 0, sq, start + width - rest, own[q], gamma)
            flat[base + width - rest : base + width] = tail[:rest]


@inner
def rare_of(row_ptr, row_feature, row_value, rows, rare_ptr):  # type: ignore[no-untyped-def]
    """Return the rare features and values of ``rows``, one row after the other as ``rare_ptr`` has them."""
    features, values = np.empty(rare_ptr[rows.size], np.int32), np.empty(rare_ptr[rows.size], row_value.dtype)
    for q in range(rows.size):
        begin, size = row_ptr[rows[q]], rare_ptr[q + 1] - rare_ptr[q]
        features[rare_ptr[q] : rare_ptr[q + 1]] = row_feature[begin : begin + size]
        values[rare_ptr[q] : rare_ptr[q + 1]] = row_value[begin : begin + size]
    return features, values


@compiled
def left_rows(points, row_ptr, row_feature, row_value, rows, everything):  # type: ignore[no-untyped-def]
    """Return the non-zero features of the rows (all dense ones if ``everything``) as scan() takes them."""
    panels, depth, sq, _, _, _, _ = points
    chunk = CHUNK_BYTES // panels.itemsize
    count = rows.size
    ptr, rare_ptr = np.zeros(count + 1, np.int64), np.zeros(count + 1, np.int64)
    offsets, values = np.empty(count * depth, np.int32), np.empty(count * depth, panels.dtype)
    own = np.empty(count, panels.dtype)
    found = 0
    for q in range(count):
        i = rows[q]
        base = (i // chunk) * chunk * depth + i % chunk
        for f in range(depth):
            value = panels[base + f * chunk]
            if everything or value != 0.0:
                offsets[found], values[found] = f * chunk, value
                found += 1
        ptr[q + 1] = found
        rare_ptr[q + 1] = rare_ptr[q] + row_ptr[i + 1] - row_ptr[i]
        own[q] = sq[i]
    rare_features, rare_values = rare_of(row_ptr, row_feature, row_value, rows, rare_ptr)
    return ptr, offsets[:found].copy(), values[:found].copy(), rare_ptr, rare_features, rare_values, own


@compiled
def gather(panels, depth, sq, columns, features, result, norms):  # type: ignore[no-untyped-def]
    """Copy the points ``columns``, their dense ``features`` only, to the panels ``result`` and their |x|^2 to ``norms``."""
    chunk = CHUNK_BYTES // panels.itemsize
    for k in range(columns.size):
        j = columns[k]
        base = (j // chunk) * chunk * depth + j % chunk
        target = (k // chunk) * chunk * features.size + k % chunk
        for f in range(features.size):
            result[target + f * chunk] = panels[base + features[f] * chunk]
        norms[k] = sq[j]


@compiled
def rare_columns(row_ptr, row_feature, row_value, columns, number, count, block):  # type: ignore[no-untyped-def]
    """Return the rare features of the points ``columns`` feature by feature, in blocks of points.

    number : (features,) new number of each feature below ``count``, or -1 for one that is left out
    Returns block_ptr (blocks, count + 1) into rare_index (place within the block) and rare_value.
    """
    blocks = -(-columns.size // block)
    block_ptr = np.zeros((blocks, count + 1), np.int64)
    for k in range(columns.size):
        for e in range(row_ptr[columns[k]], row_ptr[columns[k] + 1]):
            if number[row_feature[e]] >= 0:
                block_ptr[k // block, number[row_feature[e]]] += 1
    total = 0
    for b in range(blocks):
        for f in range(count + 1):  # counts become where each feature begins
            size = block_ptr[b, f]
            block_ptr[b, f] = total
            total += size
    rare_index, rare_value = np.empty(total, np.uint16), np.empty(total, row_value.dtype)
    for k in range(columns.size):
        for e in range(row_ptr[columns[k]], row_ptr[columns[k] + 1]):
            f = number[row_feature[e]]
            if f >= 0:
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
        _squares(panels, panel * depth, depth, result, panel)
    return result


@compiled
def split_rows(indptr, indices, values, number, panels, depth, row_ptr, row_feature, row_value):  # type: ignore[no-untyped-def]
    """Put CSR rows into the panels and their rare features point by point behind row_ptr.

    number : (features,) place among the dense features, or -1 - place among the rare ones
    """
    chunk = CHUNK_BYTES // panels.itemsize
    found = 0
    for i in range(indptr.size - 1):
        base = (i // chunk) * chunk * depth + i % chunk
        for e in range(indptr[i], indptr[i + 1]):
            place = number[indices[e]]
            if place >= 0:
                panels[base + place * chunk] += values[e]
            else:
                row_feature[found], row_value[found] = -1 - place, values[e]
                found += 1
        row_ptr[i + 1] = found


@summing
def add_rows(total, rows, slots, weights, start, stop):  # type: ignore[no-untyped-def]
    """Add sum_q weights[q] rows[slots[q], start:stop] to total[start:stop], in float64, strip by strip."""
    whole = slots.size - slots.size % 4  # four rows at a time: ``total`` is read and written once for all of them
    for low in range(start, stop, _STRIP):
        high = min(low + _STRIP, stop)
        part = total[low:high]
        for q in range(0, whole, 4):
            a, b = rows[slots[q], low:high], rows[slots[q + 1], low:high]
            c, d = rows[slots[q + 2], low:high], rows[slots[q + 3], low:high]
            u, v, s, t = weights[q], weights[q + 1], weights[q + 2], weights[q + 3]
            for j in range(part.size):
                part[j] += (u * a[j] + v * b[j]) + (s * c[j] + t * d[j])
        for q in range(whole, slots.size):
            row, weight = rows[slots[q], low:high], weights[q]
            for j in range(part.size):
                part[j] += weight * row[j]


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
        row[:] = result
