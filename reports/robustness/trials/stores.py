"""Trials of damaged stores: bytes, pages, logs, rows, foreign files; then `harness results` and `compare` on them."""

from __future__ import annotations

import functools
import json
import os
import random
import shutil
import sqlite3
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from reports.robustness.trials import judge, slow_plugin
from reports.robustness.trials.misdeeds import HOSTILE
from reports.robustness.trials.place import Pace, Place, Trial, Verdict

_FORMATS = ("table", "json", "csv", "markdown")
_ROWS = 12
_COMPARE = [
    "compare", "--plugin-path", slow_plugin.__file__, "--plugins", f"slow[seconds=0,number=[{','.join(map(str, range(_ROWS)))}]]",
    "--formulation", "c-svc", "--datasets", "twonorm[n=60,n_test=20]", "--time-limit", "3",
]  # fmt: skip
HOSTILES: tuple[Any, ...] = (
    HOSTILE.encode(errors="replace").decode(), "\x1b]52;c;cm0gLXJmIH4=\x07", "x" * 100_000, "", None, -1, 10**15, 1e308,
    "../../../../ESCAPED", "NaN", [], {}, [[[[[[[[[[]]]]]]]]]], {"</script><script>alert(1)": "<img src=x onerror=alert(1)>"},
    True, "\u202e", "a\nb", "=cmd|' /C calc'!A0",
)  # fmt: skip


def run(trial: Trial, place: Place, pace: Pace) -> Verdict:
    """Damage a good store in one to three ways, and look at it."""
    rng = trial.rng()
    shutil.copy(good_store(place, pace), place.store)
    done = []
    for damage in rng.sample(DAMAGES, rng.choices((1, 2, 3), (6, 3, 1))[0]):
        name, probability = damage.__name__.strip("_").replace("_", " "), rng.random()
        if not place.store.is_file():
            break
        try:
            damage(place.store, rng)
        except (sqlite3.Error, ValueError):  # the damage before it was too great, or left nothing
            continue
        done.append(name if probability else "")
    verdict = Verdict(", then ".join(done))
    for suffix in ("-wal", "-shm"):
        left = Path(f"{place.store}{suffix}")
        if left.exists() and not left.stat().st_size:
            left.unlink()
    _shown(verdict, place, rng, pace)
    if rng.random() < 0.35:
        _compared(verdict, place, pace)
    verdict.violations += judge.nothing_left(place)
    return verdict


def _shown(verdict: Verdict, place: Place, rng: random.Random, pace: Pace) -> None:
    expected, before = readable(place.store), contents(place.given)
    for form in ("json", rng.choice(_FORMATS)):
        done = place.run(["results", "--store", str(place.store), "--format", form], 5.0 * pace.results + 8.0)
        limit = (4.0 * pace.results + 5.0) * done.load
        verdict.seconds, verdict.limit = max(verdict.seconds, done.seconds), max(verdict.limit, limit)
        wrong = judge.code(done, {0, 1, 2, 3}) + judge.words(done) + judge.escapes(done) + judge.sentence(done)
        wrong += judge.in_time(done, limit)
        if form == "json" and done.code == 0:
            rows, unreadable = judge.rows(done)
            there = {
                (row.get("parameters") or {}).get("number") for row in rows if isinstance(row.get("parameters"), dict)
            }
            wrong += unreadable
            wrong += [f"the undamaged rows {sorted(expected - there)} are not shown"] if expected - there else []
        elif form == "json" and len(expected) == _ROWS and "newer schema" not in verdict.composed:
            wrong.append(f"a store whose {_ROWS} rows are whole is refused: {judge.tail(done.err)}")
        verdict.violations += [f"results as {form}: {each}" for each in wrong]
    changed = {name for name, content in contents(place.given).items() if before.get(name) != content}
    if changed:
        verdict.violations.append(f"reading changed or made {', '.join(sorted(changed))}")


def _compared(verdict: Verdict, place: Place, pace: Pace) -> None:
    expected = readable(place.store)
    foreign = "foreign database" in verdict.composed or "other file" in verdict.composed
    before = contents(place.given)
    done = place.run([*_COMPARE, "--store", str(place.store), "--format", "json"], 3.0 * pace.compare + 20.0)
    wrong = judge.code(done, {0, 1, 2, 3}) + judge.words(done) + judge.sentence(done)
    if done.code in (0, 1):
        found, unreadable = judge.rows(done)
        asked = [(number,) for number in range(_ROWS)]
        wrong += unreadable or judge.one_row_each(
            [{"number": row["parameters"]["number"]} for row in found], asked, ["number"]
        )
        lost = expected - readable(place.store)
        wrong += [f"the rows {sorted(lost)} are lost"] if lost else []
    elif foreign and contents(place.given) != before:
        wrong.append("a foreign file was changed")
    verdict.violations += [f"compare: {each}" for each in wrong]


