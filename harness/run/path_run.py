"""One path in the process of its solver: state it, warm up, drive; each finished cell is sent at once, so that it is kept.

What it says are claims, as of any run; see :mod:`harness.run.path_judge` for who looks at them.
"""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic, perf_counter
from typing import TYPE_CHECKING, Any

from harness.errors import InvalidModel, UsageError
from harness.machine import load_average, now, reset_peak_memory, status_bytes
from harness.measure.compilation import CompilationWatch
from harness.measure.drive import Outcome
from harness.measure.path_drive import CellOutcome, drive_path
from harness.path import Grid, SolutionPath
from harness.problems.problem import Problem
from harness.run import allowed
from harness.run.execute import WARM_UP_SECONDS, fault, model_of, refusal
from harness.run.messages import Fitted, Fitting, Message, Point, Stopped
from harness.run.record import Limits, Status, StoppedBy

if TYPE_CHECKING:
    from harness.datasets.dataset import Dataset
    from harness.registry import Registry
    from harness.run.study import RunSpec
    from harness.solver import Solver

_WARM_UP_POINTS = 32


def path_of(spec: RunSpec, dataset: Dataset, registry: Registry, clocks: Any = None, *, cold: bool) -> SolutionPath:
    """Return the path that a run goes through; the same of both sides, whoever states it.

    clocks : wall and CPU clock of what its cells share
    """
    return SolutionPath(
        Grid.from_dict(spec.path),
        registry.formulation(spec.formulation),
        registry.kernel_class(spec.kernel),
        dataset.x_train,
        dataset.y_train,
        spec.problem_parameters,
        spec.kernel_parameters,
        seed=spec.seed,
        cache_mb=spec.cache_mb,
        threads=spec.threads,
        cold=cold,
        **({} if clocks is None else {"clocks": clocks}),
    )


def warm_up_path(
    solver: Solver, path: SolutionPath, limit: float | None, clock: Callable[[], float] = perf_counter
) -> float:
    """Go through a few cells over a few points, so that compilation is off the clock; return the seconds.

    A fault of the solver shows in the measured run, not here.
    """
    began, clock_began = perf_counter(), clock()
    most = min(WARM_UP_SECONDS, limit or WARM_UP_SECONDS)
    try:
        points = _WARM_UP_POINTS
        while True:
            try:
                for each in solver.warm_ups():
                    left = most - (clock() - clock_began)
                    if left > 0.0:
                        for _ in drive_path(each, path.small(points), 0, Limits(seconds=left), clock=clock):
                            continue
                break
            except UsageError:  # so few have no solution
                if points >= path.n:
                    break
                points *= 2
    except BaseException:  # whatever it is, it is reported where it is measured
        return perf_counter() - began
    return perf_counter() - began


def measure_path(
    spec: RunSpec, solver: Solver, path: SolutionPath, emit: Callable[[Message], None], *, compilation: CompilationWatch
) -> Fitted:
    """Drive the solver along the path; return what its process has to say. Never raises for a fault of the solver.

    emit : called with `Fitting`, and with a `Point` for each cell when it is finished, outside the clock
    """
    faults: list[str] = []
    refused = refusal(solver, path.problem(path.cells[0]), faults)
    if refused is not None:
        return Fitted({"status": Status.SKIPPED, "reason": refused, **now()})
    claims: dict[str, Any] = {"load_average": load_average(), "faults": faults}
    points = path.checksum()
    reset_peak_memory()
    emit(Fitting())
    began, compiled = monotonic(), compilation.seconds
    limit = spec.limits.seconds
    totals = _Totals(path, observable=bool(solver.observable))

    def overtime(seconds: float) -> float:
        wall = monotonic() - began
        return 0.0 if limit is None else max(0.0, wall - seconds - allowed.off_the_clock(limit, wall - seconds, 0.0))

    stopped: StoppedBy | None = None
    try:
        clocks = {"clock": compilation.clock, "cpu_clock": compilation.cpu_clock}
        for found in drive_path(solver, path, spec.seed, spec.limits, overtime=overtime, **clocks):
            if isinstance(found, StoppedBy):
                stopped = found
                break
            totals.add(found)
            model, wrong = _model(found.outcome, path.problem(found.cell))
            emit(Point(totals.figures(found, wrong), monotonic() - began - totals.seconds, model))
        emit(Stopped())
        claims.update(_ended(stopped, totals, len(path.cells), spec))
    except BaseException as error:  # whatever a plugin raises, sys.exit() and KeyboardInterrupt included
        claims.update(fault(error))
    if path.checksum() != points:
        reason = f"solver '{solver.name}' changed the points of its path"
        claims.update(status=Status.INVALID, reason=reason)
    claims |= totals.costs()
    claims["compile_seconds"] = compilation.seconds - compiled
    claims["peak_rss_bytes"] = status_bytes("VmHWM")
    return Fitted({**claims, **now()})


