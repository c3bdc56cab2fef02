"""What the rows of a path say: its cells' shares of the run, the choice among them, and the summary.

A path of problems is a run whose points are its cells: it has a row for each cell with its share of the run's time, a
choice among them, and a summary. The run's seconds are the sum of its cells': each has its own, and an equal part of what
all share (`shared_seconds`). The choice is the cell of the least mean validation error over the folds; of equals the
smallest values, the first axis first (C, then gamma). LIBSVM's grid.py takes of equal rates the one it met first, of the
same gamma the smaller C.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import fmean, stdev
from typing import Any

from harness.measure.outcome import Status
from harness.run.messages import Point
from harness.run.plan import RunSpec
from harness.run.record import Record, checked
from harness.solver.path import Grid

_TOLD = (
    "status", "reason", "stopped_by", "fit_seconds", "cpu_seconds", "cache_hits", "iterations", "working_set_size",
    "claimed_done", "info",
)  # fmt: skip
_MEASURED = ("fit_seconds", "cpu_seconds", "kernel_evaluations", "iterations")


def cell_records(
    spec: RunSpec, run: Record, points: Sequence[Point], judged: Sequence[Mapping[str, Any]]
) -> list[Record]:
    """Return a record for each finished cell; ``run`` is the path's own, whose costs they share.

    judged : the certifier's figures of each point
    """
    cells = Grid.from_dict(spec.path).cells()
    last = points[-1].figures if points else {}
    count = max(1, len(points))
    shared, shared_cpu = (float(last.get(name) or 0.0) / count for name in ("shared_seconds", "shared_cpu_seconds"))
    found = []
    for point, verdict in zip(points, judged, strict=True):
        claimed, cell = point.figures, cells[point.figures["cell"]]
        told = {name: claimed.get(name) for name in _TOLD}
        told["fit_seconds"] = (told["fit_seconds"] or 0.0) + shared
        told["cpu_seconds"] = (told["cpu_seconds"] or 0.0) + shared_cpu
        told["kernel_evaluations"] = claimed.get("own_evaluations")
        place, at = {**spec.path, "cell": cell.index}, spec.at(cell.values)
        record, _ = checked(
            {
                **told, **verdict, "shared_seconds": shared, "path": place, "fold": cell.fold,
                "measured_at": run.get("measured_at"), "sources": run.get("sources"),
                "problem_parameters": at.problem_parameters, "kernel_parameters": at.kernel_parameters,
            }
        )  # fmt: skip
        found.append(record)
    return found


def choice(spec: RunSpec, cells: Sequence[Record]) -> dict[str, Any]:
    """Return ``best``, the values of the cell of least mean validation error, that error and its standard error.

    Empty without folds, where not all cells were finished, and where none has a validation error of every fold.
    """
    axes, folds = (*spec.path["costs"], *spec.path["widths"]), spec.path["folds"]
    errors: dict[tuple[float, ...], list[float]] = {}
    for cell in cells:
        given = {**(cell.get("problem_parameters") or {}), **(cell.get("kernel_parameters") or {})}
        if cell.get("validation_error") is not None:
            errors.setdefault(tuple(given[name] for name in axes), []).append(cell["validation_error"])
    whole = {values: found for values, found in errors.items() if len(found) == folds}
    if not folds or not whole or len(cells) < Grid.from_dict(spec.path).size:
        return {}
    best = min(whole, key=lambda values: (fmean(whole[values]), values))
    error = stdev(whole[best]) / math.sqrt(folds) if folds > 1 else 0.0
    return {"best": dict(zip(axes, best, strict=True)), "cv_error": fmean(whole[best]), "cv_standard_error": error}


def summary(
    spec: RunSpec, run: Record, cells: Sequence[Record], refit: Record | None, chosen: dict[str, Any]
) -> Record:
    """Return the path's own record: its totals, the choice, and the test figures of the refit."""
    gaps = [cell["relative_gap"] for cell in cells if cell.get("relative_gap") is not None]
    every = [*cells, *([] if refit is None else [refit])]
    path = {
        **spec.path,
        "cells": Grid.from_dict(spec.path).size,
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
        told = f"{len(astray)} of {len(every)} cells are not ok, the first one is {first.get('status')}: {first.get('reason')}"
        found.update(status=first.get("status"), stopped_by=first.get("stopped_by"), reason=told)
    found.cells = tuple(every)
    return found
