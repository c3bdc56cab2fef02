"""The sheet of paths: a line for each run, with its time, the share that is certified, the chosen cell and its errors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from harness.report import figures, layout
from harness.report.footnotes import Reasons, not_shown, of_reuse
from harness.report.layout import Cell, Column
from harness.report.rows import (
    Row,
    Section,
    Sheet,
    is_path,
    kernel_text,
    label_text,
    machines,
    problem_text,
    scale_text,
)
from harness.run.record import Record

_NOTE = (
    "A path is one run over all cells. Each cell has its share of the seconds; cold: each cell starts from nothing and shares "
    "nothing. % ok: share of the cells that ended done and are certified. The chosen cell has the least mean error over the folds "
    "(± its standard error); of equals, the smallest values. The test figure is that of its refit on all training points, which "
    "is part of the seconds. --cells shows the cells."
)


def without_paths(records: Iterable[Record]) -> list[Record]:
    """Return the records of single problems, the cells of paths among them."""
    return [record for record in records if not is_path(record)]


def sheet(records: Sequence[Record], width: int | None = None) -> Sheet | None:
    """Return the paths among the records, a section for each grid on a data set; None if there are none.

    width : of the table, at most; None: every column is shown
    """
    groups: dict[str, list[Record]] = {}
    classes = len(machines(records))
    for record in records:
        if is_path(record):
            on = f" on machine {record['machine']['id'][:6]}" if classes > 1 and record.get("machine") else ""
            groups.setdefault(_heading(record, on), []).append(record)
    if not groups:
        return None
    reasons, sections = Reasons(), []
    metrics = list(
        dict.fromkeys(name for of in groups.values() for record in of for name in record.get("metrics") or ())
    )
    columns = [*_COLUMNS[:-1], *(Column(name, right=True) for name in metrics), _COLUMNS[-1]]
    for heading, members in groups.items():
        remark = scale_text(members[0].get("data_notes"), str(members[0].get("kernel")))
        several = len({(record.get("seed"), record.get("repetition")) for record in members}) > 1
        sections.append((heading, [_texts(record, reasons, metrics, several=several) for record in members], remark))
    every = [[Cell(text) for text in row] for _, rows, _ in sections for row in rows]
    shown = [i for i in range(len(columns)) if any(row[i].text for row in every)]
    hidden = list[str]()
    for i in (*_EXPENDABLE, *range(len(columns) - 2, len(_COLUMNS) - 2, -1)):
        own, texts = [columns[k] for k in shown], [[row[k] for k in shown] for row in every]
        if width is None or layout.total_width(own, layout.natural_widths(own, texts)) <= width:
            break
        if i in shown:
            shown.remove(i)
            hidden.append(columns[i].title.replace("\n", " "))
    cells = [
        Section(heading, [[Cell(row[i]) for i in shown] for row in rows], remark) for heading, rows, remark in sections
    ]
    told = [
        *reasons.notes(),
        *not_shown(hidden, width),
        *of_reuse([record for members in groups.values() for record in members]),
    ]
    told += [note for members in groups.values() for note in _advice(members)]
    finished = any(is_path(record) and record["path"].get("finished") for record in records)
    return Sheet([columns[i] for i in shown], cells, told, [_NOTE] if finished else [])


def _advice(members: Sequence[Record]) -> Iterable[str]:
    """Yield where a chosen cell is at an edge of the grid, and how solvers are compared at the first chosen cell."""
    edges: dict[str, list[str]] = {}
    chosen = [record for record in members if record["path"].get("best")]
    for record in chosen:
        ends = {name: (min(values), max(values)) for name, values in _axes(record).items() if len(values) > 1}
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


def _axes(record: Record) -> dict[str, list[float]]:
    return {**record["path"].get("costs", {}), **record["path"].get("widths", {})}


def _heading(record: Record, on: str) -> str:
    path = record["path"]
    n, d, n_test = (record.get(name) for name in ("n_train", "n_features", "n_test"))
    grid = " x ".join(f"{len(values)} {name}" for name, values in _axes(record).items())
    parts = [
        f"{n} x {d}" if n is not None and d is not None else "",
        label_text(record.get("data_notes"), record.get("positive_share")),
        kernel_text(record.get("kernel"), record.get("kernel_parameters")),
        f"{n_test} test points" if n_test else "",
        problem_text(record.get("formulation"), record.get("problem_parameters")),
        (f"path of {grid}" if grid else "path") + (f", {path['folds']} folds" if path.get("folds") else ""),
    ]
    return f"{record.get('dataset')}{on}: {', '.join(part for part in parts if part)}"


_COLUMNS = [
    Column("solver", wrap="label"),
    *[Column(title, right=True) for title in ("seconds", "kernel\nevals", "cells", "%\nok", "worst\ngap")],
    Column("chosen"),
    *[Column(title, right=True) for title in ("CV error", "test\n%")],
    Column("status"),
]
_EXPENDABLE = (2, 3, 5)  # of these, what a narrow terminal loses first; then metrics, the last one first


def _texts(record: Record, reasons: Reasons, metrics: Sequence[str], *, several: bool) -> list[str]:
    path: dict[str, Any] = record["path"]
    told = ["cold"] if path.get("start") == "cold" else []
    told += [f"seed {record.get('seed')}"] if several else []
    told += [f"rep {record['repetition']}"] if record.get("repetition") else []
    row = Row((record,), ", ".join(told))
    finished, cells, error = path.get("finished"), path.get("cells"), path.get("cv_error")
    regression = record.get("test_accuracy") is None and bool((record.get("metrics") or {}).get("mse"))
    return [
        row.name,
        _known(record.get("fit_seconds"), figures.seconds),
        _known(record.get("kernel_evaluations"), figures.count),
        "" if finished is None else f"{finished}" if finished == cells else f"{finished}/{cells}",
        _known(path.get("certified"), lambda count: f"{100.0 * count / cells:.4g}") if cells else "",
        _known(path.get("worst_gap"), figures.gap),
        " ".join(f"{axis}={value:.3g}" for axis, value in (path.get("best") or {}).items()),
        "" if error is None else _error(error, path.get("cv_standard_error") or 0.0, regression=regression),
        _known(record.get("test_accuracy"), figures.percent),
        *(_known((record.get("metrics") or {}).get(name), figures.significant) for name in metrics),
        f"{row.status}{'†' if record.get('reused') else ''} {reasons.number(row)}".rstrip(),
    ]


def _error(error: float, spread: float, *, regression: bool) -> str:
    if regression:
        return f"{figures.significant(error)} ± {spread:.2g}"
    return f"{100.0 * error:.2f} ± {100.0 * spread:.2f} %"


def _known(value: Any, text: Callable[[float], str]) -> str:
    return text(value) if figures.is_number(value) else ""
