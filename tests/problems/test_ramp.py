"""ramp-svc: its objective and conditions written out, its convex sub-problem, and what its certificate can tell."""

import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from harness import (
    RBF,
    CSVCNoBias,
    InvalidModel,
    Iterate,
    KernelOracle,
    Linear,
    Precomputed,
    RampSVC,
    UsageError,
    get_solver,
)
from harness.kernels.counter import Counter
from harness.kernels.oracle import uncounted
from harness.measure.trace import TracePlan, trace_point
from harness.problems import ramp
from harness.problems.ramp import RampSVCParameters
from harness.registry import load_registry
from harness.testing import zoo

sys.path.insert(0, str(Path(__file__).parent))
from exact import features, svm_primal


def noisy(seed=0, n=40, flipped=6):
    """Two clouds apart, some labels of the first exchanged: outliers for the ramp loss."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    x = rng.normal(size=(n, 2))
    x[:, 0] += 2.0 * y
    y[:flipped] *= -1.0
    return x, y


def stated(x, y, kernel=None, **values):
    return RampSVC.build(KernelOracle(kernel or RBF(0.3), x), y, values)


def matrix_of(problem):
    with uncounted(problem.kernel):
        return np.array(problem.kernel.block(np.arange(problem.n)))


def random_model(problem, rng):
    """Coefficients of every kind: 0, at +-C, between, of either sign."""
    return problem.upper * rng.choice([0.0, 0.0, 1.0, -1.0, 0.3, -0.6, 0.02], size=problem.n)


def cccp(problem, rounds=50):
    """The concave-convex procedure over all points, by the exact solver, from the hinge solution."""
    coef = get_solver("qp").solve(problem.hinge).dual_coef
    kernel = matrix_of(problem)
    for _ in range(rounds):
        outliers = problem.outliers(kernel @ coef)
        coef = get_solver("qp").solve(problem.subproblem(outliers)).dual_coef
        if (problem.outliers(kernel @ coef) == outliers).all():
            return coef
    raise AssertionError("no fixed point")


def ramp_loss(z, s):
    return 0.0 if z >= 1.0 else 1.0 - z if z >= s else 1.0 - s


def naive_violation(problem, coef, scores):
    """The least v for which some beta makes each point's conditions hold up to v."""
    worst = 0.0
    for y, c, a, f in zip(problem.targets, problem.upper, problem.targets * coef, scores, strict=True):
        z, least = y * f, np.inf
        for beta in (0.0, c):
            low, high = -beta, c - beta
            if not low <= a <= high:
                continue
            missed = [problem.s - z if beta == 0.0 else z - problem.s]  # beta is the tangent's slope at f
            if a < high:
                missed.append(1.0 - z)
            if a > low:
                missed.append(z - 1.0)
            least = min(least, max(0.0, *missed))
        worst = max(worst, least)
    return worst


@pytest.mark.parametrize("class_weight", ["none", "balanced"])
@pytest.mark.parametrize("s", [-1.0, 0.0, 0.5, -3.0])
def test_the_figures_are_the_formulas_written_out(s, class_weight):
    x, y = noisy(n=15)
    problem = stated(x, y, C=3.0, s=s, class_weight=class_weight)
    coef = random_model(problem, np.random.default_rng(1))
    kernel, n = matrix_of(problem), problem.n
    f = [sum(coef[j] * kernel[i, j] for j in range(n)) for i in range(n)]
    squared = sum(coef[i] * coef[j] * kernel[i, j] for i in range(n) for j in range(n))
    objective = 0.5 * squared + sum(problem.upper[i] * ramp_loss(y[i] * f[i], s) for i in range(n))
    with uncounted(problem.kernel):
        found = problem.certify(coef, 0.0)
    assert found.primal == pytest.approx(objective, rel=1e-12)
    assert found.gap == pytest.approx(found.primal - found.dual, rel=1e-12)
    assert found.relative_gap == pytest.approx(found.gap / max(1.0, objective), rel=1e-12)
    assert found.kkt_violation == pytest.approx(naive_violation(problem, coef, f), rel=1e-9)
    assert found.feasibility_violation == 0.0
    assert vars(problem.kernel.counter) == vars(Counter()), (
        "of the host's certificates and their solver nothing is counted"
    )


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([-2.0, -1.0, 0.0, 0.9]), st.sampled_from([0.1, 2.0]))
def test_the_conditions_are_those_of_the_better_beta(seed, s, cost):
    rng = np.random.default_rng(seed)
    x, y = noisy(seed, n=12)
    problem = stated(x, y, C=cost, s=s)
    coef = random_model(problem, rng)
    # scores of any model: also those where z is exactly s or 1
    scores = problem.targets * rng.choice([s, 1.0, s - 0.5, 0.5 * (s + 1.0), 1.5], size=problem.n)
    assert problem.kkt_violation(coef, scores) == pytest.approx(naive_violation(problem, coef, scores), abs=1e-12)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([-2.0, -1.0, 0.0, 0.9]))
