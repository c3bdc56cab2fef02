"""Certificates against the formulas written out in loops and against an interior-point solver of the primal."""

import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from harness import (
    CSVC,
    L2SVC,
    RBF,
    CSVCNoBias,
    HardMargin,
    InvalidModel,
    KernelOracle,
    Linear,
    Precomputed,
    ReducedHull,
    UsageError,
)
from harness.kernels.oracle import uncounted
from harness.problems.hulls import _face_minimum, reduced_minimum

sys.path.insert(0, str(Path(__file__).parent))
from exact import nearest_points, svm_dual, svm_primal

FORMULATIONS = [CSVC, CSVCNoBias, L2SVC, HardMargin, ReducedHull]


def cloud(seed, n=40, d=2, shift=1.0):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.4, 1.0, -1.0)
    y[0], y[1] = 1.0, -1.0
    x = rng.normal(size=(n, d))
    x[:, 0] += shift * y
    return x, y


def matrix_of(problem):
    with uncounted(problem.kernel):
        return np.array(problem.kernel.block(np.arange(problem.n)))


def random_feasible(problem, rng):
    """A feasible model that is no optimum: some coefficients 0, some at the bound, the rest between."""
    y = problem.targets
    if isinstance(problem, CSVC):
        alpha = problem.upper * rng.choice([0.0, 0.3, 1.0, 0.7], size=problem.n)
        if problem.has_bias:
            total = {sign: alpha[y == sign].sum() for sign in (1.0, -1.0)}
            least = min(total.values())
            for sign, value in total.items():
                alpha[y == sign] *= least / value if value else 0.0
        return y * alpha
    weights = np.zeros(problem.n)
    for sign, cap in zip((1.0, -1.0), problem.caps, strict=True):
        members = np.flatnonzero(y == sign)
        order, left = rng.permutation(members), 1.0
        for i in order:
            weights[i] = min(cap, left, rng.uniform(0.1, 1.0) * cap if left > cap else left)
            left -= weights[i]
        for i in order:  # what is left goes where there is room
            extra = min(cap - weights[i], left)
            weights[i] += extra
            left -= extra
    return y * weights


# -- c-svc and c-svc-nobias ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("formulation", [CSVC, CSVCNoBias])
@pytest.mark.parametrize("class_weight", ["none", "balanced"])
def test_svc_figures_are_the_formulas_written_out(formulation, class_weight):
    x, y = cloud(1, n=15)
    problem = formulation.build(KernelOracle(RBF(0.7), x), y, {"C": 3.0, "class_weight": class_weight})
    coef = random_feasible(problem, np.random.default_rng(0))
    b = 0.3 if problem.has_bias else 0.0
    kernel, n = matrix_of(problem), problem.n
    f = [sum(coef[j] * kernel[i, j] for j in range(n)) for i in range(n)]
    squared = sum(coef[i] * coef[j] * kernel[i, j] for i in range(n) for j in range(n))
    primal = 0.5 * squared + sum(problem.upper[i] * max(0.0, 1.0 - y[i] * (f[i] + b)) for i in range(n))
    dual = sum(y[i] * coef[i] for i in range(n)) - 0.5 * squared
    low, high = np.minimum(0.0, problem.upper * y), np.maximum(0.0, problem.upper * y)
    g = [y[i] - f[i] for i in range(n)]
    rise, fall = [i for i in range(n) if coef[i] < high[i] - 1e-9], [i for i in range(n) if coef[i] > low[i] + 1e-9]
    if problem.has_bias:
        violation = max([0.0] + [g[i] - g[j] for i in rise for j in fall])
    else:
        violation = max([0.0] + [g[i] for i in rise] + [-g[j] for j in fall])
    found = problem.certify(coef, b)
    assert found.primal == pytest.approx(primal, rel=1e-12)
    assert found.dual == pytest.approx(dual, rel=1e-12)
    assert found.gap == pytest.approx(primal - dual, rel=1e-12)
    assert found.relative_gap == pytest.approx((primal - dual) / max(1.0, abs(primal)), rel=1e-12)
    assert found.kkt_violation == pytest.approx(violation, rel=1e-10)
    assert found.feasibility_violation < 1e-15


