"""The two passes of a step of SMO, on vectors: what the step changes, and which partner gains most.

LLVM vectorises the extremes of a loop, but not where they are: here each element of a vector remembers the variable, and nothing
is searched for after a pass. Gains are compared as fractions, as divisions would take longer than all the rest.

Both passes take the arrays of a descent, (rise, fall, diagonal, kernel, zeros), numbers, and at last variables begin, end, first:
they work on [begin, end), and a kernel row, which is ``zeros`` for a negative point, starts at the variable ``first``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from harness.support.jit import REGISTER_BYTES

# bytes of a vector: two registers, which need not wait for each other; one of AVX-512 1.1 to 1.3 times as long, four of AVX2,
# which has sixteen, 1.3 to 1.7 times
_VECTOR_BYTES = 2 * REGISTER_BYTES
TINY = 1e-12  # curvature in place of 0: two points on top of each other
_INTEGER, _NUMBER = types.int64, types.float64
_INDEX, _INFINITY = ir.IntType(64), float("inf")
_variable: Any = cgutils.alloca_once_value
_tuple: Any = types.Tuple
_unpack: Any = cgutils.unpack_tuple


class _Pass:
    """Builds a pass over variables on vectors of numbers of the kernel's dtype."""

    def __init__(self, context: Any, builder: Any, signature: Any, arguments: Any) -> None:
        self.context, self.builder, self.signature, self.arguments = context, builder, signature, arguments
        kinds, values = signature.args[0].types, _unpack(builder, arguments[0])
        arrays = [context.make_array(kind)(context, builder, value) for kind, value in zip(kinds, values, strict=True)]
        self.rise, self.fall, self.diagonal, self.kernel, self.zeros = (each.data for each in arrays)
        self.length, self.dtype = builder.extract_value(arrays[3].shape, 1), kinds[0].dtype
        self.scalar, self.size = (ir.FloatType(), 4) if self.dtype == types.float32 else (ir.DoubleType(), 8)
        self.width, self.align = _VECTOR_BYTES // self.size, ir.IntType(32)(self.size)
        self.vector = ir.VectorType(self.scalar, self.width)
        self.places = ir.VectorType(ir.IntType(8 * self.size), self.width)  # as wide as the numbers

    def splat(self, value: Any) -> Any:
        """Return the vector whose elements are all ``value``, a number or a scalar of the builder."""
        scalar = self.scalar(value) if isinstance(value, float) else value
        empty = ir.Constant(ir.VectorType(scalar.type, self.width), ir.Undefined)
        first = self.builder.insert_element(empty, scalar, ir.IntType(32)(0))
        return self.builder.shuffle_vector(first, empty, ir.Constant(ir.VectorType(ir.IntType(32), self.width), None))

    def number(self, k: int) -> Any:
        """Return the vector whose elements are all argument ``k``."""
        return self.splat(self.context.cast(self.builder, self.arguments[k], types.float64, self.dtype))

    def row(self, point: Any) -> Any:
        """Return the address of a kernel row."""
        address = self.builder.gep(self.kernel, [self.builder.mul(point, self.length)])
        return self.builder.select(self.builder.icmp_signed("<", point, _INDEX(0)), self.zeros, address)

    def load(self, data: Any, start: Any, mask: Any, otherwise: float = 0.0) -> Any:
        """Return the elements of ``mask``, all if it is None, from ``start`` on, and ``otherwise`` for the others."""
        address = self._address(data, start)
        if mask is None:
            return self.builder.load(address, align=self.size)
        return self.call("masked.load", self.vector, address, self.align, mask, self.splat(otherwise))

    def store(self, vector: Any, data: Any, start: Any, mask: Any) -> None:
        address = self._address(data, start)
        if mask is None:
            self.builder.store(vector, address, align=self.size)
        else:
            self.call("masked.store", ir.VoidType(), vector, address, self.align, mask)

    def _address(self, data: Any, start: Any) -> Any:
        return self.builder.bitcast(self.builder.gep(data, [start]), self.vector.as_pointer())

    def call(self, name: str, result: Any, *arguments: Any) -> Any:
        """Call LLVM's ``name`` on vectors; its full name is made from the types."""
        kind = "i" if name.endswith("umin") else "f"
        full = f"llvm.{name}.v{self.width}{kind}{8 * self.size}{'.p0' if name.startswith('masked') else ''}"
        signature = ir.FunctionType(result, [each.type for each in arguments])
        function = cgutils.get_or_insert_function(self.builder.module, signature, full)  # type: ignore[no-untyped-call]
        return self.builder.call(function, arguments, fastmath=("nnan",) if "reduce.f" in name else ())

    def run(self, work: Callable[[Any, Any, Any, Any], None]) -> None:
        """Build ``work(start, of row, places, mask)`` for each vector; the mask is None where all elements are used."""
        build, (begin, end, first) = self.builder, self.arguments[-3:]
        elements = ir.Constant(self.places, list(range(self.width)))

        def narrowed(value: Any) -> Any:
            return self.splat(value if self.size == 8 else build.trunc(value, self.places.element))

        def step(start: Any, mask: Any) -> None:
            work(start, build.sub(start, first), build.add(narrowed(start), elements), mask)

        whole = build.add(begin, build.and_(build.sub(end, begin), _INDEX(-self.width)))
        with cgutils.for_range_slice(build, begin, whole, _INDEX(self.width), _INDEX) as (start, _):
            step(start, None)
        with build.if_then(build.icmp_signed("<", whole, end)):
            step(whole, build.icmp_signed("<", elements, narrowed(build.sub(end, whole))))

    def result(self, values: Any, places: Any, *more: Any) -> Any:
        """Return the tuple of the first place with the largest value, that value, and ``more`` numbers."""
        build, none = self.builder, ir.Constant(self.places, [-1] * self.width)
        largest = self.call("vector.reduce.fmax", self.scalar, values)
        where = build.select(build.fcmp_ordered("==", values, self.splat(largest)), places, none)
        place = build.zext(self.call("vector.reduce.umin", self.places.element, where), _INDEX)
        numbers = [self.context.cast(build, value, self.dtype, types.float64) for value in (largest, *more)]
        return self.context.make_tuple(build, self.signature.return_type, [place, *numbers])


