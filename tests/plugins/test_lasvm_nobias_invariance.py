"""lasvm-g, lasvm-nc, lasvm-i and full-svm: what must not matter for the model."""

from __future__ import annotations

import numpy as np
import pytest
from harness_lasvm.nobias import LASVMG, FullSVM
from hypothesis import given, settings
from hypothesis import strategies as st

from harness import RBF, KernelOracle, Linear, Precomputed
from tests.plugins.lasvm_problems import precomputed, problems
from tests.plugins.nobias_problems import ALL, assert_feasible, iterates, noisy, stated


class Given:
    """Stands for a random generator: the next permutations."""

    def __init__(self, *orders):
        self.orders = list(orders)

    def permutation(self, n):
        order = self.orders.pop(0)
        assert sorted(order) == list(range(n))
        return np.array(order)


@settings(deadline=None, max_examples=40)
@given(problems, st.sampled_from(ALL), st.sampled_from([-1.0, 0.5]))
def test_flipped_labels_negate_the_model(drawn, cls, s):
    x, y, C = drawn
    solver = cls(epochs=2, dtype="float64")
    model, flipped = (
        iterates(solver, stated(solver, x, labels, C=C, kernel=RBF(gamma=1.0), s=s))[-1] for labels in (y, -y)
    )
    np.testing.assert_array_equal(flipped.dual_coef, -model.dual_coef)
    assert flipped.info == model.info


@settings(deadline=None, max_examples=30)
@given(problems, st.sampled_from(ALL), st.integers(0, 1000))
def test_the_order_of_the_visits_alone_counts(drawn, cls, seed):
    x, y, C = drawn
    solver = cls(dtype="float64")
    rng = np.random.default_rng(seed)
    moved = rng.permutation(len(y))  # example k stands at moved[k]
    order = rng.permutation(len(y))
    there, labels = np.empty_like(x), np.empty_like(y)
    there[moved], labels[moved] = x, y
    problem, values = precomputed(stated(solver, x, y, C=C, kernel=RBF(gamma=1.0)))
    other = np.empty_like(values)
    other[np.ix_(moved, moved)] = values
    elsewhere = type(problem).build(KernelOracle(Precomputed(), other), labels, problem.parameters)
    *_, first = solver.iterates(problem, Given(order))
    *_, second = solver.iterates(elsewhere, Given(moved[order]))
    np.testing.assert_array_equal(second.dual_coef[moved], first.dual_coef)


@settings(deadline=None, max_examples=40)
@given(problems, st.sampled_from(ALL), st.sampled_from([-1.0, 0.5]))
def test_duplicates_keep_every_iterate_feasible(drawn, cls, s):
    x, y, C = drawn
    solver = cls(
        epochs=2, finishing=True, dtype="float64", **({} if cls is FullSVM else {"clean_every": 5, "max_inactive": 0})
    )
    problem = stated(solver, x, y, C=C, kernel=RBF(gamma=1.0), s=s)
    found = iterates(solver, problem)
    for iterate in found:
        problem.checked(iterate.dual_coef, iterate.intercept, tolerance=0.0)
        assert_feasible(problem, iterate.dual_coef)
    assert found[-1].done


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 10_000), st.sampled_from([0.25, 4.0, 64.0]))
def test_scaled_points_with_the_price_scaled_back_are_the_same_problem(seed, scale):
    x, y = noisy(60, seed=seed)
    plain = iterates(LASVMG(dtype="float64"), stated(LASVMG, x, y, C=scale, kernel=Linear()))[-1]
    scaled = iterates(LASVMG(dtype="float64"), stated(LASVMG, np.sqrt(scale) * x, y, C=1.0, kernel=Linear()))[-1]
    # powers of four: the roots are exact, and so is every step, down to the thresholds max(C, target)
    assert scaled.dual_coef == pytest.approx(plain.dual_coef / scale, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(
    "parameters", [{"block": 7}, {"block": 256}, {"cache_mb": 0.001}, {"cache_mb": 0.05, "block": 9}]
)
@pytest.mark.parametrize("cls", ALL)
def test_block_and_memory_change_the_cost_only(cls, parameters):
    plain = cls(dtype="float64", epochs=2, block=1, group=2)  # the rows of twice a group must fit into memory
    problem, _ = precomputed(stated(plain, *noisy(400), C=5.0))
    expected = iterates(plain, problem)[-1]
    found = iterates(plain.replaced(**parameters), problem)[-1]
    assert expected.info["rows_recomputed"] == 0
    assert (found.info["rows_recomputed"] > 0) == ("cache_mb" in parameters)
    np.testing.assert_allclose(found.dual_coef, expected.dual_coef, rtol=1e-9, atol=1e-9)
    assert found.step == expected.step


@pytest.mark.parametrize("cls", ALL)
def test_the_same_seed_gives_the_same_iterates(cls):
    problem = stated(cls, *noisy(400), C=10.0)
    first, second, other = (iterates(cls(epochs=2), problem, seed) for seed in (1, 1, 2))
    assert len(first) == len(second)
    for one, two in zip(first, second, strict=True):
        np.testing.assert_array_equal(one.dual_coef, two.dual_coef)
        assert one.info == two.info
    assert (first[-1].dual_coef != other[-1].dual_coef).any()
