"""What the pages read: an index, and for each machine and environment its cells and traces.

The files of a site's ``solvers/data``, or the parts of a single page. Nothing of asv is needed to make them.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness_dashboard import history, traces
from harness_dashboard.about import about
from harness_dashboard.commits import SHOWN, Called
from harness_dashboard.ranking import ranking
from harness_dashboard.tables import FIGURES, table, traced

if TYPE_CHECKING:
    from collections.abc import Iterable

    from harness import Record
    from harness_dashboard.records import Cell, RecordFile

KEPT = 6
"""Commits before the newest whose cells are kept for the table."""

Item = tuple[str, Any]
"""The name of a file, and its content."""


def write_data(files: Iterable[RecordFile], folder: Path, **told: Any) -> None:
    """Write the data of the pages into a folder; ``told`` as `data` takes it."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in data(files, **told):
        (folder / name).write_text(compact(content), encoding="utf-8")


def compact(content: Any) -> str:
    """Return strict JSON without blanks."""
    return json.dumps(content, allow_nan=False, separators=(",", ":"), ensure_ascii=False)


def data(
    files: Iterable[RecordFile],
    *,
    project: str,
    beside: bool = False,
    called: Mapping[str, Called] | None = None,
    told: Mapping[str, str] | None = None,
) -> Iterator[Item]:
    """Yield the name and the content of each file, ``index.json`` the last.

    Parameters
    ----------
    beside : asv's pages are in the site; ours lead there if any place has two commits: one point is no curve
    called : how the commits are called, by their hashes; one that is not there by its own
    told : what is said on top of the page of a single comparison
    """
    places: dict[tuple[str, str], list[RecordFile]] = {}
    for file in files:
        places.setdefault((file.machine, file.environment), []).append(file)
    ordered = sorted(places.items(), key=lambda item: _age(item[1]), reverse=True)
    curves = any(len({file.commit for file in members}) > 1 for members in places.values())
    entries = []
    for number, ((machine, environment), members) in enumerate(ordered):
        entry = yield from _place(number, members, called or {})
        entries.append({"machine": machine, "environment": environment, **entry})
    yield (
        "index.json",
        {
            "project": project,
            "made": datetime.now(UTC).isoformat(timespec="seconds"),
            "targets": traces.TARGETS,
            "figures": FIGURES,
            "history": beside and curves,
            "places": entries,
            "told": told or {},
        },
    )


def _age(files: list[RecordFile]) -> tuple[int, str]:
    return max((file.commit_time or 0, file.measured_at) for file in files)


def _place(number: int, files: list[RecordFile], called: Mapping[str, Called]) -> Generator[Item, None, dict[str, Any]]:
    """Yield the cells and traces of one machine and environment; return its entry in the index."""
    files.sort(key=lambda file: (file.commit_time or 0, file.measured_at), reverse=True)
    newest: dict[Cell, tuple[RecordFile, list[Record]]] = {}
    commits = []
    for place, file in enumerate(files):
        cells = file.cells()
        for cell, runs in cells.items():
            # That a commit lacks a solver is no measurement: what an older one measured is the newest there is.
            if cell not in newest or all(run.get("status") == history.ABSENT for run in newest[cell][1]):
                newest[cell] = (file, runs)
        if place <= KEPT:
            name = f"{number}-{place}.json" if place else None  # the newest commit's cells are among the newest of all
            if name:
                yield name, table({cell: (file, runs) for cell, runs in cells.items()}, costs=False)
            known = called.get(file.commit) or Called(file.commit[:SHOWN], "")
            commits.append({"commit": file.commit, **vars(known), "time": file.commit_time,
                            "measured": file.measured_at, "cells": len(cells), "file": name})  # fmt: skip
    latest = table(newest, costs=True)
    yield f"{number}-latest.json", latest
    yield f"{number}-about.json", about(latest)
    yield f"{number}-ranking.json", ranking(latest)
    for i, (dataset, facts) in enumerate(zip(latest["datasets"], latest["dataset_facts"], strict=True)):
        yield f"{number}-trace-{i}.json", traced(newest, dataset, facts["trace_clock"])
    return {
        "commits": commits,
        "older": max(0, len(files) - len(commits)),
        "latest": {
            "file": f"{number}-latest.json",
            "cells": len(newest),
            "trace": f"{number}-trace-",
            "about": f"{number}-about.json",
            "ranking": f"{number}-ranking.json",
        },
    }
