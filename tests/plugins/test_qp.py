"""The reference solver: certificates of every formulation, its backends, its pieces, degenerate problems."""

import subprocess
import sys

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse
from harness_qp import QP
from harness_qp.convex import BoxQP, _low_rank_factor
from hypothesis import given, settings
from hypothesis import strategies as st

from harness import (
    CSVC,
    L2SVC,
    RBF,
    CSVCNoBias,
    DualForm,
    EpsSVR,
    HardMargin,
    KernelOracle,
    Linear,
    OneClass,
    Poly,
    PolytopeDistance,
    Precomputed,
    ReducedHull,
    UsageError,
    get_solver,
)
from tests.plugins.points import cancer, digits, overlapping

FORMULATIONS = [
    (CSVC, {"C": 0.1}),
    (CSVC, {"C": 1000.0}),
    (CSVC, {"C": 5.0, "class_weight": "balanced"}),
    (CSVCNoBias, {"C": 10.0}),
    (L2SVC, {"C": 1.0}),
    (L2SVC, {"C": 1000.0}),
    (HardMargin, {}),
    (ReducedHull, {}),
    (ReducedHull, {"D": 0.05}),
    (EpsSVR, {"C": 1.0}),
    (EpsSVR, {"C": 100.0, "epsilon": 0.0}),
    (OneClass, {"nu": 0.5}),
    (OneClass, {"nu": 0.05}),
    (PolytopeDistance, {}),
]


def build(formulation, x, y, kernel=None, **values):
    return formulation.build(KernelOracle(kernel or RBF(0.5), x), y, values)


def certified(problem, solution):
    problem.checked(solution.dual_coef, solution.intercept, tolerance=1e-12)
    return problem.certify(solution.dual_coef, solution.intercept)


@pytest.mark.parametrize("kernel", [RBF(0.03), Linear(), Poly(2, 0.1, 1.0)], ids=lambda kernel: kernel.name)
@pytest.mark.parametrize("data", [cancer, digits])
@pytest.mark.parametrize(("formulation", "values"), FORMULATIONS)
def test_the_certificate_closes(formulation, values, data, kernel):
    x, y = (part[::2] for part in data())
    if formulation is EpsSVR:
        y = x[:, 0] * y + np.sin(x[:, 1])  # real targets
    if formulation is OneClass:
        x = x + 1.0  # around the origin half of the points have w = 0, and no certificate closes
    problem = build(formulation, x, y, kernel, **values)
    found = certified(problem, QP().solve(problem))
    assert abs(found.relative_gap) <= 1e-7
    assert found.feasibility_violation <= 1e-14


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("formulation", "values"), FORMULATIONS)
def test_the_certificate_closes_on_overlapping_classes(formulation, values, seed):
    x, y = overlapping(seed, n=80)
    if formulation is EpsSVR:
        y = np.sin(2.0 * x[:, 0]) + 0.3 * x[:, 1]
    problem = build(formulation, x, y, **values)
    # the hulls of overlapping points are 1e-5 apart and less, which float64 knows to a few digits
    allowed = 1e-4 if formulation in (HardMargin, ReducedHull) else 1e-8
    assert abs(certified(problem, QP().solve(problem)).relative_gap) <= allowed


@pytest.mark.parametrize("backend", ["OSQP", "SCS"])
@pytest.mark.parametrize("formulation", [CSVC, L2SVC])
def test_other_backends_reach_the_same_optimum(backend, formulation):
    if backend not in cp.installed_solvers():
        pytest.skip(f"cvxpy has no {backend} here")
    x, y = overlapping(2, n=50)
    best = certified(build(formulation, x, y), QP().solve(build(formulation, x, y)))
    problem = build(formulation, x, y)
    found = certified(problem, QP(backend=backend.lower()).solve(problem))
    assert found.dual == pytest.approx(best.dual, rel=1e-6)
    assert abs(found.relative_gap) < 1e-6


def test_an_unknown_backend_is_refused_with_those_there_are():
    with pytest.raises(UsageError, match=r"'MOSAIC' is no installed cvxpy backend .* CLARABEL.* are\."):
        QP(backend="mosaic")


def test_large_problems_are_skipped_in_words():
    x, y = overlapping(3, n=40)
    assert QP().skip(build(CSVC, x, y)) is None
    reason = QP(max_points=39).skip(build(CSVC, x, y))
    assert "the whole kernel matrix" in reason
    assert "MB for 40 points; it takes at most max_points=39." in reason


