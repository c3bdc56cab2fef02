"""reports/border_2007, the anchor and Figure 16: the draws, the area, the benchmark's own strategy, the tables."""

import numpy as np
import pytest

from harness import RBF, KernelOracle, PoolSVC
from reports.border_2007 import anchor, anchor_plots, anchor_plugin, anchor_tables, figure16
from reports.border_2007.plan import PLAN
from reports.kit.grids import Options
from reports.kit.markdown import NOT_MEASURED
from reports.kit.results import Published, Results
from tests.reports.fabricated import HEADER, cells, row

RING = "ringnorm"  # needs no raw file
NOTHING = Published({})


# -- the draws ---------------------------------------------------------------------------------------------


def rows_of(points, everything):
    """The row of each point in ``everything``; the standardisation of ``points`` is a shift and a stretch a column."""
    distances = np.abs(points[:, None] - everything[None]).max(axis=2)
    assert distances.min(axis=1).max() < 1e-8
    return distances.argmin(axis=1)


def test_a_draw_is_the_benchmarks_two_shuffles_and_scaled_by_its_pool():
    drawn = anchor_plugin.AnchorDraw(of=RING, seed=3).load()
    whole = anchor_plugin._loaded(anchor_plugin.RINGNORM)
    order = np.random.default_rng(3).permutation(7400)
    pool = order[:4440][np.random.default_rng(3).permutation(4440)]
    assert (drawn.x_train.shape, drawn.x_test.shape) == ((4440, 20), (2960, 20))
    assert drawn.defaults == {"kernel": "rbf", "gamma": 1 / 20, "C": 1.0}
    np.testing.assert_allclose(drawn.x_train.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(drawn.x_train.std(axis=0), 1.0)
    np.testing.assert_array_equal(drawn.y_train, whole.y_train[pool])
    np.testing.assert_array_equal(drawn.y_test, whole.y_train[order[4440:]])
    mean, spread = whole.x_train[pool].mean(axis=0), whole.x_train[pool].std(axis=0)
    np.testing.assert_allclose(drawn.x_test[:50] * spread + mean, whole.x_train[order[4440:]][:50])


def test_draws_differ_by_their_seed_alone():
    first, again, other = (anchor_plugin.AnchorDraw(of=RING, seed=seed).load() for seed in (0, 0, 1))
    assert first.sha256 == again.sha256 != other.sha256
    np.testing.assert_array_equal(first.x_train, again.x_train)


def test_redrawn_holds_every_row_once_in_parts_of_the_same_sizes():
    whole = anchor_plugin._loaded("breast-cancer")
    drawn = anchor_plugin.Redrawn(of="breast-cancer", seed=2).load()
    assert (drawn.x_train.shape, drawn.x_test.shape) == (whole.x_train.shape, whole.x_test.shape)
    x, y = np.concatenate([whole.x_train, whole.x_test]), np.concatenate([whole.y_train, whole.y_test])
    found = rows_of(np.concatenate([drawn.x_train, drawn.x_test]), x)
    assert sorted(found) == list(range(len(y)))
    np.testing.assert_array_equal(np.concatenate([drawn.y_train, drawn.y_test]), y[found])
    assert drawn.defaults == whole.defaults
    assert anchor_plugin.Redrawn(of="breast-cancer", seed=3).load().sha256 != drawn.sha256


# -- the benchmark's own strategy --------------------------------------------------------------------------


def pool(n=60, seed=0):
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 3 == 0, 1.0, -1.0)
    x = rng.standard_normal((n, 2)) + y[:, None]
    return PoolSVC.build(KernelOracle(RBF(gamma=0.5), x), y, {"C": 1.0}), x, y


def test_margin_sampling_is_an_svc_trained_anew_that_asks_for_the_nearest_point():
    from sklearn.svm import SVC

    problem, x, y = pool()
    found = list(anchor_plugin.MarginSampling(first=6).iterates(problem, np.random.default_rng(0)))
    assert len(found) == 60 - 6 + 1
    assert found[-1].done
    assert not any(each.done for each in found[:-1])
    known = list(range(6))
    for each in found[:20]:
        model = SVC(gamma=0.5, C=1.0).fit(x[sorted(known)], y[sorted(known)])
        scores = np.exp(-0.5 * ((x[:, None] - x[None]) ** 2).sum(axis=2)) @ each.dual_coef + each.intercept
        np.testing.assert_allclose(scores, model.decision_function(x), atol=1e-9)
        rest = [i for i in range(60) if i not in known]
        known.append(min(rest, key=lambda i: abs(scores[i])))
        np.testing.assert_array_equal(problem.bought[: len(known)], known)


