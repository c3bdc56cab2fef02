"""reports/rgd_tree_2015: its split of the data, its tests of chance, and a real drive."""

import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from harness import DataError, KernelOracle, Linear, RampSVC
from harness.registry import load_registry
from reports.kit import command, page, running, signed_ranks, solvers, sources
from reports.kit.grids import Options
from reports.kit.journal import read_rows
from reports.kit.results import Published, Results
from reports.rgd_tree_2015 import cost
from reports.rgd_tree_2015.parts import parts
from reports.rgd_tree_2015.plan import CCCP, METRICS, PLAN, QUICK, SOFT, TREE, Benchmark, Cost, Plan
from reports.rgd_tree_2015.study import STUDY
from tests.reports.test_rgd_tree_2015_tables import level

FOLDER = Path(__file__).resolve().parents[2] / "reports" / "rgd_tree_2015"
PUBLISHED = Published.read(FOLDER / "published.csv")


def results(*rows):
    return Results(rows, PUBLISHED, PLAN)


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


def test_each_seed_divides_and_flips_anew():
    first, second, again = (sources.NoisySplit(of=NAMED, seed=seed).load() for seed in (0, 1, 0))
    assert first.sha256 == again.sha256 != second.sha256
    assert (first.planted != second.planted).any()


def test_fewer_training_points_keep_the_share_of_flips_and_the_held_out_part():
    small, large = sources.NoisySplit(of=NAMED, n=40).load(), sources.NoisySplit(of=NAMED).load()
    assert small.x_train.shape[0] == 40
    assert small.planted.sum() == 6
    assert (small.y_test == large.y_test).all()


def test_a_split_without_both_classes_or_of_sparse_points_is_refused(monkeypatch):
    import scipy.sparse

    data = sources._loaded(NAMED)
    one = np.ones(len(data.y_train))
    changed = running.replace(data, y_train=one, y_test=np.ones(len(data.y_test)))
    monkeypatch.setattr(sources, "_loaded", lambda text: changed)
    with pytest.raises(DataError, match=r"all \d+ training points are of one class; expected two"):
        sources.NoisySplit(of=NAMED).load()
    sparse = running.replace(data, x_train=scipy.sparse.csr_array(data.x_train))
    monkeypatch.setattr(sources, "_loaded", lambda text: sparse)
    for cls in (sources.NoisySplit, sources.WithConstant):
        with pytest.raises(DataError, match="the points of breast-cancer are sparse, and would be filled"):
            cls(of=NAMED).load()


def test_a_constant_column_is_all_that_is_added():
    plain, more = sources._loaded(NAMED), sources.WithConstant(of=NAMED).load()
    assert (more.x_train[:, :-1] == plain.x_train).all()
    assert (more.x_test[:, :-1] == plain.x_test).all()
    assert (more.x_train[:, -1] == 1.0).all()
    assert (more.x_test[:, -1] == 1.0).all()
    assert (more.y_train == plain.y_train).all()
    assert more.sha256 != plain.sha256


def test_the_metrics_look_at_their_half_alone():
    targets = np.array([1.0, 1.0, -1.0, -1.0, 1.0, -1.0, 1.0, -1.0])
    scores = np.array([1.0, -1.0, -1.0, -1.0, -1.0, -1.0, -1.0, -1.0])
    assert sources.validation_error(targets, scores) == 25.0
    assert sources.held_out_error(targets, scores) == 50.0


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


def test_no_direction_is_scaled_to_nothing():
    x = np.column_stack([np.array([1.0, -1.0]), np.ones(2)])
    problem = RampSVC.build(KernelOracle(Linear(), x), np.array([1.0, -1.0]), {"C": 1.0})
    assert solvers.best_scale(problem, np.zeros(2), 0.0) == (0.0, 2.0)


def test_the_hinge_s_direction_is_no_worse_than_its_own_scale():
    split = sources.NoisySplit(of=NAMED, n=30).load()
    problem = RampSVC.build(KernelOracle(Linear(), split.x_train), split.y_train, {"C": 1.0})
    rescaled = solvers.Rescaled(oracle="smo-block")
    assert rescaled.skip(problem) is None
    (found,) = rescaled.iterates(problem, np.random.default_rng(0))
    from harness import get_solver

    hinge = get_solver("smo-block").solve(problem.hinge)
    scores = problem.kernel.expand(hinge.dual_coef)
    assert found.info["objective"] <= problem.objective(hinge.dual_coef, scores) + 1e-9
    z = split.y_train * (split.x_train @ found.weights)
    loss = np.clip(1.0 - z, 0.0, 2.0).sum()
    assert found.info["objective"] == pytest.approx(0.5 * found.weights @ found.weights + loss)
    assert found.info["given_up"] == np.sum(z < -1.0)


def test_a_direction_needs_the_column_that_is_the_bias():
    data = sources._loaded(NAMED)
    problem = RampSVC.build(KernelOracle(Linear(), data.x_train), data.y_train, {})
    assert "a constant last column" in solvers.Rescaled().skip(problem)


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


