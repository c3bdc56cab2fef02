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
A black box is never SAFE, but the worker imports the modules that its warm-up imported in a run that went well: a library
may take a second. The mark names them too.
While the code of a solver runs here, no frame of the stack has more of the data than the few points.
"""

from __future__ import annotations

import contextlib
import enum
import importlib
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
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
from harness.support.files import write_whole
from harness.support.processes import count_threads

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

    mark : file that names its state to later comparisons
    uses_compiler : whether there may be machine code to compile
    state : one of those above
    seconds : that it took, in the worker or in a child
    """

    def __init__(self, mark: Path, *, uses_compiler: bool = True) -> None:
        self.state, self.seconds, self._mark, self._uses_compiler = State.NEW, 0.0, mark, uses_compiler
        self._modules, self._unreported = dict[str, str](), 0.0  # name -> file
        with contextlib.suppress(OSError, ValueError, TypeError):  # there is none, or it is an older one
            seconds, self._modules = json.loads(mark.read_text())
            self.state, self.seconds = (State.SAFE, seconds) if seconds else (State.COMPILED, 0.0)

    @property
    def must_compile(self) -> bool:
        """Whether a child has to compile it before the first run."""
        return self.state is State.NEW and self._uses_compiler

    @property
    def must_import(self) -> bool:
        """Whether it imports modules that this process has not imported."""
        return not self._modules.keys() <= sys.modules.keys()

    def import_modules(self) -> bool:
        """Import its modules; return whether they are those that a child imported, else they are forgotten."""
        began = perf_counter()
        for name in self._modules:
            with contextlib.suppress(BaseException):  # a module may raise anything
                importlib.import_module(name)
        self._unreported += perf_counter() - began
        if all(_file_of(name) == file for name, file in self._modules.items()):
            return True
        self._modules = {}
        self._write_mark()
        return False

    def compiled(self, seconds: float) -> None:
        """A child compiled it; the first run reports the seconds."""
        self.state, self._unreported = State.COMPILED, seconds
        self._write_mark()

    def run_ended(self, seconds: float | None, *, well: bool, modules: Mapping[str, str]) -> float | None:
        """A run ended; return the warm-up seconds to report, including compilation that was not reported yet.

        seconds : of the run's own warm-up; None if it did not get through it
        well : whether its result shows that the warm-up did no harm
        modules : that its warm-up imported and that the worker may import: name -> file
        """
        becomes_safe = well and self.state in (State.NEW, State.COMPILED)
        if seconds is not None and (becomes_safe or modules):
            self.state, self.seconds = (State.SAFE, seconds) if becomes_safe else (self.state, self.seconds)
            self._modules |= modules
            self._write_mark()
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

    def _write_mark(self) -> None:
        with contextlib.suppress(OSError):
            write_whole(self._mark, json.dumps([self.seconds, self._modules]).encode())


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
    """Run the solver's warm-ups on a small problem or path; return the seconds, and the modules that they imported.

    A fault of the solver shows in the measured run, not here. No warm-up begins, and none that yields goes on, when
    ``limit`` seconds are over by the ``clock``. No module is named where threads were started: a forked child lacks them.
    """
    began, clock_began, imported, threads = perf_counter(), clock(), set(sys.modules), count_threads()
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
    modules = {name: file for name in [*sys.modules] if name not in imported and (file := _file_of(name))}
    return Warm(perf_counter() - began, modules=modules if count_threads() == threads else {})


def _file_of(module: str) -> str:
    """Return the file of a module by its name; empty if it has not been imported under this name, or has none."""
    spec: Any = getattr(sys.modules.get(module), "__spec__", None)
    return str(spec.origin or "") if getattr(spec, "name", None) == module else ""