@pytest.mark.parametrize("formulation", [CSVC, CSVCNoBias])
@pytest.mark.parametrize("values", [{"C": 0.05}, {"C": 2.0}, {"C": 300.0}, {"C": 2.0, "class_weight": "balanced"}])
def test_svc_gap_closes_at_the_optimum_of_the_interior_point_solver(formulation, values):
    x, y = cloud(2)
    problem = formulation.build(KernelOracle(RBF(0.5), x), y, values)
    best, _, b = svm_primal(matrix_of(problem), y, problem.upper, has_bias=problem.has_bias)
    coef = svm_dual(matrix_of(problem), y, problem.upper, has_bias=problem.has_bias)
    problem.checked(coef, b)
    found = problem.certify(coef, b)
    assert found.dual == pytest.approx(best, rel=1e-6)
    assert found.primal == pytest.approx(best, rel=1e-6)
    assert abs(found.relative_gap) < 1e-6
    assert found.kkt_violation < 1e-4


@given(seed=st.integers(0, 10_000), b=st.floats(-3.0, 3.0), cost=st.sampled_from([0.1, 1.0, 50.0]))
@settings(max_examples=30)
def test_svc_primal_and_dual_bracket_the_optimum(seed, b, cost):
    x, y = cloud(3, n=12)
    for formulation in (CSVC, CSVCNoBias):
        problem = formulation.build(KernelOracle(RBF(1.0), x), y, {"C": cost})
        b = b if problem.has_bias else 0.0
        found = problem.certify(random_feasible(problem, np.random.default_rng(seed)), b)
        best = BEST.setdefault(
            (problem.name, cost), svm_primal(matrix_of(problem), y, problem.upper, has_bias=problem.has_bias)[0]
        )
        slack = 1e-7 * max(1.0, best)
        assert found.dual - slack <= best <= found.primal + slack
        assert found.gap >= -1e-12


BEST: dict[tuple[str, float], float] = {}


def test_no_bias_gap_of_the_third_paper():
    # LASVM-G's G = sum(-coef_i g_i + C max(0, y_i g_i)), with its signs corrected
    x, y = cloud(4)
    problem = CSVCNoBias.build(KernelOracle(RBF(0.5), x), y, {"C": 5.0})
    coef = random_feasible(problem, np.random.default_rng(2))
    g = y - matrix_of(problem) @ coef
    assert problem.certify(coef, 0.0).gap == pytest.approx(np.sum(-coef * g + 5.0 * np.maximum(0.0, y * g)), rel=1e-12)


def test_balanced_class_weights_cost_both_classes_the_same():
    x, y = cloud(5, n=30)
    problem = CSVC.build(KernelOracle(Linear(), x), y, {"C": 2.0, "class_weight": "balanced"})
    for sign in (-1.0, 1.0):
        members = y == sign
        assert problem.upper[members] == pytest.approx(2.0 * 30 / (2 * members.sum()))
        assert problem.upper[members].sum() == pytest.approx(2.0 * 30 / 2)
    assert problem.C == 2.0


# -- hulls -----------------------------------------------------------------------------------------------------------


def hull_problem(formulation, x, y, kernel=None, **values):
    return formulation.build(KernelOracle(kernel or RBF(0.5), x), y, values)


@pytest.mark.parametrize(
    ("formulation", "values", "cap"),
    [
        (HardMargin, {}, 1.0),
        (L2SVC, {"chi": 4.0}, 1.0),
        (ReducedHull, {"D": 0.15}, 0.15),
        (ReducedHull, {"D": 1.0}, 1.0),
    ],
)
def test_hull_bounds_bracket_the_margin_and_meet_at_the_optimum(formulation, values, cap):
    x, y = cloud(6)
    problem = hull_problem(formulation, x, y, **values)
    best, coef = nearest_points(matrix_of(problem), y, cap)
    margin = np.sqrt(2.0 * best)
    for seed in range(20):
        found = problem.certify(random_feasible(problem, np.random.default_rng(seed)), 0.0)
        assert found.margin_lower - 1e-7 <= margin <= found.margin_upper + 1e-7
        assert found.feasibility_violation < 1e-12
    problem.checked(coef, 0.0)
    found = problem.certify(coef, 0.0)
    assert found.dual == pytest.approx(best, rel=1e-6)
    assert found.margin_upper == pytest.approx(margin, rel=1e-6)
    assert found.relative_gap == pytest.approx(0.0, abs=1e-5)
    assert found.epsilon == pytest.approx(0.0, abs=1e-5)


