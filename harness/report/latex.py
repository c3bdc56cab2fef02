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
from harness.report.rows import Row
from harness.report.sheet import BEST
from harness.run.record import Record
from harness.support.printable import plain

_ESCAPES = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": "$<$", ">": "$>$", "|": "$|$",
    "@": r"\char64{}", "†": r"\dag{}", "±": r"$\pm$", "≥": r"$\ge$", "≤": r"$\le$", '"': "''",
    **{character: f"\\{character}" for character in "{}#$%&_"},
}  # fmt: skip
_SPECIAL = re.compile("[" + re.escape("".join(_ESCAPES)) + "]|--")
_POWER = re.compile(r"(-?[\d.]+)e([+-]?\d+)")
_CITATION = re.compile(r"(?:Papers?|Source):\s+(?P<text>.*?\b(?P<year>(?:18|19|20)\d\d))\b", re.DOTALL)
_AUTHORS = re.compile(r"[^\W\d_][\w'.-]*(?:(?:,| and) [^\W\d_][\w'.-]*)*")
_ENTRIES = """\
\\endinput
BibTeX entries of the solvers, from their descriptions: copy them into your .bib file and add what they lack.
"""


def render(records: Sequence[Record], **_options: Any) -> str:
    """Return one table a sheet, and the BibTeX entries of the solvers in them."""
    entries: dict[str, str] = {}
    lines = [r"% \usepackage{booktabs}"]
    for sheet in table.sheets(records, optional=False):
        rows = [row for group, _ in sheet.sections for row in group.rows]
        keys = {id(row): _cited(row, entries) for row in rows}
        count, spec = len(sheet.columns), "".join("r" if column.right else "l" for column in sheet.columns)
        lines += [
            r"\begin{table}",
            r"  \centering\small",
            rf"  \caption{{{_caption(rows)}}}",
            rf"  \begin{{tabular}}{{{spec}}}",
        ]
        lines += [r"    \toprule", f"    {' & '.join(_escaped(column.line) for column in sheet.columns)} \\\\"]
        for group, cells in sheet.sections:
            lines += [r"    \midrule", rf"    \multicolumn{{{count}}}{{l}}{{{_escaped(group.heading)}}} \\"]
            for row, (first, *others) in zip(group.rows, cells, strict=True):
                cited = rf"{_cell(first)}~\cite{{{keys[id(row)]}}}"
                lines.append(f"    {' & '.join([cited, *map(_cell, others)])} \\\\")
        best = ["Bold: " + BEST.format("").strip()] * any(cell.best for row in sheet.rows for cell in row)
        sentences = [note + "." * (note[-1:] not in ".!?") for note in (*best, *sheet.notes)]
        notes = " ".join(map(_escaped, sentences))
        lines += [
            r"    \bottomrule",
            r"  \end{tabular}",
            *[rf"  \par\medskip\footnotesize {notes}"] * bool(notes),
            r"\end{table}",
        ]
    return "\n".join([*lines, "", _ENTRIES, *entries.values()]) + "\n"


def _cell(cell: Cell) -> str:
    power = _POWER.fullmatch(cell.text)
    text = rf"${power[1]}\cdot10^{{{int(power[2])}}}$" if power else _escaped(cell.text)
    return rf"\textbf{{{text}}}" if cell.best else text


def _escaped(text: str) -> str:
    """Return a text that LaTeX prints as it is, in one line."""
    return _SPECIAL.sub(lambda found: _ESCAPES.get(found[0], "-{}-"), " ".join(plain(text).split()))


def _caption(rows: Sequence[Row]) -> str:
    """Return on what the figures depend: target and limits, runs, machines, versions, dates."""
    records = [record for row in rows for record in row.records]
    settings = [figures.SETTINGS[name](value) for name in figures.SETTINGS
                for value in dict.fromkeys(record.get(name) for record in records) if figures.is_number(value)]  # fmt: skip
    counts = sorted({len(row.records) for row in rows})
    seeds = sorted({record["seed"] for record in records if record.get("seed") is not None})
    runs = f"{figures.span(*(str(counts[i]) for i in (0, -1)))} runs a row, " if counts[-1] > 1 else "1 run a row, "
    days = sorted(str(record["measured_at"])[:10] for record in records if record.get("measured_at"))
    facts = [
        ", ".join(settings),
        runs + f"seed{'s' * (len(seeds) != 1)} {', '.join(map(str, seeds)) or '?'}",
        *_distinct(_machine(record.get("machine") or {}) for record in records),
        *_distinct(_versions(record) for record in records),
        f"measured {figures.span(days[0], days[-1])}" if days else "",
    ]
    return f"{_escaped('. '.join(filter(None, facts)))}."


def _distinct(texts: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(texts))


def _machine(machine: Mapping[str, Any]) -> str:
    names = ("processor", "cores", "system", "blas")
    return ", ".join(f"{machine[name]}{' cores' * (name == 'cores')}" for name in names if machine.get(name))


def _versions(record: Record) -> str:
    names = ("svm-harness", "python", "numpy", "numba", "scikit-learn")
    commit = str(record.get("git_commit") or "")
    known = [f"{name} {version}" for name in names if (version := (record.get("versions") or {}).get(name))]
    return ", ".join([*known, *[f"commit {commit[:10]}{'+' * commit.endswith('+')}"] * bool(commit)])


# -- BibTeX --------------------------------------------------------------------------------------------------


def _cited(row: Row, entries: dict[str, str]) -> str:
    """Return the key of a row's solver, and add its entry to ``entries``, which has each key once."""
    plugin, name = (str(row.first.get(field) or "?") for field in ("plugin", "solver"))
    cls = shared_registry().solvers.get(plugin, {}).get(name)
    citation = _CITATION.search(" ".join((cls.__doc__ or "").split())) if cls is not None else None
    if citation is None:
        key = _key(f"{plugin}-{name}")
        entries[key] = _entry(key, title=name, note=f"solver of the plugin {plugin} of svm-harness")
        return key
    text, year = citation["text"].rpartition(citation["year"])[0].rstrip(" ,("), citation["year"]
    names = re.split(r", | and ", text)
    authored = _AUTHORS.fullmatch(text) is not None
    about = {"author": " and ".join(names), **_source(cls, names, year)} if authored else {"title": text}
    base = key = _key(names[0] if authored else text.split()[0]) + year
    further = iter("bcdefghijklmnopqrstuvwxyz")
    while entries.get(key, entry := _entry(key, **about, year=year)) != entry:
        key = base + next(further)
    entries[key] = entry
    return key


def _key(text: str) -> str:
    """Return a text as a key that LaTeX and BibTeX take."""
    return re.sub(r"[^a-z0-9-]+", "-", text.lower())


def _source(cls: Any, names: Sequence[str], year: str) -> dict[str, str]:
    """Return the citation in full if the module of a solver has it: of these authors and of this year."""
    source = _CITATION.search(" ".join((sys.modules[cls.__module__].__doc__ or "").split()))
    whole = source is not None and source["year"] == year and all(name in source["text"] for name in names)
    return {"note": source["text"] + ")" * source["text"].count("(")} if source is not None and whole else {}


def _entry(key: str, **fields: str) -> str:
    lines = "".join(f"  {name} = {{{_escaped(value)}}},\n" for name, value in fields.items())
    return f"@misc{{{key},\n{lines}}}\n"
