"""The warm-up of a solver: it runs on a few points before the measured run, so that compilation is off the clock.

A run of a compiled solver costs 0.03 s of CPU time where the process that it is forked from has the machine code in memory,
and 0.3 s where its own process loads it from the disk. A worker has one :class:`WarmUp` for each configuration of a
solver and layout of data, in one of these states:

NEW     nothing is known: a child of the worker tries it, and what it compiles is on the disk
SAFE    a child got through it: the worker itself may run it
WARM    the worker ran it: its children have the machine code in memory
UNSAFE  it raised, left something behind, used code that nobody declared or ended a child: the worker does not run it
FAILED  it ended the child of a run, or was not over in time: runs are measured without it

Machine code on the disk outlives the worker, and so does SAFE: a mark beside the machine code names it.
While the code of a solver runs here, no frame of the stack has more of the data than the few points.
"""

from __future__ import annotations

import contextlib
import enum
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.measure.drive import Clocks, drive
from harness.measure.outcome import Limits
from harness.measure.path_drive import drive_path
from harness.problems.problem import Problem
from harness.run.messages import Warm
from harness.solver.path import SolutionPath
from harness.support.errors import UsageError
from harness.support.processes import count_threads

if TYPE_CHECKING:
    from harness.solver.protocol import Solver

_POINTS = 32  # number of points, of two classes
_YIELDS = 50  # most yields of one warm-up
_SECONDS = 5.0  # seconds that all warm-ups of a solver may take together, without compilation


class State(enum.Enum):
    """What is known of a warm-up."""

    NEW = enum.auto()
    SAFE = enum.auto()
    WARM = enum.auto()
    UNSAFE = enum.auto()
    FAILED = enum.auto()


@dataclass
class WarmUp:
    """What a worker knows of one warm-up.

    state : one of those above
    seconds : that it took in the worker
    unreported_seconds : that it took in the child that tried it, until a run reports them
    """

    state: State = State.NEW
    seconds: float = 0.0
    unreported_seconds: float = 0.0

    def reported_seconds(self, seconds: float) -> float:
        """Return the seconds of the warm-up that a run reports, whose own child took ``seconds`` for it."""
        unreported, self.unreported_seconds = self.unreported_seconds, 0.0
        return unreported + (self.seconds if self.state is State.WARM else seconds)


def layout(problem: Problem) -> str:
    """Return what decides which machine code a solver needs: formulation, kernel, dtype, sparse or dense."""
    points = problem.kernel.storage
    kind = "dense" if isinstance(points, np.ndarray) else "sparse"
    return f"{problem.name} {problem.kernel.kernel.name} {points.dtype} {kind}"


def few_points(whole: Any) -> Any:
    """Return the problem or path over some of its points, of both classes; where targets are queried, with made-up ones.

    Of more points, where the problem's parameters leave so few no solution: a small cap of reduced hulls.
    """
    few = min(whole.n, _POINTS)
    while True:
        try:
            return _restricted(whole, few)
        except UsageError:
            if few == whole.n:
                raise
            few = min(whole.n, 2 * few)


def _restricted(whole: Any, few: int) -> Any:
    if isinstance(whole, SolutionPath):
        small = whole.small(few)
        for cell in small.cells:
            small.problem(cell)
        return small
    first = np.arange(few)
    if whole.queries_targets:
        return _unqueried(whole.restrict(first))
    if whole.task != "classification":
        return whole.restrict(first)
    members = [np.flatnonzero(whole.targets == label)[: (few + 1) // 2] for label in np.unique(whole.targets)[:2]]
    return whole.restrict(np.sort(np.concatenate(members)))


def _unqueried(problem: Any) -> Any:
    """Return the problem with made-up targets, none of them queried."""
    return problem.with_targets(np.where(np.arange(problem.n) % 2 == 0, 1.0, -1.0).__getitem__)


def warm_up(
    solver: Solver,
    small: Problem | SolutionPath | None,
    limit: float | None = None,
    clock: Callable[[], float] = perf_counter,
) -> Warm:
    """Run the solver's warm-ups on a small problem or path; return the seconds, and whether they raised and left nothing.

    A fault of the solver shows in the measured run, not here. No warm-up begins, and none that yields goes on, when
    ``limit`` seconds are over by the ``clock``.
    """
    began, clock_began, threads, complete = perf_counter(), clock(), count_threads(), False
    most = min(_SECONDS, limit or _SECONDS)
    if small is None:
        return Warm(0.0)
    with contextlib.suppress(BaseException):  # sys.exit() included
        for each in solver.warm_ups():
            left = most - (clock() - clock_began)
            if left <= 0.0:
                break
            if isinstance(small, SolutionPath):
                for _ in drive_path(each, small, 0, Limits(time_limit=left), Clocks(clock)):
                    continue
            elif each.refusal(small) is None:
                limits = Limits(time_limit=left, iteration_limit=_YIELDS)
                part = _unqueried(small) if small.queries_targets else small
                drive(each, part, np.random.default_rng(0), limits, clocks=Clocks(clock))
        complete = count_threads() == threads  # a child that is forked later would lack them
    return Warm(perf_counter() - began, complete)
