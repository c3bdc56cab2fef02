"""Compute the certified margin of the inliers, the points that the data set did not plant as outliers.

No decision of a run depends on it. The problem over the inliers is convex. The solver of --core-set-oracle solves it, by default
smo-block, or qp against the origin.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

from harness import KernelOracle, PluginError, Problem, Solver

_ACCURACY = 1e-6  # relative gap to which the problem is solved
_MAX_VALUES = 4_000_000_000  # largest number n x n of kernel values for which it is solved with a nonlinear kernel
_results: WeakKeyDictionary[Any, dict[Any, Any]] = WeakKeyDictionary()


def cached_result(kernel: KernelOracle, key: Any, compute: Callable[[], Any]) -> Any:
    """Return the result of ``compute()``, which is cached by points, kernel and ``key``."""
    results = _results.setdefault(kernel.identity, {})
    if (key, kernel.ridge) not in results:
        results[key, kernel.ridge] = compute()
    return results[key, kernel.ridge]


def inlier_margin(inliers: Problem, solver: Solver) -> tuple[float, float]:
    """Return bounds of the margin of a convex problem over the inliers; both are 0 if their hulls meet.

    Raises
    ------
    PluginError : the solver refuses the problem or no margin could be certified.
    """
    n = inliers.n
    if not inliers.kernel.is_linear and n * n > _MAX_VALUES:
        raise PluginError(f"{n:,} inliers have more kernel values than {_MAX_VALUES:,}")
    if reason := solver.refusal(inliers):
        raise PluginError(reason)
    solution = solver.with_target_gap(_ACCURACY).solve(inliers)
    certificate = inliers.certify(*inliers.checked(solution.dual_coef, solution.intercept))
    if certificate.touching or (certificate.undecidable and not solution.done):
        return 0.0, 0.0
    if certificate.margin_lower is None or certificate.margin_upper is None:
        raise PluginError(certificate.undecidable or "no margin could be certified")
    return max(0.0, certificate.margin_lower), certificate.margin_upper
