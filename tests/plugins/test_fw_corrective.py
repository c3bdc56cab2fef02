"""Fully corrective Frank-Wolfe: its rounds against a slow twin, the exact margin, oracles, rows, the paper's bounds."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from harness_fw import CoreVectorMachine, FullyCorrective, core_set_bound, delta_of, iteration_bound
from harness_fw.bounds import decrease_bound
from harness_fw.core_set import taken

from harness import (
    RBF,
    HardMargin,
    KernelOracle,
    Linear,
    PolytopeDistance,
    Precomputed,
    ReducedHull,
    UsageError,
    drive,
)
from harness.kernels.oracle import uncounted
from tests.plugins.hull_problems import PROBLEMS, clouds, exact_margin, l2, matrix_of, rng0
from tests.plugins.naive_core_set import exact_weights, naive_rounds


def signed_matrix(problem):
    return matrix_of(problem) * np.outer(problem.targets, problem.targets)


def by_class(problem):
    """Return the signed matrix with the positives first, and the side of each point."""
    order = np.argsort(problem.targets <= 0, kind="stable")
    return signed_matrix(problem)[np.ix_(order, order)], (problem.targets[order] < 0).astype(int)


# -- the solver ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["overlapping clouds", "linear l2", "hard margin rbf", "separable linear"])
def test_rounds_with_one_vertex_a_class_are_those_of_the_slow_twin(name, monkeypatch):
    monkeypatch.setattr("harness_fw.corrective.INNER", 1e-7)  # exact, as the twin is
    problem = PROBLEMS[name]()
    side = (problem.targets < 0).astype(int)
    expected = naive_rounds(signed_matrix(problem), side, 1e-4, 40)
    rounds = FullyCorrective(epsilon=1e-4, vertices=1).iterates(problem, rng0())
    found = [(each, np.count_nonzero(each.dual_coef)) for each in rounds]  # the coefficients are the solver's own array
    assert len(found) == len(expected)
    last = list(FullyCorrective(epsilon=1e-4, vertices=1).iterates(problem, rng0()))[-1]
    np.testing.assert_array_equal(np.flatnonzero(last.dual_coef), expected[-1][0])
    for (iterate, support), (core, norm) in zip(found, expected, strict=True):
        assert support == len(core) <= iterate.working_set
        assert iterate.info["norm"] == pytest.approx(norm, rel=1e-5)


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("solver", [FullyCorrective()])
def test_margin_bounds_bracket_the_exact_margin_at_every_round(solver, name):
    problem = PROBLEMS[name]()
    margin = exact_margin(problem)
    last = None
    for last in solver.iterates(problem, rng0()):
        coef, intercept = problem.checked(last.dual_coef, last.intercept)
        found = problem.certify(coef, intercept)
        assert found.margin_lower <= margin * (1 + 1e-6)
        assert found.margin_upper >= margin * (1 - 1e-6)
        assert last.info["epsilon_plus"] == pytest.approx(found.epsilon_plus, abs=1e-7)
        assert last.info["epsilon_minus"] == pytest.approx(found.epsilon_minus, abs=1e-7)
    assert last is not None
    assert last.done
    assert last.working_set >= np.count_nonzero(last.dual_coef)
    assert max(found.epsilon_plus, found.epsilon_minus) <= solver.epsilon * (1 + 1e-6) + 1e-9


@pytest.mark.parametrize("name", ["overlapping clouds", "grid"])
def test_the_oracle_gives_the_same_margin(name):
    problem = PROBLEMS[name]()
    own = drive(FullyCorrective(epsilon=1e-4), problem, rng0())
    other = drive(FullyCorrective(epsilon=1e-4, oracle="qp"), problem, rng0())
    assert own.claimed_done
    assert other.claimed_done
    assert other.info["norm"] == pytest.approx(own.info["norm"], rel=2e-4)
    assert own.info["descent_steps"] > 0 or own.iterations == 0
    assert other.info["descent_steps"] == 0


@pytest.mark.parametrize(("D", "oracle"), [(0.9, None), (0.34, None), (0.1, None), (0.1, "qp"), (1 / 20, None)])
def test_reduced_hulls(D, oracle):
    x, y = clouds(5, 20, 30, 2, 3.0)
    problem = ReducedHull.build(KernelOracle(RBF(gamma=0.5), x), y, {"D": D})
    outcome = drive(FullyCorrective(epsilon=1e-4, oracle=oracle), problem, rng0())
    assert outcome.claimed_done
    coef, intercept = problem.checked(outcome.dual_coef, outcome.intercept, tolerance=1e-9)
    found = problem.certify(coef, intercept)
    assert found.epsilon_plus <= 1.01e-4
    assert found.epsilon_minus <= 1.01e-4
    matrix, side = by_class(problem)
    exact = exact_weights(matrix, side, (D, D))
    assert found.margin_upper == pytest.approx(np.sqrt(exact @ matrix @ exact), rel=2e-4)


def test_no_row_is_computed_twice_while_memory_lasts():
    problem = l2(*clouds(0, 60, 90, 3, 1.0))
    asked = {0 if problem.targets[0] > 0 else int(np.flatnonzero(problem.targets > 0)[0])}
    for found in FullyCorrective(vertices=2).iterates(problem, rng0()):
        asked |= set(np.flatnonzero(found.dual_coef))
    n, rows = problem.n, found.info["rows"]
    assert problem.kernel.counter.evaluations == n * (1 + rows)  # the diagonal
    assert len(asked) <= rows <= len(asked) + found.info["dropped"] + 2


def test_a_small_memory_changes_the_counts_and_not_the_model():
    x, y = clouds(0, 60, 90, 3, 1.0)
    matrix = matrix_of(l2(x, y))
    outcomes, counts = [], []
    for cache_mb in (1e-9, 0.02, 256.0):
        problem = HardMargin.build(KernelOracle(Precomputed(), matrix), y)
        outcomes.append(drive(FullyCorrective(cache_mb=cache_mb), problem, rng0()))
        counts.append(problem.kernel.counter.evaluations)
    assert counts[0] > counts[1] > counts[2]
    for outcome in outcomes[:2]:
        assert outcome.iterations == outcomes[2].iterations
        np.testing.assert_allclose(outcome.dual_coef, outcomes[2].dual_coef, atol=1e-9)


def test_rows_of_former_members_make_room():
    x, y = clouds(0, 10, 10, 3, 1.0)
    problem = l2(x, y)
    rows = problem.kernel.buffer(4 * 8 * 20 / 2**20)  # four rows
    expected = matrix_of(problem)
    for members, points in (([], [0, 1, 2]), ([1, 2], [3, 4]), ([2, 3, 4], [0, 5]), ([0, 5], [1, 2, 3])):
        members, points = np.array(members, dtype=np.intp), np.array(points)
        np.testing.assert_allclose(
            taken(rows, points, members), expected[np.ix_(points, np.concatenate([members, points]))], atol=1e-12
        )
        coef = np.zeros(20)
        coef[np.concatenate([members, points])] = np.arange(1.0, 1 + len(members) + len(points))
        np.testing.assert_allclose(rows.expand(coef), expected @ coef, atol=1e-11)


def test_an_oracle_that_does_not_serve_is_refused_in_a_sentence():
    problem = l2(*clouds(0, 10, 10, 2, 1.0))
    assert "nothing" in FullyCorrective(oracle="nothing").skip(problem)
    assert "does not solve l2-svc" in FullyCorrective(oracle="lasvm").skip(problem)
    assert FullyCorrective(oracle="qp").skip(problem) is None
    with pytest.raises(UsageError, match="vertices"):
        FullyCorrective(vertices=0)


@pytest.mark.parametrize("solver", [FullyCorrective(), FullyCorrective(oracle="qp"), CoreVectorMachine()])
def test_one_class_is_refused_in_a_sentence_but_for_one_hull(solver):
    x = clouds(0, 10, 10, 2, 1.0)[0]
    assert solver.skip(l2(x, np.full(20, -1.0))) == (
        f"{solver.name} on l2-svc needs points of both classes, and all are -1: give some of the other."
    )
    assert solver.skip(PolytopeDistance.build(KernelOracle(Linear(), x), np.ones(20))) is None


def test_the_oracle_s_evaluations_are_attributed_to_it():
    problem = l2(*clouds(0, 40, 60, 3, 1.0))
    outcome = drive(FullyCorrective(oracle="qp"), problem, rng0())
    counter = problem.kernel.counter
    assert counter.oracle_calls == outcome.iterations + 1
    assert 0 < counter.oracle_evaluations < counter.evaluations


# -- the paper's bounds ----------------------------------------------------------------------------


def psi_and_delta(problem):
    with uncounted(problem.kernel):
        return 0.5 * exact_margin(problem) ** 2, delta_of(problem.kernel, problem.targets > 0)


@pytest.mark.parametrize("vertices", [1, None])
@pytest.mark.parametrize("name", ["overlapping clouds", "small chi", "nearly touching", "hard margin rbf"])
def test_a_corrective_round_gains_no_less_and_the_run_stays_within_the_bounds(name, vertices):
    problem = PROBLEMS[name]()
    psi_star, delta = psi_and_delta(problem)
    found = [
        (0.5 * each.info["norm"] ** 2, each.info, np.count_nonzero(each.dual_coef))
        for each in FullyCorrective(vertices=vertices).iterates(problem, rng0())
    ]
    for (psi, info, _), (after, _, _) in itertools.pairwise(found):
        assert after <= decrease_bound(psi, info["epsilon_plus"], delta, psi_star) * (1 + 1e-6)
    _, last, size = found[-1]
    assert len(found) - 1 <= iteration_bound(delta, psi_star, 1e-3) <= last["iteration_bound"] * (1 + 1e-6)
    assert size <= core_set_bound(delta, psi_star, 1e-3) <= last["core_set_bound"] * (1 + 1e-6)
    assert delta / psi_star <= last["delta_over_psi"] * (1 + 1e-6)
