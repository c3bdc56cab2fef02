"""What the rows of a path say: its cells' shares of the run, the choice among them, and the summary.

A path of problems is a run whose points are its cells: it has a row for each cell with its share of the run's time, a
choice among them, and a summary. The run's seconds are the sum of its cells': those of its problem, and an equal part of what
all share (`shared_seconds`). The choice is the cell of the least mean validation error over the folds; of equals the
smallest values, the first axis first (C, then gamma). LIBSVM's grid.py takes of equal rates the one it met first, of the
same gamma the smaller C.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, stdev
from typing import Any

from harness.measure.outcome import Status
from harness.run.record import CertifiedFigures, Claims, Record
from harness.solver.path import Grid

_MEASURED = ("fit_seconds", "cpu_seconds", "kernel_evaluations", "iterations")


def cell_record(run: Record, claims: Claims, figures: CertifiedFigures, seconds: float, cpu_seconds: float) -> Record:
    """Return the record of a finished cell.

    run : the path's record
    seconds, cpu_seconds : the cell's share of what the cells of the path have in common
    """
    claims.fit_seconds = (claims.fit_seconds or 0.0) + seconds
    claims.cpu_seconds = (claims.cpu_seconds or 0.0) + cpu_seconds
    of_run = {name: run[name] for name in ("measured_at", "sources") if name in run}
    return Record(Record.of(claims, figures) | of_run | {"shared_seconds": seconds})


def choice(grid: Grid, cells: Sequence[Record]) -> dict[str, Any]:
    """Return ``best``, the values of the cell of least mean validation error, that error and its standard error.

    Empty without folds, where not all cells were finished, and where none has a validation error of every fold.
    """
    errors: dict[tuple[float, ...], list[float]] = {}
    for cell in cells:
        values = {**(cell.get("problem_parameters") or {}), **(cell.get("kernel_parameters") or {})}
        if cell.get("validation_error") is not None:
            errors.setdefault(tuple(values[name] for name in grid.axes), []).append(cell["validation_error"])
    means = {values: fmean(folds) for values, folds in errors.items() if len(folds) == grid.folds}
    if not means or len(cells) < grid.size:
        return {}
    best = min(means, key=lambda values: (means[values], values))
    error = stdev(errors[best]) / math.sqrt(grid.folds) if grid.folds > 1 else 0.0
    return {"best": dict(zip(grid.axes, best, strict=True)), "cv_error": means[best], "cv_standard_error": error}


def summary(grid: Grid, run: Record, cells: Sequence[Record], refit: Record | None, chosen: dict[str, Any]) -> Record:
    """Return the path's record: its totals, the choice, and the test figures of the refit."""
    gaps = [cell["relative_gap"] for cell in cells if cell.get("relative_gap") is not None]
    every = [*cells, *([] if refit is None else [refit])]
    path = {
        **grid.as_dict(),
        "cells": grid.size,
        "finished": len(cells),
        "rows": len(every),
        "certified": sum(cell.status is Status.OK and cell.get("relative_gap") is not None for cell in cells),
        "worst_gap": max(gaps, default=None),
        **chosen,
    }
    record = Record({**run, "path": path, "shared_seconds": sum(cell.get("shared_seconds") or 0.0 for cell in cells)})
    measured = [run, *every[len(cells) :]] if run.get("fit_seconds") is not None else every
    for name in _MEASURED:  # of a run that was killed, what its cells took
        known = [row[name] for row in measured if row.get(name) is not None]
        record[name] = sum(known) if known else None
    if refit is not None:
        shown = ("test_accuracy", "metrics", "metrics_better", "support_vectors")
        record.update({name: refit.get(name) for name in shown})
    failed = [cell for cell in every if cell.status is not Status.OK]
    if record.status is Status.OK and failed:
        status, stopped_by, reason = (failed[0].get(name) for name in ("status", "stopped_by", "reason"))
        reason = f"{len(failed)} of {len(every)} cells are not ok, the first one is {status}: {reason}"
        record.update(status=status, stopped_by=stopped_by, reason=reason)
    record.cells = tuple(every)
    return record
