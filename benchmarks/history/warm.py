"""What asv's forkserver does before it forks a child for each number: import, load data, compile.

Each solver is compiled by a child first, two at a time; the server takes its machine code from the disk only when
the child lived, so that a solver that crashes or hangs costs its own cells and no other's.
"""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import time
from pathlib import Path

from . import cells, machine_code

_JOBS = 2
_COMPILE_SECONDS = 240.0


def prepare() -> None:
    """Make the server ready; what does not work is left to the cells, which say why."""
    try:
        bench = cells.bench()
    except Exception:
        return
    cells_of = _first_cells(bench)
    lived = _tried(bench, [solver for solver in cells_of if not _mark(solver).exists()], cells_of)
    for solver in lived:
        _mark(solver).touch()
    for solver, cell in cells_of.items():
        if _mark(solver).exists():
            warm_up(bench, cell)
    _load(bench)
    gc.collect()
    gc.freeze()  # a collection in a child would touch, and so copy, every page of the server's


def warm_up(bench: cells.Bench, cell: tuple[str, str]) -> None:
    """Compile what a cell's solver needs by a few points of its data."""
    _, _, solver, problem = bench.stated(*cell)
    try:
        from harness.run.warm_up import few_points
        from harness.run.warm_up import warm_up as compile_

        problem = few_points(problem).counted()
    except ImportError:
        try:
            from harness.run.child import warm_up as compile_
        except ImportError:
            from harness.run.execute import warm_up as compile_
    compile_(solver, problem)


def _first_cells(bench: cells.Bench) -> dict[str, tuple[str, str]]:
    """Return one cell for each solver: all data of the grid are dense and take the same machine code."""
    found: dict[str, tuple[str, str]] = {}
    for solver, dataset in cells.chosen():
        if solver not in found:
            try:
                bench.spec(solver, dataset)
            except Exception:  # said where the cell is measured
                continue
            found[solver] = (solver, dataset)
    return found


def _load(bench: cells.Bench) -> None:
    """Have every data set in memory, and the norms of its points."""
    loaded: set[str] = set()
    for solver, dataset in cells.chosen():
        if dataset not in loaded:
            with contextlib.suppress(Exception):  # said where the cell is measured
                bench.stated(solver, dataset)
                loaded.add(dataset)


def _mark(solver: str) -> Path:
    return machine_code.folder() / f"compiled-{solver}"


def _tried(bench: cells.Bench, waiting: list[str], cells_of: dict[str, tuple[str, str]]) -> list[str]:
    """Compile each solver in a child of its own; return those whose child ended well."""
    lived: list[str] = []
    running: dict[int, tuple[str, float]] = {}
    while waiting or running:
        busy = {cells.entry("solvers", solver)["plugin"] for solver, _ in running.values()}
        if waiting and len(running) < _JOBS:
            # two solvers of one plugin have code in common, which both would compile: rather another plugin's
            free = next(
                (solver for solver in waiting if cells.entry("solvers", solver)["plugin"] not in busy), waiting[0]
            )
            waiting.remove(free)
            running[_forked(bench, cells_of[free])] = (free, time.monotonic())
            continue
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid in running:
            solver, _ = running.pop(pid)
            if status == 0:
                lived.append(solver)
            continue
        for late, (_, began) in running.items():
            if time.monotonic() - began > _COMPILE_SECONDS:
                os.kill(late, signal.SIGKILL)
        time.sleep(0.02)
    return lived


def _forked(bench: cells.Bench, cell: tuple[str, str]) -> int:
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            warm_up(bench, cell)
            status = 0
        finally:
            os._exit(status)
    return pid
