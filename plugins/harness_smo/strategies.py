"""The strategies of block SMO. Each proposes, after a round, what to change before the next one: ``propose(state)``.

A proposal is a function without arguments, or None. ``block.py`` lists them in the order in which they propose.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Protocol

import numpy as np

from harness import RBF, DualForm, KernelOracle, Problem, RowCache
from harness.support.arrays import Index, Vector
from harness_smo.active import CONVERGED, MOVED, DenseActiveSet, Settings, nearest
from harness_smo.tuning import TUNING

if TYPE_CHECKING:
    from harness_smo.state import State

Move = Callable[[], object]


class Strategy(Protocol):
    """Proposes what to change before the next round."""

    def propose(self, state: State, /) -> Move | None:
        """Return the change, or None."""


class Sample:
    """The solution over some of the points: a similar fraction of all of them matters.

    Attributes
    ----------
    points, active : the points, and their variables near the optimum
    support : fraction of them that supports; infinite if a round does not end there
    sparse : whether few support, so that few kernel rows are needed, and either hardly any at a bound, so that wide bounds do
        no harm, or so few that the smallest active set has room for all
    """

    def __init__(self, problem: Problem) -> None:
        self.points = np.arange(0, problem.n, problem.n // TUNING.sample_points)
        part = problem.restrict(self.points)
        form, kernel, m = part.dual_form(), part.kernel, len(self.points)
        cache = RowCache(kernel, np.empty(m * m))
        start = form.start.copy(), np.zeros(m), kernel.diagonal()
        active = DenseActiveSet(form, np.arange(m), *start, kernel, cache, Settings(1.0))
        rough = TUNING.sample_violation * float(np.abs(form.linear).mean())
        solved = active.round(rough) == CONVERGED
        support = int(np.count_nonzero(form.coef(active.a)))
        bounded = support - int(np.count_nonzero(active.free_points))
        self.active, self.support = active, support / m if solved else np.inf
        few = problem.n <= TUNING.dense_points
        fits = few and self.support * problem.n <= TUNING.active_least / TUNING.active_factor
        self.sparse = self.support <= TUNING.sparse_support and (fits or bounded <= TUNING.sparse_bounded * m)


class Precision:
    """Rows in float32 as long as the violation stands out of their rounding, then float64 for the points near a violation.

    Scores that come from float32 rows are off by the rounding of the rows times the coefficients. It is measured on a sample
    of points, and estimated between: beyond it, float32 only chases its own noise.

    Attributes
    ----------
    noise : rounding of the scores of a warm start, which float32 cannot improve beyond
    """

    def __init__(self, state: State, coef: Vector) -> None:
        """``coef``, (n,), is the warm start; zeros if there is none."""
        self.noise = rounding_error(state.problem.kernel, state.scores, coef, state.everything, state.kernel.dtype)
        self._unit: float | None = None  # measured over estimated rounding; None if it was not measured yet
        self._terms = np.inf  # bound of the same, if it is known
        kernel = state.kernel.kernel
        if not state.exact and isinstance(kernel, RBF):
            # an exponent is off by as many machine epsilons as its largest term is
            self._terms = TUNING.rounding_bound * max(1.0, kernel.gamma * state.kernel.largest)
        self._best, self._best_round = np.inf, 0  # violation that was halved last, and the round when it was

    def propose(self, state: State, /) -> Move | None:
        """Propose float64 if rounding blurs the violation, or the violation stalls."""
        if state.outcome != MOVED or state.exact or state.bounds.narrowed:
            return None
        blurred = self.blurs(state, max(state.tau, TUNING.blur_violation * state.active.violation))
        return partial(self.sharpen, state) if blurred or self._stalls(state) else None

    def target(self, state: State, tau: float) -> float:
        """Return the violation to reach for tau, with room for rounding; a start that is good enough is not disturbed."""
        if state.exact:
            return tau
        started = state.rounds + state.active.rounds > 0
        margin = TUNING.rounding_margin * (self._bound(state) or self.blur(state))
        return max(max(TUNING.target_share * tau, tau - margin) if started else tau, self.noise)

    def _stalls(self, state: State) -> bool:
        """Whether a small violation has not been halved for many rounds: they chase the rounding of their rows."""
        violation, rounds = state.active.violation, state.rounds + state.active.rounds
        if violation < 0.5 * self._best or violation > TUNING.stall_violation * state.bounds.tolerance:
            self._best, self._best_round = violation, rounds
        return rounds - self._best_round > TUNING.stall_rounds

    def blur(self, state: State) -> float:
        """Return an estimate of the rounding of the scores: its squares add up over the variables."""
        a, unit = state.active.a, TUNING.value_rounding * float(np.finfo(np.float32).eps)
        return unit * float(np.sqrt(a @ a)) * float(state.diagonal.max())

    def blurs(self, state: State, violation: float) -> bool:
        """Whether rounding may blur a violation."""
        return self.blur(state) > TUNING.blur_share * violation

    def _bound(self, state: State) -> float | None:
        """Return a bound of the rounding of the scores, if it was measured or need not be, as it cannot matter."""
        estimate = self.blur(state)
        if self._unit is not None:
            return self._unit * estimate
        return self._terms * estimate if self._terms * estimate <= TUNING.clear_blur * state.tau else None

    def measured_blur(self, state: State, *, needed: bool = False) -> float:
        """Return a bound of the rounding of the scores; measure it at most once, which takes the points in float64.

        needed : measure it, if it was not, even if that seems not to matter
        """
        if state.exact or not state.active.a.any():
            return 0.0
        bound = self._bound(state)
        if bound is not None and (self._unit is not None or not needed):
            return bound
        state.store()
        coef, points = state.form.coef(state.a), state.active.points  # whose scores have not drifted
        measured = rounding_error(state.problem.kernel, state.scores, coef, points, state.kernel.dtype)
        self._unit = measured / self.blur(state)
        return measured

    def reaches(self, state: State, tau: float) -> bool:
        """Whether the scores are accurate enough for tau."""
        return state.active.violation + TUNING.rounding_margin * self.measured_blur(state) <= tau

    def sharpen(self, state: State) -> None:
        """Continue in float64 with the points near a violation; the scores of the others are off by the rounding."""
        tau, noise = state.tau, self.measured_blur(state)
        state.store()
        coef, slack = state.form.coef(state.a), state.slack()
        near = slack <= max(TUNING.exact_violation * tau, 2.0 * noise, float(slack.min()))
        # where the ends are too far apart they do not show which points are near
        if state.active.violation > TUNING.exact_violation * tau:
            slack = state.middle_slack()
            count = max(TUNING.active_least, int(TUNING.exact_factor * np.count_nonzero(slack <= 0.0)))
            near = np.zeros(state.n, dtype=bool)
            near[nearest(slack, count)] = True
        state.add_drift()
        state.drift += noise
        state.snapshot[:] = -1  # what changed since does not remove rounding
        state.drift[near] = 0.0  # computed below
        state.kernel = state.problem.kernel
        state.activate(np.flatnonzero(near))
        state.active.compute_scores(coef)
        state.set_mark()


def rounding_error(kernel: KernelOracle, scores: Vector, coef: Vector, points: Index, dtype: object) -> float:
    """Return a bound of the rounding of ``scores``, (n,), from rows in ``dtype``, by a sample of ``points``; 0 for float64.

    kernel : over all points, in float64
    """
    sample = points[:0] if dtype == np.float64 else points[coef[points] != 0.0]
    if len(sample) == 0:
        return 0.0
    support, sample = np.flatnonzero(coef), sample[:: max(1, len(sample) // TUNING.sample_scores)]
    exact = kernel.restrict(support).expand(coef[support], np.searchsorted(support, sample))
    return TUNING.rounding_bound * float(np.abs(exact - scores[sample]).max())


class Focus:
    """The points nearest to a violation with their whole kernel matrix, once the rounds cost as much."""

    def propose(self, state: State, /) -> Move | None:
        """Propose these points, or to begin again between narrow bounds where SMO is lost."""
        active, bounds, settings = state.active, state.bounds, state.settings
        if state.outcome != MOVED or active.has_matrix or state.n > TUNING.focus_points:
            return None
        if not (settings.dense and settings.parking):
            return None
        if active.violation < TUNING.focus_violation * bounds.tolerance:
            return None
        a_round = TUNING.round_cost + TUNING.round_share * settings.working_set * active.m
        spent = (active.rounds * a_round + active.steps * settings.working_set) / TUNING.dense_payoff
        all_had_a_turn = active.m == state.n and active.rounds == state.n // settings.working_set
        lost = all_had_a_turn and active.violation > bounds.lost
        if not lost and spent < TUNING.active_least**2:
            return None
        state.store()
        slack = state.middle_slack()[active.points]
        near, free = int(np.count_nonzero(slack <= 0.0)), int(np.count_nonzero(active.free))
        if lost and near - free > TUNING.lost_points * state.n and (form := bounds.begin()) is not None:
            return partial(state.restart, form)
        side = int(np.sqrt(state.memory.nbytes // state.kernel.dtype.itemsize))
        count = min(side, active.m, max(TUNING.active_least, int(TUNING.active_factor * near)))
        if count < min(active.m, TUNING.active_slack * near) or spent < count**2:
            return None
        return partial(state.activate, active.points[nearest(slack, count)], dense=True)


class Parking:
    """Park the points farthest from a violation where the rows of the free variables, which keep moving, hardly fit.

    Attributes
    ----------
    wait : round of the active set before which it is not tried again
    """

    def __init__(self) -> None:
        self.wait = 0

    def propose(self, state: State, /) -> Move | None:
        """Propose to park points while SMO moves, and to activate parked points that violate when it does not."""
        active = state.active
        if state.outcome != MOVED:
            violating = state.violating_parked(state.target)
            return partial(state.activate, self._next(state, violating)) if len(violating) else None
        capacity = active.cache.capacity
        if not state.settings.parking or active.m <= max(TUNING.active_least, capacity) or active.rounds < self.wait:
            return None
        if np.count_nonzero(active.free) <= TUNING.crowded * capacity:
            return None
        state.store()
        points = active.points[self._select(state, state.middle_slack()[active.points])]
        if len(points) > (1.0 - TUNING.parked_least) * active.m:
            self.wait = active.rounds + TUNING.parking_interval
            return None
        return partial(state.activate, points, dense=True)

    def _next(self, state: State, violating: Index) -> Index:
        """Return the points to activate when ``violating`` are parked."""
        active, slack = state.active, state.middle_slack()
        if active.has_matrix:  # as many as now where that will do: those farthest from a violation make way
            violating = violating[nearest(slack[violating], max(TUNING.active_least, active.m) // 2)]
            stay = nearest(slack[active.points], max(0, active.m - len(violating)))
            leaving = np.delete(active.points, stay)
            if (slack[leaving] > 0.0).all():
                return np.union1d(active.points[stay], violating)
        if active.has_matrix or state.exact:
            return np.union1d(active.points, violating)
        slack[violating] = -np.inf
        points = np.flatnonzero(state.drift == 0.0)
        return points[self._select(state, slack[points])]

    def _select(self, state: State, slack: Vector) -> Index:
        """Return which points to continue with: those that violate or are free, and the next nearest.

        As many as have room for their whole matrix, or for twice as many rows as are free or violate; longer rows save the
        parked points a later evaluation.
        """
        near = max(1, int(np.count_nonzero(slack <= 0.0)))
        words = state.memory.nbytes // state.kernel.dtype.itemsize
        count = max(TUNING.active_least, int(TUNING.active_factor * near))
        side = int(np.sqrt(words))
        if state.settings.dense and TUNING.active_slack * near <= side:
            count = min(count, side)
        else:  # no more than now unless need be, so that cached rows can be carried over
            count = max(count, min(state.active.m, words // (2 * near)))
        return nearest(slack, count)


class Bounds:
    """Bounds narrower than the problem's, and wider step by step: a large C is reached through smaller ones.

    At C_0, where one step takes a variable from one bound to the other, the optimum is found in about as many steps as there
    are points. From there the variables are stretched along the ray from 0, those at a bound to the new bound, and a few
    steps mend what that has put wrong. With bounds far apart from the start SMO leaves most variables free, a little above
    0, and the free variables' equations are badly conditioned.

    Source: the warm starts along C of DeCoste and Wagstaff (KDD 2000), and of Hastie, Rosset, Tibshirani, Zhu, JMLR 5
    (2004), whose path this follows loosely.

    Attributes
    ----------
    cap : width of the present bounds over the problem's, in (0, 1]
    width : width of the problem's bounds over the first ones, at which one step takes a variable from one to the other;
        infinite if there are no such bounds, or they were used
    tolerance : violation to reach while ``cap`` is below 1, in units of f(x)
    lost : violation above which SMO is lost between wide bounds
    """

    def __init__(self, form: DualForm, largest: float) -> None:
        """``largest`` is the largest K_ii."""
        self._whole, self.cap = form, 1.0
        size = float(np.abs(form.linear).mean())
        self.tolerance = TUNING.narrow_violation * size
        self.lost = TUNING.lost_violation * self.tolerance
        widest = float(form.upper.max() - form.lower.min()) * largest
        # a sum that is not 0, or an infinite bound, is no multiple of narrower ones
        sound = not form.relative and not form.start.any() and 0.0 < widest < np.inf
        self.width = widest / size if sound else np.inf

    @property
    def narrowed(self) -> bool:
        """Whether the present bounds are narrower than the problem's."""
        return self.cap < 1.0

    @property
    def wide(self) -> bool:
        """Whether the problem's bounds are much wider than the first ones."""
        return TUNING.narrow_width < self.width < np.inf

    def propose(self, state: State, /) -> Move | None:
        """Propose wider bounds when no active or parked point violates between narrowed ones."""
        return partial(self.widen, state) if state.outcome != MOVED and self.narrowed else None

    def restate(self, form: DualForm, cap: float) -> None:
        """Continue to another form with the same ``linear``, from bounds ``cap`` times as wide."""
        self._whole, self.cap = form, cap

    def begin(self) -> DualForm | None:
        """Return the form with the first bounds; None if none are much narrower than the problem's, or they were used."""
        wide, width, self.width = self.wide, self.width, np.inf
        return self._form(1.0 / width) if wide else None

    def _form(self, cap: float) -> DualForm:
        self.cap, whole = cap, self._whole
        return whole if cap == 1.0 else replace(whole, lower=cap * whole.lower, upper=cap * whole.upper)

    def widen(self, state: State) -> None:
        """Stretch the variables along the ray from 0 into wider bounds, as far as that gains."""
        state.store()
        at_once = not state.exact and state.precision.blurs(state, self.tolerance / TUNING.widening)
        state.form, factor = self.stretch(state.form, state.a, state.scores, at_once=at_once)
        state.scale(factor)
        active = state.active
        active.a[:], active.scores[:] = state.a[active.variables], state.scores[active.points]
        active.set_bounds(state.form)

    def stretch(self, form: DualForm, a: Vector, scores: Vector, *, at_once: bool) -> tuple[DualForm, float]:
        """Stretch the variables ``a``, (V,), in place; return the form with wider bounds and the factor of the scores.

        Parameters
        ----------
        form : form with the present bounds
        scores : (n,) K coef
        at_once : go to the problem's bounds now, as also happens if no variable is at a bound
        """
        at_top, at_bottom = (a >= form.upper) & (form.upper > 0.0), (a <= form.lower) & (form.lower < 0.0)
        wider = min(1.0 / self.cap, TUNING.widening)
        if at_once or self.cap * wider > TUNING.last_widening or not (at_top.any() or at_bottom.any()):
            wider = 1.0 / self.cap
        curvature, slope = float(form.coef(a) @ scores), float(form.linear @ a)
        factor = min(max(1.0, slope / curvature if curvature > 0.0 else 1.0), wider)
        new = self._form(1.0 if wider == 1.0 / self.cap else self.cap * wider)
        a *= factor
        if factor == wider:  # at its bound to the last bit: one rounding error away it would count as free
            a[at_top], a[at_bottom] = new.upper[at_top], new.lower[at_bottom]
        return new, factor
