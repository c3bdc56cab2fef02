"""A square of values turned in registers: what stands in rows of the pool, as columns for other rows."""

from __future__ import annotations

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic

SIDE = 8  # values of a square's side: one AVX2 register of float32


def _turn(_typing: Any, pool: Any, bases: Any, _first: Any, _column: Any, out: Any, _at: Any, _width: Any) -> Any:
    """Write out[at + k width + q] = pool[bases[first + q] + column + k] for q, k < SIDE."""

    def build(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        source, begin, target = (
            context.make_array(kind)(context, builder, value=arguments[k]).data
            for k, kind in ((0, pool), (1, bases), (4, out))
        )
        first, column, at, width = (arguments[k] for k in (2, 3, 5, 6))
        size = pool.dtype.bitwidth // 8
        index, lane = ir.IntType(64), ir.IntType(32)
        vector = ir.VectorType(source.type.pointee, SIDE).as_pointer()

        def mask(start: int) -> Any:
            return ir.Constant(ir.VectorType(lane, SIDE), [start + k // 2 + k % 2 * SIDE for k in range(SIDE)])

        lines = []
        for q in range(SIDE):
            base = builder.load(builder.gep(begin, [builder.add(first, index(q))]))
            place = builder.bitcast(builder.gep(source, [builder.add(base, column)]), vector)
            lines.append(builder.load(place, align=size))
        for _ in range(SIDE.bit_length() - 1):  # each interleaves the first half of the lines with the second
            pairs = list(zip(lines[: SIDE // 2], lines[SIDE // 2 :], strict=True))
            lines = [builder.shuffle_vector(*pair, mask(half)) for pair in pairs for half in (0, SIDE // 2)]
        for k, line in enumerate(lines):
            place = builder.gep(target, [builder.add(at, builder.mul(width, index(k)))])
            builder.store(line, builder.bitcast(place, vector), align=size)
        return context.get_dummy_value()

    index = types.intp
    return types.void(pool, bases, index, index, out, index, index), build


turn: Any = intrinsic(_turn)
