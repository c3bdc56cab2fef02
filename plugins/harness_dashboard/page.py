"""One HTML file with the pages, their scripts and their data inside: it opens from a disk or a mail, without asv.

It is the front page of a site, the single file of a store, and the report format ``html``. Texts of a store are data: in the
blocks of data what could end them is escaped, in what is said of a comparison all markup is, and the page's policy names
its own scripts by their hashes, so that no other would be carried out.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness import Record, UsageError
from harness.report.figures import is_number
from harness.report.table import report_table
from harness.report.verdict import of_records as verdict_of
from harness_dashboard import export, history, names
from harness_dashboard.commits import Commit
from harness_dashboard.ranking import ranking
from harness_dashboard.tables import FIGURES, TARGETS, table, traced

if TYPE_CHECKING:
    from harness_dashboard.records import Cell, RecordFile

PAGES = Path(__file__).parent / "pages"
D3 = Path(__file__).parent / "vendor" / "d3" / "d3.min.js"
WIDTH = 140
"""Columns of the terminal's table in the page of a comparison."""

Block = tuple[str, Any]
"""The name of a block of data, and its content."""

_IMPORT = re.compile(
    r'^import (?:\* as (?P<whole>\w+)|\{(?P<names>[^}]*)\}) from "\./(?P<module>[\w-]+\.js)";$', re.MULTILINE
)
_EXPORT = re.compile(r"^export (?=(?:const|function|async function|class) (?P<name>\w+))", re.MULTILINE)
_OTHER = re.compile(r"^\s*(?:import|export)\b.*|\bimport\s*\(.*|\bimport\.meta\b.*", re.MULTILINE)
_BRACED = re.compile(r"(\w+) as (\w+)")


def page(
    files: Iterable[RecordFile], *, project: str, beside: bool = False, comparison: Mapping[str, str] | None = None
) -> str:
    """Return the pages of these runs as one HTML file.

    beside : asv's pages stand beside it; ours lead there if any place has two commits: one point is no curve
    comparison : of a single comparison ``title``, ``table``, ``command``, ``machine`` and ``versions`` as text, and
        ``verdict``, which is HTML
    """
    style = (PAGES / "style.css").read_text(encoding="utf-8")
    scripts = [D3.read_text(encoding="utf-8"), joined(PAGES, "main.js")]
    policy = (
        f"default-src 'none'; script-src {_hashes(scripts)}; style-src 'unsafe-inline'; style-src-elem {_hashes([style])}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    data = "".join(
        f'<script type="application/json" data-name="{name}">{_embedded(content)}</script>\n'
        for name, content in blocks(files, project=project, beside=beside, comparison=comparison)
    )
    parts = {
        "policy": policy,
        "style": style,
        "verdict": comparison["verdict"] if comparison else "",
        "comparison": _told(comparison) if comparison else "",
        "data": data,
        "scripts": "".join(f"<script>{script}</script>\n" for script in scripts),
    }
    frame = (PAGES / "index.html").read_text(encoding="utf-8")
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], frame)


def compact(content: Any) -> str:
    """Return strict JSON without blanks."""
    return json.dumps(content, allow_nan=False, separators=(",", ":"), ensure_ascii=False)


def _embedded(content: Any) -> str:
    """Return JSON for a block of data: a text in it can neither end the block nor hide its end."""
    return compact(content).replace("<", "\\u003c")


def _hashes(texts: Iterable[str]) -> str:
    digests = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in texts]
    return " ".join(f"'sha256-{digest}'" for digest in digests)


def _verdict(records: Sequence[Record], command: str) -> str:
    """Return the sentences that the terminal shows below its table, as the first section of the page."""
    found = verdict_of(records)
    lines = [f"<p><strong>{html.escape(sentence)}</strong></p>" for sentence in found.sentences]
    lines += [f"<p>{html.escape(line)}</p>" for line in found.further(command)]
    return f'<section id="verdict" class="answer" role="status">{"".join(lines)}</section>' if lines else ""


