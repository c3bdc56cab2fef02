"""Plugin `smo`: sequential minimal optimisation. `smo` is the plain one, `smo-block` the fast one.

Which way ``smo-block`` takes a problem of n points:

* n up to 2,500 (4,000 where bounds are up to 32 times as wide as narrow ones, see below, and six of ten of 256 points support;
  5,000 along a path): the whole kernel matrix is computed once, and compiled rounds of SMO run over it, or over the variables
  that matter now (:mod:`harness_smo.whole_loops`). More points: working sets of some hundred variables, kernel rows only of those
  that moved; points at rest are parked; once few matter, or all of up to 5,000, their matrix is computed too
  (:mod:`harness_smo.block_state`). Twice 192 drawn problems (n 2,600 to 4,000, d 2 to 50, C 0.3 to 30): the matrix of 4,000
  takes 1.45 times less CPU time than working sets, of single problems 0.34 (d = 2, C = 30). In memory that no process has touched
  before, it took up to 5 times as long where few support (waveform, n = 4,000: 0.16 and 0.03 s), hence the six of ten.
* Two variables a point (regression): of two one rests, so that rounds over most points take the one nearer to a violation at each,
  and read the matrix itself. 32 drawn problems (n = 2,000, d 3 to 100, C 1 to 1e4): 1.32 times less CPU time than with a copy of
  the block of those that violate, the least 0.93; n = 800: 1.13, the least 0.74.
* n up to 700 in float64. More points: rows in float32 as long as the violation stands out of their rounding, then float64 for the
  points near a violation. Of hulls, and along a path, float64 up to 2,500.
* Bounds more than 256 times as wide as those at which one step takes a variable from one to the other: the first optimum is that
  of such narrow bounds, and each next one of bounds 4 times as wide. Less far apart, SMO finds its way by itself: at C = 100 that
  took 1.3 times less CPU time on two times 48 drawn problems, the least 0.74 (n 400 to 2,000, d 2 to 30, noise 0 to 1).
* Bounds that far apart, and more than 1,000 points: some 256 of them are solved first. Where at most a third of these support and 3
  of 100 are at their bound, that is the start: the 512 points nearest to a violation go on with their matrix, and those that violate
  outside come in where others rest. On 32 drawn problems (n = 2,000, C 1e3 to 1e5, noise 0 or 0.1) 1.22 times less CPU time than with
  working sets from 0, the least 0.93; on 14 of n = 9,000 without noise 1.20, the least 0.84.
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
