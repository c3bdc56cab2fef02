"""``outlier-path``: from the hinge to the ramp loss by homotopy, each point of the path a conditional optimum.

Points are partitioned into inliers (y f >= s) and outliers (y f < s). For a partition

    min_w  1/2 |w|^2 + sum_inliers C_i H_i
           + sum_outliers C_i (theta H_i + (1 - theta) (1 - s))
    with H_i = max(0, 1 - y_i f_i)

is convex, and the loss of either kind is the larger one on the other's side: the loss of the path is the least over all
partitions. Its dual is the hinge's with an outlier's coefficient in [0, theta C_i]: at y f < s < 1 that is at its bound.

* ``path=theta``: theta from 1, the hinge, to 0, the ramp. Between breakpoints, where a point changes between y f > 1, = 1
  and < 1, the solution is linear in theta. Where a point reaches y f = s, the solution of the partition is no local optimum
  (the loss is concave there): the point changes sides and the other partition's problem is solved, by moving the bounds of
  who changed to where they belong, and anew while others change sides; the objective falls with each, so that ends.
* ``path=s``: theta = 0, and s from below all y f to the problem's. The solution stays until s reaches the least y f of the
  inliers, and is then re-optimised in the same way.

The end has nobody at y f = s and solves its partition's problem: it is a stationary point of ramp-svc.

Source: Suzumura, Ogawa, Sugiyama, Takeuchi, Outlier Path: A Homotopy Algorithm for Robust SVM, ICML 2014, here without a
bias. Differs in: re-optimising follows the change of the bounds, and is not kept within the partition's polytope, which
is searched no further than until nobody changes sides.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, cast

import numpy as np

from harness import Conformance, Iterate, Problem, Solver, parameter
from harness.support.arrays import Mask
from harness_robust.parametric import Follower, Stalled
from harness_robust.ramp import RampSVC

_BEYOND = 1e-10  # in units of f: so far beyond s a point has changed sides; nearer, it is at s and stays on its own
_MOST = 50  # times n re-optimisations: about one for each outlier is usual
_AT_THE_BEND = 1e-8  # in units of f: nearer to s at the end, the other side is tried
_FEW = 6  # such points: of more, as many ways to put them are drawn as these have
_FALLS = 1e-11  # of the objective: less is rounding


@dataclass(frozen=True)
class OutlierPath(Solver):
    """The outlier path from the hinge solution to a stationary point of the ramp loss, exact to rounding.

    Take it where labels are wrong and a stationary point exact to rounding is wanted. Paper: Suzumura, Ogawa,
    Sugiyama and Takeuchi 2014.

    A step is a breakpoint or a re-optimisation. ``info``: kind (hinge: on the way from w = 0 to the hinge solution, along
    C; breakpoint; reoptimised), theta and s of the loss, objective (of that loss), outliers, free (points at y f = 1),
    breakpoints and reoptimised so far, moved_apart (times that points which stood in each other's way were moved apart, by
    1e-11 in units of f; 0: the path is exact to rounding). Each free point costs a kernel row, n values, and each breakpoint
    the factorisation of the free points' matrix.
    """

    name = "outlier-path"
    conformance = Conformance(variants=({"path": "s"},), gap=1e-6)
    solves: ClassVar[tuple[type[Problem], ...]] = (RampSVC,)
    exact = False  # a stationary point, not the minimum

    path: Literal["theta", "s"] = parameter("theta", "what moves: the slope of the loss below s, or s")
    max_points: int = parameter(5000, "skip larger problems: each of about n breakpoints costs (free points)^3", ge=1)

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        """Yield at each breakpoint and re-optimised point."""
        from threadpoolctl import threadpool_limits

        walk = _Walk(cast("RampSVC", problem), rng)
        # a factorisation is short: threads beyond the run's would spend it waking each other
        with threadpool_limits(problem.kernel.threads, user_api="blas"):
            try:
                yield from walk.to_the_hinge()
                yield from walk.along_theta() if self.path == "theta" else walk.along_s()
                yield from walk.off_the_bend()
            except Stalled as stalled:
                yield walk.iterate(stopped=f"stalled: at theta={walk.theta:.9g} and s={walk.s:.9g} {stalled}")
                return
            yield walk.iterate(done=True)


class _Walk:
    """One run: the solution (``now``), the loss (theta, s) and the partition (``outliers``, (n,) bool)."""

    def __init__(self, problem: RampSVC, rng: np.random.Generator) -> None:
        self.problem, self.price, self.rng = problem, problem.upper, rng
        self.now = Follower(problem.kernel, problem.targets)
        self.outliers: Mask = np.zeros(problem.n, dtype=bool)
        self.theta, self.s = 1.0, -np.inf
        self.breakpoints = self.reoptimised = self.steps = 0
        self.kind = "hinge"

    def to_the_hinge(self) -> Iterator[Iterate]:
        """Follow the solution from w = 0 at C = 0 to the hinge's."""
        for _ in self.now.follow(np.array(self.price)):
            self.steps += 1
            yield self.iterate()
        self.steps += 1

    def along_theta(self) -> Iterator[Iterate]:
        """Let theta fall to 0."""
        self.s = self.problem.s
        self.outliers = self.now.z < self.s
        while self.theta > 0.0:
            first = self.theta
            ahead = np.where(self.outliers, 0.0, self.price)
            for tau in self.now.follow(ahead, self.outliers, self.s - _BEYOND, self.s + _BEYOND):
                self.theta = first * (1.0 - tau)
                yield self._broken()
            crossed = self.now.crossed
            if crossed is None:
                self.theta = 0.0
                return
            self.theta = first * (1.0 - self.now.tau)
            yield self._broken()
            self.outliers[crossed] = ~self.outliers[crossed]
            yield from self._reoptimise()

    def along_s(self) -> Iterator[Iterate]:
        """Let s rise from below all y f to the problem's."""
        self.theta = 0.0
        while True:
            margins = np.where(self.outliers, np.inf, self.now.z)
            i = int(np.argmin(margins))
            if margins[i] >= self.problem.s:
                self.s = self.problem.s
                return
            self.s = float(margins[i])
            yield self._broken()
            self.outliers[i] = True
            yield from self._reoptimise()

    def off_the_bend(self) -> Iterator[Iterate]:
        """Try other sides for points that ended at y f = s, while the objective falls: all ways to put a few of them.

        Of data drawn at random there are none. The solution must be optimal whichever side they are counted to.
        """
        while True:
            before = self._objective()
            for outliers in self._other_sides():
                self.outliers = outliers
                yield from self._reoptimise()
                if self._objective() < before - _FALLS * max(1.0, before):
                    break
            else:
                return

    def _other_sides(self) -> list[Mask]:
        """Return the partitions that put the points at s otherwise: all if they are few, else some."""
        at = np.flatnonzero(np.abs(self.now.z - self.s) <= _AT_THE_BEND)
        if len(at) == 0:
            return []
        ways = [np.array(way) for way in itertools.product((False, True), repeat=min(len(at), _FEW))]
        if len(at) > _FEW:
            now, drawn = self.outliers[at], self.rng.random((len(ways), len(at))) < 0.5
            ways = [now ^ one for one in np.eye(len(at), dtype=bool)] + [now | True, now & False, *drawn]
        found = [self.problem.outliers(self.problem.kernel.expand(self.now.coef))]  # as the certificate has it
        for way in ways:
            outliers = self.outliers.copy()
            outliers[at] = way
            found.append(outliers)
        return [outliers for outliers in found if (outliers != self.outliers).any()]

    def _reoptimise(self) -> Iterator[Iterate]:
        """Solve the partition's problem, and that of the partition it leads to, until that is the same."""
        seen = set()
        while self.outliers.tobytes() not in seen:
            seen.add(self.outliers.tobytes())
            solved = self.outliers
            for _ in self.now.follow(np.where(self.outliers, self.theta * self.price, self.price)):
                pass
            self.outliers = self.now.z < np.where(solved, self.s + _BEYOND, self.s - _BEYOND)
        if (
            self.outliers != solved
        ).any():  # the objective falls from one to the next: but for rounding none comes again
            raise Stalled(f"{len(seen):,} partitions came one after the other, and then one of them again")
        self.kind = "reoptimised"
        self.reoptimised += 1
        if self.reoptimised > _MOST * self.problem.n:
            raise Stalled(f"points have crossed s {_MOST} times as often as there are points")
        self.steps += 1
        yield self.iterate()

    def _broken(self) -> Iterate:
        self.kind = "breakpoint"
        self.breakpoints += 1
        self.steps += 1
        return self.iterate()

    def _objective(self) -> float:
        """Return the objective of the loss of theta and s."""
        now = self.now
        hinge = np.maximum(0.0, 1.0 - now.z)
        beyond = self.theta * hinge + (1.0 - self.theta) * (1.0 - self.s) if np.isfinite(self.s) else np.inf
        return float(0.5 * now.a @ now.z + self.price @ np.minimum(hinge, beyond))

    def iterate(self, *, done: bool = False, stopped: str = "") -> Iterate:
        """Return the solution of now with the walk's figures."""
        info: dict[str, Any] = {
            "kind": self.kind,
            "theta": self.theta,
            "s": self.s,
            "objective": self._objective(),
            "outliers": int(np.count_nonzero(self.outliers)),
            "free": len(self.now.free),
            "breakpoints": self.breakpoints,
            "reoptimised": self.reoptimised,
            "moved_apart": self.now.moved_apart,
        }
        if stopped:
            info["stopped"] = stopped
        return Iterate(dual_coef=self.now.coef, done=done, step=self.steps, info=info)
