"""Every rule on 30 problems, real and generated: the exact margin, bounds that bracket it, the counts, the invariants."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from harness_fw import MDM, FrankWolfe, Gilbert, NearestPoint, PairwiseFrankWolfe
from hypothesis import given, settings
from hypothesis import strategies as st

from harness import L2SVC, RBF, HardMargin, KernelOracle, Linear, PolytopeDistance, Precomputed, ReducedHull, drive
from harness import get_solver as solver_of
from tests.plugins.hull_problems import PROBLEMS, clouds, hard, l2, matrix_of, rng0
from tests.plugins.points import cancer, digits, overlapping

PAIRS = [PairwiseFrankWolfe, MDM, NearestPoint]
EVERY = [FrankWolfe, Gilbert, *PAIRS]


def reduced(x, y, cap, kernel=None):
    return ReducedHull.build(KernelOracle(kernel or RBF(gamma=0.5), x), y, {"D": cap})


def one_hull(x, kernel=None):
    return PolytopeDistance.build(KernelOracle(kernel or Linear(), x), np.ones(len(x)))


def real(formulation, data, kernel, n=150, **values):
    x, y = data(n)
    return formulation.build(KernelOracle(kernel, x), y, values)


MORE = {
    "wdbc, l2": lambda: real(L2SVC, cancer, RBF(gamma=0.03), C=1.0),
    "wdbc, linear": lambda: real(L2SVC, cancer, Linear(), C=0.1),
    "digits, hard margin": lambda: real(HardMargin, digits, RBF(gamma=0.05)),
    "wdbc, reduced": lambda: real(ReducedHull, cancer, RBF(gamma=0.03), D=0.02),
    "digits, one hull": lambda: real(PolytopeDistance, digits, Linear()),
    "reduced, half of the points": lambda: reduced(*clouds(0, 20, 30, 3, 1.0), cap=0.1),
    "reduced, fractional": lambda: reduced(*clouds(1, 20, 30, 3, 1.5), cap=0.13),
    "reduced, all points of a class": lambda: reduced(*clouds(2, 10, 30, 3, 1.0), cap=0.1),
    "reduced, without a cap": lambda: reduced(*clouds(3, 10, 12, 2, 6.0), cap=1.0, kernel=Linear()),
    "reduced, duplicates": lambda: reduced(
        *(np.repeat(part, 2, axis=0) for part in clouds(4, 10, 12, 3, 2.0)), cap=0.2
    ),
    "one hull, far": lambda: one_hull(clouds(5, 20, 20, 4, 1.0)[0] + 2.0),
    "one hull, rbf": lambda: one_hull(clouds(6, 20, 20, 3, 1.0)[0], RBF(gamma=0.5)),
    "one hull, a line": lambda: one_hull(np.outer(np.arange(1.0, 9.0), [1.0, 2.0])),
    "one hull, one point": lambda: one_hull(np.array([[3.0, 4.0]])),
    "one hull, duplicates": lambda: one_hull(np.repeat(clouds(7, 6, 6, 2, 1.0)[0] + 3.0, 3, axis=0)),
}
ALL = {**PROBLEMS, **MORE}


@functools.cache
def exact(name):
    """The bounds of the optimal margin from the reference solver's certificate."""
    problem = ALL[name]()
    found = solver_of("qp").solve(problem)
    certificate = problem.certify(found.dual_coef, found.intercept)
    assert certificate.relative_gap < 1e-5
    return certificate.margin_lower, certificate.margin_upper


SHORT = (
    "overlapping clouds",
    "small chi",
    "two equal points",
    "duplicates, hard margin",
    "wdbc, reduced",
    "one hull, far",
)


