"""SMO: the two coefficients that violate the optimality conditions most move together, until none does by tau.

The dual is written in signed coefficients: max y'coef - 1/2 coef'K coef with A_i <= coef_i <= B_i and
sum coef = 0, its gradient is g = y - K coef, and (i, j) violates by tau if g_i - g_j > tau, coef_i < B_i and
coef_j > A_j. One step costs O(active points) and at most two kernel rows.

Source: Platt 1998; Keerthi, Shevade, Bhattacharyya, Murthy, Neural Computation 13 (2001), modification 2;
Fan, Chen, Lin, JMLR 6 (2005), WSS 2; shrinking as in LIBSVM. Differs in: the signed formulation, full rows
while shrunk (so nothing is recomputed when the points come back), and the stop at a duality gap on request.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from harness import CSVC, CSVCNoBias, Iterate, Solver, parameter
from harness_smo.rows import RowBuffer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from harness import Problem

    Vector = np.ndarray[Any, np.dtype[np.float64]]

_STEP_VALUES = 1_000_000  # gradient entries updated between two yields: a few milliseconds
_YIELD_ROWS = 16  # and at most this many rows computed between them


@dataclass(frozen=True)
class SMO(Solver):
    """Sequential minimal optimisation for c-svc; one coefficient at a time where there is no bias."""

    name = "smo"
    solves = (CSVC, CSVCNoBias)

    tau: float = parameter(1e-3, "stop when no pair violates the optimality conditions by more, in units of f(x)", gt=0)
    selection: Literal["first", "second"] = parameter("second", "order of the working set selection; second: WSS 2")
    shrinking: bool = parameter(True, "leave out bound coefficients that are unlikely to move")
    cache_mb: float | None = parameter(None, "memory for kernel rows in MB; none: the run's", gt=0)
    max_iterations: int | None = parameter(None, "give up after this many steps; none: never", ge=1)
    gap: float | None = parameter(None, "tighten tau until the relative duality gap is at most this too", gt=0)

    def with_target_gap(self, gap: float) -> Self:
        """Return this solver with ``gap`` set: the gap follows from the gradient at no kernel evaluation.

        No fixed tau stands for a relative gap: what is known is gap <= tau / 2 * sum C_i.
        """
        return self.replaced(gap=gap)

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        """Start from zero, which is feasible and needs no kernel value."""
        yield from self._run(problem, np.zeros(problem.n))

    def iterates_from(self, problem: Problem, rng: np.random.Generator, start: Vector) -> Iterator[Iterate]:
        """Start from the feasible coefficients ``start``, (n,); costs n x support kernel evaluations."""
        coef, _ = problem.checked(start, 0.0)
        yield from self._run(problem, coef)

    def _run(self, problem: Problem, start: Vector) -> Iterator[Iterate]:
        from harness_smo import hot

        assert isinstance(problem, CSVC)
        state = _State(self, problem, start)
        while True:
            outcome = state.advance()
            if outcome == hot.CONVERGED and not state.unshrink():
                if state.gap_reached():
                    yield state.iterate("converged")
                    return
                state.tau *= 0.1
            elif outcome == hot.STALLED and not state.unshrink():
                # the step is lost in rounding: tau is below what float64 can tell apart here
                yield state.iterate("stalled")
                return
            elif self.max_iterations is not None and state.steps >= self.max_iterations:
                state.unshrink()
                yield state.iterate("max_iterations")
                return
            else:
                yield state.iterate("")


class _State:
    """Coefficients, gradient (true at the active points), and the rows at hand."""

    def __init__(self, settings: SMO, problem: CSVC, start: Vector) -> None:
        from harness_smo import hot

        self.settings, self.problem = settings, problem
        self.lower, self.upper = problem.lower_bounds, problem.upper_bounds
        self.coef = _feasible(start, self.lower, self.upper, balanced=problem.has_bias)
        self.gradient = (
            problem.targets - problem.kernel.expand(self.coef) if self.coef.any() else problem.targets.copy()
        )
        self.diagonal = np.ascontiguousarray(problem.kernel.diagonal())
        self.buffer = RowBuffer(problem.kernel, settings.cache_mb or problem.kernel.cache_mb)
        self.active = np.arange(problem.n)
        self.tau = settings.tau
        self.steps = 0
        self.up, self.low = np.inf, -np.inf
        self.take_steps = hot.pair_steps if problem.has_bias else hot.single_steps
        self.shrink_interval = min(problem.n, 1000)
        self.next_shrink = self.shrink_interval
        self.close_to_end = False  # LIBSVM restores all points once when the violation is below 10 tau

    @property
    def violation(self) -> float:
        """Largest violation of the optimality conditions among the active points."""
        return max(0.0, self.up - self.low) if self.problem.has_bias else max(self.up, -self.low)

    @property
    def intercept(self) -> float:
        """The middle of the interval in which b lies at the optimum; 0 where there is none."""
        if not self.problem.has_bias:
            return 0.0
        # with one class only, one end is open
        ends = [end for end in (self.up, self.low) if np.isfinite(end)]
        return float(np.mean(ends)) if ends else 0.0

    def advance(self) -> int:
        """Take steps for a few milliseconds or a few kernel rows; return why the compiled loop came back last."""
        from harness_smo import hot

        buffer, settings = self.buffer, self.settings
        until = self.steps + max(100, _STEP_VALUES // len(self.active))
        if settings.max_iterations is not None:
            until = min(until, settings.max_iterations)
        rows_before, outcome = buffer.fetched, hot.PAUSED
        while self.steps < until and buffer.fetched - rows_before < _YIELD_ROWS:
            limit = min(until, self.next_shrink) - self.steps if settings.shrinking else until - self.steps
            outcome, row, taken, self.up, self.low = self.take_steps(
                self.coef, self.gradient, self.lower, self.upper, self.diagonal, self.active,
                buffer.rows, buffer.slot_of, buffer.last_used, self.steps,
                self.tau, settings.selection == "second", limit,
            )  # fmt: skip
            self.steps += taken
            self.problem.kernel.counter.cache_hits += taken * (2 if self.problem.has_bias else 1)
            if outcome == hot.NEEDS_ROW:
                buffer.fetch(row, self.steps)
                self.problem.kernel.counter.cache_hits -= 1
            elif outcome != hot.PAUSED:
                break
            elif settings.shrinking and self.steps >= self.next_shrink:
                self.shrink()
        return outcome

    def shrink(self) -> None:
        """Leave out the active points at a bound whose gradient is beyond every violating pair."""
        self.next_shrink = self.steps + self.shrink_interval
        if not self.close_to_end and self.violation <= 10.0 * self.tau:
            self.close_to_end = True
            self.unshrink()
        ceiling, floor = (self.up, self.low) if self.problem.has_bias else (self.violation, -self.violation)
        g, coef = self.gradient[self.active], self.coef[self.active]
        resting = (coef == self.upper[self.active]) & (g > ceiling) | (coef == self.lower[self.active]) & (g < floor)
        self.active = self.active[~resting]

    def unshrink(self) -> bool:
        """Restore the gradient of the points left out and make them active; False if there were none."""
        if len(self.active) == self.problem.n:
            return False
        left_out = np.ones(self.problem.n, dtype=bool)
        left_out[self.active] = False
        where = np.flatnonzero(left_out)
        self.gradient[where] = self.problem.targets[where] - self.buffer.scores(self.coef, where)
        self.active = np.arange(self.problem.n)
        self._find_extremes()
        return True

    def _find_extremes(self) -> None:
        can_rise, can_fall = self.coef < self.upper, self.coef > self.lower
        open_up, open_low = (-np.inf, np.inf) if self.problem.has_bias else (0.0, 0.0)
        self.up = float(np.max(self.gradient[can_rise], initial=open_up))
        self.low = float(np.min(self.gradient[can_fall], initial=open_low))

    def gap_reached(self) -> bool:
        """Whether the relative duality gap is small enough; asked for when the gradient is true at all points."""
        wanted = self.settings.gap
        if wanted is None:
            return True
        y, g, coef = self.problem.targets, self.gradient, self.coef
        # P - D = -coef'g + sum C_i max(0, y_i (g_i - b)), since 1 - y f = y g
        hinge = float(self.problem.upper @ np.maximum(0.0, y * (g - self.intercept)))
        gap, primal = hinge - float(coef @ g), 0.5 * float(coef @ (y - g)) + hinge
        return gap <= wanted * max(1.0, abs(primal))

    def iterate(self, reason: str) -> Iterate:
        """Return the current model; ``reason`` says why it is the last one, if it is."""
        info: dict[str, Any] = {
            "iterations": self.steps,
            "kkt_violation": self.violation,
            "active": len(self.active),
            "rows_computed": self.buffer.fetched,
        }
        if reason:
            info["stopped"] = reason
        return Iterate(self.coef, self.intercept, done=reason == "converged", step=self.steps, info=info)


def _feasible(start: Vector, lower: Vector, upper: Vector, *, balanced: bool) -> Vector:
    """Return ``start`` inside the bounds and, if ``balanced``, with sum exactly as near to 0 as rounding allows."""
    coef = np.clip(start, lower, upper)
    for _ in range(4 if balanced else 0):
        excess = float(coef.sum())
        room = coef - lower if excess > 0.0 else upper - coef
        # what has no weight yet keeps none: the surplus is rounding, no reason for new support vectors
        room[coef == 0.0] = 0.0
        if excess == 0.0 or not room.any():
            break
        coef = np.clip(coef - excess * room / room.sum(), lower, upper)
    return coef
