"""reports/lasvm_2005: what it computes itself, against hand-made tables and slow twins."""

import numpy as np
import pytest

from reports.lasvm_2005.plan import SETTINGS, multiclass_error, plan


def test_the_greatest_score_of_ten_classifiers_wins():
    rng = np.random.default_rng(0)
    truth, scores = rng.integers(0, 11, 200), rng.normal(size=(10, 200))  # 10: of no classifier
    labels = np.where(truth == np.arange(10)[:, None], 1.0, -1.0)
    wrong = [max(range(10), key=lambda k: scores[k, i]) != truth[i] for i in range(200) if truth[i] < 10]
    assert multiclass_error(labels, scores) == pytest.approx(100 * sum(wrong) / len(wrong))


def test_fitted_sets_say_so_wherever_they_are_planned():
    blocks = [block for block in plan(quick=False) if str(block["set"]) in ("usps", "usps-n")]
    assert {block["protocol"] for block in blocks} == {SETTINGS["usps"].protocol} == {"settings fitted to the paper"}