def test_hull_figures_of_three_points_by_hand():
    # conv{(0,0),(0,2)} and {(3,0)}: w = (-3, 1) at the middle of the edge, the optimum is w = (-3, 0)
    x, y = np.array([[0.0, 0.0], [0.0, 2.0], [3.0, 0.0]]), np.array([1.0, 1.0, -1.0])
    problem = hull_problem(HardMargin, x, y, Linear())
    found = problem.certify([0.5, 0.5, -1.0], 0.0)
    # <w, p> = 0 and 2, <w, q> = -9, |w|^2 = 10
    assert found.dual == pytest.approx(5.0)
    assert found.margin_lower == pytest.approx(9.0 / np.sqrt(10.0))
    assert found.margin_upper == pytest.approx(np.sqrt(10.0))
    assert found.epsilon == pytest.approx(1.0 - 9.0 / 10.0)
    assert found.epsilon_minus == pytest.approx(11.0 / 10.0 - 1.0)
    assert found.kkt_violation == pytest.approx(2.0)
    assert found.relative_gap == pytest.approx(1.0 - 0.9**2)
    assert problem.certify([1.0, 0.0, -1.0], 0.0).relative_gap == pytest.approx(0.0, abs=1e-15)


def test_intersecting_hulls_are_optimal_at_w_zero_up_to_rounding():
    x, y = np.array([[0.1], [0.7], [0.3], [0.4]]), np.array([1.0, 1.0, -1.0, -1.0])
    problem = hull_problem(HardMargin, x, y, Linear())
    share = 0.5  # 0.1 u + 0.7 (1 - u) = 0.4 and the second negative
    found = problem.certify([share, 1.0 - share, 0.0, -1.0], 0.0)
    assert found.touching
    assert (found.primal, found.margin_lower) == (0.0, 0.0)
    assert (found.dual, found.gap, found.relative_gap) == pytest.approx((0.0, 0.0, 0.0), abs=1e-30)
    assert 0.0 < found.margin_upper < 1e-16, "0.1 + 0.7 is not 0.8 in float64"
    assert problem.certify([0.5 + 1e-3, 0.5 - 1e-3, 0.0, -1.0], 0.0).relative_gap == pytest.approx(1.0)


@pytest.mark.parametrize("chi", [0.5, 10.0])
def test_l2_svc_is_the_squared_hinge_svm_up_to_scale(chi):
    x, y = cloud(7)
    problem = hull_problem(L2SVC, x, y, chi=chi)
    assert problem.kernel.ridge == 1.0 / chi
    best, coef = nearest_points(matrix_of(problem), y)
    plain = matrix_of(problem) - np.eye(problem.n) / chi
    value, scores, b = svm_primal(plain, y, np.full(problem.n, chi), has_bias=True, squared=True)
    # the canonical hyperplane of the hulls: w_c = 2 w / |w|^2, so that P = 1/2 |w_c|^2 = 2 / |w|^2
    squared = 2.0 * best
    assert value == pytest.approx(2.0 / squared, rel=1e-6)
    near = matrix_of(problem) @ coef
    intercept = -0.5 * (near[y > 0].min() + near[y < 0].max())
    assert 2.0 / squared * (plain @ coef) == pytest.approx(scores, abs=1e-5)
    assert 2.0 / squared * intercept == pytest.approx(b, abs=1e-5)


def test_l2_svc_takes_chi_from_c_and_adds_its_ridge_once():
    x, y = cloud(8, n=6)
    problem = hull_problem(L2SVC, x, y, C=4.0)
    assert (problem.chi, problem.kernel.ridge) == (4.0, 0.25)
    assert problem.restrict([0, 1, 2]).kernel.ridge == 0.25
    assert L2SVC(problem.kernel, y, problem.settings).kernel is problem.kernel


