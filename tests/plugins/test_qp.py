"""The reference solver: certificates of every formulation, degenerate problems, its two parts."""

import cvxpy
import numpy as np
import pytest
from harness_qp import QP
from harness_qp.qp import _SOLVERS, BoxQP, _low_rank_factor

from harness import CSVC, RBF, CSVCNoBias, Linear, PluginError, Poly, Precomputed
from harness.problems import L2SVC, EpsSVR, HardMargin, OneClass, PolytopeDistance, ReducedHull
from tests.plugins.common import build, cancer, digits, overlapping

FORMULATIONS = [
    (CSVC, {"C": 0.1}), (CSVC, {"C": 1000.0}), (CSVC, {"C": 5.0, "class_weight": "balanced"}), (CSVCNoBias, {"C": 10.0}),
    (L2SVC, {"C": 1000.0}), (HardMargin, {}), (ReducedHull, {}), (ReducedHull, {"D": 0.05}), (EpsSVR, {"C": 1.0}),
    (EpsSVR, {"C": 100.0, "epsilon": 0.0}), (OneClass, {"nu": 0.5}), (PolytopeDistance, {}),
]  # fmt: skip


def solved(problem, solver="clarabel"):
    """The solution and its certificate."""
    solution = QP(solver=solver).solve(problem)
    problem.checked(solution.dual_coef, solution.intercept, tolerance=1e-12)
    return solution, problem.certify(solution.dual_coef, solution.intercept)


@pytest.mark.slow
@pytest.mark.parametrize("kernel", [RBF(0.03), Linear(), Poly(2, 0.1, 1.0)], ids=lambda kernel: kernel.name)
@pytest.mark.parametrize("data", [cancer, digits])
@pytest.mark.parametrize(("formulation", "values"), FORMULATIONS)
def test_the_certificate_closes(formulation, values, data, kernel):
    x, y = (part[::2] for part in data())
    if formulation is EpsSVR:
        y = x[:, 0] * y + np.sin(x[:, 1])  # real targets
    if formulation is OneClass:
        x = x + 1.0  # around the origin half of the points have w = 0, and no certificate closes
    found = solved(build(formulation, x, y, kernel, **values))[1]
    assert abs(found.relative_gap) <= 1e-7
    assert found.feasibility_violation <= 1e-14


@pytest.mark.parametrize(("formulation", "values"), FORMULATIONS)
def test_the_certificate_closes_on_overlapping_classes(formulation, values):
    x, y = overlapping(1, n=80)
    if formulation is EpsSVR:
        y = np.sin(2.0 * x[:, 0]) + 0.3 * x[:, 1]
    # the hulls of overlapping points are 1e-5 apart and less, which float64 knows to a few digits
    allowed = 1e-4 if formulation in (HardMargin, ReducedHull) else 1e-8
    problem = build(formulation, x, y, **values)
    assert [step.done for step in QP().iterates(problem, np.random.default_rng(0))] == [True]
    assert problem.kernel.counter.evaluations - 80 * 80 in (0, 80), "counted once, and the diagonal of hulls"
    assert abs(solved(problem)[1].relative_gap) <= allowed
    assert (QP(max_points=80).refusal(problem), QP(max_points=79).refusal(problem) is None) == (None, False)


@pytest.mark.parametrize(("formulation", "values"), [(HardMargin, {}), (ReducedHull, {"D": 0.5})])
def test_intersecting_hulls_end_at_w_zero(formulation, values):
    solution, found = solved(build(formulation, *overlapping(5, n=60), Linear(), **values))
    assert (solution.info["status"], found.touching) == ("w may be 0", True)
    assert found.dual == pytest.approx(0.0, abs=1e-20)


def test_near_hulls_are_told_from_intersecting_ones():
    # the optimum 1/2 |w|^2 = 5e-11 is below Clarabel's absolute tolerance
    x, y = np.array([[0.0, 0.0], [0.0, 1.0], [1e-5, 0.0], [1e-5, 1.0]]), np.array([1.0, 1.0, -1.0, -1.0])
    solution, found = solved(build(HardMargin, x, y, Linear()))
    assert found.dual == pytest.approx(0.5e-10, rel=1e-5)
    assert solution.info["status"] != "w may be 0"
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(300, 2)), np.where(rng.random(300) < 0.5, 1.0, -1.0)
    found = solved(build(ReducedHull, x, y, RBF(1.0)))[1]
    assert 0.0 < found.dual < 1e-8
    assert found.relative_gap < 1e-5


