"""What compiled loops share, host's and plugins' alike: how they are compiled, and the extremes that vectorise.

Public: ``from harness.jit import compiled``. Importing this imports numba, so do it in the modules of the loops, and
import those where they are first called.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import njit, types
from numba.extending import intrinsic

_njit: Any = partial(njit, cache=True, nogil=True, error_model="numpy")
_SUMS = {"nsz", "reassoc", "contract"}


def compiled(function: Callable[..., Any]) -> Any:
    """Compile a loop: kept on disk, without the interpreter's lock, with numpy's division by zero."""
    return _njit()(function)


def inner(function: Callable[..., Any]) -> Any:
    """Compile a function that only compiled ones call.

    Half of the compile time of one that takes many arrays is their unpacking, for callers from Python.
    """
    return _njit(no_cpython_wrapper=True, no_cfunc_wrapper=True)(function)


def inlined(function: Callable[..., Any]) -> Any:
    """Compile a short function into those that call it: a state of a dozen arrays is a hundred arguments to a call."""
    return _njit(no_cpython_wrapper=True, no_cfunc_wrapper=True, forceinline=True)(function)


def summing(function: Callable[..., Any]) -> Any:
    """Compile a loop whose sums may be reordered, else a running sum is not vectorised; infinities and NaN are kept."""
    return _njit(fastmath=_SUMS)(function)


def fast(function: Callable[..., Any]) -> Any:
    """Compile a loop in which no value is NaN, sums may be reordered and divisions become products."""
    return _njit(fastmath=_SUMS | {"arcp", "nnan"})(function)


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


# of two numbers of one float type, neither of them NaN: a reduction over Python's max is a branch, and not vectorised
larger: Any = _binary("llvm.maxnum")
smaller: Any = _binary("llvm.minnum")