def test_the_convex_problem_lies_above_and_touches(seed, s):
    rng = np.random.default_rng(seed)
    problem = stated(*noisy(seed, n=14), C=2.0, s=s)
    kernel = matrix_of(problem)
    coef, other = random_model(problem, rng), random_model(problem, rng)
    convex = problem.subproblem(problem.outliers(kernel @ coef))

    def majorant(model):  # its figures do not need the model to be feasible
        return convex.certificate(model, 0.0, kernel @ model).primal

    assert majorant(coef) == pytest.approx(problem.objective(coef, kernel @ coef), rel=1e-9)
    assert majorant(other) >= problem.objective(other, kernel @ other) - 1e-9


def test_the_convex_problem_is_the_one_in_w():
    """Its dual optimum equals the primal optimum found in w by an interior-point solver."""
    import cvxpy as cp

    x, y = noisy()
    problem = stated(x, y, C=5.0)
    coef = get_solver("qp").solve(problem.hinge).dual_coef
    outliers = problem.outliers(matrix_of(problem) @ coef)
    assert 0 < outliers.sum() < problem.n
    convex = problem.subproblem(outliers)
    z = features(matrix_of(problem))
    w = cp.Variable(z.shape[1])
    margins = cp.multiply(y, z @ w)
    loss = 5.0 * cp.sum(cp.pos(1 - margins)) + 5.0 * cp.sum(margins[outliers]) - problem.s * 5.0 * outliers.sum()
    program = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) + loss))
    program.solve(solver="CLARABEL")
    found = get_solver("qp").solve(convex)
    convex.checked(found.dual_coef, found.intercept)
    certified = convex.certify(found.dual_coef, 0.0)
    assert certified.dual == pytest.approx(program.value, rel=1e-6)
    assert certified.primal == pytest.approx(program.value, rel=1e-6)
    assert certified.relative_gap == pytest.approx(0.0, abs=1e-7)
    assert certified.kkt_violation < 1e-6
    assert (y * found.dual_coef)[outliers].max() <= 0.0


@pytest.mark.parametrize("s", [-1.0, 0.0])
def test_a_stationary_point_is_certified_and_a_wrong_model_flagged(s):
    problem = stated(*noisy(), C=5.0, s=s)
    coef = cccp(problem)
    found = problem.certify(coef, 0.0)
    assert abs(found.relative_gap) < 2e-6
    assert found.kkt_violation < 1e-5
    assert found.primal < problem.certify(get_solver("qp").solve(problem.hinge).dual_coef, 0.0).primal
    support, unused = np.flatnonzero(coef), np.flatnonzero(coef == 0.0)
    planted = {
        "a support vector left out": (support[0], 0.0),
        "a sign changed": (support[0], -coef[support[0]]),
        "a coefficient halved": (support[1], 0.5 * coef[support[1]]),
        "an unused point used": (unused[0], problem.targets[unused[0]] * 2.5),
        "an outlier believed": (unused[0], -problem.targets[unused[0]] * 2.5),
    }
    for fault, (i, value) in planted.items():
        wrong = coef.copy()
        wrong[i] = value
        flagged = problem.certify(wrong, 0.0)
        assert flagged.relative_gap > 1e-3, fault
        assert flagged.kkt_violation > 1e-2, fault
    assert problem.certify(0.9 * coef, 0.0).relative_gap > 1e-4
    assert problem.certify(np.zeros(problem.n), 0.0).relative_gap > 1e-1


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([-2.0, -1.0, 0.0]), st.booleans())
def test_no_step_of_cccp_takes_more_off_than_the_gap(seed, s, with_oracle):
    rng = np.random.default_rng(seed)
    problem = stated(*noisy(seed, n=16), C=2.0, s=s)
    kernel = matrix_of(problem)
    coef = random_model(problem, rng)
    with pytest.MonkeyPatch.context() as patch:
        if not with_oracle:
            patch.setattr(ramp, "_oracle", lambda: None)
        gap = problem.certify(coef, 0.0).gap
    stepped = get_solver("qp").solve(problem.subproblem(problem.outliers(kernel @ coef))).dual_coef
    decrease = problem.objective(coef, kernel @ coef) - problem.objective(stepped, kernel @ stepped)
    majorant = problem.subproblem(problem.outliers(kernel @ coef)).certify(stepped, 0.0)
    assert gap >= problem.objective(coef, kernel @ coef) - majorant.primal - 1e-6
    if with_oracle:  # solved anew: no more than that either
        assert gap <= problem.objective(coef, kernel @ coef) - majorant.dual + 1e-4
    assert majorant.primal <= problem.objective(coef, kernel @ coef) + 1e-6
    assert decrease <= problem.objective(coef, kernel @ coef)  # the ramp loss is not negative


