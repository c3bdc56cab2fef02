"""Make one HTML file with the pages, their scripts and their data, which opens from a disk or a mail, without asv.

It is the front page of a site, the single file of a store, and the report format ``html``. Texts of a store cannot run scripts:
in blocks of data, characters that could end the block are escaped, in the texts of a comparison all markup is escaped, and the
policy of the page allows only its scripts, by their hashes.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness import Record, UsageError
from harness.report.figures import is_number
from harness.report.paths import grids
from harness.report.rows import with_suboptimality
from harness.report.table import report_table
from harness.report.timing import TARGETS
from harness.report.verdict import of_records as verdict_of
from harness_dashboard import export, history, names
from harness_dashboard.classes import classes
from harness_dashboard.commits import SHOWN, Commit
from harness_dashboard.landing import landing
from harness_dashboard.series import series
from harness_dashboard.tables import FIGURES, table, traced

if TYPE_CHECKING:
    from harness_dashboard.records import Cell, RecordFile

PAGES = Path(__file__).parent / "pages"
D3 = Path(__file__).parent / "vendor" / "d3" / "d3.min.js"
WIDTH = 140  # number of columns of the terminal's table in the page of a comparison
Block = tuple[str, Any]  # name and content of a block of data

_IMPORT = re.compile(
    r'^import (?:\* as (?P<whole>\w+)|\{(?P<names>[^}]*)\}) from "\./(?P<module>[\w-]+\.js)";$', re.MULTILINE
)
_EXPORT = re.compile(r"^export (?=(?:const|function|async function|class) (?P<name>\w+))", re.MULTILINE)
_OTHER = re.compile(r"^\s*(?:import|export)\b.*|\bimport\s*\(.*|\bimport\.meta\b.*", re.MULTILINE)
_BRACED = re.compile(r"(\w+) as (\w+)")


def page(
    files: Iterable[RecordFile], *, project: str, command: str = "", asv: bool = False,
    comparison: Comparison | None = None,
) -> str:  # fmt: skip
    """Return the pages of these runs as one HTML file.

    command : command that makes the page
    asv : whether the pages of asv are in the same folder
    """
    style = (PAGES / "style.css").read_text(encoding="utf-8")
    scripts = [D3.read_text(encoding="utf-8"), joined(PAGES, "main.js")]
    policy = (
        f"default-src 'none'; script-src {_hashes(scripts)}; style-src 'unsafe-inline'; style-src-elem {_hashes([style])}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    data = "".join(
        f'<script type="application/json" data-name="{name}">{_embedded(content)}</script>\n'
        for name, content in blocks(files, project=project, command=command, asv=asv, comparison=comparison)
    )
    parts = {
        "policy": policy,
        "style": style,
        "comparison": comparison.details() if comparison else "",
        "verdict": comparison.verdict() if comparison else "",
        "data": data,
        "scripts": "".join(f"<script>{script}</script>\n" for script in scripts),
    }
    frame = (PAGES / "index.html").read_text(encoding="utf-8")
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], frame)


def _embedded(content: Any) -> str:
    """Return strict JSON for a block of data, in which no text can end the block or start a comment."""
    text = json.dumps(content, allow_nan=False, separators=(",", ":"), ensure_ascii=False)
    return text.replace("<", "\\u003c")


def _hashes(texts: Iterable[str]) -> str:
    digests = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in texts]
    return " ".join(f"'sha256-{digest}'" for digest in digests)


@dataclass(frozen=True)
class Comparison:
    """The runs of one comparison, and the command that made them, or ''."""

    records: Sequence[Record]
    command: str
    paths: Sequence[dict[str, Any]] = ()

    @property
    def facts(self) -> dict[str, str]:
        """The command, the newest date, the machines and the commits as text."""
        records = [record for record in self.records if record.get("measured_at")] or [Record()]
        newest = names.parse_time(max(str(record.get("measured_at")) for record in records))
        commits = [str(record.get("git_commit") or "")[:SHOWN] for record in records]
        return {
            "command": self.command,
            "date": f"{newest:%Y-%m-%d}",
            "machine": "; ".join(dict.fromkeys(_machine(record.get("machine") or {}) for record in records)),
            "commit": ", ".join(filter(None, dict.fromkeys(commits))),
        }

    def verdict(self) -> str:
        """Return the sentences of the terminal's report as a section of the page."""
        answer = verdict_of(self.records)
        lines = [f"<p><strong>{html.escape(sentence)}</strong></p>" for sentence in answer.sentences]
        lines += [f"<p>{html.escape(line)}</p>" for line in answer.further(self.command)]
        return f'<section id="verdict" class="answer" role="status">{"".join(lines)}</section>' if lines else ""

    def details(self) -> str:
        """Return the terminal's table and the versions as a collapsed section."""
        versions = "; ".join(dict.fromkeys(_versions(record.get("versions") or {}) for record in self.records))
        table = html.escape(report_table(self.records, width=WIDTH))
        return (
            '<details id="comparison"><summary>The table of the terminal</summary>\n'
            f'<pre tabindex="0" aria-label="Table">{table}</pre>\n<p>{html.escape(versions)}</p></details>'
        )


