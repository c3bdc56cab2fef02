"""The ramp loss: ramp-svc written out, ramp-cccp, the global minimum of ramp-exact, and every point of outlier-path."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from harness_robust import ramp
from harness_robust.cccp import RampCCCP
from harness_robust.path import OutlierPath
from harness_robust.ramp_exact import RampExact
from hypothesis import given, settings
from hypothesis import strategies as st

from harness import RBF, InvalidModel, Linear, Poly, get_solver
from harness.registry.subproblem_oracle import Oracle
from tests.kernels.oracles import own
from tests.plugins.common import certified, exact, iterates, last_of, matrix_of
from tests.plugins.robust_problems import flipped, objective_of, stated


def fractions(array):
    return [Fraction(float(v)) for v in np.asarray(array)]


def noisy(seed=0, n=40):
    return flipped(n, seed=seed, apart=2.0)


def solved(problem):
    return get_solver("qp").solve(problem).dual_coef


def random_model(problem, rng):
    """Coefficients of every kind: 0, at +-C, between, of either sign."""
    return problem.upper * rng.choice([0.0, 0.0, 1.0, -1.0, 0.3, -0.6, 0.02], size=problem.n)


def cccp(problem, rounds=50):
    """The concave-convex procedure over all points, by the exact solver, from the hinge solution."""
    coef, kernel = solved(problem.hinge), matrix_of(problem)
    for _ in range(rounds):
        outliers = problem.outliers(kernel @ coef)
        coef = solved(problem.subproblem(outliers))
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
    found = own(problem).certify(coef, 0.0)
    gap = objective - found.dual
    expected = objective, gap, gap / max(1.0, objective), 0.0
    assert (found.primal, found.gap, found.relative_gap, found.feasibility_violation) == pytest.approx(
        expected, rel=1e-12
    )
    assert found.kkt_violation == pytest.approx(naive_violation(problem, coef, f), rel=1e-9)


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


@pytest.mark.parametrize("s", [-1.0, 0.0])
def test_a_stationary_point_is_certified_and_a_wrong_model_flagged(s):
    problem = stated(*noisy(), C=5.0, s=s)
    coef = cccp(problem)
    found = problem.certify(coef, 0.0)
    assert abs(found.relative_gap) < 2e-6
    assert found.kkt_violation < 1e-5
    assert found.primal < problem.certify(solved(problem.hinge), 0.0).primal
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
        assert (flagged.relative_gap > 1e-3, flagged.kkt_violation > 1e-2) == (True, True), fault
    assert problem.certify(0.9 * coef, 0.0).relative_gap > 1e-4
    assert problem.certify(np.zeros(problem.n), 0.0).relative_gap > 1e-1


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([-2.0, -1.0, 0.0]), st.booleans())
def test_no_step_of_cccp_takes_more_off_than_the_gap(seed, s, with_oracle):
    rng = np.random.default_rng(seed)
    problem = stated(*noisy(seed, n=16), C=2.0, s=s)
    kernel, coef = matrix_of(problem), random_model(problem, rng)
    with pytest.MonkeyPatch.context() as patch:
        if not with_oracle:
            patch.setattr(ramp, "_oracle", lambda: None)
        gap = problem.certify(coef, 0.0).gap
    value, convex = problem.objective(coef, kernel @ coef), problem.subproblem(problem.outliers(kernel @ coef))
    stepped = solved(convex)
    majorant = convex.certify(stepped, 0.0)
    assert problem.objective(stepped, kernel @ stepped) <= majorant.primal + 1e-6 <= value + 2e-6
    assert gap >= value - majorant.primal - 1e-6
    assert not with_oracle or gap <= value - majorant.dual + 1e-4, "solved anew: no more than that either"


def test_a_lying_oracle_cannot_hide_the_decrease(monkeypatch):
    class Liar:
        def with_target_gap(self, gap):
            return self

        def solve(self, problem, start=None):
            return type("Found", (), {"dual_coef": np.full(problem.n, 1e6)})

    problem = stated(*noisy(), C=5.0)
    honest = problem.certify(np.zeros(problem.n), 0.0).gap
    monkeypatch.setattr(ramp, "get_solver", lambda name: Liar())
    assert problem.certify(np.zeros(problem.n), 0.0).gap >= honest - 1e-9


def test_infeasible_models_are_refused():
    problem = stated(*noisy(n=10), C=2.0)
    coef = np.zeros(10)
    coef[0] = -2.0 * problem.targets[0]  # feasible for beta = C
    problem.checked(coef, 0.0)
    coef[0] = 2.5
    convex = problem.subproblem(np.arange(10) < 1)
    part = convex.restrict([0, 3])
    assert (part.beta.tolist(), part.outliers.tolist()) == ([2.0, 0.0], [True, False])
    assert problem.feasibility_violation(coef) == pytest.approx(0.25)
    wrong = problem.targets * (np.arange(10) < 1)  # an outlier's coefficient may not have its label's sign
    assert convex.feasibility_violation(wrong) == pytest.approx(0.5)
    for stated_, model, intercept in ((problem, coef, 0.0), (problem, 0.0 * coef, 0.1), (convex, wrong, 0.0)):
        with pytest.raises(InvalidModel):
            stated_.checked(model, intercept)


def test_solving_anew_is_what_a_trace_point_costs():
    problem = stated(*noisy())
    n, hinge = problem.n, problem.hinge
    assert (hinge.certificate_cost(0), hinge.certificate_cost(2)) == (n, 2 * n)
    assert (problem.certificate_cost(2), problem.certificate_cost(n)) == (n * (n // 4), n**2)


def test_the_ramp_s_gap_has_a_bound_and_its_objective_the_exact_value():
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=(20, 2)), np.where(np.arange(20) % 2, 1.0, -1.0)
    coef = y * rng.uniform(0.0, 1.0, 20)
    linear, rbf = (stated(x + 1e4, y, each, C=1.0, s=-0.5).certify(coef, 0.0) for each in (Linear(), RBF(gamma=0.5)))
    assert min(linear.gap_rounding, rbf.gap_rounding) > 0.0
    assert max(linear.gap_rounding, rbf.gap_rounding) < 1e-3
    w = [sum(c * v for c, v in zip(fractions(coef), fractions(column), strict=True)) for column in (x + 1e4).T]
    products = [sum(u * v for u, v in zip(w, fractions(row), strict=True)) for row in x + 1e4]
    loss = sum(min(max(Fraction(0), 1 - t * p), Fraction(3, 2)) for t, p in zip(fractions(y), products, strict=True))
    assert linear.primal == pytest.approx(float(sum(v * v for v in w) / 2 + loss), rel=1e-9)


# -- ramp-cccp -------------------------------------------------------------------------------------------


def naive_cccp(problem):
    """The procedure written out with the exact solver: objectives and number of rounds."""
    kernel, values = matrix_of(problem), []
    coef = get_solver("qp").solve(problem.hinge).dual_coef
    for _ in range(100):
        values.append(objective_of(problem, coef))
        outliers = problem.targets * (kernel @ coef) < problem.s
        coef = get_solver("qp").solve(problem.subproblem(outliers)).dual_coef
        if (outliers == (problem.targets * (kernel @ coef) < problem.s)).all():
            return coef, values
    raise AssertionError("no fixed point")


@pytest.mark.parametrize("oracle", ["smo-block", "smo", "qp"])
@pytest.mark.parametrize("s", [-1.0, 0.0, 0.5])
def test_it_ends_where_the_procedure_written_out_ends(oracle, s):
    problem = stated(*flipped(), C=5.0, s=s)
    coef, values = naive_cccp(problem)
    last = last_of(RampCCCP(oracle=oracle, tolerance=1e-8), problem)
    assert last.done
    assert last.info["objective"] == pytest.approx(objective_of(problem, coef), rel=1e-6)
    assert last.info["outliers"] == np.sum(problem.targets * (matrix_of(problem) @ last.dual_coef) < s)
    assert len(values) - 1 <= last.info["rounds"] <= len(values) + 1


@settings(max_examples=30, deadline=None)
@given(
    st.integers(0, 10_000),
    st.sampled_from([-1.0, 0.0, 0.5]),
    st.sampled_from([0.3, 3.0, 30.0]),
    st.sampled_from([1e-2, 1e-4, 1e-7]),
)
def test_the_objective_falls_and_the_end_is_stationary(seed, s, cost, tolerance):
    problem = stated(*flipped(seed=seed, n=30), C=cost, s=s)
    found = iterates(RampCCCP(tolerance=tolerance), problem)
    last, told = found[-1], [each.info["objective"] for each in found if "objective" in each.info]
    assert last.done
    assert (np.diff(told) <= 0.0).all()
    assert objective_of(problem, last.dual_coef) == pytest.approx(told[-1], rel=1e-12)
    assert all((np.abs(each.dual_coef) <= problem.upper).all() for each in found)
    assert certified(problem, last).relative_gap <= 1.001 * tolerance + 1e-9
    assert last.step == last.info["rounds"]


def test_rounds_that_run_out_and_an_oracle_that_lets_the_objective_rise_are_said(monkeypatch):
    problem = stated(*flipped(n=200, share=0.2, apart=0.7), C=10.0, s=0.0)
    last = last_of(RampCCCP(max_rounds=1), problem)
    assert (last.done, last.info["stopped"].startswith("max_rounds: ")) == (False, True)
    assert "betas changed in round 1" in last.info["stopped"]
    honest, problem = Oracle.iterates, stated(*flipped(), C=5.0)

    def spoiled(self, convex, **asked):
        for found in honest(self, convex, **asked):
            yield replace(found, dual_coef=0.0 * found.dual_coef) if hasattr(convex, "beta") else found

    monkeypatch.setattr(Oracle, "iterates", spoiled)
    last = last_of(RampCCCP(), problem)
    assert (last.done, last.info["stopped"].startswith("rise: the objective rose by ")) == (False, True)
    assert "in round 1 the oracle 'smo-block' left a relative gap of" in last.info["stopped"]
    assert objective_of(problem, last.dual_coef) == pytest.approx(last.info["objective"])


# -- ramp-exact ------------------------------------------------------------------------------------------


def drawn(rng):
    """A problem of 2 to 12 points: all s up to 0.99, both kernels, prices by class or not."""
    n, d = int(rng.integers(2, 13)), int(rng.integers(1, 5))
    x, y = rng.normal(size=(n, d)), np.where(rng.random(n) < 0.5, 1.0, -1.0)
    x[:, 0] += rng.choice([0.0, 1.0]) * y * np.where(rng.random(n) < 0.15, -1, 1)
    kernel = Linear() if rng.random() < 0.5 else RBF(gamma=float(10 ** rng.uniform(-1.5, 0.7)))
    s = float(rng.uniform(-2, 0.99) if rng.random() < 0.3 else rng.uniform(0.3, 0.99))
    weights = str(rng.choice(["none", "balanced"]))
    return stated(x, y, kernel, C=float(10 ** rng.uniform(-1.5, 2)), s=s, class_weight=weights)


def least_of_all_sets(problem, sweeps=100):
    """The least J_s over the hinge problems of all 2^n sets of kept points, by coordinate ascent on all at once."""
    n, C, s = problem.n, problem.upper, problem.s
    Q = matrix_of(problem) * np.outer(problem.targets, problem.targets)
    high = ((np.arange(2**n)[:, None] >> np.arange(n)) & 1) * C
    a = np.zeros((2**n, n))
    for _ in range(sweeps):
        for i in np.flatnonzero(np.diag(Q) > 0):
            a[:, i] = np.clip(a[:, i] + (1.0 - a @ Q[i]) / Q[i, i], 0.0, high[:, i])
    z = a @ Q
    return float((0.5 * (a * z).sum(axis=1) + np.minimum(np.maximum(0.0, 1.0 - z), 1.0 - s) @ C).min())


@pytest.mark.parametrize("draws", [40, pytest.param(500, marks=pytest.mark.slow)])
def test_no_model_of_any_set_is_below_the_bound_or_better_than_the_answer(draws):
    rng = np.random.default_rng(1)
    for _ in range(draws):
        problem = drawn(rng)
        best, last = least_of_all_sets(problem), last_of(RampExact(), problem)
        assert last.done
        assert last.info["lower_bound"] <= best * (1.0 + 1e-9)
        assert last.info["lower_bound"] <= last.info["objective"] <= best + 1e-6 * max(1.0, best)
        assert last.info["objective"] == pytest.approx(objective_of(problem, last.dual_coef), rel=1e-9)


def test_the_incumbents_fall_below_local_search_the_bound_rises_and_giving_up_is_said_with_it():
    problem = stated(*flipped(n=40, share=0.2, seed=1), RBF(gamma=1.0), C=0.5, s=0.5)
    found = iterates(RampExact(), problem)
    values, bounds = np.array([[each.info["objective"], each.info["lower_bound"]] for each in found]).T
    assert len(found) > 5
    assert (np.diff(values) <= 0.0).all()
    assert (np.diff(bounds) >= -1e-9).all()
    assert (bounds <= values[-1]).all()
    assert problem.kernel.counter.evaluations == 40 * 40
    assert values[-1] < last_of(RampCCCP(), problem).info["objective"] * (1.0 - 1e-4)
    last = last_of(RampExact(max_nodes=3), problem)
    assert not last.done
    assert last.info["stopped"].startswith("max_nodes: after 3 nodes the proved lower bound is ")
    assert last.info["lower_bound"] <= values[-1]
    assert (last.info["open"] > 0, last.info["global_gap"] > 1e-3) == (True, True)


# -- outlier-path ----------------------------------------------------------------------------------------


KERNELS = {"rbf": RBF(gamma=0.5), "linear": Linear(), "poly": Poly(degree=2, gamma=0.5, coef0=1.0)}
AT = 1e-7  # nearer than this z is at 1 or at s, and a coefficient at its bound


def missed(problem, iterate):
    """By how much a point of the path misses the conditions of its partition's problem, point by point; (z, coef)."""
    theta, s = iterate.info["theta"], iterate.info["s"]
    z = problem.targets * (matrix_of(problem) @ iterate.dual_coef)
    worst = 0.0
    for z_i, a, price in zip(z, problem.targets * iterate.dual_coef, problem.upper, strict=True):
        bounds = ([price] if z_i >= s - AT else []) + ([theta * price] if z_i <= s + AT else [])
        least = np.inf
        for bound in bounds:
            off = max(0.0, -a, a - bound)
            if a < bound - AT * price:
                off = max(off, 1.0 - z_i)
            if a > AT * price:
                off = max(off, z_i - 1.0)
            least = min(least, off)
        worst = max(worst, least)
    return worst


