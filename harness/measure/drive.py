"""Drive a solver; its clock runs only inside ``next()``."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from time import perf_counter, process_time  # imported by name, so that later patches do not change the clock
from typing import Any

import numpy as np

from harness.measure.outcome import INFO, DualBound, Limits, Status, StoppedBy, TracePoint
from harness.measure.scored import FreeModel, Scored, Weights
from harness.measure.trace import Dual, TracePlan, certificate_of, claims, copied_dual
from harness.problems.problem import Problem
from harness.solver.protocol import NOT_DONE, Iterate, Solver, why_target_ignored, with_arrays
from harness.support import decimals
from harness.support.clocks import fit_clock, fit_cpu_clock, take_off
from harness.support.errors import HarnessError, InvalidModel, PluginError
from harness.support.printable import clean

_NEVER = float("inf")
_TRACE_INFO = (200, 5000)  # largest number of entries and characters of the info of a trace point
_TRACE_NUMBERS = 1 << 20  # largest number of coordinates of extra points, or of weights, in a trace point: 8 MB
_VALUE_CHARACTERS = 40  # largest number of characters of an invalid value in a message


@dataclass
class Clocks:
    """Functions that return wall and CPU seconds.

    overtime : (seconds inside the solver) -> further seconds that count towards the time limit
    lost : (seconds, CPU seconds inside the solver) -> seconds in which other work had the core, which do not count
    others : CPU seconds of the solver's further threads
    unexplained : CPU seconds of these threads while the clock was paused
    """

    wall: Callable[[], float] = perf_counter
    cpu: Callable[[], float] = process_time
    overtime: Callable[[float], float] = lambda _: 0.0
    lost: Callable[[float, float], float] = lambda _, __: 0.0
    others: Callable[[], float] = lambda: 0.0
    unexplained: float = 0.0
    paused_at: tuple[float, float, float] | None = None

    def pause(self) -> None:
        """Pause the clock: CPU time of the solver's threads is unexplained from here."""
        self.paused_at = self.others(), fit_clock(), fit_cpu_clock()

    def resume(self) -> None:
        """Resume the clock, and the clocks by which a solver reports seconds."""
        if self.paused_at is not None:
            others, wall, cpu = self.paused_at
            self.unexplained += self.others() - others
            take_off(fit_clock() - wall, fit_cpu_clock() - cpu)
            self.paused_at = None


@dataclass
class Outcome:
    """Result of a drive: a copy of the last model, and its cost.

    status : ``ok`` (the solver's rule, or the host's target), ``budget`` or ``unfinished`` (see `Status`)
    stopped_by : the cause of the end
    reason : explanation for users; empty if the solver ended by its own rule
    seconds, cpu_seconds : time inside the solver
    iterations : steps that the solver counts, else yields
    dual_coef, intercept : the model, if it is a dual solution
    model : the validated model, if it is no dual solution
    info, info_cut : claims of the solver, and whether they were truncated
    """

    status: Status
    stopped_by: StoppedBy
    reason: str
    seconds: float
    cpu_seconds: float
    yields: int
    iterations: int
    dual_coef: Any
    intercept: float
    model: Scored | None
    working_set: int | None
    claimed_done: bool
    info: dict[str, Any]
    info_cut: bool
    trace: list[TracePoint]


def drive(
    solver: Solver,
    problem: Problem,
    rng: np.random.Generator,
    limits: Limits | None = None,
    plan: TracePlan | None = None,
    *,
    observer: Callable[[TracePoint, Dual | Scored | None], None] = lambda *_: None,
    plain: Problem | None = None,
    bound: DualBound | None = None,
    stopped: Callable[[], None] = lambda: None,
    clocks: Clocks | None = None,
) -> Outcome:
    """Run ``solver`` on ``problem`` until it is done or one of ``limits`` is reached.

    Parameters
    ----------
    plan : when trace points are due; None for no trace (a target gap needs one)
    observer : called with each trace point when it is taken, so that a killed run leaves its trace, and with a copy of its
        model; None if a certificate of the model would cost too much
    plain : the same problem with an uncounted kernel, for certificates of the target gap; None: ``problem``
    bound : a certified dual value of the problem, with which a model that is no dual solution may meet the target gap
    stopped : called when the last model is copied, before the solver's generator is closed

    Raises
    ------
    PluginError : the generator yields an object that is no :class:`Iterate`, or yields nothing.
    InvalidModel : the last model is invalid.
    Exceptions of the solver propagate.
    """
    driven = _Drive(solver, problem, limits or Limits(), plan, plain or problem, observer, clocks or Clocks(), bound)
    return driven.run(rng, stopped)