# -- the scripts -------------------------------------------------------------------------------------------


def joined(folder: Path, first: str) -> str:
    """Return the module ``first`` of a folder and the modules that it imports as one classic script.

    Browsers do not load modules from a file. Each module becomes a function that returns its exports, called after the modules that
    it imports. Modules may only use these forms, one per line: ``import { a, b as c } from "./x.js";``,
    ``import * as x from "./x.js";``, and ``export`` before a ``const``, a ``function``, an ``async function`` or a ``class``.

    Raises
    ------
    ValueError : a module has another form of import or export, a circular import, or text that ends a script in HTML.
    """
    modules: dict[str, str] = {}
    _add(folder, first, modules, ())
    text = "\n".join(['"use strict";', "const modules = {};", *modules.values()])
    if ended := re.search(r"</script|<!--", text, re.IGNORECASE):
        raise ValueError(f"the modules contain {ended.group()}, which ends or hides a script in a page")
    return f"(() => {{\n{text}\n}})();\n"


def _add(folder: Path, name: str, modules: dict[str, str], waiting: tuple[str, ...]) -> None:
    """Add a module after the modules that it imports; ``waiting`` are the modules that import it."""
    if name in waiting:
        raise ValueError(f"circular import of modules: {' -> '.join((*waiting, name))}")
    if name in modules:
        return
    text = (folder / name).read_text(encoding="utf-8")
    for match in _IMPORT.finditer(text):
        _add(folder, match["module"], modules, (*waiting, name))
    exported = [match["name"] for match in _EXPORT.finditer(text)]
    body = _EXPORT.sub("", _IMPORT.sub(_constant, text))
    if other := _OTHER.search(body):
        raise ValueError(f"{name}: this form of import or export is not supported: {other.group().strip()}")
    modules[name] = f'modules["{name}"] = (() => {{\n{body}\nreturn {{ {", ".join(exported)} }};\n}})();'


def _constant(match: re.Match[str]) -> str:
    """Return an import statement as a constant."""
    braced = _BRACED.sub(r"\1: \2", match["names"] or "")
    return f'const {match["whole"] or "{" + braced + "}"} = modules["{match["module"]}"];'


# -- the data ----------------------------------------------------------------------------------------------


def blocks(
    files: Iterable[RecordFile], *, project: str, command: str = "", asv: bool = False,
    comparison: Comparison | None = None,
) -> Iterator[Block]:  # fmt: skip
    """Yield the name and the content of each block of data; ``index`` is the last."""
    places: dict[tuple[str, str], list[RecordFile]] = {}
    for file in files:
        places.setdefault((file.machine, file.environment), []).append(file)
    ordered = sorted(places.items(), key=lambda item: max(map(_age, item[1])), reverse=True)
    entries = []
    for number, ((machine, environment), members) in enumerate(ordered):
        cells = yield from _place(str(number), members)
        history_of = series(members)
        if history_of:
            yield f"{number}-history", history_of
        newest = max(members, key=_age)
        facts = {
            "machine": f"{machine}, {environment}",
            "commit": newest.commit[:SHOWN],
            "date": newest.measured_at[:10],
        }
        whole = comparison.facts if comparison and len(ordered) == 1 else {}
        entries.append({**facts, "command": command, "cells": cells, "history": bool(history_of), **whole})
    yield (
        "index",
        {
            "project": project, "targets": TARGETS, "figures": FIGURES, "asv": asv, "places": entries,
            "comparison": comparison.facts if comparison else None, "paths": comparison.paths if comparison else [],
        },
    )  # fmt: skip


