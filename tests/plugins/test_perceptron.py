"""The perceptrons: against their naive twins, what they may cost, and what a model is."""

from __future__ import annotations

import numpy as np
import pytest
from harness_perceptron import AveragedPerceptron, BudgetPerceptron, KernelPerceptron, learners
from harness_perceptron.mistake_driven import MistakeDriven
from hypothesis import given, settings
from hypothesis import strategies as st

from harness import InvalidModel, Precomputed
from tests.plugins.common import build, iterates, overlapping
from tests.plugins.naive_perceptron import averaged_perceptron, budget_perceptron, kernel_perceptron


class Orders:
    """Stands for a generator of random numbers: the epochs' orders are given."""

    def __init__(self, orders):
        self.orders = iter(orders)

    def permutation(self, n):
        return np.array(next(self.orders), dtype=np.int64)


def integers(seed, n, d=2, reach=2):
    """Kernel values that are small integers, positive semidefinite, of points many of which coincide; and labels."""
    rng = np.random.default_rng(seed)
    x = rng.integers(-reach, reach + 1, size=(n, d)).astype(float)
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    return x @ x.T, y


def stated(K, y, **oracle):
    return build(MistakeDriven, K, y, Precomputed(), **oracle)


def assert_follows_its_twin(solver, K, y, seed=0):
    rng = np.random.default_rng(seed)
    orders = [rng.permutation(len(y)) for _ in range(solver.epochs)]
    order = np.concatenate(orders)
    if isinstance(solver, BudgetPerceptron):
        rules = budget_perceptron(K, y, order, solver.beta, solver.N)
    else:
        rules = (averaged_perceptron if isinstance(solver, AveragedPerceptron) else kernel_perceptron)(K, y, order)
    found = iterates(solver, stated(K, y), Orders(orders))
    for iterate in found:
        np.testing.assert_allclose(
            [*iterate.dual_coef, iterate.intercept], [*rules[iterate.step - 1], 0.0], rtol=0, atol=1e-12
        )
        assert iterate.working_set == iterate.info["members"] == np.count_nonzero(rules[iterate.step - 1])
    assert [iterate.done for iterate in found] == [False] * (len(found) - 1) + [True]
    if found[-1].step < len(rules):  # it ended early: the twin does not move any more
        np.testing.assert_array_equal(rules[-1], found[-1].dual_coef)
    return found


@pytest.mark.parametrize("dtype", ["float32", pytest.param("float64", marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "solver",
    [KernelPerceptron(block=7), AveragedPerceptron(), BudgetPerceptron(N=5, block=7), BudgetPerceptron(N=12, beta=3.0)],
)
def test_every_step_is_the_printed_one(solver, dtype, monkeypatch):
    monkeypatch.setattr(learners, "_VALUES", 300)  # kernel values in several parts
    K, y = integers(1, 150)
    found = assert_follows_its_twin(solver.replace(epochs=3, dtype=dtype), K, y)
    if isinstance(solver, BudgetPerceptron):
        assert max(np.count_nonzero(iterate.dual_coef) for iterate in found) == solver.N


COMMON = {"epochs": st.integers(1, 4), "block": st.integers(1, 20)}
CONFIGURED = st.one_of(
    st.builds(KernelPerceptron, **COMMON), st.builds(AveragedPerceptron, **COMMON),
    st.builds(BudgetPerceptron, **COMMON, N=st.integers(1, 20), beta=st.sampled_from([0.0, 1.0, 2.0, 10.0])),
)  # fmt: skip


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 40), CONFIGURED)
def test_drawn_problems_with_equal_points_follow_the_twin(seed, n, solver):
    assert_follows_its_twin(solver, *integers(seed, n), seed)


def test_an_epoch_pays_for_new_mistakes_in_batches_that_grow_with_them():
    problem = build(MistakeDriven, *overlapping(0, 2000))
    found = iterates(KernelPerceptron(epochs=4), problem)
    began, ends, before, mistakes, sizes = [0], [], 0, 0, set()  # began: mistakes before each epoch
    for iterate in found:
        epoch = iterate.info["epoch"]
        if before == (epoch - 1) * problem.n:
            began.append(mistakes)
        size = min(256, max(64, (mistakes - began[epoch - 1]) // 8))
        assert iterate.step == min(before + size, epoch * problem.n)
        before, mistakes = iterate.step, iterate.info["mistakes"]
        sizes.add(size)
    assert max(sizes) > 80
    ends = [*began[2:], mistakes]
    since = [0, 0, *ends]  # when the epoch before began
    most = sum((end - start) * problem.n for start, end in zip(since, ends, strict=False))
    spent = problem.kernel.counter.evaluations
    assert spent <= 1.125 * most + 64 * problem.n * len(ends)
    assert spent < 0.6 * sum(end * problem.n for end in ends)  # K against all mistakes in every epoch


def test_the_budget_bounds_the_kernel_values_and_their_memory():
    problem = build(MistakeDriven, *overlapping(0, 600))
    found = iterates(BudgetPerceptron(epochs=3, N=50, beta=0.5), problem)
    assert max(iterate.info["members"] for iterate in found) == 50
    assert problem.kernel.counter.evaluations <= 3 * 600 * (50 + 64)
    small = stated(*integers(6, 600), cache_mb=1.0)
    for refused, solver in ((0, {"N": 512}), (1, {"N": 560}), (1, {"N": 512, "dtype": "float64"})):
        assert ("and the run's cache has 1 MB" in (BudgetPerceptron(**solver).refusal(small) or "")) == refused
    assert BudgetPerceptron(N=10**9).refusal(problem) is None  # as many members as there are points


def test_a_coefficient_of_the_other_sign_is_refused_and_no_objective_is_claimed():
    K, y = integers(7, 20)
    problem = stated(K, y)
    coef, intercept = problem.checked(3.0 * y, 0.5)
    np.testing.assert_array_equal([*coef, intercept], [*(3.0 * y), 0.5])
    figures = problem.certify(coef, intercept).as_dict()
    assert (figures.pop("feasibility_violation"), figures.pop("undecidable")) == (0.0, "")
    assert (set(figures.values()), problem.kernel.counter.evaluations) == ({None}, 0)
    coef[4] *= -0.5
    with pytest.raises(InvalidModel, match=r"mistake-driven by 0\.5"):
        problem.checked(coef, 0.0)
    with pytest.raises(NotImplementedError):
        problem.restrict(np.array([3, 1, 7])).dual_form()