def test_intercepts_by_hand():
    x, y = np.array([[0.0], [1.0], [4.0], [7.0]]), np.array([-1.0, -1.0, 1.0, 1.0])
    svc = QP().solve(build(CSVC, x, y, Linear(), C=10.0))
    # between 1 and 4: f = (x - 2.5) / 1.5
    assert svc.intercept == pytest.approx(-2.5 / 1.5)
    assert svc.dual_coef == pytest.approx([0.0, -2.0 / 9.0, 2.0 / 9.0, 0.0], abs=1e-12)
    # D = 0.8: the nearest points are 0.8 * 1 + 0.2 * 0 and 0.8 * 4 + 0.2 * 7, w their difference 3.8
    reduced = QP().solve(build(ReducedHull, x, y, Linear(), D=0.8))
    assert [*reduced.dual_coef, reduced.intercept] == pytest.approx([-0.2, -0.8, 0.8, 0.2, -3.8 * 3.5])
    one_class = QP().solve(build(CSVC, x, np.ones(4)))
    assert (np.abs(one_class.dual_coef).max(), one_class.intercept) == (0.0, 1.0)


@pytest.mark.parametrize(("gamma", "low_rank"), [(0.001, True), (50.0, False)])
@pytest.mark.parametrize("ridge", [0.0, 0.3])
def test_the_interior_point_alone_is_near_the_optimum_and_the_polish_ends_there(gamma, low_rank, ridge):
    x, y = overlapping(10, n=60)
    gram = RBF(gamma).block(x, x)
    assert (_low_rank_factor(gram) is not None) == low_rank
    program = BoxQP(build(CSVC, gram, y, Precomputed(), C=2.0).dual_form(), gram, ridge)
    rough, status = program.interior(2.0)
    assert status == "optimal"
    assert program.violation(rough) < 1e-5
    assert program.scores(rough) == pytest.approx((gram + ridge * np.eye(60)) @ rough)
    polished = program.polished(rough)
    assert rough == pytest.approx(polished, abs=1e-5)
    if not low_rank:  # from two free variables, which needs bound ones set free
        pair = 0.5 * (np.arange(60) == np.argmax(y)) - 0.5 * (np.arange(60) == np.argmin(y))
        assert program.violation(program.polished(pair)) < 1e-9
    shaken = program.feasible(polished + 0.02 * np.random.default_rng(0).normal(size=60))
    assert program.violation(shaken) > 1e-3
    again = program.polished(shaken)
    assert program.violation(again) < 1e-10
    assert abs(again.sum()) < 1e-12


INSTALLED = [name for name in _SOLVERS if name.upper() in cvxpy.installed_solvers()]


@pytest.mark.parametrize("solver", [name for name in INSTALLED if name != "clarabel"])
@pytest.mark.parametrize(
    ("formulation", "values"),
    [(CSVC, {"C": 1.0}), (L2SVC, {"C": 10.0}), (ReducedHull, {"D": 0.1}), (OneClass, {"nu": 0.5})],
)
def test_the_installed_solvers_agree_on_the_optimum(formulation, values, solver):
    problem = build(formulation, *overlapping(3, n=60), **values)
    (alone, _), (other, found) = solved(problem), solved(problem, solver)
    assert abs(found.relative_gap) <= 1e-8
    assert other.dual_coef == pytest.approx(alone.dual_coef, abs=1e-6 * np.abs(alone.dual_coef).max())


@pytest.mark.parametrize("solver", INSTALLED)
def test_a_solver_is_near_the_optimum_before_the_polish(solver):
    x, y = overlapping(10, n=60)
    gram = RBF(0.5).block(x, x)
    program = BoxQP(build(CSVC, gram, y, Precomputed(), C=2.0).dual_form(), gram, 0.0, solver)
    rough, status = program.interior(2.0)
    assert status == "optimal"
    assert rough == pytest.approx(program.polished(rough), abs=1e-3)
    assert program.violation(program.polished(rough)) < 1e-10


@pytest.mark.parametrize("solver", [name for name in _SOLVERS if name not in INSTALLED])
def test_a_solver_that_is_not_installed_says_what_to_install(solver):
    refusal = QP(solver=solver).refusal(build(CSVC, *overlapping(1)))
    assert refusal == f"cvxpy finds no solver={solver}; pip install {_SOLVERS[solver][0]}, or take solver=clarabel."


def test_an_indefinite_matrix_is_refused():
    x, y = overlapping(11, n=30)
    with pytest.raises(PluginError, match=r"positive semi-definite kernel matrix .* scale the features"):
        QP().solve(build(CSVC, RBF(0.5).block(x, x) - 0.8 * np.eye(30), y, Precomputed(), C=1e6))
