"""Exact answers to compare with, asked of the registry: the suite imports no solver."""

from __future__ import annotations

import unittest
from typing import TYPE_CHECKING

from harness.registry.discovery import solver_serving

if TYPE_CHECKING:
    from harness.problems.cases import Case
    from harness.problems.problem import Problem

_WIDTH = 1e-5  # relative gap beyond which the oracle's own answer is no reference
_known: dict[int, tuple[Case, tuple[float, float]]] = {}


def bounds(case: Case) -> tuple[float, float]:
    """Return certified lower and upper bounds of the optimal objective of a case; asked once for each case.

    Raises
    ------
    unittest.SkipTest : no exact oracle is installed, or it is not exact on this problem.
    """
    if id(case) not in _known:
        found = (case.optimum, case.optimum) if case.optimum is not None else oracle_bounds(case.problem())
        _known[id(case)] = (case, found)  # the case is kept, so that its id stays its own
    return _known[id(case)][1]


def oracle_bounds(problem: Problem) -> tuple[float, float]:
    """Solve with the solver that serves as reference; return the interval between its primal and dual objective."""
    try:
        reference = solver_serving("reference", type(problem))
        solution = reference.solve(problem)
    except Exception as error:  # the oracle's trouble is no fault of the solver under test
        raise unittest.SkipTest(f"no exact reference: {type(error).__name__}: {error}") from None
    found = problem.certify(solution.dual_coef, solution.intercept)
    if found.primal is None or found.dual is None or found.relative_gap is None or found.relative_gap > _WIDTH:
        raise unittest.SkipTest(
            f"no exact reference: '{reference.name}' reached only a relative gap of {found.relative_gap}"
        )
    return min(found.primal, found.dual), max(found.primal, found.dual)
