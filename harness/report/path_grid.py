"""The cells of paths as grids: the error, the size and the certificate at each C and gamma."""

from __future__ import annotations

import math
from statistics import fmean
from typing import TYPE_CHECKING, Any

from harness.measure.outcome import Status
from harness.report import figures, layout
from harness.report.figures import is_number
from harness.report.rows import axes, is_cell, is_path, is_share

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from harness.run.record import Record

# fields that the cells of a path have in common
_OF = ("label", "dataset", "formulation", "kernel", "seed", "repetition")
_SHADES = (
    231,
    194,
    157,
    120,
    83,
)  # xterm's numbers of colours, from the largest error to the least; legible under black
_BLACK = "\x1b[38;5;16m"
CONTRAST = (
    0.4  # power of an error's place between the least and the largest that is its shade: the low ones differ most
)


def grids(records: Sequence[Record]) -> list[dict[str, Any]]:
    """Return for each path its ``solver``, ``dataset`` and ``axes``, the values of its ``best`` cell, and its ``cells``.

    A cell has its ``values``, the mean ``error`` over the folds (of one without folds on the test points), the mean number
    of support vectors ``size``, and whether every fit of it is ``certified``. The error is a ``share`` but in a regression.
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
            "folds": path["path"].get("folds") or 0, "share": is_share(path),
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
    return ", ".join(f"{value:.3g}" if 1e-3 <= value < 1e3 else figures.power(value, 2) for value in values)


def lines(path: Mapping[str, Any], width: int, *, styled: bool) -> list[str]:
    """Return the errors of a path of `grids` as text: its first axis down, the others across, as far as there is room.

    styled : the cells are shaded
    """
    downs, acrosses, cells = axes_of(path)
    best = path["best"][0], tuple(path["best"][1:])
    texts = {at: f"{error_text(path, cell) or '-'}{'' if cell['certified'] else '?'}" for at, cell in cells.items()}
    heads, names = list(map(value_text, acrosses)), [f"{path['axes'][0]}={value_text([value])} " for value in downs]
    left, size = max(map(len, names)), max(map(len, (*texts.values(), *heads))) + 2
    room = max(1, (width - left) // size)
    first = min((acrosses.index(best[1]) if best in cells else 0) - room // 2, len(acrosses) - room)
    shown = slice(max(0, first), max(0, first) + room)
    errors = {at: error for at, cell in cells.items() if not math.isnan(error := error_of(path, cell))}
    low, high = min(errors.values(), default=0.0), max(errors.values(), default=0.0)
    found = [(" " * left + "".join(f"{head:>{size - 1}} " for head in heads[shown])).rstrip()]
    for name, value in zip(names, downs, strict=True):
        line = name.rjust(left)
        for at in ((value, each) for each in acrosses[shown]):
            text = f"[{texts[at]}]" if at == best else f"{texts.get(at, '')} "
            place = ((errors.get(at, low) - low) / (high - low or 1.0)) ** CONTRAST
            shade = f"{_BLACK}\x1b[48;5;{_SHADES[int(4.99 * (1.0 - place))]}m" if styled and at in errors else ""
            line += layout.in_style(text.rjust(size), shade)
        found.append(line.rstrip())
    of = " ".join(
        f"{name}={value:.3g}" for name, value in zip(path["axes"], path["best"], strict=True) if best in cells
    )
    vectors = (
        f", {figures.count(cells[best]['size'])} support vectors" if of and cells[best]["size"] is not None else ""
    )
    notes = [f"[ ] chosen: {of}{vectors}{' (mean over the folds)' * bool(vectors and path['folds'])}."] * bool(of)
    notes += ["?: not every fit is certified."] * (not all(cell["certified"] for cell in cells.values()))
    if room < len(heads):
        notes.append(f"{room} of {len(heads)} columns fit; result.plot() in Python and --format html show all.")
    across = f"; {', '.join(path['axes'][1:])} across" * (len(path["axes"]) > 1)
    notes = [line for note in notes for line in layout.paragraph(note, width)]
    return [*layout.paragraph(f"{title(path)}: {error_title(path)}{across}", width), *filter(None, found), *notes, ""]
