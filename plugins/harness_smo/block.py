"""Block SMO: whole kernel matrices or large working sets, Newton steps, rows in float32 as long as they serve.

Of some thousand points the kernel matrix is computed whole, and SMO runs over all of it, or over the part that matters
now (:mod:`harness_smo.whole_loops`). Of more, a round takes a working set of some hundred variables, descends inside it by
second-order SMO on its kernel block, and adds the kernel rows of the variables that moved, and of no others, to the
scores of all active points; when few points are left that matter, their matrix is computed (:mod:`harness_smo.block_state`).
Where steps do not pay, the free variables move to their common optimum (:mod:`harness_smo.face`), and a large C is
reached through smaller ones. What float32 cannot decide is finished in float64.

Source: Joachims 1999 (decomposition, shrinking); Fan, Chen, Lin, JMLR 6 (2005), WSS 2 inside the working set;
Steinwart, Hush, Scovel, JMLR 12 (2011), two variables a step where no sum is fixed;
the working-set scheme of Catanzaro, Sundaram, Keutzer 2008 and of oneDAL's and ThunderSVM's solvers. Differs in:
rows only of variables that moved, the bound that tells which parked points must be looked at again, the two phases of
second order and of narrow bounds, the float64 phase.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from harness import (
    CSVC,
    DEFAULT_RELATIVE_GAP,
    DualForm,
    GridPoint,
    Iterate,
    KernelOracle,
    Problem,
    SolutionPath,
    Solver,
    parameter,
)
from harness.problems import PolytopeDistance
from harness.support.arrays import Vector
from harness_smo.block_level import CONVERGED, LARGEST, MIDDLE, MOVED, SMALLEST, STALLED, WHOLE, Settings
from harness_smo.block_state import BlockState, blur, blurred, clear, measured_blur, sharpen
from harness_smo.smo import GAP, TAU, Goal, why_stopped

_WIDE = 700  # points up to which a second precision would cost more than it saves
_HULLS = 2500  # the same for hulls, whose violation is small beside their scores, and along a path
_FEW = 16  # variables of a working set, in a warm-up
_WHOLE_OF_PATH = 5000  # points up to which the kernel matrix is computed whole along a path, where it serves every C
_NEWTON = {"auto": 1.0, "always": 0.0, "never": np.inf}  # times what a Newton step costs
_UNTOLD = 1e6  # steps times variables between narrowed bounds without a model: to make one takes as long
_STRICTER, _BLURS = 0.75, 2.0  # of the target in float32, at least, and what is left for rounding
_LEFT = 0.05  # of the violation: rounding of float32 rows that blurs no more does no harm yet
_FIRST = 5.0  # times tau: parked points are first looked at when the active ones are this good
_CLEAR = 0.25  # of a tighter tau: rounding of float32 rows that blurs no more leaves them good enough for it
_SAFE = 0.95  # of the gap asked for: its denominator is taken from scores that are not the latest


@dataclass(frozen=True)
class SMOBlock(Solver):
    """SMO over whole kernel matrices or working sets of hundreds of variables, and Newton steps: the fast solver.

    Take it when you want the optimum. Paper: Joachims 1999.
    """

    name = "smo-block"
    solves = (CSVC,)
    solves_dual_forms = True
    leaves_out = (PolytopeDistance,)
    serves = ("certificate",)

    tau: float = parameter(DEFAULT_RELATIVE_GAP, TAU, gt=0)
    gap: float | None = parameter(None, GAP, gt=0)
    working_set: int | None = parameter(
        None,
        "variables of a working set, and no more at once; none: n / 12 from 256 to 832, n / 32 up to 1024, or all of some thousand",
        ge=4,
    )
    newton: Literal["auto", "always", "never"] = parameter(
        "auto", "Newton steps over the free variables; auto: when the steps of SMO since the last one cost as much"
    )
    dtype: Literal["auto", "float32", "float64"] = parameter(
        "auto",
        "of kernel rows before the last phase, in float64 (at once where few points matter at a large C); auto: float32 "
        "beyond 700 points, of hulls or along a path 2,500",
    )
    shrinking: bool = parameter(True, "park points that rest at a bound when their rows do not fit in the cache")
    cache_mb: float | None = parameter(None, "memory for kernel rows in MB; none: the run's", gt=0)

    def warm_ups(self) -> tuple[SMOBlock, ...]:
        """Return both precisions, over whole matrices and in working sets: few points take one road only."""
        both = (self, self.replace(dtype="float32")) if self.dtype == "auto" else (self,)
        if self.working_set:
            return both
        in_parts = [each.replace(working_set=_FEW) for each in both]
        return (*(each.replace(newton="always") for each in both), *in_parts)

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        """Start from the form's own feasible point."""
        yield from self.iterates_from(problem, rng, None)

    def iterates_from(self, problem: Problem, rng: np.random.Generator, start: Vector | None) -> Iterator[Iterate]:
        """Start from the feasible coefficients ``start``, (n,); costs n x support kernel evaluations."""
        form = problem.dual_form()
        with _one_blas_thread(problem):
            yield from self._work(problem, form, self._begin(problem, form, start, WHOLE, None))

    def solve_path(self, path: SolutionPath, rng: np.random.Generator) -> Iterator[tuple[GridPoint, Iterate]]:
        """Go from C to C with the kernel matrix, variables and scores of the cell before, where its points are few enough.

        The next fold or kernel has its memory.
        """
        if path.cold or self.working_set:
            yield from super().solve_path(path, rng)
            return
        state: BlockState | None = None
        last: GridPoint | None = None
        for cell in path.cells:
            problem, goes_on = path.problem(cell), last is not None and cell.before == last.index
            form = problem.dual_form()
            with _one_blas_thread(problem):
                if not (goes_on and state and state.restate(problem, form)):
                    state = self._begin(problem, form, path.start(cell), _WHOLE_OF_PATH, state and state.memory)
                each: Iterate | None = None
                for each in self._work(problem, form, state):
                    yield cell, each
            if each is not None and each.dual_coef is not None:
                path.keep(cell, each.dual_coef)
            last = cell

    def _begin(self, problem: Problem, form: DualForm, start: Vector | None, whole: int, memory: Any) -> BlockState:
        """Return the state at the coefficients ``start``, (n,); of up to ``whole`` points the matrix is computed at once."""
        first = form.start.copy() if start is None else form.variables(problem.checked(start, 0.0)[0])
        # along a path the matrix serves every C, and what float32 blurs would have to be done anew at each
        wide = _HULLS if form.relative or whole == _WHOLE_OF_PATH else _WIDE
        narrow = problem.n > wide if self.dtype == "auto" else self.dtype == "float32"
        rows = problem.kernel.replace(dtype=np.float32 if narrow else np.float64)
        if whole == _WHOLE_OF_PATH and not narrow and problem.n <= whole:
            rows = rows.replace(shared=None)  # the next C goes on with the matrix itself
        cache_mb = self.cache_mb or problem.kernel.cache_mb
        size = self.working_set or max(SMALLEST, min(MIDDLE, form.n // 12), min(LARGEST, form.n // 32))
        settings = Settings(cache_mb, size, self.working_set is not None, _NEWTON[self.newton], whole, memory)
        return BlockState(problem, form, first, rows, settings)

    def _work(self, problem: Problem, form: DualForm, state: BlockState) -> Iterator[Iterate]:
        """Go on until the goal is reached; yield the models."""
        kernel, goal, loose, told = problem.kernel, Goal(problem, form, self.tau, self.gap), True, 0
        goal.begin(state.a, state.scores, state.noise)
        while True:
            tau, narrowed = goal.tau, state.narrowed.cap < 1.0
            target = max(tau, state.narrowed.loose) if narrowed else _FIRST * tau if loose and state.parked else tau
            if not state.exact and not narrowed:
                # nothing left for rounding at a start that is good enough: it is not to be disturbed
                stricter = max(_STRICTER * target, target - _BLURS * blur(state))
                target = max(stricter if state.rounds + state.level.rounds else target, state.noise)
            outcome = state.level.round(target)
            if outcome == MOVED:
                steps = state.steps + state.level.steps
                if not narrowed or (steps - told) * len(state.level.a) > _UNTOLD:
                    told = steps
                    yield self._iterate(state, "", tau)
                self._choose_points(state, kernel, tau)
                continue
            if narrowed:
                self._widen(state, target)
                continue
            loose = loose and not state.parked
            reason = self._settle(state, kernel, goal, target, outcome)
            if reason:
                yield self._iterate(state, reason, tau)
                return

    def _choose_points(self, state: BlockState, kernel: KernelOracle, tau: float) -> None:
        """After a round that moved something: go on in float64, or with fewer points, where that pays."""
        level, rough, narrowed = state.level, not state.exact, state.narrowed.cap < 1.0
        if rough and not narrowed and (blurred(state, max(tau, _LEFT * level.violation)) or state.stale()):
            sharpen(state, kernel, tau)
        elif self.shrinking and not state.focus() and state.crowded():
            state.shrink()

    def _widen(self, state: BlockState, target: float) -> None:
        """Between narrowed bounds: take in the parked points that violate, or go on between wider ones."""
        violating = state.look(target)
        if len(violating):
            state.activate(state.next(violating))
        else:
            state.park_known()
            state.widen()

    def _settle(self, state: BlockState, kernel: KernelOracle, goal: Goal, target: float, outcome: int) -> str:
        """After a round that moved nothing: look at the parked points, or go on in float64, or return why to end."""
        form, tau = state.form, goal.tau
        violating, strict = state.look(target), max(tau, 0.0 if state.exact else state.noise)
        if not len(violating) and target > strict and (state.level.has_matrix or state.exact):
            state.park_known()
        elif len(violating) or target > strict:
            state.activate(state.next(violating))
        elif state.exact:
            if outcome == STALLED:
                return "stalled"
            if self._reached(state, goal):
                return goal.ended
            state.park_known()
        # of hulls a first tau may be far too wide: what is left is cheaper in float32
        elif outcome == CONVERGED and form.relative and tau > state.noise and not self._reached(state, goal):
            state.park_known()
        elif outcome == CONVERGED and not form.relative and clear(state, tau):
            if self._reached(state, goal):
                return goal.ended
            if goal.tau == tau or measured_blur(state) > _CLEAR * goal.tau:
                sharpen(state, kernel, goal.tau)
            else:
                state.park_known()
        else:
            sharpen(state, kernel, goal.tau)
        return ""

    def _reached(self, state: BlockState, goal: Goal) -> bool:
        """Whether the model is good enough; if it is not, the goal's tau is tighter now."""
        level, form = state.level, state.form
        intercept = form.intercept(form.levels(level.ends))
        # scores of parked points are not the latest, but on the right side: a point's part of the gap is the same there
        doubt = 0.0 if form.relative else measured_blur(state)
        return goal.reached(state.a, intercept, state.scores, level.violation, _SAFE, doubt)

    def _iterate(self, state: BlockState, reason: str, tau: float) -> Iterate:
        level, form = state.level, state.form
        if not reason:
            state.a[level.variables] = level.a
        steps = state.steps + level.steps
        info: dict[str, Any] = {
            "iterations": steps,
            "rounds": state.rounds + level.rounds,
            "kkt_violation": level.violation,
            "active": level.m,
            "rows_computed": state.fetched + level.cache.fetched,
            "float64": state.exact,
        }
        if reason not in ("", "done"):
            info["stopped"] = why_stopped(reason, level.violation, tau, steps)
        intercept = form.intercept(form.levels(level.ends))
        return Iterate(form.coef(state.a), intercept, done=reason == "done", step=steps, info=info)


def _one_blas_thread(problem: Problem) -> AbstractContextManager[Any]:
    """Keep BLAS to one thread while requests are shared out: its own threads would spin between them."""
    if problem.kernel.threads == 1:
        return nullcontext()
    from threadpoolctl import threadpool_limits

    limits: AbstractContextManager[Any] = threadpool_limits(1, user_api="blas")
    return limits
