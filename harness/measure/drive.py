"""Drive a solver: the clock runs only inside ``next()``, everything else is the host's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from time import perf_counter, process_time  # by name: what is patched later is not this clock
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.errors import HarnessError, InvalidModel, PluginError
from harness.measure.scored import CosineFeatures, FreeExpansion
from harness.measure.trace import TracePlan, claims, trace_point
from harness.plain import clean
from harness.problems.problem import Problem
from harness.run.record import INFO, Limits, Status, StoppedBy, TracePoint
from harness.solver import NOT_DONE, Iterate, Solver, untold

if TYPE_CHECKING:
    from harness.measure.trace import Metric

    Observer = Callable[[TracePoint], None]

_NEVER = float("inf")
_SHOWN = 40  # characters of a wrong value that a message repeats


def _shown(value: Any) -> str:
    """Return a wrong value on one line, cut to a length that leaves the message readable."""
    text = " ".join(str(clean(repr(value))).split())
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]} ..."


@dataclass
class Outcome:
    """What driving a solver gave: the last model, copied, and what it cost.

    status : ``ok`` (the solver's own rule, or the host's target), ``budget`` or ``unfinished`` (see `Status`)
    stopped_by : what ended it
    reason : why, in words, for people; empty where the solver's own rule ended it
    info, info_cut : what the solver says of itself, and whether it was more than is kept
    seconds, cpu_seconds : inside the solver
    iterations : the solver's own steps where it says them, else yields
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
    weights: Any
    free: FreeExpansion | None
    features: CosineFeatures | None
    working_set: int | None
    claimed_done: bool
    info: dict[str, Any]
    trace: list[TracePoint] = field(default_factory=list)
    info_cut: bool = False


def drive(
    solver: Solver,
    problem: Problem,
    rng: np.random.Generator,
    limits: Limits | None = None,
    plan: TracePlan | None = None,
    *,
    observer: Observer | None = None,
    metric: Metric | None = None,
    plain: Problem | None = None,
    stopped: Callable[[], None] = lambda: None,
    clock: Callable[[], float] = perf_counter,
    cpu_clock: Callable[[], float] = process_time,
    overtime: Callable[[float], float] = lambda _: 0.0,
) -> Outcome:
    """Run ``solver`` on ``problem`` until it is done or one of ``limits`` is reached.

    Parameters
    ----------
    plan : when trace points are due; None: no trace (a target gap needs one)
    observer : called with each trace point as it is taken, so that a killed run leaves its trace
    metric : (dual_coef, intercept) -> test accuracy, for trace points
    plain : the same problem over a kernel that counts nothing, for certificates of trace points; None: ``problem``
    stopped : called when the last model is copied, before the solver's generator is closed
    overtime : (seconds inside the solver) -> seconds beside them that count as spent of the time limit

    Raises
    ------
    PluginError : the generator yields something that is no :class:`Iterate`, or nothing at all.
    Whatever the solver raises passes through.
    """
    driven = _Drive(solver, problem, limits or Limits(), plan, observer, metric, plain, clock, cpu_clock, overtime)
    return driven.run(rng, stopped)


def outcome_of(
    solver: Solver, problem: Problem, last: Iterate, seconds: float, cpu_seconds: float, yields: int
) -> Outcome:
    """Return the outcome of a solver whose iterates somebody else drove, up to ``last``; raises as :func:`drive` does."""
    stopped = StoppedBy.SOLVER if last.done else StoppedBy.EXHAUSTED
    return _Drive(solver, problem).outcome(last, stopped, seconds, cpu_seconds, yields)


