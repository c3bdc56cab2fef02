"""Block SMO: whole kernel matrices or large working sets, Newton steps, rows in float32 as long as they serve.

Source: Joachims 1999 (decomposition, shrinking); Fan, Chen, Lin, JMLR 6 (2005), WSS 2 inside the working set;
the working-set scheme of Catanzaro, Sundaram, Keutzer 2008 and of oneDAL's and ThunderSVM's solvers. Differs in:
rows only of variables that moved, the bound that tells which parked points must be evaluated again, the Newton steps,
the narrow bounds, the float64 phase, one more variable without kernel values where no sum is fixed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, Literal

import numpy as np

from harness import CSVC, DEFAULT_RELATIVE_GAP, DualForm, GridPoint, Iterate, Problem, SolutionPath, Solver, parameter
from harness.problems import PolytopeDistance
from harness.support.arrays import Vector
from harness_smo.active import CONVERGED, MOVED, STALLED, Settings
from harness_smo.smo import GAP, TAU, Goal, why_stopped
from harness_smo.state import State
from harness_smo.strategies import Strategy
from harness_smo.tuning import TUNING

# cost of SMO steps before a Newton step, over the cost of that
_NEWTON_PRICE = {"auto": 1.0, "always": 0.0, "never": np.inf}
_FEW = 16  # variables of a working set in a warm-up


@dataclass(frozen=True)
class SMOBlock(Solver):
    """SMO over whole kernel matrices or working sets of hundreds of variables, and Newton steps: the fast solver.

    Use it when you want the optimum. Paper: Joachims 1999.
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
        "variables of a working set, and no more at once; none: n / 12 from 256 to 832, or all of some thousand",
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
        """Start from the feasible point of the form."""
        yield from self.iterates_from(problem, rng, None)

    def iterates_from(self, problem: Problem, rng: np.random.Generator, start: Vector | None) -> Iterator[Iterate]:
        """Start from the feasible coefficients ``start``, (n,); costs n x support kernel evaluations."""
        form = problem.dual_form()
        with _one_blas_thread(problem):
            state = self._begin(problem, form, start)
            yield from self._descend(problem, form, state)

    def solve_path(self, path: SolutionPath, rng: np.random.Generator) -> Iterator[tuple[GridPoint, Iterate]]:
        """Go from C to C with the kernel matrix, variables and scores of the cell before, where its points are few enough.

        The next fold or kernel has its memory.
        """
        if path.cold or self.working_set:
            yield from super().solve_path(path, rng)
            return
        state: State | None = None
        last: Any = None  # the cell before, where this one continues from it, and its coefficients
        for cell, following in zip_longest(path.cells, path.cells[1:]):
            problem = path.problem(cell)
            form = problem.dual_form()
            with _one_blas_thread(problem):
                if not (last and state and state.restate(problem, form)):
                    if last:
                        path.keep(*last)
                    state = self._begin(problem, form, path.start(cell), on_path=True, memory=state and state.memory)
                for iterate in self._descend(problem, form, state):
                    yield cell, iterate
            last = cell, iterate.dual_coef
            if following is None or following.before != cell.index:
                path.keep(*last)
                last = None

    def _begin(
        self, problem: Problem, form: DualForm, start: Vector | None, *, on_path: bool = False, memory: Any = None
    ) -> State:
        """Return the state at the coefficients ``start``, (n,), at those of the form if None."""
        first = form.start.copy() if start is None else form.variables(problem.checked(start, 0.0)[0])
        # along a path the matrix serves every C, and what float32 blurs would have to be done anew at each
        dense_points = TUNING.dense_path_points if on_path else TUNING.dense_points
        exact_points = TUNING.exact_points_reused if form.relative or on_path else TUNING.exact_points
        narrow = problem.n > exact_points if self.dtype == "auto" else self.dtype == "float32"
        rows = problem.kernel.replace(dtype=np.float32 if narrow else np.float64)
        if on_path and not narrow and problem.n <= dense_points:
            rows = rows.replace(shared=None)  # the next C continues with the matrix itself
        working_set = self.working_set or min(TUNING.working_set, max(TUNING.working_set_least, form.n // 12))
        settings = Settings(
            self.cache_mb or problem.kernel.cache_mb, working_set, dense=self.working_set is None, parking=self.shrinking,
            newton_price=_NEWTON_PRICE[self.newton], on_path=on_path, dense_points=dense_points, memory=memory,
        )  # fmt: skip
        return State(problem, form, first, rows, settings)

    def _descend(self, problem: Problem, form: DualForm, state: State) -> Iterator[Iterate]:
        """Make rounds, and after each what the first strategy proposes, until the goal is reached; yield the models."""
        goal, bounds, precision = Goal(problem, form, self.tau, self.gap), state.bounds, state.precision
        goal.begin(state.a, state.scores, precision.noise)
        strategies: tuple[Strategy, ...] = (precision, state.focus, state.parking, bounds)
        while True:
            state.tau = goal.tau
            state.target = max(goal.tau, bounds.tolerance) if bounds.narrowed else precision.target(state, goal.tau)
            state.outcome = state.active.round(state.target)
            if state.outcome == MOVED:
                yield self._iterate(state, "")
            move = next((move for strategy in strategies if (move := strategy.propose(state))), None)
            if move is not None:
                move()
            elif state.outcome != MOVED and (reason := self._finish(state, goal)):
                yield self._iterate(state, reason)
                return

    def _finish(self, state: State, goal: Goal) -> str:
        """Return why to end, as no point violates; or continue in float64, or towards a smaller tau, and return ''."""
        if state.exact:
            if state.outcome == STALLED:
                return "stalled"
            return goal.ended if self._reached(state, goal) else ""
        tau, relative, precision = goal.tau, state.form.relative, state.precision
        # of hulls a first tau may be far too large: the steps to a smaller one are cheaper in float32
        accurate = tau > precision.noise if relative else precision.reaches(state, tau)
        if state.outcome == CONVERGED and accurate:
            if not self._reached(state, goal):
                if goal.tau < tau:
                    return ""
            elif not relative:
                return goal.ended
        state.tau = goal.tau
        precision.sharpen(state)
        return ""

    def _reached(self, state: State, goal: Goal) -> bool:
        """Return whether the model is good enough; if it is not, the goal's tau is smaller now."""
        active, form = state.active, state.form
        state.store()
        if goal.gap is None:
            return True
        intercept = form.intercept(form.levels(active.ends))
        # the scores of parked points are older, but on the right side: a point's part of the gap is the same there
        tau, known = goal.tau, (state.a, intercept, state.scores, active.violation, TUNING.gap_share)
        for needed in (False, True):
            blur = 0.0 if form.relative else state.precision.measured_blur(state, needed=needed)
            if goal.reached(*known, TUNING.rounding_margin * blur):
                return True
            if goal.tau < tau:  # it is not the rounding that is in the way
                break
        return False

    def _iterate(self, state: State, reason: str) -> Iterate:
        """Return the current model; ``reason`` : why it is the last one, if it is."""
        active, form = state.active, state.form
        if not reason:
            state.a[active.variables] = active.a
        steps = state.steps + active.steps
        info: dict[str, Any] = {
            "iterations": steps,
            "rounds": state.rounds + active.rounds,
            "kkt_violation": active.violation,
            "active": active.m,
            "rows_computed": state.fetched + active.cache.fetched,
            "float64": state.exact,
        }
        if reason not in ("", "done"):
            info["stopped"] = why_stopped(reason, active.violation, state.tau, steps)
        intercept = form.intercept(form.levels(active.ends))
        return Iterate(form.coef(state.a), intercept, done=reason == "done", step=steps, info=info)


def _one_blas_thread(problem: Problem) -> AbstractContextManager[Any]:
    """Keep BLAS to one thread while requests are shared out: its own threads would spin between them."""
    if problem.kernel.threads == 1:
        return nullcontext()
    from threadpoolctl import threadpool_limits

    limits: AbstractContextManager[Any] = threadpool_limits(1, user_api="blas")
    return limits