def test_a_lying_oracle_cannot_hide_the_decrease(monkeypatch):
    class Liar:
        def with_target_gap(self, gap):
            return self

        def solve(self, problem, start=None):
            return type("Found", (), {"dual_coef": np.full(problem.n, 1e6)})

    problem = stated(*noisy(), C=5.0)
    honest = problem.certify(np.zeros(problem.n), 0.0).gap
    monkeypatch.setattr("harness.registry.solver_serving", lambda role: Liar())
    assert problem.certify(np.zeros(problem.n), 0.0).gap >= honest - 1e-9


def test_far_to_the_left_the_ramp_is_the_hinge():
    x, y = noisy()
    problem = stated(x, y, C=5.0, s=-1e6)
    best, _, _ = svm_primal(matrix_of(problem), y, problem.upper, has_bias=False)
    coef = get_solver("qp").solve(problem.hinge).dual_coef
    found = problem.certify(coef, 0.0)
    hinge = problem.hinge.certify(coef, 0.0)
    assert found.primal == pytest.approx(best, rel=1e-6)
    assert found.primal == pytest.approx(hinge.primal, rel=1e-12)
    assert abs(found.relative_gap) < 2e-6
    assert found.kkt_violation == pytest.approx(hinge.kkt_violation, abs=1e-9)
    assert isinstance(problem.hinge, CSVCNoBias)


def test_the_loss_of_one_outlier_is_bounded():
    x, y = noisy(flipped=0)
    far = x.copy()
    losses = []
    for distance in (1.0, 10.0, 100.0):
        far[0] = [-distance, 0.0]  # a positive point, deeper and deeper among the negative ones
        problem = stated(far, y, Linear(), C=1.0)
        coef = np.zeros(problem.n)
        coef[2], coef[3] = 0.2, -0.2
        scores = matrix_of(problem) @ coef
        losses.append(problem.objective(coef, scores) - 0.5 * coef @ scores)
    assert losses[1] == losses[2]
    assert losses[2] <= problem.upper.sum() * 2.0


def test_exchanged_labels_and_shared_prices_change_nothing():
    x, y = noisy()
    problem, flipped = stated(x, y, C=2.0), stated(x, -y, C=2.0)
    coef = random_model(problem, np.random.default_rng(3))
    first, second = problem.certify(coef, 0.0), flipped.certify(-coef, 0.0)
    assert first.primal == pytest.approx(second.primal, rel=1e-12)
    assert first.dual == pytest.approx(second.dual, rel=1e-5)
    assert first.kkt_violation == pytest.approx(second.kkt_violation, rel=1e-12)
    twice = stated(np.repeat(x, 2, axis=0), np.repeat(y, 2), C=1.0)
    doubled = twice.certify(np.repeat(coef / 2.0, 2), 0.0)
    assert doubled.primal == pytest.approx(first.primal, rel=1e-9)
    assert doubled.dual == pytest.approx(first.dual, rel=1e-5)