def test_margin_sampling_at_random_buys_each_label_once_and_not_the_nearest():
    problem, *_ = pool()
    for _ in anchor_plugin.MarginSampling(first=6, uniform=True).iterates(problem, np.random.default_rng(0)):
        pass
    assert sorted(problem.bought) == list(range(60))
    nearest, *_ = pool()
    for _ in anchor_plugin.MarginSampling(first=6).iterates(nearest, np.random.default_rng(0)):
        pass
    assert list(nearest.bought) != list(problem.bought)


def test_margin_sampling_waits_for_both_classes_and_stops_at_the_budget():
    x = np.random.default_rng(0).standard_normal((30, 2))
    y = np.where(np.arange(30) < 10, -1.0, 1.0)
    problem = PoolSVC.build(KernelOracle(RBF(gamma=0.5), x), y, {"C": 1.0, "budget": 25})
    found = list(anchor_plugin.MarginSampling(first=5).iterates(problem, np.random.default_rng(0)))
    assert problem.labels_used == 25
    assert found[0].step > 5, "the first five are of one class"
    assert found[-1].step == 25
    assert found[-1].done


# -- the area ----------------------------------------------------------------------------------------------


def naive(accuracies):
    """The benchmark's sum: trapezoids of what follows each chosen label over the number of these labels."""
    total = 0.0
    for i in range(len(accuracies) - 1):
        total += (accuracies[i] + accuracies[i + 1]) / 2
    return total / len(accuracies)


def test_the_area_is_the_benchmarks_own_where_every_label_has_a_point():
    rng = np.random.default_rng(0)
    accuracies = rng.uniform(0.5, 1.0, 81)
    points = [(20 + i, value) for i, value in enumerate(accuracies)]
    assert anchor.area(points) == pytest.approx(naive(accuracies[1:]))
    assert anchor.area([(20, 1.0), (620, 1.0)]) == pytest.approx(1 - 1 / 600), "always right"
    assert anchor.area([(5, 0.1), *points]) == pytest.approx(naive(accuracies[1:])), "before the first 20: left out"


def test_between_the_points_of_a_trace_the_curve_is_a_line():
    line = [(20 + i, 0.5 + 0.001 * i) for i in range(101)]
    sparse = [line[i] for i in (0, 3, 17, 60, 100)]
    assert anchor.area(sparse) == pytest.approx(anchor.area(line))


def test_a_curve_that_does_not_begin_at_the_first_labels_or_ends_there_has_no_area():
    assert anchor.area([(25, 0.9), (100, 0.9)]) is None
    assert anchor.area([(20, 0.9)]) is None
    assert anchor.area([]) is None


def recorded(points, end=(100, 0.9)):
    trace = [{"labels_used": labels, "test_accuracy": value} for labels, value in points]
    return {"trace": trace, "labels_used": end[0], "test_accuracy": end[1]}


def test_a_learning_curve_takes_the_later_of_two_models_and_skips_what_was_not_scored():
    record = recorded([(20, 0.6), (30, 0.7), (30, 0.75), (40, None)])
    record["trace"].append({"seconds": 1.0})
    assert anchor.curve(record) == [(20, 0.6), (30, 0.75), (100, 0.9)]


# -- the tables --------------------------------------------------------------------------------------------


def derived(name, solver, draw, accuracy, cpu=1.0):
    """What a part's end makes of a run whose accuracy rises to ``accuracy``."""
    points = [(20, 0.5), (40, accuracy), (500, accuracy)]
    made = row(name, solver, dataset=draw, cpu=cpu, error=100 * (1 - accuracy), formulation="pool-svc")
    return {**made, "record": recorded(points, (600, accuracy))}


def anchored(draws=anchor_tables.ENOUGH):
    rows = []
    for each in anchor.ANCHORS.values():
        for k in range(draws):
            for solver in (*anchor.UNCERTAIN, *anchor.UNIFORM):
                accuracy = 0.8 + 0.01 * (solver in anchor.UNCERTAIN) + 0.001 * k
                rows.append(derived(each.name, solver, each.draw(k), accuracy, cpu=3.0 if "margin" in solver else 0.3))
    return rows


def whole(rows, finish):
    kept = [{name: value for name, value in made.items() if name != "record"} for made in rows]
    return Results([HEADER, *kept, *finish(rows, Options())], NOTHING, PLAN)


