"""Numba intrinsics of the column scan, on vectors of one chunk of points: sums of rows, in registers, and their values.

The loop vectoriser does not vectorise these. See scan.py for the layout of the points.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from harness.kernels.layout import CHUNK_BYTES, POWER, RBF_OF_DIFFERENCES
from harness.support.jit import REGISTER_BYTES

_INDEX = ir.IntType(64)
_register: Any = cgutils.alloca_once_value
# rows that share each line read of a chunk: their sums fill half of the registers of AVX-512, and all of AVX2's for one
ROWS = 4 if REGISTER_BYTES == 64 else 1


class Vectors:
    """Builds operations on vectors of one chunk, which the compiler splits into the machine's registers.

    Parameters
    ----------
    builder : where the instructions go
    element : numba's float32 or float64
    """

    def __init__(self, builder: Any, element: Any) -> None:
        self.builder = builder
        self.single = element == types.float32
        self.scalar, self.itemsize = (ir.FloatType(), 4) if self.single else (ir.DoubleType(), 8)
        self.width = CHUNK_BYTES // self.itemsize
        self.vector = ir.VectorType(self.scalar, self.width)
        self.bits = ir.VectorType(ir.IntType(8 * self.itemsize), self.width)

    def splat(self, value: Any) -> Any:
        """Return the vector whose elements are all ``value``, a number or a scalar of the builder."""
        scalar = self.scalar(value) if isinstance(value, float) else value
        empty = ir.Constant(ir.VectorType(scalar.type, self.width), ir.Undefined)
        first = self.builder.insert_element(empty, scalar, ir.IntType(32)(0))
        return self.builder.shuffle_vector(first, empty, ir.Constant(ir.VectorType(ir.IntType(32), self.width), None))

    def load(self, pointer: Any) -> Any:
        """Return the vector that begins at ``pointer``, which need not be aligned."""
        return self.builder.load(self.builder.bitcast(pointer, self.vector.as_pointer()), align=self.itemsize)

    def load_part(self, pointer: Any, left: Any) -> Any:
        """Return the first ``left`` elements of the vector at ``pointer``, all if there are no more, and 0 for the others."""
        is_part, copy, place = self._place_of(pointer, left)
        with self.builder.if_then(is_part, likely=False):
            self.builder.store(self.splat(0.0), copy)
            cgutils.raw_memcpy(self.builder, copy, pointer, left, self.itemsize)  # type: ignore[no-untyped-call]
        return self.builder.load(place, align=self.itemsize)

    def store_part(self, vector: Any, pointer: Any, left: Any) -> None:
        """Store the first ``left`` elements of a vector, all if there are no more."""
        is_part, copy, place = self._place_of(pointer, left)
        self.builder.store(vector, place, align=self.itemsize)
        with self.builder.if_then(is_part, likely=False):
            cgutils.raw_memcpy(self.builder, pointer, copy, left, self.itemsize)  # type: ignore[no-untyped-call]

    def _place_of(self, pointer: Any, left: Any) -> tuple[Any, Any, Any]:
        """Return whether a vector is not used whole, room for a copy, and where it is accessed: there if it is not.

        Masks take AVX2 longer than the sums.
        """
        copy = cgutils.alloca_once(self.builder, self.vector)  # type: ignore[no-untyped-call]
        is_part, whole = self.builder.icmp_signed("<", left, _INDEX(self.width)), self.vector.as_pointer()
        return is_part, copy, self.builder.select(is_part, copy, self.builder.bitcast(pointer, whole))

    def fma(self, a: Any, b: Any, c: Any) -> Any:
        """Return a b + c, fused where the machine can."""
        signature = ir.FunctionType(self.vector, [self.vector] * 3)
        name = f"llvm.fmuladd.v{self.width}f{8 * self.itemsize}"
        function = cgutils.get_or_insert_function(self.builder.module, signature, name)  # type: ignore[no-untyped-call]
        return self.builder.call(function, (a, b, c))

    def exp(self, x: Any) -> Any:
        """Return e^x for x <= 0: -inf and values below the cutoff give 0, NaN gives NaN.

        x = k ln 2 + r with an integer k and |r| <= ln 2 / 2 (Cody & Waite 1980, ln 2 in two parts); e^r = 1 + r + r^2 q(r),
        q of degree 4 (float32) or 9 (float64) through the Chebyshev nodes; 2^k is put together from its bits. Within 1.2
        ulp of e^x on [cutoff, 0], -87 (float32) or -708 (float64), and at most 1.
        """
        build = self.builder
        magic, shift, cutoff, high, low, coefficients = _EXP32 if self.single else _EXP64
        shifted = self.fma(x, self.splat(1.4426950408889634), self.splat(magic))
        turns = build.fsub(shifted, self.splat(magic))
        rest = self.fma(turns, self.splat(-low), self.fma(turns, self.splat(-high), x))
        tail = self.splat(coefficients[-1])
        for coefficient in coefficients[-2::-1]:
            tail = self.fma(tail, rest, self.splat(coefficient))
        mantissa = build.fadd(self.fma(build.fmul(rest, rest), tail, rest), self.splat(1.0))
        exponent = build.shl(build.bitcast(shifted, self.bits), self.splat(self.bits.element(shift)))
        power = build.bitcast(build.add(exponent, build.bitcast(self.splat(1.0), self.bits)), self.vector)
        tiny = build.fcmp_ordered("<", x, self.splat(cutoff))
        return build.select(tiny, self.splat(0.0), build.fmul(mantissa, power))


# magic: adding it rounds to an integer and leaves that in the low bits; below the cutoff e^x is no normal number;
# ln 2 = high + low; (e^r - 1 - r) / r^2 on |r| <= ln 2 / 2, interpolated at the Chebyshev nodes, lowest power first
_EXP32: Any = (
    12582912.0, 23, -87.0, 0.693359375, -2.12194440e-4,
    (0.5, 0.16666576266288757, 0.041666556149721146, 0.008363203145563602, 0.0013926213141530752),
)  # fmt: skip
_EXP64: Any = (
    6755399441055744.0, 52, -708.0, 0.693147180369123816490, 1.90821492927058770002e-10,
    (
        0.5, 0.16666666666666669, 0.04166666666662399, 0.008333333333330051, 0.0013888888917281794,
        0.00019841269863105968, 2.480152119021773e-05, 2.7557268378684192e-06, 2.7620138719732994e-07,
        2.5100424157005067e-08,
    ),
)  # fmt: skip


def data_of(context: Any, builder: Any, array_type: Any, array: Any) -> Any:
    """Return the pointer to an array's first element."""
    return context.make_array(array_type)(context, builder, value=array).data


