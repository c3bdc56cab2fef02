"""reports/lasvm_2005: the search for the paper's settings, and the features it scales."""

from dataclasses import replace

import numpy as np
import pytest

from harness.registry import load_registry
from reports.kit import sources
from reports.kit.grids import Options
from reports.kit.study import PLUGINS
from reports.lasvm_2005 import multiclass, settings
from reports.lasvm_2005.plan import PLAN, QUICK
from reports.lasvm_2005.settings import EXACT, PRINTED, Search
from tests.reports.fabricated import row
from tests.reports.lasvm_2005_rows import results

LARGE = Search(
    "forest-100k",
    {"in [0, 1]": "covtype[n={n}]", "standardised": "covtype[n={n},scale=standard]"},
    {"in [0, 1]": (1.0,), "standardised": (1.0, 4.0)},
    C=3.0,
    sizes=(100, 200),
    whole=400,
    confirmed={"standardised": 1.0},
    solvers=(EXACT,),
)
SMALL = Search("usps", {"drawn": "usps[split_seed={k}]"}, {"drawn": (0.5, 2.0)}, repetitions=2)
TOGETHER = Search("mnist", {"in [0, 1]": "mnist[digit={digit}]"}, {"in [0, 1]": (0.005, 0.02)}, together=True)


def planned(*searches):
    return replace(PLAN, searches=searches, digits=(3, 8))


def of_forest(words, gamma, **n_and_values):
    return [
        row(
            f"forest-100k: {words}",
            EXACT,
            dataset=f"covtype[n={n}]",
            gamma=gamma,
            n_train=n,
            n_test=50_000,
            error=error,
            support_vectors=support,
        )
        for n, (error, support) in n_and_values["at"].items()
    ]


def test_every_setting_has_its_runs():
    grids = settings.settings(planned(LARGE, SMALL, TOGETHER), Options())
    assert [(grid.datasets, grid.gamma) for grid in grids if grid.set == "forest-100k: standardised"] == [
        (("covtype[n=100,scale=standard]",), 1.0),
        (("covtype[n=200,scale=standard]",), 1.0),
        (("covtype[n=400,scale=standard]",), 1.0),
        (("covtype[n=100,scale=standard]",), 4.0),
        (("covtype[n=200,scale=standard]",), 4.0),
    ]
    drawn = [grid for grid in grids if grid.set == "usps: drawn"]
    assert [(grid.datasets, grid.solvers, grid.cache_mb) for grid in drawn] == [
        (("usps[split_seed=0]", "usps[split_seed=1]"), (EXACT, PRINTED), 40.0)
    ] * 2
    together = [grid for grid in grids if grid.set == "mnist: in [0, 1]"]
    assert [(grid.datasets[0], grid.gamma) for grid in together] == [
        (f"mnist[digit={digit}]", gamma) for gamma in (0.005, 0.02) for digit in (3, 8)
    ]
    assert {grid.metrics for grid in together} == {("test-scores",)}
    named = settings.settings(planned(LARGE, SMALL), Options(sets=("forest-100k",), n=150))
    assert [grid.datasets[0] for grid in named] == ["covtype[n=100]", *["covtype[n=100,scale=standard]"] * 2]


@pytest.mark.parametrize("plan", [PLAN, QUICK], ids=["whole", "quick"])
def test_every_width_belongs_to_a_scaling(plan):
    for search in plan.searches:
        assert set(search.gammas) == set(search.features)
        assert set(search.confirmed) <= set(search.features)


@pytest.mark.usefixtures("raw_data")
def test_the_paper_s_own_settings_are_tried():
    tried = {
        (search.name, selection, gamma)
        for search in PLAN.searches
        for words, selection in search.features.items()
        for gamma in search.gammas[words]
    }
    for name in ("usps", "usps-n", "adult", "reuters", "waveform", "banana"):
        data = load_registry(list(PLUGINS)).select_datasets(PLAN.sets[name].selection.format(k=0))[0]
        assert (name, PLAN.sets[name].selection, data.load().defaults["gamma"]) in tried, name


def test_a_value_is_continued_by_the_power_of_the_last_two_sizes():
    assert settings.continued({100: 50.0, 200: 25.0, 400: 12.5}, 800) == pytest.approx(6.25)
    assert settings.continued({100: 1.0, 200: 4.0}, 400) == pytest.approx(16.0)
    assert settings.continued({100: 50.0, 400: 10.0}, 400) == 10.0, "measured there"
    assert settings.continued({100: 50.0}, 400) == 50.0
    assert settings.continued({100: 50.0, 200: 0.0}, 400) == 0.0, "no power goes through zero"
    assert settings.continued({7: 3.0}, 0) == 3.0


