"""Plugin `smo`: sequential minimal optimisation. `smo` is the plain one, `smo-block` the fast one.

``smo-block`` makes rounds over the active points (:mod:`harness_smo.active`) and asks after each what its strategies propose
(:mod:`harness_smo.strategies`); their constants, with the measurement that fixed each, are in :mod:`harness_smo.tuning`. The
page "How smo-block works" of the documentation has the table of what each rule is worth.
"""

from __future__ import annotations

from harness import Solver, hookimpl
from harness_smo.block import SMOBlock
from harness_smo.smo import SMO


@hookimpl
def harness_solvers() -> list[type[Solver]]:
    """Return the solvers of this plugin."""
    return [SMO, SMOBlock]
