"""reports/rgd-tree-2015: its split of the data, its tests of chance, a real drive, and what the tables make of rows."""

import itertools
from pathlib import Path

import numpy as np
import pytest

from benchmarks.papers import command, page, running, solvers, sources
from benchmarks.papers.grids import Options
from benchmarks.papers.results import Published, Results
from benchmarks.papers.rgd_tree_2015 import parts, plots, selection, signed_ranks, tables
from benchmarks.peers.measure import read_rows
from harness import DataError, KernelOracle, Linear, RampSVC
from harness.registry import load_registry
from tests.reports.fabricated import HEADER, assert_whole, every_run, row

FOLDER = Path(__file__).resolve().parents[2] / "reports" / "rgd-tree-2015"
PUBLISHED = Published.read(FOLDER / "published.csv")


def results(*rows):
    return Results(rows, PUBLISHED)


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
    a, b, c = (parts.PARTS[name](Options()) for name in ("figure4a", "figure4b", "figure4c"))
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
    assert len({dataset for grid in parts.table1(Options()) for dataset in grid.datasets}) == 60
    assert all("noise=0" in dataset for grid in parts.clean(Options()) for dataset in grid.datasets)
    assert parts.table1(Options(sets=("Musk",), repetitions=2))[0].datasets == (
        "noisy-split[of=musk2,seed=0]",
        "noisy-split[of=musk2,seed=1]",
    )
    n = {name: int(PUBLISHED.get("table1", name, "rgd-tree", "n")) for name in parts.SETS}
    assert {name for name, each in parts.SETS.items() if each.n != n[name]} == {"BreastCancer"}


def test_the_theorem_s_height():
    promises = {each.name: each for each in parts.PROMISES}
    # 3 (1.2 / 0.5)^2 ln 1.2 = 3.15; 3 (6 / 0.5)^2 ln 6 = 774.03
    assert promises["one class, D/rho 0.2"].enough == 4
    assert promises["two classes, D/rho 5"].enough == 775
    assert promises["one class, D/rho 0.2"].bound == pytest.approx(0.72)


@pytest.mark.parametrize("part", parts.PARTS)
def test_every_solver_and_set_of_a_part_is_there(part):
    registry = load_registry(list(running.PLUGINS))
    for grid in parts.PARTS[part](Options(repetitions=2)):
        assert len(registry.select_solvers(grid.solvers)) == len(grid.solvers)
        assert len(registry.select_datasets(grid.datasets)) == len(grid.datasets)
        assert set(grid.metrics) <= set(registry.metrics)
        assert set(grid.formulations) <= set(registry.formulations)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.usefixtures("warm_sessions")
def test_table_1_of_a_small_set(tmp_path, monkeypatch):
    set_of = parts.Benchmark("BreastCancer", "breast-cancer", 569, 30)
    monkeypatch.setattr(parts, "SETS", {"BreastCancer": set_of})
    few = (parts.SOFT, parts.CCCP, parts.TREE, parts.RGD)
    monkeypatch.setattr(parts, "METHODS", few)
    monkeypatch.setattr(selection, "METHODS", few)
    out = tmp_path / "out"
    given = ["--part", "table1", "--seeds", "2", "--out", str(out), "--store", str(tmp_path / "store.sqlite")]
    command.main(FOLDER, parts.PARTS, tuple(parts.SETS), "", arguments=given)
    runs = [each for each in read_rows(out / "results.jsonl") if "status" in each]
    assert len(runs) == 2 * len({solver for method in few for solver in method.candidates})
    assert {each["status"] for each in runs} <= {"ok", "unfinished"}
    assert all(0.0 <= each["metrics"][name] <= 100.0 for each in runs for name in parts.METRICS)
    # the two halves are the test part of the record
    for each in runs:
        assert sum(each["metrics"][name] for name in parts.METRICS) / 2.0 == pytest.approx(each["error"])
    page.make(FOLDER, tables.sections, plots.PICTURES, "", arguments=["--out", str(out)])
    text = (out / "README.md").read_text()
    assert "| BreastCancer | 569 x 30 | 2.2 | " in text
    assert (out / "figure4d.png").read_bytes().startswith(b"\x89PNG")


