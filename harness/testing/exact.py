"""Reference objectives of test problems, from the solver that the registry names, so that the suite imports no solver."""

from __future__ import annotations

import functools
import unittest
from typing import TYPE_CHECKING

from harness.registry.discovery import solver_serving

if TYPE_CHECKING:
    from harness.problems.cases import Case
    from harness.problems.problem import Problem

_WIDTH = 1e-5  # largest relative gap of a reference solution


@functools.cache
def bounds(case: Case) -> tuple[float, float]:
    """Return certified lower and upper bounds of the optimal objective of a case, cached by case.

    Raises
    ------
    unittest.SkipTest : no reference solver is installed, or its gap on this problem is too large.
    """
    return oracle_bounds(case.problem()) if case.optimum is None else (case.optimum, case.optimum)


def oracle_bounds(problem: Problem) -> tuple[float, float]:
    """Solve with the solver that serves as reference; return the interval between its primal and dual objective."""
    try:
        reference = solver_serving("reference", type(problem))
        solution = reference.solve(problem)
    except Exception as error:  # a failing reference is not the fault of the solver under test
        raise unittest.SkipTest(f"no exact reference: {type(error).__name__}: {error}") from None
    bound = problem.certify(solution.dual_coef, solution.intercept)
    if bound.primal is None or bound.dual is None or bound.relative_gap is None or bound.relative_gap > _WIDTH:
        raise unittest.SkipTest(
            f"no exact reference: '{reference.name}' reached only a relative gap of {bound.relative_gap}"
        )
    return min(bound.primal, bound.dual), max(bound.primal, bound.dual)
