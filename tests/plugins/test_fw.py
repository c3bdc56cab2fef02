"""Frank-Wolfe and its rules: the printed algorithms and naive twins step by step, an explicit w, the paper's bounds, the parts."""

from __future__ import annotations

from itertools import islice, product

import numpy as np
import pytest
from harness_fw import MDM, FrankWolfe, Gilbert, NearestPoint, PairwiseFrankWolfe
from harness_fw.bounds import core_set_bound, delta_bound, delta_of, iteration_bound
from harness_fw.descent import keeps_w
from harness_fw.hulls import extreme, face_extreme
from harness_fw.rules import best_in
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from harness import RBF, KernelOracle, Limits, Linear, Precomputed, drive, get_solver
from tests.kernels.oracles import own
from tests.plugins.common import certified, matrix_of
from tests.plugins.hull_problems import PROBLEMS, clouds, exact_margin, hard, l2, one_hull, reduced, rng0
from tests.plugins.naive_fw import naive_frank_wolfe
from tests.plugins.naive_pairs import STEPS, hulls_of, naive_start

BOTH = pytest.mark.parametrize("solver_class", [FrankWolfe, Gilbert])


@BOTH
@pytest.mark.parametrize(
    "make",
    [
        lambda: l2(*clouds(0, 40, 60, 3, 1.0)),
        lambda: l2(*clouds(1, 30, 30, 2, 1.0), chi=1000.0),
        lambda: hard(*clouds(6, 50, 40, 5, 5.0)),  # no tie of epsilon_+ and epsilon_-, which rounding would decide
        lambda: l2(*clouds(3, 700, 900, 4, 1.0), chi=100.0),  # several blocks of the compiled pass
        lambda: hard(*clouds(4, 30, 30, 2, 1.0), RBF(gamma=3.0)),
        lambda: l2(*clouds(5, 3, 3, 2, 0.5), Linear(), chi=100.0),
    ],
)
def test_every_iterate_is_that_of_the_printed_algorithm(solver_class, make):
    problem = make()
    matrix = matrix_of(problem)
    problem = hard(matrix, problem.targets, Precomputed())  # the same values to the bit
    printed = naive_frank_wolfe(matrix, problem.targets, 1e-5, 300, away=solver_class is FrankWolfe)
    positive = problem.targets > 0
    kinds = {"add": 0, "decrease": 0, "drop": 0}
    found_at = solver_class(epsilon=1e-5, stride=1).iterates(problem, rng0())
    for expected, found in zip(printed, found_at, strict=False):
        if expected.kind:
            kinds[expected.kind] += 1
        np.testing.assert_allclose(found.dual_coef[positive], expected.u, atol=1e-10)
        np.testing.assert_allclose(found.dual_coef[~positive], -expected.v, atol=1e-10)
        np.testing.assert_array_equal(found.dual_coef[positive] > 0, expected.u > 0)
        epsilons = found.info["epsilon_plus"], found.info["epsilon_minus"]
        assert epsilons == pytest.approx((expected.epsilon_plus, expected.epsilon_minus), abs=1e-9)
        assert (found.step, {kind: found.info[kind] for kind in kinds}) == (expected.k, kinds)
    assert found.step == len(printed) - 1 or found.done


@BOTH
@pytest.mark.parametrize(
    "name", ["overlapping clouds", "large chi", "separable linear", "nearly touching", "two points"]
)
def test_iterations_and_core_set_stay_within_the_paper_s_bounds(solver_class, name):
    problem = PROBLEMS[name]()
    delta = delta_of(own(problem).kernel, own(problem).targets > 0)
    assert delta <= delta_bound(problem.kernel.diagonal(), problem.targets > 0) * (1 + 1e-12)
    psi_star = 0.5 * exact_margin(problem) ** 2
    assert psi_star <= delta * (1 + 1e-6)
    for epsilon in (0.6, 0.1) if (solver_class, name) == (Gilbert, "large chi") else (0.6, 0.1, 0.01):
        outcome = drive(solver_class(epsilon=epsilon), problem, rng0())
        bound = iteration_bound(max(delta, psi_star), psi_star, epsilon)
        assert outcome.iterations <= bound
        assert np.count_nonzero(outcome.dual_coef) <= core_set_bound(max(delta, psi_star), psi_star, epsilon)
        assert outcome.info["iteration_bound"] >= bound * (1 - 1e-6)


def test_the_iteration_bound_is_formula_29():
    assert iteration_bound(1.0, 1.0, 0.5) == 2.0
    assert iteration_bound(np.e, 1.0, 0.9) == pytest.approx(2.0 + 10.0 * np.e)
    assert iteration_bound(np.e, 1.0, 0.01) == pytest.approx(6.0 + 10.0 * np.e + 3200.0 * np.e)
    assert iteration_bound(1.0, 0.0, 0.1) == np.inf
    assert core_set_bound(1.0, 1.0, 0.5) == 6.0


