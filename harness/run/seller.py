"""Labels that are sold from one process to another: the worker's ledger, and what a solver's process asks it with.

The solver's process holds no labels: its worker sells them, one message a purchase, and keeps the ledger that the record
and the certificate go by. What that cannot prevent is a solver that reads the data from where the harness did: its file,
or ``load()`` of its source. So may whoever reads the memory of another process, or what a process has freed.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter, process_time  # by name: what is patched later is not this clock
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.errors import LabelsSpent
from harness.run.messages import BrokenStream, Buy, Message, Sold

if TYPE_CHECKING:
    from harness.arrays import Vector

AT_ONCE = 2048  # labels of a purchase: the answer, a byte each, fits in the 4,096 that a pipe takes whole or not at all
WAKING_SECONDS = 0.05  # that a process may sleep on after its answer is there, on a busy machine


class Seller:
    """The labels of one run, and the ledger of those that were bought. It trusts no buyer.

    bought : points in the order of purchase
    refused : why a purchase was refused, of the first one that was; empty if none was. The harness never asks for what
        it has to refuse: somebody else did
    """

    def __init__(self, labels: Vector, most: int) -> None:
        """Sell at most ``most`` of ``labels``, (n,) of -1 and +1, which are not copied: see :meth:`erase`."""
        self._labels, self.most = labels, most
        self._is_sold = np.zeros(len(labels), dtype=bool)
        self.bought: list[int] = []
        self.refused = ""

    def sell(self, indices: Any) -> Vector | None:
        """Return the labels of the points ``indices``, (m,), and enter them; None, and no entry, if that is refused."""
        n, left = len(self._labels), self.most - len(self.bought)
        if not self._are_for_sale(indices) or len(indices) > left:
            self.refused = self.refused or (
                f"asked for labels that it cannot have: of the points 0 to {n - 1}, each once, {left} of {self.most} were left"
            )
            return None
        self._is_sold[indices] = True
        self.bought.extend(indices.tolist())
        return np.asarray(self._labels[indices])

    def _are_for_sale(self, indices: Any) -> bool:
        """Return whether these are points, each once, whose labels have not been sold."""
        if not isinstance(indices, np.ndarray) or indices.ndim != 1 or indices.dtype.kind != "i":
            return False
        there = bool(np.all((indices >= 0) & (indices < len(self._labels))))
        return there and not self._is_sold[indices].any() and len(np.unique(indices)) == len(indices)

    def erase(self) -> None:
        """Overwrite the labels: in a forked process they are its own copy, and no part of it is left there."""
        self._labels.fill(np.nan)


class Buyer:
    """Who sells labels, as a solver's process sees it: passes a purchase on, and notes how long that took.

    seconds, cpu_seconds : that purchases took so far; they are on no clock of the solver's. A purchase that the worker
        says it answered at once takes no longer than a process needs to wake up: what is done meanwhile is on the clock
    """

    def __init__(self) -> None:
        self.seconds = self.cpu_seconds = 0.0
        self._waited = 0.0
        self._emit: Callable[[Message], None] | None = None
        self._receive: Callable[[], Message] | None = None

    def connect(self, emit: Callable[[Message], None], receive: Callable[[], Message]) -> None:
        """Take the way to the worker, in the process that it forked."""
        self._emit, self._receive = emit, receive

    def __call__(self, indices: Any) -> Vector:
        """Buy the labels of the points ``indices``, (m,), each once and none of them bought before.

        Raises
        ------
        LabelsSpent : the worker refuses, and says why.
        BrokenStream : there is no worker, or it said something else.
        """
        asked = np.ascontiguousarray(indices, dtype=np.int64)
        pieces = [asked[start : start + AT_ONCE] for start in range(0, len(asked), AT_ONCE)]
        return np.concatenate([np.zeros(0), *(self._piece(piece) for piece in pieces)])

    def _piece(self, indices: Any) -> Vector:
        if self._emit is None or self._receive is None:
            raise BrokenStream("no labels are sold here: this is not the process of a measured run")
        began, cpu_began = perf_counter(), process_time()
        self._emit(Buy(indices, self._waited))
        answer = self._receive()
        if not isinstance(answer, Sold):
            raise BrokenStream(f"the worker answered a purchase of labels with {type(answer).__name__}")
        self._waited = min(perf_counter() - began, answer.seconds + WAKING_SECONDS)
        self.seconds += self._waited
        self.cpu_seconds += min(process_time() - cpu_began, self._waited)
        if answer.labels is None or len(answer.labels) != len(indices):
            raise LabelsSpent(f"the labels of {len(indices)} points are not sold: the solver {answer.refused}.")
        return np.asarray(answer.labels, dtype=np.float64)