def naive_objective(problem, iterate):
    """The loss of the path, point by point."""
    theta, s = iterate.info["theta"], iterate.info["s"]
    f = matrix_of(problem) @ iterate.dual_coef
    total = 0.5 * iterate.dual_coef @ f
    for z, price in zip(problem.targets * f, problem.upper, strict=True):
        total += price * (max(0.0, 1.0 - z) if z >= s else 1.0 - s + theta * (s - z))
    return total


def on_the_path(found):
    return [each for each in found if each.info["kind"] != "hinge"]


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 10_000), st.sampled_from(list(KERNELS)), st.sampled_from(["theta", "s"]),
    st.sampled_from([-1.0, 0.0, 0.7]), st.sampled_from([0.3, 3.0, 100.0]), st.sampled_from(["none", "balanced"]),
)  # fmt: skip
def test_every_point_is_a_conditional_optimum_and_the_end_is_stationary(seed, kernel, path, s, cost, weight):
    x, y = flipped(n=24, share=0.2, seed=seed, apart=0.8)
    problem = stated(x, y, KERNELS[kernel], C=cost, s=s, class_weight=weight)
    found = iterates(OutlierPath(path=path), problem)
    last = found[-1]
    assert last.done
    assert all((np.abs(each.dual_coef) <= problem.upper * (1.0 + 1e-12)).all() for each in found)
    for each in on_the_path(found):
        assert missed(problem, each) < 1e-6
        assert each.info["objective"] == pytest.approx(naive_objective(problem, each), rel=1e-8)
    assert (last.info["theta"], last.info["s"]) == (0.0, s)
    assert last.info["objective"] == pytest.approx(objective_of(problem, last.dual_coef), rel=1e-9)
    assert abs(certified(problem, last).relative_gap) < 1e-6


