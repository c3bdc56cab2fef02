"""reports/border_2007, the anchor and Figure 16: the draws, the area, the benchmark's own strategy, the tables."""

import numpy as np
import pytest

from harness import RBF, KernelOracle
from harness.problems import PoolSVC
from reports.border_2007 import anchor, anchor_plugin

# -- the draws ---------------------------------------------------------------------------------------------


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


# -- the tables --------------------------------------------------------------------------------------------
