"""The warm-up of a solver: it runs on a few points before the measured run, so that compilation is off the clock.

A run of a compiled solver costs 0.03 s of CPU time where the process that it is forked from has the machine code in memory,
and 0.3 s where its own process loads it from the disk. A worker has one :class:`WarmUp` for each configuration of a
solver and layout of data, in one of these states::

    NEW -- compiled --> COMPILED -- run_ended well --> SAFE -- worker_ran --> WARM
    any -- failed --> FAILED

NEW       nothing is known
COMPILED  the machine code is on the disk
SAFE      a run that had it as its warm-up went well: the worker itself may run it
WARM      the worker ran it: its children have the machine code in memory
FAILED    it ended a child, or was not over in time: runs are measured without it

Machine code on the disk outlives the worker, and so do COMPILED and SAFE: a mark beside the machine code names them.
While the code of a solver runs here, no frame of the stack has more of the data than the few points.
"""

from __future__ import annotations

import contextlib
import enum
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.measure.drive import Clocks, drive
from harness.measure.outcome import Limits
from harness.measure.path_drive import drive_path
from harness.problems.problem import Problem
from harness.solver.path import SolutionPath
from harness.support.errors import UsageError
from harness.support.files import write_whole

if TYPE_CHECKING:
    from harness.solver.protocol import Solver

_POINTS = 32  # number of points, of two classes
_YIELDS = 50  # most yields of one warm-up
_SECONDS = 5.0  # seconds that all warm-ups of a solver may take together, without compilation


class State(enum.Enum):
    """What is known of a warm-up."""

    NEW = enum.auto()
    COMPILED = enum.auto()
    SAFE = enum.auto()
    WARM = enum.auto()
    FAILED = enum.auto()


class WarmUp:
    """What a worker knows of one warm-up.

    state : one of those above
    seconds : that it took, in the worker or in a child
    """

    def __init__(self, mark: Path | None) -> None:
        """Begin in the state that ``mark`` names; None: the plugin compiles nothing."""
        self.state, self.seconds, self._mark, self._unreported = State.NEW, 0.0, mark, 0.0
        with contextlib.suppress(OSError, ValueError):  # there is none
            if mark is not None and (seconds := mark.read_text()):
                self.state, self.seconds = State.SAFE, float(seconds)
            elif mark is not None:
                self.state = State.COMPILED

    @property
    def must_compile(self) -> bool:
        """Whether a child has to compile it before the first run."""
        return self.state is State.NEW and self._mark is not None

    def compiled(self, seconds: float) -> None:
        """A child compiled it; the first run reports the seconds."""
        self.state, self._unreported = State.COMPILED, seconds
        self._write_mark("")

    def run_ended(self, seconds: float | None, *, well: bool) -> float | None:
        """A run ended; return the warm-up seconds to report, including compilation that was not reported yet.

        seconds : of the run's own warm-up; None if it did not get through it
        well : whether its result shows that the warm-up did no harm
        """
        if well and seconds is not None and self.state in (State.NEW, State.COMPILED):
            self.state, self.seconds = State.SAFE, seconds
            self._write_mark(str(seconds))
        reported = self.seconds if self.state is State.WARM else seconds
        if reported is None:
            return None
        unreported, self._unreported = self._unreported, 0.0
        return unreported + reported

    def worker_ran(self, seconds: float) -> None:
        """The worker ran it itself."""
        self.state, self.seconds = State.WARM, seconds

    def failed(self) -> None:
        """It ended a child, or was not over in time."""
        self.state = State.FAILED

    def _write_mark(self, seconds: str) -> None:
        if self._mark is not None:
            with contextlib.suppress(OSError):
                write_whole(self._mark, seconds.encode())


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
) -> float:
    """Run the solver's warm-ups on a small problem or path; return the seconds.

    A fault of the solver shows in the measured run, not here. No warm-up begins, and none that yields goes on, when
    ``limit`` seconds are over by the ``clock``.
    """
    began, clock_began = perf_counter(), clock()
    most = min(_SECONDS, limit or _SECONDS)
    if small is None:
        return 0.0
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
    return perf_counter() - began
