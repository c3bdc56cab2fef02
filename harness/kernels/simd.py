"""Explicit vectors of a fixed width for compiled loops that the loop vectoriser does not vectorise.

Used inside numba intrinsics only. One AVX-512 register a vector: the compiler splits it on smaller machines.
"""

from __future__ import annotations

from typing import Any

from llvmlite import binding, ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils

VECTOR_BYTES = 64
CHUNK_BYTES = 256  # 8 AVX2 registers: two fused multiply-adds a cycle, each four cycles long, keep 8 sums in flight
# rows that share each line read of a chunk: their sums fill half of the registers of AVX-512, and all of AVX2's for one
ROWS = 4 if binding.get_host_cpu_features().get("avx512f") else 1


class Lanes:
    """Builds operations on vectors of one element type.

    Parameters
    ----------
    builder : where the instructions go
    element : numba's float32 or float64
    """

    def __init__(self, builder: Any, element: Any) -> None:
        self.builder = builder
        self.single = element == types.float32
        self.scalar = ir.FloatType() if self.single else ir.DoubleType()
        self.itemsize = 4 if self.single else 8
        self.width = VECTOR_BYTES // self.itemsize
        self.per_chunk = CHUNK_BYTES // VECTOR_BYTES
        self.vector = ir.VectorType(self.scalar, self.width)
        self.bits = ir.VectorType(ir.IntType(8 * self.itemsize), self.width)
        self.integer = ir.IntType(8 * self.itemsize)

    def constant(self, value: float) -> Any:
        """Return the vector whose elements are all ``value``."""
        return ir.Constant(self.vector, [ir.Constant(self.scalar, value)] * self.width)

    def splat(self, value: Any) -> Any:
        """Return the vector whose elements are all the scalar ``value``."""
        first = self.builder.insert_element(ir.Constant(self.vector, ir.Undefined), value, ir.IntType(32)(0))
        order = ir.Constant(ir.VectorType(ir.IntType(32), self.width), [0] * self.width)
        return self.builder.shuffle_vector(first, ir.Constant(self.vector, ir.Undefined), order)

    def at(self, pointer: Any, offset: Any) -> Any:
        """Return the pointer to the vector that begins at element ``offset``."""
        return self.builder.bitcast(self.builder.gep(pointer, [offset]), self.vector.as_pointer())

    def load(self, pointer: Any, offset: Any) -> Any:
        """Return the vector that begins at element ``offset``, which need not be aligned."""
        return self.builder.load(self.at(pointer, offset), align=self.itemsize)

    def store(self, vector: Any, pointer: Any, offset: Any) -> None:
        """Write the vector from element ``offset`` on."""
        self.builder.store(vector, self.at(pointer, offset), align=self.itemsize)

    def fma(self, a: Any, b: Any, c: Any) -> Any:
        """Return a b + c, fused where the machine can."""
        kind = ir.FunctionType(self.vector, [self.vector] * 3)
        name = f"llvm.fmuladd.v{self.width}f{8 * self.itemsize}"
        function = cgutils.get_or_insert_function(self.builder.module, kind, name)  # type: ignore[no-untyped-call]
        return self.builder.call(function, [a, b, c])

    def exp(self, x: Any) -> Any:
        """Return e^x for x <= 0: -inf and values below the cutoff give 0, NaN gives NaN.

        x = k ln 2 + r with an integer k and |r| <= ln 2 / 2 (Cody & Waite 1980, ln 2 in two parts); e^r = 1 + r + r^2 q(r),
        q of degree 4 (float32) or 9 (float64) through the Chebyshev nodes; 2^k is put together from its bits. Within 1.2
        ulp of e^x on [cutoff, 0], -87 (float32) or -708 (float64), and at most 1.
        """
        build = self.builder
        magic, shift, cutoff, high, low, coefficients = _EXP32 if self.single else _EXP64
        shifted = self.fma(x, self.constant(1.4426950408889634), self.constant(magic))
        turns = build.fsub(shifted, self.constant(magic))
        rest = self.fma(turns, self.constant(-low), self.fma(turns, self.constant(-high), x))
        tail = self.constant(coefficients[-1])
        for coefficient in coefficients[-2::-1]:
            tail = self.fma(tail, rest, self.constant(coefficient))
        mantissa = build.fadd(self.fma(build.fmul(rest, rest), tail, rest), self.constant(1.0))
        exponent = build.shl(
            build.bitcast(shifted, self.bits), ir.Constant(self.bits, [ir.Constant(self.integer, shift)] * self.width)
        )
        one = build.bitcast(self.constant(1.0), self.bits)
        power = build.bitcast(build.add(exponent, one), self.vector)
        tiny = build.fcmp_ordered("<", x, self.constant(cutoff))
        return build.select(tiny, self.constant(0.0), build.fmul(mantissa, power))


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
        0.00019841269863105968, 2.480152119021773e-05, 2.7557268378684192e-06, 2.7620138719733994e-07,
        2.5100424157005067e-08,
    ),
)  # fmt: skip


def data_of(context: Any, builder: Any, array_type: Any, array: Any) -> Any:
    """Return the pointer to an array's first element."""
    return context.make_array(array_type)(context, builder, value=array).data


def no_value(context: Any) -> Any:
    """Return what an intrinsic without a result returns."""
    return context.get_dummy_value()
