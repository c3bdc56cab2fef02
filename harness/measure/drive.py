"""Drive a solver: the clock runs only inside ``next()``, everything else is the host's."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.errors import InvalidModel, PluginError
from harness.measure.budget import Budget
from harness.measure.trace import TracePlan, TracePoint, plain, trace_point
from harness.problems.problem import Problem
from harness.solver import Iterate, Solver

if TYPE_CHECKING:
    from harness.measure.trace import Metric

    Observer = Callable[[TracePoint], None]

_NEVER = float("inf")


@dataclass
class Outcome:
    """What driving a solver gave: the last model, copied, and what it cost.

    status : ``ok`` (the solver's own rule or the end of its generator) or ``budget`` (the host stopped it)
    reason : why, in words; empty for ``ok``
    seconds, cpu_seconds : inside the solver
    iterations : the solver's own steps where it says them, else yields
    """

    status: str
    reason: str
    seconds: float
    cpu_seconds: float
    yields: int
    iterations: int
    dual_coef: Any
    intercept: float
    weights: Any
    working_set: int | None
    claimed_done: bool
    info: dict[str, Any]
    trace: list[TracePoint] = field(default_factory=list)


def drive(
    solver: Solver,
    problem: Problem,
    rng: np.random.Generator,
    budget: Budget | None = None,
    plan: TracePlan | None = None,
    *,
    observer: Observer | None = None,
    metric: Metric | None = None,
    clock: Callable[[], float] = time.perf_counter,
    cpu_clock: Callable[[], float] = time.process_time,
) -> Outcome:
    """Run ``solver`` on ``problem`` until it is done or ``budget`` is spent.

    Parameters
    ----------
    plan : when trace points are due; None: no trace (a target gap needs one)
    observer : called with each trace point as it is taken, so that a killed run leaves its trace
    metric : (dual_coef, intercept) -> test accuracy, for trace points

    Raises
    ------
    PluginError : the generator yields something that is no :class:`Iterate`, or nothing at all.
    Whatever the solver raises passes through.
    """
    return _Drive(solver, problem, budget or Budget(), plan, observer, metric, clock, cpu_clock).run(rng)


class _Drive:
    """The state of one drive: when something is next due, and what was seen."""

    def __init__(
        self,
        solver: Solver,
        problem: Problem,
        budget: Budget,
        plan: TracePlan | None,
        observer: Observer | None,
        metric: Metric | None,
        clock: Callable[[], float],
        cpu_clock: Callable[[], float],
    ) -> None:
        self.solver, self.problem, self.budget, self.plan = solver, problem, budget, plan
        self.observer, self.metric, self.clock, self.cpu_clock = observer, metric, clock, cpu_clock
        self.trace: list[TracePoint] = []
        self.point_seconds = plan.first_seconds if plan else _NEVER
        self.point_evaluations = float(plan.first_evaluations) if plan else _NEVER
        self.last_gap: float | None = None
        self.host_cpu = 0.0

    def run(self, rng: np.random.Generator) -> Outcome:
        solver, counter, clock = self.solver, self.problem.kernel.counter, self.clock
        iteration_limit = self.budget.iterations if self.budget.iterations is not None else _NEVER
        due_seconds, due_evaluations = self._due()
        seconds, yields, reason, last = 0.0, 0, "", None
        cpu_began = self.cpu_clock()
        began = clock()
        iterates = solver.iterates(self.problem, rng)
        advance = iter(iterates).__next__
        try:
            while True:
                try:
                    last = advance()
                except StopIteration:
                    seconds += clock() - began
                    break
                seconds += clock() - began
                yields += 1
                if type(last) is not Iterate and not isinstance(last, Iterate):
                    raise PluginError(
                        f"solver '{solver.name}' yielded {type(last).__name__}; a solver yields harness.Iterate."
                    )
                if last.done:
                    break
                if seconds >= due_seconds or counter.evaluations >= due_evaluations or yields >= iteration_limit:
                    reason = self._slow_path(last, seconds, yields)
                    if reason:
                        break
                    due_seconds, due_evaluations = self._due()
                began = clock()
            cpu_seconds = max(0.0, self.cpu_clock() - cpu_began - self.host_cpu)
            if last is None:
                raise PluginError(
                    f"solver '{solver.name}' ended without yielding a model; it must yield at least one Iterate."
                )
            # copied before the generator is closed: its arrays are its own, and it may clear them
            return self._outcome(last, reason, seconds, cpu_seconds, yields)
        finally:
            close = getattr(iterates, "close", None)
            if close is not None:
                close()

    def _due(self) -> tuple[float, float]:
        """Return the seconds and evaluations at which the host must look again."""
        seconds, evaluations = self.budget.seconds, self.budget.kernel_evaluations
        return (
            min(self.point_seconds, _NEVER if seconds is None else seconds),
            min(self.point_evaluations, _NEVER if evaluations is None else evaluations),
        )

    def _slow_path(self, last: Iterate, seconds: float, yields: int) -> str:
        """Take the trace points that are due; return why to stop, or an empty string."""
        cpu_began = self.cpu_clock()
        evaluations = self.problem.kernel.counter.evaluations
        if self.plan is not None:
            series = "seconds" if seconds >= self.point_seconds else "kernel_evaluations"
            if seconds >= self.point_seconds or evaluations >= self.point_evaluations:
                self._take(last, seconds, yields, series)
                self.point_seconds = self.plan.next_seconds(seconds)
                self.point_evaluations = self.plan.next_evaluations(evaluations)
        reason = self._spent(seconds, evaluations, yields)
        self.host_cpu += self.cpu_clock() - cpu_began
        return reason

    def _spent(self, seconds: float, evaluations: int, yields: int) -> str:
        budget = self.budget
        if budget.seconds is not None and seconds >= budget.seconds:
            return f"stopped at the time limit of {budget.seconds:g} s"
        if budget.kernel_evaluations is not None and evaluations >= budget.kernel_evaluations:
            return f"stopped at the budget of {budget.kernel_evaluations} kernel evaluations"
        if budget.iterations is not None and yields >= budget.iterations:
            return f"stopped at the budget of {budget.iterations} iterations"
        if budget.target_gap is not None and self.last_gap is not None and self.last_gap <= budget.target_gap:
            return "target"
        return ""

    def _take(self, iterate: Iterate, seconds: float, yields: int, series: str) -> None:
        assert self.plan is not None
        step = iterate.step if iterate.step is not None else yields
        point = trace_point(
            self.problem,
            iterate,
            seconds=seconds,
            iteration=step,
            reason=series,
            plan=self.plan,
            observable=self.solver.observable,
            metric=self.metric,
        )
        self.last_gap = point.relative_gap
        self.trace.append(point)
        if self.observer is not None:
            self.observer(point)

    def _outcome(self, last: Iterate, reason: str, seconds: float, cpu_seconds: float, yields: int) -> Outcome:
        reached = reason == "target"
        limit = self.budget.seconds
        if not reason and limit is not None and seconds > limit:
            reason = f"finished, but after the time limit of {limit:g} s"
        status = "ok" if not reason or reached else "budget"
        if reached:
            reason = f"stopped by the host at the target gap of {self.budget.target_gap:g}"
        coef = None if last.dual_coef is None else np.array(last.dual_coef)
        weights = None if last.weights is None else np.array(last.weights)
        if coef is None and weights is None:
            raise InvalidModel(f"solver '{self.solver.name}' ended with neither dual_coef nor weights; one is needed.")
        return Outcome(
            status=status,
            reason=reason,
            seconds=seconds,
            cpu_seconds=cpu_seconds,
            yields=yields,
            iterations=last.step if last.step is not None else yields,
            dual_coef=coef,
            intercept=last.intercept,
            weights=weights,
            working_set=last.working_set,
            claimed_done=bool(last.done),
            info=plain(last.info),
            trace=self.trace,
        )
