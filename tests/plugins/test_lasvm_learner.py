"""LASVM taught by another solver: the steps are those of the solver, the scores those of its model, all of it counted."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from harness_active.pool_svc import PoolSVC
from harness_lasvm import LASVM

from harness import RBF, KernelOracle, Linear
from tests.kernels.oracles import own
from tests.plugins.common import noisy, precomputed
from tests.plugins.lasvm_problems import KERNEL, assert_feasible, iterates, stated, svc
from tests.plugins.naive_lasvm import NaiveLASVM


def pool_of(problem, **values):
    """The same points, nothing queried, and a counter of its own."""
    kernel = KernelOracle(problem.kernel.kernel, problem.kernel.points)
    return PoolSVC.build(kernel, problem.targets.__getitem__, {"C": problem.C, **values})


def taught(problem, order, **parameters):
    """A learner that was told all of ``order`` at once, after the random number that the solver draws first."""
    if isinstance(problem, PoolSVC):
        problem.query(order)
    learner = LASVM(**parameters).learner(problem, np.random.default_rng(0))
    learner.learn(order)
    return learner


STORED = {
    "rbf": lambda x, y: stated(x, y, C=5.0),
    "linear": lambda x, y: svc(x, y, Linear(), C=5.0),
    "sparse": lambda x, y: svc(scipy.sparse.csr_array(np.where(np.abs(x) > 0.5, x, 0.0)), y, KERNEL, C=5.0),
}


@pytest.mark.parametrize("kind", STORED)
@pytest.mark.parametrize("parameters", [{}, {"delta_max": 0.5, "second_order_from": 0}])
def test_a_whole_problem_in_one_call_takes_the_steps_of_the_solver(kind, parameters):
    problem = STORED[kind](*noisy(300, noise=1.0))
    order = np.random.default_rng(1).permutation(problem.n)
    online, *_, last = [
        iterate for iterate in iterates(problem, **parameters) if iterate.done or "online_steps" in iterate.info
    ]
    spent = problem.kernel.counter.evaluations
    for other in (problem, pool_of(problem)):
        learner = taught(other, order, **parameters)
        found = learner.iterate()
        np.testing.assert_array_equal(found.dual_coef, online.dual_coef)
        assert (found.intercept, found.step, found.info["visited"]) == (online.intercept, online.step, problem.n)
        learner.finish()
        found = learner.iterate(done=True)
        np.testing.assert_array_equal(found.dual_coef, last.dual_coef)
        assert (found.intercept, learner.support) == (last.intercept, np.count_nonzero(last.dual_coef))
        assert other is problem or other.kernel.counter.evaluations == spent


@pytest.mark.parametrize("batch", [1, 4])
def test_learning_what_was_scored_takes_steps_that_the_paper_allows(batch):
    problem, values = precomputed(stated(*noisy(160, noise=1.0), C=5.0))
    pool = pool_of(problem)
    order = [int(k) for k in np.random.default_rng(1).permutation(problem.n)]
    twin = NaiveLASVM(values, problem.targets, problem.upper)
    learner = LASVM().learner(pool, np.random.default_rng(0))
    pool.query(order[:20])
    learner.learn(order[:20])
    twin.seed(order[:20])
    outcomes = [twin]
    for k in order[:20]:
        outcomes = [after for before in outcomes for after in before.visit(k)][:64]
    rng = np.random.default_rng(2)
    for start in range(20, 160, batch):
        now = learner.iterate().dual_coef
        misses = [np.abs(outcome.alpha - now).max() for outcome in outcomes]
        assert min(misses) <= 1e-8
        outcomes = [outcomes[int(np.argmin(misses))]]
        chosen = order[start : start + batch]
        learner.scores(rng.permutation(order[start:])[:30].tolist() + chosen)
        pool.query(chosen)
        before = pool.kernel.counter.evaluations
        learner.learn(chosen)
        # what was computed for the scores serves the steps; between the chosen ones themselves it was not
        assert pool.kernel.counter.evaluations - before == (batch**2 if batch > 1 else 0)
        for k in chosen:
            outcomes = [after for outcome in outcomes for after in outcome.visit(k)][:64]
        assert_feasible(problem, learner.iterate().dual_coef)


def test_with_cached_scores_examples_take_steps_that_the_paper_allows():
    problem, values = precomputed(stated(*noisy(160, noise=1.0), C=5.0))
    pool = pool_of(problem)
    order = [int(k) for k in np.random.default_rng(1).permutation(problem.n)]
    twin = NaiveLASVM(values, problem.targets, problem.upper)
    learner = LASVM(dtype="float64").learner(pool, np.random.default_rng(0))
    pool.query(order)
    learner.learn(order[:20])
    twin.seed(order[:20])
    outcomes = [twin]
    for k in order[:20]:
        outcomes = [after for before in outcomes for after in before.visit(k)][:64]
    free = 0
    for k in order[20:]:
        found = learner.iterate()
        misses = [np.abs(outcome.alpha - found.dual_coef).max() for outcome in outcomes]
        assert min(misses) <= 1e-8
        scores = learner.scores(np.arange(160), keep=True)
        np.testing.assert_allclose(scores, values @ found.dual_coef + found.intercept, atol=1e-8)
        outcomes = [outcomes[int(np.argmin(misses))]]
        before = pool.kernel.counter.evaluations
        learner.learn([k])
        rows = pool.kernel.counter.evaluations - before
        outcomes = [after for outcome in outcomes for after in outcome.visit(k)][:64]
        assert rows % 160 == 0, (
            "rows of all points: its own, and those of members whose coefficient changes for the first time"
        )
        free += not rows
        assert learner.support == np.count_nonzero(learner.iterate().dual_coef)
    assert free > 5


def test_examples_chosen_one_by_one_take_the_steps_of_examples_given_and_what_is_calm_changes_nothing():
    x, y = noisy(600, noise=0.0)
    problem = stated(x + 0.3 * y[:, None] * [1.0, *[0.0] * (x.shape[1] - 1)], y, C=5.0)
    order = np.random.default_rng(1).permutation(600)
    learner, other = (taught(problem, order[:400], tau=0.05) for _ in range(2))
    for each in (learner, other):
        each.finish()
        assert each.learn_chosen(1, lambda *_: pytest.fail("no scores are cached")) == 0
        f = each.scores(order, keep=True)[np.argsort(order)]
    rest, calls = order[400:], []
    calm = rest[y[rest] * f[rest] >= 1.0 + 0.05]
    assert len(calm) > 50
    before, evaluations = learner.iterate(), problem.kernel.counter.evaluations
    coef = before.dual_coef.copy()

    def choose(scores, intercept, support, margin):
        np.testing.assert_allclose(scores + intercept, f)
        assert (support, margin) == (learner.support, learner.margin)
        calls.append(int(calm[len(calls)]))
        return calls[-1]

    assert learner.learn_chosen(50, choose) == len(calls) == 50
    after = learner.iterate()
    np.testing.assert_array_equal(after.dual_coef, coef)
    assert (after.intercept, after.info["delta"], after.info["members"]) == (
        before.intercept, before.info["delta"], before.info["members"]
    )  # fmt: skip
    assert (after.step - before.step, after.info["visited"]) == (100, 450)
    assert problem.kernel.counter.evaluations == evaluations
    surprises = rest[np.argsort(y[rest] * f[rest])[:20]]
    following = iter([*surprises.tolist(), -1])
    other.learn(calls)
    other.learn(surprises)
    assert learner.learn_chosen(30, lambda *_: next(following)) == 20
    found, expected = learner.iterate(), other.iterate()
    assert not np.array_equal(found.dual_coef, coef)
    np.testing.assert_array_equal(found.dual_coef, expected.dual_coef)
    assert (found.intercept, found.step, found.info) == (expected.intercept, expected.step, expected.info)


def test_what_choosing_an_example_raises_is_raised_and_the_model_is_that_of_the_examples_before():
    problem, order = stated(*noisy(400, noise=0.3), C=5.0), np.random.default_rng(1).permutation(400)
    learner, other = (taught(problem, order[:150]) for _ in range(2))
    for each in (learner, other):
        each.scores(order, keep=True)
    following = iter(order[150:160].tolist())
    with pytest.raises(StopIteration):
        learner.learn_chosen(20, lambda *_: next(following))
    other.learn(order[150:160])
    assert (learner.iterate().step, learner.iterate().info) == (other.iterate().step, other.iterate().info)
    np.testing.assert_array_equal(learner.iterate().dual_coef, other.iterate().dual_coef)


def test_scores_cached_before_the_finishing_step_are_updated_before_examples_are_learned_after_it():
    problem, order = stated(*noisy(400, noise=0.3), C=5.0), np.random.default_rng(1).permutation(400)
    current, outdated = (taught(problem, order[:150]) for _ in range(2))
    for learner in (current, outdated):
        before = learner.scores(order, keep=True)
        learner.finish()
        assert learner.learn_chosen(1, lambda *_: pytest.fail("the scores are those of before")) == 0
    assert np.abs(current.scores(order, keep=True) - before).max() > 0.01
    for learner in (current, outdated):
        learner.learn(order[150:])
    after, found = current.iterate(), outdated.iterate()
    np.testing.assert_allclose(found.dual_coef, after.dual_coef, atol=1e-9)
    assert (found.step, outdated.support) == (after.step, current.support)


@pytest.mark.parametrize("kind", STORED)
def test_scores_are_those_of_the_model_and_counted(kind):
    problem = STORED[kind](*noisy(900, noise=1.0))
    order = np.random.default_rng(1).permutation(900)
    learner = taught(problem, order[:200])
    found = learner.iterate()
    expected = own(problem).kernel.expand(found.dual_coef) + found.intercept
    members, support = found.info["members"], learner.support
    for asked, cost in ((order[:1], members), (order[100:160], 60 * members), (order[:300], 300 * support),
                        (order[:700], 900 * support), (order[:0], 0)):  # fmt: skip
        before = problem.kernel.counter.evaluations
        np.testing.assert_allclose(learner.scores(asked), expected[asked], rtol=1e-4, atol=1e-4)
        spent = problem.kernel.counter.evaluations - before
        assert cost <= spent <= cost + len(asked) * 16  # holes
        np.testing.assert_array_equal(learner.iterate().dual_coef, found.dual_coef)


@pytest.mark.parametrize("label", [-1.0, 1.0])
def test_with_one_class_it_says_that_label_everywhere(label):
    x, _ = noisy(30)
    pool = PoolSVC.build(KernelOracle(RBF(gamma=0.3), x), np.full(30, label).__getitem__, {"C": 2.0})
    learner = LASVM().learner(pool, np.random.default_rng(0))
    assert learner.iterate().intercept == 0.0
    np.testing.assert_array_equal(learner.scores(np.arange(30)), 0.0)
    for start in (0, 1, 9):
        pool.query(np.arange(start, start + 8))
        learner.learn(np.arange(start, start + 8))
        before = pool.kernel.counter.evaluations
        np.testing.assert_array_equal(learner.scores(np.arange(30)), label)
        assert (pool.kernel.counter.evaluations, learner.margin, learner.support) == (before, np.inf, 0)
        assert not learner.iterate().dual_coef.any()
    learner.finish()
    assert learner.iterate().intercept == label
