"""The margin of the inliers: of the points that the source of the data did not plant as outliers.

No decision of a run depends on it. The problem over the inliers is convex. The core-set oracle of the run solves it, or
else the solver that serves for certificates, and the answer is certified: the record has an interval.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from harness.registry import solver_serving

if TYPE_CHECKING:
    from harness.arrays import Mask
    from harness.problems.problem import Problem
    from harness.solver import Solver

_ACCURACY = 1e-6  # relative gap the oracle is asked for; what it leaves widens the interval, no more
_VALUES = 4_000_000_000  # n x n kernel values beyond which it is left out, unless the kernel is linear
_known: WeakKeyDictionary[Any, dict[Any, InlierMargin]] = WeakKeyDictionary()


@dataclass(frozen=True)
class InlierMargin:
    """What is known of the margin of the inliers alone.

    oracle : name of the solver
    size : number of inliers
    lower, upper : bounds of the margin; both 0 where the hulls meet
    meets : whether they do, as far as can be told: no separation was found, and the nearest points have no direction
    reason : why there is none, in a sentence; empty if there is
    """

    oracle: str
    size: int
    lower: float | None = None
    upper: float | None = None
    meets: bool = False
    reason: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return the figures by name."""
        return asdict(self)


def inlier_margin(problem: Problem, planted: Mask, oracle: Solver | None) -> InlierMargin | None:
    """Return the margin of the points that are not ``planted``, (n,) bool; None where the formulation gives up none.

    Solved once for the same data and kernel; none of it is counted.

    Parameters
    ----------
    oracle : an exact solver of hulls; None: the one that serves for certificates
    """
    core = problem.inliers(np.flatnonzero(~planted))
    if core is None:
        return None
    chosen = _serving(core) if oracle is None else oracle
    kept = _known.setdefault(problem.kernel.identity, {})
    key = chosen, core.name, planted.tobytes(), problem.kernel.ridge
    if key not in kept:
        kept[key] = _solved(core, chosen)
    return kept[key]


def _serving(core: Problem) -> Solver:
    """Return the solver that serves for certificates, or the reference where that one does not take the problem."""
    found = solver_serving("certificate")
    return found if found.takes(type(core)) else solver_serving("reference")


def _solved(core: Problem, oracle: Solver) -> InlierMargin:
    name, size = oracle.name, core.n
    if not core.kernel.is_linear and size * size > _VALUES:
        return InlierMargin(name, size, reason=f"{size:,} inliers have more kernel values than {_VALUES:,}")
    refused = oracle.refusal(core)
    if refused is not None:
        return InlierMargin(name, size, reason=refused)
    solution = oracle.with_target_gap(_ACCURACY).solve(core)
    coef, intercept = core.checked(solution.dual_coef, solution.intercept)
    found = core.certify(coef, intercept)
    if found.touching or (found.undecidable and not solution.done):
        return InlierMargin(name, size, 0.0, 0.0, meets=True)
    if found.margin_lower is None or found.margin_upper is None:
        return InlierMargin(name, size, reason=found.undecidable or "no margin could be certified")
    meets = found.margin_lower <= 0.0
    return InlierMargin(name, size, max(0.0, found.margin_lower), found.margin_upper, meets=meets)