# -- what the tables make of rows --------------------------------------------------------------------------


def scored(method, solver, draw, validation, held_out, name="Spambase", **changed):
    metrics = {parts.VALIDATION: validation, parts.HELD_OUT: held_out}
    kind = {"formulation": method.formulation, "gamma": None if method.kernel == "linear" else 0.1}
    return row(name, solver, dataset=f"draw {draw}", metrics=metrics, **kind, **changed)


def fabricated(errors, name="Spambase"):
    """Rows of one candidate a method: method -> test errors, one for each draw."""
    return [
        scored(method, method.candidates[0], draw, 20.0, error, name)
        for method, found in errors.items()
        for draw, error in enumerate(found)
    ]


def test_validation_chooses_and_never_the_test_part():
    first, second, third = parts.SOFT.candidates[:3]
    rows = [
        scored(parts.SOFT, first, 0, 20.0, 9.0),
        scored(parts.SOFT, second, 0, 18.0, 8.0),
        scored(parts.SOFT, third, 0, 18.0, 1.0),
        scored(parts.SOFT, first, 1, 10.0, 5.0),
        scored(parts.SOFT, second, 1, 12.0, 4.0, status="timeout"),
    ]
    chosen = selection.Choices(results(*rows)).of("Spambase", parts.SOFT)
    assert chosen["draw 0"] == selection.Choice(second, 8.0, 1.0, 3.0), "of equal ones the first"
    assert chosen["draw 1"].error == 5.0


def test_one_solver_with_two_kernels_is_two_methods():
    solver = parts.RBF.candidates[0]
    assert solver in parts.SOFT.candidates
    rows = [scored(parts.SOFT, solver, 0, 20.0, 9.0), scored(parts.RBF, solver, 0, 19.0, 5.0)]
    choices = selection.Choices(results(*rows))
    assert (choices.errors("Spambase", parts.SOFT), choices.errors("Spambase", parts.RBF)) == ([9.0], [5.0])


def test_a_tree_that_does_not_separate_has_a_model_all_the_same():
    run = scored(parts.TREE, parts.TREE.candidates[0], 0, 20.0, 9.0, status="unfinished", reason="no node separates")
    found = results(run, scored(parts.FILTERS[2], "filtered[x]", 0, None, None, status="skipped", reason="no cleanlab"))
    assert selection.Choices(found).errors("Spambase", parts.TREE) == [9.0]
    assert "Spambase: in 1 of 1 runs of RGD no node separates" in tables.absent(found)
    assert "* `filtered[x]`: no cleanlab" in tables.absent(found)


def test_rgd_is_held_against_the_best_of_the_paper_s_three():
    errors = {parts.SOFT: [10.0], parts.CCCP: [8.0], parts.PATH: [9.0], parts.TREE: [7.0]}
    text = selection.figure4d(selection.Choices(results(*fabricated(errors))))
    assert "| Spambase | 7.00 | 8.00, ramp-cccp | ahead | +12 % (more than 5 %) (met) | 7.6 (met) |" in text
    behind = {**errors, parts.TREE: [8.5]}
    text = selection.figure4d(selection.Choices(results(*fabricated(behind, "Musk"))))
    assert "| Musk | 8.50 | 8.00, ramp-cccp | behind | -6 % | 7.0 (**missed**) |" in text


def test_rgd_is_what_validation_chooses_of_all_its_trees():
    rows = [
        scored(parts.TREE, parts.TREE.candidates[0], 0, 20.0, 5.0),
        scored(parts.APART, parts.APART.candidates[0], 0, 18.0, 7.0),
        scored(parts.BOOSTED, parts.BOOSTED.candidates[0], 0, 19.0, 6.0),
    ]
    choices = selection.Choices(results(*rows))
    assert choices.of("Spambase", parts.RGD)["draw 0"].solver == parts.APART.candidates[0]
    assert choices.errors("Spambase", parts.RGD) == [7.0]
    assert choices.errors("Spambase", parts.BOOSTED) == [6.0]


