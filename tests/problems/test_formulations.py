"""Every formulation with a dual form: its optimum is certified, its feasible set kept, a part of it is stated alone."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
from harness_robust.ramp import RampSVC
from harness_sampling.tube_svr import TubeSVR
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from harness import CSVC, RBF, CSVCNoBias, KernelOracle, Linear, Poly, Precomputed, Problem, drive, get_solver
from harness.kernels.engine import Engine
from harness.problems import L2SVC, EpsSVR, HardMargin, NuSVC, OneClass, PolytopeDistance, ReducedHull
from harness.problems.cases import Case, overlapping, separable
from harness.registry.discovery import load_registry
from harness.solver.protocol import formulation_names
from harness.support.errors import InvalidModel
from tests.golden import assert_golden
from tests.kernels.oracles import own
from tests.plugins.common import build, matrix_of
from tests.plugins.naive_core_set import exact_weights
from tests.problems.exact import box_dual

VALUES = [
    (CSVC, {"C": 2.0}), (CSVC, {"C": 2.0, "class_weight": "balanced"}), (CSVCNoBias, {"C": 2.0}), (HardMargin, {}),
    (L2SVC, {"chi": 3.0}), (ReducedHull, {"D": 0.3, "D_minus": 0.2}), (ReducedHull, {"D": 1.0}),
    (EpsSVR, {"C": 2.0, "epsilon": 0.2}), (EpsSVR, {"C": 0.3, "epsilon": 0.0}), (NuSVC, {"nu": 0.4}),
    (OneClass, {"nu": 0.3}), (OneClass, {"nu": 0.01}), (OneClass, {"nu": 1.0}), (PolytopeDistance, {}),
    (TubeSVR, {"epsilon": 1.0, "D": 0.2}),
]  # fmt: skip
EACH = pytest.mark.parametrize(("formulation", "values"), VALUES, ids=lambda each: getattr(each, "name", str(each)))
REGRESSIONS = EpsSVR, TubeSVR
MARGINS = HardMargin, PolytopeDistance, TubeSVR  # their certificate's kkt_violation is that of hulls


def stated(formulation, values, seed=0, n=24, kernel=None):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.4, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    x = rng.normal(size=(n, 2)) + 0.7 * y[:, None]
    targets = np.sin(2.0 * x[:, 0]) + 0.1 * rng.normal(size=n) if formulation in REGRESSIONS else y
    return build(formulation, x, targets, kernel, **values)


def written_out(form, a, gradient):
    """The largest g_u - g_v, u that may rise and v that may fall, both of one group; without groups against 0."""
    rise = [v for v in range(len(a)) if a[v] < form.upper[v] - 1e-9]
    fall = [v for v in range(len(a)) if a[v] > form.lower[v] + 1e-9]
    if form.groups == 0:
        return max([0.0, *(gradient[u] for u in rise), *(-gradient[v] for v in fall)])
    pairs = [gradient[u] - gradient[v] for u in rise for v in fall if form.group[u] == form.group[v]]
    return max([0.0, *pairs])


@EACH
def test_the_optimum_of_its_dual_is_certified_and_no_model_is_beyond_it(formulation, values):
    problem = stated(formulation, values)
    form, kernel = problem.dual_form(), matrix_of(problem)
    a = box_dual(kernel, form)
    coef = form.coef(a)
    ends = form.ends(a, form.gradient(kernel @ coef))
    intercept = form.intercept(form.levels(ends))
    assert form.violation(ends) < 1e-6
    best = problem.certify(*problem.checked(coef, intercept))
    assert abs(best.relative_gap) < 1e-4  # the hulls are 0.02 apart, near the absolute tolerance of the backend
    assert best.gap_rounding < 1e-8
    again = form.variables(coef)
    assert form.coef(again) == pytest.approx(coef, abs=1e-12)
    assert np.flatnonzero(form.coef(again)).tolist() == np.flatnonzero(coef).tolist()
    rng = np.random.default_rng(1)
    for _ in range(5):
        size = np.maximum(form.upper, -form.lower)[: problem.n] * rng.choice([0.0, 0.3, -0.5, 1.0, -1.0], problem.n)
        model = form.variables(size)
        other = problem.certify(form.coef(model), intercept)
        low, high = sorted((other.primal, other.dual))
        assert low - 1e-6 <= best.dual <= high + 1e-6
        if formulation is not TubeSVR:  # what u and v share is no part of its models
            gradient = form.gradient(kernel @ form.coef(model))
            expected = written_out(form, form.split(form.coef(model)), gradient)
            assert problem.kkt_violation(form.coef(model), kernel @ form.coef(model)) == pytest.approx(expected)
            if not issubclass(formulation, MARGINS):
                assert other.kkt_violation == pytest.approx(expected, rel=1e-9)


@EACH
def test_its_parts_fit_together(formulation, values):
    problem = stated(formulation, values)
    form = problem.dual_form()
    variables = problem.n * form.copies
    for part in (form.linear, form.lower, form.upper, form.start):
        assert (part.shape, part.dtype) == ((variables,), np.float64)
        assert part.flags.carray, "compiled loops see one type of array"
    assert (form.group.shape, form.group.dtype) == ((variables,), np.int8)
    assert (form.lower <= 0.0).all()
    assert (form.upper >= 0.0).all()
    assert problem.feasibility_violation(form.coef(form.start)) < 1e-14
    scores = np.arange(problem.n, dtype=float)
    assert form.scores(form.gradient(scores)) == pytest.approx(scores)


@EACH
@given(seed=st.integers(0, 10_000), scale=st.sampled_from([1e-6, 1.0, 30.0]), share=st.sampled_from([0.1, 0.6, 1.0]))
@settings(max_examples=15, deadline=None)
def test_any_coefficients_become_feasible_variables(formulation, values, seed, scale, share):
    problem, rng = stated(formulation, values), np.random.default_rng(seed)
    form = problem.dual_form()
    a = form.variables(scale * rng.normal(size=problem.n) * (rng.random(problem.n) < share))
    assert ((a >= form.lower) & (a <= form.upper)).all()
    for k in range(form.groups):
        member = form.group == k
        assert a[member].sum() == pytest.approx(form.start[member].sum(), abs=1e-12 * max(1.0, np.abs(a).sum()))


BOXES = [
    *(stated(*each) for each in VALUES if each[0] in (CSVC, CSVCNoBias, EpsSVR)),
    stated(RampSVC, {"C": 2.0, "s": -0.5}).subproblem(np.arange(24) < 5),
]


@pytest.mark.parametrize("problem", BOXES, ids=lambda each: each.name)
@settings(max_examples=20)
@given(seed=st.integers(0, 2**32 - 1), intercept=st.floats(-2.0, 2.0), scale=st.floats(1e-3, 10.0))
def test_a_form_that_starts_at_zero_tells_the_gap_of_its_certificate(problem, seed, intercept, scale):
    form, intercept = problem.dual_form(), intercept if problem.has_bias else 0.0
    coef = form.coef(form.variables(scale * np.random.default_rng(seed).normal(size=problem.n)))
    scores = problem.kernel.expand(coef)
    found = problem.certificate(coef, intercept, scores).relative_gap
    assert form.relative_gap(form.split(coef), scores, intercept) == pytest.approx(found, rel=1e-9, abs=1e-12)


@EACH
def test_what_is_no_model_is_refused(formulation, values):
    problem = stated(formulation, values, seed=1, n=10)
    form = problem.dual_form()
    coef = form.coef(form.start)
    copy, offset = problem.checked(coef.astype(object), 0)
    assert (copy.dtype, offset) == (np.float64, 0.0)
    assert copy == pytest.approx(coef)
    wrong = [(np.where(np.arange(10) == 3, value, coef), 0.0) for value in (np.nan, np.inf)]
    wrong += [(coef, np.nan), (coef[:9], 0.0), (coef[None, :], 0.0), (list(coef), "much"), (coef + 5.0, 0.0)]
    for model, intercept in [*wrong, (coef - 1e-3, 0.0)]:
        with pytest.raises(InvalidModel):
            problem.checked(model, intercept)


def test_the_sentences_of_models_and_parameters_that_cannot_be():
    """The constraint that is violated most is named; parameters that leave nothing are refused."""
    models = [
        (CSVC, {"C": 2.0}, [1.0, 1.0]), (CSVC, {"C": 2.0}, [1.0, -0.5]), (CSVC, {"C": 2.0}, [3.0, -2.0, 0.0, -1.0]),
        (HardMargin, {}, [1.0, -0.75]), (EpsSVR, {"C": 2.0}, [1.0, -0.5]), (CSVC, {}, [np.nan]), (CSVC, {}, [0.0, np.inf]),
    ]  # fmt: skip
    calls = {
        f"{formulation.name}{values} {coef}": partial(
            stated(formulation, values, n=10).checked, np.pad(coef, (0, 10 - len(coef))), 0.0
        )
        for formulation, values, coef in models
    }
    problem, parameters = (
        stated(CSVC, {}, n=10),
        [(OneClass, {"nu": 1.5}), (NuSVC, {"nu": 0.9}), (ReducedHull, {"D": 0.05})],
    )
    for name, model in (("nine", np.zeros(9)), ("a row", np.zeros((1, 10))), ("text", "much")):
        calls[f"c-svc {name}"] = partial(problem.checked, model, 0.0)
    calls["c-svc intercept"] = partial(problem.checked, np.zeros(10), np.nan)
    for formulation, values in [*parameters, (ReducedHull, {"D": 0.5, "D_minus": 0.03})]:
        calls[f"{formulation.name}{values}"] = partial(stated, formulation, values)
    assert_golden(Path(__file__).with_name("refusals.txt"), calls)


@pytest.mark.parametrize(
    ("formulation", "values", "coef", "violation"),
    [
        (CSVC, {"C": 2.0}, [3.0, -2.0], 0.5),  # 1 above C
        (CSVC, {"C": 2.0}, [1.0, -2.0], 1.0 / 3.0),  # the sum is -1 of sum |coef| = 3
        (CSVCNoBias, {"C": 2.0}, [1.0, -2.0], 0.0),
        (HardMargin, {}, [1.0, -0.75], 0.25),
        (ReducedHull, {"D": 0.5}, [1.0, -1.0], 0.5),  # above the cap
        (ReducedHull, {"D": 1.0, "D_minus": 0.5}, [1.0, -0.5, 0.0, -0.5], 0.0),
        (ReducedHull, {"D": 1.0, "D_minus": 0.5}, [1.0, -1.0], 0.5),  # above the cap of the negatives alone
        (EpsSVR, {"C": 2.0}, [1.0, -0.5], 0.25),  # off by 0.5 of C
        (NuSVC, {"nu": 0.5}, [0.25, -0.25], 1.5),  # 0.15 above 1 / n
        (NuSVC, {"nu": 0.5}, [0.1, -0.1, 0.1, -0.1, 0.05], 0.2),  # the negatives sum to 0.2, not 0.25
        (OneClass, {"nu": 0.5}, [0.3, -0.1, *[0.1] * 8], 0.5),  # 0.1 above the cap of 0.2, and below 0
        (OneClass, {"nu": 0.5}, [0.05] * 10, 0.5),
        (PolytopeDistance, {}, [1.5, -0.5], 0.5),
    ],
)
def test_each_constraint_has_its_own_violation(formulation, values, coef, violation):
    labels = np.where(np.arange(10) % 2, -1.0, 1.0)
    problem = build(formulation, np.arange(20.0).reshape(10, 2), labels, Linear(), **values)
    found = problem.feasibility_violation(np.array([*coef, *[0.0] * (10 - len(coef))]))
    assert found == pytest.approx(violation, abs=1e-15)


@pytest.mark.parametrize("storage", ["dense", "sparse", "precomputed"])
@EACH
def test_a_restricted_problem_is_the_one_built_from_its_points(formulation, values, storage):
    if formulation is TubeSVR or "class_weight" in values:
        pytest.skip("it keeps what follows from all points: a test of its own")
    dense = stated(formulation, values, n=16)
    x, targets = dense.kernel.points, dense.targets
    part = np.array([0, 1, 4, 5, 6, 9, 12, 15])
    gram, kernel = RBF(0.5).block(x, x), Precomputed() if storage == "precomputed" else RBF(0.5)
    data = {"dense": x, "sparse": scipy.sparse.csr_array(x), "precomputed": gram}[storage]
    rows = gram[np.ix_(part, part)] if storage == "precomputed" else data[part]
    values = {"D": 0.6} if formulation is ReducedHull else values
    restricted = build(formulation, data, targets, kernel, **values).restrict(part)
    scratch = build(formulation, rows, targets[part], kernel, **values)
    coef = scratch.dual_form().coef(scratch.dual_form().start)
    found, expected = own(restricted).certify(coef, 0.0).as_dict(), scratch.certify(coef, 0.0).as_dict()
    for name, value in expected.items():
        number = isinstance(value, float)
        assert found[name] == (pytest.approx(value, rel=1e-12, abs=1e-14) if number else value), name
    assert restricted.kernel.counter.evaluations == 0, "the host's certificates are not counted"
    restricted.kernel.row(2)
    assert restricted.kernel.counter.evaluations == len(part)


def test_a_part_keeps_what_followed_from_all_points():
    part = [0, 1, 3, 4, 7, 9]
    weighted = stated(CSVC, {"C": 2.0, "class_weight": "balanced"})
    for sign in (-1.0, 1.0):
        members = weighted.targets == sign
        assert weighted.upper[members] == pytest.approx(2.0 * 24 / (2 * members.sum()))
    assert weighted.restrict(part).upper.tolist() == weighted.upper[part].tolist()
    hulls = stated(ReducedHull, {})
    fewest = min((hulls.targets > 0).sum(), (hulls.targets < 0).sum())
    assert hulls.cap == max(4.0 / 24, 1.0 / fewest)
    capped, some = stated(ReducedHull, {"D_minus": 0.9}), np.flatnonzero(hulls.targets > 0).tolist() + list(range(16))
    assert (capped.restrict(some).caps, hulls.restrict(some).caps) == ((hulls.cap, 0.9), (hulls.cap, hulls.cap))
    nu = stated(NuSVC, {})
    assert (nu.nu, nu.restrict(part).nu, nu.restrict(part).cap) == (0.5, 0.5, 1.0 / 6)
    chi = stated(L2SVC, {"C": 4.0})
    assert (chi.chi, chi.kernel.ridge, chi.restrict(part).kernel.ridge) == (4.0, 0.25, 0.25)


def test_hull_figures_of_three_points_by_hand():
    # conv{(0,0),(0,2)} and {(3,0)}: w = (-3, 1) at the middle of the edge, the optimum is w = (-3, 0)
    x, y = np.array([[0.0, 0.0], [0.0, 2.0], [3.0, 0.0]]), np.array([1.0, 1.0, -1.0])
    problem = build(HardMargin, x, y, Linear())
    found = problem.certify([0.5, 0.5, -1.0], 0.0)
    # <w, p> = 0 and 2, <w, q> = -9, |w|^2 = 10
    assert (found.dual, found.kkt_violation) == pytest.approx((5.0, 2.0))
    assert (found.margin_lower, found.margin_upper) == pytest.approx((9.0 / np.sqrt(10.0), np.sqrt(10.0)))
    assert (found.epsilon, found.epsilon_minus) == pytest.approx((1.0 - 9.0 / 10.0, 11.0 / 10.0 - 1.0))
    assert found.relative_gap == pytest.approx(1.0 - 0.9**2)
    assert problem.certify([1.0, 0.0, -1.0], 0.0).relative_gap == pytest.approx(0.0, abs=1e-15)
    assert problem.certify(np.zeros(3), 0.0).gap is None
    alone = build(PolytopeDistance, np.array([[1.0, 0.0], [-1.0, 0.1]]), np.ones(2), Linear())
    found = alone.certify(np.array([1.0, 0.0]), 0.0)
    assert (found.margin_lower, found.primal) == (pytest.approx(-1.0, rel=1e-14), 0.0)
    assert found.margin_lower <= -1.0, "rounded down"


def test_where_w_is_zero_the_optimum_is_said_to_be_there():
    x, y = np.array([[0.1], [0.7], [0.3], [0.4]]), np.array([1.0, 1.0, -1.0, -1.0])
    problem = build(HardMargin, x, y, Linear())
    found = problem.certify([0.5, 0.5, 0.0, -1.0], 0.0)
    assert found.touching
    assert (found.primal, found.margin_lower) == (0.0, 0.0)
    assert (found.dual, found.gap, found.relative_gap) == pytest.approx((0.0, 0.0, 0.0), abs=1e-30)
    assert 0.0 < found.margin_upper < 1e-16, "0.1 + 0.7 is not 0.8 in float64"
    assert problem.certify([0.5 + 1e-3, 0.5 - 1e-3, 0.0, -1.0], 0.0).relative_gap == pytest.approx(1.0)
    x = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 5.0]])
    one = build(OneClass, x, np.ones(3), Linear(), nu=0.5)
    found = one.certify([0.5, 0.5, 0.0], 0.0)
    assert (found.dual, found.gap, found.relative_gap) == (0.0, 0.0, 0.0)
    assert one.certify([0.5, 0.5, 0.0], 1.0).relative_gap == pytest.approx(1.0 / 12.5)  # against 25 / 2
    nu = build(NuSVC, np.array([[0.0], [1.0], [0.0], [1.0]]), y, Linear(), nu=1.0)
    found = nu.certify(np.array([0.25, 0.25, -0.25, -0.25]), 0.0)
    assert (found.dual, found.relative_gap) == (0.0, 0.0)


@given(seed=st.integers(0, 10_000), n=st.integers(2, 9))
@settings(max_examples=60)
def test_the_away_side_is_the_linear_program_over_the_model_s_face(seed, n):
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
    x, y = np.append(rng.normal(size=n), -9.0)[:, None], np.append(np.ones(n), -1.0)
    problem = build(ReducedHull, x, y, Linear(), D=cap, D_minus=1.0)
    found = problem.certify(np.append(weights, -1.0), 0.0)
    w = float(weights @ x[:-1, 0] + 9.0)
    bounds = [(cap, cap) if u >= cap * (1 - 1e-9) else (0.0, cap) if u > 0.0 else (0.0, 0.0) for u in weights]
    farthest = -linprog(-w * x[:-1, 0], A_eq=np.ones((1, n)), b_eq=[1.0], bounds=bounds).fun + 9.0 * w
    assert found.epsilon_minus == pytest.approx(farthest / w**2 - 1.0, abs=1e-6)


TWO_CAPS = {
    "smo", "smo-block", "qp", "fw", "gilbert", "fw-pairwise", "mdm", "nearest-point", "fw-fully-corrective", "optsoftmargin",
}  # fmt: skip
CAPPED = [
    Case("rbf", ReducedHull, *overlapping(40), RBF(gamma=0.5), {"D": 0.3, "D_minus": 0.07}),
    Case("positives-whole", ReducedHull, *separable(16), Linear(), {"D": 1.0, "D_minus": 0.2}),
]
SOLVERS = [name for solvers in load_registry().solvers.values() for name, each in solvers.items()
           if ReducedHull.name in formulation_names(each.solves)]  # fmt: skip


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name == "optsoftmargin")) for name in SOLVERS]
)
def test_every_solver_keeps_to_the_cap_of_each_class_or_says_why_not(name):
    gap = 2e-2 if name == "gilbert" else 1e-5
    solver = get_solver(name).with_target_gap(gap)
    for case in CAPPED:
        problem = case.problem()
        if name not in TWO_CAPS:
            assert "D_minus" in (solver.refusal(problem) or "")
            continue
        outcome = drive(solver, problem, np.random.default_rng(0))
        assert outcome.claimed_done
        signed = matrix_of(problem) * np.outer(problem.targets, problem.targets)
        weights = exact_weights(signed, (problem.targets < 0).astype(int), problem.caps)
        found = problem.certify(*problem.checked(outcome.dual_coef, outcome.intercept))
        assert found.relative_gap <= gap
        assert found.dual == pytest.approx(0.5 * weights @ signed @ weights, rel=max(gap, 1e-5))


@pytest.mark.parametrize("kernel", [Linear(), RBF(gamma=0.5), Poly()], ids=lambda each: each.name)
def test_scores_that_are_rounding_of_0_have_one_label_as_training_points_and_as_new_ones(kernel):
    rng = np.random.default_rng(0)
    for _ in range(100):
        first = rng.normal(size=3)
        x = np.array([first, first[::-1]])  # f of both is the same up to rounding
        problem = OneClass.build(KernelOracle(kernel, x), np.ones(2), {"nu": 1.0})
        sums = problem.kernel.expand([0.5, 0.5])
        for rho in sums:
            train = problem.decision_values(sums, np.array([0.5, 0.5]), -rho)
            assert (*train, *problem.scores_new(np.array([0.5, 0.5]), -rho, x)) == (0.0, 0.0, 0.0, 0.0)
            assert problem.decision_values(sums, np.array([0.5, 0.5]), -rho + 1e-12 * abs(rho)).all()


def test_every_kernel_that_a_problem_holds_counts_where_a_solver_gets_it():
    x, y = overlapping(24)
    for formulation in (RampSVC, TubeSVR, L2SVC, CSVC):
        problem = formulation.build(Engine(RBF(gamma=0.5), x), y, {}).counted()
        parts = [each for each in vars(problem).values() if isinstance(each, Problem)]
        kernels = [each for part in (problem, *parts) for each in vars(part).values() if isinstance(each, Engine)]
        assert all(isinstance(each, KernelOracle) for each in kernels), formulation.name
        assert {id(each.counter) for each in kernels} == {id(problem.kernel.counter)}, formulation.name
