"""When strategies that buy labels stop, and awkward pools and budgets."""

from __future__ import annotations

import numpy as np
import pytest
from harness_active import run as active_run
from harness_active.solvers import ActiveSmallPool, RandomSampling, RetrainActive
from harness_active.stopping import Rules
from hypothesis import given, settings
from hypothesis import strategies as st

from harness import (
    Limits,
    drive,
)
from tests.plugins.active_problems import SEARCHING, STRATEGIES, followed, imbalanced, named, pool_of
from tests.plugins.naive_active import held_first

# -- when it stops -----------------------------------------------------------------------------------


@settings(deadline=None, max_examples=200)
@given(
    st.lists(st.tuples(st.integers(1, 4), st.integers(0, 12)), max_size=40),
    st.integers(1, 20),
    st.sampled_from([0.0, 0.1, 0.3]),
)
def test_the_number_of_support_vectors_is_stable_when_the_twin_says_so(steps, window, tolerance):
    history, labels = [], 0
    for step, support in steps:
        labels += step
        history.append((labels, support))
    rules = Rules(window, tolerance)
    for entry in history:
        rules.learned(*entry)
    assert rules.support_at == held_first(history, window, tolerance)


@settings(deadline=None, max_examples=100)
@given(st.lists(st.tuples(st.floats(0, 3), st.sampled_from([np.inf, 0.5, 1.0, 2.0])), max_size=30))
def test_the_margin_is_exhausted_when_the_nearest_lies_outside(seen):
    rules = Rules(5, 0.1)
    for labels, (distance, margin) in enumerate(seen):
        rules.selected(labels, distance, margin)
    held = [labels for labels, (distance, margin) in enumerate(seen) if margin < np.inf and distance >= margin]
    assert rules.margin_at == (held[0] if held else None)


@pytest.mark.parametrize("rule", ["margin", "support"])
@pytest.mark.parametrize("solver", SEARCHING, ids=named)
def test_a_rule_ends_the_run_where_a_run_without_it_notes_that_it_held(solver, rule):
    x, y = imbalanced(800, noise=0.0)
    x[:, 0] += 0.4 * y
    common = {"stop_window": 40, "stop_tolerance": 0.05, "finishing": False}
    if isinstance(solver, RetrainActive):
        common["oracle"] = "smo"  # of one epoch of lasvm the number of support vectors is never that stable
    whole, stopping = pool_of(x, y, C=100.0, budget=500), pool_of(x, y, C=100.0, budget=500)
    free = followed(solver.replaced(**common), whole)
    ended = followed(solver.replaced(stop=rule, **common), stopping)
    at = free[-1][1].info[f"{rule}_at"]
    assert at is not None
    assert free[-1][1].info["stopped_by"] == "budget"
    assert ended[-1][1].info["stopped_by"] == rule
    assert stopping.labels_used == at == ended[-1][1].info[f"{rule}_at"] < whole.labels_used == 500
    assert stopping.bought.tolist() == whole.bought.tolist()[:at]
    if rule == "margin":
        assert ended[-1][1].info["distance"] >= ended[-1][1].info["margin"]
        assert all(info["distance"] < 2.0 for _, each in ended[1:-1] if (info := each.info)["margin_at"] is None)
    else:
        supports = [np.count_nonzero(iterate.dual_coef) for labels, iterate in ended[:-1] if labels >= at - 40]
        assert max(supports) - min(supports) <= 0.05 * max(supports)
    # what is left is on the right side of it
    last = ended[-1][1]
    assert np.mean(np.sign(whole.kernel.expand(last.dual_coef) + last.intercept) == y) > 0.9


def test_the_window_is_a_fortieth_of_the_points_unless_it_is_told():
    problem, rng = pool_of(*imbalanced(800)), np.random.default_rng(0)
    assert active_run.Run(ActiveSmallPool(), problem, rng).rules.window == 20
    assert active_run.Run(ActiveSmallPool(stop_window=7), problem, rng).rules.window == 7
    assert active_run.Run(ActiveSmallPool(), pool_of(*imbalanced(10)), rng).rules.window == 1


def test_random_sampling_stops_by_the_number_of_support_vectors():
    x, y = imbalanced(800, noise=0.0)
    problem = pool_of(x, y)
    last = followed(RandomSampling(stop="support", stop_window=30, stop_tolerance=0.2), problem)[-1][1]
    assert last.info["stopped_by"] == "support"
    assert last.info["support_at"] == problem.labels_used < 800
    assert last.info["distance"] is None
    assert last.info["margin_at"] is None


def test_the_finishing_step_comes_last():
    x, y = imbalanced(200)
    plain, finished = (
        followed(ActiveSmallPool(finishing=wanted), pool_of(x, y, budget=80)) for wanted in (False, True)
    )
    np.testing.assert_array_equal(plain[-1][1].dual_coef, finished[-2][1].dual_coef)
    assert finished[-1][1].info["delta"] <= 1e-3 < plain[-1][1].info["delta"]
    assert finished[-1][0] == plain[-1][0] == 80


