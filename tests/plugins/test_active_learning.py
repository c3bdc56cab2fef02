"""Strategies that query labels: which, what it costs, when they stop; the pool whose labels are queried, once each."""

from __future__ import annotations

import math

import numpy as np
import pytest
from harness_active.learning_curve import areas
from harness_active.pool_svc import PoolSVC
from harness_active.solvers import ActiveFullSearch, ActiveSmallPool, Pool, RandomSampling, RetrainActive, Rules
from hypothesis import given, settings
from hypothesis import strategies as st

from harness import CSVC, RBF, InvalidModel, UsageError
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
    monkeypatch.setattr(ActiveSmallPool, "looks_ahead", False)
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


def naive_choice(points, uniforms, f, rank):
    """Return the points that are chosen from one sample after another, by sets and lists; and the samples."""
    left, chosen, samples = list(points), [], []
    for draws in uniforms:
        drawn = []
        for k, uniform in enumerate(draws):
            most = len(left) - len(draws) + k
            place = int(uniform * (most + 1))
            drawn.append(most if place in drawn else place)
        samples.append({left[place] for place in drawn})
        nearest = min(samples[-1], key=lambda point: (abs(f[point]), rank[point]))
        chosen.append(nearest)
        here = left.index(nearest)
        left[here], left[-1] = left[-1], nearest
        left.pop()
    return chosen, samples


@given(st.integers(0, 2**32 - 1), st.integers(1, 9), st.integers(1, 12))
@settings(max_examples=200, deadline=None)
def test_the_points_of_the_next_queries_are_those_of_the_twin(seed, queries, candidates):
    rng = np.random.default_rng(seed)
    order = rng.permutation(60)[:30]
    f = np.round(rng.normal(size=60), 1)  # with ties
    left, points = Pool(order, 60), []
    uniforms = rng.random((queries, candidates))
    for draws in uniforms:
        points.append(left.nearest_of(draws, f - 0.5, 0.5))
        left.take(points[-1:])
    rank = np.full(60, -1)
    rank[order] = np.arange(30)
    expected, samples = naive_choice(order[::-1], uniforms, f - 0.5 + 0.5, rank)
    assert points == expected
    assert {len(sample) for sample in samples} == {candidates}
    assert sorted(left.sample(None, rng)) == sorted(set(order) - set(points))
    assert len(left) == 30 - len(points)


def test_a_sample_is_uniform():
    counts = np.zeros(12)
    for seed in range(3000):
        uniforms = np.random.default_rng(seed).random(5)
        counts[Pool(np.arange(12), 12).nearest_of(uniforms, np.arange(12.0), 0.0)] += 1
    # the smallest of 5 of 12 is k with probability C(11 - k, 4) / C(12, 5)
    expected = np.array([math.comb(11 - k, 4) for k in range(12)]) / math.comb(12, 5) * 3000
    assert np.abs(counts - expected).max() < 5 * np.sqrt(3000 / 4)


