"""Whole kernel matrices that oracles keep, in memory that the next one takes over when nobody reads the last one any more.

A large array is fresh memory each time, and costs a page fault every 4 kB: for a matrix of some thousand points as much
time as its values.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from harness.arrays import Block
    from harness.kernels.oracle import KernelOracle

_SPARED = 0.5  # of a piece of memory that must be used for it to be taken over
_KEPT = 2  # pieces without a reader at most


class Memory:
    """Pieces of memory for arrays, each with its reader."""

    def __init__(self) -> None:
        self._pieces: list[tuple[Any, weakref.ref[Any]]] = []

    def empty(self, shape: tuple[int, int], dtype: np.dtype[Any]) -> Block:
        """Return an array with any content; its memory is another one's when it and all views of it are gone."""
        size = shape[0] * shape[1] * dtype.itemsize
        # of an array over memory that is no array's, every view knows that array: none is left when its reference is dead
        free = [piece for piece, reader in self._pieces if reader() is None]
        fitting = [piece for piece in free if _SPARED * len(piece) <= size <= len(piece)]
        piece = min(fitting, key=len) if fitting else np.empty(max(1, size), dtype=np.uint8).data
        found: Block = np.frombuffer(piece, dtype=dtype, count=shape[0] * shape[1]).reshape(shape)
        others = [each for each in self._pieces if each[0] is not piece]
        held = [each for each in others if each[1]() is not None]
        spare = [each for each in others if each[1]() is None][-_KEPT:]
        self._pieces = [*spare, *held, (piece, weakref.ref(found if found.base is None else _owner(found)))]
        return found


def _owner(values: Block) -> Any:
    """Return the array over foreign memory that a view is of."""
    while isinstance(values.base, np.ndarray):
        values = values.base
    return values


class Matrices:
    """The matrix of each dtype that an oracle and its views of the same values have computed.

    memory : shared with the oracles that come after it
    """

    def __init__(self, memory: Memory | None = None) -> None:
        self._memory = memory or Memory()
        self._kept: dict[np.dtype[Any], Block] = {}

    def of(self, kernel: KernelOracle) -> Block:
        """Return K of an oracle, (n, n) of its dtype, read-only: counted when it is computed, then n cache hits."""
        if kernel.dtype in self._kept:
            kernel.counter.cache_hits += kernel.n
        else:
            values = self._memory.empty((kernel.n, kernel.n), kernel.dtype)
            kernel.fill(np.arange(kernel.n), values)
            values.flags.writeable = False
            self._kept[kernel.dtype] = values.view()
        return self._kept[kernel.dtype]

    def of_view(self, *, same_values: bool) -> Matrices:
        """Return this for an oracle of the same values, an empty one for one of others."""
        return self if same_values else Matrices(self._memory)
