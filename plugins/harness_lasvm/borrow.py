"""Arrays without a count of their users, for the compiled loops: each slice costs two locked increments else.

A loop of a few hundred nanoseconds that slices ten arrays spends as long on counting. Whoever calls a compiled
function holds its arguments until it returns, so that inside nothing needs to be counted.
"""

from __future__ import annotations

from typing import Any

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from harness_lasvm.scans import hot_loop
from harness_lasvm.state import Box, Members


@intrinsic
def borrowed(_context: Any, array: Any) -> Any:
    """Return the same array, uncounted: it must not outlive the call it was given to."""
    if not isinstance(array, types.Array):
        return None

    def build(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        view = cgutils.create_struct_proxy(array)(context, builder, value=arguments[0])
        view.meminfo = cgutils.get_null_value(view.meminfo.type)
        return view._getvalue()  # noqa: SLF001 (numba names it so)

    return array(array), build


@hot_loop
def borrowed_members(x):  # type: ignore[no-untyped-def]
    """Return the same state, its arrays uncounted."""
    return Members(
        borrowed(x.slots),
        borrowed(x.reals),
        borrowed(x.ways),
        borrowed(x.rows),
        borrowed(x.lists),
        borrowed(x.log),
        borrowed(x.coef),
        borrowed(x.pool),
        borrowed(x.counts),
        borrowed(x.extremes),
    )


@hot_loop
def borrowed_box(box):  # type: ignore[no-untyped-def]
    """Return the same box, its arrays uncounted."""
    return Box(borrowed(box.targets), borrowed(box.lower), borrowed(box.upper), borrowed(box.diagonal))
