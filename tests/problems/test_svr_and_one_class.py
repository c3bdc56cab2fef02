"""eps-svr and one-class against the formulas written out in loops and an interior-point solver of the primal."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from harness import RBF, EpsSVR, InvalidModel, KernelOracle, Linear, OneClass, UsageError
from harness.kernels.oracle import uncounted
from tests.problems.exact import box_dual, one_class_primal, svr_primal


def points(seed, n):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    return x, np.sin(2.0 * x[:, 0]) + 0.3 * x[:, 1] + 0.1 * rng.normal(size=n)


def build(formulation, x, y, kernel=None, **values):
    return formulation.build(KernelOracle(kernel or RBF(0.7), x), y, values)


def matrix_of(problem):
    return np.array(problem.kernel.block(np.arange(problem.n)))


def random_feasible(problem, rng):
    """A feasible model that is no optimum, with coefficients at both bounds and between them."""
    form = problem.dual_form()
    share = rng.choice([0.0, 0.3, 1.0], size=problem.n)
    size = problem.C * rng.choice([-1.0, 1.0], size=problem.n) if isinstance(problem, EpsSVR) else 1.0
    return form.coef(form.variables(share * size))


def test_svr_figures_are_the_formulas_written_out():
    x, y = points(1, 15)
    problem = build(EpsSVR, x, y, C=3.0, epsilon=0.2)
    coef, b, n = random_feasible(problem, np.random.default_rng(0)), 0.3, 15
    k = matrix_of(problem)
    f = [sum(coef[j] * k[i, j] for j in range(n)) for i in range(n)]
    squared = sum(coef[i] * coef[j] * k[i, j] for i in range(n) for j in range(n))
    primal = 0.5 * squared + 3.0 * sum(max(0.0, abs(y[i] - f[i] - b) - 0.2) for i in range(n))
    dual = sum(y[i] * coef[i] for i in range(n)) - 0.2 * sum(abs(c) for c in coef) - 0.5 * squared
    # the slopes of the dual where a coefficient rises and where it falls: |coef| has a kink at 0
    rises = [y[i] - f[i] - (0.2 if coef[i] >= 0.0 else -0.2) for i in range(n) if coef[i] < 3.0 - 1e-9]
    falls = [y[i] - f[i] - (0.2 if coef[i] > 0.0 else -0.2) for i in range(n) if coef[i] > -3.0 + 1e-9]
    found = problem.certify(coef, b)
    assert found.primal == pytest.approx(primal, rel=1e-12)
    assert found.dual == pytest.approx(dual, rel=1e-12)
    assert found.gap == pytest.approx(primal - dual, rel=1e-12)
    assert found.relative_gap == pytest.approx((primal - dual) / max(1.0, primal), rel=1e-12)
    assert found.kkt_violation == pytest.approx(max(rises) - min(falls), rel=1e-10)
    assert found.feasibility_violation < 1e-15


def test_one_class_figures_are_the_formulas_written_out():
    x, y = points(2, 15)
    problem = build(OneClass, x, y, nu=0.4)
    coef, rho, n, cap = random_feasible(problem, np.random.default_rng(0)), 0.3, 15, 1.0 / (0.4 * 15)
    k = matrix_of(problem)
    f = [sum(coef[j] * k[i, j] for j in range(n)) for i in range(n)]
    squared = sum(coef[i] * coef[j] * k[i, j] for i in range(n) for j in range(n))
    primal = 0.5 * squared - rho + cap * sum(max(0.0, rho - f[i]) for i in range(n))
    used, below = [f[i] for i in range(n) if coef[i] > 0.0], [f[i] for i in range(n) if coef[i] < cap - 1e-12]
    found = problem.certify(coef, -rho)
    assert found.primal == pytest.approx(primal, rel=1e-12)
    assert found.dual == pytest.approx(-0.5 * squared, rel=1e-12)
    assert found.relative_gap == pytest.approx((primal + 0.5 * squared) / (0.5 * squared), rel=1e-12)
    assert found.kkt_violation == pytest.approx(max(used) - min(below), rel=1e-10)
    assert found.feasibility_violation < 1e-12


@pytest.mark.parametrize(("cost", "epsilon"), [(0.05, 0.1), (2.0, 0.1), (300.0, 0.05), (2.0, 0.0), (2.0, 5.0)])
def test_svr_gap_closes_at_the_optimum_of_the_interior_point_solver(cost, epsilon):
    problem = build(EpsSVR, *points(3, 40), C=cost, epsilon=epsilon)
    best, scores, b = svr_primal(matrix_of(problem), problem.targets, cost, epsilon)
    coef = problem.dual_form().coef(box_dual(matrix_of(problem), problem.dual_form()))
    assert matrix_of(problem) @ coef == pytest.approx(scores, abs=1e-4)
    found = problem.certify(*problem.checked(coef, b))
    assert found.primal == pytest.approx(best, rel=1e-6, abs=1e-7)
    assert found.dual == pytest.approx(best, rel=1e-6, abs=1e-7)
    assert found.kkt_violation < 1e-4


@pytest.mark.parametrize("nu", [0.01, 0.3, 0.7, 1.0])
def test_one_class_gap_closes_at_the_optimum_of_the_interior_point_solver(nu):
    problem = build(OneClass, *points(4, 40), nu=nu)
    best, scores, rho = one_class_primal(matrix_of(problem), nu)
    coef = problem.dual_form().coef(box_dual(matrix_of(problem), problem.dual_form()))
    assert matrix_of(problem) @ coef == pytest.approx(scores, abs=1e-5)
    found = problem.certify(*problem.checked(coef, -rho))
    assert found.primal == pytest.approx(best, rel=1e-6)
    assert found.dual == pytest.approx(best, rel=1e-6)
    assert abs(found.relative_gap) < 1e-5


@given(seed=st.integers(0, 10_000), b=st.floats(-3.0, 3.0))
@settings(max_examples=30)
def test_primal_and_dual_bracket_the_optimum(seed, b):
    x, y = points(5, 12)
    for problem, best in ((build(EpsSVR, x, y, C=2.0, epsilon=0.1), BEST[0]), (build(OneClass, x, y, nu=0.4), BEST[1])):
        found = problem.certify(random_feasible(problem, np.random.default_rng(seed)), b)
        assert found.dual - 1e-7 <= best <= found.primal + 1e-7
        assert found.gap >= -1e-12
        assert found.kkt_violation >= 0.0


_MATRIX = RBF(0.7).block(points(5, 12)[0], points(5, 12)[0])
BEST = svr_primal(_MATRIX, points(5, 12)[1], 2.0, 0.1)[0], one_class_primal(_MATRIX, 0.4)[0]


def test_the_origin_among_the_points_is_the_optimum_of_one_class():
    x = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 5.0]])
    problem = build(OneClass, x, np.ones(3), Linear(), nu=0.5)
    found = problem.certify([0.5, 0.5, 0.0], 0.0)
    assert (found.dual, found.gap, found.relative_gap) == (0.0, 0.0, 0.0)
    assert problem.certify([0.5, 0.5, 0.0], 1.0).relative_gap == pytest.approx(1.0 / 12.5)  # against 25 / 2
    assert problem.certify([0.6, 0.4, 0.0], 0.0).relative_gap > 1.0


@pytest.mark.parametrize("formulation", [EpsSVR, OneClass])
def test_infeasible_models_are_refused_in_words(formulation):
    x, y = points(6, 10)
    problem = build(formulation, x, y, C=2.0, nu=0.5)
    coef = random_feasible(problem, np.random.default_rng(1))
    problem.checked(coef, 0.1)
    high, low = int(np.argmax(coef)), int(np.argmin(coef))
    beyond = coef.copy()
    beyond[[high, low]] += 5.0, -5.0
    for wrong in (coef + 1e-3, beyond):
        with pytest.raises(InvalidModel, match=f"violates the constraints of {formulation.name}"):
            problem.checked(wrong, 0.0)


def test_each_constraint_has_its_own_violation():
    x, y = points(7, 10)
    svr, one = build(EpsSVR, x, y, C=2.0), build(OneClass, x, y, nu=0.5)  # cap 0.2
    coef = np.zeros(10)
    coef[:2] = 3.0, -3.0
    assert svr.feasibility_violation(coef) == pytest.approx(0.5)
    coef[:2] = 1.0, -0.5
    assert svr.feasibility_violation(coef) == pytest.approx(0.25)  # off by 0.5 of C = 2
    coef[:] = 0.1
    assert one.feasibility_violation(coef) < 1e-15
    coef[0], coef[1] = 0.3, -0.1
    assert one.feasibility_violation(coef) == pytest.approx(0.5)  # 0.1 above the cap of 0.2, and below 0
    coef[:] = 0.05
    assert one.feasibility_violation(coef) == pytest.approx(0.5)


def test_a_restricted_problem_is_the_one_built_from_its_points():
    x, y = points(8, 16)
    part = np.array([0, 3, 4, 9, 15])
    for formulation, data in ((EpsSVR, x), (OneClass, scipy.sparse.csr_array(x))):
        whole = build(formulation, data, y, C=3.0, epsilon=0.05, nu=0.6)
        scratch = build(formulation, data[part], y[part], C=3.0, epsilon=0.05, nu=0.6)
        coef = random_feasible(scratch, np.random.default_rng(3))
        with uncounted(whole.kernel):
            found = whole.restrict(part).certify(coef, 0.2)
        expected = scratch.certify(coef, 0.2)
        assert found.primal == pytest.approx(expected.primal, rel=1e-12)
        assert found.dual == pytest.approx(expected.dual, rel=1e-12)
        assert found.feasibility_violation == expected.feasibility_violation
        assert whole.kernel.counter.evaluations == 0, "the host's certificates are not counted"


@pytest.mark.parametrize(
    ("formulation", "values", "message"),
    [
        (EpsSVR, {"epsilon": -0.1}, "epsilon=-0.1"),
        (EpsSVR, {"C": 0.0}, "C=0"),
        (OneClass, {"nu": 0.0}, "nu=0"),
        (OneClass, {"nu": 1.5}, "nu=1.5"),
    ],
)
def test_parameters_out_of_range_are_refused(formulation, values, message):
    x, y = points(9, 5)
    with pytest.raises(UsageError, match=message):
        build(formulation, x, y, **values)


def test_the_certificate_costs_the_solver_nothing_and_serves_it_nothing():
    problem = build(OneClass, *points(10, 8), nu=0.5)
    coef = problem.dual_form().start
    with uncounted(problem.kernel):
        problem.certificate(coef, 0.0, np.ones(8))
    assert problem.kernel.counter.evaluations == 0
    problem.kernel.diagonal()
    assert problem.kernel.counter.evaluations == 8, "the diagonal is still to be paid for"


def test_a_solver_pays_for_the_diagonal_that_its_certificate_needs():
    problem = build(OneClass, *points(10, 8), nu=0.5)
    for _ in range(2):
        problem.certificate(problem.dual_form().start, 0.0, np.ones(8))
        assert problem.kernel.counter.evaluations == 8
