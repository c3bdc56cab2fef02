"""One row of the column scan, or a few, with one chunk of points, sums in registers: what the compiled loops are made of.

Numba intrinsics, see simd.py; how points lie is said in scan.py.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from harness.kernels.backend import PRODUCTS, RBF_OF_DIFFERENCES
from harness.kernels.simd import ROWS, Lanes, data_of, no_value

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


def _begin(builder: Any, seeded: Any, target: Any, chunks: list[_Chunk], places: list[Any]) -> None:
    """Let the sums begin with what lies at their places of ``target`` if ``seeded``, else with zeros."""
    with builder.if_else(seeded) as (begun, fresh):
        with begun:
            for chunk, place in zip(chunks, places, strict=True):
                chunk.read(target, place)
        with fresh:
            for chunk in chunks:
                chunk.clear()


def _typed_row(
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
        _begin(builder, seeded, target, [chunk], [at])
        difference = builder.icmp_signed("==", mode, mode.type(RBF_OF_DIFFERENCES))
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


def _typed_rows(
    _typing: Any, panels: Any, _base: Any, _depth: Any, values: Any, _row: Any, _first: Any, _last: Any, out: Any, slots: Any,
    _stride: Any, _at: Any, _seeded: Any, _mode: Any, sq: Any, _column: Any, own: Any, gamma: Any,
) -> Any:  # fmt: skip
    """Do for the ROWS rows from ``row`` on what _typed_row() does for one, features [first, last) of ``depth``.

    All their features are listed, so that each line of the panel is read once for all of them.
    """

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        chunks = [_Chunk(context, builder, signature, arguments, 0) for _ in range(ROWS)]
        lead, lanes, index = chunks[0], chunks[0].lanes, chunks[0].index
        _, base, depth, _, row, first, last, _, _, stride, at, seeded, mode, _, column, _, gamma = arguments
        panel = builder.gep(lead.pointer(0), [base])
        value_of, target, slot_of, norms, norm_of = (lead.pointer(k) for k in (3, 7, 8, 13, 15))
        numbers = [builder.add(row, index(r)) for r in range(ROWS)]
        places = [builder.add(at, builder.mul(stride, builder.load(builder.gep(slot_of, [q])))) for q in numbers]
        begins = [builder.gep(value_of, [builder.mul(depth, q)]) for q in numbers]
        _begin(builder, seeded, target, chunks, places)
        difference = builder.icmp_signed("==", mode, mode.type(RBF_OF_DIFFERENCES))
        with builder.if_else(difference) as branches:
            for branch, differences in zip(branches, (True, False), strict=True):
                with branch, cgutils.for_range(builder, builder.sub(last, first)) as loop:
                    f = builder.add(first, loop.index)
                    line = builder.mul(f, index(lanes.per_chunk * lanes.width))
                    factors = [lanes.splat(builder.load(builder.gep(begin, [f]))) for begin in begins]
                    for k, offset in enumerate(lead.offsets(line)):
                        x = lanes.load(panel, offset)
                        for chunk, factor in zip(chunks, factors, strict=True):
                            a = builder.fsub(x, factor) if differences else x
                            total = chunk.sums[k]
                            b = a if differences else factor
                            builder.store(lanes.fma(a, b, builder.load(total)), total)
        with builder.if_then(builder.icmp_signed("!=", mode, mode.type(PRODUCTS))):
            for chunk, q in zip(chunks, numbers, strict=True):
                chunk.to_rbf(difference, norms, column, builder.load(builder.gep(norm_of, [q])), gamma)
        for chunk, place in zip(chunks, places, strict=True):
            chunk.write(target, place)
        return no_value(context)

    index, flag = types.intp, types.boolean
    given = (
        panels, index, index, values, index, index, index, out, slots, index, index, flag, index, sq, index, own, gamma,
    )  # fmt: skip
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


values_of_row: Any = intrinsic(_typed_row)
values_of_rows: Any = intrinsic(_typed_rows)
squares: Any = intrinsic(_typed_squares)