def _typed_fma(_typing: Any, a: Any, b: Any, c: Any) -> Any:
    """Return a b + c of three numbers of one type, rounded as a sum of the scan is."""

    def build(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        kind = arguments[0].type
        function = builder.module.declare_intrinsic("llvm.fmuladd", [kind], ir.FunctionType(kind, [kind] * 3))
        return builder.call(function, arguments)

    return (a(a, b, c), build) if a == b == c else None


def _typed_sums(
    _typing: Any, panels: Any, _base: Any, offsets: Any, factors: Any, _first: Any, _step: Any, _size: Any,
    out: Any, slots: Any, _row: Any, _stride: Any, _at: Any, _left: Any, _several: Any, _seeded: Any, _differences: Any,
) -> Any:  # fmt: skip
    """out[at + stride * slots[row] :] = the sums of a row with a chunk of points, added to out if seeded, in ``left`` values.

    The sums are of factors[f] * panels[base + offsets[f] :], or of (panels[...] - factors[...])^2, for first <= f < first +
    size. If there are ``several`` rows, each of the next ones has the same offsets and its factors ``step`` further on, so
    that each line of the panel is read once.
    """

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        vectors = Vectors(builder, panels.dtype)
        _, base, _, _, first, step, size, _, _, row, stride, at, left, several, seeded, differences = arguments
        panel, offset_of, factor_of, target, slot_of = (
            data_of(context, builder, signature.args[k], arguments[k]) for k in (0, 2, 3, 7, 8)
        )
        panel = builder.gep(panel, [base])

        def write_sums(count: int) -> None:
            lines, lists = [], []
            for r in range(count):
                slot = builder.load(builder.gep(slot_of, [builder.add(row, _INDEX(r))]))
                lines.append(builder.gep(target, [builder.add(at, builder.mul(stride, slot))]))
                lists.append(builder.gep(factor_of, [builder.add(first, builder.mul(step, _INDEX(r)))]))
            sums = [_register(builder, vectors.splat(0.0)) for _ in range(count)]
            with builder.if_then(seeded):
                for total, line in zip(sums, lines, strict=True):
                    builder.store(vectors.load_part(line, left), total)
            with builder.if_else(differences) as branches:
                for branch, is_difference in zip(branches, (True, False), strict=True):
                    with branch, cgutils.for_range(builder, size) as loop:
                        offset = builder.load(builder.gep(offset_of, [builder.add(first, loop.index)]))
                        x = vectors.load(builder.gep(panel, [builder.sext(offset, _INDEX)]))
                        for total, listed in zip(sums, lists, strict=True):
                            factor = vectors.splat(builder.load(builder.gep(listed, [loop.index])))
                            a = builder.fsub(x, factor) if is_difference else x
                            b = a if is_difference else factor
                            builder.store(vectors.fma(a, b, builder.load(total)), total)
            for total, line in zip(sums, lines, strict=True):
                vectors.store_part(builder.load(total), line, left)

        with builder.if_else(several) as (together, alone):
            with together:
                write_sums(ROWS)
            with alone:
                write_sums(1)
        return context.get_dummy_value()

    index, flag = types.intp, types.boolean
    numbers, flags = (index,) * 4, (flag,) * 3
    return types.void(panels, index, offsets, factors, index, index, index, out, slots, *numbers, *flags), build


def _typed_values(
    _typing: Any, out: Any, _at: Any, _left: Any, sq: Any, _column: Any, norm: Any, _mode: Any, gamma: Any, coef0: Any, _degree: Any
) -> Any:  # fmt: skip
    """Turn the sums out[at : at + left] of a row with points from ``column`` on into values of the kernel (mode, ..., degree).

    sq, norm : the squared norms of all points, and that of the row
    """

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        vectors = Vectors(builder, out.dtype)
        _, at, left, _, column, norm, mode, gamma, coef0, degree = arguments
        target, norms = (data_of(context, builder, signature.args[k], arguments[k]) for k in (0, 3))
        target, zero = builder.gep(target, [at]), vectors.splat(0.0)
        sums, width = vectors.load_part(target, left), vectors.splat(gamma)
        total = _register(builder, sums)
        with builder.if_else(builder.icmp_signed("==", mode, mode.type(POWER))) as (power, exponential):
            with power:
                base = builder.fadd(builder.fmul(width, sums), vectors.splat(coef0))
                builder.store(base, total)
                with cgutils.for_range(builder, builder.sub(degree, _INDEX(1))):
                    builder.store(builder.fmul(builder.load(total), base), total)
            with exponential:
                # exactly 0 for a point with itself; rounding must not give a kernel value above 1
                norms_of_points = vectors.load(builder.gep(norms, [column]))
                of_products = builder.fadd(builder.fsub(sums, vectors.splat(norm)), builder.fsub(sums, norms_of_points))
                of_products = builder.select(builder.fcmp_ordered(">", of_products, zero), zero, of_products)
                differences = builder.icmp_signed("==", mode, mode.type(RBF_OF_DIFFERENCES))
                distances = builder.select(differences, builder.fneg(sums), of_products)
                builder.store(vectors.exp(builder.fmul(width, distances)), total)
        vectors.store_part(builder.load(total), target, left)
        return context.get_dummy_value()

    index = types.intp
    return types.void(out, index, index, sq, index, norm, index, gamma, coef0, index), build


add_up: Any = intrinsic(_typed_sums)
to_values: Any = intrinsic(_typed_values)
fma: Any = intrinsic(_typed_fma)
