"""Solver ``outlier-path``: a homotopy from the hinge to the ramp loss, each point of whose path is a conditional optimum.

Points are partitioned into inliers (y f >= s) and outliers (y f < s). For a partition

    min_w  1/2 |w|^2 + sum_inliers C_i H_i
           + sum_outliers C_i (theta H_i + (1 - theta) (1 - s))
    with H_i = max(0, 1 - y_i f_i)

is convex. The loss of the path is its minimum over all partitions. The dual is that of the hinge loss with the coefficient of
an outlier in [0, theta C_i]; as y f < s < 1, that coefficient is at its upper bound.

* ``path=theta``: theta decreases from 1, the hinge loss, to 0, the ramp loss. Between breakpoints, where a point changes between
  y f > 1, = 1 and < 1, the solution is linear in theta. If a point reaches y f = s, the solution of the partition is no local
  optimum, as the loss is concave there: the point changes sides, and the problem of the new partition is solved by moving the
  bounds of the points that changed. This repeats while points change sides; as the objective falls each time, it ends.
* ``path=s``: theta = 0, and s increases from below all y f to the problem's s. The solution does not change until s reaches the
  least y f of the inliers, and is then re-optimised in the same way.

At the end no point is at y f = s and the solution is that of its partition: it is a stationary point of ramp-svc.

Source: Suzumura, Ogawa, Sugiyama, Takeuchi, Outlier Path: A Homotopy Algorithm for Robust SVM, ICML 2014, here without a
bias. This code differs in one point: re-optimisation follows the change of the bounds until no point changes sides, and may
leave the polytope of the partition.
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

_CROSSING = 1e-10  # distance beyond s, in units of f, at which a point changes sides
_MAX_REOPTIMISED = 50  # largest number of re-optimisations, over n; about one for each outlier is usual
_AT_S = 1e-8  # distance from s at the end, in units of f, within which both sides of a point are tried
_MAX_ENUMERATED = 6  # number of points at s up to which all partitions are tried; of more points, as many random ones
_MIN_FALL = 1e-11  # decrease of the objective, relative, that is not rounding


@dataclass(frozen=True)
class OutlierPath(Solver):
    """The outlier path from the hinge solution to a stationary point of the ramp loss, exact to rounding.

    Use it for data with wrong labels if you need a stationary point that is exact to rounding. Paper: Suzumura, Ogawa,
    Sugiyama and Takeuchi 2014.

    A step is a breakpoint or a re-optimisation. ``info``: kind (hinge: on the path from w = 0 to the hinge solution, along
    C; breakpoint; reoptimised), theta and s of the loss, objective (of that loss), outliers, free (points at y f = 1),
    breakpoints and reoptimised so far, moved_apart (number of times that points which change sets in turn were moved apart, by
    1e-11 in units of f; 0: the path is exact to rounding). Each free point costs a kernel row, n values, and each breakpoint
    the factorisation of the free points' matrix.
    """

    name = "outlier-path"
    conformance = Conformance(variants=({"path": "s"},), gap=1e-6)
    solves: ClassVar[tuple[type[Problem], ...]] = (RampSVC,)
    exact = False  # a stationary point, not the minimum

    path: Literal["theta", "s"] = parameter("theta", "variable of the path: theta, the slope of the loss below s, or s")
    max_points: int = parameter(5000, "skip larger problems: each of about n breakpoints costs (free points)^3", ge=1)

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        """Yield an iterate at each breakpoint and after each re-optimisation."""
        from threadpoolctl import threadpool_limits

        run = _Run(cast("RampSVC", problem), rng)
        # factorisations are small: with more threads, waking them would take most of the time
        with threadpool_limits(problem.kernel.threads, user_api="blas"):
            try:
                yield from run.reach_hinge()
                yield from run.follow_theta() if self.path == "theta" else run.follow_s()
                yield from run.leave_bend()
            except Stalled as stalled:
                yield run.iterate(stopped=f"stalled: at theta={run.theta:.9g} and s={run.s:.9g} {stalled}")
                return
            yield run.iterate(done=True)


class _Run:
    """State of a run: the solution, the loss (theta, s) and the partition (``outliers``, (n,) bool)."""

    def __init__(self, problem: RampSVC, rng: np.random.Generator) -> None:
        self.problem, self.price, self.rng = problem, problem.upper, rng
        self.solution = Follower(problem.kernel, problem.targets)
        self.outliers: Mask = np.zeros(problem.n, dtype=bool)
        self.theta, self.s = 1.0, -np.inf
        self.breakpoints = self.reoptimised = self.steps = 0
        self.kind = "hinge"

    def reach_hinge(self) -> Iterator[Iterate]:
        """Follow the solution from w = 0 at C = 0 to the hinge solution."""
        for _ in self.solution.follow(np.array(self.price)):
            self.steps += 1
            yield self.iterate()
        self.steps += 1

    def follow_theta(self) -> Iterator[Iterate]:
        """Follow the solution while theta decreases to 0."""
        self.s = self.problem.s
        self.outliers = self.solution.z < self.s
        while self.theta > 0.0:
            first = self.theta
            ramp_box = np.where(self.outliers, 0.0, self.price)
            for tau in self.solution.follow(ramp_box, self.outliers, self.s - _CROSSING, self.s + _CROSSING):
                self.theta = first * (1.0 - tau)
                yield self._breakpoint()
            crossed = self.solution.crossed
            if crossed is None:
                self.theta = 0.0
                return
            self.theta = first * (1.0 - self.solution.tau)
            yield self._breakpoint()
            self.outliers[crossed] = ~self.outliers[crossed]
            yield from self._reoptimise()

    def follow_s(self) -> Iterator[Iterate]:
        """Follow the solution while s increases from below all y f to the problem's s."""
        self.theta = 0.0
        while True:
            margins = np.where(self.outliers, np.inf, self.solution.z)
            i = int(np.argmin(margins))
            if margins[i] >= self.problem.s:
                self.s = self.problem.s
                return
            self.s = float(margins[i])
            yield self._breakpoint()
            self.outliers[i] = True
            yield from self._reoptimise()

    def leave_bend(self) -> Iterator[Iterate]:
        """Re-optimise with other partitions of the points at y f = s while the objective falls.

        A stationary point is optimal for every partition of these points. Random data usually has no such points.
        """
        while True:
            before = self._objective()
            for outliers in self._other_partitions():
                self.outliers = outliers
                yield from self._reoptimise()
                if self._objective() < before - _MIN_FALL * max(1.0, before):
                    break
            else:
                return

    def _other_partitions(self) -> list[Mask]:
        """Return the partitions that differ only in the points at s: all if these are few, else some."""
        at = np.flatnonzero(np.abs(self.solution.z - self.s) <= _AT_S)
        if len(at) == 0:
            return []
        sides = [np.array(side) for side in itertools.product((False, True), repeat=min(len(at), _MAX_ENUMERATED))]
        if len(at) > _MAX_ENUMERATED:
            current, drawn = self.outliers[at], self.rng.random((len(sides), len(at))) < 0.5
            sides = [current ^ one for one in np.eye(len(at), dtype=bool)] + [current | True, current & False, *drawn]
        partitions = [self.problem.outliers(self.problem.kernel.expand(self.solution.coef))]  # the certificate's
        for side in sides:
            outliers = self.outliers.copy()
            outliers[at] = side
            partitions.append(outliers)
        return [outliers for outliers in partitions if (outliers != self.outliers).any()]

    def _reoptimise(self) -> Iterator[Iterate]:
        """Solve the problem of the partition, and of the partition that its solution defines, until that is the same."""
        visited = set()
        while self.outliers.tobytes() not in visited:
            visited.add(self.outliers.tobytes())
            solved = self.outliers
            for _ in self.solution.follow(np.where(self.outliers, self.theta * self.price, self.price)):
                pass
            self.outliers = self.solution.z < np.where(solved, self.s + _CROSSING, self.s - _CROSSING)
        # the objective falls from one partition to the next, so only rounding can repeat one
        if (self.outliers != solved).any():
            raise Stalled(f"re-optimisation repeated one of {len(visited):,} partitions")
        self.kind = "reoptimised"
        self.reoptimised += 1
        if self.reoptimised > _MAX_REOPTIMISED * self.problem.n:
            raise Stalled(f"the solution was re-optimised more than {_MAX_REOPTIMISED} times for each point")
        self.steps += 1
        yield self.iterate()

    def _breakpoint(self) -> Iterate:
        self.kind = "breakpoint"
        self.breakpoints += 1
        self.steps += 1
        return self.iterate()

    def _objective(self) -> float:
        """Return the objective with the loss of the current theta and s."""
        a, z = self.solution.a, self.solution.z
        hinge = np.maximum(0.0, 1.0 - z)
        outlier_loss = self.theta * hinge + (1.0 - self.theta) * (1.0 - self.s) if np.isfinite(self.s) else np.inf
        return float(0.5 * a @ z + self.price @ np.minimum(hinge, outlier_loss))

    def iterate(self, *, done: bool = False, stopped: str = "") -> Iterate:
        """Return the current solution with the figures of the run."""
        info: dict[str, Any] = {
            "kind": self.kind,
            "theta": self.theta,
            "s": self.s,
            "objective": self._objective(),
            "outliers": int(np.count_nonzero(self.outliers)),
            "free": len(self.solution.free),
            "breakpoints": self.breakpoints,
            "reoptimised": self.reoptimised,
            "moved_apart": self.solution.moved_apart,
        }
        if stopped:
            info["stopped"] = stopped
        return Iterate(dual_coef=self.solution.coef, done=done, step=self.steps, info=info)
