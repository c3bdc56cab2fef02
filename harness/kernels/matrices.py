"""Whole kernel matrices, and rows that several problems share, in memory that is taken over when nobody reads it any more.

A large array is fresh memory each time, and costs a page fault every 4 kB: for a matrix of some thousand points as much
time as its values.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from harness.arrays import Block
    from harness.kernels.counter import Counter
    from harness.kernels.engine import Engine
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


class HeldRows:
    """Rows k(x_i, .) over one set of points, held for all who ask for them: the problems of a path that share its kernel.

    They are those of k itself: a ridge and a product are added to what is handed out.

    Parameters
    ----------
    memory : shared with whoever comes after it
    most_bytes : memory for the rows of all dtypes together; those of a dtype are held if all of them fit
    """

    def __init__(self, memory: Memory, most_bytes: float) -> None:
        self._memory, self._left = memory, most_bytes
        self._kept: dict[np.dtype[Any], tuple[Block, Block]] = {}  # the rows, and which of them are there

    def take(self, engine: Engine) -> bool:
        """Return whether rows of the engine's dtype are held."""
        size = engine.n * engine.n * engine.dtype.itemsize
        if engine.dtype not in self._kept:
            if size > self._left:
                return False
            self._left -= size
            rows = self._memory.empty((engine.n, engine.n), engine.dtype)
            self._kept[engine.dtype] = rows, np.zeros(engine.n, dtype=bool)
        return True

    def rows(self, engine: Engine, wanted: Block, counter: Counter) -> Block:
        """Return (n, n) in which the rows ``wanted`` are there: computed and counted, or hits."""
        rows, there = self._kept[engine.dtype]
        missing = np.unique(wanted[~there[wanted]])
        counter.evaluations += engine.n * len(missing)
        counter.cache_hits += len(wanted) - len(missing)
        if len(missing):
            engine.fill(missing, rows, missing, None, None)
            there[missing] = True
        return rows

    def fill(self, engine: Engine, wanted: Block, out: Block, slots: Block, counter: Counter) -> None:
        """Copy rows to ``out[slots, :n]``."""
        from harness.kernels.rows_hot import copy_rows

        copy_rows(self.rows(engine, wanted, counter), wanted, out, slots)

    def expand(self, engine: Engine, support: Block, coef: Block, counter: Counter) -> Block:
        """Return sum_j coef_j K[support_j, :], (n,) float64."""
        from harness.jit import add_rows

        scores = np.zeros(engine.n)
        add_rows(scores, self.rows(engine, support, counter), support, coef, 0, engine.n)
        return scores

    def whole(self, engine: Engine, counter: Counter) -> Block:
        """Return all rows, (n, n), read-only."""
        values = self.rows(engine, np.arange(engine.n), counter).view()
        values.flags.writeable = False
        return values


class Matrices:
    """The matrix of each dtype that an oracle and its views of the same values have computed."""

    def __init__(self) -> None:
        self._kept: dict[np.dtype[Any], Block] = {}

    def of(self, kernel: KernelOracle) -> Block:
        """Return K of an oracle, (n, n) of its dtype, read-only: counted when it is computed, then n cache hits."""
        if kernel.dtype in self._kept:
            kernel.counter.cache_hits += kernel.n
        else:
            values = np.empty((kernel.n, kernel.n), dtype=kernel.dtype)
            kernel.fill(np.arange(kernel.n), values)
            values.flags.writeable = False
            self._kept[kernel.dtype] = values.view()
        return self._kept[kernel.dtype]
