"""lasvm-g, lasvm-nc, lasvm-i and full-svm: where they end, what they cost and claim, and the edges."""

from __future__ import annotations

import numpy as np
import pytest
from harness_lasvm.nobias import LASVMG, LASVMI, LASVMNC, FullSVM

from harness import RBF, Linear
from tests.plugins.common import iterates, precomputed
from tests.plugins.lasvm_problems import assert_feasible, awkward, flipped, stated_for
from tests.plugins.naive_lasvm_nobias import NaiveNoBias

ALL = LASVMG, LASVMNC, LASVMI, FullSVM
# -- where they end ----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_ramp_far_to_the_left_is_the_hinge():
    plain = stated_for(LASVMG, *flipped(400), C=10.0)
    bent = stated_for(LASVMNC, *flipped(400), C=10.0, s=-1e9)
    for one, two in zip(iterates(LASVMG(), plain), iterates(LASVMNC(), bent), strict=True):
        np.testing.assert_array_equal(one.dual_coef, two.dual_coef)
        assert (two.info["gap"], two.info["reversed"]) == (one.info["gap"], 0)
    assert plain.kernel.counter.evaluations == bent.kernel.counter.evaluations


# -- costs and claims --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cls", ALL)
def test_the_iterates_say_what_they_are(cls):
    problem = stated_for(cls, *flipped(300))
    found = iterates(cls(epochs=2, finishing=True), problem)
    assert {each.info["epoch"] for each in found} == {1, 2}
    assert all(each.working_set == each.info["members"] >= each.info["support"] for each in found)
    assert {each.intercept for each in found} == {0.0}
    visited = [each.info["visited"] for each in found]
    assert (found[-1].done, visited, visited[-1]) == (True, sorted(visited), 2 * problem.n)
    extra = {LASVMNC: {"reversed"}, LASVMI: {"skipped"}}.get(cls, set())
    figures = {"gap", "gap_target", "members", "support", "epoch", "rows_recomputed", "visited"}
    assert set(found[-1].info) == figures | extra
    assert cls is not LASVMI or 0 < found[-1].info["skipped"] < 2 * problem.n


@pytest.mark.parametrize("name", awkward())
@pytest.mark.parametrize("cls", ALL)
def test_edges(cls, name):
    tight = {"cache_mb": 0.0001, "block": 3, "finishing": True}
    if cls is not FullSVM:
        tight |= {"clean_every": 1, "max_inactive": 0}  # every member with alpha = 0 goes at once
    for parameters in ({}, tight):
        solver = cls(epochs=3, **parameters)
        problem = stated_for(solver, *awkward()[name], C=2.0, kernel=RBF(gamma=0.5), s=0.3)
        found = iterates(solver, problem)
        for iterate in found:
            problem.checked(iterate.dual_coef, iterate.intercept, tolerance=0.0)
        assert found[-1].done
        if cls is FullSVM and parameters:
            assert problem.certify(found[-1].dual_coef, 0.0).relative_gap <= 1e-2


# -- the paper's steps -------------------------------------------------------------------------------------------------

CASES = {
    "noisy": (lambda: flipped(90), {"C": 1.0}, RBF(gamma=0.3)),
    "large-C": (lambda: flipped(80, seed=3), {"C": 100.0}, RBF(gamma=1.0)),
    "small-C": (lambda: flipped(70, seed=4), {"C": 0.02}, RBF(gamma=0.3)),
    "linear": (lambda: flipped(70, noise=0.1, seed=5), {"C": 2.0}, Linear()),
    "weighted": (lambda: flipped(70, seed=6, noise=1.0), {"C": 3.0, "class_weight": "balanced"}, RBF(gamma=0.5)),
}