class _Totals:
    """What the cells took together so far."""

    def __init__(self, path: SolutionPath, *, observable: bool) -> None:
        self.path, self.observable = path, observable
        self.own = self.own_cpu = 0.0
        self.iterations = self.cells = self.unfinished = 0

    @property
    def seconds(self) -> float:
        """Inside the solver, what cells share included."""
        return self.own + self.path.shared.seconds

    def add(self, found: CellOutcome) -> None:
        self.own += found.outcome.seconds
        self.own_cpu += found.outcome.cpu_seconds
        self.iterations += found.outcome.iterations
        self.cells += 1
        self.unfinished += found.outcome.status is not Status.OK

    def figures(self, found: CellOutcome, refused: str) -> dict[str, Any]:
        """Return what is said of a finished cell; ``kernel_evaluations`` are those of the path so far, as of a trace."""
        outcome = found.outcome
        status = {"status": outcome.status, "reason": outcome.reason, "stopped_by": outcome.stopped_by}
        if refused:
            status |= {"status": Status.INVALID, "reason": refused, "stopped_by": StoppedBy.FAULT}
        return {
            "cell": found.cell.index,
            "kernel_evaluations": self.path.counter.evaluations,
            "own_evaluations": found.evaluations if self.observable else None,
            "cache_hits": found.cache_hits if self.observable else None,
            "fit_seconds": outcome.seconds,
            "cpu_seconds": outcome.cpu_seconds,
            "shared_seconds": self.path.shared.seconds,
            "shared_cpu_seconds": self.path.shared.cpu_seconds,
            "iterations": outcome.iterations,
            "working_set_size": outcome.working_set,
            "claimed_done": outcome.claimed_done,
            "info": outcome.info,
            **status,
        }

    def costs(self) -> dict[str, Any]:
        """Return what the path took, as far as it came."""
        counter, shared, observable = self.path.counter, self.path.shared, self.observable
        return {
            "fit_seconds": self.seconds,
            "cpu_seconds": self.own_cpu + shared.cpu_seconds,
            "iterations": self.iterations,
            "kernel_evaluations": counter.evaluations if observable else None,
            "evaluations_at_least": counter.evaluations_at_least if observable else None,
            "cache_hits": counter.cache_hits if observable else None,
            "oracle_calls": counter.oracle_calls,
            "oracle_kernel_evaluations": counter.oracle_evaluations,
        }


def _ended(stopped: StoppedBy | None, totals: _Totals, cells: int, spec: RunSpec) -> dict[str, Any]:
    """Return status, cause and reason of a path that was gone through, or stopped."""
    done = f"{totals.cells} of {cells} cells were finished"
    if stopped is StoppedBy.TIME:
        reason = f"stopped at the time limit of {spec.limits.seconds:g} s; {done}"
        return {"status": Status.BUDGET, "stopped_by": stopped, "reason": reason}
    if stopped is not None:
        reason = f"stopped at the budget of {spec.limits.kernel_evaluations:,} kernel evaluations; {done}"
        return {"status": Status.BUDGET, "stopped_by": stopped, "reason": reason}
    if totals.cells < cells:
        return {"status": Status.UNFINISHED, "stopped_by": StoppedBy.EXHAUSTED, "reason": f"it ended when {done}"}
    if totals.unfinished:
        reason = f"{totals.unfinished} of {cells} cells ended without being done"
        return {"status": Status.UNFINISHED, "stopped_by": StoppedBy.EXHAUSTED, "reason": reason}
    return {"status": Status.OK, "stopped_by": StoppedBy.SOLVER, "reason": "", "claimed_done": True}


def _model(outcome: Outcome, problem: Problem) -> tuple[Any, str]:
    """Return a cell's model as numbers, or why it is none."""
    try:
        return model_of(outcome, problem), ""
    except InvalidModel as error:
        return None, str(error)
