"""Example selection, early stopping and class weights of lasvm."""

from __future__ import annotations

import numpy as np
import pytest
from harness_lasvm import LASVM
from harness_lasvm import online as online_
from harness_lasvm.candidate_set import CandidateSet
from harness_lasvm.online import Online, Search

from tests.plugins.common import certified, noisy, precomputed
from tests.plugins.lasvm_problems import assert_feasible, iterates, stated
from tests.plugins.naive_lasvm import NaiveLASVM
from tests.plugins.naive_selection import naive_sample

CRITERIA = ["gradient", "active", "autoactive"]


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize(("candidates", "together"), [(7, 512), (None, 100)])
def test_every_choice_is_the_best_of_its_sample_and_every_step_one_the_paper_allows(
    monkeypatch, criterion, candidates, together
):
    monkeypatch.setattr(online_, "_TOGETHER", together)
    problem, K = precomputed(stated(*noisy(240, noise=1.0), C=5.0))
    y = problem.targets
    size = candidates or online_.CANDIDATES[criterion]
    monkeypatch.setitem(online_.CANDIDATES, criterion, size)
    options = LASVM(selection=criterion)
    rng = np.random.default_rng(3)
    expansion = CandidateSet(problem, cache_mb=10.0, block=256, dtype="float32")
    online = Online(expansion, options, rng)
    twin, order = NaiveLASVM(K, y, problem.upper), rng.permutation(problem.n)
    online.seed(order)
    twin.seed(order)
    search = Search(expansion, np.arange(problem.n), options, rng)
    unseen = set(range(problem.n)) - {int(k) for k in expansion.examples()}
    looks, total = [], len(unseen)
    while True:
        drawn, used = search.drawn, search.used
        work = search.next_example()
        if work is None:
            break
        sequence = search.drawn[used if search.drawn is drawn else 0 :][:size]
        assert len(set(sequence)) == len(sequence) == min(size, len(unseen))
        assert set(sequence) <= unseen
        delta, intercept = expansion.delta, expansion.intercept
        looked = naive_sample(K, y, expansion.members.coef, intercept, delta, sequence, criterion, size)
        chosen = int(work.examples[0])
        position = list(sequence[: len(looked)]).index(chosen)
        assert looked[position] <= min(looked) + 1e-12
        assert search.used == (used if search.drawn is drawn else 0) + len(looked)
        looks.append(len(looked))
        unseen.discard(chosen)
        for _ in online._run(work):
            pass
        outcomes = twin.visit(chosen)
        misses = [np.abs(outcome.alpha - expansion.write()).max() for outcome in outcomes]
        twin = outcomes[int(np.argmin(misses))]
        assert min(misses) <= 1e-8
        assert expansion.size == len(twin.S)
    assert (unseen, len(looks)) == (set(), total)
    if criterion == "autoactive" and candidates is None:
        assert 5 == min(looks[:-5]) < max(looks[:-5])


# -- early stopping ----------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [7, 60])
@pytest.mark.parametrize("parameters", [{}, {"block": 11}, {"delta_max": 0.4}])
def test_max_support_stops_at_the_first_example_that_reaches_it(parameters, limit):
    problem, _ = precomputed(stated(*noisy(400, noise=1.0), C=2.0))
    common = {"finishing": False, **parameters}
    single = iterates(problem, **{**common, "block": 1})
    first = next(iterate for iterate in single if np.count_nonzero(iterate.dual_coef) >= limit)
    last = iterates(problem, max_support=limit, **common)[-1]
    np.testing.assert_array_equal(last.dual_coef, first.dual_coef)
    assert (last.info["stopped_by"], last.info["visited"]) == ("max_support", first.info["visited"])


@pytest.mark.parametrize("criterion", ["random", *CRITERIA])
def test_costs_of_the_classes_bound_the_coefficients(criterion):
    x, y = noisy(400, noise=1.0)
    y[np.arange(400) % 5 > 0] = -1.0
    problem = stated(x, y, C=0.5, class_weight="balanced")
    last = iterates(problem, epochs=6, selection=criterion)[-1]
    assert_feasible(problem, last.dual_coef)
    assert set(np.unique(problem.upper)) <= set(np.abs(last.dual_coef))  # both bounds are met, exactly
    assert certified(problem, last).relative_gap <= 1e-2