@dataclass
class _Drive:
    """The state of one drive.

    reached : the target, by the certificate of the last trace point
    due : series of trace points -> where its next one is due
    """

    solver: Solver
    problem: Problem
    limits: Limits = field(default_factory=Limits)
    plan: TracePlan | None = None
    observer: Observer | None = None
    metric: Metric | None = None
    plain: Problem | None = None
    clock: Callable[[], float] = perf_counter
    cpu_clock: Callable[[], float] = process_time
    overtime: Callable[[float], float] = lambda _: 0.0
    trace: list[TracePoint] = field(default_factory=list)
    reached: bool = False
    cpu_began: float = 0.0
    host_cpu: float = 0.0
    beside: float = 0.0  # of the time limit, not inside the solver

    def __post_init__(self) -> None:
        self.queries = bool(self.plan) and self.problem.queries_targets
        self.due = {series: self.plan.next(series, 0.0) if self.plan else _NEVER for series in TracePlan.SERIES}
        limits = (self.limits.seconds, self.limits.kernel_evaluations, self.limits.iterations)
        self.most_seconds, self.most_evaluations, self.most_yields = (_NEVER if m is None else m for m in limits)

    def run(self, rng: np.random.Generator, at_end: Callable[[], None]) -> Outcome:
        solver, problem, clock = self.solver, self.problem, self.clock
        counter, queries = problem.kernel.counter, self.queries
        due_seconds, due_evaluations, due_queried = self._due()
        seconds, yields, last = 0.0, 0, None
        stopped: StoppedBy | None = None
        self.cpu_began = self.cpu_clock()
        began = clock()
        iterates = solver.iterates(problem, rng)
        if not isinstance(iterates, Iterable):
            raise self._breach(f"returned {type(iterates).__name__} from iterates; it must yield its models.")
        advance = iter(iterates).__next__
        try:
            while True:
                try:
                    last = advance()
                except StopIteration:
                    seconds += clock() - began
                    stopped = StoppedBy.EXHAUSTED
                    break
                seconds += clock() - began
                yields += 1
                if type(last) is not Iterate and not isinstance(last, Iterate):
                    raise self._breach(f"yielded {type(last).__name__}; a solver yields harness.Iterate.")
                if last.done:
                    stopped = StoppedBy.SOLVER
                    break
                if (
                    seconds >= due_seconds
                    or counter.evaluations >= due_evaluations
                    or yields >= self.most_yields
                    or (queries and len(problem.queried) >= due_queried)
                ):
                    stopped = self._slow_path(last, seconds, yields)
                    if stopped is not None:
                        break
                    due_seconds, due_evaluations, due_queried = self._due()
                began = clock()
            cpu_seconds = self._inside(self.cpu_clock())
            if last is None:
                raise self._breach("ended without yielding a model; it must yield at least one Iterate.")
            # copied before the generator is closed: its arrays are its own, and it may clear them
            assert stopped is not None
            outcome = self.outcome(last, stopped, seconds, cpu_seconds, yields)
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
        """Return the seconds, evaluations and queried targets at which the host must look again."""
        seconds = min(self.due["seconds"], self.most_seconds - self.beside)
        return seconds, min(self.due["kernel_evaluations"], self.most_evaluations), self.due["queried"]

    def _slow_path(self, last: Iterate, seconds: float, yields: int) -> StoppedBy | None:
        """Take the trace points that are due; return what stops the run, if anything does."""
        cpu_now = self.cpu_clock()
        evaluations = self.problem.kernel.counter.evaluations
        reached = {"queried": len(self.problem.queried), "seconds": seconds, "kernel_evaluations": evaluations}
        series = next((name for name in TracePlan.SERIES if reached[name] >= self.due[name]), None)
        if self.plan is not None and series is not None:
            self._take(last, seconds, self._inside(cpu_now), yields, series)
            self.due = {name: self.plan.next(name, float(value)) for name, value in reached.items()}
        stopped = self._spent(seconds, evaluations, yields)
        self.host_cpu += self.cpu_clock() - cpu_now
        return stopped

    def _inside(self, cpu_now: float) -> float:
        """Return the CPU seconds inside the solver when the clock shows ``cpu_now``."""
        return max(0.0, cpu_now - self.cpu_began - self.host_cpu)

    def _spent(self, seconds: float, evaluations: int, yields: int) -> StoppedBy | None:
        self.beside = self.overtime(seconds)
        if seconds + self.beside >= self.most_seconds:
            return StoppedBy.TIME
        if evaluations >= self.most_evaluations:
            return StoppedBy.KERNEL_EVALUATIONS
        if yields >= self.most_yields:
            return StoppedBy.ITERATIONS
        return StoppedBy.TARGET if self.limits.target_gap is not None and self.reached else None

    def _take(self, iterate: Iterate, seconds: float, cpu_seconds: float, yields: int, series: str) -> None:
        assert self.plan is not None
        self._check(iterate)
        point = trace_point(
            self.problem,
            iterate,
            seconds=seconds,
            cpu_seconds=cpu_seconds,
            iteration=self._whole(iterate, "step", yields),
            reason=series,
            plan=self.plan,
            observable=self.solver.observable,
            metric=self.metric,
            target=self.limits.target_gap,
            plain=self.plain,
        )
        self.reached = point.reached
        self.trace.append(point)
        if self.observer is not None:
            self.observer(point)

    def _check(self, iterate: Iterate) -> None:
        """Raise a ``PluginError`` for a ``done`` that is no truth value, or an ``info`` that is no mapping."""
        if not isinstance(iterate.done, (bool, np.bool_, int, np.integer)):
            raise self._breach(f"yielded done={_shown(iterate.done)}; it must be True or False.")
        if not isinstance(iterate.info, Mapping):
            raise self._breach(f"yielded info={_shown(iterate.info)}; it must be a dict: names and values.")

    def _whole(self, iterate: Iterate, name: str, otherwise: Any) -> Any:
        """Return a count that the solver tells; a ``PluginError`` if it is none."""
        value = getattr(iterate, name)
        if value is None:
            return otherwise
        if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or not 0 <= value < 2**63:
            raise self._breach(f"yielded {name}={_shown(value)}; it must be a whole number from 0 to 2^63 - 1.")
        return int(value)

    def _judged(self, last: Iterate, stopped: StoppedBy, seconds: float) -> tuple[Status, StoppedBy, str]:
        """Return status, cause and reason of what ended the iterates."""
        limits, evaluations = self.limits, self.problem.kernel.counter.evaluations
        late = stopped in (StoppedBy.SOLVER, StoppedBy.EXHAUSTED)
        if late and seconds > self.most_seconds:
            return Status.BUDGET, StoppedBy.TIME, f"finished, but after the time limit of {limits.seconds:g} s"
        if late and evaluations > self.most_evaluations:
            stopped = StoppedBy.KERNEL_EVALUATIONS
            spent = f"{evaluations:,} of at most {limits.kernel_evaluations:,} kernel evaluations"
            return Status.BUDGET, stopped, f"finished, but with {spent}: it yields too seldom to be stopped in time"
        if stopped is StoppedBy.SOLVER:
            return Status.OK, stopped, "" if limits.target_gap is None else untold(type(self.solver))
        if stopped is StoppedBy.EXHAUSTED:
            evidence = dict(last.info).get("stopped", NOT_DONE)
            return Status.UNFINISHED, stopped, str(clean(evidence))
        if stopped is StoppedBy.TARGET:
            return Status.OK, stopped, f"stopped by the host at the target gap of {limits.target_gap:g}"
        if stopped is StoppedBy.TIME:
            beside = (
                f"; {self.beside:.1f} s of it were compilation or the host's own work" if self.beside > 0.05 else ""
            )
            return Status.BUDGET, stopped, f"stopped at the time limit of {limits.seconds:g} s{beside}"
        if stopped is StoppedBy.ITERATIONS:
            return Status.BUDGET, stopped, f"stopped at the budget of {limits.iterations} iterations"
        allowed = limits.kernel_evaluations or 0
        over = f", at {evaluations:,}: the first yield beyond it" if evaluations > allowed else ""
        return Status.BUDGET, stopped, f"stopped at the budget of {allowed:,} kernel evaluations{over}"

    def _free(self, last: Iterate) -> FreeExpansion | None:
        """Return the last model if it is an expansion that is no dual solution, copied; an ``InvalidModel`` if it is none."""
        if last.free_coef is None:
            if last.extra_points is None:
                return None
            told = "extra_points but no free_coef; free_coef holds the coefficients of the training points and the extra points."
            raise self._breach(f"ended with {told}", InvalidModel)
        if last.dual_coef is not None or last.weights is not None:
            told = "dual_coef or weights; give one of them only, dual_coef if it is feasible."
            raise self._breach(f"ended with free_coef beside {told}", InvalidModel)
        return FreeExpansion.checked(self.problem.kernel, last.free_coef, last.extra_points, last.intercept)

    def _features(self, last: Iterate) -> CosineFeatures | None:
        """Return what the weights of the last model are of, copied; None: the data's own features."""
        if last.features is None:
            return None
        if last.weights is None or last.dual_coef is not None:
            told = "features, but without weights or with dual_coef; give features and their weights, (m,), only."
            raise self._breach(f"ended with {told}", InvalidModel)
        return CosineFeatures.checked(self.problem.kernel, last.features)

    def outcome(self, last: Iterate, stopped: StoppedBy, seconds: float, cpu_seconds: float, yields: int) -> Outcome:
        """Return what the solver ended with, its last model copied."""
        self._check(last)
        status, stopped, reason = self._judged(last, stopped, seconds)
        coef = None if last.dual_coef is None else np.array(last.dual_coef)
        weights = None if last.weights is None else np.array(last.weights)
        free = self._free(last)
        if coef is None and weights is None and free is None:
            told = "ended with neither dual_coef nor weights nor free_coef; one is needed."
            raise self._breach(told, InvalidModel)
        info, info_cut = claims(last.info, *INFO)
        return Outcome(
            status=status,
            stopped_by=stopped,
            reason=reason,
            seconds=seconds,
            cpu_seconds=cpu_seconds,
            yields=yields,
            iterations=self._whole(last, "step", yields),
            dual_coef=coef,
            intercept=last.intercept,
            weights=weights,
            free=free,
            features=self._features(last),
            working_set=self._whole(last, "working_set", None),
            claimed_done=bool(last.done),
            info=info,
            trace=self.trace,
            info_cut=info_cut,
        )
