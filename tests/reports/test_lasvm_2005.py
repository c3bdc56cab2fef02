"""reports/lasvm_2005: what it computes itself, against hand-made tables and slow twins."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from reports.kit import rows
from reports.lasvm_2005.plan import ONE, ONLINE, PRINTED, SETTINGS, multiclass_error, plan
from reports.lasvm_2005.study import STUDY, changes, first_as_good, growth


def results(*runs):
    """Return results of runs: figure, set, solver, dataset and quantities."""
    names = ("figure", "set", "solver", "dataset")
    table = rows.tidy(
        (
            dict(zip(names, run, strict=False), status="ok", session="s"),
            [(name, rows.END, value) for name, value in run[4].items()],
        )
        for run in runs
    )
    return replace(STUDY.results(Path("nowhere")), table=table)


def test_the_greatest_score_of_ten_classifiers_wins():
    rng = np.random.default_rng(0)
    truth, scores = rng.integers(0, 11, 200), rng.normal(size=(10, 200))  # 10: of no classifier
    labels = np.where(truth == np.arange(10)[:, None], 1.0, -1.0)
    wrong = [max(range(10), key=lambda k: scores[k, i]) != truth[i] for i in range(200) if truth[i] < 10]
    assert multiclass_error(labels, scores) == pytest.approx(100 * sum(wrong) / len(wrong))


def test_the_change_by_the_finishing_step_is_of_means_over_the_same_draws():
    both = [("figure9", "a", *run) for run in ((PRINTED, "d1", 3.0), (ONLINE, "d1", 4.0), (ONLINE, "d2", 9.0))]
    found = changes(results(*((*run, {"error": v, "support_vectors": v, "cpu": v}) for *run, v in both)))
    assert found.loc["a"].to_list() == pytest.approx([-25.0] * 3)


def test_the_power_of_time_is_compared_draw_by_draw_from_5000_points_on():
    runs = [
        ("scaling", f"a-of-{n}", ONE, f"a[n={n},seed={k}]", {"n_train": n, "info.online_members": n**0.5, "cpu": n ** (1.25 + k / 4)})
        for k in (0, 1) for n in (1000, 5000, 10_000, 40_000)
    ]  # fmt: skip
    runs[0][4]["cpu"] = 1e6  # below 5,000
    (found,) = growth(results(*runs))
    assert (found.name, found.runs, found.held) == ("a", 2, None)
    assert found.value == pytest.approx(-0.125)


def test_the_first_point_that_is_as_good_as_a_whole_epoch_counts():
    columns = ["set", "solver", "criterion", "session", "seed", "support_vectors", "error", "cpu"]
    found = [("mnist-8", ONE, "RANDOM", "s", 0, 90, 1.0, 10.0)]
    for v, error in ((40, 0.9), (20, 1.0), (10, 1.1)):
        found.append(("mnist-8", f"a{v}", "ACTIVE", "s", 0, v, error, float(v)))
    (ratio,) = first_as_good(pd.DataFrame(found, columns=columns))
    assert (ratio.name, ratio.value) == ("ACTIVE", pytest.approx(2.0))


def test_fitted_sets_say_so_wherever_they_are_planned():
    blocks = [block for block in plan(quick=False) if str(block["set"]) in ("usps", "usps-n")]
    assert {block["protocol"] for block in blocks} == {SETTINGS["usps"].protocol} == {"settings fitted to the paper"}
