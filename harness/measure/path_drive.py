"""Drive a solver along a path: as for one problem the clock runs only inside ``next()``, and each cell has its share of it.

What several cells share, squared distances, is computed when the first of them asks for it; its seconds are kept apart
(`SolutionPath.shared`), and in equal parts added to those of the cells that were finished.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from time import perf_counter, process_time  # by name: what is patched later is not this clock
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.errors import PluginError
from harness.measure.drive import Outcome, drive, outcome_of
from harness.path import Cell, SolutionPath
from harness.run.record import Limits, StoppedBy
from harness.solver import Iterate, Solver

if TYPE_CHECKING:
    Clock = Callable[[], float]


@dataclass
class CellOutcome:
    """What a cell gave, its own seconds without its part of what is shared; evaluations and hits are the cell's own."""

    cell: Cell
    outcome: Outcome
    evaluations: int
    cache_hits: int


def drive_path(
    solver: Solver,
    path: SolutionPath,
    seed: int,
    limits: Limits,
    *,
    clock: Clock = perf_counter,
    cpu_clock: Clock = process_time,
    overtime: Callable[[float], float] = lambda _: 0.0,
) -> Iterator[CellOutcome | StoppedBy]:
    """Yield each cell as it is finished; last the limit that stopped the path, if one did.

    A path that is ``cold`` goes cell by cell, each driven as a run of its own.

    overtime : as of :func:`drive`

    Raises
    ------
    PluginError : what is yielded is no (cell, iterate), a cell is none of the path's, or is yielded after its end.
    Whatever the solver raises passes through.
    """
    driven = _cold if path.cold else _together
    yield from driven(solver, path, seed, limits, clock, cpu_clock, overtime)


def _cold(
    solver: Solver, path: SolutionPath, seed: int, limits: Limits, clock: Clock, cpu_clock: Clock, overtime: Any
) -> Iterator[CellOutcome | StoppedBy]:
    spent = 0.0
    for cell in path.cells:
        problem, counter = path.problem(cell), path.counter
        before = counter.evaluations, counter.cache_hits
        left = None if limits.seconds is None else max(0.0, limits.seconds - spent - overtime(spent))
        outcome = drive(
            solver, problem, np.random.default_rng(seed), Limits(seconds=left), clock=clock, cpu_clock=cpu_clock
        )
        spent += outcome.seconds
        if outcome.stopped_by is StoppedBy.TIME:
            yield StoppedBy.TIME
            return
        yield CellOutcome(cell, outcome, counter.evaluations - before[0], counter.cache_hits - before[1])
        if (stopped := _spent(path, limits, spent, overtime)) and cell is not path.cells[-1]:
            yield stopped
            return


def _together(
    solver: Solver, path: SolutionPath, seed: int, limits: Limits, clock: Clock, cpu_clock: Clock, overtime: Any
) -> Iterator[CellOutcome | StoppedBy]:
    given = solver.solve_path(path, np.random.default_rng(seed))
    if not isinstance(given, Iterable):
        raise PluginError(
            f"solver '{solver.name}' returned {type(given).__name__} from solve_path; it must yield (cell, iterate) pairs."
        )
    advance, ended = iter(given).__next__, set[int]()
    counter, shared = path.counter, path.shared
    most = float("inf") if limits.seconds is None else limits.seconds
    total = seconds = cpu_seconds = 0.0  # of all cells; of this one
    yields, before = 0, (0, 0, 0.0, 0.0)
    try:
        while len(ended) < len(path.cells):
            cpu_began, began = cpu_clock(), clock()
            try:
                found: Any = advance()
            except StopIteration:
                return
            spent = clock() - began
            seconds, cpu_seconds, total, yields = (
                seconds + spent,
                cpu_seconds + cpu_clock() - cpu_began,
                total + spent,
                yields + 1,
            )
            cell, iterate = _checked(solver, path, found, ended)
            if iterate.done or "stopped" in iterate.info:
                own = seconds - (shared.seconds - before[2]), cpu_seconds - (shared.cpu_seconds - before[3])
                outcome = outcome_of(solver, path.problem(cell), iterate, max(0.0, own[0]), max(0.0, own[1]), yields)
                yield CellOutcome(cell, outcome, counter.evaluations - before[0], counter.cache_hits - before[1])
                ended.add(cell.index)
                before = counter.evaluations, counter.cache_hits, shared.seconds, shared.cpu_seconds
                seconds, cpu_seconds, yields = 0.0, 0.0, 0
            if (iterate.done or total >= most) and len(ended) < len(path.cells):
                stopped = _spent(path, limits, total, overtime)
                if stopped is not None:
                    yield stopped
                    return
    finally:
        close = getattr(given, "close", None)
        if close is not None:
            close()


def _checked(solver: Solver, path: SolutionPath, found: Any, ended: set[int]) -> tuple[Cell, Iterate]:
    """Return what was yielded if it is a cell of the path that has not ended, and a model."""
    pair = isinstance(found, tuple) and len(found) == 2 and isinstance(found[0], Cell) and isinstance(found[1], Iterate)
    if not pair:
        raise PluginError(
            f"solver '{solver.name}' yielded {type(found).__name__} from solve_path; it yields (cell, harness.Iterate)."
        )
    cell, iterate = found
    if not 0 <= cell.index < len(path.cells) or path.cells[cell.index] is not cell:
        raise PluginError(f"solver '{solver.name}' yielded a cell that is none of path.cells: {cell}.")
    if cell.index in ended:
        raise PluginError(f"solver '{solver.name}' yielded cell {cell.index} of the path again after its end.")
    return cell, iterate


def _spent(path: SolutionPath, limits: Limits, seconds: float, overtime: Callable[[float], float]) -> StoppedBy | None:
    """Return the limit of the whole path that is reached."""
    if limits.seconds is not None and seconds + overtime(seconds) >= limits.seconds:
        return StoppedBy.TIME
    if limits.kernel_evaluations is not None and path.counter.evaluations >= limits.kernel_evaluations:
        return StoppedBy.KERNEL_EVALUATIONS
    return None