def outcome_of(
    solver: Solver, problem: Problem, last: Iterate, seconds: float, cpu_seconds: float, yields: int
) -> Outcome:
    """Return the outcome of a solver whose iterates were driven elsewhere up to ``last``; raise as :func:`drive` does."""
    driven = _Drive(solver, problem, Limits(), None, problem, lambda *_: None, Clocks())
    return driven.outcome(last, None, seconds, cpu_seconds, yields)


_End = tuple[Status, StoppedBy, str]


@dataclass
class _Drive:
    """The state of one drive.

    reached : the sentence that ends the run, if the certificate of the last trace point meets the target; else empty
    due : series of trace points -> value at which the next one is due
    excess : seconds outside the solver that count towards the time limit, minus those inside it that do not
    """

    solver: Solver
    problem: Problem
    limits: Limits
    plan: TracePlan | None
    plain: Problem
    observer: Callable[[TracePoint, Dual | Scored | None], None]
    clocks: Clocks
    bound: DualBound | None = None
    trace: list[TracePoint] = field(default_factory=list)
    reached: str = ""
    cpu_began: float = 0.0
    host_cpu: float = 0.0
    excess: float = 0.0

    def __post_init__(self) -> None:
        self.due = {series: self.plan.next(series, 0.0) if self.plan else _NEVER for series in TracePlan.SERIES}
        limits = (self.limits.time_limit, self.limits.kernel_evaluation_limit, self.limits.iteration_limit)
        self.most_seconds, self.most_evaluations, self.most_yields = (_NEVER if m is None else m for m in limits)

    def run(self, rng: np.random.Generator, at_end: Callable[[], None]) -> Outcome:
        problem, clock = self.problem, self.clocks.wall
        counter, queries = problem.kernel.counter, self.plan is not None and problem.queries_targets
        due_seconds, due_evaluations, due_queried = self._due()
        seconds, yields = 0.0, 0
        last: Iterate | None = None
        end: _End | None = None
        self.cpu_began = self.clocks.cpu()
        began = clock()
        iterates = self.solver.iterates(problem, rng)
        if not isinstance(iterates, Iterable):
            raise self._breach(f"returned {type(iterates).__name__} from iterates; it must yield its models.")
        advance = iter(iterates).__next__
        try:
            while end is None:
                try:
                    last = advance()
                except StopIteration:
                    seconds += clock() - began
                    break
                seconds += clock() - began
                yields += 1
                if type(last) is not Iterate:
                    raise self._breach(f"yielded {type(last).__name__}; it must yield harness.Iterate, no subclass.")
                if last.done:
                    break
                if (
                    seconds >= due_seconds
                    or counter.evaluations >= due_evaluations
                    or yields >= self.most_yields
                    or (queries and len(problem.queried) >= due_queried)
                ):
                    began = clock()
                    converted = with_arrays(last)
                    seconds += clock() - began
                    end = self._pause(converted, seconds, yields)
                    due_seconds, due_evaluations, due_queried = self._due()
                began = clock()
            if last is None:
                raise self._breach("ended without yielding a model; it must yield at least one Iterate.")
            began = clock()
            last = with_arrays(last)
            seconds += clock() - began
            cpu_seconds = self._inside(self.clocks.cpu())
            self.clocks.pause()
            # copied before the generator is closed, which may clear its arrays
            outcome = self.outcome(last, end, seconds, cpu_seconds, yields)
            self.clocks.resume()  # later work of threads is not measured
            at_end()
            return outcome
        finally:
            close = getattr(iterates, "close", None)
            if close is not None:
                close()

    def _breach(self, what: str, kind: type[HarnessError] = PluginError) -> HarnessError:
        """Return the error of a breach of the protocol, or of an invalid model."""
        return kind(f"solver '{self.solver.name}' {what}")

    def _due(self) -> tuple[float, float, float]:
        """Return the seconds, evaluations and queried targets at which the host must pause the solver next."""
        seconds = min(self.due["seconds"], self.most_seconds - self.excess)
        return seconds, min(self.due["kernel_evaluations"], self.most_evaluations), self.due["queried"]

    def _pause(self, last: Iterate, seconds: float, yields: int) -> _End | None:
        """Take a trace point if one is due; return the end of the run if a limit or the target is reached."""
        cpu_now = self.clocks.cpu()
        self.clocks.pause()
        evaluations = self.problem.kernel.counter.evaluations
        values = {"queried": len(self.problem.queried), "seconds": seconds, "kernel_evaluations": evaluations}
        series = next((name for name in TracePlan.SERIES if values[name] >= self.due[name]), None)
        if self.plan is not None and series is not None:
            self._take(self.plan, last, seconds, self._inside(cpu_now), yields, series)
            self.due = {name: self.plan.next(name, float(value)) for name, value in values.items()}
        end = self._limit(seconds, self._inside(cpu_now), evaluations, yields)
        self.clocks.resume()
        self.host_cpu += self.clocks.cpu() - cpu_now
        return end

    def _inside(self, cpu_now: float) -> float:
        """Return the CPU seconds inside the solver when the clock shows ``cpu_now``."""
        return max(0.0, cpu_now - self.cpu_began - self.host_cpu)

    def _take(
        self, plan: TracePlan, iterate: Iterate, seconds: float, cpu_seconds: float, yields: int, series: str
    ) -> None:
        self._check(iterate)
        problem = self.problem
        coef = iterate.free_coef if iterate.dual_coef is None else iterate.dual_coef
        support = None if coef is None else int(np.count_nonzero(coef))
        point = TracePoint(
            seconds,
            problem.kernel.counter.evaluations if self.solver.observable else None,
            self._whole(iterate, "step", yields),
            series,
            support,
            queried=len(problem.queried) if problem.queries_targets else None,
            cpu_seconds=cpu_seconds,
            info=claims(iterate.info, *_TRACE_INFO)[0],
        )
        model = self._copied(plan, iterate, support or 0)
        if model is not None and self.limits.target_gap is not None:
            self.reached = self._meets(model, self.limits.target_gap)
        self.trace.append(point)
        self.observer(point, model)

    def _copied(self, plan: TracePlan, iterate: Iterate, support: int) -> Dual | Scored | None:
        """Return a copy of a model that is certified; None if it is invalid, its certificate costs too much, or it has none."""
        if iterate.dual_coef is not None:
            return copied_dual(self.problem, iterate, support, plan.certificate_values)
        costs_too_much = self.problem.certificate_cost(support) > plan.certificate_values
        weights, free = (np.ravel(() if given is None else given) for given in (iterate.weights, iterate.free_coef))
        numbers = len(weights) + np.count_nonzero(free[self.problem.n :]) * self.problem.kernel.n_features
        if costs_too_much or numbers > _TRACE_NUMBERS or iterate.features is not None or not self.problem.bounded_from:
            return None
        with contextlib.suppress(InvalidModel):
            return self._model(iterate)
        return None

    def _meets(self, model: Dual | Scored, target: float) -> str:
        """Return how the run was stopped if a model meets the target gap, else an empty text."""
        stopped = "stopped by the host at "
        if isinstance(model, tuple):
            met = certificate_of(self.plain, *model).meets(target)
            return f"{stopped}the target gap of {decimals.target(target)}" * met
        distance = None if self.bound is None else self.bound.suboptimality(self.plain, model.primal(self.plain))
        if self.bound is None or distance is None or not -decimals.UNKNOWN_ROUNDING <= distance <= target:
            return ""
        return f"{stopped}a suboptimality of {decimals.target(target)}, with the dual of {self.bound.of}"

    def _check(self, iterate: Iterate) -> None:
        """Raise PluginError if ``done`` is no truth value or ``info`` is no mapping."""
        if not isinstance(iterate.done, (bool, np.bool_, int, np.integer)):
            raise self._breach(f"yielded done={_printable(iterate.done)}; it must be True or False.")
        if not isinstance(iterate.info, Mapping):
            raise self._breach(f"yielded info={_printable(iterate.info)}; it must be a dict: names and values.")

    def _whole(self, iterate: Iterate, name: str, otherwise: Any) -> Any:
        """Return a count of an iterate; raise PluginError if it is no whole number."""
        value = getattr(iterate, name)
        if value is None:
            return otherwise
        if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or not 0 <= value < 2**63:
            raise self._breach(f"yielded {name}={_printable(value)}; it must be a whole number from 0 to 2^63 - 1.")
        return int(value)

    def _limit(self, seconds: float, cpu_seconds: float, evaluations: int, yields: int) -> _End | None:
        """Return the end of the run if a limit or the target is reached, else None."""
        limits = self.limits
        overtime, lost = self.clocks.overtime(seconds), 0.0
        if seconds + overtime >= self.most_seconds:
            lost = self.clocks.lost(seconds, cpu_seconds)
        self.excess = overtime - lost
        if seconds + self.excess >= self.most_seconds:
            reason = f"stopped at the time limit of {limits.time_limit:g} s"
            reason += f"; {overtime:.1f} s of it were compilation or work of the host" if overtime > 0.05 else ""
            reason += f"; {lost:.1f} s more, in which other work had the core, do not count" if lost > 0.05 else ""
            return Status.BUDGET, StoppedBy.TIME, reason
        if evaluations >= self.most_evaluations:
            over = f", at {evaluations:,}: the first yield beyond it" if evaluations > self.most_evaluations else ""
            reason = f"stopped at the budget of {self.most_evaluations:,} kernel evaluations{over}"
            return Status.BUDGET, StoppedBy.KERNEL_EVALUATIONS, reason
        if yields >= self.most_yields:
            return Status.BUDGET, StoppedBy.ITERATIONS, f"stopped at the budget of {limits.iteration_limit} iterations"
        if self.reached:
            return Status.OK, StoppedBy.TARGET, self.reached
        return None

    def _solver_end(self, last: Iterate, seconds: float, cpu_seconds: float) -> _End:
        """Return the end of a run that the host did not stop."""
        limits, evaluations = self.limits, self.problem.kernel.counter.evaluations
        if seconds > self.most_seconds and seconds - self.clocks.lost(seconds, cpu_seconds) > self.most_seconds:
            return Status.BUDGET, StoppedBy.TIME, f"finished, but after the time limit of {limits.time_limit:g} s"
        if evaluations > self.most_evaluations:
            spent = f"{evaluations:,} of at most {self.most_evaluations:,} kernel evaluations"
            reason = f"finished, but with {spent}: it yields too seldom to be stopped in time"
            return Status.BUDGET, StoppedBy.KERNEL_EVALUATIONS, reason
        if last.done:
            why = "" if limits.target_gap is None else why_target_ignored(type(self.solver))
            return Status.OK, StoppedBy.SOLVER, why
        return Status.UNFINISHED, StoppedBy.EXHAUSTED, str(clean(dict(last.info).get("stopped", NOT_DONE)))

    def _model(self, last: Iterate) -> Scored | None:
        """Return a validated copy of the last model if it is no dual solution; raise InvalidModel if it is invalid."""
        given = " and ".join(name for name in ("dual_coef", "weights", "free_coef") if getattr(last, name) is not None)
        fault = ""
        if last.extra_points is not None and last.free_coef is None:
            fault = "extra_points but no free_coef; free_coef holds the coefficients of the training points and the extra points."
        elif last.features is not None and given != "weights":
            fault = "features, but without weights or with dual_coef; give features and their weights, (m,), only."
        elif not given:
            fault = "neither dual_coef nor weights nor free_coef; one is needed."
        elif " and " in given:
            fault = f"{given}; give one of them only, dual_coef if it is feasible."
        if fault:
            raise self._breach(f"ended with {fault}", InvalidModel)
        if given == "weights":
            return Weights.checked(self.problem.kernel, last.weights, last.intercept, last.features)
        if given == "free_coef":
            return FreeModel.checked(self.problem.kernel, last.free_coef, last.extra_points, last.intercept)
        return None

    def outcome(self, last: Iterate, end: _End | None, seconds: float, cpu_seconds: float, yields: int) -> Outcome:
        """Return the outcome with a copy of the last model; ``end`` : the end if the host stopped the run."""
        self._check(last)
        info, info_cut = claims(last.info, *INFO)
        return Outcome(
            *(end or self._solver_end(last, seconds, cpu_seconds)),
            seconds=seconds,
            cpu_seconds=cpu_seconds,
            yields=yields,
            iterations=self._whole(last, "step", yields),
            dual_coef=None if last.dual_coef is None else np.array(last.dual_coef),
            intercept=last.intercept,
            model=self._model(last),
            working_set=self._whole(last, "working_set", None),
            claimed_done=bool(last.done),
            info=info,
            info_cut=info_cut,
            trace=self.trace,
        )


def _printable(value: Any) -> str:
    """Return an invalid value as one line of text, truncated for a message."""
    text = " ".join(str(clean(repr(value))).split())
    return text if len(text) <= _VALUE_CHARACTERS else f"{text[:_VALUE_CHARACTERS]} ..."
