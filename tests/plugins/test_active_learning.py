"""Strategies that query labels: which, what it costs, when they stop, and what must not matter."""

from __future__ import annotations

import numpy as np
import pytest
from harness_active.pool_svc import PoolSVC
from harness_active.solvers import ActiveFullSearch, ActiveSmallPool, Pool, RandomSampling, RetrainActive, Rules
from hypothesis import given, settings
from hypothesis import strategies as st

from harness import RBF
from harness.run.target_server import only_queried
from tests.plugins import common
from tests.plugins.common import build, matrix_of

STRATEGIES = [ActiveSmallPool(), ActiveFullSearch(), ActiveFullSearch(keep_scores=True), RandomSampling()]
STRATEGIES += [RetrainActive(), RetrainActive(candidates=7)]
SEARCHING = [solver for solver in STRATEGIES if not isinstance(solver, RandomSampling)]
EACH, EACH_SEARCHING = (
    pytest.mark.parametrize("solver", solvers, ids=lambda solver: solver.label) for solvers in (STRATEGIES, SEARCHING)
)


def imbalanced(n=300, d=4, noise=0.3, seed=0, threshold=1.2):
    """About one positive in nine."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d))
    return x, np.where(x[:, 0] + noise * rng.normal(size=n) > threshold, 1.0, -1.0)


def pool_of(x, y, C=10.0, budget=None):
    return build(PoolSVC, x, y.__getitem__, RBF(gamma=0.3), C=C, budget=budget)


def followed(solver, problem, seed=1):
    """Every iterate with its arrays copied, beside the number of labels that were queried by then."""
    found = []
    for iterate in solver.iterates(problem, np.random.default_rng(seed)):
        iterate.dual_coef = iterate.dual_coef.copy()
        problem.checked(iterate.dual_coef, iterate.intercept, tolerance=1e-9)
        found.append((len(problem.queried), iterate))
    assert [iterate.done for _, iterate in found] == [False] * (len(found) - 1) + [True]
    return found


def distances(K, coef, intercept):
    """|f| of every point, one at a time."""
    return np.array([abs(row @ coef + intercept) for row in K])


def held_first(history, window, tolerance):
    """Labels at which the number of support vectors was stable for the first time; None: never.

    history : (labels, support vectors) in the order of the queries
    """
    for now, (labels, _) in enumerate(history):
        seen = [entry for entry in history[: now + 1] if entry[0] > labels - window]
        before = [entry for entry in history[: now + 1] if entry[0] <= labels - window]
        if not before:
            continue
        counts = [support for _, support in [before[-1], *seen]]
        if max(counts) > 0 and (max(counts) - min(counts)) / max(counts) <= tolerance:
            return labels
    return None


# -- what is queried ----------------------------------------------------------------------------------


@pytest.mark.parametrize("batch", [1, 5])
@EACH_SEARCHING
def test_every_choice_is_the_nearest_of_its_candidates(monkeypatch, solver, batch):
    offers, sample = [], Pool.sample

    def listening(self, count, rng):
        offers.append((count, sample(self, count, rng)))
        return offers[-1][1]

    monkeypatch.setattr(Pool, "sample", listening)
    x, y = imbalanced(150)
    problem = pool_of(x, y, budget=90)
    K = matrix_of(problem)
    found = followed(solver.replace(batch=batch, finishing=False), problem)
    order = problem.queried.tolist()
    size = 59 if solver.name == "active-small-pool" else getattr(solver, "candidates", None)
    size = None if solver.name == "active-full-search" else size
    for (count, offer), (labels, iterate), (later, _) in zip(offers, found, found[1:], strict=False):
        left = set(range(150)) - set(order[:labels])
        assert len(set(offer.tolist())) == len(offer) == (len(left) if size is None else min(len(left), count))
        assert count is None or count == size * min(batch, 90 - labels)
        assert set(offer.tolist()) <= left
        chosen = order[labels:later]
        near = distances(K, iterate.dual_coef, iterate.intercept)
        expected = sorted(near[i] for i in offer)[: len(chosen)]
        np.testing.assert_allclose([near[i] for i in chosen], expected, rtol=1e-4, atol=1e-4)
    assert len(offers) == found[-1][1].info["queries"] == -(-70 // batch)
    assert len(problem.queried) == 90


def test_retraining_solves_the_problem_over_all_labels_and_takes_the_nearest_of_all():
    x, y = imbalanced(60, threshold=0.6)
    problem = pool_of(x, y, budget=40)
    K = matrix_of(problem)
    found = followed(RetrainActive(oracle="smo[gap=1e-8]", first=8), problem)
    order = problem.queried
    for labels, iterate in found[:-2]:
        stated = pool_of(x, y).with_targets(only_queried(y, order[:labels]))
        assert stated.certify(iterate.dual_coef, iterate.intercept).relative_gap <= 1e-7
        near = distances(K, iterate.dual_coef, iterate.intercept)
        left = sorted(set(range(60)) - set(order[:labels].tolist()))
        assert near[order[labels]] <= min(near[left]) + 1e-4


def test_all_strategies_begin_with_the_same_points_and_random_sampling_follows_their_order():
    x, y = imbalanced()
    order = np.random.default_rng(5).permutation(300)
    found = {}
    for solver in STRATEGIES:
        problem = pool_of(x, y, budget=60)
        common.iterates(solver, problem, 5)
        chosen = found[solver.label] = problem.queried.tolist()
        assert (chosen[:20], len(set(chosen))) == (order[:20].tolist(), 60)
    assert found["random-sampling"] == order[:60].tolist()
    assert len({tuple(chosen) for chosen in found.values()}) >= 4


@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("strategy", [ActiveFullSearch, ActiveSmallPool])
@pytest.mark.parametrize("C", [1.0, 1000.0])
def test_scores_that_are_kept_are_those_that_are_computed_anew(C, strategy, batch):
    x, y = imbalanced(400)
    found = []
    for keep in (False, True):
        problem = pool_of(x, y, C=C, budget=200)
        last = followed(strategy(keep_scores=keep, batch=batch), problem)[-1][1]
        found.append((problem.queried.tolist(), last.info["distance"], problem.kernel.counter.evaluations))
    (anew, distance, dear), (stored, near, cheap) = found
    assert (stored, near) == (anew, pytest.approx(distance, abs=1e-3))
    assert 5 * cheap < dear


# -- when it stops -----------------------------------------------------------------------------------


@settings(deadline=None, max_examples=200)
@given(
    st.lists(st.tuples(st.integers(1, 4), st.integers(0, 12)), max_size=40),
    st.integers(1, 20),
    st.sampled_from([0.0, 0.1, 0.3]),
)
def test_the_number_of_support_vectors_is_stable_when_the_twin_says_so(steps, window, tolerance):
    history = [(sum(step for step, _ in steps[: k + 1]), support) for k, (_, support) in enumerate(steps)]
    rules = Rules(window, tolerance)
    for entry in history:
        rules.learned(*entry)
    assert rules.support_at == held_first(history, window, tolerance)


@pytest.mark.parametrize("rule", ["margin", pytest.param("support", marks=pytest.mark.slow)])
@EACH_SEARCHING
def test_a_rule_ends_the_run_where_a_run_without_it_notes_that_it_held(solver, rule):
    x, y = imbalanced(800, noise=0.0)
    x[:, 0] += 0.4 * y
    common = {"stop_window": 40, "stop_tolerance": 0.05, "finishing": False}
    if isinstance(solver, RetrainActive):
        common["oracle"] = "smo"  # of one epoch of lasvm the number of support vectors is never that stable
    whole, stopping = pool_of(x, y, C=100.0, budget=500), pool_of(x, y, C=100.0, budget=500)
    free = followed(solver.replace(**common), whole)
    ended = followed(solver.replace(stop=rule, **common), stopping)
    last = ended[-1][1]
    at = last.info[f"{rule}_at"]
    assert (free[-1][1].info["stopped_by"], last.info["stopped_by"]) == ("budget", rule)
    assert len(stopping.queried) == at == free[-1][1].info[f"{rule}_at"] < len(whole.queried) == 500
    assert stopping.queried.tolist() == whole.queried.tolist()[:at]
    if rule == "margin":
        assert last.info["distance"] >= last.info["margin"]
        assert all(info["distance"] < 2.0 for _, each in ended[1:-1] if (info := each.info)["margin_at"] is None)
    else:
        supports = [np.count_nonzero(iterate.dual_coef) for labels, iterate in ended[:-1] if labels >= at - 40]
        assert max(supports) - min(supports) <= 0.05 * max(supports)
    # what is left is on the right side of it
    assert np.mean(np.sign(whole.kernel.expand(last.dual_coef) + last.intercept) == y) > 0.9


# -- edges -------------------------------------------------------------------------------------------


@EACH
@pytest.mark.parametrize("budget", [1, 2, 19, 20, 21, 45])
def test_budgets_of_one_label_up_to_all(solver, budget):
    x, y = imbalanced(45, threshold=0.5)
    problem = pool_of(x, y, budget=budget)
    last = followed(solver, problem)[-1][1]
    stopped = "pool" if budget == 45 else "budget"
    figures = len(problem.queried), *(last.info[name] for name in ("labels", "queries", "stopped_by"))
    assert figures == (budget, budget, max(0, budget - 20), stopped)


@pytest.mark.parametrize("label", [-1.0, 1.0])
@EACH
def test_while_all_labels_are_of_one_class_points_are_queried_in_random_order(solver, label):
    x, _ = imbalanced(100)
    problem = pool_of(x, np.full(100, label), budget=60)
    found = followed(solver.replace(stop="support"), problem, seed=4)
    assert {iterate.intercept for _, iterate in found} == {label}
    assert not any(iterate.dual_coef.any() for _, iterate in found)
    info = found[-1][1].info
    assert (info["stopped_by"], info["margin_at"], info["support_at"]) == ("budget", None, None)
    order = np.random.default_rng(4).permutation(100)
    if getattr(solver, "candidates", 59) is None and solver.name != "active-small-pool":
        assert problem.queried.tolist() == order[:60].tolist()
    assert len(set(problem.queried.tolist())) == 60
