"""The host's own road to a solver's kernel: certificates, metrics and checks, of which the run's counter takes no note."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from harness.kernels.counter import Counter
from harness.kernels.matrices import Matrices

if TYPE_CHECKING:
    from harness.kernels.engine import Engine
    from harness.kernels.oracle import KernelOracle


@contextmanager
def uncounted(kernel: KernelOracle) -> Iterator[None]:
    """Let the host work with a solver's kernel (certificates, metrics): neither counted nor cached for the solver.

    Everything made from ``kernel`` meanwhile counts to a counter of its own as well, for good. What the solver made of
    it before, and works with in another thread, counts to the run.
    """
    names = ("_counter", "_buffer", "_diagonal", "_matrices", "_held")
    kept = {name: getattr(kernel, name) for name in names}
    own = {**kept, "_counter": Counter(), "_buffer": None, "_matrices": Matrices(), "_held": None}
    vars(kernel).update(own)
    try:
        yield
    finally:
        vars(kernel).update(kept)


def engine_of(kernel: KernelOracle) -> Engine:
    """Return ``kernel.engine`` to the host, which computes nothing for a solver: the counter takes no note of it."""
    return kernel._engine  # noqa: SLF001 - the host's own road, no solver's