# values on a grid: the linear programme's solver rounds at 1e-9
values = st.lists(st.integers(-1000, 1000).map(lambda v: v / 50.0), min_size=1, max_size=9)


@given(values=values, share=st.floats(0.0, 1.0), whole=st.booleans())
@settings(max_examples=150)
def test_support_function_of_a_reduced_hull_is_the_linear_programme(values, share, whole):
    values, n = np.array(values), len(values)
    least = 1.0 / n
    cap = 1.0 / max(1, round(n * share)) if whole else least + share * (1.0 - least)
    found = linprog(values, A_eq=np.ones((1, n)), b_eq=[1.0], bounds=(0.0, cap * (1.0 + 1e-12)))
    assert found.status == 0
    assert reduced_minimum(values, cap) == pytest.approx(found.fun, abs=1e-7)


@given(seed=st.integers(0, 10_000), n=st.integers(2, 9))
@settings(max_examples=60)
def test_away_side_is_the_linear_programme_over_the_face(seed, n):
    rng = np.random.default_rng(seed)
    cap = float(rng.uniform(1.0 / n, 1.0))
    weights, left = np.zeros(n), 1.0
    for i in rng.permutation(n):
        weights[i] = min(cap, left)
        left -= weights[i]
    free = rng.permutation(np.flatnonzero(weights < cap))  # spread the fractional one over two points
    if len(free) > 1:
        weights[free[:2]] = weights[free].sum() / 2.0
        weights[free[2:]] = 0.0
    values = rng.normal(size=n)
    bounds = [(cap, cap) if w >= cap * (1 - 1e-9) else (0.0, cap) if w > 0.0 else (0.0, 0.0) for w in weights]
    found = linprog(values, A_eq=np.ones((1, n)), b_eq=[1.0], bounds=bounds)
    assert found.status == 0
    assert _face_minimum(values, weights, cap) == pytest.approx(found.fun, abs=1e-7)


def test_reduced_hull_caps():
    x, y = cloud(9, n=20)
    smaller = (y > 0).sum()
    assert smaller < (y < 0).sum()
    assert hull_problem(ReducedHull, x, y).cap == pytest.approx(max(4.0 / 20, 1.0 / smaller))
    assert hull_problem(ReducedHull, x, y, D=1.0 / smaller).caps == (1.0 / smaller, 1.0 / smaller)
    with pytest.raises(UsageError, match=rf"hull of the {smaller} positives empty; D must be at least"):
        hull_problem(ReducedHull, x, y, D=0.9 / smaller)


# -- what every formulation has in common ----------------------------------------------------------------------------


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_infeasible_models_are_refused_in_words(formulation):
    x, y = cloud(10, n=10)
    problem = hull_problem(formulation, x, y, C=2.0)
    coef = random_feasible(problem, np.random.default_rng(1))
    kept, offset = problem.checked(coef.astype(object), 0)
    assert kept.dtype == np.float64
    assert kept == pytest.approx(coef)
    assert offset == 0.0
    wrong = coef.copy()
    wrong[3] = np.nan
    with pytest.raises(InvalidModel, match=r"dual_coef\[3\] is nan"):
        problem.checked(wrong, 0.0)
    wrong[3] = np.inf
    with pytest.raises(InvalidModel, match=r"dual_coef\[3\] is inf"):
        problem.checked(wrong, 0.0)
    with pytest.raises(InvalidModel, match="the intercept is nan; it must be finite"):
        problem.checked(coef, np.nan)
    with pytest.raises(InvalidModel, match=rf"shape \(9,\); {formulation.name} over 10 points needs \(10,\)"):
        problem.checked(coef[:9], 0.0)
    with pytest.raises(InvalidModel, match=r"shape \(1, 10\)"):
        problem.checked(coef[None, :], 0.0)
    with pytest.raises(InvalidModel, match="must be real numbers, got list and str"):
        problem.checked(list(coef), "much")
    negative = coef.copy()
    negative[0] -= 0.5 * y[0] * (abs(coef[0]) + 1.0) * 2.0
    with pytest.raises(InvalidModel, match=f"violates the constraints of {formulation.name}"):
        problem.checked(negative, 0.0)