@pytest.mark.parametrize("solver_class", EVERY)
@pytest.mark.parametrize(
    "name", [name if name in SHORT else pytest.param(name, marks=pytest.mark.slow) for name in ALL]
)
def test_the_margin_is_the_exact_one_and_the_bounds_bracket_it(solver_class, name):
    problem = ALL[name]()
    low, high = exact(name)
    epsilon = 0.1 if solver_class is Gilbert else 1e-4
    for found in solver_class(epsilon=epsilon, max_iterations=200_000).iterates(problem, rng0()):
        certificate = problem.certify(*problem.checked(found.dual_coef, found.intercept, tolerance=1e-12))
        assert certificate.margin_lower <= high * (1 + 1e-9)
        assert certificate.margin_upper >= low * (1 - 1e-9)
    assert found.done, found.info
    assert certificate.epsilon_plus <= epsilon * (1 + 1e-6) + 1e-9
    assert certificate.margin_upper <= high / (1 - epsilon) * (1 + 1e-9)
    if solver_class is not Gilbert:
        assert certificate.epsilon_minus <= epsilon * (1 + 1e-6) + 1e-9


@pytest.mark.parametrize("solver_class", EVERY)
@pytest.mark.parametrize(
    "make",
    [
        lambda: hard(*clouds(0, 30, 30, 2, 0.5)),  # overlapping
        lambda: hard(np.array([[0.0], [0.0], [1.0], [-1.0]]), np.array([1.0, -1.0, 1.0, -1.0])),  # they touch
        lambda: hard(np.ones((2, 2)), np.array([1.0, -1.0])),  # equal points
        lambda: reduced(*clouds(0, 30, 30, 2, 0.1), cap=0.1, kernel=Linear()),
        lambda: one_hull(np.array([[1.0, 0.0], [-1.0, 1.0], [-1.0, -1.0]])),  # the origin inside
        lambda: one_hull(np.array([[1.0, 1.0], [-1.0, 1.0], [0.0, 0.0]])),  # and at a corner
    ],
)
def test_hulls_that_meet_end_the_run_and_say_so(solver_class, make):
    problem = make()
    solver = solver_class(max_iterations=300_000)
    outcome = drive(solver, problem, rng0())
    assert not outcome.claimed_done
    inside = isinstance(problem, PolytopeDistance)
    assert outcome.info["status"] == ("the origin is inside" if inside else "hulls intersect")
    assert outcome.info["norm"] <= solver.touching * problem.largest_diagonal() ** 0.5
    assert "no margin is wider" in outcome.info["stopped"]
    assert problem.feasibility_violation(outcome.dual_coef) < 1e-12


@pytest.mark.parametrize("solver_class", PAIRS)
@pytest.mark.parametrize("cache_mb", [1e-9, 256.0])
def test_an_iteration_costs_two_rows_at_most_while_memory_holds_the_support_s(solver_class, cache_mb):
    problem = l2(*clouds(0, 60, 90, 3, 1.0))
    n, counter = problem.n, problem.kernel.counter
    most = 2 if cache_mb > 1 or solver_class is not PairwiseFrankWolfe else 4
    for found in solver_class(epsilon=1e-3, cache_mb=cache_mb, refresh=10**9, max_iterations=500).iterates(
        problem, rng0()
    ):
        if not found.done:  # the end is judged by scores from scratch
            assert counter.evaluations <= n * (4 + most * found.step)
    rows = counter.evaluations - n
    assert rows == n * found.info["rows"]
    if cache_mb > 1:
        assert found.info["rows"] <= n


@pytest.mark.parametrize("solver_class", [FrankWolfe, *PAIRS])
def test_a_row_that_a_step_reads_was_computed_for_it_or_is_a_hit(solver_class):
    read, hits = [], []
    for cache_mb in (1e-9, 0.01, 256.0):
        problem = l2(*clouds(0, 60, 90, 3, 1.0))
        outcome = drive(solver_class(epsilon=1e-3, cache_mb=cache_mb, refresh=10**9), problem, rng0())
        hits.append(problem.kernel.counter.cache_hits)
        read.append((outcome.iterations, hits[-1] + outcome.info["rows"]))
    assert read[0] == read[1] == read[2]
    assert hits[0] < hits[1] < hits[2]