def _told(comparison: Mapping[str, str]) -> str:
    """Return what is said of a comparison, below the pages and folded."""
    shown = {name: html.escape(text) for name, text in comparison.items()}
    command = f'<pre tabindex="0" aria-label="Command">{shown["command"]}</pre>' if shown["command"] else ""
    return (
        f'<details id="comparison"><summary>The table of the terminal: {shown["title"]}</summary>{command}\n'
        f'<pre tabindex="0" aria-label="Table">{shown["table"]}</pre>\n'
        f"<p>{shown['machine']}<br>{shown['versions']}</p></details>"
    )


# -- the scripts -------------------------------------------------------------------------------------------


def joined(folder: Path, first: str) -> str:
    """Return the module ``first`` of a folder with all that it imports, as one classic script.

    Browsers load no modules from a file. Each becomes a function that returns what it exports, called after those it imports
    from. The modules keep to a few forms, each on a line of its own: ``import { a, b as c } from "./x.js";``,
    ``import * as x from "./x.js";``, and ``export`` before a ``const``, a ``function``, an ``async function`` or a ``class``.

    Raises
    ------
    ValueError : a module has another form of import or export, imports in a circle, or holds what ends a script in HTML.
    """
    found: dict[str, str] = {}
    _add(folder, first, found, ())
    text = "\n".join(['"use strict";', "const modules = {};", *found.values()])
    if ended := re.search(r"</script|<!--", text, re.IGNORECASE):
        raise ValueError(f"the modules hold {ended.group()}, which ends or hides a script that stands in a page")
    return f"(() => {{\n{text}\n}})();\n"


def _add(folder: Path, name: str, found: dict[str, str], waiting: tuple[str, ...]) -> None:
    """Add a module behind those it imports from; ``waiting`` are those that wait for it."""
    if name in waiting:
        raise ValueError(f"modules import in a circle: {' -> '.join((*waiting, name))}")
    if name in found:
        return
    text = (folder / name).read_text(encoding="utf-8")
    for wanted in _IMPORT.finditer(text):
        _add(folder, wanted["module"], found, (*waiting, name))
    exported = [each["name"] for each in _EXPORT.finditer(text)]
    body = _EXPORT.sub("", _IMPORT.sub(_constant, text))
    if other := _OTHER.search(body):
        raise ValueError(f"{name}: a module is not imported or exported this way: {other.group().strip()}")
    found[name] = f'modules["{name}"] = (() => {{\n{body}\nreturn {{ {", ".join(exported)} }};\n}})();'


def _constant(wanted: re.Match[str]) -> str:
    """Return an import as a constant."""
    braced = _BRACED.sub(r"\1: \2", wanted["names"] or "")
    return f'const {wanted["whole"] or "{" + braced + "}"} = modules["{wanted["module"]}"];'


# -- the data ----------------------------------------------------------------------------------------------


def blocks(
    files: Iterable[RecordFile], *, project: str, beside: bool = False, comparison: Mapping[str, str] | None = None
) -> Iterator[Block]:
    """Yield the name and the content of each block of data, ``index`` the last."""
    places: dict[tuple[str, str], list[RecordFile]] = {}
    for file in files:
        places.setdefault((file.machine, file.environment), []).append(file)
    ordered = sorted(places.items(), key=lambda item: max(map(_age, item[1])), reverse=True)
    curves = any(len({file.commit for file in members}) > 1 for members in places.values())
    entries = []
    for number, ((machine, environment), members) in enumerate(ordered):
        cells = yield from _place(str(number), members)
        entries.append({"machine": machine, "environment": environment, "cells": cells})
    yield (
        "index",
        {
            "project": project,
            "targets": TARGETS,
            "figures": FIGURES,
            "history": beside and curves,
            "places": entries,
            "comparison": bool(comparison),
        },
    )


