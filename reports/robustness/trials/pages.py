"""Trials of the dashboard: a store with hostile values in every field is exported, and now and then built."""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
from pathlib import Path
from typing import Any

from reports.robustness.trials import judge
from reports.robustness.trials.place import Pace, Place, Trial, Verdict
from reports.robustness.trials.stores import HOSTILES, good_store, write

_BUILDS = 0.25  # of the trials
_PAYLOADS = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "x/../../../../ESCAPED/",
    "/ESCAPED",
    "javascript:alert(1)",
)
_RAW = ("<script>alert(1)", "onerror=alert(1)")
_FIELDS = ("machine", "versions", "problem_parameters", "parameters", "kernel_parameters", "info")


def run(trial: Trial, place: Place, pace: Pace) -> Verdict:
    """Make a dashboard of a hostile store, and look for what was written where and as what."""
    rng = trial.rng()
    shutil.copy(good_store(place, pace), place.store)
    connection = sqlite3.connect(place.store)
    told = {name for number, text in connection.execute("SELECT id, record FROM records").fetchall() for name in _spoil(
        connection, number, json.loads(text), rng
    )}  # fmt: skip
    connection.commit()
    connection.close()
    page = place.folder / "page"
    before = _outside(place, page)
    commands = [["dashboard", "export", "--standalone", str(page), "--store", str(place.store)]]
    if rng.random() < _BUILDS:
        commands.append(["dashboard", "build", "--config", str(page)])
    verdict = Verdict(f"{' and '.join(each[1] for each in commands)} with hostile {', '.join(sorted(told))}")
    for command in commands:
        patience = 4.0 * pace.compare + 60.0
        done = place.run(command, 2.0 * patience, command[1])
        verdict.seconds, verdict.limit = done.seconds, patience * done.load
        wrong = judge.code(done, {0, 1, 2}) + judge.words(done) + judge.escapes(done) + judge.sentence(done)
        verdict.violations += [f"{command[1]}: {each}" for each in wrong + judge.in_time(done, verdict.limit)]
    made = _outside(place, page) - before
    verdict.violations += [f"wrote outside of its folder: {', '.join(sorted(made)[:3])}"] if made else []
    verdict.violations += raw(page) + judge.nothing_left(place)
    return verdict


def _spoil(connection: sqlite3.Connection, number: int, record: dict[str, Any], rng: random.Random) -> list[str]:
    """Put hostile values into some fields of a record, and into what its mappings hold."""
    names = rng.sample(sorted(record), rng.choice((1, 3, 8)))
    for name in names:
        record[name] = rng.choice((*_PAYLOADS, *_PAYLOADS, *HOSTILES))
    for name in rng.sample(_FIELDS, 2):
        inner = record.get(name)
        if isinstance(inner, dict) and inner:
            key = rng.choice(sorted(inner))
            inner[key] = rng.choice(_PAYLOADS)
            inner[rng.choice(_PAYLOADS)] = rng.choice(_PAYLOADS)
            names.append(f"{name}.{key}")
    write(connection, number, record)
    return names


def _outside(place: Place, page: Path) -> set[str]:
    roots = (place.folder, place.folder.parent, Path("/tmp"), Path("/"))
    near = {str(path) for root in roots[1:] for path in root.glob("ESCAPED*")}
    return near | {
        str(path) for path in roots[0].rglob("*") if page not in (path, *path.parents) and path.parent != place.folder
    }


def raw(folder: Path) -> list[str]:
    """Return where a payload stands in a page as markup: no page has it as it came."""
    found = []
    for path in sorted(folder.rglob("*.html")):
        text = path.read_text(encoding="utf-8", errors="replace")
        found += [f"'{payload}' stands in {path.relative_to(folder)}" for payload in _RAW if payload in text]
    return found
