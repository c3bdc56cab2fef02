"""One HTML file with the pages, their scripts and their data inside: it opens from a disk or a mail, without asv.

Texts of a store are data: in the blocks of data what could end them is escaped, in what is said on top of the page all
markup is, and the page's policy names its own scripts by their hashes, so that no other would be carried out.
"""

from __future__ import annotations

import base64
import hashlib
import html
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness import Record, UsageError, checked, is_number, report_table
from harness_dashboard import data, export, untrusted
from harness_dashboard.commits import Called, Commit, States, short
from harness_dashboard.joined import joined

if TYPE_CHECKING:
    from harness_dashboard.records import RecordFile

PAGES = Path(__file__).parent / "pages"
D3 = Path(__file__).parent / "vendor" / "d3" / "d3.min.js"
WIDTH = 140
"""Columns of the table on top of a comparison."""

_LOADED = re.compile(r'^<(?:link rel="(?:icon|stylesheet)"|script )[^>]*>(?:</script>)?\n', re.MULTILINE)
"""What the page of the site loads, each on a line of its own."""
_FROM_FILE = re.compile(r'^  <div id="from-file".*?^  </div>\n', re.MULTILINE | re.DOTALL)
_CONTENT = '<main id="content" tabindex="-1">\n'


def page(
    files: Iterable[RecordFile], *, project: str, called: Mapping[str, Called], told: Mapping[str, str] | None = None
) -> str:
    """Return the pages of these runs as one HTML file.

    called : how their commits are called
    told : of a single comparison ``title``, ``table``, ``command``, ``machine`` and ``versions``: they stand on top
    """
    style = (PAGES / "style.css").read_text(encoding="utf-8")
    scripts = [D3.read_text(encoding="utf-8"), joined(PAGES, "main.js")]
    blocks = data.data(files, project=project, called=called, told=told)
    policy = (
        f"default-src 'none'; script-src {_hashes(scripts)}; style-src 'unsafe-inline'; style-src-elem {_hashes([style])}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    head = (
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n<link rel="icon" href="data:,">\n'
        f"<style>{style}</style>\n"
    )
    embedded = "".join(
        f'<script type="application/json" data-name="{name}">{_embedded(content)}</script>\n'
        for name, content in blocks
    )
    end = embedded + "".join(f"<script>{script}</script>\n" for script in scripts)
    frame = _FROM_FILE.sub("", _LOADED.sub("", (PAGES / "index.html").read_text(encoding="utf-8")))
    before, content, after = frame.partition(_CONTENT)
    start, _, rest = before.partition("</head>\n")
    middle, _, last = after.partition("</body>")
    return f"{start}{head}</head>\n{rest}{content}{_top(told) if told else ''}{middle}{end}</body>{last}"


def _embedded(content: Any) -> str:
    """Return JSON for a block of data: a text in it can neither end the block nor hide its end."""
    return data.compact(content).replace("<", "\\u003c")


def _hashes(texts: Iterable[str]) -> str:
    digests = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in texts]
    return " ".join(f"'sha256-{digest}'" for digest in digests)


def _top(told: Mapping[str, str]) -> str:
    """Return what is said of a comparison, on top of the page."""
    shown = {name: html.escape(text) for name, text in told.items()}
    lines = [f'<details id="told" open><summary>{shown["title"]}</summary>']
    if shown["command"]:
        lines.append(f'<pre tabindex="0" aria-label="Command">{shown["command"]}</pre>')
    lines.append(f'<pre tabindex="0" aria-label="Table">{shown["table"]}</pre>')
    lines.append(f"<p>{shown['machine']}<br>{shown['versions']}</p></details>\n")
    return "\n".join(lines)


def of_stores(stores: Sequence[Path], *, project: str = "svm-harness") -> tuple[str, export.Summary]:
    """Return the page of everything in these stores, and what it holds.

    Raises
    ------
    UsageError : there is no such store, or nothing in it that could be shown.
    """
    export.check(stores)
    states, summary = States(), export.Summary(Path())
    collection = export.collected(stores, states.of, summary)
    if not collection.places:
        raise UsageError(export.nothing(stores, summary))
    files = [export.record_file(place, found, summary, place.commit.name) for place, found in collection.places.items()]
    summary.commits = len({file.commit for file in files})
    return page(files, project=project, called=states.called()), summary


def of_records(records: Sequence[Mapping[str, Any]], *, command: str = "") -> str:
    """Return the page of one comparison, its table on top: the report format ``html``.

    Parameters
    ----------
    records : those of the comparison; of a path only its line in the table is shown
    command : what made them, empty if no command did
    """
    typed = [Record({**checked(record)[0], "reused": bool(record.get("reused"))}) for record in records]
    own = [record for record in typed if "cell" not in (record.get("path") or {})]
    collection, summary = export.Collection(), export.Summary(Path())
    runs = [record for record in own if not record.get("path")]
    newest = untrusted.moment(max((str(record.get("measured_at")) for record in own), default=""))
    first = next((str(record["git_commit"]) for record in own if record.get("git_commit")), "")
    commit = Commit("comparison", int(1000 * newest.timestamp()))
    for record in runs:
        collection.add(Record(record), commit)
    collection.settle()
    files = [export.record_file(place, found, summary, commit.name) for place, found in collection.places.items()]
    told = {
        "title": f"{summary.what()}, {newest:%Y-%m-%d}"
        if runs
        else f"{export.many(len(own), 'run')}, {newest:%Y-%m-%d}",
        "command": command,
        "table": report_table(own, width=WIDTH),
        "machine": "; ".join(dict.fromkeys(_machine(record.get("machine") or {}) for record in own)),
        "versions": "; ".join(dict.fromkeys(_versions(record.get("versions") or {}) for record in own)),
    }
    called = Called(short(first) or "unknown", f"measured {newest:%Y-%m-%d}")
    return page(files, project="svm-harness", called={commit.name: called}, told=told)


def _machine(told: Mapping[str, Any]) -> str:
    memory, cores = told.get("memory_bytes"), untrusted.fact(told.get("cores"))
    parts = [
        untrusted.fact(told.get("processor")),
        f"{cores} cores" if cores else "",
        f"{memory / 2**30:.0f} GiB" if is_number(memory) else "",
        untrusted.fact(told.get("system")),
    ]
    return ", ".join(part for part in parts if part) or "an unknown machine"


def _versions(told: Mapping[str, Any]) -> str:
    return ", ".join(f"{untrusted.fact(name)} {untrusted.fact(number)}" for name, number in told.items())
