"""Frank-Wolfe, core sets and the nearest points of convex hulls.

``fw``, ``gilbert``, ``fw-pairwise``, ``mdm``, ``nearest-point`` move one vertex or pair an iteration (solvers.py; the
rules and their papers are in rules.py); ``fw-fully-corrective`` and ``cvm`` solve a growing core set exactly
(corrective.py, cvm.py); ``fw-newton`` does so on w itself, for l2-svc (newton.py, pivots.py).

P. Kumar and E. A. Yildirim, "A linearly convergent linear-time first-order algorithm for support vector
classification with a core set result" (2009), give epsilon_+ and epsilon_-, (10) and (11), by which they stop (cvm: if
it has a target gap). The paper prints the cross term of |w|^2 at an add-iteration with the wrong sign; it is
+2 lambda (1 - lambda) <w, z>.
"""

from __future__ import annotations

from harness import Solver, hookimpl
from harness_fw.bounds import core_set_bound, delta_bound, delta_of, iteration_bound
from harness_fw.solvers import (
    MDM,
    CoreVectorMachine,
    FrankWolfe,
    FullyCorrective,
    Gilbert,
    NearestPoint,
    NewtonFrankWolfe,
    PairwiseFrankWolfe,
)

__all__ = ["core_set_bound", "delta_bound", "delta_of", "iteration_bound"]


@hookimpl
def harness_solvers() -> list[type[Solver]]:
    """The solvers of this plugin."""
    return [
        FrankWolfe,
        Gilbert,
        PairwiseFrankWolfe,
        MDM,
        NearestPoint,
        FullyCorrective,
        CoreVectorMachine,
        NewtonFrankWolfe,
    ]