@pytest.mark.parametrize("noise", [0.0, 0.02])
@pytest.mark.parametrize(
    "solver", [ActiveSmallPool(oracle="lasvm[tau=0.1]"), RandomSampling()], ids=lambda solver: solver.label
)
def test_labels_queried_together_are_those_that_are_queried_one_by_one(monkeypatch, solver, noise):
    x, y = imbalanced(900, noise=0.0, threshold=0.5)
    x[:, 0] += 0.4 * y
    y = np.where(np.random.default_rng(2).random(900) < noise, -y, y)
    ahead, alone = pool_of(x, y, budget=700), pool_of(x, y, budget=700)
    together = followed(solver, ahead)
    monkeypatch.setattr(type(solver), "looks_ahead", False)
    one_by_one = dict(followed(solver, alone)[:-1])
    assert ahead.queried.tolist() == alone.queried.tolist()
    assert len(one_by_one) == 681
    assert len(together) < 200
    for labels, iterate in together[:-1]:
        np.testing.assert_allclose(iterate.dual_coef, one_by_one[labels].dual_coef, atol=1e-3)
    steps = np.diff([labels for labels, _ in together])
    assert all(step <= 1 + labels // 50 for step, (labels, _) in zip(steps, together, strict=False))


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


# -- pool-svc --------------------------------------------------------------------------------------------


N = 24
RNG = np.random.default_rng(3)
X = RNG.normal(size=(N, 3))
Y = np.where(X[:, 0] + 0.5 * RNG.normal(size=N) > 0, 1.0, -1.0)
KERNEL = RBF(gamma=0.7)


def pool(labels=Y.__getitem__, **values):
    return build(PoolSVC, X, labels, KERNEL, **{"C": 2.0, **values})


def feasible(labels, weights, C):
    """Return coefficients of c-svc: ``weights`` in [0, 1] times C, the heavier class scaled down so that they sum to 0."""
    positive, negative = weights[labels > 0].sum(), weights[labels < 0].sum()
    least = min(positive, negative)
    scale = np.where(labels > 0, least / max(positive, 1e-300), least / max(negative, 1e-300))
    return C * labels * weights * scale


queries = st.lists(st.integers(0, N - 1), min_size=1, max_size=N, unique=True)


@given(queries, st.lists(st.floats(0.0, 1.0), min_size=N, max_size=N), st.floats(-2.0, 2.0))
@settings(max_examples=60, deadline=None)
def test_the_certificate_is_that_of_c_svc_over_the_queried_points(queried, weights, intercept):
    problem = pool()
    problem.query(queried)
    own = feasible(Y[queried], np.array(weights)[queried], 2.0)
    coef = np.zeros(N)
    coef[queried] = own
    independent = build(CSVC, X[queried], Y[queried], KERNEL, C=2.0)
    problem.checked(coef, intercept)
    found, expected = problem.certify(coef, intercept), independent.certify(own, intercept)
    for name in ("primal", "dual", "gap", "kkt_violation", "feasibility_violation"):
        assert getattr(found, name) == pytest.approx(getattr(expected, name), rel=1e-9, abs=1e-9), name


@given(st.lists(st.lists(st.integers(0, N - 1), max_size=6), max_size=8), st.integers(1, N))
@settings(max_examples=60, deadline=None)
def test_the_ledger_is_what_a_list_would_keep(asked, budget):
    problem, kept = pool(budget=budget), []
    for indices in asked:
        fresh = [index for index in dict.fromkeys(indices) if index not in kept]
        if len(kept) + len(fresh) > budget:
            with pytest.raises(UsageError, match="labels were queried"):
                problem.query(indices)
        else:
            np.testing.assert_array_equal(problem.query(indices), Y[indices])
            kept += fresh
        assert problem.queried.tolist() == kept
        assert problem.queries_left == budget - len(kept)
        known = np.zeros(N, dtype=bool)
        known[kept] = True
        np.testing.assert_array_equal(problem.targets[known], Y[known])
        assert np.isnan(problem.targets[~known]).all()


@pytest.mark.parametrize("index", [-1, N])
def test_a_point_that_is_none_cannot_be_queried_and_targets_are_read_only(index):
    problem = pool()
    before = problem.contents()
    with pytest.raises(UsageError, match=f"the label of point {index} was queried"):
        problem.query([0, index])
    with pytest.raises(ValueError, match="read-only"):
        problem.targets[0] = 1.0
    assert len(problem.queried) == 0
    problem.query([1, 2])
    assert problem.contents() == before != pool(C=3.0).contents(), "queries do not change it"


def test_a_coefficient_without_a_label_is_no_model_and_without_a_label_nothing_is_the_optimum():
    problem, (positive, negative) = pool(), (np.flatnonzero(Y > 0)[0], np.flatnonzero(Y < 0)[0])
    found = problem.certify(*problem.checked(np.zeros(N), 0.0))
    assert (found.primal, found.dual, found.relative_gap) == (0.0, 0.0, 0.0)
    problem.query([positive])
    coef = np.zeros(N)
    coef[[positive, negative]] = 0.5, -0.5
    with pytest.raises(InvalidModel, match="the label of that point was not queried"):
        problem.checked(coef, 0.0)
    problem.query([negative])
    problem.checked(coef, 0.0)


def test_a_label_queried_alone_is_entered_counted_and_refused_as_others_are():
    problem = pool(budget=2)
    for point in (5, 3, 5):
        problem.query_one(point)
    assert (problem.queried.tolist(), problem.queries_left) == ([5, 3], 0)
    assert problem.targets[[5, 3]].tolist() == Y[[5, 3]].tolist()
    for point, reason in ((1, "0 are left"), (-1, "run from 0"), (N, "run from 0")):
        with pytest.raises(UsageError, match=reason):
            problem.query_one(point)
    assert problem.queried.tolist() == [5, 3]


def test_a_part_queries_the_whole():
    problem = pool(budget=5)
    problem.query([3, 4])
    part = problem.restrict([4, 7, 9])
    assert part.queried.tolist() == [0]
    np.testing.assert_array_equal(part.query([1, 1, 0]), Y[[7, 7, 4]])
    problem.query([10, 11])
    assert (problem.queried.tolist(), part.queries_left) == ([3, 4, 7, 10, 11], 0)
    with pytest.raises(UsageError, match="labels were queried"):
        part.query([2])


def test_with_other_targets_it_is_the_problem_after_these_queries():
    problem = pool(budget=4)
    problem.query([5, 2])
    after = pool(budget=4).with_targets(np.where(np.isin(np.arange(N), [2, 5]), Y, np.nan))
    assert (after.queried.tolist(), after.queries_left) == ([2, 5], 0)
    np.testing.assert_array_equal(after.targets, problem.targets)
    again = problem.with_targets(lambda points: np.ones(len(points)))
    assert len(again.queried) == 0
    np.testing.assert_array_equal(again.query([0, 1]), [1.0, 1.0])


# -- Areas under curves over labels, against sums that a person can do -----------------------------------


def point(labels, accuracy=None, reason="queried", **metrics):
    return {"queried": labels, "test_accuracy": accuracy, "reason": reason, "metrics": metrics}


def test_points_that_the_machines_speed_makes_due_are_none_of_the_curve():
    ladder = [point(2, 0.5), point(10, 0.9)]
    disturbed = [ladder[0], point(3, 0.1, reason="seconds"), point(9, 0.1, reason="kernel_evaluations"), ladder[1]]
    assert areas(disturbed) == areas(ladder)


@given(st.lists(st.tuples(st.integers(1, 1000), st.floats(0, 1)), min_size=2, max_size=40, unique_by=lambda p: p[0]))
def test_the_area_is_that_of_numpy(points):
    points.sort()
    labels, values = map(np.array, zip(*points, strict=True))
    expected = float(np.sum(np.diff(labels) * (values[:-1] + values[1:]) / 2)) / (labels[-1] - labels[0])
    assert areas([point(int(n), float(v)) for n, v in points])["accuracy"] == pytest.approx(expected, abs=1e-12)
