"""The table of paths: a line for each run, with its time, the share that is certified, the chosen cell and its errors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from harness.report import figures, layout
from harness.report.layout import Cell, Column
from harness.report.rows import is_path, kernel_text, problem_text
from harness.run.record import Record, Status

_COLUMNS = [
    Column("solver", wrap="label"),
    Column("seconds", right=True),
    Column("kernel\nevals", right=True),
    Column("cells", right=True),
    Column("%\nok", right=True),
    Column("worst\ngap", right=True),
    Column("chosen"),
    Column("CV error", right=True),
    Column("test\n%", right=True),
    Column("status"),
]
_NOTE = (
    "a path is one run over all cells, in seconds of which each cell has its share; cold: each cell from nothing, nothing "
    "shared. % ok: of all cells, those that ended done and are certified. The chosen cell has the least mean error over the "
    "folds (± its standard error), the smallest values of equals; the test figure is that of its refit on all training "
    "points, which is part of the seconds. --cells shows the cells."
)


def without_paths(records: Iterable[Record]) -> list[Record]:
    """Return the records of single problems, the cells of paths among them."""
    return [record for record in records if not is_path(record)]


def text_lines(records: Sequence[Record], width: int, *, styled: bool = False) -> list[str]:
    """Return the lines of the tables of all paths, none if there is no path."""
    result: list[str] = []
    for heading, members in _groups(records).items():
        rows, notes = _rows(members)
        shown = _shown(rows)
        widths = layout.fitted_widths([_COLUMNS[i] for i in shown], [[row[i] for i in shown] for row in rows], width)
        result += [layout.bold(line, styled=styled) for line in layout.paragraph(heading, width)]
        result += layout.lines(
            [_COLUMNS[i] for i in shown], [[row[i] for i in shown] for row in rows], widths, styled=styled
        )
        for note in notes:
            result += layout.paragraph(note, width)
        result.append("")
    if any(is_path(record) and record["path"].get("finished") for record in records):
        result += [*layout.paragraph(_NOTE, width), ""]
    return result


def tables(records: Sequence[Record]) -> list[tuple[str, list[str], list[list[str]], list[str]]]:
    """Return heading, titles, cells as text and notes of the table of each group of paths, for other formats."""
    found = []
    for heading, members in _groups(records).items():
        rows, notes = _rows(members)
        titles = [column.title.replace("\n", " ") for column in _COLUMNS]
        found.append((heading, titles, [[cell.text for cell in row] for row in rows], [*notes, _NOTE]))
    return found


def _groups(records: Sequence[Record]) -> dict[str, list[Record]]:
    found: dict[str, list[Record]] = {}
    for record in records:
        if is_path(record):
            found.setdefault(_heading(record), []).append(record)
    return found


def _heading(record: Record) -> str:
    path = record["path"]
    axes = {**path.get("costs", {}), **path.get("widths", {})}
    n, d, n_test = (record.get(name) for name in ("n_train", "n_features", "n_test"))
    grid = " x ".join(f"{len(values)} {name}" for name, values in axes.items())
    parts = [
        f"{n} x {d}" if n is not None and d is not None else "",
        kernel_text(record.get("kernel"), record.get("kernel_parameters")),
        f"{n_test} test points" if n_test else "",
        problem_text(record.get("formulation"), record.get("problem_parameters")),
        (f"path of {grid}" if grid else "path") + (f", {path['folds']} folds" if path.get("folds") else ""),
    ]
    return f"{record.get('dataset')}: {', '.join(part for part in parts if part)}"


def _rows(records: Sequence[Record]) -> tuple[list[list[Cell]], list[str]]:
    reasons: dict[str, int] = {}
    several = len({(record.get("seed"), record.get("repetition")) for record in records}) > 1
    rows = [[Cell(text) for text in _texts(record, reasons, several=several)] for record in records]
    return rows, [f"[{number}] {text}" for text, number in reasons.items()]


def _texts(record: Record, reasons: dict[str, int], *, several: bool) -> list[str]:
    path: dict[str, Any] = record["path"]
    name = str(record.get("label") or record.get("solver") or record.get("plugin") or "?")
    told = ["cold"] if path.get("start") == "cold" else []
    told += [f"seed {record.get('seed')}"] if several else []
    told += [f"rep {record['repetition']}"] if record.get("repetition") else []
    name += f" ({', '.join(told)})" if told else ""
    status = str(record.get("status")) + ("†" if record.get("reused") else "")
    if record.status is not Status.OK:
        reason = " ".join(f"{name}: {record.get('status')}: {record.get('reason') or 'no reason was given'}".split())
        status += f" [{reasons.setdefault(reason, len(reasons) + 1)}]"
    finished, cells = path.get("finished"), path.get("cells")
    share = _known(path.get("certified"), lambda count: f"{100.0 * count / cells:.4g}") if cells else ""
    error, spread = path.get("cv_error"), path.get("cv_standard_error")
    regression = record.get("test_accuracy") is None and bool((record.get("metrics") or {}).get("mse"))
    return [
        name,
        _known(record.get("fit_seconds"), figures.seconds),
        _known(record.get("kernel_evaluations"), figures.count),
        "" if finished is None else f"{finished}" if finished == cells else f"{finished}/{cells}",
        share,
        _known(path.get("worst_gap"), figures.gap),
        " ".join(f"{axis}={value:.3g}" for axis, value in (path.get("best") or {}).items()),
        "" if error is None else _error(error, spread or 0.0, regression=regression),
        _known(record.get("test_accuracy"), figures.percent),
        status,
    ]


def _error(error: float, spread: float, *, regression: bool) -> str:
    if regression:
        return f"{figures.significant(error)} ± {spread:.2g}"
    return f"{100.0 * error:.2f} ± {100.0 * spread:.2f} %"


def _known(value: Any, text: Any) -> str:
    return text(value) if figures.is_number(value) else ""


def _shown(rows: Sequence[Sequence[Cell]]) -> list[int]:
    """Return the columns in which any row says something."""
    return [i for i in range(len(_COLUMNS)) if any(row[i].text for row in rows)]
