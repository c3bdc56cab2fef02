"""Paths as runs: rows and their shares, the choice, reuse, and what is kept of a path that comes to no end."""

from statistics import fmean

import numpy as np
import pytest

from harness import Limits, Status, StoppedBy, UsageError
from harness.registry.discovery import load_registry
from harness.run.driver import Driver
from harness.run.messages import data_key
from harness.run.plan import Study, check_path, plan
from harness.run.store import read_results
from tests.run.conftest import PLUGINS, check_end

DATA = "checkerboard[n=120,n_test=50]"
GRID = {"C": [1.0, 10.0], "gamma": [0.5, 2.0]}


def compare(study, registry):
    return Driver(study, registry).run()


@pytest.fixture
def study(tmp_path):
    registry = load_registry([PLUGINS / "steps.py"])

    def build(selection, datasets=DATA, **options):
        options = {"path": GRID, "folds": 3, "plugin_paths": [str(PLUGINS / "steps.py")], **options}
        solvers, sources = registry.select_solvers(selection), registry.select_datasets(datasets)
        return Study(solvers, sources, store=tmp_path / "s.sqlite", **options), registry

    return build


pytestmark = pytest.mark.usefixtures("warm_sessions")


def test_a_path_is_a_row_for_each_cell_and_one_for_all(study):
    warm, cold = compare(*study("smo-block", cold=True, limits=Limits(target_gap=1e-3)))
    for record, start in ((warm, "warm"), (cold, "cold")):
        path = record["path"]
        assert record.status is Status.OK
        assert [path[name] for name in ("start", "cells", "finished", "certified", "rows")] == [start, 12, 12, 12, 13]
        assert path["worst_gap"] <= 1e-3
        cells, refit = record.cells[:-1], record.cells[-1]
        assert [cell["path"]["cell"] for cell in cells] == list(range(12))
        assert [cell["fold"] for cell in cells] == [0, 0, 1, 1, 2, 2] * 2
        assert {cell["n_train"] for cell in cells} == {80}
        assert {cell["path"]["start"] for cell in record.cells} == {start}
        for cell in cells:
            assert cell.status is Status.OK
            assert cell["relative_gap"] <= 1e-3
            assert 0.0 <= cell["validation_error"] <= 1.0
            assert cell["kernel_evaluations"] + cell["cache_hits"] > 0
        # the shares are the run
        for name in ("fit_seconds", "cpu_seconds", "kernel_evaluations"):
            assert sum(cell[name] for cell in record.cells) == pytest.approx(record[name], rel=1e-9, abs=1e-9), name
        assert sum(cell["shared_seconds"] for cell in record.cells) == pytest.approx(record["shared_seconds"])
        assert start == "warm" or record["shared_seconds"] == 0.0
        # the choice
        errors = {}
        for cell in cells:
            key = cell["problem_parameters"]["C"], cell["kernel_parameters"]["gamma"]
            errors.setdefault(key, []).append(cell["validation_error"])
        best = min(errors, key=lambda values: (fmean(errors[values]), values))
        assert path["best"] == {"C": best[0], "gamma": best[1]}
        assert path["cv_error"] == pytest.approx(fmean(errors[best]))
        assert path["cv_standard_error"] == pytest.approx(np.std(errors[best], ddof=1) / np.sqrt(3))
        assert refit["path"]["cell"] is None
        assert (refit["problem_parameters"]["C"], refit["kernel_parameters"]["gamma"]) == best
        assert (refit["n_train"], refit["fold"]) == (120, None)
        assert refit["test_accuracy"] == record["test_accuracy"]
        assert refit["relative_gap"] <= 1e-3
    assert warm["path"]["best"] == cold["path"]["best"]
    errors = [[cell["validation_error"] for cell in record.cells[:-1]] for record in (warm, cold)]
    assert errors[0] == pytest.approx(errors[1], abs=0.03)


