"""Strategies that buy labels: what they buy, what it costs, when they stop, and what must not matter."""

from __future__ import annotations

import numpy as np
import pytest
from harness_active.pool import Pool
from harness_active.solvers import ActiveFullSearch, ActiveSmallPool, RandomSampling, RetrainActive

from harness import (
    Oracle,
    OracleFailure,
    UsageError,
    get_solver,
)
from harness.kernels.oracle import uncounted
from tests.plugins.active_problems import SEARCHING, STRATEGIES, bought, followed, imbalanced, named, pool_of
from tests.plugins.naive_active import distances, nearest

# -- what is bought ----------------------------------------------------------------------------------


@pytest.mark.parametrize("batch", [1, 5])
@pytest.mark.parametrize("solver", SEARCHING, ids=named)
def test_every_choice_is_the_nearest_of_its_candidates(monkeypatch, solver, batch):
    offers, sample = [], Pool.sample

    def listening(self, count, rng):
        offers.append((count, sample(self, count, rng)))
        return offers[-1][1]

    monkeypatch.setattr(Pool, "sample", listening)
    x, y = imbalanced(150)
    problem = pool_of(x, y, budget=90)
    with uncounted(problem.kernel):
        K = np.array(problem.kernel.block(np.arange(150)))
    found = followed(solver.replaced(batch=batch, finishing=False), problem)
    order = problem.bought.tolist()
    size = {
        "active-small-pool": 59,
        "retrain-active": solver.candidates if hasattr(solver, "candidates") else None,
    }.get(solver.name)
    for (count, offer), (labels, iterate), (later, _) in zip(offers, found, found[1:], strict=False):
        left = set(range(150)) - set(order[:labels])
        assert len(set(offer.tolist())) == len(offer) == (len(left) if size is None else min(len(left), count))
        assert count is None or count == size * min(batch, 90 - labels)
        assert set(offer.tolist()) <= left
        chosen = order[labels:later]
        near = distances(K, iterate.dual_coef, iterate.intercept)
        expected = nearest(K, iterate.dual_coef, iterate.intercept, offer, len(chosen))
        np.testing.assert_allclose([near[i] for i in chosen], expected, rtol=1e-4, atol=1e-4)
    assert len(offers) == found[-1][1].info["queries"] == -(-70 // batch)
    assert problem.labels_used == problem.kernel.counter.labels == 90


def test_retraining_solves_the_problem_over_all_labels_and_takes_the_nearest_of_all():
    x, y = imbalanced(60, threshold=0.6)
    problem = pool_of(x, y, budget=40)
    with uncounted(problem.kernel):
        K = np.array(problem.kernel.block(np.arange(60)))
    found = followed(RetrainActive(oracle="smo[gap=1e-8]", first=8), problem)
    order = problem.bought
    for labels, iterate in found[:-2]:
        stated = pool_of(x, y).after_buying(order[:labels])
        assert stated.certify(iterate.dual_coef, iterate.intercept).relative_gap <= 1e-7
        near = distances(K, iterate.dual_coef, iterate.intercept)
        left = sorted(set(range(60)) - set(order[:labels].tolist()))
        assert near[order[labels]] <= min(near[left]) + 1e-4


def test_all_strategies_begin_with_the_same_points_and_random_sampling_follows_their_order():
    x, y = imbalanced()
    order = np.random.default_rng(5).permutation(300)
    found = {solver.label: bought(solver, x, y, seed=5, budget=60)[0] for solver in STRATEGIES}
    for chosen in found.values():
        assert chosen[:20] == order[:20].tolist()
        assert len(set(chosen)) == 60
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
        found.append((problem.bought.tolist(), last.info["distance"], problem.kernel.counter.evaluations))
    assert found[0][0] == found[1][0]
    assert found[1][1] == pytest.approx(found[0][1], abs=1e-3)
    assert 5 * found[1][2] < found[0][2]


# -- what it costs -----------------------------------------------------------------------------------


# -- what must not matter ----------------------------------------------------------------------------


@pytest.mark.parametrize("solver", STRATEGIES, ids=named)
def test_the_same_seed_buys_the_same_labels(solver):
    x, y = imbalanced(200)
    one, same, other = (bought(solver, x, y, seed=seed, budget=90) for seed in (1, 1, 2))
    assert one[0] == same[0] != other[0]
    np.testing.assert_array_equal(one[1].dual_coef, same[1].dual_coef)
    assert {**one[1].info, "oracle_seconds": 0} == {**same[1].info, "oracle_seconds": 0}


# -- parameters --------------------------------------------------------------------------------------


def test_eta_and_p_give_the_sample_size():
    assert ActiveSmallPool().sample_size == 59
    assert ActiveSmallPool(eta=0.05, p=0.05).sample_size == 59
    assert ActiveSmallPool(candidates=7).sample_size == 7
    for eta, p in ((0.01, 0.05), (0.5, 0.01), (0.05, 0.9), (1e-6, 0.001)):
        size = ActiveSmallPool(eta=eta, p=p).sample_size
        assert 1.0 - (1.0 - p) ** size >= 1.0 - eta
        assert size == 1 or 1.0 - (1.0 - p) ** (size - 1) < 1.0 - eta


@pytest.mark.parametrize(
    ("selection", "sentence"),
    [
        ("active-small-pool[candidates=59,eta=0.1]", "candidates=59 and eta=0.1 both say how many points are sampled"),
        ("active-small-pool[candidates=59,p=0.1]", "candidates=59 and p=0.1 both say"),
        ("active-small-pool[candidates=0]", "candidates=0 is not valid|candidates='0' is not valid"),
        ("active-small-pool[p=1]", "p=.*is not valid"),
        ("active-full-search[first=0]", "first=.*is not valid"),
        ("random-sampling[batch=0]", "batch=.*is not valid"),
        ("random-sampling[stop=margin]", "stop=margin has no meaning where no candidate is compared"),
        ("active-full-search[stop=never]", "stop=.*is not valid"),
        ("active-full-search[stop_tolerance=1]", "stop_tolerance=.*is not valid"),
    ],
)
def test_wrong_parameters_are_refused_in_a_sentence(selection, sentence):
    with pytest.raises(UsageError, match=sentence):
        get_solver(selection)


@pytest.mark.parametrize(
    ("solver", "sentence"),
    [
        (ActiveSmallPool(oracle="smo"), "the oracle 'smo' cannot be taught example by example; name an online solver"),
        (RandomSampling(oracle="lasvmm"), "there is no solver or plugin called 'lasvmm'"),
        (RetrainActive(oracle="mdm"), "the oracle 'mdm' solves .*, not c-svc; name one that does"),
        (ActiveFullSearch(oracle="lasvm[epochs=2]"), "who teaches it says which examples it visits"),
    ],
)
def test_an_oracle_that_cannot_serve_is_refused_in_a_sentence(solver, sentence):
    x, y = imbalanced(60)
    problem = pool_of(x, y)
    with pytest.raises(UsageError, match=sentence):
        next(solver.iterates(problem, np.random.default_rng(0)))
    assert problem.labels_used == 0


def test_an_oracle_that_fails_is_named(monkeypatch):
    def broken(*_args, **_kwargs):
        raise ValueError("out of luck")

    monkeypatch.setattr(Oracle, "iterates", broken)
    steps = RetrainActive(oracle="smo").iterates(pool_of(*imbalanced(60, threshold=0.5)), np.random.default_rng(0))
    with pytest.raises(OracleFailure, match="after 20 labels: the oracle 'smo' failed: ValueError: out of luck"):
        next(steps)