@pytest.mark.parametrize("solver_class", PAIRS)
def test_a_small_memory_changes_the_counts_and_not_the_iterates(solver_class):
    x, y = clouds(0, 60, 90, 3, 1.0)
    matrix = matrix_of(l2(x, y))
    found = []
    for cache_mb in (1e-9, 256.0):
        problem = HardMargin.build(KernelOracle(Precomputed(), matrix), y)
        outcome = drive(solver_class(cache_mb=cache_mb, max_iterations=60), problem, rng0())
        found.append((outcome, problem.kernel.counter.evaluations))
    (small, more), (large, fewer) = found
    assert more > fewer
    assert small.iterations == large.iterations
    np.testing.assert_allclose(small.dual_coef, large.dual_coef, atol=1e-12)


FORMS = {
    "l2": lambda x, y: l2(x, y, chi=5.0),
    "reduced": lambda x, y: reduced(x, y, cap=max(0.4, 1.0 / min((y > 0).sum(), (y < 0).sum()))),
    "one hull": lambda x, y: PolytopeDistance.build(KernelOracle(RBF(gamma=0.5), x), y),
}


@pytest.mark.parametrize("solver_class", EVERY)
@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=5, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(2, 16))
def test_labels_order_duplicates_and_scale_do_not_matter(solver_class, form, seed, n):
    x, y = overlapping(seed, n=n)
    y[:2] = 1.0, -1.0
    epsilon = 0.02 if solver_class is Gilbert else 1e-4
    make, solver = FORMS[form], solver_class(epsilon=epsilon, max_iterations=100_000)
    base = drive(solver, make(x, y), rng0())
    if not base.claimed_done:  # the reduced hulls meet
        assert base.info["status"] == "hulls intersect"
        return
    margin = base.info["norm"]

    def close(problem, scale=1.0):
        other = drive(solver, problem, rng0())
        assert other.claimed_done
        assert (1 - 2 * epsilon) * scale * margin <= other.info["norm"] <= scale * margin / (1 - 2 * epsilon)
        return other

    close(make(x, -y))
    order = np.random.default_rng(seed).permutation(n)
    close(make(x[order], y[order]))
    if form == "one hull":
        close(make(np.vstack([x, x]), np.concatenate([y, y])))
    # k -> 4 k: every step is the same, powers of two round nothing
    problem = make(x, y)
    oracle = KernelOracle(Precomputed(), 4.0 * matrix_of(problem))
    formulation = HardMargin if form == "l2" else type(problem)
    values = {"D": problem.cap} if form == "reduced" else {}
    scaled = close(formulation.build(oracle, y, values), 2.0)
    np.testing.assert_allclose(scaled.dual_coef, base.dual_coef, atol=1e-6)


@pytest.mark.parametrize("solver_class", [FrankWolfe, NearestPoint])
def test_a_refresh_that_computes_many_rows_pauses_and_changes_nothing_but_rounding(solver_class, monkeypatch):
    x, y = clouds(0, 60, 90, 3, 1.0)
    matrix = matrix_of(l2(x, y))
    make = lambda: HardMargin.build(KernelOracle(Precomputed(), matrix), y)  # noqa: E731
    plain = drive(solver_class(refresh=10**9, max_iterations=60), make(), rng0())
    monkeypatch.setattr("harness_fw.descent.YIELD_VALUES", 1)  # a word for the caller after two rows
    problem = make()
    before, most, last = 0, 0, None
    for last in solver_class(refresh=20, cache_mb=1e-9, max_iterations=60).iterates(problem, rng0()):
        now = problem.kernel.counter.evaluations
        if last.step > 0:
            most = max(most, now - before)
        before = now
    assert last.step == plain.iterations == 60
    assert last.working_set > 8, "a refresh computes more rows than one yield may"
    assert most <= 6 * problem.n  # four rows in the memory, two of the next step
    np.testing.assert_allclose(last.dual_coef, plain.dual_coef, atol=1e-10)
