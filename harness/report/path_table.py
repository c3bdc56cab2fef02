"""The sheet of paths: a row for each run, with its time, the share that is certified, the chosen cell and its errors."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from harness.report import figures
from harness.report.footnotes import of_reuse
from harness.report.rows import Group, Row, axes, is_path, kernel_text, machines
from harness.report.sheet import Figure, Sheet, build
from harness.run.record import Record

_NOTE = (
    "A path is one run over all cells. cold: each cell starts from nothing. % ok: share of the cells that ended done and are "
    "certified. chosen: the cell with the least mean error over the folds (± its standard error). test %: of its refit on all "
    "training points, which is part of the seconds. --cells shows the cells."
)


def without_paths(records: Iterable[Record]) -> list[Record]:
    """Return the records of single problems, the cells of paths among them."""
    return [record for record in records if not is_path(record)]


def groups(records: Sequence[Record]) -> list[Group]:
    """Return the paths among the records, a group for each grid on a data set, a row for each run."""
    paths, several = list(filter(is_path, records)), len(machines(records)) > 1
    repeated = len({(record.get("seed"), record.get("repetition")) for record in paths}) > 1
    found: dict[str, Group] = {}
    for record in paths:
        parts = ["cold"] if record["path"].get("start") == "cold" else []
        parts += [f"seed {record.get('seed')}"] if repeated else []
        parts += [f"rep {record['repetition']}"] if record.get("repetition") else []
        on = f" on machine {record['machine']['id'][:6]}" if several and record.get("machine") else ""
        kernel = kernel_text(record.get("kernel"), record.get("kernel_parameters"))
        group = Group(f"{record.get('dataset')}{on}", kernel, [Row((record,), ", ".join(parts))])
        if (same := found.setdefault(group.heading, group)) is not group:
            same.rows += group.rows
    return list(found.values())


def sheet(paths: Sequence[Group], width: int | None = None, *, dated: bool = False) -> Sheet:
    """Return the sheet of the groups of paths."""
    rows = [row for group in paths for row in group.rows]
    records = [row.first for row in rows]
    metrics = [
        Figure(name, right=True, text=_number(f"metrics.{name}", figures.significant), names=math.inf)
        for name in dict.fromkeys(name for record in records for name in record.get("metrics") or ())
    ]
    *first, test = _FIGURES
    columns = [each for each in (*first, test, *metrics) if any(map(each.text, rows))]
    expendable = [each for each in (*_EXPENDABLE, *reversed(metrics)) if each in columns]
    finished = any(record["path"].get("finished") for record in records)
    notes = [*of_reuse(records), *(note for group in paths for note in _advice(group.rows))]
    return build(paths, columns, notes, [_NOTE] * finished, width=width, dated=dated, expendable=expendable)


def _advice(rows: Sequence[Row]) -> Iterable[str]:
    """Yield where a chosen cell is at an edge of the grid, and how solvers are compared at the first chosen cell."""
    edges: dict[str, list[str]] = {}
    chosen = [row.first for row in rows if row.first["path"].get("best")]
    for record in chosen:
        ends = {name: (min(values), max(values)) for name, values in axes(record).items() if len(values) > 1}
        for name, value in record["path"]["best"].items():
            if value in ends.get(name, ()):
                which = "least" if value == ends[name][0] else "largest"
                edges.setdefault(f"{name}={value:.3g} is the {which}", []).append(record["label"])
    if edges:
        found = ", ".join(f"{edge} ({', '.join(dict.fromkeys(solvers))})" for edge, solvers in edges.items())
        yield f"At the edge of the grid: {found}. A wider grid may do better."
    if chosen:
        best = " ".join(f"--{name} {value:.6g}" for name, value in chosen[0]["path"]["best"].items())
        yield f"To rank solvers at a chosen cell, replace --path and --folds by: {best} --target-gap 1e-3"


def _number(name: str, text: Callable[[float], str]) -> Callable[[Row], str]:
    """Return what shows a figure of a path's record, ``path.cells`` for one of the path; empty if it is not known."""
    outer, _, inner = name.partition(".")

    def shown(row: Row) -> str:
        value: Any = (row.first.get(outer) or {}).get(inner) if inner else row.first.get(outer)
        return text(value) if figures.is_number(value) else ""

    return shown


def _finished(row: Row) -> str:
    """Return how many cells are finished, ``3/30`` if not all."""
    finished, cells = (row.first["path"].get(name) for name in ("finished", "cells"))
    return "" if finished is None else f"{finished}" if finished == cells else f"{finished}/{cells}"


def _certified(row: Row) -> str:
    certified, cells = (row.first["path"].get(name) for name in ("certified", "cells"))
    return f"{100.0 * certified / cells:.4g}" if cells and figures.is_number(certified) else ""


def _chosen(row: Row) -> str:
    return " ".join(f"{axis}={value:.3g}" for axis, value in (row.first["path"].get("best") or {}).items())


def _error(row: Row) -> str:
    """Return the mean error over the folds and its standard error, of classification in per cent."""
    record, path = row.first, row.first["path"]
    error, spread = path.get("cv_error"), path.get("cv_standard_error") or 0.0
    if error is None:
        return ""
    if record.get("test_accuracy") is None and (record.get("metrics") or {}).get("mse"):
        return f"{figures.significant(error)} ± {spread:.2g}"
    return f"{100.0 * error:.2f} ± {100.0 * spread:.2f} %"


_EXPENDABLE = (
    Figure("kernel\nevals", right=True, text=_number("kernel_evaluations", figures.count), names=math.inf),
    Figure("cells", right=True, text=_finished, names=math.inf),
    Figure("worst\ngap", right=True, text=_number("path.worst_gap", figures.gap), names=math.inf),
)
_FIGURES = (
    Figure("seconds", right=True, text=_number("fit_seconds", figures.seconds)),
    *_EXPENDABLE[:2],
    Figure("%\nok", right=True, text=_certified),
    _EXPENDABLE[2],
    Figure("chosen", text=_chosen),
    Figure("CV error", right=True, text=_error),
    Figure("test\n%", right=True, text=_number("test_accuracy", figures.percent)),
)
