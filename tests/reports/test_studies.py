"""What studies compute themselves, against hand-made tables and slow twins."""

from itertools import pairwise

import numpy as np
import pytest
from harness_active.pool_svc import PoolSVC
from sklearn.svm import SVC

from harness import RBF, DataError, KernelOracle
from reports.border_2007.plugin import MarginSampling, ReutersCategory
from reports.border_2007.study import area
from reports.lasvm_2005.plan import SETTINGS, multiclass_error, plan


def test_margin_sampling_is_an_svc_trained_anew_that_asks_for_the_nearest_point():
    rng = np.random.default_rng(0)
    y = np.where(np.arange(40) % 3 == 0, 1.0, -1.0)
    x = rng.standard_normal((40, 2)) + y[:, None]
    problem = PoolSVC.build(KernelOracle(RBF(gamma=0.5), x), y.__getitem__, {"C": 1.0})
    iterates = list(MarginSampling(first=6).iterates(problem, np.random.default_rng(0)))
    assert len(iterates) == 40 - 6 + 1
    assert [iterate.done for iterate in iterates] == [False] * 34 + [True]
    known = list(range(6))
    for iterate in iterates[:20]:
        model = SVC(gamma=0.5, C=1.0).fit(x[sorted(known)], y[sorted(known)])
        scores = np.exp(-0.5 * ((x[:, None] - x[None]) ** 2).sum(axis=2)) @ iterate.dual_coef + iterate.intercept
        np.testing.assert_allclose(scores, model.decision_function(x), atol=1e-9)
        known.append(min((i for i in range(40) if i not in known), key=lambda i: abs(scores[i])))
        np.testing.assert_array_equal(problem.queried[: len(known)], known)


def test_the_area_is_the_benchmarks_sum_where_every_label_has_a_point():
    accuracies = np.random.default_rng(0).uniform(0.5, 1.0, 81)
    after = accuracies[1:]
    total = sum((one + other) / 2 for one, other in pairwise(after))
    assert area(np.arange(20, 101), accuracies) == pytest.approx(total / len(after))
    assert area(np.array([20, 620]), np.ones(2)) == pytest.approx(1 - 1 / 600), "always right"
    assert np.isnan(area(np.array([25, 620]), np.ones(2))), "it begins too late"


@pytest.mark.slow
@pytest.mark.usefixtures("raw_data")
def test_articles_by_topic_have_the_content_that_they_had():
    for category, sha256, c, gamma in (
        ("crude", "e4810068f6b88e05", 2.0, 1.0),
        ("money-fx", "1ea44994705ea3de", 1.0, 0.5),
    ):
        data = ReutersCategory(category=category).load()
        assert data.sha256.startswith(sha256)
        assert data.defaults == {"kernel": "rbf", "gamma": gamma, "C": c}
    with pytest.raises(DataError, match="did you mean 'crude'"):
        ReutersCategory(category="crud").load()


# -- reports/lasvm_2005: what it computes itself, against hand-made tables and slow twins.


def test_the_greatest_score_of_ten_classifiers_wins():
    rng = np.random.default_rng(0)
    truth, scores = rng.integers(0, 11, 200), rng.normal(size=(10, 200))  # 10: of no classifier
    labels = np.where(truth == np.arange(10)[:, None], 1.0, -1.0)
    wrong = [max(range(10), key=lambda k: scores[k, i]) != truth[i] for i in range(200) if truth[i] < 10]
    assert multiclass_error(labels, scores) == pytest.approx(100 * sum(wrong) / len(wrong))


def test_fitted_sets_say_so_wherever_they_are_planned():
    blocks = [block for block in plan(quick=False) if str(block["set"]) in ("usps", "usps-n")]
    assert {block["protocol"] for block in blocks} == {SETTINGS["usps"].protocol} == {"settings fitted to the paper"}
