"""The core-set certificate: a bound of the margin of all points relative to the margin of the support of a model.

The support X of a model of a hull formulation is an epsilon-core set if margin(all) >= (1 - epsilon) margin(X): the
problem over X alone, solved by an exact solver, is then as good as the problem over all points (Kumar & Yildirim 2009,
Theorem 3.3). Both margins are bounded: the margin of X is at most |w| of the exact solver, and the margin of all points is
at least their smallest projection on w. The ratio of these bounds is a lower bound of the true ratio, whatever either
solver did. A ratio close to 1 proves that X is a core set. A small ratio proves nothing.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.problems.problem import Problem
from harness.support.errors import UsageError

if TYPE_CHECKING:
    from harness.solver.protocol import Solver

_ACCURACY = 1e-6  # target relative gap of the sub-solver
_VALUES = 4_000_000_000  # n x |X| kernel values above which no certificate is computed


@dataclass(frozen=True)
class CoreSetCertificate:
    """A bound of margin(all) / margin(X), which is at most 1.

    oracle : name of the solver of the problem over X
    size : |X|
    ratio : lower bound of the ratio: X is a (1 - ratio)-core set; 1 if the hulls of X meet
    margin : upper bound of the margin of X
    reason : why there is no ratio, in a sentence; empty if there is one
    """

    oracle: str
    size: int
    ratio: float | None = None
    margin: float | None = None
    reason: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return the figures by name."""
        return asdict(self)


def core_set_certificate(problem: Problem, dual_coef: Any, oracle: str | Solver) -> CoreSetCertificate:
    """Solve ``problem`` over the support of ``dual_coef`` by ``oracle`` and bound margin(all) / margin(support) from below.

    The cost is that of ``oracle`` on the support, and n x |support| kernel values twice, none of them counted.

    Parameters
    ----------
    dual_coef : (n,) feasible coefficients
    oracle : an exact solver, or its name in the registry: ``qp``, ``smo-block``

    Raises
    ------
    UsageError : an unknown solver, or a formulation without hulls.
    """
    if not problem.has_core_set:
        raise UsageError(f"formulation '{problem.name}' has no core set; those of hulls, such as l2-svc, have one.")
    if isinstance(oracle, str):
        from harness.registry.discovery import get_solver

        oracle = get_solver(oracle)
    coef, _ = problem.checked(dual_coef, 0.0)
    support = np.flatnonzero(coef)
    name, size = oracle.name, len(support)
    if problem.n * size > _VALUES:
        reason = f"{problem.n:,} points x {size:,} in the core set are more kernel values than {_VALUES:,}"
        return CoreSetCertificate(name, size, reason=reason)
    core = problem.restrict(support)
    refusal = oracle.refusal(core)
    if refusal is not None:
        return CoreSetCertificate(name, size, reason=refusal)
    solution = oracle.with_target_gap(_ACCURACY).solve(core)
    core_coef, intercept = core.checked(solution.dual_coef, solution.intercept)
    full = np.zeros(problem.n)
    full[support] = core_coef
    certificates = [problem.certify(full, intercept), problem.certify(coef, 0.0)]
    margin = certificates[0].margin_upper
    if margin is None:
        return CoreSetCertificate(name, size, reason=certificates[0].undecidable)
    lower = max(0.0, *(each.margin_lower or 0.0 for each in certificates))
    ratio = 1.0 if certificates[0].touching else min(1.0, lower / margin)
    return CoreSetCertificate(name, size, ratio, margin)
