"""The core vector machine: an SVM as a minimum enclosing ball, whose core set grows by the point farthest outside.

I. W. Tsang, J. T. Kwok, P.-M. Cheung, "Core vector machines: fast SVM training on very large data sets", JMLR 6, 2005,
section 4: find the ball of the core set exactly; if a point lies outside (1 + epsilon) times it, the farthest one
joins the core set, else stop. With ``sample`` the farthest of 59 random points stands for the farthest of all: with
probability 0.95 it is among the farthest 5 % (section 4.1.2).

Differs in the ball. The paper's two-class SVM penalises the bias, 1/2 (|w|^2 + b^2), which makes it the ball of the
points y_i (phi(x_i), 1, e_i / sqrt(C)), all of one length. Here the bias is free, as ``l2-svc`` has it: the nearest
points of two hulls, the shortest w in the hull of all differences z = phi(p) - phi(q). These are not of one length; an
additional coordinate sqrt(eta - |z|^2) makes them so, eta being no less than the largest |z|^2 (the centre-constrained
ball of Tsang, Kwok, Zurada, IEEE Trans. Neural Networks 17, 2006). Then, for the ball of a core set,

    radius^2 = eta - |w|^2        distance^2 of z from its centre = radius^2 + 2 (|w|^2 - <w, z>)

so that the farthest z has the smallest <w, z>: the smallest score of each class. The farthest lies inside (1 + epsilon)
times the ball if and only if

    epsilon_+ = 1 - min <w, z> / |w|^2  <=  ((1 + epsilon)^2 - 1) radius^2 / (2 |w|^2)

The right side may be large where the classes lie close together, |w|^2 << eta: a tight ball is then a loose margin.
So it stops at epsilon_+ <= gap / 2, which certifies a relative duality gap of ``gap``. For
one hull against the origin the points themselves stand in place of the differences.

Differs further: where no point of a sample lies outside, all points are searched before it stops, and later
samples are of the points outside in that search. The start is the paper's pair of far points, which here are p and q
close to each other (lines 1-11 of Kumar & Yildirim's Algorithm 1).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from harness import Iterate, Problem
from harness.support.arrays import Index
from harness_fw.core_set import INNER, LEAST, CoreSetRounds
from harness_fw.hulls import ZERO


class BallRounds(CoreSetRounds):
    """The ball of the core set, and where to look for points outside."""

    def __init__(self, problem: Problem, rng: np.random.Generator, gap: float, sample: int) -> None:
        super().__init__(problem, None if sample else problem.kernel.row_cache())
        self.kernel, self.rng = problem.kernel, rng
        self.target, self.sample = gap / 2.0, sample  # epsilon_+ at which it stops
        self.eta = 2.0 * self.hulls.delta()
        self.pools: list[Index] = list(self.hulls.sides)  # where samples are drawn from
        self.searches, self.epsilon_plus, self.member = 0, np.inf, np.zeros(problem.n, dtype=bool)

    def iterates(self) -> Iterator[Iterate]:
        """Ball of the core set, the farthest point, and again; until none is outside."""
        while True:
            self._solve()
            joining, status = self._outside()
            yield self._iterate(status, self._info(), self.core.size)
            if status:
                return
            if any(len(points) > 0 for points in joining):
                self._enter(joining)
            self.taken += 1

    def _solve(self) -> None:
        """Find the ball of the core set."""
        self.core.solve(self.tolerance)
        self.tolerance = max(LEAST, min(self.tolerance, INNER * self.target))
        self.core.solve(self.tolerance)
        members = self.core.members
        self.coef[members] = self.hulls.sign[members] * self.core.weights
        self.member[members] = True

    def _outside(self) -> tuple[list[Index], str]:
        """Return for each class the points that join the core set, and a status where it is over."""
        if self.core.squared_norm <= self.hulls.floor:
            return [], ZERO
        if self.rows is None:
            draw, most = self.rng.choice, self.sample
            drawn = [pool[draw(len(pool), most, replace=False)] if len(pool) > most else pool for pool in self.pools]
            joining, least = self._among(drawn)
            if self._violates(least) and any(len(points) > 0 for points in joining):
                return joining, ""
        return self._search()

    def _among(self, drawn: list[Index]) -> tuple[list[Index], float]:
        """Return the farthest of the points drawn from each class where it is no member and beyond it, and min <w, z>."""
        members = self.core.members
        coef = self.coef[members]
        values = self.kernel.block(np.concatenate(drawn), members) @ coef
        scores = self.hulls.sign[np.concatenate(drawn)] * values
        farthest, least, first = [], 0.0, 0
        for points, (low, _) in zip(drawn, self.core.levels(), strict=True):
            outside = np.where(self.member[points], np.inf, scores[first : first + len(points)])
            first += len(points)
            nearest = float(outside.min(initial=np.inf))
            farthest.append(points[[outside.argmin()]] if nearest < low else points[:0])
            least += min(low, nearest)
        return farthest, least

    def _violates(self, least: float) -> bool:
        return 1.0 - least / self.core.squared_norm > self.target

    def _search(self) -> tuple[list[Index], str]:
        """Look at all points: stop if none is outside, else return the farthest and keep what else is outside."""
        hulls, norm = self.hulls, self.core.squared_norm
        scores = hulls.sign * (self.kernel.expand(self.coef) if self.rows is None else self.rows.expand(self.coef))
        self.searches += 1
        self.epsilon_plus = 1.0 - hulls.near(scores) / norm
        if not self._violates(hulls.near(scores)):
            return [], "done"
        joining, self.pools = [], []
        slack = 0.5 * self.target * norm
        for side, (low, _) in zip(hulls.sides, self.core.levels(), strict=True):
            beyond = side[~self.member[side] & (scores[side] < low)]
            joining.append(beyond[[scores[beyond].argmin()]] if len(beyond) else beyond)
            self.pools.append(beyond[scores[beyond] < low - slack])
        if any(len(points) > 0 for points in joining):
            return joining, ""
        # nothing to add: what violates is the core set itself, not solved exactly enough
        stalled = self.tolerance <= LEAST
        self.tolerance = max(LEAST, 0.1 * self.tolerance)
        return joining, "stalled" if stalled else ""

    def _info(self) -> dict[str, Any]:
        """The ball, and figures of the last search of all points."""
        norm = max(self.core.squared_norm, 0.0)
        return {
            "epsilon": self.epsilon_plus,
            "epsilon_plus": self.epsilon_plus,
            "norm": norm**0.5,
            "radius": max(0.0, self.eta - norm) ** 0.5,
            "searches": self.searches,
            "support": int(np.count_nonzero(self.core.weights)),
            "descent_steps": self.core.steps,
            "factors": self.core.factors,
        }
