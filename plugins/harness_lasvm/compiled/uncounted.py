"""How loops are compiled that make and return no array: without numba's counts of the users of arrays.

A slice of a counted array costs two locked increments: a loop of a few hundred nanoseconds that slices ten arrays spends as long
on counting. The code for it takes a third of the time of a compilation. The caller of a loop has references to its arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from numba import njit

_njit: Any = partial(njit, cache=True, nogil=True, error_model="numpy", no_cfunc_wrapper=True, _nrt=False)


def compiled(function: Callable[..., Any]) -> Any:
    """Compile a loop as `harness.support.jit.compiled` does."""
    return _njit()(function)


def inner(function: Callable[..., Any]) -> Any:
    """Compile a function that only compiled ones call."""
    return _njit(no_cpython_wrapper=True)(function)


def inlined(function: Callable[..., Any]) -> Any:
    """Compile a short function into those that call it."""
    return _njit(no_cpython_wrapper=True, forceinline=True)(function)
