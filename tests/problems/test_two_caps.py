"""A cap for each class of a reduced hull: what it means, and that every solver keeps to both or says why it does not."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from harness import RBF, KernelOracle, Linear, ReducedHull, UsageError, drive, get_solver
from harness.kernels.oracle import uncounted
from harness.problems.cases import Case, overlapping, separable
from harness.problems.conversion import thresholds, to_c_svc
from harness.registry import load_registry
from tests.plugins.hull_problems import clouds, hard, matrix_of
from tests.plugins.sampling_problems import exact
from tests.problems.exact import nearest_points

REGISTRY = load_registry()
SOLVERS = [
    name
    for solvers in REGISTRY.solvers.values()
    for name, solver in solvers.items()
    if ReducedHull.name in [formulation.name for formulation in solver.solves]
]
TWO_CAPS = {"smo", "smo-block", "qp", "fw", "gilbert", "fw-pairwise", "fw-fully-corrective", "optsoftmargin"}
VARIANTS = {"fw": {"explicit_w": True}, "fw-fully-corrective": {"oracle": "smo-block"}, "optsoftmargin": {"r": 12}}


def case(name, x, y, kernel, D, D_minus):
    return Case(name, ReducedHull, x, y, kernel, {"D": D, "D_minus": D_minus})


CASES = [
    case("negatives-reduced-more", *overlapping(40), RBF(gamma=0.5), 0.3, 0.07),
    case("negatives-whole", *overlapping(40), RBF(gamma=0.5), 0.11, 1.0),
    case("positives-whole-linear", *separable(16), Linear(), 1.0, 0.2),
    case("negatives-at-their-cap", *clouds(5, 8, 9, 2, 4.0), Linear(), 0.5, 1 / 9),
    case("few-positives", *clouds(36, 4, 90, 2, 3.0), RBF(gamma=0.5), 0.5, 0.02),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_optimum_is_that_of_the_program_with_both_caps(case):
    problem = case.problem()
    caps = np.where(problem.targets > 0, problem.settings.D, problem.settings.D_minus)
    value, weights = nearest_points(matrix_of(problem), problem.targets, caps)
    assert problem.certify(weights, 0.0).dual == pytest.approx(value, rel=1e-6)
    assert exact(problem).dual == pytest.approx(value, rel=1e-6)
    # one of the two alone is another problem
    assert all(
        exact(case.changed(values={"D": cap}).problem()).dual != pytest.approx(value, rel=1e-3)
        for cap in (problem.settings.D, problem.settings.D_minus)
        if cap * min(np.count_nonzero(problem.targets > 0), np.count_nonzero(problem.targets < 0)) >= 1.0
    )


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize(
    ("name", "values"),
    [*((name, {}) for name in SOLVERS), *VARIANTS.items()],
    ids=lambda given: given if isinstance(given, str) else ",".join(given),
)
def test_every_solver_keeps_to_both_caps_or_says_why_not(name, values, case):
    gap = 2e-2 if name == "gilbert" else 1e-5
    solver = get_solver(name, **values).with_target_gap(gap)
    problem = case.problem()
    refused = solver.refusal(problem)
    if "explicit_w" in values and not isinstance(case.kernel, Linear):
        assert refused == "fw: explicit_w=True needs a linear kernel, and this is 'rbf'; leave it out."
        return
    if name not in TWO_CAPS:
        assert refused is not None
        assert f"D={problem.caps[0]:g} and D_minus={problem.caps[1]:g}; take" in refused
        assert solver.refusal(case.changed(values={"D": 0.3}).problem()) is None
        return
    assert refused is None
    outcome = drive(solver, problem, np.random.default_rng(0))
    assert outcome.claimed_done
    coef, intercept = problem.checked(outcome.dual_coef, outcome.intercept)
    with uncounted(problem.kernel):
        found = problem.certify(coef, intercept)
    assert found.relative_gap <= gap
    assert found.dual == pytest.approx(exact(problem).dual, rel=gap)


@pytest.mark.parametrize("oracle", ["qp", "smo-block", "fw-pairwise"])
def test_the_composed_examples_written_out_have_the_same_nearest_points(oracle):
    x, y = clouds(5, 8, 9, 2, 4.0)
    means = [
        np.array([x[list(c)].mean(axis=0) for c in itertools.combinations(np.flatnonzero(y == sign), k)])
        for sign, k in ((1.0, 2), (-1.0, 3))
    ]
    written = hard(np.concatenate(means), np.repeat([1.0, -1.0], [len(each) for each in means]))
    problem = case("composed", x, y, Linear(), 1 / 2, 1 / 3).problem()
    coef = get_solver(oracle).with_target_gap(1e-6).solve(problem).dual_coef
    assert problem.certify(coef, 0.0).dual == pytest.approx(exact(written).dual, rel=1e-5)


def test_caps_are_settled_kept_and_refused_in_words():
    x, y = clouds(5, 8, 30, 2, 1.0)

    def build(**values):
        return ReducedHull.build(KernelOracle(RBF(gamma=0.5), x), y, values)

    assert build().caps == (1 / 8, 1 / 8)  # 4 / 38, were the positives more
    assert build(D_minus=0.05).caps == (1 / 8, 0.05)
    assert build(D=0.5).caps == (0.5, 0.5)
    part = np.concatenate([np.flatnonzero(y > 0), np.flatnonzero(y < 0)[:20]])
    assert build(D_minus=0.05).restrict(part).caps == (1 / 8, 0.05)
    assert build().restrict(part).caps == (1 / 8, 1 / 8)  # not 4 / 28
    with pytest.raises(
        UsageError, match=r"D_minus=0.03 leaves the hull of the 30 negatives empty; D_minus must be at least 1/30"
    ):
        build(D=0.5, D_minus=0.03)
    with pytest.raises(
        UsageError, match=r"D=0.1 leaves the hull of the 8 positives empty; D must be at least 1/8 = 0.125"
    ):
        build(D=0.1)
    with pytest.raises(UsageError, match=r"D=0.1 leaves the hull of the 8 positives empty"):
        build(D=0.1, D_minus=0.05)


def test_weights_beyond_one_class_s_cap_are_infeasible_and_no_c_svc_has_two_caps():
    problem = case("two", np.arange(10.0)[:, None], np.repeat([1.0, -1.0], 5), Linear(), 0.25, 0.5).problem()
    negatives = np.r_[np.zeros(5), -0.5, -0.5, 0.0, 0.0, 0.0]
    weights = np.r_[0.25, 0.25, 0.25, 0.25, 0.0, np.zeros(5)] + negatives
    assert problem.feasibility_violation(weights) == 0.0
    over = np.r_[0.5, 0.5, 0.0, 0.0, 0.0, np.zeros(5)] + negatives
    assert problem.feasibility_violation(over) == pytest.approx(0.25)
    with pytest.raises(UsageError, match=r"needs one cap for both classes; this problem has D=0.25 and D_minus=0.5"):
        to_c_svc(problem, weights)


def test_the_levels_are_those_of_each_class_s_free_weights():
    problem = CASES[0].problem()
    coef = get_solver("qp").solve(problem).dual_coef
    scores = problem.kernel.expand(coef)
    plus, minus = thresholds(problem, coef, scores)
    for sign, cap, level in ((1.0, problem.caps[0], plus), (-1.0, problem.caps[1], minus)):
        weights = sign * coef[problem.targets == sign]
        projections = scores[problem.targets == sign]
        free = (weights > 1e-6 * cap) & (weights < cap * (1.0 - 1e-6))
        assert free.any()
        np.testing.assert_allclose(projections[free], level, atol=1e-7)
