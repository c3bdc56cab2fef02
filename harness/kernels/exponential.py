"""e^x for x <= 0 at the speed of the vector units: what is left of an RBF kernel in few dimensions.

x = k ln 2 + r with an integer k and |r| <= ln 2 / 2 (Cody & Waite 1980, ln 2 in two parts); e^r = 1 + r + r^2 q(r), q of
degree 4 (float32) or 9 (float64) through the Chebyshev nodes; 2^k is put together from its bits. The exponent's
smallest value is a normal number: below -87 (float32) and -708 (float64) the result is 0.
"""

from __future__ import annotations

from typing import Any

import numba as nb
import numpy as np
from numba import types
from numba.extending import intrinsic

from harness.kernels.simd import VECTOR_BYTES, Lanes, data_of, no_value


def _typed_exp(_typing: Any, source: Any, target: Any, _start: Any) -> Any:
    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointers = [data_of(context, builder, signature.args[k], arguments[k]) for k in (0, 1)]
        lanes = Lanes(builder, signature.args[0].dtype)
        lanes.store(lanes.exp(lanes.load(pointers[0], arguments[2])), pointers[1], arguments[2])
        return no_value(context)

    return types.void(source, target, types.intp), build


_exp_vector: Any = intrinsic(_typed_exp)


@nb.njit(cache=True, nogil=True)
def exp_of_nonpositive(values, out):  # type: ignore[no-untyped-def]
    """Write e^values to ``out``; contiguous 1-D arrays of float32 or float64, which may be the same.

    values : at most 0; -inf and what is below the cutoff give 0, NaN gives NaN
    Within 1.2 ulp of e^x on [cutoff, 0], and at most 1.
    """
    width = VECTOR_BYTES // values.itemsize
    whole = values.size - values.size % width
    for start in range(0, whole, width):
        _exp_vector(values, out, start)
    if whole < values.size:
        rest = np.zeros(width, values.dtype)
        rest[: values.size - whole] = values[whole:]
        _exp_vector(rest, rest, 0)
        out[whole:] = rest[: values.size - whole]
