"""Clocks of the work inside a solver: they stand still while numba compiles, targets are queried, or the host looks at a model.

They are the clocks of a run's record. A solver or host code that reports seconds of its own takes them by these clocks, so that
they are parts of ``fit_seconds``.
"""

from __future__ import annotations

from time import perf_counter, process_time  # by name: what is patched later is not this clock

_off = [0.0, 0.0]  # seconds of wall and of CPU time that are on neither clock


def fit_clock() -> float:
    """Return wall seconds inside the solver, from an arbitrary beginning."""
    return perf_counter() - _off[0]


def fit_cpu_clock() -> float:
    """Return CPU seconds of this process inside the solver, from an arbitrary beginning."""
    return process_time() - _off[1]


def take_off(seconds: float, cpu_seconds: float) -> None:
    """Take what is no work of the solver, and has ended, off both clocks."""
    _off[0] += seconds
    _off[1] += cpu_seconds
