"""What `harness dashboard run` and `check` say while they measure."""

from __future__ import annotations

import json

import pytest
from harness_dashboard import history, progress

CELLS = [("smo", "a"), ("smo", "b"), ("fw", "a"), ("fw", "b")]


@pytest.fixture
def file(tmp_path, monkeypatch):
    """The file that is told, as another process has it in its environment."""
    found = tmp_path / "told"
    found.touch()
    monkeypatch.setenv(history.PROGRESS, str(found))
    return found


def test_each_number_is_shown_with_its_cell_and_the_time_that_is_left(file, monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(history.time, "time", lambda: now[0])
    seen = progress.Progress(CELLS, fits=4)

    def told(kind, text, seconds):
        now[0] += seconds
        history.tell(kind, text)
        for line in file.read_text().splitlines():
            seen.read(line)
        file.write_text("")
        return str(seen)

    assert str(seen) == "starting"
    assert told(history.NOW, "installing 929e25f1", 5.0) == "installing 929e25f1"
    plan = {"solvers.Fit.time_fit": 4, "solvers.Record.track_failed": 4}
    assert told(history.PLAN, json.dumps(plan), 60.0) == "[0/12] installing 929e25f1"
    assert told(history.DONE, "solvers.Fit.time_fit-2", 10.0) == "[1/12] time_fit of fw on a, about 2 min left"
    told(history.DONE, "solvers.Fit.time_fit-3", 20.0)
    assert seen.remaining == pytest.approx(10 * 15.0)  # of the others nothing is known yet
    told(history.DONE, "records.fit-0", 1.0)
    told(history.DONE, "solvers.Record.track_failed-0", 0.5)
    assert str(seen) == "[4/12] track_failed of smo on a, about 34 s left"
    assert seen.remaining == pytest.approx(2 * 15.0 + 3 * 1.0 + 3 * 0.5)
    for _ in range(99):  # more than was planned
        told(history.DONE, "solvers.Record.track_failed-0", 0.5)
    assert (seen.done, seen.total) == (12, 12)


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.2, "0 s"), (89.0, "89 s"), (90.0, "2 min"), (600.0, "10 min"), (9000.0, "2.5 h")]
)
def test_times_are_told_in_words_that_can_be_read(seconds, text):
    assert progress.told(seconds) == text


def test_a_line_is_printed_now_and_then_and_half_a_line_waits(file, capsys, monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: clock[0])
    watch = progress.Watch(file, progress.Progress(CELLS, 0))
    watch.look()
    for number in range(100):
        history.tell(history.NOW, f"compiling {number}")
        watch.look()
        clock[0] += 1.0
    lines = capsys.readouterr().err.splitlines()
    assert lines == [f"compiling {number}" for number in range(0, 100, 10)]
    with file.open("a") as stream:
        stream.write("1.0\tnow\tcompi")
    watch.look()
    assert watch.progress.doing == "compiling 99"
    with file.open("a") as stream:
        stream.write("ling é\n")
    watch.look()
    assert capsys.readouterr().err == "compiling é\n"
    with file.open("a") as stream:
        stream.write("rubbish\nx\tplan\t{}\n1.0\tplan\t{\n2.0\tnow\tgoing on\n")
    watch.look()
    assert watch.progress.doing == "going on"


def test_nothing_is_told_where_nobody_asked(tmp_path, monkeypatch):
    monkeypatch.delenv(history.PROGRESS, raising=False)
    history.tell(history.NOW, "x")
    monkeypatch.setenv(history.PROGRESS, str(tmp_path / "gone" / "told"))
    history.tell(history.NOW, "x")
    assert list(tmp_path.iterdir()) == []
