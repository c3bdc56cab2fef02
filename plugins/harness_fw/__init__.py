"""Frank-Wolfe with away steps, and Gilbert's algorithm: nearest points of two convex hulls.

P. Kumar and E. A. Yildirim, "A linearly convergent linear-time first-order algorithm for support vector
classification with a core set result" (2009), Algorithm 1; without its away steps it is the algorithm of
E. G. Gilbert, "An iterative procedure for computing the minimum of a quadratic form on a convex set",
SIAM Journal on Control 4(1), 1966.

Scores <w, phi(x)> of all points and |w|^2 are kept and updated by (48), (49): an iteration costs the
rows of two vertices, 2 n kernel evaluations, and none for a vertex whose row is still in memory. The
paper prints the cross term of |w|^2 at an add-iteration with the wrong sign; it is +2 lambda (1 - lambda) <w, z>.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness import hookimpl
from harness_fw.bounds import core_set_bound, delta_bound, delta_of, iteration_bound
from harness_fw.corrective import FullyCorrective
from harness_fw.cvm import CoreVectorMachine
from harness_fw.linear_newton import NewtonFrankWolfe
from harness_fw.solvers import MDM, FrankWolfe, Gilbert, NearestPoint, PairwiseFrankWolfe

if TYPE_CHECKING:
    from harness import Solver

__all__ = [
    "MDM",
    "CoreVectorMachine",
    "FrankWolfe",
    "FullyCorrective",
    "Gilbert",
    "NearestPoint",
    "NewtonFrankWolfe",
    "PairwiseFrankWolfe",
    "core_set_bound",
    "delta_bound",
    "delta_of",
    "iteration_bound",
]


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
