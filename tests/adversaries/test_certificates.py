"""Certificates on data far from the origin: a time stamp among the columns, and offsets of 1e8, through real solvers."""

from fractions import Fraction

import numpy as np
import pytest

from harness import CSVC, KernelOracle, Limits, Linear, drive, get_solver
from harness.problems import L2SVC, HardMargin, ReducedHull
from tests.problems.exact_certificates import falsehoods, scores_and_square

SECONDS = 1.0  # fw does not end by itself on the time stamps


def separable(far):
    """Return 40 points of two classes with x near +-1, and a column that says nothing: a time stamp, or noise at 1e8."""
    rng = np.random.default_rng(1)
    y = np.where(np.arange(40) % 2, 1.0, -1.0)
    x = y + 0.2 * rng.uniform(-1.0, 1.0, size=40)
    if far == "time stamp":
        return np.column_stack([1.7e9 + rng.integers(0, 3_000_000, 40), x]), y
    return np.column_stack([x, rng.normal(size=40)]) + 1e8, y


@pytest.mark.parametrize("far", ["time stamp", "1e8"])
@pytest.mark.parametrize(
    ("name", "formulation"),
    [("fw-newton", L2SVC), *((name, each) for name in ("fw", "qp") for each in (HardMargin, L2SVC, ReducedHull))],
    ids=lambda each: each if isinstance(each, str) else each.name,
)
def test_what_a_solver_ends_with_is_not_called_optimal_unless_it_is(name, formulation, far):
    x, y = separable(far)
    problem = formulation.build(KernelOracle(Linear(), x), y, {"C": 1.0})
    solver = get_solver(name).with_target_gap(1e-3)
    outcome = drive(solver, problem, np.random.default_rng(0), Limits(time_limit=SECONDS))
    coef, intercept = problem.checked(outcome.dual_coef, outcome.intercept)
    found = problem.certify(coef, intercept)
    assert falsehoods(problem, problem.feasible(coef), intercept, found) == []
    assert found.undecidable == ""
    accuracy = np.mean((problem.scores_new(coef, intercept, x) >= 0) == (y > 0))
    if accuracy < 0.9:
        assert found.relative_gap > 0.3, "the hulls are at least 1.62 apart and w does not separate them"
        assert not found.meets(0.3)
    if found.meets(1e-3):
        assert accuracy == 1.0
    if formulation is HardMargin:
        assert found.margin_upper >= 1.62, "no model is shorter than the hulls are apart"


@pytest.mark.parametrize("off", [1e-12, 1e-9, 1e-7, -1e-9, -1e-7])
def test_sums_that_are_off_by_less_than_is_refused_make_no_optimum_of_an_offset(off):
    x, y = separable("1e8")
    best = {}
    for formulation in (HardMargin, CSVC):
        centred = formulation.build(KernelOracle(Linear(), x - 1e8), y, {"C": 1.0})
        solution = get_solver("qp").solve(centred)
        best[formulation] = solution, centred.certify(solution.dual_coef, solution.intercept)
    solution, optimum = best[HardMargin]
    hulls = HardMargin.build(KernelOracle(Linear(), x), y)
    for coef in (solution.dual_coef, y / 20.0):  # w is moved by ``off`` times the offset
        moved = coef.copy()
        moved[np.flatnonzero(coef > 0.0)[0]] += off
        found = hulls.certify(*hulls.checked(moved, 0.0))
        assert found.margin_upper is None or found.margin_upper >= optimum.margin_upper * (1.0 - 1e-9)
        assert not found.meets(1e-3) or found.margin_lower > 0.99 * optimum.margin_upper
    solution, optimum = best[CSVC]
    svc = CSVC.build(KernelOracle(Linear(), x), y, {"C": 1.0})
    moved = solution.dual_coef.copy()
    moved[np.flatnonzero(moved > 0.0)[0]] += off
    scores, _ = scores_and_square(svc, moved, Fraction)
    level = float(sorted(scores)[20])
    found = svc.certify(*svc.checked(moved, -level))
    if found.undecidable == "":
        proved = found.primal - (found.relative_gap + found.gap_rounding) * found.primal
        assert proved <= optimum.primal * (1.0 + 1e-9), "no lower bound is above the optimum"