def test_the_kernel_matrix_is_counted_once():
    x, y = overlapping(4, n=40)
    problem = build(CSVC, x, y)
    steps = list(QP().iterates(problem, np.random.default_rng(0)))
    assert problem.kernel.counter.evaluations == 40 * 40
    assert [step.done for step in steps] == [True]


@pytest.mark.parametrize(("formulation", "values"), [(HardMargin, {}), (ReducedHull, {"D": 0.5})])
def test_intersecting_hulls_end_at_w_zero(formulation, values):
    x, y = overlapping(5, n=60)
    problem = build(formulation, x, y, Linear(), **values)
    solution = QP().solve(problem)
    found = certified(problem, solution)
    assert solution.info["status"] == "hulls intersect"
    assert found.dual == pytest.approx(0.0, abs=1e-20)
    assert found.touching
    assert found.meets(1e-20)


def test_near_hulls_are_told_from_intersecting_ones():
    # the optimum 1/2 |w|^2 = 5e-11 is below the backend's absolute tolerance
    x, y = np.array([[0.0, 0.0], [0.0, 1.0], [1e-5, 0.0], [1e-5, 1.0]]), np.array([1.0, 1.0, -1.0, -1.0])
    problem = build(HardMargin, x, y, Linear())
    solution = QP().solve(problem)
    assert certified(problem, solution).dual == pytest.approx(0.5e-10, rel=1e-5)
    assert solution.info["status"] != "hulls intersect"


def test_hulls_far_nearer_than_their_points_are_still_certified():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(300, 2)), np.where(rng.random(300) < 0.5, 1.0, -1.0)
    problem = build(ReducedHull, x, y, RBF(1.0))
    found = certified(problem, QP().solve(problem))
    assert 0.0 < found.dual < 1e-8
    assert found.relative_gap < 1e-5


def test_intercepts_by_hand():
    x, y = np.array([[0.0], [1.0], [4.0], [7.0]]), np.array([-1.0, -1.0, 1.0, 1.0])
    svc = QP().solve(build(CSVC, x, y, Linear(), C=10.0))
    # between 1 and 4: f = (x - 2.5) / 1.5
    assert svc.intercept == pytest.approx(-2.5 / 1.5)
    assert svc.dual_coef == pytest.approx([0.0, -2.0 / 9.0, 2.0 / 9.0, 0.0], abs=1e-12)
    hard = QP().solve(build(HardMargin, x, y, Linear()))
    assert hard.dual_coef == pytest.approx([0.0, -1.0, 1.0, 0.0], abs=1e-12)
    assert hard.intercept == pytest.approx(-3.0 * 2.5)
    # D = 0.8: the nearest points are 0.8 * 1 + 0.2 * 0 and 0.8 * 4 + 0.2 * 7, w their difference 3.8
    reduced = QP().solve(build(ReducedHull, x, y, Linear(), D=0.8))
    assert reduced.dual_coef == pytest.approx([-0.2, -0.8, 0.8, 0.2])
    # the free weights sit at 0 and at 7
    assert reduced.intercept == pytest.approx(-3.8 * 3.5)


@pytest.mark.parametrize("formulation", [CSVC, CSVCNoBias, L2SVC, HardMargin, ReducedHull])
@pytest.mark.parametrize("storage", ["csr", "float32", "precomputed"])
def test_storage_does_not_change_the_optimum(formulation, storage):
    x, y = overlapping(6, n=50)
    x[:, 0] += 3.0 * y
    data = {"csr": scipy.sparse.csr_array(x), "float32": x.astype(np.float32), "precomputed": RBF(0.5).block(x, x)}
    expected = certified(build(formulation, x, y), QP().solve(build(formulation, x, y)))
    problem = build(formulation, data[storage], y, Precomputed() if storage == "precomputed" else None)
    found = certified(problem, QP().solve(problem))
    assert found.dual == pytest.approx(expected.dual, rel=1e-5)
    assert abs(found.relative_gap) < 1e-7


@pytest.mark.parametrize("formulation", [CSVC, CSVCNoBias, L2SVC, HardMargin, ReducedHull])
def test_two_points_and_duplicates(formulation):
    pair = build(formulation, np.array([[0.0], [1.0]]), np.array([1.0, -1.0]), C=3.0)
    assert abs(certified(pair, QP().solve(pair)).relative_gap) < 1e-9
    x, y = np.repeat([[0.0, 1.0], [2.0, 0.0], [1.0, 1.0]], 4, axis=0), np.tile([1.0, -1.0], 6)
    doubled = build(formulation, x, y, C=3.0)
    found = certified(doubled, QP().solve(doubled))
    if issubclass(formulation, HardMargin) and formulation is not L2SVC:
        assert "not decidable" in found.undecidable, (
            "all points are in both hulls, which an RBF kernel's rounding hides"
        )
    else:
        assert abs(found.relative_gap) < 1e-9


