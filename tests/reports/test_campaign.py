"""The campaign of faults: its judge sees what it shall see, its trials can be repeated, each kind runs."""

import ast
import json
import sqlite3
import subprocess
import sys
import types
from pathlib import Path

import pytest

from reports.robustness import campaign
from reports.robustness.trials import bad_plugin, judge, kills, lines, pages, plugins, stores
from reports.robustness.trials.place import Done, Trial, Verdict

ROOT = Path(campaign.__file__).resolve().parents[2]


def done(code=0, out="", err="", seconds=1.0):
    return Done(code, out, err, seconds, 1.0)


# -- the judge ---------------------------------------------------------------------------------------------

OK_ROW = {"solver": "smo", "seed": 0, "status": "ok", "relative_gap": 1e-4}


@pytest.mark.parametrize(
    ("found", "told"),
    [
        (judge.code(done(70)), "ended with 70"),
        (judge.code(done(-11)), "ended with -11"),
        (judge.code(done(None)), "had not ended"),
        (judge.words(done(err="Traceback (most recent call last):\n  x\nValueError")), "Traceback"),
        (judge.words(done(out="harness: internal error: KeyError")), "internal error"),
        (judge.escapes(done(err="harness: \x1b]0;owned\x07")), "control character"),
        (judge.escapes(done(out="\u202e")), "control character"),
        (judge.in_time(done(seconds=10.1), 10.0), "more than the 10.0 s"),
        (judge.rows(done(out="hello\n[]"))[1], "no JSON"),
        (judge.rows(done(out="{}"))[1], "no list of rows"),
        (judge.one_row_each([OK_ROW], [("smo", 0), ("bad", 0)], ("solver", "seed")), "no row for ('bad', 0)"),
        (judge.one_row_each([OK_ROW, OK_ROW], [("smo", 0)], ("solver", "seed")), "2 rows for ('smo', 0)"),
        (judge.good_rows([{**OK_ROW, "status": "timeout"}], {"smo"}), "is timeout"),
        (judge.good_rows([{**OK_ROW, "relative_gap": None}], {"smo"}), "the good solver smo"),
        (judge.sentence(done(2)), "said nothing"),
        (judge.sentence(done(2, err="x" * 20_001)), "more than 20,000"),
    ],
)
def test_the_judge_sees_what_is_wrong(found, told):
    assert len(found) == 1
    assert told in found[0]


def test_the_judge_has_nothing_against_what_is_right():
    fine = done(1, json.dumps([OK_ROW]), "harness: plugin 'faulty' could not be loaded: no\n", 9.9)
    rows, wrong = judge.rows(fine)
    assert rows == [OK_ROW]
    assert not wrong + judge.code(fine) + judge.words(fine) + judge.escapes(fine) + judge.in_time(fine, 10.0)
    assert (
        not judge.one_row_each(rows, [("smo", 0)], ("solver", "seed"))
        + judge.good_rows(rows, {"smo"})
        + judge.sentence(fine)
    )


def store_of(folder, *records):
    path = folder / "store.sqlite"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE records (id INTEGER PRIMARY KEY, key TEXT, record TEXT)")
    connection.executemany("INSERT INTO records (key, record) VALUES (?, ?)", records)
    connection.commit()
    connection.close()
    return path


def test_the_judge_reads_the_store(tmp_path):
    def row(status, stopped_by):
        return json.dumps({"seed": 0, "status": status, "stopped_by": stopped_by, "sources": {"a": "b"}})

    fine, killed = ("k", row("ok", "solver")), ("k", row("crashed", "killed"))
    for name, records, told in (
        ("fine", [fine, killed], []),
        ("lost", [killed], ["no reusable row of 0"]),
        ("doubled", [fine, fine], ["2 reusable rows of 0"]),
        ("unreadable", [fine, ("k", "{")], ["row 2 of the store cannot be read"]),
    ):
        (tmp_path / name).mkdir()
        found = judge.stored(store_of(tmp_path / name, *records), lambda row: row["seed"], [0])
        assert len(found) == len(told), (name, found)
        assert all(part in sentence for part, sentence in zip(told, found, strict=True))
    path = store_of(tmp_path, fine)
    path.write_bytes(path.read_bytes()[:5000])
    assert judge.stored(path, lambda row: row["seed"], [0])


LEAVING = "import os, time\nif os.fork(): os._exit(0)\nos.setsid()\n{}\nif os.fork(): os._exit(0)\ntime.sleep(60)"
BARE = "if os.fork(): os._exit(0)\nos.execve('/bin/sleep', ['s', '60'], {})"
PLANTED = {
    "a process": (LEAVING.format(""), "left process"),
    "a process without environment": (LEAVING.format(BARE), "left process"),
    "a file": ("open('rubbish', 'w').write('x')", "rubbish"),
    "a temporary file": ("import tempfile; tempfile.mkstemp(prefix='rubbish')", "rubbish"),
    "shared memory": ("import os; open('/dev/shm/x-' + os.environ['HARNESS_CAMPAIGN'], 'w')", "/dev/shm/x-"),
    "nothing": ("", ""),
}  # fmt: skip


