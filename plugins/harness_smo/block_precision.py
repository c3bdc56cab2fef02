"""When float32 rows are good enough for block SMO, and how it goes on in float64 where they are not.

Scores that come from float32 rows are off by the rounding of the rows times the coefficients. It is measured on a
sample of points, and estimated while the rounds go on: beyond it, float32 only chases its own noise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from harness import KernelOracle
    from harness.arrays import Index, Vector
    from harness_smo.block_descent import Descent

_SAMPLE = 64  # points, about, whose scores of both precisions are compared
_NOISE = 4.0  # times the largest difference seen between scores of float32 and float64
_TYPICAL = 0.25 * float(np.finfo(np.float32).eps)  # relative rounding of a float32 value, about
_SURE = 2.0  # times the rounding that was measured
_BLUR = 0.25  # of a violation: float32 rows that blur the scores by more are of no use
_NEAR = 8.0  # times tau: points that close to a violation are looked at in float64
_LEAST = 512  # points, at least, gone on with in float64 before the end is near
_ROOM = 3  # times the points that are free or violate, the same


def rounding(kernel: KernelOracle, scores: Vector, coef: Vector, points: Index, dtype: Any) -> float:
    """Return a bound, from a sample of ``points``, on how far ``scores`` of rows in ``dtype`` are off; 0 for float64.

    kernel : of all points, in float64
    """
    if dtype == np.float64 or len(points) == 0:
        return 0.0
    sample = points[:: max(1, len(points) // _SAMPLE)]
    both = np.union1d(sample, np.flatnonzero(coef))
    exact = kernel.restrict(both).expand(coef[both], np.searchsorted(both, sample))
    return _NOISE * float(np.abs(exact - scores[sample]).max())


def blur(state: Descent) -> float:
    """Return what rounding of float32 rows does to the scores, about: its squares add up over the variables."""
    a = state.level.a
    return _TYPICAL * float(np.sqrt(a @ a)) * float(state.diagonal.max())


def blurred(state: Descent, violation: float) -> bool:
    """Whether rounding of float32 rows may blur a violation."""
    return blur(state) > _BLUR * violation


def clear(state: Descent, tau: float) -> bool:
    """Whether the level's scores, which come from float32 rows, are known to be good enough for tau.

    The rounding is measured once, and from then on goes with what is expected of it.
    """
    expected = blur(state)
    if state.grain is None and expected > 0.0:
        state.keep()
        coef = state.form.coef(state.a)
        noise = rounding(state.problem.kernel, state.scores, coef, np.flatnonzero(coef), state.kernel.dtype)
        state.grain = noise / expected
    return state.level.violation + _SURE * (state.grain or 0.0) * expected <= tau


def sharpen(state: Descent, kernel: KernelOracle, tau: float) -> None:
    """Go on in float64 with the points near a violation; the others' scores are off by the rounding seen there."""
    coef, slack = state.form.coef(state.a), state.slack()
    close = np.flatnonzero(slack <= max(tau, float(slack.min())))
    noise = rounding(state.problem.kernel, state.scores, coef, close, state.kernel.dtype)
    near = slack <= max(_NEAR * tau, 2.0 * noise, float(slack.min()))
    if state.level.violation > _NEAR * tau:  # the ends are far apart: they do not say who is near
        middle = state.middle_slack()
        count = max(_LEAST, _ROOM * int(np.count_nonzero(middle <= 0.0)))
        near = np.zeros(state.n, dtype=bool)
        near[np.argpartition(middle, count)[:count] if count < state.n else slice(None)] = True
    moved = state.moved()
    for generation in state.parked:
        state.doubt[generation.points] += (generation.path + moved) * state.root_diagonal[generation.points]
    state.doubt += noise
    state.doubt[near] = 0.0
    state.kernel, state.parked = kernel, []
    state.known = np.setdiff1d(state.everyone, state.level.where)
    state.activate(np.flatnonzero(near))
    _afresh(state, coef)


def refine(state: Descent, kernel: KernelOracle) -> None:
    """Go on in float64 with the same points."""
    state.keep()
    state.kernel = kernel
    state.replace(state.level.where)
    _afresh(state, state.form.coef(state.a))


def _afresh(state: Descent, coef: Vector) -> None:
    state.level.compute_scores(coef)
    state.mark = (state.mark[0], state.level.scores.copy())
