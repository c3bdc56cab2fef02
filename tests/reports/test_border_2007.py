"""reports/border_2007: what the tables and pictures make of rows, and what its plugin gives."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn import metrics

from reports.border_2007 import courses, curves, figures, parts, tables, tuning, verdict, visits, whole
from reports.border_2007 import imbalanced_plugin as imbalanced
from reports.border_2007.plan import ABSENT, PLAN
from reports.kit.grids import Options, PaperSet
from reports.kit.journal import Journal, read_rows
from reports.kit.results import Published, Results
from reports.kit.running import slim
from tests.reports.fabricated import HEADER, assert_whole, every_run, row

TUNED = [each.name for each in PLAN.tuned]
FOLDER = Path(__file__).resolve().parents[2] / "reports" / "border_2007"
PUBLISHED = Published.read(FOLDER / "published.csv")


def results(*rows):
    return Results(rows, PUBLISHED, PLAN)


def run(name, solver, g_means=0.9, prbep=0.8, auc=0.95, **changed):
    """A run with its metrics; labels and support vectors as of AL."""
    found = {"g-means": g_means, "prbep": prbep, "roc-auc": auc, parts.CURVE: [0.5] * len(imbalanced.FALSE_POSITIVES)}
    bought = {"labels_used": 200, "positive_support_vectors": 25, "load_average": 1.0}
    return row(name, solver, **{"metrics": found, **bought, **changed})


def described(name, positives=100, negatives=900):
    each = {"derived": "set", "set": name, "features": 9, "test": 50, "test_positives": 5, "C": 1.0, "gamma": 1.0}
    return {**each, "positives": positives, "negatives": negatives}


TRACE = [
    {"labels_used": n, "support_vectors": n // 2, "positive_support_vectors": n // 10,
     "metrics": {"g-means": 0.5 + n / 2000, "prbep": 0.4 + n / 2000}, "test_accuracy": 0.6}
    for n in (10, 20, 100, 400)
]  # fmt: skip


# -- the paper's numbers -----------------------------------------------------------------------------------


def test_the_published_numbers_are_complete():
    names = [*PLAN.sets, *ABSENT]
    assert len(names) == 18
    for name in names:
        assert all(PUBLISHED.get("table1", name, each, "g_means") is not None for each in ("batch", "al"))
        assert all(PUBLISHED.get("table3", name, each, "prbep") is not None for each in parts.METHODS)
        assert all(PUBLISHED.get("table4", name, each, "rank") is not None for each in parts.METHODS)
    assert {key[1] for key in PUBLISHED.values if key[0] in ("table1", "table3")} == set(names)


@pytest.mark.parametrize("method", parts.METHODS)
def test_table_4_s_averages_are_those_of_its_ranks(method):
    found = [PUBLISHED.get("table4", name, method, "rank") for name in (*PLAN.sets, *ABSENT)]
    assert PUBLISHED.get("table4", "average", method, "rank") == pytest.approx(np.mean(found), abs=0.006)


def test_the_ranks_of_table_3_are_those_of_table_4():
    for name in (*PLAN.sets, *ABSENT):
        prbep = [PUBLISHED.get("table3", name, method, "prbep") for method in parts.METHODS]
        assert figures.ranks(prbep) == [PUBLISHED.get("table4", name, method, "rank") for method in parts.METHODS], name


def test_wheat_s_line_stands_a_column_to_the_left_in_table_1():
    assert PUBLISHED.get("table1", "wheat", "al", "data_efficiency") == 11.6
    assert PUBLISHED.get("table1", "wheat", "", "imbalance") == PUBLISHED.get("table2", "wheat", "", "imbalance")


# -- parts -------------------------------------------------------------------------------------------------


def test_undersampling_goes_to_the_ratio_that_al_reached():
    rows = [run("grain", parts.AL, seed=0), run("grain", parts.AL, seed=1, positive_support_vectors=20)]
    assert parts.ratio_of(rows[0]) == 3.0
    (grid,) = parts.undersampling(PLAN, Options(measured=rows))
    assert (grid.set, grid.solvers) == ("grain", ("undersampling[ratio=3.50]",))
    assert list(parts.undersampling(PLAN, Options())) == [], "nothing to go on from"
    failed = [run("grain", parts.AL, status="error")]
    assert list(parts.undersampling(PLAN, Options(measured=failed))) == []


def test_random_sampling_is_stopped_at_al_s_labels():
    rows = [run("interest", parts.AL, seed=seed, labels_used=labels) for seed, labels in enumerate((300, 400))]
    (grid,) = parts.figure7(PLAN, Options(measured=rows))
    assert grid.solvers == (parts.AL, "random-sampling[budget=350]", "random-sampling")
    assert parts.CURVE in grid.metrics


def test_mnist_is_measured_where_it_is_named():
    named = [grid.set for grid in parts.table1(PLAN, Options())]
    assert "mnist-8" not in named
    assert {grid.set for grid in parts.table1(PLAN, Options(sets=("mnist-8",)))} == {"mnist-8"}


def test_the_rule_is_chosen_on_sets_that_stand_in_no_table():
    assert not {each.selection for each in PLAN.tuned} & {each.selection for each in PLAN.sets.values()}


# -- curves ------------------------------------------------------------------------------------------------


def test_a_learning_curve_goes_straight_over_log_labels():
    found = results(run("grain", "x", trace=TRACE))
    curve = curves.learning_curve(found, "grain", "x", curves.metric("g-means"), points=3)
    assert curve.labels == pytest.approx([10.0, 4000.0**0.5, 400.0])
    inner = np.interp(np.log(4000.0**0.5), np.log([20.0, 100.0]), [51.0, 55.0])
    assert curve.mean == pytest.approx([50.5, inner, 70.0])
    assert curve.deviation == pytest.approx([0.0, 0.0, 0.0])


def test_curves_of_several_runs_end_where_the_shortest_ends():
    found = results(run("grain", "x", trace=TRACE), run("grain", "x", seed=1, trace=TRACE[:3]))
    curve = curves.learning_curve(found, "grain", "x", curves.metric("prbep"))
    assert (curve.labels[-1], curve.runs) == (pytest.approx(100.0), 2)
    assert curves.learning_curve(found, "grain", "x", curves.metric("nothing")) is None
    assert curves.learning_curve(found, "grain", "y", curves.metric("prbep")) is None


def test_the_ratio_of_support_vectors():
    assert curves.support_ratio(TRACE[0]) == 4.0
    assert curves.support_ratio({"support_vectors": 3, "positive_support_vectors": 0}) is None


def test_a_journal_keeps_the_ladder_of_labels_of_a_pool_and_the_trace_of_others():
    points = [
        {"seconds": 1.0, "iteration": 1, "reason": reason, "labels_used": 5, "metrics": {"g-means": 0.12345678}}
        for reason in ("seconds", "labels", "end")
    ]
    record = {"trace": points, "labels_used": 5, "info": {}}
    kept = slim(record)["trace"]
    assert kept == [{"seconds": 1.0, "labels_used": 5, "metrics": {"g-means": 0.123457}}] * 2
    assert len(slim({**record, "labels_used": None})["trace"]) == 3


# -- tables and verdict ------------------------------------------------------------------------------------


def test_table_1_has_the_published_number_beside_ours():
    found = results(
        described("grain"),
        run("grain", parts.BATCH, g_means=0.92),
        run("grain", parts.EXACT, g_means=0.91),
        run("grain", parts.AL, g_means=0.91),
        run("grain", parts.AL, g_means=0.93, seed=1),
    )
    text = tables.table1(found)
    line = (
        "| grain | 92.00 (91.56) | 92.00 ± 1.41 (91.56) | 91.00 | 95.00 (99.91) | 95.00 ± 0.00 (99.91) | 9.0 (16.9) |"
    )
    assert line in text
    assert "| 3.00 ± 0.00 (3.08) | 20.0 ± 0.0 (29.6) | 2 |" in text


def verdict_of(*rows):
    return verdict.lines(results(*rows))


def test_one_set_may_be_more_than_a_point_behind_batch():
    rows = [run(name, parts.BATCH, g_means=0.90) for name in ("grain", "ship")]
    rows += [run(name, parts.AL, g_means=0.885) for name in ("grain",)]
    once = verdict_of(*rows, run("ship", parts.AL, g_means=0.8901))
    assert "on 1 of 2 sets (asked for: all but 1) (met); grain is 1.50 points behind." in once
    assert "on 0 of 2 sets (asked for: all but 1) (**missed**)" in verdict_of(
        *rows, run("ship", parts.AL, g_means=0.88)
    )


def test_labels_and_support_vectors_have_their_bounds():
    text = verdict_of(described("grain"), run("grain", parts.AL))
    assert "* Labels bought: 20.0 to 20.0 % of the training points (asked for: 7 to 42 %) (met)." in text
    assert "0.33 to 0.33 (asked for: well below; here at most 0.5) (met)." in text
    text = verdict_of(described("grain", 300, 900), run("grain", parts.AL, labels_used=500))
    assert "(**missed**); more: grain 50.0 %." in text
    assert "(**missed**); grain 1.00." in text


def test_the_small_pool_must_be_four_times_as_fast_at_equal_prbep():
    name = f"grain{parts.SATURATION}"
    rows = [run(name, parts.FULL, cpu=8.0, prbep=0.8), run(name, parts.AL, cpu=2.0, prbep=0.796)]
    assert "grain: the small pool 4.0 times as fast" in verdict_of(*rows)
    assert "(met), PRBEP -0.40 points (at most 0.5 apart) (met)." in verdict_of(*rows)
    rows[1] = run(name, parts.AL, cpu=2.1, prbep=0.79)
    assert "(**missed**), PRBEP -1.00 points (at most 0.5 apart) (**missed**)." in verdict_of(*rows)


def test_smote_must_take_twice_the_time_and_ten_times_on_two_sets():
    rows = [run(name, parts.AL, cpu=1.0) for name in ("grain", "usps")]
    rows += [run("grain", parts.SMOTE, cpu=1.9), run("usps", parts.SMOTE, cpu=10.0)]
    text = verdict_of(*rows)
    assert "1.9 to 10.0 times as fast (asked for: 2 everywhere) (**missed**); less: grain 1.9." in text
    assert "on usps: 10.0 times as fast (asked for: 10) (met)." in text


def five(name, **prbep):
    return [
        run(name, f"{solver}[ratio=2]" if solver == parts.UNDER else solver, prbep=prbep[method] / 100.0)
        for method, solver in parts.METHODS.items()
    ]


def test_ranks_are_table_4_s_and_ties_have_the_best():
    rows = [
        *five("grain", batch=90, us=80, smote=91, dc=90, al=92),
        *five("ship", batch=90, us=80, smote=90, dc=90, al=90),
    ]
    found = results(*rows)
    assert figures.average_ranks(found, ["grain", "ship"]) == {
        "batch": 2.0,
        "us": 5.0,
        "smote": 1.5,
        "dc": 2.0,
        "al": 1.0,
    }
    text = tables.table4(found)
    assert "| grain | 3 (1) | 5 (5) | 2 (4) | 3 (2) | 1 (2) |" in text
    assert "| average | 2.00 (2.50) |" in text
    assert "AL's rank in PRBEP is 1.00 on average over 2 sets, place 1 of 5 (asked for: first or second) (met)." in (
        verdict.lines(found)
    )
    assert "| US | 2, 0, 0 | +11.00 | 0.5000 |" in tables.wilcoxon(found)


def test_a_set_without_all_five_methods_takes_no_part_in_table_4():
    assert figures.compared(results(run("grain", parts.AL), run("grain", parts.BATCH))) == []


def rule(window, tolerance, g_means, labels):
    """Runs of a rule on the sets it is chosen on; g_means : of each set."""
    solver = parts.stopped(window, tolerance)
    return [run(name, solver, g_means=each, labels_used=labels) for name, each in zip(TUNED, g_means, strict=True)]


def test_the_best_rule_buys_the_fewest_labels_of_those_that_lose_no_point_on_any_set():
    count = len(TUNED)
    whole = [run(name, parts.BATCH, g_means=0.90) for name in TUNED]
    bad, good = [0.80, *[0.895] * (count - 1)], [0.895] * count
    rows = [*whole, *rule(50, 0.01, bad, 50), *rule(None, 0.02, good, 100), *rule(200, 0.01, good, 200)]
    assert tuning.best(results(*rows)) == parts.stopped(None, 0.02)
    assert tuning.best(results(*whole, *rule(50, 0.01, bad, 50))) is None
    assert "| n / 40 | 0.02 |" in tuning.rules(results(*rows))
    assert "| 50 | 0.01 | 5,000 |" in tuning.rules(results(*rows))
    assert "| -10.00, usps-3 | 1 | 5.0 |" in tuning.rules(results(*rows))


def test_a_rule_that_any_thousand_support_vectors_meet_is_no_choice():
    count = len(TUNED)
    whole = [run(name, parts.BATCH, g_means=0.90) for name in TUNED]
    rows = [*whole, *rule(50, 0.05, [0.9] * count, 50), *rule(50, 0.01, [0.9] * count, 100)]
    assert tuning.best(results(*rows)) == parts.stopped(50, 0.01)


def test_the_taken_rule_is_the_best_of_what_was_measured():
    found = Results(read_rows(FOLDER / "results.jsonl"), PUBLISHED, PLAN)
    assert tuning.best(found) in (None, parts.AL)


def test_the_peak_of_al_stands_beside_the_end_of_random_sampling():
    name = "waveform 1:8"
    rows = [
        run(name, parts.ENDLESS, g_means=0.6, trace=TRACE),
        run(name, parts.RANDOM, g_means=0.65),
        run(name, parts.AL),
    ]
    text = courses.thinned(results(*rows), PLAN.waveform, "g-means", parts.ENDLESS)
    assert "| 8 | 90.00 | 20.0 | 70.00, 400 |  | 60.00 | 65.00 | 1 |" in text


@pytest.mark.slow
def test_a_whole_study_has_all_its_tables_and_pictures(tmp_path):
    options = Options(repetitions=2, sets=PLAN.names)
    columns = {"test_accuracy": 0.9, **measured_columns()}
    first = every_run({"table1": whole.parts_of(PLAN)["table1"]}, options, **columns)
    rows = every_run(whole.parts_of(PLAN), replace(options, measured=first), **columns)
    rows += [described(name) for name in PLAN.every]
    rows.append({"derived": "visits", "set": "grain", "solver": parts.SMOTE, "points": [[20, 5.0], [900, 80.0]]})
    for part, finish in whole.FINISH.items():
        found = every_run({part: whole.parts_of(PLAN)[part]}, options, **columns)
        rows += finish([{**each, "record": each} for each in found], options)
    assert_whole(whole, whole, results(HEADER, *rows), results(HEADER), FOLDER, tmp_path)


def measured_columns():
    found = run("a", "b", trace=TRACE)
    return {
        name: found[name] for name in ("metrics", "labels_used", "positive_support_vectors", "load_average", "trace")
    }


# -- the plugin --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_the_roc_curve_is_the_library_s(seed):
    rng = np.random.default_rng(seed)
    targets = np.where(rng.random(300) < 0.2, 1.0, -1.0)
    scores = np.round(targets + 2.0 * rng.normal(size=300), 1)  # with ties
    false, true, _ = metrics.roc_curve(targets, scores, drop_intermediate=False)
    expected = [true[false <= rate + 1e-9].max() for rate in imbalanced.FALSE_POSITIVES]
    assert imbalanced.roc_curve(targets, scores) == pytest.approx(expected, abs=1e-4)
    assert imbalanced.roc_curve(np.ones(5), np.ones(5)) is None


# -- the courses of the baselines --------------------------------------------------------------------------


def test_a_model_with_points_of_its_own_is_scored_with_them():
    rng = np.random.default_rng(0)
    train, more, points = rng.normal(size=(5, 2)), rng.normal(size=(2, 2)), rng.normal(size=(4, 2))
    coef = rng.normal(size=7)
    coef[1] = 0.0
    whole = np.vstack([train, more])
    expected = [
        sum(coef[j] * np.exp(-0.7 * np.sum((whole[j] - point) ** 2)) for j in range(7)) + 0.3 for point in points
    ]
    found = SimpleNamespace(dual_coef=None, free_coef=coef, extra_points=more, intercept=0.3)
    assert visits.scores(found, 0.7, train, points) == pytest.approx(expected)
    plain = SimpleNamespace(dual_coef=coef[:5], free_coef=None, extra_points=None, intercept=0.3)
    assert visits.scores(plain, 0.7, train, points) == pytest.approx(
        [sum(coef[j] * np.exp(-0.7 * np.sum((train[j] - point) ** 2)) for j in range(5)) + 0.3 for point in points]
    )


def test_a_course_has_a_ladder_of_examples_and_the_end():
    found = visits.course(PaperSet("small", "breast-cancer", C=1.0), "batch")
    examples = [each for each, _ in found]
    assert examples == sorted(examples)
    assert examples[-1] <= 379
    assert len(examples) > 8
    assert found[-1][1] > 90.0


def test_the_courses_are_drawn_of_sets_that_were_undersampled(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(visits, "course", lambda data, solver: asked.append((data.name, solver)) or [(20, 1.0)])
    journal = Journal(tmp_path / "rows.jsonl", resume=True)
    journal.append(run("grain", "undersampling[ratio=2.00]"))
    journal.append(run("ship", parts.AL))
    visits.complete(journal)
    visits.complete(journal)
    assert asked == [("grain", solver) for solver in ("undersampling[ratio=2.00]", "smote", "different-costs")]
    assert len(journal.rows) == 5
