"""The hole: which variants take part, their times beside the solver's, the verdicts and the page."""

import sys

from reports.peers import __main__ as command
from reports.peers import hole
from reports.peers.cells import HOLE
from tests.reports.peers_rows import row

NARROW, WIDE, SMALL = LABELS = ["smo", "smo[dtype=float64]", "smo[working_set=64]"]


def run(cell, label, seconds, **changed):
    return row(cell.name, label, seconds, part="hole", **changed)


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
