"""The methods for the primal: against their naive twins and the optimum, and what they may cost."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from harness_primal import BudgetedSGD, Pegasos, PrimalNewton

from harness import RBF, CSVCNoBias, KernelOracle, Linear, Precomputed
from harness.measure.scored import FreeModel
from harness.problems import L2SVC
from tests.kernels.oracles import own, whole
from tests.plugins.common import build, cancer, certified, exact, iterates, overlapping
from tests.plugins.naive_primal import budgeted, merged, pegasos


def orders(n, epochs, seed=1):
    """The order in which a solver visits the examples."""
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.permutation(n) for _ in range(epochs)])


def models_of(solver, problem):
    """Return the iterates as validated copies of their models, as the host takes them."""
    return [
        (it.step, FreeModel.checked(problem.kernel, it.free_coef, it.extra_points, it.intercept), it.done)
        for it in solver.iterates(problem, np.random.default_rng(1))
    ]


def primal(problem, model):
    stated = own(problem)
    return model.certificate(stated, model.scores(stated.kernel, stated.kernel.points)).primal


@pytest.mark.parametrize("values", [{"C": 2.0}, {"C": 0.5, "class_weight": "balanced"}])
@pytest.mark.parametrize("cache_mb", [256.0, 1e-3])
def test_pegasos_takes_the_steps_of_the_paper(values, cache_mb):
    x, y = overlapping(2, n=60)
    problem = build(CSVCNoBias, x, y, RBF(0.5), cache_mb=cache_mb, **values)
    K, costs = whole(problem.kernel), problem.upper / problem.C
    twin = pegasos(K, y, costs, orders(60, 3), problem.C)
    found = models_of(Pegasos(epochs=3, block=7, dtype="float64"), problem)
    assert [done for _, _, done in found] == [False] * 26 + [True]
    for step, model, _ in found:
        np.testing.assert_allclose(model.coef, twin[step - 1], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("maintenance", ["merging", "removal"])
@pytest.mark.parametrize("sparse", [False, True])
def test_budgeted_sgd_takes_the_steps_of_the_paper(maintenance, sparse):
    x, y = overlapping(4, n=60, d=3)
    if sparse:  # the last of 40 features are rare
        x = np.hstack(
            [x, np.random.default_rng(0).normal(size=(60, 37)) * (np.arange(37) * 2 == np.arange(60)[:, None])]
        )
    data = scipy.sparse.csr_array(x) if sparse else x
    costs = np.random.default_rng(0).uniform(0.5, 1.5, 60)  # no two weights are equal, so that rounding decides nothing
    problem = CSVCNoBias(KernelOracle(RBF(0.5), data), y, CSVCNoBias.settings_of({"C": 2.0}), upper=2.0 * costs)
    twin = budgeted(x, y, costs, orders(60, 3), 2.0, 8, 0.5, merging=maintenance == "merging")
    found = models_of(BudgetedSGD(epochs=3, block=7, budget=8, maintenance=maintenance, dtype="float64"), problem)
    for step, model, _ in found:
        points, coef = twin[step - 1]
        assert not model.coef.any()
        assert len(model.own_coef) == len(coef) <= 8
        stored = model.own.toarray() if sparse else model.own
        ours, theirs = np.argsort(model.own_coef), np.argsort(coef)  # an example that joined twice has its weight twice
        np.testing.assert_allclose(model.own_coef[ours], coef[theirs], rtol=1e-3)
        np.testing.assert_allclose(stored[ours], points[theirs], atol=1e-3 * np.abs(x).max())


def test_a_merged_point_is_the_best_one_between_two():
    from harness_primal.hot import merge

    rng = np.random.default_rng(0)
    for _ in range(50):
        a, b = rng.random(2) * rng.choice([-1.0, 1.0])
        x, z = rng.normal(size=(2, 3))
        point, weight, _ = merged(a, x, b, z, 0.5)
        share, found = merge(a, b, np.exp(-0.5 * np.sum((x - z) ** 2)))
        assert found == pytest.approx(weight, rel=1e-6)
        np.testing.assert_allclose(share * x + (1.0 - share) * z, point, atol=0.05)


@pytest.mark.parametrize(
    ("solver", "allowed"), [(Pegasos(epochs=300), 1e-3), (BudgetedSGD(epochs=100, budget=400), 1e-2)]
)
def test_many_epochs_come_near_the_optimum(solver, allowed):
    x, y = overlapping(0, n=400)
    problem = build(CSVCNoBias, x, y, RBF(0.5))
    best = exact(build(CSVCNoBias, x, y, RBF(0.5))).primal
    found = primal(problem, models_of(solver, problem)[-1][1])
    assert 1.0 - 1e-9 <= found / best <= 1.0 + allowed


def test_budgeted_sgd_costs_a_row_of_the_budget_for_an_example_and_for_a_merge():
    x, y = overlapping(0, n=300)
    problem = build(CSVCNoBias, x, y, RBF(0.5))
    models_of(BudgetedSGD(epochs=2, budget=20), problem)
    assert 0.5 * 2 * 300 * 20 < problem.kernel.counter.evaluations <= 2 * 300 * (20 + 21)
    assert not problem.kernel.counter.evaluations_at_least


def test_pegasos_pays_once_for_rows_that_stay_in_the_cache():
    x, y = overlapping(0, n=300)
    problem = build(CSVCNoBias, x, y, RBF(0.5))
    models_of(Pegasos(epochs=50, block=50), problem)
    assert problem.kernel.counter.evaluations <= 300 * 300 + 50 * 300 * 50
    assert problem.kernel.counter.cache_hits > 1000


def test_budgeted_sgd_refuses_what_it_cannot_merge():
    x, y = overlapping(0)
    for kernel, data in ((Linear(), x), (Precomputed(), x @ x.T)):
        refusal = BudgetedSGD().refusal(build(CSVCNoBias, data, y, kernel))
        assert refusal == f"bsgd merges points for the rbf kernel, not for '{kernel.name}'; take pegasos."


@pytest.mark.parametrize("C", [0.1, 10.0, 1000.0])
@pytest.mark.parametrize("data", [cancer, lambda: overlapping(0, n=300)])
@pytest.mark.parametrize("cache_mb", [256.0, 0.05])
def test_newton_reaches_the_optimum_of_the_exact_solver(data, C, cache_mb):
    x, y = data()
    problem = build(L2SVC, x, y, RBF(0.05), C=C, cache_mb=cache_mb)
    found = iterates(PrimalNewton(start=50), problem)
    model, best = certified(problem, found[-1]), exact(build(L2SVC, x, y, RBF(0.05), C=C))
    assert found[-1].done
    assert model.dual == pytest.approx(best.dual, rel=1e-6)
    assert model.relative_gap <= 1e-9
    for iterate in found[:-1]:  # two points of the hulls, no nearer than the nearest
        assert certified(problem, iterate).dual >= best.dual * (1.0 - 1e-9)


def test_a_newton_step_solves_the_system_over_the_support():
    """One step from beta = 0 is ridge regression with a bias on the labels, as every point has y f < 1 there."""
    x, y = overlapping(0, n=80)
    problem = build(L2SVC, x, y, RBF(0.5), C=3.0)
    K = whole(problem.kernel)
    system = np.block([[K, np.ones((80, 1))], [np.ones((1, 80)), np.zeros((1, 1))]])
    beta = np.linalg.solve(system, np.append(y, 0.0))
    first = iterates(PrimalNewton(), problem)[0]
    weights = np.maximum(0.0, y * beta[:80])
    sums = np.where(y > 0.0, weights[y > 0.0].sum(), weights[y < 0.0].sum())
    np.testing.assert_allclose(first.dual_coef, y * weights / sums, rtol=1e-9, atol=1e-12)
    assert first.info == {"support": 80}


def test_newton_says_so_where_the_support_is_too_large():
    x, y = overlapping(0, n=300)
    found = iterates(PrimalNewton(start=50, max_support=60), build(L2SVC, x, y, RBF(0.5), C=1.0))
    assert not found[-1].done
    assert found[-1].info["stopped"] == "the support is 93, above max_support=60"
    np.testing.assert_array_equal(found[-1].dual_coef, found[-2].dual_coef)  # the optimum over the first 50 points
    assert np.count_nonzero(found[-1].dual_coef) <= 50
