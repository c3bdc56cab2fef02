"""What compiled loops share, host's and plugins' alike: how they are compiled, extremes that vectorise, and sums of rows.

Public: ``from harness.support.jit import compiled``. Importing this imports numba, so do it in the modules of the loops, and
import those where they are first called.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from llvmlite import binding, ir  # type: ignore[import-untyped]
from numba import njit, types
from numba.extending import intrinsic

REGISTER_BYTES = (
    64 if binding.get_host_cpu_features().get("avx512f") else 32
)  # bytes of this machine's vector registers
_njit: Any = partial(njit, cache=True, nogil=True, error_model="numpy", no_cfunc_wrapper=True)
_STRIP = 8192  # of sums: they stay in the core's caches while all rows pass, in pieces long enough to be foreseen
_SUMS = {"nsz", "reassoc", "contract"}


def compiled(function: Callable[..., Any], **options: Any) -> Any:
    """Compile a loop: cached on disk, without the interpreter's lock, with numpy's division by zero; ``options`` are numba's."""
    return _njit(**options)(function)


def inner(function: Callable[..., Any], **options: Any) -> Any:
    """Compile a function that only compiled ones call.

    Half of the compile time of one that takes many arrays is their unpacking, for callers from Python.
    """
    return _njit(no_cpython_wrapper=True, **options)(function)


def inlined(function: Callable[..., Any], **options: Any) -> Any:
    """Compile a short function into those that call it: a state of a dozen arrays is a hundred arguments to a call."""
    return _njit(no_cpython_wrapper=True, forceinline=True, **options)(function)


def summing(function: Callable[..., Any]) -> Any:
    """Compile a loop whose sums may be reordered, else a running sum is not vectorised; infinities and NaN stay."""
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

    typed.__doc__ = f"Return ``{name}`` of two numbers of one float type, neither of them NaN."
    return intrinsic(typed)


# a reduction over Python's max is a branch, and not vectorised
larger: Any = _binary("llvm.maxnum")
smaller: Any = _binary("llvm.minnum")


@compiled
def seek(values: Any, wanted: Any) -> int:
    """Return where ``wanted`` first stands in ``values``; whole strips are compared first, without branches."""
    n = len(values)
    for start in range(0, n, 32):
        end = min(n, start + 32)
        hits = 0
        for k in range(start, end):
            hits += values[k] == wanted
        if hits:
            for k in range(start, end):
                if values[k] == wanted:
                    return k
    return 0


@inner
def copied(source: Any, begin: int, target: Any, at: int, size: int) -> None:
    """Copy source[begin : begin + size] to target[at:]; a slice assignment takes 1 s to compile, for its messages."""
    for k in range(size):
        target[at + k] = source[begin + k]


@summing
def add_rows(total: Any, rows: Any, slots: Any, weights: Any, start: int, stop: int) -> None:
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