def _age(file: RecordFile) -> tuple[int, str]:
    return (file.commit_time or 0, file.measured_at)


def _place(number: str, files: list[RecordFile]) -> Generator[Block, None, int]:
    """Yield the blocks of a machine and environment, with the last runs of each cell; return the number of cells."""
    newest: dict[Cell, tuple[RecordFile, list[Record]]] = {}
    for file in sorted(files, key=_age, reverse=True):
        for cell, runs in file.cells().items():
            # a commit without the solver has no runs of it, so those of an older commit are the last
            if cell not in newest or all(run.get("status") == history.ABSENT for run in newest[cell][1]):
                newest[cell] = (file, runs)
    latest = table(newest)
    grouped = classes(latest)
    yield f"{number}-table", latest
    yield f"{number}-classes", grouped
    yield f"{number}-landing", landing(newest, grouped["place"], grouped["problems"])
    for i, (dataset, facts) in enumerate(zip(latest["datasets"], latest["dataset_facts"], strict=True)):
        yield f"{number}-trace-{i}", traced(newest, dataset, facts["trace_clock"])
    return len(newest)


# -- pages of stores and of records -------------------------------------------------------------------------


def of_stores(stores: Sequence[Path], *, command: str = "") -> tuple[str, export.Summary]:
    """Return the page of all runs in these stores, and a summary.

    Raises
    ------
    UsageError : a store does not exist, or no store has a run to show.
    """
    commits: dict[str, Commit] = {}

    def commit_of(record: Record) -> Commit:
        name = str(record.get("git_commit") or "no commit")
        began = int(1000 * names.parse_time(record.get("measured_at")).timestamp())
        return commits.setdefault(name, Commit(name, began))

    collection, summary = export.read_stores(stores, commit_of)
    if not collection.places:
        raise UsageError(
            f"no runs in {', '.join(map(str, stores))}; run `harness compare` first, or name another store."
        )
    return page(_files(collection, summary), project="svm-harness", command=command), summary


def _files(collection: export.Collection, summary: export.Summary) -> list[RecordFile]:
    return [export.record_file(place, cells, summary) for place, cells in collection.places.items()]


def of_records(records: Sequence[Mapping[str, Any]], *, command: str = "") -> str:
    """Return the page of one comparison with the terminal's table, the report format ``html``.

    Parameters
    ----------
    records : the records of the comparison; a path is a line of the table and a map of its cells
    command : the command that made them, or ''
    """
    singles = with_suboptimality([Record(record) for record in records if "cell" not in (record.get("path") or {})])
    newest = names.parse_time(max((str(record.get("measured_at")) for record in singles), default=""))
    first = next((str(record["git_commit"]) for record in singles if record.get("git_commit")), "no commit")
    collection = export.Collection()
    for record in singles:
        if not record.get("path"):
            collection.add(Record(record), Commit(first, int(1000 * newest.timestamp())))
    collection.assign_problems()
    files = _files(collection, export.Summary())
    comparison = Comparison(singles, command, grids(list(map(Record, records))))
    return page(files, project="svm-harness", command=command, comparison=comparison)


def _machine(machine: Mapping[str, Any]) -> str:
    memory, cores = machine.get("memory_bytes"), machine.get("cores")
    size = f"{memory / 2**30:.0f} GiB" if is_number(memory) else ""
    parts = machine.get("processor"), f"{cores} cores" if cores else "", size, machine.get("system")
    return ", ".join(str(part) for part in parts if part) or "an unknown machine"


def _versions(versions: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {number}" for name, number in versions.items())