def _typed_move(_typing: Any, arrays: Any, _step: Any, _i: Any, _j: Any, _begin: Any, _end: Any, _first: Any) -> Any:
    """Subtract step (K_i - K_j) from rise and fall; return where the largest rise is, that, and the smallest fall."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        over, b = _Pass(context, builder, signature, arguments), builder
        step, rows = over.number(1), [over.row(point) for point in arguments[2:4]]
        up, low = (_variable(b, over.splat(end)) for end in (-_INFINITY, _INFINITY))
        where = _variable(b, ir.Constant(over.places, None))

        def work(start: Any, of_row: Any, places: Any, mask: Any) -> None:
            x_i, x_j = (over.load(row, of_row, mask) for row in rows)
            change, moved = b.fmul(step, b.fsub(x_i, x_j), flags=("contract",)), []
            for slopes, none in ((over.rise, -_INFINITY), (over.fall, _INFINITY)):
                moved.append(b.fsub(over.load(slopes, start, mask, none), change, flags=("contract",)))
                over.store(moved[-1], slopes, start, mask)
            higher, lower = b.fcmp_ordered(">", moved[0], b.load(up)), b.fcmp_ordered("<", moved[1], b.load(low))
            b.store(b.select(higher, places, b.load(where)), where)
            b.store(b.select(higher, moved[0], b.load(up)), up)
            b.store(b.select(lower, moved[1], b.load(low)), low)

        over.run(work)
        return over.result(b.load(up), b.load(where), over.call("vector.reduce.fmin", over.scalar, b.load(low)))

    return _tuple((_INTEGER, _NUMBER, _NUMBER))(arrays, _NUMBER, *(_INTEGER,) * 5), build


def _typed_partner(_typing: Any, arrays: Any, _g: Any, _k: Any, _i: Any, _begin: Any, _end: Any, _first: Any) -> Any:
    """Return the k with the largest (g_i - g_k)^2 / (K_ii + K_kk - 2 K_ik), and that, 0 where no g_k < g_i."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        over, b = _Pass(context, builder, signature, arguments), builder
        g_i, k_ii, row = over.number(1), over.number(2), over.row(arguments[3])
        tiny, zero = over.splat(TINY), over.splat(0.0)
        where = _variable(b, ir.Constant(over.places, None))
        square, curvature = _variable(b, zero), _variable(b, over.splat(1.0))  # of the largest gain

        def work(start: Any, of_row: Any, places: Any, mask: Any) -> None:
            k_kk, k_ik = over.load(over.diagonal, of_row, mask), over.load(row, of_row, mask)
            slope = b.fsub(g_i, over.load(over.fall, start, mask, _INFINITY))
            slope = b.select(b.fcmp_ordered(">", slope, zero), slope, zero)
            bend = b.fsub(b.fadd(k_ii, k_kk), b.fadd(k_ik, k_ik))
            bend = b.select(b.fcmp_ordered(">", bend, tiny), bend, tiny)
            gain = b.fmul(slope, slope)
            more = b.fcmp_ordered(">", b.fmul(gain, b.load(curvature)), b.fmul(b.load(square), bend))
            for new, variable in ((places, where), (gain, square), (bend, curvature)):
                b.store(b.select(more, new, b.load(variable)), variable)

        over.run(work)
        return over.result(b.fdiv(b.load(square), b.load(curvature)), b.load(where))

    return _tuple((_INTEGER, _NUMBER))(arrays, _NUMBER, _NUMBER, *(_INTEGER,) * 4), build


move: Any = intrinsic(_typed_move)
partner: Any = intrinsic(_typed_partner)