def test_table_1_marks_the_least_error():
    errors = {parts.SOFT: [10.0, 12.0], parts.TREE: [7.0, 9.0]}
    text = selection.table1(selection.Choices(results(*fabricated(errors))))
    assert "| Spambase | 4601 x 57 | 7.6 | 11.0 ± 1.4 |" in text
    assert "| **8.0** ± 1.4 |" in text
    assert text.endswith("| 2 |")


def test_chance_is_told_within_a_set_and_over_the_sets():
    soft = [10.0 + 0.1 * draw for draw in range(10)]
    errors = {parts.SOFT: soft, parts.CCCP: [5.0] * 10, parts.TREE: [each - 1.0 for each in soft], parts.RBF: soft}
    rows = [each for name in ("Spambase", "Musk") for each in fabricated(errors, name)]
    choices = selection.Choices(results(*rows))
    head, _, *lines = selection.ranks_over_draws(choices).splitlines()
    assert head == "| RGD against | soft margin | ramp-cccp | soft margin, RBF |"
    # each of the three has p = 2 / 1024; three times that
    assert lines[0] == "| Spambase | better, 0.006 | worse, 0.006 | better, 0.006 |"
    _, _, *lines = selection.ranks_over_sets(choices).splitlines()
    # two sets, both signs the same: p = 2 / 4, then 3 x 0.5 cut to 1
    assert lines[0] == "| soft margin | 2 | 2 | -1.00 | 0.500 | 1.000 |"
    assert lines[1].startswith("| ramp-cccp | 2 | 0 | +4.45 |")


def test_the_ramp_loss_against_the_hinge():
    errors = {parts.SOFT: [10.0], parts.CCCP: [9.0], parts.PATH: [11.0]}
    rows = [*fabricated(errors), *fabricated({parts.SOFT: [5.0], parts.CCCP: [6.0]}, "Musk")]
    text = selection.hinge(selection.Choices(results(*rows)))
    assert "* ramp-cccp is at least as good as the hinge on 1 of 2 sets (met)." in text
    assert "* outlier-path is at least as good as the hinge on 0 of 1 sets (**missed**)." in text
    assert "| Musk | 5.00 | 6.00 (**missed**) |  |" in text


def test_figure_4a_takes_the_rivals_at_their_best():
    name = parts.share_name(0.05)
    rows = [row(name, parts.tree(0.05), dataset=str(k), error=0.4 + 0.2 * k, cpu=2.0) for k in range(2)]
    rows += [row(name, solver, error=1.0 + k) for k, solver in enumerate(parts.SOFT.candidates)]
    text = tables.figure4a(results(*rows))
    assert f"| 5 % | 0.500 ± 0.141 (met) | 1.000 ± 0.000, `{parts.SOFT.candidates[0]}` |  |  | 2 |" in text


def test_figure_4c_asks_for_equal_error_in_half_the_time_after_three_rounds():
    name = parts.ratio_name(30)
    rows = [row(name, parts.tree(parts.SHARE), dataset=str(draw), error=2.0, cpu=4.0) for draw in range(8)]
    rows += [
        row(name, parts.boosted(parts.SHARE, k, nodes), dataset=str(draw), error=3.0 - 0.5 * k + worse, cpu=0.6 * k)
        for nodes, worse in ((50, 0.0), (15, 0.6))
        for k in parts.ROUNDS
        for draw in range(8)
    ]
    lines = tables.figure4c(results(*rows)).splitlines()
    assert lines[4] == "| 2 of height 5, L = 50 | 2.000 ± 0.000 | 1.000 | 1.2 | 0.30 |  |"
    assert lines[5] == "| 3 of height 5, L = 50 | 1.500 ± 0.000 | 0.008 | 1.8 | 0.45 | (met) |"
    assert lines[9] == "| 3 of height 5, L = 15 | 2.100 ± 0.000 | 0.008 | 1.8 | 0.45 | (**missed**) |"


