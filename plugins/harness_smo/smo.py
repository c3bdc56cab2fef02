"""SMO: the two variables that violate the optimality conditions most move together, until none does by tau.

It works on the common dual form (see ``harness.DualForm``): max linear'a - 1/2 coef'K coef with lower <= a <= upper
and the sum of a fixed in each group. The gradient is g = linear - K coef, and (i, j) of one group violates by tau if
g_i - g_j > tau, a_i < upper_i and a_j > lower_j. Of several groups (the two hulls) the one that violates most moves;
without a group one variable moves alone. One step costs O(active variables) and at most two kernel rows.

Source: Platt 1998; Keerthi, Shevade, Bhattacharyya, Murthy, Neural Computation 13 (2001), modification 2;
Fan, Chen, Lin, JMLR 6 (2005), WSS 2; shrinking as in LIBSVM. Differs in: the signed formulation, full rows
while shrunk (so nothing is recomputed when the points come back), and the stop at a duality gap on request.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from harness import CSVC, DEFAULT_RELATIVE_GAP, Certificate, DualForm, Iterate, Problem, Solver, parameter
from harness.problems import L2SVC, HardMargin, PolytopeDistance
from harness.support.arrays import Index, Vector

# between two yields: a few milliseconds
_STEP_VALUES, _LEAST_STEPS = 1_000_000, 100  # gradient entries updated, but so many steps at least
_YIELD_ROWS = 16  # and at most this many rows computed between them
TAU = (
    "stop when no pair violates the optimality conditions by more, in units of f(x); on the hull formulations (reduced-hull, "
    "hard-margin, l2-svc, tube-svr) when the relative duality gap is at most this"
)
GAP = "tighten tau until the relative duality gap is at most this too; on the hull formulations in place of tau"
# when SMO is done: at a violation of tau, and where the scale of the optimum is unknown at a relative duality gap
_TIGHTEN = 0.1  # of tau, at least, and where the form has a scale, when the gap asks for more
_HALVE = 0.5  # the same at most
_START = 0.95  # of the gap: a start that is that good stays so when its scores are computed otherwise
_FIRST = 1e-2  # of |w|^2: the first tau at least
_ABOVE = 1.01  # times the violation of such a start
_ROUNDING = 1e-14  # |w|^2 over the largest k(x, x) at which rounding hides the direction of w


@dataclass(frozen=True)
class SMO(Solver):
    """Sequential minimal optimisation for every formulation with a dual form; one variable at a time without a bias.

    Use it as plain SMO to compare with; ``smo-block`` solves the same faster. Paper: Fan, Chen and Lin 2005.

    tau counts in units of f(x) at the margin (c-svc), of y (eps-svr), and for one-class in the coefficients' cap times f:
    LIBSVM's scale. For hulls it is a relative gap. No fixed tau stands for one elsewhere, as the bound is
    gap <= tau / 2 * sum C_i: the gap follows from the gradient at no kernel evaluation.
    """

    name = "smo"
    solves = (CSVC,)
    solves_dual_forms = True
    leaves_out = (HardMargin, L2SVC, PolytopeDistance)

    tau: float = parameter(DEFAULT_RELATIVE_GAP, TAU, gt=0)
    shrinking: bool = parameter(True, "leave out bound coefficients that are unlikely to move")
    cache_mb: float | None = parameter(None, "memory for kernel rows in MB; none: the run's", gt=0)
    gap: float | None = parameter(None, GAP, gt=0)

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        """Start at the start of the dual form: zero, or the first points at their cap."""
        yield from self.iterates_from(problem, rng, None)

    def iterates_from(self, problem: Problem, rng: np.random.Generator, start: Vector | None) -> Iterator[Iterate]:
        """Start from the feasible coefficients ``start``, (n,); costs n x support kernel evaluations."""
        from harness_smo import hot

        coef = None if start is None else problem.checked(start, 0.0)[0]
        state, ended = _State(self, problem, coef), ""
        while not ended:
            outcome = state.advance()
            if outcome in (hot.PAUSED, hot.NEEDS_ROW) or state.unshrink():
                yield state.iterate("")
            elif outcome == hot.STALLED:
                ended = "stalled"  # the step is lost in rounding: tau is below what float64 can tell apart here
            elif state.goal.reached(state.a, state.intercept, state.form.scores(state.gradient), state.violation):
                ended = state.goal.ended
        yield state.iterate(ended)


class _State:
    """Variables, gradient (true at the active ones), and the rows at hand."""

    def __init__(self, settings: SMO, problem: Problem, start: Vector | None = None) -> None:
        from harness_smo import hot

        self.settings, self.problem = settings, problem
        self.form = form = problem.dual_form()
        self.a = form.start.copy() if start is None else form.variables(start)
        coef = form.coef(self.a)
        self.gradient = form.gradient(problem.kernel.expand(coef)) if coef.any() else form.linear.copy()
        self.diagonal = np.ascontiguousarray(problem.kernel.diagonal())
        self.buffer = problem.kernel.row_cache(settings.cache_mb)
        self.everything = np.argsort(form.group, kind="stable")  # the compiled loops want the groups apart
        self.up, self.low = np.empty(max(1, form.groups)), np.empty(max(1, form.groups))
        self.set_active(self.everything)
        self._find_extremes()
        self.goal = Goal(problem, form, settings.tau, settings.gap)
        self.goal.begin(self.a, form.scores(self.gradient))
        self.steps = 0
        self.take_steps = hot.pair_steps if form.groups else hot.single_steps
        self.shrink_interval = min(len(self.a), 1000)
        self.next_shrink = self.shrink_interval
        self.close_to_end = False  # LIBSVM restores all points once when the violation is below 10 tau

    def set_active(self, active: Index) -> None:
        """Let the compiled loops see these variables only, group after group."""
        from harness_smo import hot

        self.active, form = active, self.form
        edges = np.searchsorted(form.group[active], np.arange(len(self.up) + 1))
        self.arrays = hot.Variables(
            self.a, self.gradient, form.lower, form.upper, self.diagonal, active, edges, self.up, self.low
        )

    @property
    def ends(self) -> list[tuple[float, float]]:
        """(largest g that may rise, smallest g that may fall) among the active variables of each group."""
        return list(zip(self.up.tolist(), self.low.tolist(), strict=True))

    @property
    def violation(self) -> float:
        """Largest violation of the optimality conditions among the active variables."""
        return self.form.violation(self.ends)

    @property
    def intercept(self) -> float:
        """The middle of the interval in which b lies at the optimum; 0 where there is none."""
        return self.form.intercept(self.form.levels(self.ends))

    def advance(self) -> int:
        """Take steps for a few milliseconds or a few kernel rows; return why the compiled loop came back last."""
        from harness_smo import hot

        buffer, shrinking = self.buffer, self.settings.shrinking
        until = self.steps + max(_LEAST_STEPS, _STEP_VALUES // len(self.active))
        cached = hot.Rows(buffer.rows, buffer.slot_of, buffer.last_used)
        rows_before, outcome = buffer.fetched, hot.PAUSED
        while self.steps < until and buffer.fetched - rows_before < _YIELD_ROWS:
            limit = min(until, self.next_shrink) - self.steps if shrinking else until - self.steps
            outcome, row, taken = self.take_steps(self.arrays, cached, self.steps, self.goal.tau, limit)
            self.steps += taken
            buffer.read(taken * (2 if self.form.groups else 1))
            if outcome == hot.NEEDS_ROW:
                # the partner that waits for this row was used now too: an older row must be the next to go
                buffer.clock = self.steps
                buffer.fetch(np.array([row]))
            elif outcome != hot.PAUSED:
                break
            elif shrinking and self.steps >= self.next_shrink:
                self.shrink()
        return outcome

    def shrink(self) -> None:
        """Leave out the active variables at a bound whose gradient is beyond every violating pair of their group."""
        self.next_shrink = self.steps + self.shrink_interval
        if not self.close_to_end and self.violation <= 10.0 * self.goal.tau:
            self.close_to_end = True
            self.unshrink()
        widest = np.array([self.violation])
        ceiling, floor = (self.up, self.low) if self.form.groups else (widest, -widest)
        group, g, a = self.form.group[self.active], self.gradient[self.active], self.a[self.active]
        at_top, at_bottom = a == self.form.upper[self.active], a == self.form.lower[self.active]
        resting = at_top & (g > ceiling[group]) | at_bottom & (g < floor[group])
        self.set_active(self.active[~resting])

    def unshrink(self) -> bool:
        """Restore the gradient of the variables left out and make them active; False if there were none."""
        if len(self.active) == len(self.a):
            return False
        n, active = self.problem.n, self.active
        # a point with two variables is known from the one that is still active
        scores, evaluated = np.empty(n), np.zeros(n, dtype=bool)
        scores[active % n] = self.form.linear[active] - self.gradient[active]
        evaluated[active % n] = True
        left = np.flatnonzero(~evaluated)
        scores[left] = self.buffer.expand(self.form.coef(self.a), left)
        left_out = np.ones(len(self.a), dtype=bool)
        left_out[active] = False
        self.gradient[left_out] = self.form.gradient(scores)[left_out]
        self.set_active(self.everything)
        self._find_extremes()
        return True

    def _find_extremes(self) -> None:
        for k, (up, low) in enumerate(self.form.ends(self.a, self.gradient)):
            self.up[k], self.low[k] = up, low

    def iterate(self, reason: str) -> Iterate:
        """Return the current model; ``reason`` : why it is the last one, if it is."""
        info: dict[str, Any] = {
            "iterations": self.steps,
            "kkt_violation": self.violation,
            "active": len(self.active),
            "rows_computed": self.buffer.fetched,
        }
        if reason not in ("", "done"):
            info["stopped"] = why_stopped(reason, self.violation, self.goal.tau, self.steps)
        coef = self.form.coef(self.a)
        return Iterate(coef, self.intercept, done=reason == "done", step=self.steps, info=info)


# -- when SMO is done: at a violation of tau, and where the scale of the optimum is unknown at a relative duality gap
# The optimum of a hull formulation is a length |w| of any size, so that no violation tells how good a model is: what
# stops there is the relative gap, known from the gradient at no kernel evaluation. tau only tells when to look: as a
# violation of v leaves a gap of 4 v / |w|^2 at most, and about v / |w|^2 as a rule, it goes down to ``gap`` |w|^2 and
# halves from there.


class Goal:
    """What a run aims at.

    tau : violation at which to look whether it is done; changes
    gap : relative gap at which it is; None: at tau, whatever the gap
    ended : why the run ends, ``done`` or a sentence if w may be 0; set when it does
    """

    def __init__(self, problem: Problem, form: DualForm, tau: float, gap: float | None) -> None:
        self.problem, self.form = problem, form
        self.tau = tau * form.unit
        self.gap = tau if gap is None and form.relative else gap
        self.ended = "done"
        self.least = 0.0  # 1/2 |w|^2 that may be rounding

    def begin(self, a: Vector, scores: Vector, noise: float = 0.0) -> None:
        """Set tau where it is relative: by the length of the first w, or so that a start that is good enough ends at once.

        a : (V,) variables, scores : (n,) K coef, each off by up to ``noise``
        """
        if not self.form.relative or self.gap is None:
            return
        certificate = self.problem.certificate(self.form.coef(a), 0.0, scores)
        self.least = 0.5 * _ROUNDING * self.problem.largest_diagonal()
        if certificate.relative_gap is not None and certificate.relative_gap <= _START * self.gap:
            self.tau = _ABOVE * self.form.violation(self.form.ends(a, self.form.gradient(scores))) + 2.0 * noise
        elif certificate.dual:
            self.tau = 2.0 * max(self.gap, _FIRST) * certificate.dual

    def reached(
        self, a: Vector, intercept: float, scores: Vector, violation: float, share: float = 1.0, doubt: float = 0.0
    ) -> bool:
        """Whether variables ``a``, (V,), whose violation is tau at most are the last; if they are not, tighten tau.

        Where but for ``doubt`` they were, tau stays.

        share : of the gap that counts as reaching it
        doubt : what rounding of rows may do to the scores
        """
        if self.gap is None:
            return True
        certificate, self.ended = self._certificate(a, intercept, scores, doubt), "done"
        if certificate.relative_gap is not None and certificate.relative_gap <= share * self.gap:
            return True
        if certificate.relative_gap is None or (self.form.relative and (certificate.dual or 0.0) <= self.least):
            length, rounding = ((2.0 * max(0.0, half)) ** 0.5 for half in (certificate.dual or 0.0, self.least))
            self.ended = certificate.undecidable.rstrip(".") or (
                f"w may be 0: |w| = {length:.2g}, and rounding may amount to {rounding:.2g}: the hulls meet, or are no "
                "farther apart than that"
            )
            return True
        if doubt and (sure := self._certificate(a, intercept, scores, 0.0).relative_gap) and sure <= share * self.gap:
            return False  # nothing but rounding is in the way
        if 0.0 < violation < self.tau and not self.form.relative:
            self.tau = violation
        tau = share * self.tau * self.gap / certificate.relative_gap
        if self.form.relative:  # not by more at once: hulls that meet show by looking, long before such a tau
            tau = 2.0 * self.gap * certificate.dual if certificate.dual else 0.0
        self.tau = max(_TIGHTEN * self.tau, min(_HALVE * self.tau, tau))
        return False

    def _certificate(self, a: Vector, intercept: float, scores: Vector, doubt: float) -> Certificate:
        """Return what is known of the variables ``a``: their relative gap, and where the form does not tell it, all."""
        form, full = self.form, self.problem.certificate
        if form.groups > 1 or form.relative:
            return full(form.coef(a), intercept, scores)
        gap = form.relative_gap(a, scores, intercept, doubt)
        # one-class: the gap is relative to 1/2 |w|^2, which may be 0, and a cap out of reach is another one in the form
        if form.start.any() and not (gap <= (self.gap or 0.0) and form.upper.max() <= form.unit):
            return full(form.coef(a), intercept, scores)
        lost = (
            "" if np.isfinite(gap) else "the duality gap is no finite number: scale the features, or take a smaller C"
        )
        return Certificate(relative_gap=None if lost else gap, undecidable=lost)


def why_stopped(reason: str, violation: float, tau: float, steps: int) -> str:
    """Return in words why a run that is not done ended: ``stalled``, or a sentence already."""
    if reason != "stalled":
        return f"after {steps} steps {reason}"
    return f"stalled: the next step is lost in rounding at a violation of {violation:.2g}, above {tau:.2g}"
