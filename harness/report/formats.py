"""The output formats: the table, Markdown, CSV and JSON, and those that plugins add."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.errors import PluginError, UsageError
from harness.parameters import did_you_mean
from harness.report import footnotes, measures, table
from harness.report.layout import PIPE_WIDTH
from harness.report.rows import Record, grouped

BUILTIN = ("table", "json", "csv", "markdown")
_SUFFIXES = {".json": "json", ".csv": "csv", ".md": "markdown", ".markdown": "markdown"}
Renderer = Callable[[list[Record]], str]


def chosen(name: str | None, output: str | Path | None, added: Mapping[str, Renderer]) -> str:
    """Return the format's name: the one asked for, else the one the output file's suffix means, else ``table``.

    Raises
    ------
    UsageError : an unknown format.
    """
    if name is None:
        suffix = Path(output).suffix.lower() if output is not None else ""
        return _SUFFIXES.get(suffix, suffix[1:] if suffix[1:] in added else "table")
    if name not in BUILTIN and name not in added:
        known = [*BUILTIN, *added]
        raise UsageError(
            f"--format: there is no format '{name}'{did_you_mean(name, known)}; known: {', '.join(known)}."
        )
    return name


def render(
    name: str,
    records: Sequence[Record],
    *,
    added: Mapping[str, Renderer] | None = None,
    width: int = PIPE_WIDTH,
    styled: bool = False,
    dated: bool = False,
) -> str:
    """Return the records in a format, ending in a newline; ``width``, ``styled`` and ``dated`` are the table's.

    Raises
    ------
    PluginError : a plugin's format raised or returned no text.
    """
    if name in (added or {}):
        return _plugin_text(name, (added or {})[name], records)
    if name == "json":
        return json_text(records)
    if name == "csv":
        return csv_text(records)
    if name == "markdown":
        return markdown_text(records, dated=dated)
    return table.render(records, width=width, styled=styled, dated=dated)


def _plugin_text(name: str, renderer: Renderer, records: Sequence[Record]) -> str:
    try:
        text = renderer([dict(record) for record in records])
    except Exception as error:  # a plugin may raise anything; the records are safe in the store
        raise PluginError(f"the report format '{name}' failed: {type(error).__name__}: {error}.") from error
    if not isinstance(text, str):
        raise PluginError(f"the report format '{name}' returned {type(text).__name__}; it must return text.")
    return text if text.endswith("\n") else text + "\n"


def json_text(records: Sequence[Any]) -> str:
    """Return a JSON list, one item a line; what JSON has no word for (NaN, infinity) is null."""
    from harness.run.store import clean

    items = [json.dumps(clean(record), allow_nan=False, ensure_ascii=False) for record in records]
    return "[\n" + ",\n".join(items) + "\n]\n" if items else "[]\n"


def csv_text(records: Sequence[Record]) -> str:
    """Return one line a record; lists and dicts are JSON in their cell, unknown figures are empty."""
    from harness.run.store import COLUMNS, clean

    extra = dict.fromkeys(name for record in records for name in record if name not in COLUMNS)
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    names = [*COLUMNS, *extra]
    writer.writerow(names)
    for record in records:
        values = [clean(record.get(name)) for name in names]
        nested = (dict, list, bool)
        writer.writerow([json.dumps(value) if isinstance(value, nested) else value for value in values])
    return stream.getvalue()


def markdown_text(records: Sequence[Record], *, dated: bool = False) -> str:
    """Return GitHub tables, one a data set, with the terminal table's rows and all its columns."""
    groups = grouped(records)
    rows = [row for group in groups for row in group.rows]
    further = [m for m in [*measures.metrics(rows), *measures.WIDER] if any(row.values(m.figure) for row in rows)]
    sheet = table.sheet(groups, [*measures.core(rows), *further], dated=dated)
    result = []
    for group, cells in sheet.groups:
        result += [f"### {_escaped(table.heading_of(group))}", ""]
        result.append(_markdown_row([column.title.replace("\n", " ") for column in sheet.columns]))
        result.append(_markdown_row(["---:" if column.right else "---" for column in sheet.columns], escape=False))
        for row in cells:
            shown = [f"**{_escaped(cell.text)}**" if cell.best else _escaped(cell.text) for cell in row]
            result.append(_markdown_row(shown, escape=False))
        result.append("")
    if any(cell.best for _, members in sheet.groups for row in members for cell in row):
        result += ["- bold: best of its data set among rows whose every run is ok; gap, optimality: of its problem"]
    result += [f"- {_escaped(note)}" for note in sheet.notes]
    result += [f"- {footnotes.NOT_RANKED}"] if any("primal" in column.title for column in sheet.columns) else []
    return "\n".join(result).rstrip("\n") + "\n" if records else "no records\n"


def _markdown_row(cells: Sequence[str], *, escape: bool = True) -> str:
    return "| " + " | ".join(_escaped(cell) if escape else cell for cell in cells) + " |"


def _escaped(text: str) -> str:
    """Keep a reason or a label from being read as markup: a cell must stay one cell."""
    for letter in "\\|*_<>`":
        text = text.replace(letter, f"\\{letter}")
    return " ".join(text.split())
