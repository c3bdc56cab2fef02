"""The hole: which variants take part, their times beside the solver's, the verdicts and the page."""

import sys

import pytest

from harness.errors import UsageError
from reports.peers import __main__ as command
from reports.peers import hole
from reports.peers.cells import HOLE, relatives
from reports.peers.results import Results
from tests.reports.peers_rows import HEADER, row

NARROW, WIDE, SMALL = LABELS = ["smo", "smo[dtype=float64]", "smo[working_set=64]"]
OTHER = relatives(3, 1)[0]


def run(cell, label, seconds, **changed):
    return row(cell.name, label, seconds, part="hole", **changed)


def judged(*rows):
    problems = hole.frame(rows, LABELS)
    return [each["over"] for each in problems], [each.met for each in hole.verdicts(problems, LABELS[0])]


def test_the_solver_is_compared_with_the_best_of_its_variants():
    good = [run(HOLE, NARROW, 0.12), run(HOLE, WIDE, 0.10), run(HOLE, SMALL, 0.05)]
    assert judged(*good) == ([pytest.approx(2.4)], [True, True])
    slow = [run(HOLE, NARROW, 0.16), *good[1:]]
    assert judged(*slow) == ([pytest.approx(3.2)], [False, False])
    elsewhere = [run(OTHER, NARROW, 1.6), run(OTHER, WIDE, 0.5), run(OTHER, SMALL, 2.0)]
    assert judged(*good, *elsewhere) == ([pytest.approx(2.4), pytest.approx(3.2)], [True, False])
    assert judged(*elsewhere)[1] == [None, False], "the hole itself was not measured"
    tiny = [run(HOLE, NARROW, 0.009), run(HOLE, WIDE, 0.001)]
    assert judged(*tiny) == ([1.0], [True, True]), "below the least time"


def test_what_was_stopped_or_is_not_certified():
    stopped = run(HOLE, NARROW, None, limit=20.0, stopped_by="time")
    assert judged(stopped, run(HOLE, WIDE, 0.5)) == ([40.0], [False, False])
    assert hole.seconds([stopped], HOLE.name, NARROW) == (20.0, ">")
    assert hole.seconds([{**stopped, "cpu": 12.5}], HOLE.name, NARROW) == (12.5, ">"), "of a machine that was busy"
    assert judged(run(HOLE, NARROW, 50.0), {**stopped, "label": WIDE}) == ([1.0], [False, True]), (
        "20 s are no time to beat"
    )
    wrong = run(HOLE, NARROW, 0.1, kkt=2e-3)
    assert judged(wrong, run(HOLE, WIDE, 0.5)) == ([float("inf")], [None, False])
    assert judged(run(HOLE, NARROW, 0.1), run(HOLE, WIDE, 0.01, kkt=2e-3)) == ([1.0], [True, True]), (
        "no variant of the race"
    )
    assert judged(wrong) == ([None], [None, None]), "nobody is certified"


def test_the_gap_counts_where_it_was_asked_for():
    for label, expected in (("smo[gap=0.001]", None), ("smo", 1.0)):
        assert hole.seconds([run(HOLE, label, 1.0, gap=0.5)], HOLE.name, label)[0] == expected


class Knows:
    """A bench whose solver has no parameter ``working_set``."""

    registry = type("Registry", (), {"solver_names": staticmethod(lambda: ["smo"])})

    def __init__(self):
        self.calls = []

    def chosen(self, label):
        if "working_set" in label:
            raise UsageError("no such parameter")

    def run(self, key, selection, label, *, threads, limit):
        self.calls.append((key["round"], label))
        return {"status": "timeout" if "float64" in label else "ok"}


def test_the_variants_run_in_turns(capsys, monkeypatch):
    bench, given = (
        Knows(),
        hole.arguments(["--count", "0", "--variants", "dtype=float64;working_set=64;shrinking=false"]),
    )
    labels = hole.variants(bench, given)
    assert labels == ["smo", "smo[dtype=float64]", "smo[shrinking=false]"]
    assert "smo[working_set=64] takes no part" in capsys.readouterr().out
    hole.measure(bench, given, labels)
    assert bench.calls == [*[(0, label) for label in labels], (1, "smo"), (1, "smo[shrinking=false]")]
    given.gap = 1e-3
    assert hole.variants(bench, given)[:2] == ["smo[gap=0.001]", "smo[gap=0.001,dtype=float64]"]


def test_the_page_of_the_hole():
    rows = [
        HEADER,
        run(HOLE, NARROW, None, limit=20.0, stopped_by="time"),
        run(HOLE, WIDE, 0.1),
        run(HOLE, SMALL, 0.2, kkt=1.0),
    ]
    text, _ = hole.page(Results(rows), LABELS)
    assert "| problem | smo | dtype=float64 | working_set=64 | over the best |" in text
    assert f"| `{HOLE.name}` | > 20 | 0.1 | - | > 200 |" in text
    assert "| > 20 s | **missed** |" in text


def test_the_relatives_are_drawn_around_the_hole():
    found = relatives(3, 40)
    assert found[:5] == relatives(3, 5)
    assert found != relatives(4, 40)
    assert {cell.noise for cell in found} == {0.0}
    assert all(2 <= cell.d <= 6 and 2000 <= cell.n <= 16_000 and 1e3 <= cell.C <= 1e6 for cell in found)
    assert len({cell.data for cell in found}) == 40


def test_the_hole_is_a_command(tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr(hole, "variants", lambda bench, given: LABELS)

    def measured(bench, given, labels):
        seen.append(given.seed)
        for label in labels:
            bench.journal.append(run(HOLE, label, 0.1))

    monkeypatch.setattr(hole, "measure", measured)
    monkeypatch.setattr(sys, "argv", ["reports/peers", "hole", "--seed", "5", "--out", str(tmp_path)])
    command.main()
    assert seen == [5]
    assert "| 0.1 | 0.1 | 0.1 | 1 |" in (tmp_path / "hole.md").read_text()
