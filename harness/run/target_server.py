"""Targets that a solver must query (`Problem.queries_targets`): the worker's ledger, and the client in the solver's process.

The solver's process holds no targets. Its problem queries them through a client, one message a query, and the worker's
ledger is what the record and the certificate go by. This cannot prevent a solver from reading the data where the harness
did: from the file, from ``load()`` of the source, or from memory that a process has freed.

A formulation that queries targets takes a callable in the place of ``targets``, points -> their targets, and has
``query(indices)``, ``queried`` (points in the order of their queries) and ``target_budget`` (most targets of a run).
"""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter, thread_time  # by name: what is patched later is not this clock
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.run.channel import BrokenStream, Channel
from harness.run.messages import Emit, Receive, TargetReply, TargetRequest
from harness.support.clocks import take_off
from harness.support.errors import UsageError

if TYPE_CHECKING:
    from harness.support.arrays import Vector

QUERY_POINTS = 480  # most points of a query: a socket takes a reply of up to 4,096 bytes whole or not at all


class TargetServer:
    """The targets of one run, in the worker, and the ledger of those that were queried. It trusts no client.

    queried : points in the order of their queries
    refusal : why the first query that was refused was refused; empty if none was. `TargetClient` never sends such a query
    seconds : that queries took the client
    """

    def __init__(self, targets: Any = (), budget: int = 0) -> None:
        """Serve at most ``budget`` of ``targets``, (n,)."""
        self._targets, self.budget = np.asarray(targets), budget
        self._is_queried = np.zeros(len(self._targets), dtype=bool)
        self.queried: list[int] = []
        self.refusal = ""
        self.seconds = 0.0

    def query(self, indices: Any) -> Vector | None:
        """Return the targets of the points ``indices``, (m,), and enter them; None, and no entry, if that is refused."""
        n, left = len(self._targets), self.budget - len(self.queried)
        is_new = indices.dtype.kind == "i" and len(np.unique(indices)) == len(indices) <= left
        is_new = is_new and bool(np.all((indices >= 0) & (indices < n))) and not self._is_queried[indices].any()
        if not is_new:
            of = f"of the points 0 to {n - 1}, each once, {left} of {self.budget} were left"
            self.refusal = self.refusal or f"it queried targets that it cannot have: {of}"
            return None
        self._is_queried[indices] = True
        self.queried.extend(indices.tolist())
        return np.asarray(self._targets[indices])

    def serve(self, request: TargetRequest, channel: Channel) -> None:
        """Send the reply to a request; BrokenStream if nobody reads it."""
        self.seconds = request.waited
        try:
            channel.send(TargetReply(self.query(request.indices), self.refusal))
        except OSError:
            raise BrokenStream("a query of targets, and nobody read the reply") from None


class TargetClient:
    """The server as a solver's process sees it: sends a query, and notes how long the reply took.

    seconds : that queries took so far; they are on no clock of the solver's
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self._emit: Emit | None = None
        self._receive: Receive | None = None

    def connect(self, emit: Emit, receive: Receive) -> None:
        """Send queries to the worker from now on, in the process that it forked."""
        self._emit, self._receive = emit, receive

    def __call__(self, indices: Any) -> Vector:
        """Return the targets of the points ``indices``, (m,), each once and none of them queried before.

        Raises
        ------
        UsageError : the worker refuses, and says why.
        BrokenStream : there is no worker.
        """
        points = np.ascontiguousarray(indices, dtype=np.int64)
        pieces = [points[start : start + QUERY_POINTS] for start in range(0, len(points), QUERY_POINTS)]
        return np.concatenate([np.zeros(0), *(self._query(piece) for piece in pieces)])

    def _query(self, indices: Any) -> Vector:
        if self._emit is None or self._receive is None:
            raise BrokenStream("no targets are served here: this is not the process of a measured run")
        began, cpu_began = perf_counter(), thread_time()
        self._emit(TargetRequest(indices, self.seconds))
        reply = self._receive()
        waited = perf_counter() - began
        self.seconds += waited
        take_off(waited, thread_time() - cpu_began)
        if reply.targets is None or len(reply.targets) != len(indices):
            raise UsageError(f"the targets of {len(indices)} points are refused: {reply.refusal}.")
        return np.asarray(reply.targets, dtype=np.float64)


def only_queried(targets: Vector, queried: Sequence[int]) -> Vector:
    """Return the targets, (n,), of the points that were queried, and NaN elsewhere."""
    known = np.full(len(targets), np.nan)
    known[queried] = targets[queried]
    return known