def test_what_right_labels_give_stands_apart():
    rows = fabricated({parts.SOFT: [10.0], parts.TREE: [9.0]})
    rows += fabricated({parts.SOFT: [8.0], parts.RBF: [7.0]}, "Spambase, clean")
    found = results(*rows)
    assert selection.Choices(found).errors("Spambase", parts.SOFT) == [10.0]
    text = selection.sections(found)["clean"]
    assert "| Spambase | 8.00 | 7.00 | 9.00, rgd-tree | 9.00 | 7.6 | no |" in text


SMALL = next(iter(parts.SMALL))


def test_small_problems_and_long_searches_take_no_part_in_table_1():
    rows = [
        scored(parts.TREE, parts.TREE.candidates[0], 0, 20.0, 9.0, name)
        for name in (*parts.SMALL, "Spambase, effort", "Spambase")
    ]
    assert selection.Choices(results(*rows)).sets == ["Spambase"]
    assert len(selection.Choices(results(*rows)).of("Spambase", parts.TREE)) == 1


def test_distances_from_the_global_optimum_count_proved_optima_alone():
    rows = [
        row(SMALL, parts.RAMP_EXACT, dataset="a", primal=10.0),
        row(SMALL, parts.RAMP_EXACT, dataset="b", primal=10.0, status="unfinished"),
        row(SMALL, parts.RAMP[0], dataset="a", primal=12.0),
        row(SMALL, parts.RAMP[0], dataset="b", primal=11.0),
        row(SMALL, parts.RAMP[3], dataset="a", primal=None, info={"objective": 15.0}),
    ]
    found = results(*rows)
    assert tables.distances(found, SMALL, parts.RAMP[0]) == [pytest.approx(0.2)]
    assert f"| {SMALL} | `{parts.RAMP[3]}` | 0 of 1 | 50.00 | 50.0 | 50.0 |  |" in tables.exact(found)


def test_margins_over_the_widest():
    rows = [
        row(SMALL, parts.OUTLIER_EXACT, dataset=str(k), margin_lower=width) for k, width in enumerate((2.0, 4.0, 0.0))
    ]
    rows += [
        row(SMALL, parts.MARGINS[0], dataset="0", margin_lower=1.0),
        row(SMALL, parts.MARGINS[0], dataset="1", margin_lower=-1.0, status="unfinished"),
        row(SMALL, parts.MARGINS[0], dataset="2", margin_lower=-1.0, status="unfinished"),
    ]
    assert f"| {SMALL} | `{parts.MARGINS[0]}` | 1 of 2 | 0.12 | 0.12 | -0.25 |  |" in tables.margins(results(*rows))


def test_the_theorem_s_share_of_seeds():
    promise = parts.PROMISES[0]
    widths = (1.9, 1.1, 0.9, -1.0)
    rows = [
        row(promise.name, promise.tree(parts.WHOLE), seed=seed, margin_lower=width, margin_upper=2.0 + seed,
            status="ok" if width > 0 else "unfinished")
        for seed, width in enumerate(widths)
    ]  # fmt: skip
    text = tables.theorem(results(*rows))
    assert f"| {promise.name} | whole | 4 of 4 | 0.500 | 0.72 (**missed**) | 0.250 | -0.50 | 0.50 | 4 |" in text


def test_a_whole_study_has_all_its_tables_and_pictures(tmp_path):
    metrics = {parts.VALIDATION: 20.0, parts.HELD_OUT: 7.5}
    rows = every_run(
        parts.PARTS,
        Options(repetitions=3),
        metrics=metrics,
        gamma=None,
        margin_lower=1.0,
        margin_upper=1.2,
        primal=5.0,
        info={"objective": 6.0},
    )
    assert_whole(tables, plots, results(HEADER, *rows), results(HEADER), FOLDER, tmp_path)


def test_the_published_numbers_are_complete():
    named = {*parts.SETS, *parts.ABSENT}
    assert len(named) == 10
    for name in named:
        assert all(PUBLISHED.get("table1", name, "rgd-tree", quantity) is not None for quantity in ("error", "n", "d"))
    assert {key[1] for key in PUBLISHED.values} == named
    assert all(name in tables.absent(results(row("Musk", "x", dataset="d"))) for name in parts.ABSENT), (
        "the missing ones are named"
    )