def test_the_path_begins_at_the_hinge_and_falls():
    problem = stated(*flipped(n=200, share=0.2, apart=0.7), C=5.0, s=0.0)
    hinge = exact(problem.hinge).primal
    for path, sign in (("theta", -1.0), ("s", 1.0)):
        found = iterates(OutlierPath(path=path), problem)
        start, points = [each for each in found if each.info["kind"] == "hinge"][-1], on_the_path(found)
        assert start.info["outliers"] == 0
        assert (sign * np.diff([each.info[path] for each in points]) >= 0.0).all()
        values = [each.info["objective"] for each in points]
        assert values[0] <= hinge * (1.0 + 1e-9)
        assert (np.diff(values) <= 1e-9 * hinge).all()
        kinds, last = (
            [each.info["kind"] for each in points[:-1]],
            points[-1].info,
        )  # the last one is yielded twice, as done
        assert (last["breakpoints"], last["reoptimised"]) == (kinds.count("breakpoint"), kinds.count("reoptimised"))
        assert last["reoptimised"] > 0


@pytest.mark.parametrize("seed", [100043, 100115, 100247])
def test_points_that_stand_in_each_others_way_are_no_hindrance(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(5, 60))
    x = rng.integers(0, 2, size=(n, 4)).astype(float)
    y = np.where(rng.random(n) < 0.5, -1.0, 1.0)
    problem = stated(x, y, Linear(), C=1000.0, s=0.5)
    last = last_of(OutlierPath(), problem)
    assert last.done  # where they do so is decided by the rounding of the machine: on some, nothing has to be moved
    assert missed(problem, last) < 1e-6
    assert abs(certified(problem, last).relative_gap) < 1e-6
