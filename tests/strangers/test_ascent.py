"""An example of a solver with its own way along a path: the suite of strangers, what it saves, and the command."""

import numpy as np

from harness import RBF, CSVCNoBias, Grid, Limits, SolutionPath
from harness.measure.path_drive import drive_path
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
