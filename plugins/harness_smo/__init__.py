"""Plugin `smo`: sequential minimal optimisation. `smo` is the plain one, `smo-block` the fast one.

Which way ``smo-block`` takes a problem of n points:

* n up to 2,500 (5,000 along a path): the whole kernel matrix is computed once, and compiled rounds of SMO run over it, or over the
  variables that matter now (:mod:`harness_smo.whole_loops`). More points: working sets of some hundred variables, kernel rows only of
  those that moved; points at rest are parked; once few matter, their matrix is computed too (:mod:`harness_smo.block_state`).
* n up to 500 in float64. More points: rows in float32 as long as the violation stands out of their rounding, then float64 for the
  points near a violation. Of hulls, and along a path, float64 up to 2,500.
* Bounds more than 64 times as wide as those at which one step takes a variable from one to the other: the first optimum is that of
  such narrow bounds, and each next one of bounds 4 times as wide. Less far apart, SMO finds its way by itself: on four times 72 drawn
  problems (n 400 to 2,000, d 2 to 30, C 1 to 1e6) that took 1.04 to 1.08 times less CPU time than narrow bounds from 4 times on, at
  C = 10 1.25 to 1.44 times; of single problems the least was 0.63.
* Steps that cost as much as solving the free variables' equations: they move to their common optimum by a Newton step, or by
  conjugate gradients beyond 600 of them (:mod:`harness_smo.face`).
"""

from __future__ import annotations

from harness import Solver, hookimpl
from harness_smo.block import SMOBlock
from harness_smo.smo import SMO


@hookimpl
def harness_solvers() -> list[type[Solver]]:
    """Return the solvers of this plugin."""
    return [SMO, SMOBlock]
