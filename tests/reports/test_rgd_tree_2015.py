"""reports/rgd_tree_2015: its split of the data, its tests of chance, and a real drive."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from harness import KernelOracle, Linear
from harness.problems import RampSVC
from harness.registry import load_registry
from reports.kit import command, page, signed_ranks, solvers, sources
from reports.kit.grids import Options
from reports.kit.journal import read_rows
from reports.rgd_tree_2015.parts import parts
from reports.rgd_tree_2015.plan import CCCP, METRICS, PLAN, QUICK, SOFT, TREE, Benchmark, Plan
from reports.rgd_tree_2015.study import STUDY

# -- the split ---------------------------------------------------------------------------------------------

NAMED = "breast-cancer"  # comes with scikit-learn: no raw file is needed


def whole():
    data = sources._loaded(NAMED)
    return np.concatenate([data.x_train, data.x_test]), np.concatenate([data.y_train, data.y_test])


def rows_of(points, x_train_standardised_by, everything):
    """The row of each standardised point in ``everything``; the constant column is left out."""
    mean, spread = x_train_standardised_by
    raw = points[:, :-1] * spread + mean
    distances = np.abs(raw[:, None] - everything[None]).max(axis=2)
    assert distances.min(axis=1).max() < 1e-8
    return distances.argmin(axis=1)


def statistics(x, train):
    return x[train].mean(axis=0), x[train].std(axis=0)


def test_the_split_is_disjoint_has_its_shares_and_flips_training_and_validation_alone():
    x, y = whole()
    split = sources.NoisySplit(of=NAMED, seed=3).load()
    order = np.random.default_rng(3).permutation(len(y))
    n_train = len(y) - 2 * int(0.3 * len(y))
    scale = statistics(x, order[:n_train])
    train, held = (rows_of(points, scale, x) for points in (split.x_train, split.x_test))
    validation, test = held[: len(held) // 2], held[len(held) // 2 :]
    assert sorted([*train, *validation, *test]) == list(range(len(y))), "every row once"
    assert (len(train), len(validation), len(test)) == (n_train, int(0.3 * len(y)), int(0.3 * len(y)))
    assert len(train) / len(y) == pytest.approx(0.4, abs=0.01)

    labels = split.y_test[: len(validation)]
    assert np.sum(split.y_train != y[train]) == round(0.15 * len(train))
    assert np.sum(labels != y[validation]) == round(0.15 * len(validation))
    assert (split.y_test[len(validation) :] == y[test]).all(), "never a test label"
    assert (split.planted == (split.y_train != y[train])).all()
    assert split.x_train[:, :-1].mean(axis=0) == pytest.approx(0.0, abs=1e-9)
    assert split.x_train[:, :-1].std(axis=0) == pytest.approx(1.0)
    assert (split.x_train[:, -1] == 1.0).all()
    assert (split.x_test[:, -1] == 1.0).all()


# -- the best scale of a direction -------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("s", [-1.0, 0.0, 0.5])
def test_the_best_scale_is_that_of_a_fine_search(seed, s):
    rng = np.random.default_rng(seed)
    x = np.column_stack([rng.normal(size=(25, 3)), np.ones(25)])
    y = np.where(rng.random(25) < 0.5, 1.0, -1.0)
    problem = RampSVC.build(KernelOracle(Linear(), x), y, {"C": 0.3, "s": s})
    weights = rng.normal(size=4)

    def objective(t):
        z = y * (x @ (t * weights))
        losses = np.maximum(0.0, 1.0 - z) - np.maximum(0.0, s - z)
        return 0.5 * t**2 * (weights @ weights) + 0.3 * losses.sum()

    scale, value = solvers.best_scale(problem, y * (x @ weights), float(weights @ weights))
    assert scale >= 0.0
    assert value == pytest.approx(objective(scale), rel=1e-12)
    assert value <= min(objective(t) for t in np.linspace(0.0, 20.0, 20_001)) + 1e-9


# -- chance ------------------------------------------------------------------------------------------------


def test_holm_s_correction_by_hand():
    # 0.005 x 4 = 0.02; 0.01 x 3 = 0.03; 0.03 x 2 = 0.06; 0.04 x 1 is less than the one before
    assert signed_ranks.holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert signed_ranks.holm([0.6, 0.7]) == [1.0, 1.0]
    assert signed_ranks.holm([]) == []


@pytest.mark.parametrize("n", [5, 6, 10])
def test_signed_ranks_are_those_of_all_signs(n):
    rng = np.random.default_rng(n)
    first, second = rng.integers(0, 8, n) / 2.0, rng.integers(0, 8, n) / 2.0 + 0.25
    differences = first - second
    sizes = np.abs(differences)
    ranks = [(np.sum(sizes < each) + np.sum(sizes <= each) + 1) / 2.0 for each in sizes]
    positive = [
        sum(rank for rank, sign in zip(ranks, signs, strict=True) if sign)
        for signs in itertools.product((0, 1), repeat=n)
    ]
    found, total = sum(rank for rank, value in zip(ranks, differences, strict=True) if value > 0.0), sum(ranks)
    extreme = np.mean([min(each, total - each) <= min(found, total - found) for each in positive])
    assert signed_ranks.signed_ranks(first, second) == pytest.approx(extreme)


# -- the parts ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("plan", [PLAN, QUICK])
def test_every_solver_and_set_of_a_plan_is_there(plan):
    registry = load_registry(list(STUDY.plugins))
    for part in parts(plan).values():
        for grid in part(Options(repetitions=2)):
            assert len(registry.select_solvers(grid.solvers)) == len(grid.solvers)
            assert len(registry.select_datasets(grid.datasets)) == len(grid.datasets)
            assert set(grid.metrics) <= set(registry.metrics)
            assert set(grid.formulations) <= set(registry.formulations)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.usefixtures("warm_sessions")
def test_table_1_of_a_small_set(tmp_path):
    few = (SOFT, CCCP, TREE)
    tiny = Plan((Benchmark("BreastCancer", "breast-cancer", 569, 30),), (), (), (), methods=few, repetitions=2)
    study = replace(STUDY, plan=tiny)
    out = tmp_path / "out"
    command.run(study, ["--part", "table1", "--out", str(out), "--store", str(tmp_path / "store.sqlite")])
    runs = [each for each in read_rows(out / "results.jsonl") if "status" in each]
    assert len(runs) == 2 * len({solver for method in few for solver in method.candidates})
    assert {each["status"] for each in runs} <= {"ok", "unfinished"}
    assert all(0.0 <= each["metrics"][name] <= 100.0 for each in runs for name in METRICS)
    # the two halves are the test part of the record
    for each in runs:
        assert sum(each["metrics"][name] for name in METRICS) / 2.0 == pytest.approx(each["error"])
    page.make(study, out)
    text = (out / "README.md").read_text()
    assert "| BreastCancer | 569 x 30 | 2.2 | " in text
    assert (out / "figure4d.png").read_bytes().startswith(b"\x89PNG")


# -- what a level costs ------------------------------------------------------------------------------------