def test_every_section_of_the_anchor_is_filled_and_its_picture_drawn(tmp_path):
    results = whole(anchored(), anchor.areas_of)
    for name, text in anchor_tables.sections(results).items():
        assert NOT_MEASURED not in text, name
        assert len(set(cells(text))) == 1, name
    assert anchor_plots.PICTURES["aubc"](results, tmp_path / "aubc.png")
    nothing = Results([HEADER], NOTHING, PLAN)
    assert all(text == NOT_MEASURED for text in anchor_tables.sections(nothing).values())
    assert not anchor_plots.PICTURES["aubc"](nothing, tmp_path / "nothing.png")


def test_the_sign_of_banana_is_missed_where_active_learning_wins_as_elsewhere():
    text = anchor_tables.sections(whole(anchored(), anchor.areas_of))["aubc-signs"].splitlines()
    banana, german = ([line for line in text if line.startswith(f"| {name}")] for name in ("Banana", "German"))
    assert banana
    assert german
    assert all("**missed**" in line for line in banana)
    assert all("(met)" in line for line in german)


def test_few_draws_and_other_points_are_held_against_nothing():
    few = anchor_tables.sections(whole(anchored(draws=2), anchor.areas_of))
    assert "missed" not in few["aubc"] + few["aubc-signs"]
    assert "few draws" in few["aubc"]
    many = anchor_tables.sections(whole(anchored(), anchor.areas_of))["aubc"].splitlines()
    ringnorm = [line for line in many if line.startswith("| Ringnorm")]
    assert ringnorm
    assert all("other points" in line and "met" not in line for line in ringnorm)
    assert any("**missed**" in line for line in many), "an area of 0.8 is not Twonorm's"


def test_times_are_those_of_the_same_draws_beside_the_published_seconds():
    lines = anchor_tables.sections(whole(anchored(), anchor.areas_of))["aubc-seconds"].splitlines()
    (full,) = [line for line in lines if line.startswith("| German | active, full search")]
    assert [cell.strip() for cell in full.split("|")[4:-1]] == ["0.3", "36", "120 (met)", "10"]
    (own,) = [line for line in lines if line.startswith("| German | the benchmark's own")]
    assert "12 (met)" in own


def test_published_trials_average_to_the_published_mean():
    published = Published.read(anchor_tables.PUBLISHED)
    for name in ("Spambase", "Twonorm", "Ringnorm", "Banana"):
        values = [published.get("aubc", name, "uncertainty", f"trial {k}") for k in range(10)]
        assert np.mean(values) == pytest.approx(published.get("aubc", name, "uncertainty", "mean"), abs=6e-5)
        assert np.std(values, ddof=1) == pytest.approx(published.get("aubc", name, "uncertainty", "sd"), abs=6e-5)


def test_the_part_asks_for_every_strategy_on_the_first_draws_and_once_a_draw():
    for each in anchor.ANCHORS.values():
        asked = [
            (solver, draw)
            for grid in anchor.aubc(PLAN, Options(sets=(each.name,)))
            for solver in grid.solvers
            for draw in grid.datasets
        ]
        assert len(asked) == len(set(asked))
        counts = {solver: sum(found == solver for found, _ in asked) for solver, _ in asked}
        assert counts[anchor.FULL_SEARCH] == each.draws
        assert counts[anchor.RETRAINED] == counts[anchor.RETRAINED_UNIFORM] == each.retrained
        assert counts.get(anchor.BENCHMARK, 0) == each.benchmark
        assert (anchor.RETRAINED, each.draw(0)) in asked


def test_figure_16_is_met_where_fifty_candidates_are_ten_times_as_fast_and_as_good(tmp_path):
    def rows(cpu, accuracy):
        return [
            derived(f"{name}, figure 16", solver, f"draw {k}", accuracy if solver == figure16.FASTEST else 0.97,
                    cpu if solver == figure16.FASTEST else 10.0)
            for name in dict(PLAN.divisions)
            for solver in figure16.METHODS.values()
            for k in range(4)
        ]  # fmt: skip

    def told(cpu, accuracy):
        results = whole(rows(cpu, accuracy), figure16.curves_from)
        text = figure16.sections(results)["figure16"]
        assert len(set(cells(text))) == 1
        (line,) = [line for line in text.splitlines() if line.startswith("| reuters | LASVM, 50")]
        return results, line

    results, line = told(0.5, 0.969)
    assert "20 (met)" in line
    assert "| 9.6 |" in line
    assert anchor_plots.PICTURES["figure16"](results, tmp_path / "figure16.png")
    assert "**missed**" in told(2.0, 0.969)[1], "five times as fast"
    assert "**missed**" in told(0.5, 0.95)[1], "two points worse"
    assert figure16.sections(Results([HEADER], NOTHING, PLAN))["figure16"] == NOT_MEASURED