def test_each_constraint_has_its_own_violation():
    x, y = cloud(11, n=10)
    svc = hull_problem(CSVC, x, y, C=2.0)
    i, j = int(np.flatnonzero(y > 0)[0]), int(np.flatnonzero(y < 0)[0])
    coef = np.zeros(10)
    coef[i], coef[j] = 3.0, -2.0
    assert svc.feasibility_violation(coef) == pytest.approx(0.5)  # 1 above C = 2
    coef[i] = 2.0
    assert svc.feasibility_violation(coef) == 0.0
    coef[i] = 1.0  # the sum is -1 of sum |coef| = 3
    assert svc.feasibility_violation(coef) == pytest.approx(1.0 / 3.0)
    assert hull_problem(CSVCNoBias, x, y, C=2.0).feasibility_violation(coef) == 0.0
    with pytest.raises(InvalidModel, match=r"c-svc-nobias has none: it must be 0"):
        hull_problem(CSVCNoBias, x, y, C=2.0).checked(coef, 0.1)
    hull = hull_problem(ReducedHull, x, y, D=0.5)
    weights = np.zeros(10)
    weights[i], weights[j] = 1.0, -1.0
    assert hull.feasibility_violation(weights) == pytest.approx(0.5)  # above the cap
    assert hull_problem(HardMargin, x, y).feasibility_violation(weights) == 0.0
    assert hull_problem(HardMargin, x, y).feasibility_violation(0.75 * weights) == pytest.approx(0.25)


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("storage", ["dense", "sparse", "precomputed"])
def test_a_restricted_problem_is_the_one_built_from_its_points(formulation, storage):
    x, y = cloud(12, n=16)
    part = np.array([0, 1, 4, 5, 6, 9, 12, 15])
    values = {"C": 3.0, "D": 0.6}
    gram = RBF(0.5).block(x, x)
    data = {"dense": x, "sparse": scipy.sparse.csr_array(x), "precomputed": gram}[storage]
    own = {"dense": x[part], "sparse": scipy.sparse.csr_array(x[part]), "precomputed": gram[np.ix_(part, part)]}[
        storage
    ]
    kernel = Precomputed() if storage == "precomputed" else RBF(0.5)
    whole = formulation.build(KernelOracle(kernel, data), y, values)
    restricted = whole.restrict(part)
    scratch = formulation.build(KernelOracle(kernel, own), y[part], values)
    coef = random_feasible(scratch, np.random.default_rng(3))
    with uncounted(restricted.kernel):
        found = restricted.certify(coef, 0.0).as_dict()
    expected = scratch.certify(coef, 0.0).as_dict()
    assert found.pop("undecidable") == expected.pop("undecidable") == ""
    assert found == {
        name: pytest.approx(value, rel=1e-12, abs=1e-14) for name, value in expected.items() if value is not None
    } | {name: None for name, value in expected.items() if value is None}
    assert whole.kernel.counter.evaluations == 0, "the host's certificates are not counted"
    restricted.kernel.row(2)
    assert whole.kernel.counter.evaluations == len(part)
    assert restricted.kernel.counter is whole.kernel.counter


def test_restricting_keeps_the_costs_of_the_whole_problem():
    x, y = cloud(13, n=20)
    whole = hull_problem(CSVC, x, y, C=2.0, class_weight="balanced")
    part = np.flatnonzero(y > 0)[:2].tolist() + np.flatnonzero(y < 0)[:6].tolist()
    assert whole.restrict(part).upper.tolist() == whole.upper[part].tolist()


def test_a_certificate_of_one_class_only_says_nothing_it_cannot_know():
    x, y = cloud(14, n=8)
    assert hull_problem(HardMargin, x, y).certify(np.zeros(8), 0.0).gap is None
    alone = CSVC.build(KernelOracle(RBF(1.0), x), np.ones(8), {"C": 1.0})
    found = alone.certify(np.zeros(8), 1.0)
    assert (found.primal, found.dual, found.kkt_violation) == (0.0, 0.0, 0.0)
