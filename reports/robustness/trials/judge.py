"""What every trial is held to: each check returns sentences, none if all is well."""

from __future__ import annotations

import json
import re
import sqlite3
import time
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

from harness.run.record import Record, Status
from reports.robustness.trials.place import Done, Place

ENDED_WELL = frozenset({0, 1})
PATIENCE = 3.0  # seconds, for what a command left to be gone
_FAULTS = ("Traceback (most recent call last)", "internal error", "Exception ignored in", "\nFatal Python error")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def code(done: Done, expected: Collection[int] = ENDED_WELL) -> list[str]:
    """The exit code is one that the manual knows."""
    if done.code is None:
        return [f"had not ended after {done.seconds:.1f} s and was killed"]
    if done.code in expected:
        return []
    return [f"ended with {done.code}, not with one of {sorted(expected)}: {tail(done.err)}"]


def tail(text: str) -> str:
    """Return the end of a text in one line."""
    return " ".join(text.split())[-200:]


def words(done: Done, *, quoted: bool = False) -> list[str]:
    """Neither a traceback nor an internal error is shown; ``quoted``: in what is no JSON of rows that quote them."""
    texts = {"standard error": done.err} if quoted else {"standard output": done.out, "standard error": done.err}
    return [
        f"'{fault.strip()}' on {name}: {tail(text)}"
        for name, text in texts.items()
        for fault in _FAULTS
        if fault in f"\n{text}"
    ]


def escapes(done: Done) -> list[str]:
    """No control character reaches the terminal."""
    found = []
    for name, text in (("standard output", done.out), ("standard error", done.err)):
        match = _CONTROL.search(text.replace("\r\n", "\n"))
        if match:
            found.append(
                f"the control character {match[0]!r} on {name}: {text[max(0, match.start() - 40) : match.end()]!r}"
            )
    return found


def in_time(done: Done, limit: float) -> list[str]:
    """It ended within ``limit`` seconds."""
    if done.seconds <= limit:
        return []
    return [
        f"took {done.seconds:.1f} s, {done.seconds - limit:.1f} s more than the {limit:.1f} s allowed (load {done.load:.1f})"
    ]


def rows(done: Done) -> tuple[list[dict[str, Any]], list[str]]:
    """Standard output is a JSON list of rows, and nothing else."""
    try:
        found = json.loads(done.out)
    except ValueError as error:
        return [], [f"standard output is no JSON ({error}): {tail(done.out)}"]
    if not isinstance(found, list) or not all(isinstance(row, dict) for row in found):
        return [], [f"standard output is no list of rows: {tail(done.out)}"]
    return found, []


def one_row_each(
    found: Sequence[dict[str, Any]], asked: Collection[tuple[Any, ...]], names: Sequence[str]
) -> list[str]:
    """One row for each run that was asked for, ``names`` being the fields that tell them apart."""
    there = [tuple(row.get(name) for name in names) for row in found]
    wrong = [f"no row for {run}" for run in asked if run not in there]
    return wrong + [f"{there.count(run)} rows for {run}" for run in sorted(set(there), key=str) if there.count(run) > 1]


def good_rows(found: Sequence[dict[str, Any]], solvers: Collection[str]) -> list[str]:
    """The rows of good solvers are ``ok``, with a certificate."""
    return [
        f"the good solver {row.get('solver')} is {row.get('status')}: {tail(str(row.get('reason')))}"
        for row in found
        if row.get("solver") in solvers and (row.get("status") != Status.OK or row.get("relative_gap") is None)
    ]


def nothing_left(place: Place, excused: str = "", *, groups: bool = True) -> list[str]:
    """No process, control group or file is left; a file is excused if ``excused`` names it.

    groups : False where a driver was killed: the next one takes its empty groups away
    """
    until = time.monotonic() + PATIENCE * place.load.factor
    while (alive := place.processes()) and time.monotonic() < until:
        time.sleep(0.05)
        place.load.sample()
    wrong = [f"left process {pid}, {what}" for pid, what in list(alive.items())[:5]]
    if groups and place.groups():
        wrong.append(f"left {len(place.groups())} control groups: {', '.join(place.groups()[:3])}")
    files = [path for path in place.files() if path.name not in excused and path.parent.name not in excused]
    if files:
        size = sum(path.stat().st_size for path in files if path.is_file())
        wrong.append(f"left {len(files)} files ({size / 1e6:.1f} MB): {', '.join(map(str, files[:3]))}")
    return wrong


def stored(store: Path, keys: Callable[[dict[str, Any]], Any], asked: Collection[Any]) -> list[str]:
    """The store is whole, every row in it can be read, and each run has exactly one row that can be reused."""
    connection = sqlite3.connect(f"file:{store}?mode=ro", uri=True)
    try:
        state = connection.execute("PRAGMA integrity_check").fetchone()[0]
        content = connection.execute("SELECT id, key, record FROM records").fetchall()
    except sqlite3.Error as error:
        return [f"the store cannot be read: {error}"]
    finally:
        connection.close()
    wrong = [] if state == "ok" else [f"the store is damaged: {state}"]
    reusable: dict[Any, list[str]] = {}
    for number, key, text in content:
        try:
            record = json.loads(text)
            run = keys(record)
        except (ValueError, TypeError, KeyError) as error:
            wrong.append(f"row {number} of the store cannot be read: {error}")
            continue
        if Record(record).reusable and record.get("sources"):  # without them it is measured anew
            reusable.setdefault(run, []).append(key)
    wrong += [f"the store has no reusable row of {run}" for run in asked if run not in reusable]
    for run, found in reusable.items():
        if len(set(found)) < len(found):
            wrong.append(f"the store has {len(found)} reusable rows of {run} under {len(set(found))} keys")
    return wrong


def sentence(done: Done) -> list[str]:
    """A command that refuses says why, shortly."""
    if done.code in (0, 1, None) or done.err.strip():
        return ["a refusal of more than 20,000 characters"] if done.code == 2 and len(done.err) > 20_000 else []
    return [f"ended with {done.code} and said nothing"]
