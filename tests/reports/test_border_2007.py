"""reports/border_2007: what the tables and pictures make of rows, and what its plugin gives."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from reports.kit.grids import Options
from sklearn import metrics

from reports.border_2007 import imbalanced_plugin as imbalanced
from reports.border_2007 import parts, visits, whole
from reports.border_2007.plan import ABSENT, PLAN
from reports.kit.results import Published, Results
from tests.reports.fabricated import HEADER, assert_whole, every_run, row

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


# -- parts -------------------------------------------------------------------------------------------------


# -- curves ------------------------------------------------------------------------------------------------


# -- tables and verdict ------------------------------------------------------------------------------------


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
