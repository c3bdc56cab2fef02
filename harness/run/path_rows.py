"""What the rows of a path say: its cells' shares of the run, the choice among them, and the summary.

A path of problems is a run whose points are its cells: it has a row for each cell with its share of the run's time, a
choice among them, and a summary. The run's seconds are the sum of its cells': each has its own, and an equal part of what
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
from harness.run.messages import FinishedCell
from harness.run.plan import RunSpec
from harness.run.record import CertifiedFigures, Record

_MEASURED = ("fit_seconds", "cpu_seconds", "kernel_evaluations", "iterations")


def cell_records(
    spec: RunSpec, run: Record, finished: Sequence[FinishedCell], certified: Sequence[CertifiedFigures]
) -> list[Record]:
    """Return a record for each finished cell; ``run`` is the path's own, whose costs they share."""
    assert spec.path is not None
    cells, count = spec.path.cells(), max(1, len(finished))
    shared, shared_cpu = finished[-1].shared_seconds / count, finished[-1].shared_cpu_seconds / count
    found = []
    for each, figures in zip(finished, certified, strict=True):
        cell, claims = cells[each.index], each.claims
        claims.fit_seconds, claims.cpu_seconds = (
            (claims.fit_seconds or 0.0) + shared,
            (claims.cpu_seconds or 0.0) + shared_cpu,
        )
        common = {name: run[name] for name in ("measured_at", "sources") if name in run}
        record = Record.of(claims, figures)
        record.update(
            common, fold=cell.fold, shared_seconds=shared, **cell_entries(spec, spec.at(cell.values), cell.index)
        )
        found.append(record)
    return found


def cell_entries(spec: RunSpec, at: RunSpec, index: int | None) -> dict[str, Any]:
    """Return the fields that say which cell of a path a record is of; ``index`` None: the refit of the chosen one."""
    assert spec.path is not None
    own = {"problem_parameters": at.problem_parameters, "kernel_parameters": at.kernel_parameters}
    return {**own, "path": {**spec.path.as_dict(), "cell": index}}


def choice(spec: RunSpec, cells: Sequence[Record]) -> dict[str, Any]:
    """Return ``best``, the values of the cell of least mean validation error, that error and its standard error.

    Empty without folds, where not all cells were finished, and where none has a validation error of every fold.
    """
    assert spec.path is not None
    axes, folds = tuple(spec.path.axes), spec.path.folds
    errors: dict[tuple[float, ...], list[float]] = {}
    for cell in cells:
        given = {**(cell.get("problem_parameters") or {}), **(cell.get("kernel_parameters") or {})}
        if cell.get("validation_error") is not None:
            errors.setdefault(tuple(given[name] for name in axes), []).append(cell["validation_error"])
    whole = {values: found for values, found in errors.items() if len(found) == folds}
    if not folds or not whole or len(cells) < spec.path.size:
        return {}
    best = min(whole, key=lambda values: (fmean(whole[values]), values))
    error = stdev(whole[best]) / math.sqrt(folds) if folds > 1 else 0.0
    return {"best": dict(zip(axes, best, strict=True)), "cv_error": fmean(whole[best]), "cv_standard_error": error}


def summary(
    spec: RunSpec, run: Record, cells: Sequence[Record], refit: Record | None, chosen: dict[str, Any]
) -> Record:
    """Return the path's own record: its totals, the choice, and the test figures of the refit."""
    assert spec.path is not None
    gaps = [cell["relative_gap"] for cell in cells if cell.get("relative_gap") is not None]
    every = [*cells, *([] if refit is None else [refit])]
    path = {
        **spec.path.as_dict(),
        "cells": spec.path.size,
        "finished": len(cells),
        "rows": len(every),
        "certified": sum(cell.status is Status.OK and cell.get("relative_gap") is not None for cell in cells),
        "worst_gap": max(gaps, default=None),
        **chosen,
    }
    found = Record({**run, "path": path, "shared_seconds": sum(cell.get("shared_seconds") or 0.0 for cell in cells)})
    for name in _MEASURED:  # of a run that was killed what was measured of it
        parts = [run] if run.get("fit_seconds") is not None else cells
        known = [part[name] for part in (*parts, *every[len(cells) :]) if part.get(name) is not None]
        found[name] = sum(known) if known else None
    if refit is not None:
        found.update(
            {name: refit.get(name) for name in ("test_accuracy", "metrics", "metrics_better", "support_vectors")}
        )
    astray = [cell for cell in every if cell.status is not Status.OK]
    if found.status is Status.OK and astray:
        first = astray[0]
        reason = f"{len(astray)} of {len(every)} cells are not ok, the first one is {first.get('status')}: {first.get('reason')}"
        found.update(status=first.get("status"), stopped_by=first.get("stopped_by"), reason=reason)
    found.cells = tuple(every)
    return found