@pytest.mark.parametrize("left", PLANTED)
def test_what_is_left_behind_is_seen_and_taken_away(left, tmp_path, monkeypatch):
    program, told = PLANTED[left]

    def run(trial, place, pace):
        place.wait(place.program([sys.executable, "-c", program], "command"), lambda: 30.0)
        monkeypatch.setattr(judge, "PATIENCE", 0.2)
        return Verdict("planted", violations=judge.nothing_left(place))

    monkeypatch.setitem(sys.modules, "reports.robustness.trials.planted", types.SimpleNamespace(run=run))
    found = campaign.Campaign(1, tmp_path, tmp_path / "cache")
    running = found.start(Trial(1, "planted", 0))
    while (verdict := running.ended(1.0)) is None:
        continue
    assert bool(verdict.violations) == bool(told), verdict.violations
    assert all(told in each for each in verdict.violations)
    kept = tmp_path / "1-planted-0"
    assert kept.exists() == bool(told), "the files of a trial are kept if something was wrong"
    marked = f"1-planted-0-{running.pid}"
    assert not [path for path in Path("/dev/shm").iterdir() if marked in path.name]
    assert not [path for path in Path("/proc").glob("[0-9]*/environ") if marked in _read(path)]


def _read(path):
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


def test_a_trial_that_fails_by_itself_is_no_success(tmp_path, monkeypatch):
    def run(trial, place, pace):
        raise KeyError("planted")

    monkeypatch.setitem(sys.modules, "reports.robustness.trials.planted", types.SimpleNamespace(run=run))
    running = campaign.Campaign(1, tmp_path, tmp_path / "cache").start(Trial(1, "planted", 0))
    while (verdict := running.ended(1.0)) is None:
        continue
    assert "KeyError: 'planted'" in verdict.violations[0]


def test_payloads_in_pages_are_seen(tmp_path):
    (tmp_path / "a.html").write_text("<p>&lt;script&gt;alert(1)</p>")
    assert pages.raw(tmp_path) == []
    (tmp_path / "b.html").write_text("<p><script>alert(1)</script>")
    assert pages.raw(tmp_path) == ["'<script>alert(1)' stands in b.html"]


# -- the trials --------------------------------------------------------------------------------------------


def test_the_same_trial_is_the_same_again():
    for draw in (plugins.composed, lines.line, lambda rng: kills.drawn(rng, 9.0)):
        first, again, other = (draw(Trial(7, "x", number).rng()) for number in (3, 3, 4))
        assert first == again
        assert first != other or draw(Trial(7, "x", 5).rng()) != first


def test_every_kind_of_line_can_be_drawn():
    drawn = [lines.line(Trial(1, "lines", number).rng())[0] for number in range(500)]
    assert {line[0] for line in drawn if line} >= {
        b"compare",
        b"results",
        b"list",
        b"describe",
        b"completion",
        b"dashboard",
    }


def test_every_place_and_deed_occurs_and_makes_a_plugin(tmp_path):
    found = [fault for number in range(3000) for fault in plugins.composed(Trial(1, "x", number).rng())]
    places, deeds = ({fault[part] for fault in found} for part in (0, 1))
    source = Path(bad_plugin.__file__).read_text()
    assert set(plugins.DEEDS) <= deeds
    assert all(f'"{place}"' in source or place.startswith("import-") for place in places)
    written = plugins.written(tmp_path, [("first", "sleep")]).read_text()
    assert "(('first', 'sleep'),)" in written
    ast.parse(written)


def test_the_table(tmp_path):
    found = campaign.Campaign(1, tmp_path, tmp_path)
    running = campaign.Running(Trial(1, "kills", 0), 0, 0, 0.0)
    line = found.note(running, Verdict("one", 12.0, 10.0, ["late"]))
    assert line["verdict"] == ["late"]
    assert found.note(running, Verdict("two", 1.0, 10.0))["verdict"] == "ok"
    assert campaign.table(found.tallies).splitlines()[-1] == "| kills | 2 | 1 | +2.0 s |"


def test_the_shares_of_time_are_kept(tmp_path):
    found = campaign.Campaign(1, tmp_path, tmp_path)
    assert sum(campaign.KINDS.values()) == pytest.approx(1.0)
    found.tallies = {kind: campaign.Tally(seconds=100.0 * share) for kind, share in campaign.KINDS.items()}
    found.tallies["lines"].seconds -= 5.0
    assert found.next_kind(list(campaign.KINDS), []) == "lines"


def test_damaged_stores_keep_what_a_check_needs(tmp_path):
    """The rows that are whole are known without the harness."""
    path = tmp_path / "given" / "store.sqlite"
    path.parent.mkdir()
    connection = sqlite3.connect(path)
    connection.execute(
        "CREATE TABLE records (id INTEGER PRIMARY KEY, key TEXT, status TEXT, measured_at TEXT, record TEXT, checksum INTEGER)"
    )
    for number in range(3):
        connection.execute("INSERT INTO records (id) VALUES (?)", (number + 1,))
        stores.write(
            connection, number + 1, {"key": "k", "status": "ok", "measured_at": "t", "parameters": {"number": number}}
        )
    connection.commit()
    assert stores.readable(path) == {0, 1, 2}
    connection.execute("UPDATE records SET status = 'x' WHERE id = 2")
    connection.commit()
    connection.close()
    assert stores.readable(path) == {0, 2}


@pytest.mark.slow
def test_each_kind_runs(tmp_path):
    """One trial of each kind, as from the command line; what it is held to, the others above say."""
    output = tmp_path / "out.jsonl"
    command = [
        sys.executable,
        str(ROOT / "reports" / "robustness" / "campaign.py"),
        "--seed",
        "1",
        "--seconds",
        "15",
        "--jobs",
        "6",
    ]
    ended = subprocess.run(
        [*command, "--folder", str(tmp_path / "c"), "--output", str(output)],
        capture_output=True,
        text=True,
        check=False,
        timeout=280,
    )
    told = [json.loads(line) for line in output.read_text().splitlines()]
    assert {line["kind"] for line in told} == set(campaign.KINDS), ended.stderr
    assert [line for line in told if line["verdict"] != "ok"] == [], ended.stdout
    assert ended.returncode == 0, ended.stdout + ended.stderr