@pytest.mark.parametrize("formulation", [CSVC, CSVCNoBias, L2SVC])
def test_one_point_of_a_class(formulation):
    x, y = overlapping(7, n=40)
    y[:] = -1.0
    y[11] = 1.0
    problem = build(formulation, x, y, C=10.0)
    assert abs(certified(problem, QP().solve(problem)).relative_gap) < 1e-8


def test_one_class_only_has_its_label_for_intercept():
    x, _ = overlapping(8, n=10)
    solution = QP().solve(build(CSVC, x, np.ones(10)))
    assert (np.abs(solution.dual_coef).max(), solution.intercept) == (0.0, 1.0)


@given(seed=st.integers(0, 10_000), n=st.integers(3, 15), cost=st.sampled_from([0.3, 20.0]))
@settings(max_examples=25)
def test_scaling_the_kernel_and_the_cost_scales_the_objective(seed, n, cost):
    x, y = overlapping(seed, n)
    gram = RBF(0.5).block(x, x)
    one = build(CSVC, gram, y, Precomputed(), C=cost)
    other = build(CSVC, 4.0 * gram, y, Precomputed(), C=cost / 4.0)
    dual = certified(one, QP().solve(one)).dual
    assert 4.0 * certified(other, QP().solve(other)).dual == pytest.approx(dual, rel=1e-8, abs=1e-10)


@pytest.mark.parametrize(("gamma", "low_rank"), [(0.001, True), (50.0, False)])
@pytest.mark.parametrize("ridge", [0.0, 0.3])
def test_the_interior_point_alone_is_near_the_optimum(gamma, low_rank, ridge):
    x, y = overlapping(10, n=60)
    gram = RBF(gamma).block(x, x)
    assert (_low_rank_factor(gram) is not None) == low_rank
    program = BoxQP(build(CSVC, gram, y, Precomputed(), C=2.0).dual_form(), gram, ridge)
    rough, status = program.interior("CLARABEL", 2.0)
    assert status == "optimal"
    assert rough == pytest.approx(program.polished(program.feasible(rough)), abs=1e-5)
    assert program.scores(rough) == pytest.approx((gram + ridge * np.eye(60)) @ rough)
    assert program.violation(program.feasible(rough)) < 1e-5


def test_a_backend_that_fails_says_so():
    x, y = overlapping(11, n=30)
    indefinite = RBF(0.5).block(x, x) - 0.8 * np.eye(30)
    with pytest.raises(ArithmeticError, match="the backend CLARABEL"):
        QP().solve(build(CSVC, indefinite, y, Precomputed(), C=1e6))


def test_polish_repairs_a_rough_start():
    x, y = overlapping(9, n=60)
    problem = build(CSVC, x, y, C=2.0)
    gram = np.array(problem.kernel.block(np.arange(60)))
    program = BoxQP(problem.dual_form(), gram, 0.0)
    rough = program.feasible(QP().solve(problem).dual_coef + 0.02 * np.random.default_rng(0).normal(size=60))
    assert program.violation(rough) > 1e-2
    polished = program.polished(rough)
    assert program.violation(polished) < 1e-10
    assert problem.feasibility_violation(polished) < 1e-15


def test_feasible_meets_bounds_and_totals_without_new_support():
    form = DualForm(
        linear=np.zeros(4),
        lower=np.zeros(4),
        upper=np.ones(4),
        start=np.eye(4)[0],
        copies=1,
        groups=1,
        group=np.zeros(4, dtype=np.int8),
    )
    program = BoxQP(form, np.eye(4), 0.0)
    x = program.feasible(np.array([1e-9, 0.5, 0.50001, -1e-9]))
    assert x[[0, 3]].tolist() == [0.0, 0.0]
    assert x.sum() == pytest.approx(1.0, abs=1e-15)
    full = program.feasible(np.array([1.0 - 1e-9, 1e-9, 0.0, 0.0]))
    assert full.tolist() == [1.0, 0.0, 0.0, 0.0]


def test_importing_the_plugin_loads_no_solver():
    code = "import sys, harness_qp; assert not {'cvxpy', 'clarabel', 'scipy'} & set(sys.modules), 'too heavy'"
    subprocess.run([sys.executable, "-c", code], check=True)
    assert get_solver("qp").backend == "CLARABEL"
