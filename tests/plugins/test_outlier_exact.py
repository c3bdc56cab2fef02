"""outlier-exact against every set that may be given up; anytime; what it does not take."""

import numpy as np
import pytest
from harness_rgd.outlier_margin import OutlierMargin

from harness import KernelOracle, Linear, get_solver
from tests.plugins.widest import drawn, widest


def stated(seed, n=10, d=2, kernel=None, **values):
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    x = rng.normal(size=(n, d)) + 20.0
    x[:, 0] += y * rng.choice([0.5, 2.0])
    return OutlierMargin.build(KernelOracle(kernel or Linear(), x), y, values)


@pytest.mark.parametrize("draws", [60, pytest.param(500, marks=pytest.mark.slow)])
def test_it_ends_in_the_widest_margin_of_all_sets_and_its_bounds_hold_on_the_way(draws):
    rng = np.random.default_rng(1)
    for _ in range(draws):
        problem = drawn(rng)
        best, size, margins = widest(problem), np.sqrt(problem.kernel.diagonal().max()), []
        for last in get_solver("outlier-exact").iterates(problem, rng):
            problem.checked(last.dual_coef, last.intercept)
            assert last.info["upper"] >= best - 1e-9 * size
            margins.append(last.info["margin"])
        assert last.done
        assert margins == sorted(margins)
        assert margins[-1] == pytest.approx(best, abs=1e-6 * size)
        found = problem.certify(last.dual_coef, last.intercept)
        if best > 1e-3 * size:
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
    assert "takes at most max_points=40, and there are 41" in get_solver("outlier-exact").refusal(problem)
