"""When strategies that buy labels stop, and awkward pools and budgets."""

from __future__ import annotations

import numpy as np
import pytest
from harness_active.solvers import ActiveSmallPool, RetrainActive
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
