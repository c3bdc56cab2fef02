"""The benchmark of whole grids: what it draws, scales, chooses and says, on a few points and with a solver that is quick."""

import csv
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from harness import Dataset, Grid
from harness.registry import get_solver
from reports.peers import guide

ROOT = Path(__file__).resolve().parents[2]
GRID = Grid({"C": (0.5, 8.0)}, {"gamma": (0.05, 0.5)}, 3)


@pytest.fixture(scope="module")
def ways():
    return guide.compared(guide.drawn(90, 0), GRID, get_solver("smo"), 0)


def test_every_way_solves_every_cell_and_all_are_certified(ways):
    assert [way.name for way in ways] == ["path", "cold", "svc"]
    for way in ways:
        assert [cell.index for cell, *_ in way.cells] == list(range(12))
        assert way.seconds >= sum(seconds for _, seconds, *_ in way.cells) * 0.5
        assert max(figures["kkt_violation"] for figures in way.figures) <= 1.01e-3
        assert {len(errors) for errors in way.fold_errors.values()} == {3}
        assert 0.0 <= way.test_error <= 0.5
    assert len({tuple(way.best.items()) for way in ways}) == 1


def test_features_are_scaled_by_the_training_points():
    x = np.array([[0.0, 5.0], [2.0, 5.0], [1.0, 5.0]])
    found = guide.scaled(Dataset("d", x, np.array([1.0, -1.0, 1.0]), x + 1.0, np.ones(3), sha256=""))
    assert np.array_equal(found.x_train[:, 0], [-1.0, 1.0, 0.0])
    assert np.array_equal(found.x_test[:, 0], [0.0, 2.0, 1.0])
    assert np.isfinite(found.x_train).all()


def way(best, errors, test_error):
    axes = {"C": best[0], "gamma": best[1]}
    return guide.Way("w", best=axes, fold_errors=errors, test_error=test_error)


def test_choices_agree_if_the_folds_cannot_tell_them_apart():
    errors = {(1.0, 1.0): [0.10, 0.20, 0.30], (2.0, 1.0): [0.11, 0.19, 0.31], (4.0, 1.0): [0.20, 0.30, 0.40]}
    one, near, far = (way(best, errors, 0.2) for best in errors)
    assert guide.agreement(one, one, 100) == "same cell"
    assert guide.agreement(near, one, 100) == "within noise"
    assert guide.agreement(far, one, 100) == "differs"
    assert guide.agreement(way((2.0, 1.0), errors, 0.5), one, 100) == "differs"


def test_the_table_says_what_was_measured(ways):
    rows = guide.lines(guide.drawn(90, 0), ways)
    assert [len(row) for row in rows] == [len(guide.TITLES)] * 3
    text = guide.markdown(rows)
    assert text.count("| mixtures |") == 3
    assert f"SVC over path: {ways[2].seconds / ways[0].seconds:.2f}" in text
    assert rows[2][guide.TITLES.index("SVC over it")] == "1.00"


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