@pytest.mark.parametrize("refresh", [7, 5000])
def test_an_accuracy_beyond_rounding_ends(refresh, monkeypatch):
    monkeypatch.setattr("harness_fw.descent._REFRESH", refresh)
    outcome = drive(FrankWolfe(epsilon=1e-300), l2(*clouds(1, 20, 20, 2, 1.0)), rng0(), Limits(time_limit=20))
    assert outcome.claimed_done or outcome.info["status"] == "stalled"
    assert outcome.info["epsilon"] < 1e-10


def test_a_stride_bounds_the_iterations_between_two_yields():
    steps = [each.step for each in FrankWolfe(stride=7).iterates(l2(*clouds(0, 40, 60, 3, 1.0)), rng0())]
    assert max(np.diff(steps)) == 7
    assert steps[-1] == drive(FrankWolfe(), l2(*clouds(0, 40, 60, 3, 1.0)), rng0()).iterations > 100


@pytest.mark.parametrize("name", ["fw", "nearest-point"])
@pytest.mark.parametrize("kernel", [RBF(gamma=0.5), Linear()])
def test_a_run_that_starts_at_a_solution_is_done_at_once(name, kernel):
    """Its first model is the start; of a neighbouring problem's solution fewer iterations are left."""
    solver = get_solver(name).replace(epsilon=1e-2)
    before, problem = (l2(*clouds(0, 30, 40, 3, 1.5), kernel, chi=chi) for chi in (5.0, 10.0))
    cold = drive(solver, problem, rng0())
    again = list(solver.iterates_from(l2(*clouds(0, 30, 40, 3, 1.5), kernel, chi=10.0), rng0(), cold.dual_coef))
    assert again[-1].done
    assert len(again) == 1
    np.testing.assert_allclose(again[0].dual_coef, cold.dual_coef, atol=1e-12)
    start = drive(solver, before, rng0()).dual_coef
    *_, last = solver.iterates_from(problem, rng0(), start)
    assert certified(problem, last).relative_gap <= 2.5e-2
    assert last.step <= cold.iterations


# -- an explicit w ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver_class", [FrankWolfe, Gilbert, PairwiseFrankWolfe, MDM])
def test_iterates_on_an_explicit_w_are_those_of_the_kernel_path_at_one_pass_each(solver_class):
    # of the other rule and formulations too, until two steps of equal worth part them
    problem, other = (l2(*clouds(6, 50, 40, 5, 1.5), Linear(), chi=1.0) for _ in range(2))
    runs = (
        solver_class(epsilon=1e-12, stride=1, explicit_w=explicit).iterates(each, rng0())
        for explicit, each in ((True, problem), (False, other))
    )
    before = None
    for explicit, kept in zip(*runs, strict=False):
        now = problem.kernel.counter.evaluations
        np.testing.assert_allclose(explicit.dual_coef, kept.dual_coef, atol=1e-10)
        assert (explicit.step, explicit.intercept) == (kept.step, pytest.approx(kept.intercept, abs=1e-9))
        assert not explicit.step or now == before + problem.n + (4 if solver_class is PairwiseFrankWolfe else 2)
        before = now
        if explicit.step == 60:
            break
    assert explicit.step == 60


W = [
    (100, 5, {}, False), (100, 5, {"explicit": True}, True),  # calls would take longer than passes
    (40_000, 50, {}, False), (40_000, 50, {"cache_mb": 60.0}, True),  # 839 rows fit and 204 are enough; 196 fit
    (40_000, 50, {"ridge": 1.0}, True), (10_000, 50, {"ridge": 1.0}, False),  # 10,000 should fit; 2500 are enough
    (10_000, 5, {"ridge": 1.0}, True),  # few features
    (40_000, 50, {"ridge": 1.0, "explicit": False}, False), (40_000, 2, {"kernel": RBF()}, False),
]  # fmt: skip


@pytest.mark.parametrize(("n", "d", "options", "stored"), W)
def test_w_is_stored_where_that_is_quicker_or_wanted(n, d, options, stored):
    options = {"kernel": Linear(), "explicit": None, **options}
    kernel, explicit = options.pop("kernel"), options.pop("explicit")
    assert keeps_w(KernelOracle(kernel, np.zeros((n, d)), **options), explicit) == stored


# -- The compiled rules against their naive twins, and the parts that they are made of -------------------


PAIRS = [PairwiseFrankWolfe, MDM, NearestPoint]

MAKE = {
    "overlapping": lambda: l2(*clouds(0, 40, 60, 3, 1.0)),
    "large chi": lambda: l2(*clouds(1, 30, 30, 2, 1.0), chi=1000.0),
    "separable": lambda: hard(*clouds(6, 50, 40, 5, 5.0)),
    "several blocks": lambda: l2(*clouds(3, 700, 900, 4, 1.0), chi=100.0),
    "one positive": lambda: l2(*clouds(10, 1, 40, 3, 2.0)),
}