def test_the_host_may_stop_after_any_query():
    x, y = imbalanced(200)
    for yields in (1, 2, 7):
        problem = pool_of(x, y)
        outcome = drive(ActiveSmallPool(), problem, np.random.default_rng(0), Limits(iterations=yields))
        assert problem.labels_used == 19 + yields
        assert outcome.info["queries"] == yields - 1
        problem.checked(outcome.dual_coef, outcome.intercept)


# -- edges -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", STRATEGIES, ids=named)
@pytest.mark.parametrize("budget", [1, 2, 19, 20, 21, 45])
def test_budgets_of_one_label_up_to_all(solver, budget):
    x, y = imbalanced(45, threshold=0.5)
    problem = pool_of(x, y, budget=budget)
    last = followed(solver, problem)[-1][1]
    assert problem.labels_used == budget == last.info["labels"]
    assert last.info["queries"] == max(0, budget - 20)
    assert last.info["stopped_by"] == ("pool" if budget == 45 else "budget")


@pytest.mark.parametrize("solver", STRATEGIES, ids=named)
def test_without_a_budget_the_pool_is_used_up(solver):
    x, y = imbalanced(45, threshold=0.5)
    problem = pool_of(x, y)
    last = followed(solver.replaced(batch=4), problem)[-1][1]
    assert sorted(problem.bought.tolist()) == list(range(45))
    assert last.info["stopped_by"] == "pool"
    assert problem.certify(last.dual_coef, last.intercept).relative_gap < 0.5


@pytest.mark.parametrize("solver", STRATEGIES, ids=named)
@pytest.mark.parametrize("n", [1, 2, 3])
def test_pools_of_a_few_points(solver, n):
    x, y = np.arange(float(n))[:, None], np.where(np.arange(n) == 0, 1.0, -1.0)
    problem = pool_of(x, y)
    last = followed(solver.replaced(first=1), problem)[-1][1]
    assert problem.labels_used == n
    assert last.intercept == 1.0 or n > 1


@pytest.mark.parametrize("label", [-1.0, 1.0])
@pytest.mark.parametrize("solver", STRATEGIES, ids=named)
def test_while_all_labels_are_of_one_class_points_are_bought_in_random_order(solver, label):
    x, _ = imbalanced(100)
    problem = pool_of(x, np.full(100, label), budget=60)
    found = followed(solver.replaced(stop="support"), problem, seed=4)
    assert {iterate.intercept for _, iterate in found} == {label}
    assert not any(iterate.dual_coef.any() for _, iterate in found)
    info = found[-1][1].info
    assert (info["stopped_by"], info["margin_at"], info["support_at"]) == ("budget", None, None)
    order = np.random.default_rng(4).permutation(100)
    if getattr(solver, "candidates", 59) is None and solver.name != "active-small-pool":
        assert problem.bought.tolist() == order[:60].tolist()
    assert len(set(problem.bought.tolist())) == 60


@pytest.mark.parametrize("solver", STRATEGIES, ids=named)
def test_no_positive_among_the_first_labels(solver):
    x, y = imbalanced(200, threshold=1.5)
    order = np.random.default_rng(1).permutation(200)
    y[order[:30]] = -1.0  # none among the first; as long as all are alike the choice is random
    assert (y > 0).sum() > 5
    problem = pool_of(x, y, budget=150)
    last = followed(solver, problem)[-1][1]
    assert np.count_nonzero(y[problem.bought] > 0) >= 3
    assert np.count_nonzero(last.dual_coef > 0) >= 1


@pytest.mark.parametrize("solver", STRATEGIES, ids=named)
def test_labels_that_were_bought_before_are_known(solver):
    x, y = imbalanced(100, threshold=0.5)
    problem = pool_of(x, y, budget=70)
    problem.buy([5, 9, 11])
    last = followed(solver, problem)[-1][1]
    assert problem.bought.tolist()[:3] == [5, 9, 11]
    assert problem.labels_used == 70
    assert last.info["queries"] == 47


@pytest.mark.parametrize("kind", ["equal points", "constant features", "contradictions"])
@pytest.mark.parametrize("solver", STRATEGIES, ids=named)
def test_awkward_points(solver, kind):
    x, y = imbalanced(60, threshold=0.5)
    if kind == "equal points":
        x = np.repeat(x[:6], 10, axis=0)
    elif kind == "constant features":
        x = np.full((60, 2), 2.0)
    else:
        x, y = np.repeat(x[:30], 2, axis=0), np.tile([1.0, -1.0], 30)
    problem = pool_of(x, y, budget=50)
    followed(solver, problem)
    assert problem.labels_used == 50
