"""An example of a solver with its own way along a path: the suite of strangers, what it saves, and the command."""

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from harness import RBF, CSVCNoBias, Grid, Limits, SolutionPath
from harness.cli.main import cli
from harness.measure.path_drive import drive_path
from harness.registry import discovery as registry
from harness.testing import SolverConformance
from tests.strangers.ascent import MatrixAscent


class TestMatrixAscent(SolverConformance):
    solver = MatrixAscent()
    gap = 1e-3


def test_a_cell_begins_where_the_one_before_it_ended():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 2))
    y = np.where(x[:, 0] * x[:, 1] + 0.2 * rng.normal(size=60) > 0, 1.0, -1.0)
    grid = Grid({"C": (1.0, 2.0, 4.0)}, {"gamma": (0.5, 2.0)}, 3)
    taken = {}
    for cold in (False, True):
        path = SolutionPath(grid, CSVCNoBias, RBF, x, y, cold=cold)
        taken[cold] = sum(found.outcome.iterations for found in drive_path(MatrixAscent(), path, 0, Limits()))
        # one matrix of 40 x 40 and its diagonal for all C of a fold and a gamma; cold, one of each cell
        assert path.counter.evaluations == (2 * 3 * (40 * 40 + 40) if not cold else 3 * 2 * 3 * (40 * 40 + 40))
    assert taken[False] < taken[True]


@pytest.mark.usefixtures("warm_sessions")
def test_the_command_takes_it(tmp_path, monkeypatch):
    monkeypatch.setenv("HARNESS_STORE", str(tmp_path / "store.sqlite"))
    monkeypatch.setattr(registry, "_shared_registry", registry._shared_registry)  # the command shares its own
    asked = (
        "compare", "--plugin-path", str(Path(__file__).parent / "ascent.py"), "--plugins", "matrix-ascent", "--datasets",
        "twonorm[n=60]", "--path", "C=[1,2],gamma=0.05", "--folds", "2", "--format", "json",
    )  # fmt: skip
    done = CliRunner().invoke(cli, asked)
    assert done.exit_code == 0, done.stderr
    records = json.loads(done.stdout)
    assert [record["status"] for record in records] == ["ok"] * 6
    assert max(record["relative_gap"] for record in records[1:]) <= 1e-3 * (1 + 1e-6)
