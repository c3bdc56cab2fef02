"""Drive a solver along a path; the clock runs only inside ``next()``, and its seconds are attributed to the cells.

Squared distances, which several cells share, are computed when first requested; their seconds are measured separately
(`SolutionPath.shared`) and divided equally among the finished cells.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.measure.drive import Clocks, Outcome, outcome_of
from harness.measure.outcome import Limits, StoppedBy
from harness.solver.path import GridPoint, SolutionPath
from harness.solver.protocol import Iterate, Solver, solve_cell, with_arrays
from harness.support.errors import PluginError


@dataclass
class CellOutcome:
    """The outcome of a cell, without its share of shared seconds, and the evaluations and cache hits of the cell."""

    cell: GridPoint
    outcome: Outcome
    evaluations: int
    cache_hits: int


def drive_path(
    solver: Solver, path: SolutionPath, seed: int, limits: Limits, clocks: Clocks | None = None
) -> Iterator[CellOutcome | StoppedBy]:
    """Yield the outcome of each finished cell, and finally the limit that stopped the path, if any.

    The cells of a ``cold`` path are solved separately.

    Raises
    ------
    PluginError : a yielded object is no (cell, iterate), or its cell is not in the path or has already ended.
    Exceptions of the solver propagate.
    """
    clocks = clocks or Clocks()
    models = _one_by_one(solver, path, seed) if path.cold else solver.solve_path(path, np.random.default_rng(seed))
    if not isinstance(models, Iterable):
        raise PluginError(f"solver '{solver.name}': solve_path must yield pairs, not return {type(models).__name__}.")
    advance, counter, shared, ended = iter(models).__next__, path.counter, path.shared, set[int]()
    most = float("inf") if limits.time_limit is None else limits.time_limit
    total = total_cpu = 0.0  # seconds of all cells, CPU seconds of the finished ones
    seconds = 0.0  # of the current cell
    cpu_began, yields, before = 0.0, 0, (0, 0, 0.0, 0.0)
    try:
        while len(ended) < len(path.cells):
            if path.cold:
                path.problem(path.cells[len(ended)])  # built off the clock, as in a run
            clocks.resume()
            if not yields:  # once a cell: a reading takes 30 microseconds, more than a short step
                cpu_began = clocks.cpu()
            began = clocks.wall()
            try:
                pair = advance()
            except StopIteration:
                return
            cell, iterate = _checked(solver, path, pair, ended)
            iterate = with_arrays(iterate)
            spent = clocks.wall() - began
            seconds, total, yields = seconds + spent, total + spent, yields + 1
            ends = iterate.done or "stopped" in iterate.info
            cpu_spent = clocks.cpu() - cpu_began if ends or total >= most else 0.0
            clocks.pause()
            if ends:
                total_cpu += cpu_spent
                seconds = max(0.0, seconds - (shared.seconds - before[2]))
                cpu_seconds = max(0.0, cpu_spent - (shared.cpu_seconds - before[3]))
                outcome = outcome_of(solver, path.problem(cell), iterate, seconds, cpu_seconds, yields)
                yield CellOutcome(cell, outcome, counter.evaluations - before[0], counter.cache_hits - before[1])
                ended.add(cell.index)
                before = counter.evaluations, counter.cache_hits, shared.seconds, shared.cpu_seconds
                seconds, yields, cpu_spent = 0.0, 0, 0.0
            if (iterate.done or total >= most) and len(ended) < len(path.cells):
                if total + clocks.overtime(total) - clocks.lost(total, total_cpu + cpu_spent) >= most:
                    yield StoppedBy.TIME
                    return
                if limits.kernel_evaluation_limit is not None and counter.evaluations >= limits.kernel_evaluation_limit:
                    yield StoppedBy.KERNEL_EVALUATIONS
                    return
    finally:
        clocks.resume()
        close = getattr(models, "close", None)
        if close is not None:
            close()


def _one_by_one(solver: Solver, path: SolutionPath, seed: int) -> Iterator[tuple[GridPoint, Iterate]]:
    """Yield the models of each cell, with the random numbers restarted for each."""
    for cell in path.cells:
        yield from solve_cell(solver, path, cell, np.random.default_rng(seed))


def _checked(solver: Solver, path: SolutionPath, pair: Any, ended: set[int]) -> tuple[GridPoint, Iterate]:
    """Return the yielded cell and iterate; raise PluginError if they are invalid or the cell has ended."""
    cell, iterate = pair if isinstance(pair, tuple) and len(pair) == 2 else (None, None)
    if not isinstance(cell, GridPoint) or type(iterate) is not Iterate:
        raise PluginError(f"solver '{solver.name}': solve_path must yield (cell, Iterate), not {type(pair).__name__}.")
    if not 0 <= cell.index < len(path.cells) or path.cells[cell.index] is not cell:
        raise PluginError(f"solver '{solver.name}' yielded a cell that is not in path.cells: {cell}.")
    if cell.index in ended:
        raise PluginError(f"solver '{solver.name}' yielded cell {cell.index} of the path again after its end.")
    return cell, iterate