def _age(file: RecordFile) -> tuple[int, str]:
    return (file.commit_time or 0, file.measured_at)


def _place(number: str, files: list[RecordFile]) -> Generator[Block, None, int]:
    """Yield the cells of one machine and environment, each as it was measured last, and their traces; return their number."""
    newest: dict[Cell, tuple[RecordFile, list[Record]]] = {}
    for file in sorted(files, key=_age, reverse=True):
        for cell, runs in file.cells().items():
            # That a commit lacks a solver is no measurement: what an older one measured is the newest there is.
            if cell not in newest or all(run.get("status") == history.ABSENT for run in newest[cell][1]):
                newest[cell] = (file, runs)
    latest = table(newest)
    yield f"{number}-table", latest
    yield f"{number}-ranking", ranking(latest)
    for i, (dataset, facts) in enumerate(zip(latest["datasets"], latest["dataset_facts"], strict=True)):
        yield f"{number}-trace-{i}", traced(newest, dataset, facts["trace_clock"])
    return len(newest)


# -- of what -----------------------------------------------------------------------------------------------


def of_stores(stores: Sequence[Path]) -> tuple[str, export.Summary]:
    """Return the page of everything in these stores, and what it holds.

    Raises
    ------
    UsageError : there is no such store, or nothing in it that could be shown.
    """
    commits: dict[str, Commit] = {}

    def commit_of(record: Record) -> Commit:
        name = str(record.get("git_commit") or "no commit")
        began = int(1000 * names.moment(record.get("measured_at")).timestamp())
        return commits.setdefault(name, Commit(name, began))

    collection, summary = export.collected(stores, commit_of)
    if not collection.places:
        raise UsageError(
            f"no runs in {', '.join(map(str, stores))}; run `harness compare` first, or name another store."
        )
    files = [export.record_file(place, found, summary) for place, found in collection.places.items()]
    return page(files, project="svm-harness"), summary


def of_records(records: Sequence[Mapping[str, Any]], *, command: str = "") -> str:
    """Return the page of one comparison, the terminal's table folded below it: the report format ``html``.

    Parameters
    ----------
    records : those of the comparison; of a path only its line in the table is shown
    command : what made them, empty if no command did
    """
    own = [Record(record) for record in records if "cell" not in (record.get("path") or {})]
    newest = names.moment(max((str(record.get("measured_at")) for record in own), default=""))
    first = next((str(record["git_commit"]) for record in own if record.get("git_commit")), "no commit")
    collection, summary = export.Collection(), export.Summary()
    for record in own:
        if not record.get("path"):
            collection.add(Record(record), Commit(first, int(1000 * newest.timestamp())))
    collection.settle()
    files = [export.record_file(place, found, summary) for place, found in collection.places.items()]
    comparison = {
        "title": f"{summary.what() if summary.runs else f'runs: {len(own)}'}, {newest:%Y-%m-%d}",
        "command": command,
        "verdict": _verdict(own, command),
        "table": report_table(own, width=WIDTH),
        "machine": "; ".join(dict.fromkeys(_machine(record.get("machine") or {}) for record in own)),
        "versions": "; ".join(dict.fromkeys(_versions(record.get("versions") or {}) for record in own)),
    }
    return page(files, project="svm-harness", comparison=comparison)


def _machine(machine: Mapping[str, Any]) -> str:
    memory, cores = machine.get("memory_bytes"), names.fact(machine.get("cores"))
    parts = [
        names.fact(machine.get("processor")),
        f"{cores} cores" if cores else "",
        f"{memory / 2**30:.0f} GiB" if is_number(memory) else "",
        names.fact(machine.get("system")),
    ]
    return ", ".join(part for part in parts if part) or "an unknown machine"


def _versions(versions: Mapping[str, Any]) -> str:
    return ", ".join(f"{names.fact(name)} {names.fact(number)}" for name, number in versions.items())
