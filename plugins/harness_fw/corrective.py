"""Fully corrective Frank-Wolfe: after each search for the best vertices, the optimum over the hull of all kept ones.

K. L. Clarkson, "Coresets, sparse greedy approximation, and the Frank-Wolfe algorithm", ACM Transactions on Algorithms
6(4), 2010, Algorithm 4.2; for one hull against the origin the algorithm of P. Wolfe, "Finding the nearest point in a
polytope", Mathematical Programming 11, 1976. A round adds the points of each class that lie farthest down w, solves
the problem on the core set and lets go of the points whose weight is zero.

Differs in: several points a class enter a round, unless ``vertices`` is 1; the optimum on the core set is exact to a
tolerance tied to the accuracy still missing, not to rounding. Over reduced hulls the core set is of points, not of
composed vertices: the reduced hull of the points holds every vertex composed of them, so that a round gains no less.

Over whole hulls a round with an exact optimum gains no less than an add-iteration of Kumar & Yildirim's Algorithm 1
from the same weights, so that Theorem 3.1 bounds the rounds; the info of the last iterate has the bound.

An oracle of pair steps (smo, smo-block) ends, but late, where reduced hulls nearly touch and the kernel matrix is
ill-conditioned: for 50 points with eigenvalues from 1e-10 to 20 and a margin of 1e-4 it took 8e7 steps to a gap of 1e-2,
where pair descent and Newton steps took 3,300 and 84 to 1e-6.

A round costs n kernel evaluations for each point that enters, none for those that were there and whose rows are still
in memory, and n times the core set in sums.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from harness import (
    L2SVC,
    HardMargin,
    Iterate,
    PolytopeDistance,
    ReducedHull,
    UsageError,
    get_solver,
    parameter,
)
from harness_fw.bounds import paper_bounds
from harness_fw.hull_solver import HullSolver

if TYPE_CHECKING:
    from collections.abc import Iterator

    from harness import Problem
    from harness.arrays import Vector

_INNER = 0.1  # of the accuracy that is missing: how exactly a core set is solved
_LEAST = 1e-15  # accuracy beyond which asking is in vain
_PATIENCE = 3  # rounds in a row that do not make |w|^2 smaller: rounding is at work
_SHARE = 8  # a round adds one point for each so many of the core set


@final
@dataclass(frozen=True)
class FullyCorrective(HullSolver):
    """Frank-Wolfe with the exact optimum over the core set after each round (Clarkson 2010)."""

    name = "fw-fully-corrective"
    solves = (L2SVC, HardMargin, ReducedHull, PolytopeDistance)

    oracle: str | None = parameter(
        None, "exact solver of the core set's problem, by name; none: pair descent and Newton steps on its matrix"
    )
    vertices: int | None = parameter(
        None, "points of each class that enter a round at most; none: 1 at first, then an eighth of the core set", ge=1
    )
    cache_mb: float | None = parameter(None, "memory for kernel rows, MB; none: the problem's", gt=0)
    max_iterations: int | None = parameter(None, "rounds after which it gives up; none: no limit", ge=1)

    def skip(self, problem: Problem) -> str | None:
        """Refuse an oracle that is not there or does not solve the formulation, and two hulls of one class."""
        refused = super().skip(problem)
        if refused is not None or self.oracle is None:
            return refused
        try:
            oracle = get_solver(self.oracle)
        except UsageError as error:
            return f"fw-fully-corrective: oracle='{self.oracle}': {error}"
        if oracle.takes(type(problem)):
            return None  # what else it refuses, as too many points, is a matter of the core set
        return f"fw-fully-corrective: the oracle '{self.oracle}' does not solve {problem.name}; name one that does."

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        """Yield after every round; deterministic.

        Where the hulls meet, w goes to zero: the last iterate is then not ``done``, and its info says so.
        """
        yield from _Rounds(self, problem).iterates()


class _Rounds:
    """One run: the core set, its rows, and what a round found."""

    def __init__(self, solver: FullyCorrective, problem: Problem) -> None:
        from harness_fw.active_set import ActiveSet
        from harness_fw.active_set_points import Hulls

        self.solver, self.problem, self.epsilon = solver, problem, solver.epsilon
        self.hulls = Hulls(problem)
        self.rows = problem.kernel.buffer(solver.cache_mb)
        self.core = ActiveSet(self.hulls.caps, self.hulls.floor)
        self.coef, self.taken, self.dropped = np.zeros(problem.n), 0, 0
        self.tolerance, self.unsolved = _INNER, ""
        start = self.hulls.start(self.rows.row)
        self._take([points for points, _ in start], np.concatenate([weights for _, weights in start]))

    def _take(self, points: list[Any], weights: Vector | None = None) -> None:
        """Let points of each class enter the core set."""
        from harness_fw.active_set_points import signed, taken

        members, new = self.core.members, np.concatenate(points)
        values = taken(self.rows, new, members)
        self.core.add(points, signed(self.hulls, new, np.concatenate([members, new]), values), weights)

    def iterates(self) -> Iterator[Iterate]:
        """Solve on the core set, look at all points, add those farthest down w; until epsilon is reached."""
        limit = sys.maxsize if self.solver.max_iterations is None else self.solver.max_iterations
        least, idle, status = np.inf, 0, ""
        while True:
            self._solve()
            info, scores = self._look()
            norm = self.core.squared_norm
            idle = 0 if norm < least else idle + 1
            least = min(least, norm)
            if norm <= self.hulls.floor:
                status = "hulls intersect"
            elif info["epsilon"] <= self.epsilon:
                status = "done"
            elif idle >= _PATIENCE:
                status = "stalled"
            elif self.taken >= limit:
                status = "max_iterations"
            solved = int(self.core.size.sum())  # with those whose weight is zero now
            self.dropped += len(self.core.drop())
            if status == "done" and min(self.hulls.caps) >= 1.0:
                margin = (1.0 - info["epsilon_plus"]) * info["norm"]
                info.update(paper_bounds(self.hulls.delta(), margin, self.epsilon))
            if status and status != "done":
                info.update(status=status, stopped=f"{status}: {self._evidence(info)}")
            yield Iterate(
                dual_coef=self.coef,
                intercept=-self.core.threshold,
                done=status == "done",
                step=self.taken,
                working_set=solved,
                info=info,
            )
            if status:
                return
            self._enter(scores, info["epsilon"])
            self.taken += 1

    def _evidence(self, info: dict[str, Any]) -> str:
        """Return what is known at an end short of epsilon."""
        found = f"|w| = {info['norm']:.3g} after {self.taken} rounds, epsilon = {info['epsilon']:.2g}"
        return f"{found}; the oracle '{self.solver.oracle}': {self.unsolved}" if self.unsolved else found

    def _solve(self) -> None:
        """Bring the core set to its optimum."""
        if self.solver.oracle is None:
            self.core.solve(self.tolerance)
            return
        members = self.core.members
        oracle = get_solver(self.solver.oracle).with_target_gap(2.0 * self.tolerance)
        start = self.hulls.sign[members] * self.core.weights
        found = oracle.solve(self.problem.restrict(members), start)
        self.unsolved = "" if found.done else str(found.info.get("stopped", "it ended without being done"))
        self.core.replace(np.maximum(self.hulls.sign[members] * found.dual_coef, 0.0))

    def _look(self) -> tuple[dict[str, Any], Vector]:
        """Return what all points say of the model, and their signed scores, (n,)."""
        from harness_fw.active_set_points import as_weights

        hulls, core = self.hulls, self.core
        as_weights(hulls, core.members, core.weights, self.coef)
        scores = hulls.sign * self.rows.expand(self.coef)
        norm = core.squared_norm
        plus = minus = np.inf
        if norm > hulls.floor:
            plus = 1.0 - hulls.near(scores) / norm
            minus = hulls.far(scores, hulls.sign * self.coef) / norm - 1.0
        info = {
            "epsilon": max(plus, minus),
            "epsilon_plus": plus,
            "epsilon_minus": minus,
            "norm": max(norm, 0.0) ** 0.5,
            "dropped": self.dropped,
            "descent_steps": core.steps,
            "factors": core.factors,
            "rows": self.rows.fetched,
        }
        return info, scores

    def _enter(self, scores: Vector, epsilon: float) -> None:
        """Add the points farthest down w that are not members, and settle how exactly to solve next."""
        from harness_fw.active_set_points import lowest

        count = self.solver.vertices or max(1, int(self.core.size.sum()) // _SHARE)
        member = np.zeros(self.hulls.n, dtype=bool)
        member[self.core.members] = True
        points = []
        for side, (low, _) in zip(self.hulls.sides, self.core.levels(), strict=True):
            outside = side[~member[side] & (scores[side] < low)]
            points.append(lowest(scores, outside, count))
        found = sum(len(new) for new in points)
        self.tolerance = max(_INNER * min(epsilon, 1.0), _INNER * self.epsilon) if found else 0.1 * self.tolerance
        self.tolerance = max(self.tolerance, _LEAST)
        if found:
            self._take(points)
