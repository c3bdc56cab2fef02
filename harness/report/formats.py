"""The output formats: the table, Markdown, CSV and JSON, and those that plugins add."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.registry.hookspecs import FORMATS
from harness.report import files, latex, table
from harness.report.layout import Cell
from harness.report.rows import with_suboptimality
from harness.run.record import Record
from harness.support import faults
from harness.support.errors import PluginError, UsageError
from harness.support.parameters import did_you_mean
from harness.support.printable import plain

if TYPE_CHECKING:
    from harness.registry.discovery import Registry

OF_RUNS = ("table", "markdown", "latex")  # show a path as one line, unless its cells are wanted
_SUFFIXES = {
    ".txt": "table", ".json": "json", ".csv": "csv", ".md": "markdown", ".markdown": "markdown", ".parquet": "parquet",
    ".tex": "latex",
}  # fmt: skip
_BLOCKS = {
    "heading": "### {}", "note": "- {}", "explanation": "- {}", "space": "", "failure": "**{}**\n", "answer": "**{}**\n",
    "hint": "{}\n", "command": "    {}",
}  # fmt: skip
_MARKUP = re.compile(r"[\\|*_<>`\[\]]")
Renderer = Callable[..., str]
"""From the records, as dicts, to text; one that has a parameter ``command`` is given the command line by that name."""


def chosen(name: str | None, output: str | Path | None, registry: Registry) -> str:
    """Return the format's name: the given one, else that of the output file's suffix, else ``table``.

    Raises
    ------
    UsageError : an unknown format or suffix, or a format that is no text without a file to write it to.
    """
    added = registry.report_formats
    suffix, of_suffix = Path(output or "").suffix, meant_by(output, added)
    name = name and registry.resolve("report format", name)
    if name is None and of_suffix is None and suffix:
        endings = ", ".join([*_SUFFIXES, *(f".{each}" for each in added)])
        raise UsageError(f"--output: the ending {suffix} means no format; known: {endings}. Or say --format table.")
    if name == "parquet" and output is None:
        raise UsageError("--format: parquet is for files; name one with --output, for example --output runs.parquet.")
    if name not in (None, *FORMATS, *added):
        known = [*FORMATS, *added]
        near = did_you_mean(str(name), known)
        raise UsageError(f"--format: there is no format '{name}'{near}; known: {', '.join(known)}.")
    return name or of_suffix or "table"


def meant_by(output: str | Path | None, added: Mapping[str, Renderer]) -> str | None:
    """Return the format that a file's suffix means, None if it means none."""
    suffix = Path(output or "").suffix.lower()
    return _SUFFIXES.get(suffix, suffix[1:] if suffix[1:] in added else None)


def render(
    name: str, records: Sequence[Record], *, added: Mapping[str, Renderer] | None = None, command: str | None = None,
    **options: Any,
) -> str | bytes:  # fmt: skip
    """Return the records in a format: text that ends in a newline, or the content of a binary file.

    ``command`` is the line that made the comparison, empty if it was made in Python, None if the runs are no comparison;
    ``options`` are those of `table.render`.

    Raises
    ------
    PluginError : a plugin's format raised or returned no text.
    """
    if name in files.WRITERS or name in (added or {}):
        records = with_suboptimality(records)  # tables have it from their groups
    if name in (added or {}):
        return _plugin_text(name, (added or {})[name], records, command or "")
    if name in files.WRITERS:
        content = files.content(name, records)
        return content if name == "parquet" else content.decode()
    return _TEXTS[name](records, command=command, **options)


def _plugin_text(name: str, renderer: Renderer, records: Sequence[Record], command: str) -> str:
    try:
        options = {"command": command} if "command" in inspect.signature(renderer).parameters else {}
        text = renderer([dict(record) for record in records], **options)
    except Exception as error:  # a plugin may raise anything; the records are safe in the store
        raise PluginError(f"the report format '{name}' failed: {faults.format_error(error)}.") from error
    if not isinstance(text, str):
        raise PluginError(f"the report format '{name}' returned {type(text).__name__}; it must return text.")
    return text if text.endswith("\n") else text + "\n"


def _markdown(
    records: Sequence[Record], *, dated: bool = False, optional: bool = True, spelled: Callable[[str], str] = str,
    **options: Any,
) -> str:  # fmt: skip
    """Return GitHub tables, one a data set, with the rows of the terminal's table, all its columns and the same sentences."""
    lines: list[str] = []
    options = {name: value for name, value in options.items() if name not in ("width", "styled", "picture")}
    for kind, content in table.blocks(
        records, table.sheets(records, dated=dated, optional=optional), "bold:", **options
    ):
        if kind == "table":
            sheet, rows = content
            aligned = ["---:" if column.right else "---" for column in sheet.columns]
            titles = [_escaped(column.line) for column in sheet.columns]
            every = (titles, aligned, *(map(_marked, row) for row in rows))
            lines += ["", *(f"| {' | '.join(cells)} |" for cells in every)]
        else:
            lines += _BLOCKS[kind].format(content if kind == "command" else _escaped(spelled(content))).split("\n")
    return "\n".join(lines).strip("\n") + "\n"


def _marked(cell: Cell) -> str:
    return f"**{_escaped(cell.text)}**" if cell.best else _escaped(cell.text)


def _escaped(text: str) -> str:
    """Return a text that is not read as markup: a cell stays one cell."""
    return " ".join(_MARKUP.sub(r"\\\g<0>", plain(text)).split())


_TEXTS: dict[str, Callable[..., str]] = {"table": table.render, "markdown": _markdown, "latex": latex.render}
