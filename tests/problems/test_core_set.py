"""The core-set certificate: the ratio of the margins, wrong core sets caught, what is refused, the command's column."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness import CSVC, RBF, KernelOracle, Record, UsageError, drive, get_solver
from harness.measure import core_set
from harness.measure.core_set import core_set_certificate
from harness.problems import L2SVC, HardMargin, PolytopeDistance, ReducedHull
from tests.plugins.naive_core_set import exact_weights
from tests.plugins.points import overlapping


def problem_of(formulation, n=60, seed=0, **values):
    x, y = overlapping(seed, n)
    return formulation.build(KernelOracle(RBF(gamma=0.5), x), y, values)


def solved(problem, solver="qp"):
    return drive(get_solver(solver), problem, np.random.default_rng(0)).dual_coef


def margin_of(problem, points):
    """Return the margin of some points, by interior point."""
    sign = np.ones(problem.n) if isinstance(problem, PolytopeDistance) else problem.targets
    matrix = np.array(problem.kernel.block(points, points)) * np.outer(sign[points], sign[points])
    cap = getattr(problem, "cap", 1.0)
    weights = exact_weights(matrix, (sign[points] < 0).astype(int), (cap, cap))
    return float(np.sqrt(weights @ matrix @ weights))


@pytest.mark.parametrize(
    ("formulation", "values"),
    [(L2SVC, {"chi": 5.0}), (HardMargin, {}), (ReducedHull, {"D": 0.2}), (ReducedHull, {}), (PolytopeDistance, {})],
)
def test_the_optimum_s_support_is_a_core_set_to_rounding(formulation, values):
    problem = problem_of(formulation, **values)
    coef = solved(problem)
    found = core_set_certificate(problem, coef, "qp")
    assert found.size == np.count_nonzero(coef)
    assert found.oracle == "qp"
    assert found.reason == ""
    assert 1 - 1e-5 <= found.ratio <= 1
    assert found.margin == pytest.approx(problem.certify(coef, 0.0).margin_upper, rel=1e-5)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10**6), share=st.floats(0.05, 1.0))
def test_the_ratio_is_no_more_than_the_true_one(seed, share):
    problem = problem_of(L2SVC, n=24, seed=seed, chi=10.0)
    rng = np.random.default_rng(seed)
    chosen = np.flatnonzero(rng.random(24) < share)
    chosen = np.union1d(chosen, [np.flatnonzero(problem.targets == label)[0] for label in (1, -1)])
    coef = np.zeros(24)
    for label in (1.0, -1.0):
        own = chosen[problem.targets[chosen] == label]
        coef[own] = label / len(own)
    found = core_set_certificate(problem, coef, "qp")
    truth = margin_of(problem, np.arange(24)) / margin_of(problem, chosen)
    assert found.ratio <= truth + 1e-5
    assert found.margin == pytest.approx(margin_of(problem, chosen), rel=1e-5)


def test_what_cannot_be_certified_is_said(monkeypatch):
    with pytest.raises(UsageError, match="c-svc"):
        core_set_certificate(problem_of(CSVC), np.zeros(60), "qp")
    problem = problem_of(L2SVC, chi=5.0)
    coef = solved(problem)
    with pytest.raises(UsageError, match="nosuch"):
        core_set_certificate(problem, coef, "nosuch")
    assert "lasvm does not solve l2-svc" in core_set_certificate(problem, coef, "lasvm").reason
    small = core_set_certificate(problem, coef, get_solver("qp", max_points=3))
    assert "max_points=3" in small.reason
    assert small.ratio is None
    monkeypatch.setattr(core_set, "_VALUES", 100)
    assert "more kernel values" in core_set_certificate(problem, coef, "qp").reason
    assert L2SVC.has_core_set
    assert PolytopeDistance.has_core_set
    assert not CSVC.has_core_set


def test_the_table_shows_the_ratio_where_it_was_asked_for():
    from harness.report import table
    from tests.report import fabricated

    record = fabricated.record(solver="fw", formulation="l2-svc")

    def rendered(core_set, **options):
        return table.render([Record({**record, "core_set": core_set})], width=200, **options)

    found = {"oracle": "qp", "size": 9, "ratio": 0.99912349, "margin": 1.0, "reason": ""}
    text = rendered(found, explain=True)
    assert "0.999123" in text
    assert "core ratio: " in text
    assert "core ratio" not in rendered(None)
    assert "no core ratio: too large." in rendered({**found, "ratio": None, "margin": None, "reason": "too large"})