def contents(folder: Path) -> dict[str, int]:
    """Return the checksum of each file of a folder."""
    return {path.name: zlib.crc32(path.read_bytes()) for path in folder.iterdir() if path.is_file()}


def readable(store: Path) -> set[int]:
    """Return the numbers of the rows that are what was written, read from a copy one by one."""
    copy = store.parent.parent / "copy.sqlite"
    for suffix in ("", "-wal"):
        Path(f"{copy}{suffix}").unlink(missing_ok=True)
        if Path(f"{store}{suffix}").is_file():
            shutil.copy(f"{store}{suffix}", f"{copy}{suffix}")
    found: set[int] = set()
    if not copy.is_file():
        return found
    connection = sqlite3.connect(copy)
    connection.text_factory = bytes
    for number in range(1, _ROWS + 1):
        try:
            rows = connection.execute(
                "SELECT key, status, measured_at, record, checksum FROM records WHERE id = ?", (number,)
            ).fetchall()
            for *content, checksum in rows:
                if zlib.crc32(b"\n".join(content)) == checksum:
                    found.add(int(json.loads(content[-1])["parameters"]["number"]))
        except (sqlite3.Error, ValueError, KeyError, TypeError):
            continue
    connection.close()
    for suffix in ("", "-wal", "-shm"):
        Path(f"{copy}{suffix}").unlink(missing_ok=True)
    return found


def good_store(place: Place, pace: Pace) -> Path:
    """Return a good store of twelve rows; the first trial of a campaign makes it."""
    template = place.cache.parent / "template.sqlite"
    if not template.exists():
        made = place.folder / "template.sqlite"
        done = place.run([*_COMPARE, "--store", str(made), "--format", "json"], 10.0 * pace.compare + 60.0, "template")
        assert done.code == 0, done.err
        connection = sqlite3.connect(made)
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.close()
        made.replace(template)
    return template


# -- damages -----------------------------------------------------------------------------------------------


def _bytes_flipped(store: Path, rng: random.Random) -> None:
    data = bytearray(store.read_bytes())
    for _ in range(rng.choice((1, 5, 50))):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    store.write_bytes(data)