def follow(cls, case, epochs=2, s=-1.0, **parameters):
    """Run the solver one example at a time beside the twin; return both after the last online iteration."""
    data, values, kernel = CASES[case]
    solver = cls(block=1, epochs=epochs, **parameters)
    problem, matrix = precomputed(stated_for(solver, *data(), kernel=kernel, s=s, **values))
    clean_every, max_inactive = solver.cleaning
    twin = NaiveNoBias(
        matrix, problem.targets, problem.upper, problem.C, rule=solver.rule, s=s, tau=solver.tau,
        clean_every=clean_every, max_inactive=max_inactive, group=solver.group,
    )  # fmt: skip
    rng = np.random.default_rng(1)
    steps = solver.iterates(problem, np.random.default_rng(1))
    for epoch in range(epochs):
        order = [int(k) for k in rng.permutation(problem.n)]
        if epoch == 0:
            twin.seed(order)
        for k in order:
            iterate = next(steps)
            twin.visit(k)
            expected = np.zeros(problem.n)
            expected[twin.S] = twin.alpha[twin.S]
            assert iterate.dual_coef == pytest.approx(expected, abs=1e-8 * problem.C)
            assert iterate.info["gap"] == pytest.approx(twin.gap(), rel=1e-7, abs=1e-9)
            counts = iterate.step, iterate.info["members"], iterate.info["support"]
            assert counts == (twin.steps, len(twin.S), np.count_nonzero(iterate.dual_coef))
            assert_feasible(problem, iterate.dual_coef, sums=False)
    target = pytest.approx(max(twin.threshold, 0.0), rel=1e-7)
    assert iterate.info["gap_target"] == target or twin.threshold == problem.C
    return problem, twin, steps, iterate


@pytest.mark.parametrize("group", [pytest.param(1, marks=pytest.mark.slow), 6])
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("cls", ALL)
def test_every_step_is_the_twins(cls, case, group):
    often = {"clean_every": 7, "max_inactive": 5} if cls is not FullSVM else {}
    problem, twin, steps, last = follow(cls, case, group=group, **often)  # asserts at every step
    if cls is LASVMI:
        assert last.info["skipped"] == twin.skipped
        assert twin.skipped > 0 or case == "small-C"
    if cls is LASVMNC:
        assert last.info["reversed"] == twin.reversed
    if cls is FullSVM:
        assert len(twin.S) == problem.n
    else:
        assert len(twin.S) < problem.n or case == "small-C"  # there all are support vectors
        twin.clean(0)
    *_, last = steps
    assert (last.done, last.info["members"]) == (True, len(twin.S))


@pytest.mark.parametrize("s", [0.4, 0.0, -0.2])
@pytest.mark.parametrize("cls", [LASVMNC, LASVMI])
def test_every_step_is_the_twins_whatever_s(cls, s):
    _, twin, _, last = follow(cls, "noisy", s=s, clean_every=11, max_inactive=3)
    assert last.info["support"] > 10
    assert (twin.reversed if cls is LASVMNC else twin.skipped) > 0


@pytest.mark.parametrize(
    ("cls", "dtype"),
    [(LASVMG, "float32"), (FullSVM, "float32"), pytest.param(LASVMG, "float64", marks=pytest.mark.slow)],
)
def test_finishing_ends_where_the_twin_ends(cls, dtype):
    problem, twin, steps, _ = follow(cls, "large-C", tau=1e-6, finishing=True, dtype=dtype)
    *_, last = steps
    twin.finished()
    twin.clean(0 if cls is LASVMG else problem.n)
    assert last.info["members"] == len(twin.S)
    expected = np.zeros(problem.n)
    expected[twin.S] = twin.alpha[twin.S]
    np.testing.assert_allclose(twin.K @ last.dual_coef, twin.K @ expected, atol=1e-4)
    gradient = problem.targets - twin.K @ last.dual_coef
    rise, fall = last.dual_coef < twin.B, last.dual_coef > twin.A
    assert max(gradient[twin.S][rise[twin.S]].max(), -gradient[twin.S][fall[twin.S]].min()) <= 1e-6 + 1e-9


# -- the loops ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "parameters", [{"block": 7}, {"block": 256}, {"cache_mb": 0.001}, {"cache_mb": 0.05, "block": 9}]
)
@pytest.mark.parametrize("cls", ALL)
def test_block_and_memory_change_the_cost_only(cls, parameters):
    plain = cls(epochs=2, block=1, group=2)  # the rows of twice a group must fit into memory
    problem, _ = precomputed(stated_for(plain, *flipped(200), C=5.0))
    expected = iterates(plain, problem)[-1]
    found = iterates(plain.replace(**parameters), problem)[-1]
    assert expected.info["rows_recomputed"] == 0
    assert (found.info["rows_recomputed"] > 0) == ("cache_mb" in parameters)
    np.testing.assert_allclose(found.dual_coef, expected.dual_coef, rtol=1e-9, atol=1e-9)
    assert found.step == expected.step
