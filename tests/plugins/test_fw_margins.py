"""Every solver on problems real and generated: the exact margin, bounds that bracket it, the counts, the invariants."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from harness_fw import (
    MDM,
    CoreVectorMachine,
    FrankWolfe,
    FullyCorrective,
    Gilbert,
    NearestPoint,
    NewtonFrankWolfe,
    PairwiseFrankWolfe,
)
from harness_fw.rules import KINDS

from harness import RBF, KernelOracle, Linear, Precomputed, drive
from harness.problems import L2SVC, HardMargin, PolytopeDistance, ReducedHull
from tests.plugins.hull_problems import PROBLEMS, clouds, exact_margin, hard, l2, matrix_of, rng0
from tests.plugins.points import cancer, digits

PAIRS = [PairwiseFrankWolfe, MDM, NearestPoint]
EVERY = [FrankWolfe, Gilbert, *PAIRS]
TAKEN = {FrankWolfe: {"add", "decrease", "drop"}, Gilbert: {"add"}, NearestPoint: set(KINDS)}


def reduced(x, y, cap, kernel=None):
    return ReducedHull.build(KernelOracle(kernel or RBF(gamma=0.5), x), y, {"D": cap})


def one_hull(x, kernel=None):
    return PolytopeDistance.build(KernelOracle(kernel or Linear(), x), np.ones(len(x)))


def real(formulation, data, kernel, n=150, **values):
    x, y = data(n)
    return formulation.build(KernelOracle(kernel, x), y, values)


MORE = {
    "wdbc, l2": lambda: real(L2SVC, cancer, RBF(gamma=0.03), C=1.0),
    "digits, hard margin": lambda: real(HardMargin, digits, RBF(gamma=0.05)),
    "wdbc, reduced": lambda: real(ReducedHull, cancer, RBF(gamma=0.03), D=0.02),
    "digits, one hull": lambda: real(PolytopeDistance, digits, Linear()),
    "reduced, fractional": lambda: reduced(*clouds(1, 20, 30, 3, 1.5), cap=0.13),
    "reduced, all points of a class": lambda: reduced(*clouds(2, 10, 30, 3, 1.0), cap=0.1),
    "one hull, far": lambda: one_hull(clouds(5, 20, 20, 4, 1.0)[0] + 2.0),
    "one hull, rbf": lambda: one_hull(clouds(6, 20, 20, 3, 1.0)[0], RBF(gamma=0.5)),
    "one hull, one point": lambda: one_hull(np.array([[3.0, 4.0]])),
    "one hull, duplicates": lambda: one_hull(np.repeat(clouds(7, 6, 6, 2, 1.0)[0] + 3.0, 3, axis=0)),
}


ALL = {**PROBLEMS, **MORE}
SHORT = {
    "overlapping clouds",
    "small chi",
    "nearly touching",
    "two equal points",
    "duplicates, hard margin",
    "wdbc, reduced",
}
SOLVERS = [
    *(cls(epsilon=0.1 if cls is Gilbert else 1e-4) for cls in EVERY),
    *(cls(epsilon=0.1 if cls is Gilbert else 1e-4, explicit_w=True) for cls in EVERY),
    *(FullyCorrective(epsilon=1e-4, vertices=vertices) for vertices in (None, 1)),
    *(CoreVectorMachine(gap=2e-4, sample=sample) for sample in (0, 3)),
    NewtonFrankWolfe(epsilon=1e-4),
]
named = {"ids": str}


@functools.cache
def exact(name):
    return exact_margin(ALL[name]())


@pytest.mark.parametrize("solver", SOLVERS, **named)
@pytest.mark.parametrize(
    "name", [name if name in SHORT else pytest.param(name, marks=pytest.mark.slow) for name in ALL]
)
def test_the_margin_is_the_exact_one_and_the_bounds_bracket_it_at_every_yield(solver, name):
    problem = ALL[name]()
    if solver.refusal(problem) is not None:
        pytest.skip(f"{solver.name} does not solve {problem.name}")
    margin, norm = exact(name), np.inf
    for found in solver.iterates(problem, rng0()):
        certificate = problem.certify(*problem.checked(found.dual_coef, found.intercept, tolerance=1e-12))
        assert certificate.margin_lower <= margin * (1 + 1e-5)
        assert certificate.margin_upper >= margin * (1 - 1e-5)
        assert found.working_set >= np.count_nonzero(found.dual_coef)
        if type(solver) in EVERY:
            assert found.working_set == np.count_nonzero(found.dual_coef)
            assert found.info["norm"] <= norm * (1 + 1e-12)
            norm = found.info["norm"]
            assert sum(found.info[kind] for kind in KINDS[1:]) == found.step
            assert not found.step or found.info[found.info["kind"]] > 0
            assert found.info["epsilon_plus"] == pytest.approx(certificate.epsilon_plus, abs=1e-7)
    assert found.done, found.info
    epsilon = getattr(solver, "epsilon", None) or 1e-4
    assert certificate.epsilon_plus <= epsilon * (1 + 1e-6) + 1e-9
    assert found.info["epsilon_plus"] == pytest.approx(certificate.epsilon_plus, abs=1e-7)
    assert certificate.margin_upper <= margin / (1 - epsilon) * (1 + 1e-5)
    assert {kind for kind in KINDS[1:] if found.info.get(kind)} <= TAKEN.get(type(solver), {"pair", "swap"})
    if solver.name not in ("gilbert", "cvm"):
        assert certificate.epsilon_minus <= epsilon * (1 + 1e-6) + 1e-9


@pytest.mark.parametrize("solver", SOLVERS, **named)
@pytest.mark.parametrize(
    "make",
    [
        lambda: hard(*clouds(0, 30, 30, 2, 0.5)),  # overlapping
        lambda: hard(np.ones((2, 2)), np.array([1.0, -1.0])),  # equal points
        lambda: hard(np.zeros((3, 2)), np.array([1.0, -1.0, -1.0])),  # all at the origin
        lambda: reduced(*clouds(0, 30, 30, 2, 0.1), cap=0.1, kernel=Linear()),
        lambda: one_hull(np.array([[1.0, 0.0], [-1.0, 1.0], [-1.0, -1.0]])),  # the origin inside
    ],
)
def test_hulls_that_meet_end_the_run_and_the_evidence_is_said(solver, make):
    problem = make()
    if solver.refusal(problem) is not None:
        pytest.skip(f"{solver.name} does not solve {problem.name}")
    outcome = drive(solver, problem, rng0())
    assert not outcome.claimed_done
    assert outcome.info["status"] == "w may be 0"
    assert outcome.info["norm"] <= 1e-7 * problem.largest_diagonal() ** 0.5
    assert "|w| = " in outcome.info["stopped"]
    assert problem.feasibility_violation(outcome.dual_coef) < 1e-12


def test_gilbert_gives_up_hulls_that_touch_in_an_edge_and_does_not_say_that_they_meet():
    x = np.array([[0.0, 1.0], [0.0, -1.0], [-1.0, 0.0], [0.0, 0.3], [1.0, 0.0], [1.0, 1.0]])
    outcome = drive(Gilbert(), hard(x, np.repeat([1.0, -1.0], 3), kernel=Linear()), rng0())
    assert (outcome.claimed_done, outcome.info["status"], outcome.info["add"]) == (False, "stalled", 100_000)


@pytest.mark.parametrize("solver_class", PAIRS)
@pytest.mark.parametrize("cache_mb", [1e-9, 256.0])
def test_an_iteration_costs_two_rows_at_most_while_memory_holds_the_support_s(solver_class, cache_mb, monkeypatch):
    monkeypatch.setattr("harness_fw.descent._REFRESH", 10**9)
    problem = l2(*clouds(0, 60, 90, 3, 1.0), cache_mb=cache_mb)
    n, counter = problem.n, problem.kernel.counter
    most = 2 if cache_mb > 1 or solver_class is not PairwiseFrankWolfe else 4
    for found in solver_class(epsilon=1e-3).iterates(problem, rng0()):
        if not found.done:  # the end is judged by scores from scratch
            assert counter.evaluations <= n * (4 + most * found.step)
    rows = counter.evaluations - n
    assert rows == n * found.info["rows"]
    if cache_mb > 1:
        assert found.info["rows"] <= n


@pytest.mark.parametrize("solver_class", [FrankWolfe, *PAIRS])
def test_a_row_that_a_step_reads_was_computed_for_it_or_is_a_hit(solver_class, monkeypatch):
    monkeypatch.setattr("harness_fw.descent._REFRESH", 10**9)
    read, hits, found = [], [], []
    for cache_mb in (1e-9, 0.01, 256.0):
        problem = l2(*clouds(0, 60, 90, 3, 1.0), cache_mb=cache_mb)
        outcome = drive(solver_class(epsilon=1e-3), problem, rng0())
        hits.append(problem.kernel.counter.cache_hits)
        read.append((outcome.iterations, hits[-1] + outcome.info["rows"]))
        found.append(outcome.dual_coef)
    assert read[0] == read[1] == read[2]
    assert hits[0] < hits[1] < hits[2]
    np.testing.assert_allclose(found, [found[0]] * 3, atol=1e-10)


@pytest.mark.parametrize("solver_class", [FrankWolfe, NearestPoint])
def test_a_refresh_that_computes_many_rows_pauses_and_changes_nothing_but_rounding(solver_class, monkeypatch):
    x, y = clouds(0, 60, 90, 3, 1.0)
    matrix = matrix_of(l2(x, y))
    make = lambda mb: HardMargin.build(KernelOracle(Precomputed(), matrix, cache_mb=mb), y)  # noqa: E731
    plain = {each.step: each.dual_coef.copy() for each in solver_class().iterates(make(256.0), rng0())}
    monkeypatch.setattr("harness_fw.descent.YIELD_VALUES", 1)  # a word for the caller after two rows
    monkeypatch.setattr("harness_fw.descent._REFRESH", 20)
    problem = make(1e-9)
    before, pauses = 0, 0
    for last in solver_class(stride=1).iterates(problem, rng0()):
        now, step = problem.kernel.counter.evaluations, last.step
        assert step == 0 or now - before <= 6 * problem.n  # four rows in the memory, two of the next step
        pauses, before = pauses + (now > before), now
        if step in plain:
            np.testing.assert_allclose(last.dual_coef, plain[step], atol=1e-10)
        if step == 64:
            break
    assert last.working_set > 8, "a refresh computes more rows than one yield may"
    assert pauses > 66  # more than there are iterations
