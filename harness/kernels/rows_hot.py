"""The compiled loop that hands held rows out. Importing this imports numba."""

from __future__ import annotations

from harness.jit import compiled


@compiled
def copy_rows(source, rows, out, slots):  # type: ignore[no-untyped-def]
    """Copy source[rows[q]], (n,), to out[slots[q], :n]; both C-ordered and of one dtype."""
    n = source.shape[1]
    for q in range(len(rows)):
        out[slots[q], :n] = source[rows[q]]
