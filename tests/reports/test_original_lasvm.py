"""The comparison with LASVM's own program: what can be run without the program."""

import numpy as np
import pytest

from harness.registry import load_registry
from reports.kit.grids import Options
from reports.lasvm_2005.original import compare
from reports.lasvm_2005.original.drawn import draw
from reports.lasvm_2005.plan import QUICK


def checkerboard():
    return load_registry().select_datasets("checkerboard[n=300]")[0].load()


def test_a_folder_without_the_source_is_named_with_what_it_lacks(tmp_path):
    (tmp_path / "lasvm.c").write_text("")
    with pytest.raises(SystemExit, match=r"has no kcache.c; give the folder of LASVM's unpacked source to --source"):
        compare.compiled(tmp_path, tmp_path)


def test_a_machine_without_a_compiler_is_told_what_to_install(tmp_path, monkeypatch):
    for name in ("lasvm.c", "kcache.c"):
        (tmp_path / name).write_text("")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SystemExit, match="no C compiler called cc on the PATH; install one"):
        compare.compiled(tmp_path, tmp_path)


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


def test_drawn_sets_are_what_was_asked_for_and_the_same_each_time():
    sets, again, others = draw(5), draw(5), draw(6)
    assert len({one.label for one in sets + others}) == 20
    for one, same in zip(sets, again, strict=True):
        np.testing.assert_array_equal(one.x_train, same.x_train)
        np.testing.assert_array_equal(one.y_train, same.y_train)
        n, d = one.x_train.shape
        assert 2_000 <= n <= 10_000
        assert 2 <= d <= 100
        assert 1.0 <= one.defaults["C"] <= 1000.0
        assert 0.2 <= one.defaults["gamma"] * d <= 2.0
        assert abs(one.y_train.mean()) < 0.2
        assert set(one.y_train.tolist()) == {-1.0, 1.0}


def test_without_the_program_nothing_is_measured_and_it_is_said(capsys):
    assert list(compare.measured(Options(plan=QUICK))) == []
    assert "give the folder of LASVM's unpacked source to --source" in capsys.readouterr().err
