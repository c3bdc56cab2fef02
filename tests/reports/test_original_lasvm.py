"""The comparison with LASVM's own program: what can be run without the program."""

import numpy as np
import pytest

from harness.registry import load_registry
from reports.lasvm_2005.original import compare


def checkerboard():
    return load_registry().select_datasets("checkerboard[n=300]")[0].load()


def test_the_driver_reads_the_points_as_they_are_written(tmp_path):
    data = checkerboard()
    compare.written(data, tmp_path / "points")
    with (tmp_path / "points").open("rb") as file:
        n, d = np.fromfile(file, dtype=np.int32, count=2)
        C, gamma = np.fromfile(file, dtype=np.float64, count=2)
        x = np.fromfile(file, dtype=np.float32, count=n * d).reshape(n, d)
        y = np.fromfile(file, dtype=np.float32)
    assert (C, gamma) == (data.defaults["C"], data.defaults["gamma"])
    np.testing.assert_array_equal(x, data.x_train.astype(np.float32))
    np.testing.assert_array_equal(y, data.y_train)


@pytest.mark.slow
def test_ours_is_one_epoch_of_lasvm_counted():
    problem = compare.stated(checkerboard(), 16.0)
    run, model = compare.ours(problem, 1e-3, seed=0)
    assert run.seconds > 0.0
    assert 0 < run.members < 300
    assert run.members**2 / 2 < run.values < 300 * 300
    assert compare.gap_of(problem, *model) < 0.5
    few = compare.stated(checkerboard(), 16.0).restrict(np.arange(20))
    assert compare.ours(few, 1e-3, seed=0)[0].values < run.values
    assert compare.ours(few, 1e-3, seed=0)[0].members <= 20
