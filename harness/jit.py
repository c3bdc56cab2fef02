"""What compiled loops share, host's and plugins' alike: how they are compiled, and the extremes that vectorise.

Public: ``from harness.jit import compiled``. Importing this imports numba, so do it in the modules of the loops, and
import those where they are first called.

    compiled    what every loop is compiled with: kept on disk, without the interpreter's lock, numpy's division
    inner       the same for functions that only compiled ones call: half of the compile time of a function that takes
                many arrays is the unpacking of its arguments from Python
    summing     sums may be reordered, else a running sum is not vectorised; infinities and NaN keep their meaning
    fast        sums may be reordered, divisions become products, and no value is a NaN
    larger, smaller    of two numbers of one float type, neither a NaN, as one instruction: a reduction over Python's
                ``max`` is a branch, which is not vectorised
"""

from __future__ import annotations

from functools import partial
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import njit, types
from numba.extending import intrinsic

_settings: Any = partial(njit, cache=True, nogil=True, error_model="numpy")
_SUMS = {"nsz", "reassoc", "contract"}

compiled: Any = _settings()
inner: Any = _settings(no_cpython_wrapper=True, no_cfunc_wrapper=True)
summing: Any = _settings(fastmath=_SUMS)
fast: Any = _settings(fastmath=_SUMS | {"arcp", "nnan"})


def _binary(name: str) -> Any:
    """Return an intrinsic that calls LLVM's ``name`` on two floats of one type."""

    def typed(_typing: Any, a: Any, b: Any) -> Any:
        if a != b or a not in (types.float32, types.float64):
            return None

        def build(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            kind = arguments[0].type
            function = builder.module.declare_intrinsic(name, [kind], ir.FunctionType(kind, [kind, kind]))
            return builder.call(function, arguments, fastmath=("nnan", "nsz"))

        return a(a, b), build

    return intrinsic(typed)


larger: Any = _binary("llvm.maxnum")
smaller: Any = _binary("llvm.minnum")
