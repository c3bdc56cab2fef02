"""What the table shows of paths beside costs and test figures: the cells, the chosen one and its error, and how to go on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import fmean

from harness.report import figures
from harness.report.rows import Row, axes, is_path, is_share
from harness.report.sheet import MIDDLE, TIGHT, Figure

NOTE = (
    "A path is one run over all cells. cold: each cell starts from nothing. % ok: share of the cells that ended done and are "
    "certified. chosen: the cell with the least mean error over the folds (± its standard error). test %: of its refit on all "
    "training points, which is part of the seconds. --cells shows the cells."
)


def columns(rows: Sequence[Row]) -> list[Figure]:
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


def _cells(row: Row) -> str:
    """Return how many cells are finished, ``3/30`` if not all."""
    finished, cells = (row.first["path"].get(name) for name in ("finished", "cells"))
    return "" if finished is None else f"{finished}" if finished == cells else f"{finished}/{cells}"


def _certified(row: Row) -> str:
    certified, cells = (row.first["path"].get(name) for name in ("certified", "cells"))
    return f"{100.0 * certified / cells:.4g}" if cells and certified is not None else ""


def _worst_gap(row: Row) -> str:
    return figures.gap(max(gaps)) if (gaps := row.values("path.worst_gap")) else ""


def _chosen(row: Row) -> str:
    """Return ``C=8 gamma=0.5``, of several runs each cell that one of them chose."""
    cells = [record["path"].get("best") or {} for record in row.records]
    return " or ".join(dict.fromkeys(" ".join(f"{name}={cell[name]:.3g}" for name in cell) for cell in cells))


def _error(row: Row) -> str:
    """Return the mean error over the folds, of classification in per cent; of a chosen cell with its standard error."""
    folds, (scale, text, unit) = (
        row.values("validation_error"),
        (100.0, ".2f", " %") if is_share(row.first) else (1.0, ".4g", ""),
    )
    if (error := fmean(folds) if folds else row.median("path.cv_error")) is None:
        return ""
    spread = "" if folds else f" ± {scale * (row.median('path.cv_standard_error') or 0.0):{text}}"
    return f"{scale * error:{text}}{spread}{unit}"


_FIGURES = (
    Figure("cells", right=True, text=_cells, names=MIDDLE),
    Figure("worst\ngap", right=True, text=_worst_gap, names=MIDDLE),
    Figure("%\nok", right=True, text=_certified, names=TIGHT),
    Figure("chosen", text=_chosen),
    Figure("CV error", right=True, text=_error),
)
