"""Fully corrective Frank-Wolfe: its rounds against a slow twin, the exact margin, oracles, rows, the paper's bounds."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from harness_fw import FrankWolfe
from harness_fw.active_set_points import Hulls, taken
from harness_fw.bounds import core_set_bound, decrease_bound, delta_of, iteration_bound, paper_bounds
from harness_fw.corrective import FullyCorrective
from harness_fw.cvm import CoreVectorMachine
from hypothesis import given, settings
from hypothesis import strategies as st

from harness import (
    L2SVC,
    RBF,
    HardMargin,
    KernelOracle,
    Limits,
    Linear,
    PolytopeDistance,
    Precomputed,
    ReducedHull,
    UsageError,
    drive,
    get_solver,
)
from harness.kernels.oracle import uncounted
from tests.plugins.hull_problems import PROBLEMS, clouds, exact_margin, hard, l2, margins_of_the_same, matrix_of, rng0
from tests.plugins.naive_core_set import exact_weights, naive_rounds
from tests.plugins.naive_fw import naive_frank_wolfe


def signed_matrix(problem):
    return matrix_of(problem) * np.outer(problem.targets, problem.targets)


def by_class(problem):
    """Return the signed matrix with the positives first, and the side of each point."""
    order = np.argsort(problem.targets <= 0, kind="stable")
    return signed_matrix(problem)[np.ix_(order, order)], (problem.targets[order] < 0).astype(int)


# -- the solver ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["overlapping clouds", "linear l2", "hard margin rbf", "separable linear"])
def test_rounds_with_one_vertex_a_class_are_those_of_the_slow_twin(name, monkeypatch):
    monkeypatch.setattr("harness_fw.corrective._INNER", 1e-7)  # exact, as the twin is
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
@pytest.mark.parametrize("solver", [FullyCorrective(), FullyCorrective(vertices=1)])
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


@pytest.mark.parametrize("name", ["overlapping clouds", "separable linear", "hard margin rbf", "grid"])
def test_the_oracle_gives_the_same_margin(name):
    problem = PROBLEMS[name]()
    own = drive(FullyCorrective(epsilon=1e-4), problem, rng0())
    other = drive(FullyCorrective(epsilon=1e-4, oracle="qp"), problem, rng0())
    assert own.claimed_done
    assert other.claimed_done
    assert other.info["norm"] == pytest.approx(own.info["norm"], rel=2e-4)
    assert own.info["descent_steps"] > 0 or own.iterations == 0
    assert other.info["descent_steps"] == 0


def test_an_accuracy_of_1e_10_is_reached():
    problem = l2(*clouds(2, 60, 60, 2, 1.0), chi=1e4)
    outcome = drive(FullyCorrective(epsilon=1e-10), problem, rng0())
    assert outcome.claimed_done
    assert problem.certify(outcome.dual_coef, outcome.intercept).epsilon <= 2e-10


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


def test_the_distance_of_a_polytope():
    x = clouds(6, 40, 1, 3, 4.0)[0]
    problem = PolytopeDistance.build(KernelOracle(Linear(), x + 3.0), np.ones(41))
    outcome = drive(FullyCorrective(epsilon=1e-6), problem, rng0())
    assert outcome.claimed_done
    found = problem.certify(outcome.dual_coef, outcome.intercept)
    assert found.epsilon <= 1e-6
    exact = drive(get_solver("qp"), problem, rng0())
    assert outcome.intercept == pytest.approx(exact.intercept, rel=1e-5)


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


@pytest.mark.parametrize(
    "make",
    [
        lambda: hard(*clouds(0, 30, 30, 2, 0.5)),
        lambda: hard(np.ones((2, 2)), np.array([1.0, -1.0])),
        lambda: hard(np.zeros((3, 2)), np.array([1.0, -1.0, -1.0])),
        lambda: hard(np.array([[0.0], [1.0], [2.0]]), np.array([1.0, -1.0, 1.0])),
    ],
)
def test_hulls_that_meet_end_the_run_and_say_so(make):
    outcome = drive(FullyCorrective(), make(), rng0(), Limits(seconds=20))
    assert not outcome.claimed_done
    assert outcome.info["status"] == "hulls intersect"
    assert outcome.info["norm"] <= 1e-6
    assert "|w|" in outcome.info["stopped"]
    assert np.isfinite(outcome.dual_coef).all()


@pytest.mark.parametrize("seed", range(3))
def test_an_accuracy_beyond_rounding_ends(seed):
    problem = l2(*clouds(seed, 20, 20, 2, 1.0))
    outcome = drive(FullyCorrective(epsilon=1e-300), problem, rng0(), Limits(seconds=20))
    assert outcome.status == ("ok" if outcome.claimed_done else "unfinished")
    assert outcome.claimed_done or outcome.info["status"] == "stalled"
    assert outcome.info["epsilon"] < 1e-9


def test_the_limit_on_rounds_ends_the_run():
    outcome = drive(FullyCorrective(epsilon=1e-9, max_iterations=3), l2(*clouds(0, 40, 60, 3, 1.0)), rng0())
    assert outcome.iterations == 3
    assert not outcome.claimed_done
    assert outcome.info["status"] == "max_iterations"


def test_a_target_gap_is_reached():
    problem = l2(*clouds(0, 40, 60, 3, 1.0))
    outcome = drive(FullyCorrective().with_target_gap(1e-5), problem, rng0())
    assert problem.certify(outcome.dual_coef, outcome.intercept).relative_gap <= 1e-5


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


@settings(max_examples=25, deadline=None, derandomize=True)
@given(data=st.data())
def test_labels_order_scale_and_duplicates_do_not_matter(data):
    seed, n_plus, n_minus = (data.draw(st.integers(low, high)) for low, high in ((0, 10**6), (1, 12), (1, 12)))
    solver = FullyCorrective(epsilon=1e-8)
    base, same = margins_of_the_same(solver, seed, n_plus, n_minus)
    assert same == pytest.approx([base] * 4, rel=2e-8)


def test_two_runs_give_the_same_bits():
    x, y = clouds(0, 40, 60, 3, 1.0)
    first, second = (drive(FullyCorrective(), l2(x, y), np.random.default_rng(seed)) for seed in (1, 2))
    np.testing.assert_array_equal(first.dual_coef, second.dual_coef)
    assert first.info == second.info


def test_fewer_rounds_than_frank_wolfe_takes_iterations():
    x, y = clouds(1, 60, 60, 2, 1.0)
    corrective, plain = (drive(s, l2(x, y, chi=1000.0), rng0()) for s in (FullyCorrective(vertices=1), FrankWolfe()))
    assert corrective.iterations * 5 < plain.iterations


def test_hulls_of_a_problem():
    x, y = clouds(0, 4, 6, 2, 1.0)
    two = Hulls(L2SVC.build(KernelOracle(Linear(), x), y))
    assert [len(side) for side in two.sides] == [4, 6]
    assert two.caps == [1.0, 1.0]
    np.testing.assert_array_equal(two.sign, y)
    one = Hulls(PolytopeDistance.build(KernelOracle(Linear(), x), y))
    assert [len(side) for side in one.sides] == [10]
    assert (one.sign == 1.0).all()
    reduced = Hulls(ReducedHull.build(KernelOracle(Linear(), x), y, {"D": 0.3}))
    assert reduced.caps == [0.3, 0.3]


# -- the paper's bounds ----------------------------------------------------------------------------


def psi_and_delta(problem):
    with uncounted(problem.kernel):
        return 0.5 * exact_margin(problem) ** 2, delta_of(problem.kernel, problem.targets > 0)


@pytest.mark.parametrize("name", PROBLEMS)
def test_every_add_and_decrease_iteration_gains_what_lemma_3_1_promises(name):
    problem = PROBLEMS[name]()
    psi_star, delta = psi_and_delta(problem)
    matrix = matrix_of(problem)
    steps = naive_frank_wolfe(matrix, problem.targets, 1e-3, 150)
    positive = problem.targets > 0

    def psi(step):
        coef = np.zeros(problem.n)
        coef[positive], coef[~positive] = step.u, -step.v
        return 0.5 * coef @ matrix @ coef

    for before, after in itertools.pairwise(steps):
        epsilon = max(before.epsilon_plus, before.epsilon_minus)
        if after.kind == "drop":
            assert psi(after) <= psi(before) * (1 + 1e-12)
        else:
            assert psi(after) <= decrease_bound(psi(before), epsilon, delta, psi_star) * (1 + 1e-6)


@pytest.mark.parametrize("vertices", [1, None])
@pytest.mark.parametrize("name", PROBLEMS)
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


def test_the_bounds_without_a_margin_are_infinite():
    assert set(paper_bounds(1.0, 0.0, 0.1).values()) == {np.inf}
    found = paper_bounds(2.0, 2.0, 0.1)
    assert found == {
        "delta_over_psi": 1.0,
        "iteration_bound": iteration_bound(2.0, 2.0, 0.1),
        "core_set_bound": core_set_bound(2.0, 2.0, 0.1),
    }
    assert decrease_bound(3.0, 0.5, 1.0, 0.8) == pytest.approx(3.0 * (1 - 0.25 * 0.8 / (0.25 * 0.8 + 1.0)))
