"""The cells of paths as grids: the error, the size and the certificate at each C and gamma."""

from __future__ import annotations

import math
from statistics import fmean
from typing import TYPE_CHECKING, Any

from harness.measure.outcome import Status
from harness.report.figures import is_number
from harness.report.rows import axes, is_cell, is_path

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from harness.run.record import Record

# fields that the cells of a path have in common
_OF = ("label", "dataset", "formulation", "kernel", "seed", "repetition")


def grids(records: Sequence[Record]) -> list[dict[str, Any]]:
    """Return for each path its ``solver``, ``dataset`` and ``axes``, the values of its ``best`` cell, and its ``cells``.

    A cell has its ``values``, the mean ``error`` over the folds (of one without folds on the test points), the mean number
    of support vectors ``size``, and whether every fit of it is ``certified``.
    """
    fits: dict[tuple[Any, ...], dict[tuple[Any, ...], list[Record]]] = {}
    for record in records:
        if is_cell(record) and record["path"]["cell"] is not None:
            key = tuple(record.get(name) for name in _OF), record["path"].get("start")
            fits.setdefault(key, {}).setdefault(tuple(_values(record)), []).append(record)
    return [
        {
            "solver": path["label"], "dataset": f"{path['dataset']}, {path['formulation']}",
            "axes": list(axes(path)), "best": [(path["path"].get("best") or {}).get(name) for name in axes(path)],
            "folds": path["path"].get("folds") or 0,
            "cells": [_cell(values, runs) for values, runs in cells.items()],
        }
        for path in records if is_path(path)
        and (cells := fits.get((tuple(path.get(name) for name in _OF), path["path"].get("start"))))
    ]  # fmt: skip


def _values(record: Record) -> list[Any]:
    given = {**(record.get("problem_parameters") or {}), **(record.get("kernel_parameters") or {})}
    return [given.get(name) for name in axes(record)]


def _cell(values: Sequence[Any], runs: Sequence[Record]) -> dict[str, Any]:
    errors = [run.get("validation_error") for run in runs]
    accuracies = [run.get("test_accuracy") for run in runs]
    errors = errors if any(map(is_number, errors)) else [1.0 - each for each in accuracies if is_number(each)]
    sizes = [run.get("support_vectors") for run in runs]
    certified = all(run.get("status") == Status.OK and is_number(run.get("relative_gap")) for run in runs)
    return {"values": values, "error": _mean(errors), "size": _mean(sizes), "certified": certified}


def _mean(values: Sequence[Any]) -> float | None:
    numbers = [value for value in values if is_number(value)]
    return fmean(numbers) if numbers else None


def axes_of(path: Mapping[str, Any]) -> tuple[list[float], list[tuple[float, ...]], dict[Any, dict[str, Any]]]:
    """Return the values across and upwards of a path of `grids`, and its cells by both; upwards are all axes but the first."""
    cells = {(cell["values"][0], tuple(cell["values"][1:])): cell for cell in path["cells"]}
    return sorted({x for x, _ in cells}), sorted({y for _, y in cells}), cells


def percent(cell: Mapping[str, Any] | None) -> float:
    """Return the error of a cell in per cent, NaN if it has none."""
    return 100.0 * cell["error"] if cell and cell["error"] is not None else math.nan