@pytest.mark.parametrize("storage", ["dense", "sparse", "precomputed"])
def test_a_restricted_problem_is_the_one_built_from_its_points(storage):
    x, y = noisy()
    part = np.array([0, 1, 4, 5, 6, 9, 12, 15])
    gram = RBF(0.5).block(x, x)
    data = {"dense": x, "sparse": scipy.sparse.csr_array(x), "precomputed": gram}[storage]
    own = {"dense": x[part], "sparse": scipy.sparse.csr_array(x[part]), "precomputed": gram[np.ix_(part, part)]}[
        storage
    ]
    kernel = Precomputed() if storage == "precomputed" else RBF(0.5)
    values = {"C": 3.0, "s": -0.5}
    restricted = stated(data, y, kernel, **values).restrict(part)
    scratch = stated(own, y[part], kernel, **values)
    coef = random_model(scratch, np.random.default_rng(3))
    found, expected = restricted.certify(coef, 0.0).as_dict(), scratch.certify(coef, 0.0).as_dict()
    assert found.pop("undecidable") == expected.pop("undecidable") == ""
    assert found == {
        name: None if value is None else pytest.approx(value, rel=1e-9, abs=1e-9) for name, value in expected.items()
    }
    outliers = np.arange(len(part)) < 3
    convex = scratch.subproblem(outliers).restrict([0, 2, 5])
    assert (convex.beta == np.array([3.0, 3.0, 0.0])).all()
    assert convex.constant == pytest.approx(2 * 3.0 * 1.5)


def test_infeasible_models_are_refused_in_words():
    problem = stated(*noisy(n=10), C=2.0)
    coef = np.zeros(10)
    coef[0] = -2.0 * problem.targets[0]  # feasible for beta = C
    problem.checked(coef, 0.0)
    coef[0] = 2.5
    assert problem.feasibility_violation(coef) == pytest.approx(0.25)
    with pytest.raises(InvalidModel, match=r"violates the constraints of ramp-svc by 0.25 .*\|dual_coef_i\| <= C_i"):
        problem.checked(coef, 0.0)
    with pytest.raises(InvalidModel, match=r"the intercept is 0.1; ramp-svc has none: it must be 0"):
        problem.checked(np.zeros(10), 0.1)
    with pytest.raises(InvalidModel, match="ramp-svc has none"):
        problem.certify(np.zeros(10), 0.1)
    convex = problem.subproblem(np.arange(10) < 1)
    coef[0] = problem.targets[0]  # an outlier's coefficient may not have its label's sign
    assert convex.feasibility_violation(coef) == pytest.approx(0.5)
    with pytest.raises(InvalidModel, match="violates the constraints of ramp-svc-subproblem"):
        convex.checked(coef, 0.0)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"s": 1.0}, r"formulation 'ramp-svc': parameter s=1.0 is not valid .*less than 1"),
        ({"s": float("nan")}, "parameter s=nan is not valid"),
        ({"C": 0.0}, r"formulation 'ramp-svc': parameter C=0.0 is not valid .*greater than 0"),
        ({"class_weight": "heavy"}, "'none' or 'balanced'"),
    ],
)
def test_wrong_parameters_are_refused_in_words(values, message):
    with pytest.raises(UsageError, match=message):
        RampSVCParameters(**values)


def test_solving_anew_is_what_a_trace_point_costs():
    ramp_svc = stated(*noisy())
    hinge = ramp_svc.hinge
    assert hinge.certificate_cost(0) == ramp_svc.n
    assert ramp_svc.certificate_cost(2) == ramp_svc.n * (ramp_svc.n // 4) > hinge.certificate_cost(2) == 2 * ramp_svc.n
    assert ramp_svc.certificate_cost(ramp_svc.n) == ramp_svc.n**2
    model = Iterate(np.where(np.arange(ramp_svc.n) < 2, 0.1 * ramp_svc.targets, 0.0))
    plan = TracePlan(certificate_values=2 * ramp_svc.n)
    certified, cheap = (
        trace_point(each, model, seconds=1.0, iteration=1, reason="seconds", plan=plan).relative_gap
        for each in (hinge, ramp_svc)
    )
    assert certified is not None
    assert cheap is None


def test_it_has_no_dual_form_and_says_so():
    with pytest.raises(NotImplementedError, match="formulation 'ramp-svc' has no dual form"):
        stated(*noisy()).dual_form()


def test_its_parameters_can_be_named_beside_a_solver():
    (chosen,) = load_registry().select_solvers(["smo[C=2,s=-0.5]"])
    assert chosen.problem_values == {"C": 2, "s": -0.5}


def test_the_zoo_has_a_problem_with_outliers():
    case = next(case for case in zoo([RampSVC]) if "outliers" in case.tags)
    problem = case.problem()
    coef = get_solver("qp").solve(problem.hinge).dual_coef
    assert problem.outliers(matrix_of(problem) @ coef).any()
