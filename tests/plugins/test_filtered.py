"""``filtered``: drops what its detector points at, solves the rest exactly, and says what it dropped."""

from __future__ import annotations

import numpy as np
import pytest
from harness_rgd.outlier_margin import OutlierMargin
from harness_robust import filtered
from harness_robust.filtered import Filtered
from sklearn.ensemble import IsolationForest
from sklearn.neighbors import LocalOutlierFactor
from sklearn.svm import SVC

from harness import CSVC, RBF, CSVCNoBias, Linear, UsageError, get_solver
from harness.registry.discovery import load_registry
from tests.plugins.common import build, last_of
from tests.plugins.hull_problems import hard, one_hull

ALONE = {
    "isolation-forest": lambda x, seed: IsolationForest(random_state=seed).fit_predict(x) < 0,
    "local-outlier": lambda x, _: LocalOutlierFactor(n_neighbors=20).fit_predict(x) < 0,
}


def clouds(n=120, flipped=8, seed=0):
    """Two clouds of which the first points have the other one's label, with a few far away."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2, 1.0, -1.0)
    x = rng.normal(size=(n, 3)) + 1.5 * y[:, None]
    x[-4:] *= 6.0
    return x, np.where(np.arange(n) < flipped, -y, y)


def loaded(selection):
    (source,) = load_registry().select_datasets(selection)
    return source.load()


def dropped_by(detector, x, y, seed):
    found = np.zeros(len(y), dtype=bool)
    for sign in (1, -1):
        found[y == sign] = ALONE[detector](x[y == sign], seed)
    return found


@pytest.mark.parametrize("detector", ALONE)
@pytest.mark.parametrize(("formulation", "kernel"), [(CSVC, RBF(gamma=0.2)), (CSVC, Linear()), (CSVCNoBias, Linear())])
def test_it_is_the_svm_of_the_points_that_scikit_learns_detector_keeps(detector, formulation, kernel):
    """The slow twin: the detector class by class, then another library's SVM, or the exact solver, on what is left."""
    x, y = clouds()
    problem = build(formulation, x, y, kernel, C=2.0)
    last = last_of(Filtered(detector=detector, gap=1e-8), problem)
    dropped = dropped_by(detector, x, y, int(np.random.default_rng(1).integers(2**31)))
    assert 0 < dropped.sum() < 60
    assert (last.done, last.dual_coef[dropped].any(), last.info["detector_seconds"] > 0) == (True, False, True)
    counts = [int((dropped & (y == sign)).sum()) for sign in (1, -1)]
    names = "detector", "dropped", "dropped_positives", "dropped_negatives"
    assert [last.info[name] for name in names] == [detector, sum(counts), *counts]
    rest = build(formulation, x[~dropped], y[~dropped], kernel, C=2.0)
    exact = get_solver("qp").solve(rest)
    scores = problem.kernel.expand(last.dual_coef)
    assert scores[~dropped] == pytest.approx(rest.kernel.expand(exact.dual_coef), abs=1e-3)
    if formulation is CSVC:
        twin = SVC(C=2.0, kernel=kernel.name, gamma=getattr(kernel, "gamma", 1.0), tol=1e-8)
        twin.fit(x[~dropped], y[~dropped])
        assert scores + last.intercept == pytest.approx(twin.decision_function(x), abs=1e-3)


@pytest.mark.parametrize("oracle", [None, "qp", "smo[tau=1e-6]"])
def test_dropping_nothing_is_the_oracles_own_answer(oracle):
    x, y = clouds()
    problem, alone = (build(CSVC, x, y, RBF(gamma=0.2), C=2.0) for _ in range(2))
    last = last_of(Filtered(share=0.0, oracle=oracle), problem)
    expected = last_of(get_solver(oracle or "smo-block").with_target_gap(1e-3), alone)
    np.testing.assert_array_equal(last.dual_coef, expected.dual_coef)
    assert (last.intercept, last.done, last.info["dropped"]) == (expected.intercept, expected.done, 0)
    counter = problem.kernel.counter
    assert (counter.oracle_evaluations, counter.oracle_calls) == (alone.kernel.counter.evaluations, 1)


@pytest.mark.parametrize("given", [{"outliers": 0.2}, {"outliers_plus": 0.1, "outliers_minus": 0.3}])
def test_on_outlier_margin_it_gives_up_the_share_and_leaves_the_widest_margin_of_the_rest(given):
    data = loaded("gaussian-outliers[least=100,most=100,d=3,ratio=1]")
    problem = build(OutlierMargin, data.x_train, data.y_train, Linear(), delta=0.0, **given)
    last = last_of(Filtered(gap=1e-6), problem)
    coef = last.dual_coef
    first, second = (given.get(name, given.get("outliers")) for name in ("outliers_plus", "outliers_minus"))
    assert (last.info["dropped_positives"], last.info["dropped_negatives"]) == (100 * first, 100 * second)
    problem.checked(coef, last.intercept)
    sides = [np.flatnonzero(data.y_train == sign) for sign in (1, -1)]
    dropped = filtered.detect_outliers("isolation-forest", problem, sides, [first, second], np.random.default_rng(1))
    rest = hard(data.x_train[~dropped], data.y_train[~dropped])
    exact = get_solver("qp").solve(rest)
    np.testing.assert_allclose(coef[~dropped] @ data.x_train[~dropped], exact.dual_coef @ rest.kernel.points, atol=1e-3)
    assert last.intercept == problem.slab(problem.kernel.expand(coef)).intercept


def test_against_the_origin_all_points_are_judged_together():
    data = loaded("one-class-outliers[n=300,n_test=10,d=3,ratio=0.5]")
    values = {"outliers": 0.1, "delta": 0.0, "against": "origin"}
    problem = build(OutlierMargin, data.x_train, data.y_train, Linear(), **values)
    last = last_of(Filtered(gap=1e-6), problem)
    coef = last.dual_coef
    assert (last.info["dropped"], "dropped_positives" in last.info) == (30, False)
    problem.checked(coef, last.intercept)
    dropped = filtered.detect_outliers("isolation-forest", problem, [np.arange(300)], [0.1], np.random.default_rng(1))
    assert (dropped & data.planted).sum() >= 15, "3 by chance"
    assert not coef[dropped].any()
    rest = one_hull(data.x_train[~dropped])
    exact = get_solver("qp").solve(rest)
    np.testing.assert_allclose(coef[~dropped] @ data.x_train[~dropped], exact.dual_coef @ rest.kernel.points, atol=1e-3)


def test_a_class_is_never_left_empty(monkeypatch):
    problem = build(CSVC, *clouds(), Linear(), C=1.0)
    all_of_them = {"isolation-forest": lambda x, _: (np.zeros(len(x)), np.ones(len(x), dtype=bool))}
    monkeypatch.setattr(filtered, "_DETECTORS", all_of_them)
    with pytest.raises(
        UsageError, match=r"isolation-forest reports all 60 positives as outliers; .* Give share, the share"
    ):
        next(Filtered().iterates(problem, np.random.default_rng(0)))
    dropped = last_of(Filtered(share=0.99), problem).info["dropped"]
    assert dropped == 118, "a share leaves one point of each class"
