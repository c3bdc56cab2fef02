"""Narrowed bounds: feasible at each widening, never a loss, bounds hit to the last bit, and forms that have none."""

import numpy as np
import pytest
from harness_smo import SMOBlock
from harness_smo.narrowed import Narrowed
from hypothesis import given, settings
from hypothesis import strategies as st

from harness import CSVC, L2SVC, CSVCNoBias, EpsSVR, HardMargin, NuSVC, OneClass, ReducedHull
from tests.plugins.block_problems import stated
from tests.plugins.smo_problems import certified

STRETCHED = pytest.mark.parametrize(
    ("formulation", "values"),
    [(CSVC, {}), (CSVCNoBias, {}), (EpsSVR, {"epsilon": 0.1}), (CSVC, {"class_weight": "balanced"})],
    ids=["c-svc", "c-svc-nobias", "eps-svr", "balanced"],
)


def dual(form, a, scores):
    return form.linear @ a - 0.5 * form.coef(a) @ scores


def kept_sums(form, a):
    return [a[form.group == k].sum() for k in range(form.groups)]


@STRETCHED
@given(st.integers(0, 10_000), st.sampled_from([20.0, 3e3, 7e5]), st.floats(0.0, 1.0), st.booleans())
@settings(max_examples=15)
def test_each_widening_is_feasible_and_gains(formulation, values, seed, cost, at_bound, at_once):
    problem = stated(formulation, {"C": cost, **values}, seed % 7, n=40)
    whole, truth = problem.dual_form(), problem.kernel.block(np.arange(40), np.arange(40))
    narrowed, rng = Narrowed(whole, 1.0), np.random.default_rng(seed)
    form = narrowed.begin()
    assert narrowed.begin() is None, "only once"
    assert form is not None
    assert (form.upper == narrowed.cap * whole.upper).all()
    # a start as any solution between these bounds, and one rounding error away from them
    share = np.where(rng.random(len(whole.start)) < at_bound, 1.0, rng.random(len(whole.start)))
    a = rng.choice([0.0, 1.0], len(share)) * share * np.where(whole.upper > 0.0, form.upper, form.lower)
    near = rng.random(len(a)) < 0.1
    a[near] = np.nextafter(a[near], 0.0)
    calls = 0
    while narrowed.cap < 1.0:
        scores, before, cap = truth @ form.coef(a), a.copy(), narrowed.cap
        old, at_top, at_bottom = dual(form, a, scores), (a >= form.upper) & (a > 0), (a <= form.lower) & (a < 0)
        new, factor = narrowed.widen(form, a, scores, at_once)
        assert 1.0 <= factor <= narrowed.cap / cap * (1.0 + 1e-12)
        assert narrowed.cap > cap
        assert narrowed.cap == 1.0 or not at_once
        assert ((a >= new.lower) & (a <= new.upper)).all()
        assert a == pytest.approx(factor * before, rel=1e-12)
        assert factor * scores == pytest.approx(truth @ new.coef(a), rel=1e-9, abs=1e-9)
        assert dual(new, a, factor * scores) >= old - 1e-12 * abs(old)
        if factor >= (narrowed.cap / cap) * (1.0 - 1e-12):
            assert (a[at_top] == new.upper[at_top]).all(), "at its bound to the last bit"
            assert (a[at_bottom] == new.lower[at_bottom]).all()
        form, calls = new, calls + 1
    assert form is whole
    assert calls <= 12


@pytest.mark.parametrize(
    ("formulation", "values"),
    [
        (OneClass, {"nu": 0.3}), (NuSVC, {"nu": 0.2}), (ReducedHull, {"D": 0.05}), (HardMargin, {}),
        (L2SVC, {"chi": 1e4}), (CSVC, {"C": 0.1}),
    ],
    ids=["one-class", "nu-svc", "reduced-hull", "hard-margin", "l2-svc", "small-C"],
)  # fmt: skip
def test_where_the_ray_from_0_leads_out_or_nothing_is_wide_there_are_no_narrower_bounds(formulation, values):
    problem = stated(formulation, values, n=60)
    narrowed = Narrowed(problem.dual_form(), 1.0)
    assert narrowed.begin() is None
    assert narrowed.cap == 1.0


@STRETCHED
@pytest.mark.parametrize("cost", [1e3, 1e6])
def test_on_the_way_to_a_large_cost_every_widening_keeps_the_sums_and_gains(monkeypatch, formulation, values, cost):
    problem = stated(formulation, {"C": cost, **values}, 3, n=150)
    truth = problem.kernel.block(np.arange(150), np.arange(150))
    widen, caps = Narrowed.widen, []

    def watched(narrowed, form, a, scores, at_once):
        assert scores == pytest.approx(truth @ form.coef(a), abs=1e-6 * (1.0 + np.abs(a).sum()))
        assert ((a >= form.lower) & (a <= form.upper)).all()
        assert kept_sums(form, a) == pytest.approx([0.0] * form.groups, abs=1e-11 * np.abs(a).sum())
        before = dual(form, a, truth @ form.coef(a))
        found = widen(narrowed, form, a, scores, at_once)
        assert dual(found.form, a, truth @ form.coef(a)) >= before - 1e-9 * abs(before)
        caps.append(narrowed.cap)
        return found

    monkeypatch.setattr(Narrowed, "widen", watched)
    solution = SMOBlock(tau=1e-3).solve(problem)
    assert solution.done
    assert caps == sorted(caps)
    assert len(caps) >= 2
    assert caps[-1] == 1.0
    assert certified(problem, solution).kkt_violation <= 1.01e-3


def test_what_goes_all_the_way_is_at_its_bound_to_the_last_bit():
    for cost in np.linspace(20.0, 900.0, 40):
        whole = stated(CSVC, {"C": float(cost)}, n=40).dual_form()
        narrowed = Narrowed(whole, 1.0)
        form = narrowed.begin()
        a = np.where(whole.upper > 0.0, form.upper, form.lower)
        new, _ = narrowed.widen(form, a, 1e-9 * whole.linear, True)  # as of points that hardly know of each other
        assert (a == np.where(whole.upper > 0.0, new.upper, new.lower)).all()
