"""Numba intrinsics for one or a few rows of the column scan with one chunk of points, with the sums in registers.

See simd.py for intrinsics and scan.py for the layout of the points.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from harness.kernels.backend import POWER, PRODUCTS, RBF_OF_DIFFERENCES
from harness.kernels.simd import ROWS, Lanes, data_of, no_value

_register: Any = cgutils.alloca_once
_INDEX = ir.IntType(64)


class _Chunk:
    """Instructions on one chunk of points; arrays are accessed by element offsets."""

    def __init__(self, context: Any, builder: Any, signature: Any, arguments: Any) -> None:
        self.context, self.builder, self.types, self.arguments = context, builder, signature.args, arguments
        self.lanes = Lanes(builder, self.types[0].dtype)

    def pointer(self, k: int) -> Any:
        return data_of(self.context, self.builder, self.types[k], self.arguments[k])

    def sums(self) -> list[Any]:
        """Return a register for each vector of the chunk."""
        return [_register(self.builder, self.lanes.vector) for _ in range(self.lanes.per_chunk)]

    def offsets(self, base: Any) -> list[Any]:
        return [self.builder.add(base, _INDEX(k * self.lanes.width)) for k in range(self.lanes.per_chunk)]

    def read(self, sums: list[Any], pointer: Any) -> None:
        for total, offset in zip(sums, self.offsets(_INDEX(0)), strict=True):
            self.builder.store(self.lanes.load(pointer, offset), total)

    def write(self, sums: list[Any], pointer: Any) -> None:
        for total, offset in zip(sums, self.offsets(_INDEX(0)), strict=True):
            self.lanes.store(self.builder.load(total), pointer, offset)

    def add(self, total: Any, x: Any, factor: Any, *, difference: bool = False) -> None:
        """Add factor * x, or (x - factor)^2, to a sum."""
        a = self.builder.fsub(x, factor) if difference else x
        b = a if difference else factor
        self.builder.store(self.lanes.fma(a, b, self.builder.load(total)), total)

    def to_rbf(self, sums: list[Any], difference: Any, norms: Any, column: Any, norm_of_row: Any, gamma: Any) -> None:
        """Turn squared distances, or products and the squared norms, into exp(-gamma |x - z|^2)."""
        lanes, builder, zero = self.lanes, self.builder, self.lanes.constant(0.0)
        with builder.if_else(difference) as (distances, products):
            with distances:
                for total in sums:
                    builder.store(builder.fneg(builder.load(total)), total)
            with products:
                row_norm = lanes.splat(norm_of_row)
                for total, offset in zip(sums, self.offsets(column), strict=True):
                    product, norm = builder.load(total), lanes.load(norms, offset)
                    # exactly 0 for a point with itself; rounding must not give a kernel value above 1
                    distance = builder.fadd(builder.fsub(product, row_norm), builder.fsub(product, norm))
                    above = builder.fcmp_ordered(">", distance, zero)
                    builder.store(builder.select(above, zero, distance), total)
        width = lanes.splat(gamma)
        for total in sums:
            builder.store(lanes.exp(builder.fmul(width, builder.load(total))), total)

    def to_power(self, sums: list[Any], gamma: Any, coef0: Any, degree: Any) -> None:
        """Turn products into (gamma * product + coef0)^degree."""
        builder, scale, constant = self.builder, self.lanes.splat(gamma), self.lanes.splat(coef0)
        bases = [builder.fadd(builder.fmul(scale, builder.load(total)), constant) for total in sums]
        for total, base in zip(sums, bases, strict=True):
            builder.store(base, total)
        with cgutils.for_range(builder, builder.sub(degree, _INDEX(1))):
            for total, base in zip(sums, bases, strict=True):
                builder.store(builder.fmul(builder.load(total), base), total)


def _values_of(count: int) -> Any:
    """Return an intrinsic that writes the values of ``count`` rows with a chunk of points."""

    def typed(
        _typing: Any, panels: Any, _base: Any, offsets: Any, values: Any, _first: Any, _step: Any, _size: Any,
        out: Any, slots: Any, _row: Any, _stride: Any, _at: Any, tail: Any, _is_tail: Any, _seeded: Any,
        sq: Any, _column: Any, norms: Any, _mode: Any, gamma: Any, coef0: Any, _degree: Any,
    ) -> Any:  # fmt: skip
        """out[at + stride * slots[row + r] :] = the values of row ``row`` + r with a chunk of points, added to out if seeded.

        They are written to ``tail``, and added to it, if ``is_tail``: there is less than a chunk of ``out`` left.

        The sums are of values[f + r * step] * panels[base + offsets[f] :], or of (panels[...] - values[...])^2, for
        first <= f < first + size: several rows list the same features, so that each line of the panel is read once.
        """

        def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            chunk = _Chunk(context, builder, signature, arguments)
            lanes = chunk.lanes
            _, base, _, _, first, step, size, _, _, row, stride, at, _, is_tail, seeded, _, column, _, *form = arguments
            mode, gamma, coef0, degree = form
            panel = builder.gep(chunk.pointer(0), [base])
            offset_of, value_of, target, slot_of, tail_of, norm_of_column, norm_of_row = (
                chunk.pointer(k) for k in (2, 3, 7, 8, 12, 15, 17)
            )

            def line(q: Any) -> Any:
                place = builder.add(at, builder.mul(stride, builder.load(builder.gep(slot_of, [q]))))
                return builder.select(is_tail, tail_of, builder.gep(target, [place]))

            sums = [chunk.sums() for _ in range(count)]
            lines = [line(builder.add(row, _INDEX(r))) for r in range(count)]
            lists = [builder.gep(value_of, [builder.add(first, builder.mul(step, _INDEX(r)))]) for r in range(count)]
            with builder.if_else(seeded) as (from_target, from_zero):
                with from_target:
                    for each, where in zip(sums, lines, strict=True):
                        chunk.read(each, where)
                with from_zero:
                    for each in sums:
                        for total in each:
                            builder.store(lanes.constant(0.0), total)
            difference = builder.icmp_signed("==", mode, mode.type(RBF_OF_DIFFERENCES))
            with builder.if_else(difference) as branches:
                for branch, differences in zip(branches, (True, False), strict=True):
                    with branch, cgutils.for_range(builder, size) as loop:
                        listed = builder.load(builder.gep(offset_of, [builder.add(first, loop.index)]))
                        factors = [lanes.splat(builder.load(builder.gep(each, [loop.index]))) for each in lists]
                        for k, offset in enumerate(chunk.offsets(builder.sext(listed, _INDEX))):
                            x = lanes.load(panel, offset)
                            for each, factor in zip(sums, factors, strict=True):
                                chunk.add(each[k], x, factor, difference=differences)
            for each, where in zip(sums, lines, strict=True):
                chunk.write(each, where)
            is_value = builder.icmp_signed("!=", mode, mode.type(PRODUCTS))
            # a loop over the rows, as the code of an exponential is long
            with builder.if_then(is_value), cgutils.for_range(builder, _INDEX(count)) as loop:
                q, cells = builder.add(row, loop.index), chunk.sums()
                where = lines[0] if count == 1 else line(q)
                chunk.read(cells, where)
                with builder.if_else(builder.icmp_signed("==", mode, mode.type(POWER))) as (power, exponential):
                    with power:
                        chunk.to_power(cells, gamma, coef0, degree)
                    with exponential:
                        norm = builder.load(builder.gep(norm_of_row, [q]))
                        chunk.to_rbf(cells, difference, norm_of_column, column, norm, gamma)
                chunk.write(cells, where)
            return no_value(context)

        index, flag = types.intp, types.boolean
        argument_types = (
            panels, index, offsets, values, index, index, index, out, slots, index, index, index, tail, flag, flag,
            sq, index, norms, index, gamma, coef0, index,
        )  # fmt: skip
        return types.void(*argument_types), build

    return intrinsic(typed)


def _typed_squares(_typing: Any, panels: Any, _base: Any, _depth: Any, out: Any, _at: Any) -> Any:
    """Add to out[at : at + chunk] the sum of panels[base + f * chunk :]^2 over f < depth, in the order of the scan's sums."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        chunk = _Chunk(context, builder, signature, arguments)
        _, base, depth, _, at = arguments
        panel, target, sums = builder.gep(chunk.pointer(0), [base]), builder.gep(chunk.pointer(3), [at]), chunk.sums()
        chunk.read(sums, target)
        width = _INDEX(chunk.lanes.per_chunk * chunk.lanes.width)
        with cgutils.for_range(builder, depth) as loop:
            for total, offset in zip(sums, chunk.offsets(builder.mul(loop.index, width)), strict=True):
                x = chunk.lanes.load(panel, offset)
                chunk.add(total, x, x)
        chunk.write(sums, target)
        return no_value(context)

    return types.void(panels, types.intp, types.intp, out, types.intp), build


values_of_row: Any = _values_of(1)
values_of_rows: Any = _values_of(ROWS)
squares: Any = intrinsic(_typed_squares)
