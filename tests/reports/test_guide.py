"""The benchmark of whole grids: what it draws, scales, chooses and says, on a few points and with a solver that is quick."""

import csv
import subprocess
import sys
from pathlib import Path

import pytest

from harness import Grid, get_solver
from reports.peers import guide

ROOT = Path(__file__).resolve().parents[2]
GRID = Grid({"C": (0.5, 8.0)}, {"gamma": (0.05, 0.5)}, 3)


@pytest.fixture(scope="module")
def ways():
    return guide.compared(guide.drawn(90, 0), GRID, get_solver("smo"), 0)


@pytest.mark.slow
def test_every_way_solves_every_cell_and_all_are_certified(ways):
    assert [way.name for way in ways] == ["path", "cold", "svc"]
    for way in ways:
        assert [cell.index for cell, *_ in way.cells] == list(range(12))
        assert way.seconds >= sum(seconds for _, seconds, *_ in way.cells) * 0.5
        assert max(figures["kkt_violation"] for figures in way.figures) <= 1.01e-3
        assert {len(errors) for errors in way.fold_errors.values()} == {3}
        assert 0.0 <= way.test_error <= 0.5
    assert len({tuple(way.best.items()) for way in ways}) == 1


def way(best, errors, test_error):
    axes = {"C": best[0], "gamma": best[1]}
    return guide.Way("w", best=axes, fold_errors=errors, test_error=test_error)


@pytest.mark.slow
def test_the_program_writes_its_files(tmp_path):
    words = ["--task", "torchkm", "--n", "60", "--values", "2", "--folds", "2", "--solver", "smo", "--output"]
    done = subprocess.run(
        [sys.executable, ROOT / "reports/peers/guide.py", *words, tmp_path / "out"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out/guide.md").read_text() in done.stdout
    cells = list(csv.DictReader((tmp_path / "out/cells.csv").read_text().splitlines()))
    assert len(cells) == 3 * 4
    assert all(float(row["cpu_seconds"]) >= 0.0 for row in cells)
    assert len(list(csv.DictReader((tmp_path / "out/guide.csv").read_text().splitlines()))) == 3