def assert_follows(solver_class, problem, u, cap=np.inf, one=False):
    """Assert that each of the first steps, then one here and there, is the twin's from the same weights."""
    signs, hulls = hulls_of(problem.targets, one)
    signed = matrix_of(problem) * np.outer(signs, signs)
    apart = []
    iterates = solver_class(epsilon=1e-9, stride=1).iterates(problem, rng0())
    for last in islice(iterates, 101):
        found = signs * last.dual_coef
        if last.step and (last.step <= 25 or last.step % 20 == 1):
            steps = STEPS[solver_class.name](signed, hulls, u, cap)
            apart.append(min(np.abs(step - found).max() for step in steps))
        u = found
    assert len(apart) > 3
    assert max(apart) < 1e-9


@pytest.mark.parametrize("solver_class", PAIRS)
@pytest.mark.parametrize("name", MAKE)
def test_every_iterate_is_that_of_the_twin(solver_class, name):
    problem = MAKE[name]()
    matrix, targets = matrix_of(problem), problem.targets
    assert_follows(solver_class, hard(matrix, targets, Precomputed()), naive_start(matrix, targets))


@pytest.mark.parametrize(("solver_class", "cap"), [*((each, None) for each in PAIRS), *product(PAIRS[1:], [0.3, 0.07])])
def test_every_iterate_on_one_hull_or_within_caps_is_that_of_the_twin(solver_class, cap):
    stated = l2(*clouds(0, 40, 60, 3, 1.0))
    matrix, targets = matrix_of(stated), stated.targets
    if cap is None:
        start = naive_start(matrix, np.ones(100), one=True)
        assert_follows(solver_class, one_hull(matrix, Precomputed()), start, one=True)
        return
    problem = reduced(matrix, targets, cap, Precomputed())
    first = next(iter(solver_class().iterates(problem, rng0())))
    assert problem.feasibility_violation(first.dual_coef) < 1e-15
    assert_follows(solver_class, problem, targets * first.dual_coef, cap)


# -- the parts -------------------------------------------------------------------------------------------------------


@settings(max_examples=200, deadline=None)
@given(
    *[st.floats(-3, 3) for _ in range(2)],
    *[st.lists(st.floats(-2, 2), min_size=2, max_size=2) for _ in range(2)],
    *[st.floats(0.01, 2) for _ in range(2)],
)
def test_the_best_point_of_a_triangle_and_a_rectangle(p, q, one, other, width, height):
    aa, bb, ab = np.dot(one, one), np.dot(other, other), np.dot(one, other)
    s, t = np.meshgrid(np.linspace(0, 1, 21), np.linspace(0, 1, 21))

    def value(a, b):
        return p * a + q * b - 0.5 * (aa * a * a + 2 * ab * a * b + bb * b * b)

    a, b = best_in(p, q, aa, bb, ab, 1.0, 1.0, True)
    assert min(a, b) >= 0
    assert a + b <= 1 + 1e-15
    assert value(a, b) >= value(s, t * (1 - s)).max() - 1e-9
    a, b = best_in(p, q, aa, bb, ab, width, height, False)
    assert 0 <= a <= width
    assert 0 <= b <= height
    assert value(a, b) >= value(width * s, height * t).max() - 1e-9


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 12), st.floats(1.0, 12.0))
def test_the_best_vertex_of_a_reduced_hull_and_of_a_face_are_those_of_a_linear_program(seed, n, room):
    rng, cap = np.random.default_rng(seed), min(1.0, room / n)
    values = rng.integers(-3, 4, size=n).astype(float)

    def least(values, bounds):
        return linprog(values, A_eq=np.ones((1, len(values))), b_eq=[1.0], bounds=bounds).fun

    points, chosen = extreme(values, cap)
    assert chosen @ values[points] == pytest.approx(least(values, [(0, cap)] * n), abs=1e-9)
    weights = np.zeros(n)
    for other in rng.normal(size=(2, n)):  # a point of some face
        at, share = extreme(other, cap)
        weights[at] += 0.5 * share
    used = weights > 0
    values, weights = values[used], weights[used]
    points, share = face_extreme(values, weights, cap)
    face = [(cap if weight >= cap else 0, cap) for weight in weights]
    assert share @ values[points] == pytest.approx(least(values, face), abs=1e-9)
    for found in (chosen, share):
        assert found.sum() == pytest.approx(1.0, abs=1e-12)
        assert found.max() <= cap * (1 + 1e-12)
    np.testing.assert_allclose(share[np.isin(points, np.flatnonzero(weights >= cap))], cap)
