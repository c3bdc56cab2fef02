r"""Tables for a paper: LaTeX with booktabs, a caption of what the figures depend on, and BibTeX entries of the solvers.

The entries stand behind ``\endinput``, where TeX does not read on. BibTeX takes text outside of entries for a comment, so the
same file can be used as both.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from harness.registry.discovery import shared_registry
from harness.report import figures, table
from harness.report.layout import Cell
from harness.report.rows import Row, settings_text
from harness.report.table import BEST, Sheet
from harness.run.record import Record
from harness.support.printable import plain

_ESCAPES = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": "$<$", ">": "$>$", "|": "$|$",
    "@": r"\char64{}", "†": r"\dag{}", "±": r"$\pm$", "≥": r"$\ge$", "≤": r"$\le$", '"': "''",
    **{character: f"\\{character}" for character in "{}#$%&_"},
}  # fmt: skip
_SPECIAL = re.compile("[" + re.escape("".join(_ESCAPES)) + "]|--")
_POWER = re.compile(r"(-?[\d.]+)e([+-]?\d+)")
_CITATION = re.compile(r"(?:Papers?|Source):\s+(?P<authors>.*?)[\s,(]+(?P<year>(?:18|19|20)\d\d)\b")
_NAMES = re.compile(r"[^\W\d_][\w'.-]*(?:(?:,| and) [^\W\d_][\w'.-]*)*")  # Bordes, Ertekin and Weston
_ENTRIES = """\
\\endinput
BibTeX entries of the solvers, from their descriptions: copy them into your .bib file and add what they lack.
"""


def render(records: Sequence[Record], **_options: Any) -> str:
    """Return one table a sheet, and the BibTeX entries of the solvers in them."""
    entries: dict[str, str] = {}
    lines = [r"% \usepackage{booktabs}"]
    for sheet in table.sheets(records, optional=False):
        spec = "".join("r" if column.right else "l" for column in sheet.columns)
        best = ["Bold: " + BEST.format("").strip()] * any(cell.best for row in sheet.rows for cell in row)
        sentences = [note + "." * (note[-1:] not in ".!?") for note in (*best, *sheet.notes)]
        lines += [r"\begin{table}", r"  \centering\small", rf"  \caption{{{_caption(sheet)}}}"]
        lines += [rf"  \begin{{tabular}}{{{spec}}}"]
        lines += [r"    \toprule", _row(_escaped(column.line) for column in sheet.columns)]
        for group, rows in sheet.sections:
            lines += [r"    \midrule", _row([rf"\multicolumn{{{len(spec)}}}{{l}}{{{_escaped(group.heading)}}}"])]
            for row, (first, *others) in zip(group.rows, rows, strict=True):
                lines.append(_row([rf"{_cell(first)}~\cite{{{_cited(row, entries)}}}", *map(_cell, others)]))
        lines += [r"    \bottomrule", r"  \end{tabular}"]
        lines += [rf"  \par\medskip\footnotesize {' '.join(map(_escaped, sentences))}"] * bool(sentences)
        lines.append(r"\end{table}")
    return "\n".join([*lines, "", _ENTRIES, *entries.values()]) + "\n"


def _row(cells: Iterable[str]) -> str:
    return f"    {' & '.join(cells)} \\\\"


def _cell(cell: Cell) -> str:
    power = _POWER.fullmatch(cell.text)
    text = rf"${power[1]}\cdot10^{{{int(power[2])}}}$" if power else _escaped(cell.text)
    return rf"\textbf{{{text}}}" if cell.best else text


def _escaped(text: str) -> str:
    """Return a text that LaTeX prints as it is, in one line."""
    return _SPECIAL.sub(lambda found: _ESCAPES.get(found[0], "-{}-"), " ".join(plain(text).split()))


def _caption(sheet: Sheet) -> str:
    """Return on what the figures depend: target and limits, runs, machines, versions, dates."""
    rows = [row for group, _ in sheet.sections for row in group.rows]
    records = [record for row in rows for record in row.records]
    settings = dict.fromkeys(settings_text(record, figures.SETTINGS) for record in records)
    counts = sorted({len(row.records) for row in rows})
    runs = f"{figures.span(str(counts[0]), str(counts[-1]))} run{'s' * (counts[-1] > 1)} a row"
    seeds = sorted({record["seed"] for record in records if record.get("seed") is not None})
    days = sorted(str(record["measured_at"])[:10] for record in records if record.get("measured_at"))
    facts = [
        "; ".join(settings),
        f"{runs}, seed{'s' * (len(seeds) != 1)} {', '.join(map(str, seeds)) or '?'}",
        *dict.fromkeys(_machine(record.get("machine") or {}) for record in records),
        *dict.fromkeys(_versions(record) for record in records),
        f"measured {figures.span(days[0], days[-1])}" if days else "",
    ]
    return f"{_escaped('. '.join(filter(None, facts)))}."


def _machine(machine: Mapping[str, Any]) -> str:
    names = ("processor", "cores", "system", "blas")
    return ", ".join(f"{machine[name]}{' cores' * (name == 'cores')}" for name in names if machine.get(name))


def _versions(record: Record) -> str:
    names = ("svm-harness", "python", "numpy", "numba", "scikit-learn")
    commit = str(record.get("git_commit") or "")
    known = [f"{name} {version}" for name in names if (version := (record.get("versions") or {}).get(name))]
    return ", ".join([*known, *[f"commit {commit[:10]}{'+' * commit.endswith('+')}"] * bool(commit)])


def _cited(row: Row, entries: dict[str, str]) -> str:
    """Return the key of a row's solver, and add its BibTeX entry to ``entries``."""
    plugin, name = (str(row.first.get(field) or "?") for field in ("plugin", "solver"))
    key = re.sub(r"[^a-z0-9-]+", "-", (name if name.startswith(plugin) else f"{plugin}-{name}").lower())
    cls = shared_registry().solvers.get(plugin, {}).get(name)
    short, whole = (_citation(thing) for thing in (cls, sys.modules.get(getattr(cls, "__module__", ""))))
    fields = {"title": name, "note": f"solver of the plugin {plugin} of svm-harness"}
    if short is not None:
        authored, authors = _NAMES.fullmatch(short["authors"]), re.split(r", | and ", short["authors"])
        fields = {"author": " and ".join(authors)} if authored else {"title": short["authors"]}
        if whole is not None and whole["year"] == short["year"] and all(name in whole[0] for name in authors):
            fields["note"] = whole[0].partition(": ")[2].strip() + ")" * whole[0].count("(")
        fields["year"] = short["year"]
    lines = "".join(f"  {field} = {{{_escaped(value)}}},\n" for field, value in fields.items())
    entries[key] = f"@misc{{{key},\n{lines}}}\n"
    return key


def _citation(thing: Any) -> re.Match[str] | None:
    return _CITATION.search(" ".join((getattr(thing, "__doc__", None) or "").split()))
