"""The relative gap does not depend on the units: of the points, the targets, and the parameters that go with them."""

import numpy as np
import pytest

from harness import Linear, get_solver
from harness.registry.discovery import load_registry
from tests.plugins.common import build, certified

# formulation -> parameters, and the power of the points' and the targets' scale that each has, the coefficients first
UNITS = {
    "c-svc": ({"C": 3.0}, {"coef": (-2, 0), "C": (-2, 0)}),
    "c-svc-nobias": ({"C": 3.0}, {"coef": (-2, 0), "C": (-2, 0)}),
    "ramp-svc": ({"C": 3.0}, {"coef": (-2, 0), "C": (-2, 0)}),
    "eps-svr": ({"C": 3.0, "epsilon": 0.1}, {"coef": (-2, 1), "C": (-2, 1), "epsilon": (0, 1), "intercept": (0, 1)}),
    "l2-svc": ({"chi": 3.0}, {"chi": (-2, 0)}),
    "hard-margin": ({}, {}),
    "reduced-hull": ({"D": 0.4}, {}),
    "nu-svc": ({"nu": 0.4}, {"intercept": (2, 0)}),
    "one-class": ({"nu": 0.4}, {"intercept": (2, 0)}),
    "polytope-distance": ({}, {}),
    "outlier-margin": ({"outliers": 0.1}, {}),
    # the targets are one more coordinate of the points
    "tube-svr": ({"epsilon": 0.5, "D": 0.4}, {"targets": (1, 0), "epsilon": (1, 0)}),
}
SCALES = [(1e-9, 1.0), (1e9, 1.0), (1.0, 1e-9), (1.0, 1e9), (1e-9, 1e-9), (1e9, 1e9), (1e-5, 1e3)]


def problem_of(name, values, points, targets):
    return build(load_registry().formulation(name), points, targets, Linear(), **values)


def data(name):
    rng = np.random.default_rng(3)
    y = np.where(np.arange(16) % 2, 1.0, -1.0)
    points = np.column_stack([2.0 * y + 0.3 * rng.normal(size=16), rng.normal(size=16) + 4.0])
    return points, points[:, 0] + 0.1 * rng.normal(size=16) if name in ("eps-svr", "tube-svr") else y


@pytest.mark.parametrize("name", UNITS)
def test_the_relative_gap_does_not_depend_on_units(name):
    values, powers = UNITS[name]
    points, targets = data(name)
    problem, rng = problem_of(name, values, points, targets), np.random.default_rng(4)
    if problem.has_dual_form():
        form = problem.dual_form()
        start, optimum = form.coef(form.start), get_solver("qp").solve(problem)
        models = [(start, 0.3), (0.7 * optimum.dual_coef + 0.3 * start, optimum.intercept)]
    elif name == "ramp-svc":
        models = [(0.0 * targets, 0.0), (targets * rng.uniform(0.0, 1.0, 16), 0.0)]
    else:
        models = [(targets / 8.0, 0.0)]
    for coef, intercept in models:
        intercept = intercept if problem.has_bias else 0.0
        known = problem.certify(*problem.checked(coef, intercept))
        assert known.relative_gap is not None
        for scale in SCALES:
            factor = {each: scale[0] ** p * scale[1] ** q for each, (p, q) in powers.items()}
            regression = factor.get("targets", scale[1] if name == "eps-svr" else 1.0)
            changed = {each: value * factor.get(each, 1.0) for each, value in values.items()}
            other = problem_of(name, changed, points * scale[0], targets * regression)
            scaled = coef * factor.get("coef", 1.0), intercept * factor.get("intercept", 1.0)
            found = other.certify(*other.checked(*scaled))
            assert found.relative_gap == pytest.approx(known.relative_gap, rel=1e-6, abs=1e-9), scale
            assert found.meets(1e-3) == known.meets(1e-3)


def test_the_model_zero_is_not_good_enough_for_small_targets():
    points, _ = data("eps-svr")
    problem = problem_of("eps-svr", {"C": 1.0, "epsilon": 1e-8}, points, 1e-6 * points[:, 0])
    assert problem.certify(np.zeros(16), 0.0).relative_gap > 0.9
    assert certified(problem, get_solver("smo").with_target_gap(1e-3).solve(problem)).meets(1e-3)


def test_where_the_optimum_is_zero_the_gap_is_relative_to_what_the_dual_allows():
    points, _ = data("eps-svr")
    problem = problem_of("eps-svr", {"C": 2.0, "epsilon": 0.5}, points, np.zeros(16))
    assert problem.certify(np.zeros(16), 0.0).relative_gap == 0.0
    least = 1e-12 * 2.0 * 2.0 * 0.5 * 16
    assert problem.dual_form().gap_scale(0.0) == pytest.approx(least)
    outside, rounding = (problem.certify(np.zeros(16), 0.5 + off) for off in (1e-6, 2.0**-53))
    assert outside.relative_gap == pytest.approx(1.0, rel=1e-6)  # each point pays C for a millionth
    assert rounding.relative_gap < 1e-3