def test_the_nearest_setting_comes_first_and_is_told():
    far = of_forest("in [0, 1]", 1.0, at={100: (32.0, 400), 200: (32.0, 800)})
    near = of_forest("standardised", 1.0, at={100: (9.0, 30_000), 400: (8.03, 43_251)})
    found = results(*far, *near, plan=planned(LARGE))
    lines = settings.section(found).splitlines()
    assert lines[2].startswith(
        "| **forest-100k** | standardised | 1 | 400 | 8.03 (8.03) | 43,251 (43,251) |  |  |  | 0.000 |"
    )
    assert lines[3].startswith("| forest-100k | in [0, 1] | 1 | 200 -> | 32.00 (8.03) | 1,600 (43,251) |")
    assert lines[-1].startswith(
        "* forest-100k: nearest with features standardised, gamma = 1, distance 0.000; of other features in [0, 1], gamma = 1, "
    )
    assert lines[-1].endswith(".")
    alone = settings.section(results(*far, plan=planned(LARGE)))
    assert alone.splitlines()[-1].endswith("; no setting agrees.")
    assert settings.section(results(plan=planned(LARGE))) == "Not measured yet."


def test_an_error_within_what_the_test_part_tells_is_no_distance_and_a_count_always_is():
    def distance(**values):
        runs = [row("usps: drawn", EXACT, gamma=0.5, n_test=1969, **values)]
        (found,) = settings.measured(results(*runs, plan=planned(SMALL)), SMALL)
        return found.distance

    assert distance(error=0.41, support_vectors=236) == 0.0
    assert distance(error=0.50, support_vectors=236) == 0.0, "two images more of 1,969"
    assert distance(error=0.82, support_vectors=236) == pytest.approx((np.log(2.0) - 0.351) / 2, abs=1e-3)
    assert distance(error=0.41, support_vectors=472) == pytest.approx(np.log(2.0) / 2)


def test_on_the_paper_s_own_test_points_every_difference_counts():
    runs = [row("usps: drawn", EXACT, gamma=0.5, n_test=1969, error=0.5, support_vectors=236)]
    fixed = replace(SMALL, drawn=False)
    (found,) = settings.measured(results(*runs, plan=planned(fixed)), fixed)
    assert found.distance == pytest.approx(np.log(0.5 / 0.41) / 2)


def test_classifiers_that_decide_together_have_an_error_for_each_width(monkeypatch):
    plan = planned(TOGETHER)
    rows = [
        row("mnist: in [0, 1]", EXACT, gamma=gamma, dataset=f"mnist[digit={digit}]", n_test=10_000)
        for gamma in (0.005, 0.02)
        for digit in (3, 8)
    ]
    asked = []

    def joined(of, options):
        asked.append([each["dataset"] for each in of])
        return [{"derived": "multiclass", "set": "mnist", "solver": EXACT, "error": 1.355 + of[0]["gamma"]}]

    monkeypatch.setattr(multiclass, "finish", joined)
    derived = settings.finish(rows, Options(plan=plan))
    assert asked == [["mnist[digit=3]", "mnist[digit=8]"]] * 2
    assert [(each["derived"], each["gamma"], each["error"]) for each in derived] == [
        ("settings", 0.005, pytest.approx(1.36)),
        ("settings", 0.02, pytest.approx(1.375)),
    ]
    text = settings.section(results(*derived, plan=plan))
    assert "| **mnist** | in [0, 1] | 0.005 |  | 1.36 (1.36) |" in text


def test_features_are_scaled_by_what_the_training_part_shows(monkeypatch):
    plain = sources.WithConstant(of="breast-cancer").load()
    monkeypatch.setattr(sources, "_loaded", lambda text: plain)
    found = {how: sources.Rescaled(how=how).load() for how in ("standard", "numeric", "unit")}
    shift, spread = plain.x_train.mean(axis=0), plain.x_train.std(axis=0)
    spread[-1] = 1.0
    np.testing.assert_allclose(found["standard"].x_test, (plain.x_test - shift) / spread)
    np.testing.assert_allclose(found["numeric"].x_test[:, :-1], found["standard"].x_test[:, :-1])
    assert (found["numeric"].x_test[:, -1] == 1.0).all(), "a column of one value stays"
    for given, scaled in zip(plain.x_test, found["unit"].x_test, strict=True):
        np.testing.assert_allclose(scaled, given / np.sqrt(sum(given**2)))
    assert len({each.sha256 for each in (plain, *found.values())}) == 4
    assert all((each.y_train == plain.y_train).all() for each in found.values())
