"""The output formats: the table, Markdown, CSV and JSON, and those that plugins add."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.registry.hookspecs import FORMATS
from harness.report import files, table
from harness.report.output import PIPE_WIDTH
from harness.report.verdict import of_records
from harness.run.record import Record
from harness.support import faults
from harness.support.errors import PluginError, UsageError
from harness.support.parameters import did_you_mean
from harness.support.printable import plain

OF_RUNS = ("table", "markdown")  # show a path as one line, unless its cells are asked for
_SUFFIXES = {
    ".txt": "table", ".json": "json", ".csv": "csv", ".md": "markdown", ".markdown": "markdown", ".parquet": "parquet"
}  # fmt: skip
Renderer = Callable[..., str]
"""From the records, as dicts, to text; one that has a parameter ``command`` is given the command line by that name."""


def chosen(name: str | None, output: str | Path | None, added: Mapping[str, Renderer]) -> str:
    """Return the format's name: the one asked for, else the one the output file's suffix means, else ``table``.

    Raises
    ------
    UsageError : an unknown format or suffix, or a format that is no text without a file to write it to.
    """
    if name is None:
        if (found := meant_by(output, added)) is None and output is not None and (suffix := Path(output).suffix):
            endings = ", ".join([*_SUFFIXES, *(f".{each}" for each in added)])
            raise UsageError(f"--output: the ending {suffix} means no format; known: {endings}. Or say --format table.")
        return found or "table"
    if name == "parquet" and output is None:
        raise UsageError("--format: parquet is for files; name one with --output, for example --output runs.parquet.")
    if name not in FORMATS and name not in added:
        known = [*FORMATS, *added]
        raise UsageError(
            f"--format: there is no format '{name}'{did_you_mean(name, known)}; known: {', '.join(known)}."
        )
    return name


def meant_by(output: str | Path | None, added: Mapping[str, Renderer]) -> str | None:
    """Return the format that a file's suffix means, None if it means none."""
    suffix = Path(output).suffix.lower() if output is not None else ""
    return _SUFFIXES.get(suffix, suffix[1:] if suffix[1:] in added else None)


def render(
    name: str,
    records: Sequence[Record],
    *,
    added: Mapping[str, Renderer] | None = None,
    width: int = PIPE_WIDTH,
    styled: bool = False,
    command: str | None = None,
    **said: Any,
) -> str | bytes:
    """Return the records in a format: text that ends in a newline, or the content of a binary file.

    ``width``, ``styled`` and ``said`` (``dated``, ``explain``, ``remarks``) are the table's; ``command`` is the line that made
    the comparison, empty if it was made in Python, None if the runs are no comparison.

    Raises
    ------
    PluginError : a plugin's format raised or returned no text.
    """
    if name in (added or {}):
        return _plugin_text(name, (added or {})[name], records, command or "")
    if name in files.WRITERS:
        content = files.content(name, records)
        return content if name == "parquet" else content.decode()
    if name == "markdown":
        said.pop("picture", "")  # of the terminal
        return markdown_text(records, command=command, **said)
    return table.render(records, width=width, styled=styled, command=command, **said)


def _plugin_text(name: str, renderer: Renderer, records: Sequence[Record], command: str) -> str:
    try:
        told = {"command": command} if "command" in inspect.signature(renderer).parameters else {}
        text = renderer([dict(record) for record in records], **told)
    except Exception as error:  # a plugin may raise anything; the records are safe in the store
        raise PluginError(f"the report format '{name}' failed: {faults.format_error(error)}.") from error
    if not isinstance(text, str):
        raise PluginError(f"the report format '{name}' returned {type(text).__name__}; it must return text.")
    return text if text.endswith("\n") else text + "\n"


def markdown_text(
    records: Sequence[Record],
    *,
    dated: bool = False,
    explain: bool = False,
    command: str | None = None,
    remarks: Sequence[str] = (),
) -> str:
    """Return GitHub tables, one a data set, with the terminal table's rows, all its columns and what is said under it."""
    result: list[str] = []
    for sheet in table.sheets(records, dated=dated):
        aligned = ["---:" if column.right else "---" for column in sheet.columns]
        for section in sheet.sections:
            result += [
                f"### {_escaped(section.heading)}",
                "",
                *([_escaped(section.remark), ""] if section.remark else []),
                _markdown_row(map(_escaped, sheet.titles)),
                _markdown_row(aligned),
            ]
            for row in section.rows:
                texts = ((_escaped(cell.text), cell.best) for cell in row)
                result.append(_markdown_row(f"**{text}**" if best else text for text, best in texts))
            result.append("")
        result += [f"- {_escaped(note)}" for note in sheet.sentences("bold:", explain=explain)]
        result.append("")
    result += [f"- {_escaped(remark)}" for remark in remarks]
    if command is not None and (answer := of_records(records)).sentences:
        result += ["", *(f"**{_escaped(sentence)}**\n" for sentence in answer.sentences)]
        hint, *lines = answer.further(command) or [""]
        result += [_escaped(hint), "", *(f"    {line}" for line in lines)]
    return "\n".join(result).rstrip("\n") + "\n" if records else "no records\n"


def _markdown_row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _escaped(text: str) -> str:
    """Keep a reason or a label from being read as markup: a cell must stay one cell."""
    for letter in "\\|*_<>`[]":
        text = text.replace(letter, f"\\{letter}")
    return " ".join(plain(text).split())
