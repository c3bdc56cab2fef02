"""lasvm-g, lasvm-nc, lasvm-i and full-svm: every step is the naive twin's, every loop does what its formula says."""

from __future__ import annotations

import numpy as np
import pytest
from harness_lasvm.compiled import ledger
from harness_lasvm.nobias import LASVMG, LASVMI, LASVMNC, FullSVM
from hypothesis import given, settings
from hypothesis import strategies as st

from harness import RBF, Linear
from tests.plugins.lasvm_problems import precomputed
from tests.plugins.naive_lasvm_nobias import NaiveNoBias
from tests.plugins.nobias_problems import ALL, assert_feasible, iterates, noisy, stated

# -- the paper's steps -------------------------------------------------------------------------------------------------

CASES = {
    "noisy": (noisy, {"C": 1.0}, RBF(gamma=0.3)),
    "large-C": (lambda: noisy(120, seed=3), {"C": 100.0}, RBF(gamma=1.0)),
    "small-C": (lambda: noisy(100, seed=4), {"C": 0.02}, RBF(gamma=0.3)),
    "linear": (lambda: noisy(100, noise=0.1, seed=5), {"C": 2.0}, Linear()),
    "weighted": (lambda: noisy(100, seed=6, noise=1.0), {"C": 3.0, "class_weight": "balanced"}, RBF(gamma=0.5)),
}


def follow(cls, case, epochs=2, s=-1.0, **parameters):
    """Run the solver one example at a time beside the twin; return both after the last online iteration."""
    data, values, kernel = CASES[case]
    solver = cls(block=1, epochs=epochs, dtype="float64", **parameters)
    problem, matrix = precomputed(stated(solver, *data(), kernel=kernel, s=s, **values))
    clean_every, max_inactive = solver.cleaning
    upper = problem.upper
    twin = NaiveNoBias(
        matrix, problem.targets, upper, problem.C, rule=solver.rule, s=s, tau=solver.tau,
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
            assert iterate.info["members"] == len(twin.S)
            assert iterate.info["gap"] == pytest.approx(twin.gap(), rel=1e-7, abs=1e-9)
            assert iterate.info["support"] == np.count_nonzero(iterate.dual_coef)
            assert iterate.step == twin.steps
            assert_feasible(problem, iterate.dual_coef)
    assert (
        iterate.info["gap_target"] == pytest.approx(max(twin.threshold, 0.0), rel=1e-7) or twin.threshold == problem.C
    )
    return problem, twin, steps, iterate


@pytest.mark.parametrize("group", [1, 6])
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
    assert last.done
    assert last.info["members"] == len(twin.S)


@pytest.mark.parametrize("s", [0.4, 0.0, -0.2])
@pytest.mark.parametrize("cls", [LASVMNC, LASVMI])
def test_every_step_is_the_twins_whatever_s(cls, s):
    _, twin, _, last = follow(cls, "noisy", s=s, clean_every=11, max_inactive=3)
    assert last.info["support"] > 10
    assert (twin.reversed if cls is LASVMNC else twin.skipped) > 0


@pytest.mark.parametrize("cls", [LASVMG, FullSVM])
def test_finishing_ends_where_the_twin_ends(cls):
    problem, twin, steps, _ = follow(cls, "large-C", tau=1e-6, finishing=True)
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


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10_000), st.integers(1, 1200), st.sampled_from([np.float32, np.float64]))
def test_a_pass_is_its_formulas(seed, n, dtype):
    rng = np.random.default_rng(seed)
    lower = rng.choice([-2.0, 0.0], size=n)
    upper = lower + 2.0
    alpha = np.clip(rng.choice([0.0, 2.0, -2.0, 0.7, -0.7], size=n), lower, upper)
    grad = rng.choice([-1.0, 0.5, 0.0], size=n) * rng.random(n)
    row, step = rng.random(n).astype(dtype), rng.normal()
    moved = grad.copy()
    room = np.array([upper - alpha, alpha - lower])
    ways = np.array([np.where(room[0] > 0.0, 0.0, -np.inf), np.where(room[1] > 0.0, 0.0, np.inf)], dtype=np.float32)
    found = ledger._move(moved, *room, *ways, row, step)
    expected = grad - step * row.astype(np.float64)
    np.testing.assert_allclose(moved, expected, rtol=1e-12, atol=1e-15)
    rise, fall = alpha < upper, alpha > lower
    gap = sum(max(a * g, b * g) - c * g for a, b, c, g in zip(lower, upper, alpha, moved, strict=True))
    assert found[0] == moved[rise].max(initial=-np.inf)
    assert found[1] == moved[fall].min(initial=np.inf)
    assert found[2] == pytest.approx(gap, rel=1e-10, abs=1e-12)
    slope = rng.choice([-2.0, 0.0, 2.0], size=n)
    h = slope * moved
    assert ledger._spread(moved, slope) == pytest.approx((h.sum(), (h * h).sum()), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("cls", [FullSVM, LASVMG])
def test_the_gap_is_the_certificates(cls):
    solver = cls(dtype="float64")
    problem = stated(solver, *noisy(300), C=5.0)
    *_, last = iterates(solver, problem)
    members = np.arange(problem.n) if cls is FullSVM else np.flatnonzero(last.dual_coef)
    assert last.info["members"] == len(members)
    gap = problem.restrict(members).certify(last.dual_coef[members], 0.0).gap
    assert last.info["gap"] == pytest.approx(gap, rel=1e-9)


@pytest.mark.parametrize("cls", [FullSVM, LASVMG, LASVMI])
def test_reprocess_ends_at_the_threshold(cls):
    solver = cls(block=1)
    problem = stated(solver, *noisy(200), C=10.0)
    found = iterates(solver, problem)[:-1]
    assert all(i.info["gap"] <= max(problem.C, i.info["gap_target"]) * (1 + 1e-9) for i in found)
    assert any(i.info["gap_target"] > problem.C for i in found)
