"""outlier-exact against every set that may be given up; anytime; what it does not take."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness import RBF, KernelOracle, Linear, OutlierMargin, get_solver
from tests.problems.widest import widest


def stated(seed, n=10, d=2, kernel=None, **values):
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    x = rng.normal(size=(n, d)) + 20.0
    x[:, 0] += y * rng.choice([0.5, 2.0])
    return OutlierMargin.build(KernelOracle(kernel or Linear(), x), y, values)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 10**6),
    st.sampled_from(
        [
            {"outliers": 0.2},
            {"outliers": 0.3, "delta": 0.0},
            {"outliers_plus": 0.4, "outliers_minus": 0.2},
            {"outliers": 0.2, "against": "origin"},
        ]
    ),
    st.sampled_from([None, RBF(gamma=0.2)]),
)
def test_it_ends_in_the_widest_margin_and_yields_feasible_models_before(seed, values, kernel):
    problem = stated(seed, kernel=kernel, **values)
    last, margins = None, []
    for last in get_solver("outlier-exact").iterates(problem, np.random.default_rng(0)):
        problem.checked(last.dual_coef, last.intercept)
        assert last.info["margin"] <= last.info["upper"] + 1e-9
        margins.append(last.info["margin"])
    assert last.done
    assert margins == sorted(margins)
    best = widest(problem)
    assert last.info["margin"] == pytest.approx(best, abs=1e-6)
    found = problem.certify(last.dual_coef, last.intercept)
    if best > 1e-3:
        assert found.margin_lower >= best * (1.0 - 1e-6)
        assert found.relative_gap <= 1e-6


def test_the_intercept_is_minus_the_middle_of_the_slab():
    x = np.array([[12.0], [13.0], [14.0], [4.0], [8.0], [7.0], [6.0], [9.0]])
    y = np.array([1.0, 1.0, 1.0, 1.0, -1.0, -1.0, -1.0, -1.0])
    problem = OutlierMargin.build(KernelOracle(Linear(), x), y, {"outliers": 0.13, "delta": 0.0})
    found = get_solver("outlier-exact").solve(problem)
    scores = problem.kernel.expand(found.dual_coef) + found.intercept
    assert min(scores[:3]) == pytest.approx(-max(scores[4:]))
    assert found.info["margin"] == pytest.approx(3.0)


def test_with_less_accuracy_it_stops_sooner():
    problem = stated(0, n=36, d=6, outliers=0.2)
    exact, rough = (get_solver("outlier-exact", accuracy=value).solve(problem).info for value in (1e-9, 0.4))
    assert rough["nodes"] < exact["nodes"]
    assert rough["margin"] >= 0.6 * exact["margin"]


def test_more_than_forty_points_are_refused_in_a_sentence():
    problem = stated(0, n=41)
    assert get_solver("outlier-exact").skip(problem) == "outlier-exact takes 40 points at most, and there are 41."
