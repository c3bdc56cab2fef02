"""Every solver on problems real and generated: the exact margin, bounds that bracket it, the counts, the invariants."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from harness_fw import MDM, CoreVectorMachine, FrankWolfe, FullyCorrective, Gilbert, NearestPoint, PairwiseFrankWolfe
from harness_fw.rules import KINDS
from harness_fw.solvers import NewtonFrankWolfe

from harness import RBF, Linear, Precomputed, drive
from harness.problems import L2SVC
from tests.plugins.common import build, cancer, certified, digits, matrix_of
from tests.plugins.hull_problems import PROBLEMS, clouds, exact_margin, hard, l2, one_hull, reduced, rng0

PAIRS = [PairwiseFrankWolfe, MDM, NearestPoint]
EVERY = [FrankWolfe, Gilbert, *PAIRS]
TAKEN = {FrankWolfe: {"add", "decrease", "drop"}, Gilbert: {"add"}, NearestPoint: set(KINDS)}
ALL = {
    **PROBLEMS,
    "wdbc, l2": lambda: build(L2SVC, *cancer(150), RBF(gamma=0.03), C=1.0),
    "digits, hard margin": lambda: hard(*digits(150), RBF(gamma=0.05)),
    "wdbc, reduced": lambda: reduced(*cancer(150), 0.02, RBF(gamma=0.03)),
    "digits, one hull": lambda: one_hull(digits(150)[0]),
    "reduced, fractional": lambda: reduced(*clouds(1, 20, 30, 3, 1.5), 0.13),
    "reduced, all points of a class": lambda: reduced(*clouds(2, 10, 30, 3, 1.0), 0.1),
    "reduced, two caps": lambda: reduced(*clouds(1, 20, 30, 3, 1.5), 0.13, D_minus=0.4),
    "reduced, a cap for one class": lambda: reduced(*clouds(1, 20, 30, 3, 1.5), 0.2, D_minus=1.0),
    "one hull, far": lambda: one_hull(clouds(5, 20, 20, 4, 1.0)[0] + 2.0),
    "one hull, rbf": lambda: one_hull(clouds(6, 20, 20, 3, 1.0)[0], RBF(gamma=0.5)),
    "one hull, one point": lambda: one_hull(np.array([[3.0, 4.0]])),
    "one hull, duplicates": lambda: one_hull(np.repeat(clouds(7, 6, 6, 2, 1.0)[0] + 3.0, 3, axis=0)),
}
SHORT = [*list(PROBLEMS)[:2], "nearly touching", "two equal points", "duplicates, hard margin", "wdbc, reduced"]
SOLVERS = [
    *(cls(epsilon=0.1 if cls is Gilbert else 1e-4) for cls in EVERY),
    *(cls(epsilon=0.1 if cls is Gilbert else 1e-4, explicit_w=True) for cls in EVERY),
    *(FullyCorrective(epsilon=1e-4, vertices=vertices) for vertices in (None, 1)),
    *(CoreVectorMachine(gap=2e-4, sample=sample) for sample in (0, 3)),
    NewtonFrankWolfe(epsilon=1e-4),
]
EACH = pytest.mark.parametrize("solver", SOLVERS, ids=str)
margin_of = functools.cache(lambda name: exact_margin(ALL[name]()))


def taken(solver, problem):
    if solver.refusal(problem) is not None:
        pytest.skip(f"{solver.name} does not solve {problem.name}")
    return problem


@EACH
@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] * (name not in SHORT)) for name in ALL])
def test_the_margin_is_the_exact_one_and_the_bounds_bracket_it_at_every_yield(solver, name):
    problem = taken(solver, ALL[name]())
    margin, norm = margin_of(name), np.inf
    for found in solver.iterates(problem, rng0()):
        certificate = problem.certify(*problem.checked(found.dual_coef, found.intercept, tolerance=1e-12))
        assert certificate.margin_lower * (1 - 1e-5) <= margin <= certificate.margin_upper * (1 + 1e-5)
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


MEETING = {
    "overlapping": lambda: hard(*clouds(0, 30, 30, 2, 0.5)),
    "equal points": lambda: hard(np.ones((2, 2)), np.array([1.0, -1.0])),
    "all at the origin": lambda: hard(np.zeros((3, 2)), np.array([1.0, -1.0, -1.0])),
    "reduced": lambda: reduced(*clouds(0, 30, 30, 2, 0.1), 0.1, Linear()),
    "the origin inside": lambda: one_hull(np.array([[1.0, 0.0], [-1.0, 1.0], [-1.0, -1.0]])),
}


@EACH
@pytest.mark.parametrize("name", MEETING)
def test_hulls_that_meet_end_the_run_and_the_evidence_is_said(solver, name):
    problem = taken(solver, MEETING[name]())
    outcome = drive(solver, problem, rng0())
    assert (outcome.claimed_done, outcome.info["status"]) == (False, "w may be 0")
    assert outcome.info["norm"] <= 1e-7 * problem.largest_diagonal() ** 0.5
    assert "|w| = " in outcome.info["stopped"]
    assert problem.feasibility_violation(outcome.dual_coef) < 1e-12


def test_gilbert_gives_up_hulls_that_touch_in_an_edge_and_does_not_say_that_they_meet():
    x = np.array([[0.0, 1.0], [0.0, -1.0], [-1.0, 0.0], [0.0, 0.3], [1.0, 0.0], [1.0, 1.0]])
    outcome = drive(Gilbert(), hard(x, np.repeat([1.0, -1.0], 3), kernel=Linear()), rng0())
    assert (outcome.claimed_done, outcome.info["status"], outcome.info["add"]) == (False, "stalled", 100_000)


@pytest.mark.parametrize("solver_class", [FrankWolfe, *PAIRS])
def test_a_row_that_a_step_reads_was_computed_for_it_or_is_a_hit_and_an_iteration_reads_two_or_four(
    solver_class, monkeypatch
):
    monkeypatch.setattr("harness_fw.descent._REFRESH", 10**9)
    read, hits, coef = [], [], []
    for cache_mb in (1e-9, 0.01, 256.0):
        problem = l2(*clouds(0, 60, 90, 3, 1.0), cache_mb=cache_mb)
        n, counter = problem.n, problem.kernel.counter
        most = 2 if cache_mb > 1 or solver_class in (MDM, NearestPoint) else 4
        for found in solver_class(epsilon=1e-3).iterates(problem, rng0()):
            assert found.done or counter.evaluations <= n * (4 + most * found.step)  # the end is judged from scratch
        assert counter.evaluations - n == n * found.info["rows"]
        assert cache_mb < 1 or found.info["rows"] <= n
        hits.append(counter.cache_hits)
        read.append((found.step, hits[-1] + found.info["rows"]))
        coef.append(found.dual_coef)
    assert read[0] == read[1] == read[2]
    assert hits[0] < hits[1] < hits[2]
    np.testing.assert_allclose(coef, [coef[0]] * 3, atol=1e-10)


@pytest.mark.parametrize("solver_class", [FrankWolfe, NearestPoint])
def test_a_refresh_changes_nothing_but_rounding_and_computes_the_rows_that_are_not_in_memory(solver_class, monkeypatch):
    x, y = clouds(0, 60, 90, 3, 1.0)
    matrix = matrix_of(l2(x, y))
    problem = hard(matrix, y, Precomputed())
    plain = {each.step: each.dual_coef.copy() for each in solver_class().iterates(problem, rng0())}
    monkeypatch.setattr("harness_fw.descent._REFRESH", 20)
    problem = hard(matrix, y, Precomputed(), cache_mb=1e-9)
    before, most = 0, 0
    for last in solver_class(stride=1).iterates(problem, rng0()):
        now = problem.kernel.counter.evaluations
        most, before = max(most, now - before if last.step else 0), now
        if last.step in plain:
            np.testing.assert_allclose(last.dual_coef, plain[last.step], atol=1e-10)
        if last.step == 64:
            break
    assert most > 4 * problem.n  # the next step's rows are two


@pytest.mark.parametrize("solver_class", EVERY)
@pytest.mark.parametrize(("apart", "whole"), [(4.0, False), (0.3, True)])
def test_a_run_on_parts_ends_at_the_accuracy_of_all_points(solver_class, apart, whole, monkeypatch):
    monkeypatch.setattr("harness_fw.parts.PART", 16)
    problem = l2(*clouds(3, 140, 160, 3, apart), RBF(gamma=0.1), cache_mb=0.1)
    epsilon, norm, sizes = 0.1 if solver_class is Gilbert else 1e-3, np.inf, []
    for found in solver_class(epsilon=epsilon).iterates(problem, rng0()):
        sizes.append(found.info["points"])
        assert found.info["epsilon"] > 0.0
        assert found.info["norm"] <= norm * (1 + 1e-9)
        assert sum(found.info[kind] for kind in KINDS[1:]) == found.step
        norm = found.info["norm"]
    certificate = certified(problem, found)
    assert found.done
    assert len(set(sizes)) > 1
    assert (sizes[-1] == problem.n) == whole
    assert found.info["epsilon_plus"] == pytest.approx(certificate.epsilon_plus, abs=1e-9)
    assert certificate.epsilon_plus <= epsilon
    assert certificate.relative_gap <= 2 * epsilon
    assert norm == pytest.approx(certificate.margin_upper)


def test_a_run_on_parts_goes_on_from_a_start_and_counts_every_kernel_value(monkeypatch):
    monkeypatch.setattr("harness_fw.parts.PART", 16)
    first, second = (l2(*clouds(3, 140, 160, 3, 4.0), RBF(gamma=0.1), cache_mb=0.1) for _ in range(2))
    cold = drive(FrankWolfe(epsilon=1e-3), first, rng0())
    *_, again = FrankWolfe(epsilon=1e-3).iterates_from(second, rng0(), cold.dual_coef)
    assert again.done
    assert again.step < cold.iterations / 2
    assert first.kernel.counter.evaluations > first.n * np.count_nonzero(cold.dual_coef)
