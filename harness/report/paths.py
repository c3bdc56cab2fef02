"""What reports show of paths: the columns of their table, and their cells as grids of errors at each C and gamma."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any

from harness.measure.outcome import Status
from harness.report import figures, layout
from harness.report.figures import is_number
from harness.report.layout import Column
from harness.report.rows import Row, axes, is_cell, is_path, is_share, short_name
from harness.run.record import Record

NOTE = (
    "A path is one run over all cells. cold: each cell starts from nothing. % ok: share of the cells that ended done and are "
    "certified. chosen: the cell with the least mean error over the folds (± its standard error). test %: of its refit on all "
    "training points, which is part of the seconds. --cells shows the cells."
)


def columns(rows: Sequence[Row]) -> list[Column]:
    """Return the columns of paths or their cells for which any row has a figure, those first that a narrow table loses."""
    return [each for each in (_FIGURES if is_path(rows[0].first) else _FIGURES[-1:]) if any(map(each.text, rows))]


def advice(rows: Sequence[Row]) -> Iterable[str]:
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
        places = ", ".join(f"{edge} ({', '.join(dict.fromkeys(solvers))})" for edge, solvers in edges.items())
        yield f"At the edge of the grid: {places}. A wider grid may do better."
    if chosen:
        best = " ".join(f"--{name} {value:.6g}" for name, value in chosen[0]["path"]["best"].items())
        yield f"To rank solvers at a chosen cell, replace --path and --folds by: {best} --target-gap 1e-3"
    elif not any(row.first["path"].get("folds") for row in rows):
        yield "No cell is chosen without folds; add --folds 5."


def _cells(row: Row) -> str:
    """Return how many cells are finished, ``3/30`` if not all."""
    finished, cells = (row.first["path"].get(name) for name in ("finished", "cells"))
    return "" if finished is None else f"{finished}" if finished == cells else f"{finished}/{cells}"


def _certified(row: Row) -> str:
    certified, cells = (row.first["path"].get(name) for name in ("certified", "cells"))
    return f"{100.0 * certified / cells:.4g}" if cells and certified is not None else ""


def _chosen(row: Row) -> str:
    """Return ``C=8 gamma=0.5``, of several runs each cell that one of them chose."""
    cells = [record["path"].get("best") or {} for record in row.records]
    return " or ".join(dict.fromkeys(" ".join(f"{name}={cell[name]:.3g}" for name in cell) for cell in cells))


def _error(row: Row) -> str:
    """Return the mean error over the folds, of classification in per cent; of a chosen cell with its standard error."""
    folds = row.values("validation_error")
    scale, text, unit = (100.0, ".2f", " %") if is_share(row.first) else (1.0, ".4g", "")
    if (error := fmean(folds) if folds else row.median("path.cv_error")) is None:
        return ""
    spread = "" if folds else f" ± {scale * (row.median('path.cv_standard_error') or 0.0):{text}}"
    partial = f" ({len(folds)}/{due} folds)" if folds and len(folds) < (due := _due(row.records)) else ""
    return f"{scale * error:{text}}{spread}{unit}{partial}"


def _due(runs: Sequence[Record]) -> int:
    """Return the number of fits that a cell has in all the runs of its path: a mean over fewer folds compares with no other."""
    return (runs[0]["path"].get("folds") or 1) * len({(run.get("seed"), run.get("repetition")) for run in runs})


def _worst_gap(row: Row) -> str:
    return "".join(map(figures.gap, sorted(row.values("path.worst_gap"))[-1:]))


_FIGURES = (
    Column("cells", _cells, right=True),
    Column("worst\ngap", _worst_gap, right=True),
    Column("%\nok", _certified, right=True),
    Column("chosen", _chosen),
    Column("CV error", _error, right=True),
)


# -- cells ---------------------------------------------------------------------------------------------------

# fields that the cells of a path have in common
_OF = ("label", "dataset", "formulation", "kernel", "seed", "repetition")


def grids(records: Sequence[Record]) -> list[dict[str, Any]]:
    """Return for each path its ``solver``, ``dataset`` and ``axes``, the values of its ``best`` cell, and its ``cells``.

    A cell has its ``values``, the mean ``error`` over the folds (of one without folds on the test points), the mean number
    of support vectors ``size``, and whether the fit of every fold is there and ``certified``. The error is a ``share`` but in a
    regression.
    """
    fits: dict[tuple[Any, ...], dict[tuple[Any, ...], list[Record]]] = {}
    for record in records:
        if is_cell(record) and record["path"]["cell"] is not None:
            fits.setdefault(_key(record), {}).setdefault(tuple(_values(record)), []).append(record)
    return [
        {
            "solver": path["label"], "dataset": f"{short_name(path['dataset'])}, {path['formulation']}",
            "axes": list(axes(path)), "best": [(path["path"].get("best") or {}).get(name) for name in axes(path)],
            "folds": path["path"].get("folds") or 0, "share": is_share(path),
            "cells": [_cell(values, runs) for values, runs in cells.items()],
        }
        for path in records if is_path(path) and (cells := fits.get(_key(path)))
    ]  # fmt: skip


def _key(record: Record) -> tuple[Any, ...]:
    return *map(record.get, _OF), record["path"].get("start")


def _values(record: Record) -> list[Any]:
    given = {**(record.get("problem_parameters") or {}), **(record.get("kernel_parameters") or {})}
    return [given.get(name) for name in axes(record)]


def _cell(values: Sequence[Any], runs: Sequence[Record]) -> dict[str, Any]:
    errors = [run.get("validation_error") for run in runs]
    accuracies = [run.get("test_accuracy") for run in runs]
    errors = errors if any(map(is_number, errors)) else [1.0 - each for each in accuracies if is_number(each)]
    sizes = [run.get("support_vectors") for run in runs]
    certified = sum(run.get("status") == Status.OK and is_number(run.get("relative_gap")) for run in runs) >= _due(runs)
    return {"values": values, "error": _mean(errors), "size": _mean(sizes), "certified": certified}


def _mean(values: Sequence[Any]) -> float | None:
    numbers = [value for value in values if is_number(value)]
    return fmean(numbers) if numbers else None


def axes_of(path: Mapping[str, Any]) -> tuple[list[float], list[tuple[float, ...]], dict[Any, dict[str, Any]]]:
    """Return the values across and upwards of a path of `grids`, and its cells by both; upwards are all axes but the first."""
    cells = {(cell["values"][0], tuple(cell["values"][1:])): cell for cell in path["cells"]}
    return sorted({x for x, _ in cells}), sorted({y for _, y in cells}), cells


def error_of(path: Mapping[str, Any], cell: Mapping[str, Any] | None) -> float:
    """Return the error of a cell, a share in per cent; NaN if it has none."""
    error = cell["error"] if cell else None
    return math.nan if error is None else 100.0 * error if path["share"] else float(error)


def error_text(path: Mapping[str, Any], cell: Mapping[str, Any] | None) -> str:
    """Return the error of a cell as it is written into it, empty if it has none."""
    error = error_of(path, cell)
    return "" if math.isnan(error) else f"{error:.1f}" if path["share"] else f"{error:.3g}"


def title(path: Mapping[str, Any]) -> str:
    """Return ``smo on digits, c-svc, 5 folds``."""
    return f"{path['solver']} on {path['dataset']}{', {} folds'.format(path['folds']) if path['folds'] else ''}"


def error_title(path: Mapping[str, Any]) -> str:
    """Return ``CV error, %``, of a path without folds ``test error, %``."""
    return f"{'CV' if path['folds'] else 'test'} error{', %' if path['share'] else ''}"


def value_text(values: Sequence[float]) -> str:
    """Return the values of a row or a column, ``0.5``, ``3.05e-5``."""
    return ", ".join(map(_value, values))


def _value(value: Any) -> str:
    if not is_number(value):
        return str(value)  # the name of an axis
    return f"{value:.4g}" if 1e-3 <= value < 1e4 else figures.power(value, 2)


def lines(path: Mapping[str, Any], width: int) -> list[str]:
    """Return the errors of a path of `grids` as text: its first axis down, the others across."""
    import pandas as pd

    first, *others = path["axes"]
    cells = pd.DataFrame([cell["values"] for cell in path["cells"]], columns=path["axes"])
    cells["error"] = [_marked(path, cell) for cell in path["cells"]]
    table = cells.pivot_table("error", first, others, aggfunc="first", fill_value="")
    shown = table.rename(index=_value, columns=_value).to_string(line_width=width)
    head = layout.paragraph(f"{title(path)}: {error_title(path)}. [ ]: chosen. ?: not every fit is certified.", width)
    return [*head, *shown.splitlines(), ""]


def _marked(path: Mapping[str, Any], cell: Mapping[str, Any]) -> str:
    text = f"{error_text(path, cell) or '-'}{'' if cell['certified'] else '?'}"
    return f"[{text}]" if list(cell["values"]) == path["best"] else text