def test_a_complete_path_is_reused_with_its_cells_and_no_other_is_taken_for_it(study):
    (first,) = compare(*study("nothing"))
    assert first["path"]["best"] == {"C": 1.0, "gamma": 0.5}  # of equal errors the smallest C, then the smallest gamma
    request, registry = study("nothing", cold=True)
    again, cold = compare(request, registry)
    assert (again["reused"], cold["reused"]) == (True, False)
    for name in ("key", "measured_at"):
        assert [cell[name] for cell in again.cells] == [cell[name] for cell in first.cells]
    assert all(cell["reused"] for cell in again.cells)
    keys = [record["key"] for each in (again, cold) for record in (each, *each.cells)]
    assert len(set(keys)) == len(keys) == 28
    values = {"problem_values": {"C": [1.0]}, "kernel_values": {"gamma": [0.5]}}
    single, *_ = compare(*study("nothing", path={}, folds=0, **values))
    other_folds, *_ = compare(*study("nothing", folds=2))
    assert (single["reused"], single["path"], other_folds["reused"]) == (False, None, False)
    frame = read_results(request.store)
    assert (len(frame), frame["fold"].notna().sum()) == (14 + 14 + 1 + 10, 12 + 12 + 8)


def test_without_folds_nothing_is_chosen_and_each_cell_is_tested(study):
    (record,) = compare(*study("libsvm", folds=0, path={"C": [10.0, 1.0]}))
    assert record["path"]["finished"] == len(record.cells) == 2
    assert "best" not in record["path"]
    assert [cell["problem_parameters"]["C"] for cell in record.cells] == [1.0, 10.0]
    assert min(cell["test_accuracy"] for cell in record.cells) > 0.4
    assert {cell["validation_error"] for cell in record.cells} == {None}
    assert {cell["kernel_evaluations"] for cell in record.cells} == {None}  # not observable


@pytest.mark.slow
def test_a_path_that_is_killed_keeps_the_cells_it_finished(study):
    (record,) = compare(*study("sleepy", limits=Limits(time_limit=1.0)))
    assert (record.status, record["stopped_by"]) == (Status.TIMEOUT, StoppedBy.TIME)
    assert (record["path"]["finished"], record["path"]["cells"], record["path"]["rows"]) == (3, 12, 3)
    assert [cell["path"]["cell"] for cell in record.cells] == [0, 1, 2]
    assert all(cell["relative_gap"] is not None for cell in record.cells)
    assert "best" not in record["path"]
    assert record["fit_seconds"] == pytest.approx(sum(cell["fit_seconds"] for cell in record.cells))


def test_each_cell_has_its_own_verdict(study):
    (record,) = compare(*study("patchy"))
    check_end(record, "error", "the fifth cell")
    assert [cell.status for cell in record.cells] == [Status.OK, Status.UNFINISHED, Status.INVALID, Status.OK]
    assert record.cells[1]["reason"] == "tired"
    assert record.cells[2]["relative_gap"] is None


# -- the plan ------------------------------------------------------------------------------------------


def planned(request, registry):
    return plan(request, registry, {data_key(s.name, vars(s)): s.load() for s in request.datasets})


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"kernel": "linear"}, "linear has no gamma"),
        ({"formulations": ["nu-svc"]}, "rbf has no C"),
        ({"folds": 100}, "100 folds of a class"),
        ({"formulations": ["l2-svc"], "problem_values": {"chi": [3.0]}}, "chi is given"),
    ],
)
def test_a_path_that_cannot_be_gone_through_is_skipped_with_its_reason(study, options, reason):
    request, registry = study("smo-block", **options)
    assert all(reason in spec.skip_reason for spec in planned(request, registry))
    (record,) = compare(request, registry)
    assert record.status is Status.SKIPPED
    assert list(read_results(request.store).key) == [record["key"]]


@pytest.mark.parametrize(
    ("selection", "options", "reason"),
    [
        ("smo-block", {"path": {}}, "--folds is about a path"),
        ("smo-block", {"path": {}, "folds": 0, "cold": True}, "--cold is about a path"),
        ("smo-block", {"path": {"c": [1.0]}}, "did you mean"),
        ("smo-block", {"path": {"C": [-1.0]}}, "parameter C=-1.0 is not valid"),
        ("smo-block", {"problem_values": {"C": [3.0]}}, "C is given twice"),
        ("smo-block[C=3]", {}, "C is given twice"),
        ("smo-block", {"limits": Limits(iteration_limit=3)}, "--iteration-limit is"),
        ("smo-block", {"core_set_oracle": "qp"}, "--core-set-oracle is"),
        ("smo-block", {"path": {"C": list(range(1, 2000)), "gamma": list(range(1, 2000))}}, "11,988,003 cells"),
    ],
)
def test_what_no_path_can_be_is_refused_in_a_sentence(study, selection, options, reason):
    request, registry = study(selection, **options)
    with pytest.raises(UsageError, match=reason):
        [check_path(request, registry), planned(request, registry)]