def test_signed_ranks_of_nothing_and_of_everything():
    assert signed_ranks.signed_ranks([1.0, 2.0], [1.0, 2.0]) == 1.0
    assert signed_ranks.signed_ranks([1.0], [2.0]) == 1.0, "either sign is as likely"
    assert signed_ranks.signed_ranks([1.0] * 10, [2.0] * 10) == pytest.approx(2.0 / 1024.0)
    # the fourth pair is a tie, but for rounding
    assert signed_ranks.signed_ranks([1.0, 1.0, 1.0, 0.3], [2.0, 2.0, 2.0, 0.1 + 0.2]) == pytest.approx(0.25)


# -- the parts ---------------------------------------------------------------------------------------------


def test_the_paper_s_settings():
    made = parts(PLAN)
    a, b, c = (made[name](Options()) for name in ("figure4a", "figure4b", "figure4c"))
    assert list(dict.fromkeys(grid.set for grid in a)) == [
        "outliers 5 %",
        "outliers 10 %",
        "outliers 15 %",
        "outliers 20 %",
    ]
    assert [grid.set for grid in b] == [f"D/rho {ratio}" for ratio in (5, 10, 15, 20, 25, 30)]
    assert all("height=10" in grid.solvers[0] for grid in b)
    assert sum("height=5" in solver and "nodes=50" in solver for solver in c[0].solvers) == 4
    assert {len(grid.datasets) for grid in (*a, *b, *c)} == {10}
    assert len({dataset for grid in made["table1"](Options()) for dataset in grid.datasets}) == 60
    assert all("noise=0" in dataset for grid in made["clean"](Options()) for dataset in grid.datasets)
    assert made["table1"](Options(sets=("Musk",), repetitions=2))[0].datasets == (
        "noisy-split[of=musk2,seed=0]",
        "noisy-split[of=musk2,seed=1]",
    )
    n = {name: int(PUBLISHED.get("table1", name, "rgd-tree", "n")) for name in PLAN.sets}
    assert {name for name, each in PLAN.sets.items() if each.n != n[name]} == {"BreastCancer"}


def test_the_theorem_s_height():
    promises = {each.name: each for each in PLAN.promises}
    # 3 (1.2 / 0.5)^2 ln 1.2 = 3.15; 3 (6 / 0.5)^2 ln 6 = 774.03
    assert promises["one class, D/rho 0.2"].enough == 4
    assert promises["two classes, D/rho 5"].enough == 775
    assert promises["one class, D/rho 0.2"].bound == pytest.approx(0.72)


@pytest.mark.parametrize("plan", [PLAN, QUICK])
def test_every_solver_and_set_of_a_plan_is_there(plan):
    registry = load_registry(list(STUDY.plugins))
    for part in parts(plan).values():
        for grid in part(Options(repetitions=2)):
            assert len(registry.select_solvers(grid.solvers)) == len(grid.solvers)
            assert len(registry.select_datasets(grid.datasets)) == len(grid.datasets)
            assert set(grid.metrics) <= set(registry.metrics)
            assert set(grid.formulations) <= set(registry.formulations)


def test_the_quick_plan_draws_data_that_need_no_download():
    registry = load_registry(list(STUDY.plugins))
    sets = {name for part in parts(QUICK).values() for grid in part(Options()) for name in grid.datasets}
    assert all(registry.select_datasets(name)[0].load().x_train.shape[0] <= 800 for name in sets)


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


@pytest.mark.slow
def test_a_level_is_measured_over_n_and_d():
    asked = Cost(sizes=(300, 600), features=(5, 10), narrow=300, repeats=1, threads=300, mapped=400)
    rows = list(cost.measured(Options(plan=replace(PLAN, cost=asked))))
    kinds = [(row["kind"], row["n"], row["d"]) for row in rows]
    assert kinds == [
        ("n", 300, 100), ("n", 600, 100), ("n, probe n / 14", 300, 100), ("n, probe n / 14", 600, 100),
        ("d", 300, 5), ("d", 300, 10), ("threads", 300, 100), ("mapped", 400, 100),
    ]  # fmt: skip
    assert all(row["level"] > 0.0 and row["derived"] == "cost" for row in rows)
    assert rows[-1]["peak_mb"] > 0.0


def test_slopes_are_of_rows_of_one_commit():
    rows = [level("n", 1000, 100, 0.01), level("n", 10_000, 100, 0.1), level("threads", 50, 100, 0.1, over=1.5)]
    text = cost.section(results(*rows))
    assert "* Slope over n, 1,000 to 10,000, logarithmic axes: 1.00; asked for 0.9 to 1.1 (met)." in text
    assert "| n | 10,000 x 100 | 100 | 1.2 |" in text
    assert "* Two threads, n = 50: 1.50 times as fast as one; asked for 1.6 (**missed**)." in text
    rows[0]["git_commit"] = "b"
    assert "Slope" not in cost.section(results(*rows))
    mapped = level("mapped", 50, 100, 3.0, peak_mb=2000.0)
    assert "3 s, 2000 MB beyond the page cache; asked for 1024 MB at most (**missed**)." in cost.section(
        results(mapped)
    )