def _pages_zeroed(store: Path, rng: random.Random) -> None:
    data = bytearray(store.read_bytes())
    for _ in range(rng.choice((1, 1, 3))):
        page = rng.randrange(max(1, len(data) // 4096)) * 4096
        data[page : page + 4096] = bytes(min(4096, len(data) - page))
    store.write_bytes(data)


def _truncated(store: Path, rng: random.Random) -> None:
    os.truncate(store, rng.randrange(store.stat().st_size))


def _extended(store: Path, rng: random.Random) -> None:
    with store.open("ab") as file:
        file.write(rng.randbytes(rng.randrange(1, 10_000)))


def _rubbish_as_log(store: Path, rng: random.Random) -> None:
    Path(f"{store}-wal").write_bytes(rng.randbytes(rng.choice((1, 32, 5000))))


def _log_removed(store: Path, rng: random.Random) -> None:
    """Rows are in the log alone, which then is cut or taken away."""
    connection = sqlite3.connect(store)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute(
        "INSERT INTO records (key, status, measured_at, record) SELECT key, status, measured_at, record FROM records"
    )
    connection.commit()
    with_log = {suffix: Path(f"{store}{suffix}").read_bytes() for suffix in ("", "-wal")}
    connection.close()
    store.write_bytes(with_log[""])
    log = with_log["-wal"]
    Path(f"{store}-wal").write_bytes(log[: rng.choice((0, len(log) // 2, len(log)))])


def _with_rows(change: Callable[[sqlite3.Connection, random.Random], Any]) -> Callable[[Path, random.Random], None]:
    @functools.wraps(change)
    def damage(store: Path, rng: random.Random) -> None:
        connection = sqlite3.connect(store)
        try:
            change(connection, rng)
            connection.commit()
            connection.execute("PRAGMA journal_mode=DELETE")
        finally:
            connection.close()

    return damage


@_with_rows
def _hostile_values(connection: sqlite3.Connection, rng: random.Random) -> None:
    """Rows whose checksums are right and whose values are not what a record has."""
    for number, text in connection.execute("SELECT id, record FROM records").fetchall():
        if rng.random() < 0.4:
            record = json.loads(text)
            for name in rng.sample(sorted(record), rng.choice((1, 3, 40))):
                record[name] = rng.choice(HOSTILES)
            write(connection, number, record)


def write(connection: sqlite3.Connection, number: int, record: dict[str, Any]) -> None:
    """Put a record in the place of another, with its right checksum."""
    content = [str(record.get(name)) for name in ("key", "status", "measured_at")] + [json.dumps(record)]
    checksum = zlib.crc32("\n".join(content).encode(errors="replace"))
    connection.execute(
        "UPDATE records SET key = ?, status = ?, measured_at = ?, record = ?, checksum = ? WHERE id = ?",
        [*(text.encode(errors="replace").decode() for text in content), checksum, number],
    )


@_with_rows
def _foreign_rows(connection: sqlite3.Connection, rng: random.Random) -> None:
    for text in ("", "{", "[]", "7", "null", "{}", '{"status": "ok"}', "[" * 100_000, "\x1b[2J", '{"seed": 1e400}'):
        if rng.random() < 0.5:
            values = ("k", rng.choice(("ok", "", "\x1b[31m")), "2020", text)
            connection.execute("INSERT INTO records (key, status, measured_at, record) VALUES (?, ?, ?, ?)", values)


@_with_rows
def _blobs_and_numbers_as_rows(connection: sqlite3.Connection, rng: random.Random) -> None:
    for value in (b"\xff\xfe", 7, 1.5, b""):
        connection.execute(
            "INSERT INTO records (key, status, measured_at, record, checksum) VALUES (?, ?, ?, ?, ?)",
            (value, value, value, value, rng.choice((None, 5, "x", b"y", -1, 2**62))),
        )


@_with_rows
def _newer_schema(connection: sqlite3.Connection, rng: random.Random) -> None:
    connection.execute(f"PRAGMA user_version={rng.choice((0, 1, 99, 2**31 - 1, -5))}")


@_with_rows
def _view_of_another(connection: sqlite3.Connection, rng: random.Random) -> None:
    connection.execute("DROP VIEW IF EXISTS results")
    connection.execute(rng.choice(("CREATE VIEW results AS SELECT 1", "CREATE TABLE results (id)", "SELECT 1")))


@_with_rows
def _trigger_of_another(connection: sqlite3.Connection, _: random.Random) -> None:
    connection.execute("CREATE TRIGGER t BEFORE INSERT ON records BEGIN SELECT RAISE(ABORT, '\x1b[31mno'); END")


def _foreign_database(store: Path, rng: random.Random) -> None:
    store.unlink()
    connection = sqlite3.connect(store)
    connection.execute(rng.choice((
        "CREATE TABLE cookies (name TEXT)", "CREATE TABLE records (a INTEGER)", "CREATE VIEW records AS SELECT 1 AS id",
        "CREATE TABLE results (id INTEGER, record TEXT)", "PRAGMA user_version = 2",
    )))  # fmt: skip
    connection.commit()
    connection.close()


def _other_file(store: Path, rng: random.Random) -> None:
    content = (b"", b"\0" * 5000, b"SQLite format 3\0", rng.randbytes(5000), b"a,b\n1,2\n", b"{}")
    store.write_bytes(rng.choice(content))


def _other_thing(store: Path, rng: random.Random) -> None:
    store.unlink()
    kind = rng.randrange(4)
    if kind == 0:
        store.mkdir()
    elif kind == 1:
        os.mkfifo(store)
    elif kind == 2:
        store.symlink_to("/dev/zero")
    else:
        store.symlink_to(store)


DAMAGES = (
    _bytes_flipped, _bytes_flipped, _bytes_flipped, _pages_zeroed, _pages_zeroed, _truncated, _extended, _rubbish_as_log,
    _log_removed, _hostile_values, _hostile_values, _foreign_rows, _blobs_and_numbers_as_rows, _newer_schema,
    _view_of_another, _trigger_of_another, _foreign_database, _other_file, _other_thing,
)  # fmt: skip
