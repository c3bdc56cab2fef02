"""One run in the process of its solver: drive the solver along the problem, or the path of problems, and claim the outcome.

The worker looks at the claims (watch.py), and the certifier at the model.
"""

from __future__ import annotations

import math
import re
import resource
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from time import monotonic, process_time, thread_time
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from harness.kernels.counter import Counter
from harness.kernels.points import is_mapped, sum_of_words
from harness.measure.compilation import CompilationWatch
from harness.measure.drive import Clocks, Outcome, drive
from harness.measure.outcome import INFO, DualBound, Limits, Status, StoppedBy, TracePoint
from harness.measure.path_drive import drive_path
from harness.measure.trace import TracePlan
from harness.problems.problem import Problem
from harness.problems.summary import ProblemSummary
from harness.run import allowed, messages
from harness.run.dependencies import CodeWatch
from harness.run.messages import Emit, Model, Phase, PhaseBegan
from harness.run.problem_factory import ProblemFactory
from harness.run.record import MEASURED_AGAIN, Claims
from harness.run.target_server import TargetClient, TargetServer
from harness.run.warm_up import State, WarmUp, warm_up
from harness.solver.path import SolutionPath
from harness.support.errors import DataChanged, InvalidKernel, InvalidModel
from harness.support.faults import format_error, is_environment, is_out_of_memory, output_of, text
from harness.support.machine import load_average, now
from harness.support.printable import clean, clipped
from harness.support.processes import below, delay_seconds, memory_figures, private_bytes, reset_peak_memory

if TYPE_CHECKING:
    from harness.run.messages import RunSpec
    from harness.solver.protocol import Solver

_COMPILED_SECONDS = 0.1  # seconds of compilation in a measured run up to which no sentence is due ...
_COMPILED_SHARE = 0.1  # ... nor up to this fraction of the fit's seconds
_UNEXPLAINED_SECONDS = 0.05  # CPU seconds off the clock up to which a run is valid ...
_UNEXPLAINED_SHARE = 0.1  # ... and up to this fraction of its CPU seconds
_SHORT_SECONDS = 0.5  # seconds of a fit up to which it is repeated ...
_REPEATED_SECONDS = 0.1  # ... until the later fits took so many seconds together ...
_MOST_REPEATED = 15  # ... or are so many
_MEMORY_SHARE = 0.4  # fraction of its memory limit up to which a run is repeated
_REPEATABLE = (Status.OK, Status.BUDGET, Status.UNFINISHED)
_READ_ONLY = re.compile("read-?only")  # what NumPy and Numba say of an array
_COPY = "what the problem hands out is read-only: copy it first, row = problem.kernel.row(i).copy()"


@dataclass
class ChildRun:
    """A run as its worker prepares it, and as a child of the worker carries it out.

    compilation, code : the watches over the compiler and over code that a plugin uses, which the worker installed
    largest : most bytes of a message of the child
    only_warm_up : whether the child ends behind the warm-up
    counts : yields, iterations and kernel evaluations of the first fit; empty of a path
    bound : a certified dual value of the problem, for models that have none
    """

    spec: RunSpec
    solver: Solver
    factory: ProblemFactory
    compilation: CompilationWatch
    code: CodeWatch
    server: TargetServer
    warm_up: WarmUp
    largest: int
    only_warm_up: bool = False
    counts: tuple[int | None, ...] = ()
    bound: DualBound | None = None

    def body(self, emit: Emit, receive: messages.Receive) -> None:
        """Measure the run in the process of its solver."""
        spec, factory, compilation, warm = self.spec, self.factory, self.compilation, messages.Warm(0.0)
        clocks, limit = (compilation.clock, compilation.cpu_clock), spec.limits.time_limit
        factory.client.connect(emit, receive)
        limit_memory(spec.limits.memory_limit)
        compilation.on_change = lambda on: emit(messages.Compiling(on))  # a time limit counts no compilation
        if self.warm_up.state is not State.FAILED:
            # also in a child of a warm parent: its first touch of inherited pages is no work of the solver's
            warm = warm_up(self.solver, factory.small(spec, clocks), limit, compilation.clock)
        emit(msgspec.structs.replace(warm, sources=factory.registry.sources()))
        if self.only_warm_up:
            undeclared = self.code.undeclared(spec.depends_on, factory.registry)
            emit(messages.RunResult(Claims(undeclared=undeclared)))
            return
        problem, path = factory.problem(spec.first), factory.path(spec, clocks) if spec.path else None
        claims, model = self._measure(problem, path, emit)
        if self._is_short(claims):
            emit(PhaseBegan(Phase.REPEAT))
            self._repeat(claims, model)
        limit_memory(None)  # what is left is the host's own work
        claims.sources = factory.registry.sources()
        claims.undeclared = self.code.undeclared(spec.depends_on, factory.registry)
        sample = factory.kernel_sample(spec)
        emit(messages.RunResult(claims, messages.ToCertify(model, kernel_sample=sample)))

    def _measure(self, problem: Problem, path: SolutionPath | None, emit: Emit) -> tuple[Claims, bytes]:
        """Drive the solver; return the claims of its process, and the model. Never raises for a fault of the solver.

        path : the problems to go through, in the place of ``problem``
        emit : called as the fit begins and ends, and with every `Point`, a trace point or a finished cell, outside the clock
        """
        spec, solver, compilation = self.spec, self.solver, self.compilation
        faults: list[str] = []
        problem, plain = problem.counted(spec.cache_mb), problem
        summary = ProblemSummary.of(problem if path is None else path.problem(path.cells[0]))
        refused = refusal(solver, summary, faults, spec.plugin)
        if refused is not None:
            return Claims(status=Status.SKIPPED, reason=refused, measured_at=now()), b""
        load = load_average()
        before, model = _checksums(problem, plain, path), b""
        switches, compiled = resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw, compilation.seconds
        reset_peak_memory()
        emit(PhaseBegan(Phase.FIT))
        clocks = _Clocks(compilation, self.factory.client, spec.limits.time_limit, spec.threads)
        try:
            if path is None:
                outcome = _drive(self, problem, plain, clocks, emit)
                claims, self.counts = _claims(outcome), self._counts(outcome, problem)
                _add_counts(claims, solver, problem.kernel.counter)
                form = "dual_coef" if outcome.model is None else outcome.model.form
                if form != solver.model_form:
                    faults.append(
                        f"it yields {form}, and its class has model_form = '{solver.model_form}'; write model_form = "
                        f"'{form}', by which the host knows whether it needs the dual of another run"
                    )
                if outcome.info_cut:
                    faults.append(f"info was cut to {INFO[0]:,} entries and {INFO[1]:,} characters, 4,000 of a text")
                model = _packed_model(outcome, problem)
            else:
                claims = _drive_path(spec, solver, path, clocks, emit)
        except BaseException as error:  # whatever a plugin raises, sys.exit() and KeyboardInterrupt included
            claims = failure_claims(error, spec.plugin)
        after = _checksums(problem, plain, path)
        if changed := [name for name in {**before, **after} if before.get(name) != after.get(name)]:
            what = f"{', '.join(changed)} differ from what it was given"
            claims.status, claims.reason = Status.INVALID, f"solver '{solver.name}' changed its problem: {what}"
        claims.compile_seconds = compiled = compilation.seconds - compiled
        if compiled > max(_COMPILED_SECONDS, _COMPILED_SHARE * (claims.fit_seconds or math.inf)):
            faults.append(f"compiled {compiled:.1f} s inside the measured run; compile in warm_ups()")
        claims.unexplained_cpu_seconds = unexplained = max(0.0, clocks.unexplained)
        if unexplained > max(_UNEXPLAINED_SECONDS, _UNEXPLAINED_SHARE * (claims.cpu_seconds or math.inf)):
            claims.status, claims.stopped_by = Status.INVALID, StoppedBy.FAULT
            claims.reason = (
                f"{unexplained:.2f} s of CPU time were used while the clock stood still, by threads that the "
                "solver had at a yield: wait for them before the yield"
            )
        claims.load_average, claims.faults, claims.measured_at = load, faults, now()
        claims.involuntary_switches = resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw - switches
        return claims, model

    def _is_short(self, claims: Claims) -> bool:
        """Return whether a fit was so short that what the first one in a process takes more, for memory above all, counts."""
        limit = self.spec.limits.memory_limit or math.inf
        others = resource.getrusage(resource.RUSAGE_CHILDREN)
        return (
            any(self.counts[:1])  # it yielded, and is no path
            and claims.status in _REPEATABLE
            and claims.stopped_by is not StoppedBy.TIME
            and not self.spec.queries_targets
            and (claims.fit_seconds or 0.0) < _SHORT_SECONDS
            and private_bytes(memory_figures()) < _MEMORY_SHARE * limit
            and others.ru_utime + others.ru_stime == 0.0
            and not below("self")
        )

    def _repeat(self, claims: Claims, model: bytes) -> None:
        """Fit the problem again, each time stated anew, and claim the median seconds of these later fits.

        A solver whose later fits are not the first one's remembers that one: its run is invalid.
        """
        spec, solver, seconds, cpu_seconds = self.spec, self.solver, list[float](), list[float]()
        limits = Limits(time_limit=spec.limits.time_limit, iteration_limit=self.counts[0])
        try:
            until = monotonic() + _SHORT_SECONDS  # to state the problem and to close a solver take time too
            while sum(seconds) < _REPEATED_SECONDS and len(seconds) < _MOST_REPEATED and monotonic() < until:
                plain = self.factory.problem(spec.first)
                problem = plain.counted(spec.cache_mb)
                clocks = _Clocks(self.compilation, self.factory.client, limits.time_limit, spec.threads)
                rng = np.random.default_rng(spec.seed)
                outcome = drive(solver, problem, rng, limits, plain=plain, clocks=clocks)
                if outcome.stopped_by is StoppedBy.TIME:
                    break
                counts = self._counts(outcome, problem)
                # sums of several threads may differ in their last digits, so their models are not compared
                is_other_model = spec.threads == 1 and _packed_model(outcome, problem) != model
                if counts != self.counts or is_other_model:
                    claims.status, claims.stopped_by = Status.INVALID, StoppedBy.FAULT
                    claims.reason = (
                        f"a later fit of the same problem has another model or other counts of yields, iterations and kernel "
                        f"evaluations ({counts}, before {self.counts}): solver '{solver.name}' remembers the first fit, or its "
                        "random numbers are not those of rng"
                    )
                    return
                seconds.append(outcome.seconds)
                cpu_seconds.append(outcome.cpu_seconds)
        except BaseException as error:  # whatever a plugin raises, sys.exit() and KeyboardInterrupt included
            failed = failure_claims(error, spec.plugin)
            claims.status, claims.stopped_by, claims.output = failed.status, failed.stopped_by, failed.output
            claims.reason = f"a later fit of the same problem failed: {failed.reason}"
            return
        if seconds:
            claims.steady_fit_seconds, claims.steady_cpu_seconds = median(seconds), median(cpu_seconds)
            claims.fits = 1 + len(seconds)

    def _counts(self, outcome: Outcome, problem: Problem) -> tuple[int | None, ...]:
        evaluations = problem.kernel.counter.evaluations if self.solver.observable else None
        return outcome.yields, outcome.iterations, evaluations


def limit_memory(limit: int | None) -> None:
    """Bound this process's private data so that its memory can grow to ``limit`` bytes; None: lift the bound.

    Private data are anonymous memory, touched or not, and private mappings of files that may be written to.
    """
    bound = hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    if limit is not None:
        figures = memory_figures()
        bound = figures.get("VmData", 0) + max(0, limit - private_bytes(figures))
        bound = bound if hard == resource.RLIM_INFINITY else min(bound, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (bound, hard))


class _Clocks(Clocks):
    """The clocks of a measured run. They stand still while something compiles, and while targets are queried."""

    def __init__(self, compilation: CompilationWatch, client: TargetClient, limit: float | None, threads: int) -> None:
        self.wall, self.cpu = compilation.clock, compilation.cpu_clock
        self.client, self.limit, self.threads = client, limit, threads
        self.began, self.delay_before = monotonic(), delay_seconds()

    def beside(self, seconds: float) -> float:
        """Return the seconds of the run that were not those inside the solver."""
        return monotonic() - self.began - seconds

    def others(self) -> float:
        """Return the CPU seconds of the threads of this process but this one; of several the host's own work has some too."""
        return process_time() - thread_time() if self.threads == 1 else 0.0

    def lost(self, seconds: float, cpu_seconds: float) -> float:
        """Return how much of the seconds inside the solver other work took; it does not count to the time limit."""
        delay = delay_seconds() - self.delay_before + sum(delay_seconds(each.pid) for each in below("self"))
        return allowed.lost(self.limit, self.threads, delay, seconds, cpu_seconds)

    def overtime(self, seconds: float) -> float:
        """Return the seconds beside those inside the solver that count to the time limit."""
        queries = self.client.seconds
        return 0.0 if self.limit is None else allowed.overtime(self.limit, self.beside(seconds) - queries, queries)


def _drive(run: ChildRun, problem: Problem, plain: Problem, clocks: _Clocks, emit: Emit) -> Outcome:
    """Drive the solver on one problem, and send each trace point as it is taken."""

    def observe(point: TracePoint, model: Any) -> None:
        packed = Model.of(model).packed() if model else b""
        emit(messages.Point(point, clocks.beside(point.seconds), packed))

    return drive(
        run.solver, problem, np.random.default_rng(run.spec.seed), run.spec.limits, TracePlan(),
        plain=plain, bound=run.bound, observer=observe, stopped=lambda: emit(PhaseBegan(Phase.END)), clocks=clocks,
    )  # fmt: skip


def _drive_path(spec: RunSpec, solver: Solver, path: SolutionPath, clocks: _Clocks, emit: Emit) -> Claims:
    """Drive the solver along a path, and send each cell as it is finished; return how it ended, and its costs."""
    stopped_by: StoppedBy | None = None
    finished: list[Claims] = []
    seconds = cpu_seconds = 0.0
    for cell in drive_path(solver, path, spec.seed, spec.limits, clocks):
        if isinstance(cell, StoppedBy):
            stopped_by = cell
            break
        claims, model, shared = _claims(cell.outcome), b"", path.shared
        if solver.observable:
            claims.kernel_evaluations, claims.cache_hits = cell.evaluations, cell.cache_hits
        seconds, cpu_seconds = seconds + cell.outcome.seconds, cpu_seconds + cell.outcome.cpu_seconds
        try:
            model = _packed_model(cell.outcome, path.problem(cell.cell))
        except InvalidModel as error:
            claims.status, claims.stopped_by, claims.reason = Status.INVALID, StoppedBy.FAULT, str(error)
        beside = clocks.beside(seconds + shared.seconds)
        emit(messages.FinishedCell(cell.cell.index, claims, shared.seconds, shared.cpu_seconds, beside, model))
        claims.info = None
        finished.append(claims)
    emit(PhaseBegan(Phase.END))
    total = _path_ending(spec.limits, finished, len(path.cells), stopped_by)
    total.fit_seconds = seconds + path.shared.seconds
    total.cpu_seconds = cpu_seconds + path.shared.cpu_seconds
    total.iterations = sum(each.iterations or 0 for each in finished)
    _add_counts(total, solver, path.counter)
    return total


def _path_ending(limits: Limits, finished: Sequence[Claims], cells: int, stopped_by: StoppedBy | None) -> Claims:
    """Return status, cause and reason of a path that was solved to its end, or stopped."""
    done = f"{len(finished)} of {cells} cells were finished"
    if stopped_by is not None:
        limit = f"budget of {limits.kernel_evaluation_limit or 0:,} kernel evaluations"
        if stopped_by is StoppedBy.TIME:
            limit = f"time limit of {limits.time_limit:g} s"
        return Claims(status=Status.BUDGET, stopped_by=stopped_by, reason=f"stopped at the {limit}; {done}")
    unfinished = sum(each.status is not Status.OK for each in finished)
    if len(finished) == cells and not unfinished:
        return Claims(status=Status.OK, stopped_by=StoppedBy.SOLVER, reason="", claimed_done=True)
    reason = f"{done}, {unfinished} of them ended without being done"
    return Claims(status=Status.UNFINISHED, stopped_by=StoppedBy.EXHAUSTED, reason=reason)


def _claims(outcome: Outcome) -> Claims:
    """Return how the solving of a problem ended, and its costs."""
    return Claims(
        status=outcome.status, stopped_by=outcome.stopped_by, reason=outcome.reason, claimed_done=outcome.claimed_done,
        fit_seconds=outcome.seconds, cpu_seconds=outcome.cpu_seconds, iterations=outcome.iterations,
        working_set_size=outcome.working_set, info=outcome.info,
    )  # fmt: skip


def _add_counts(claims: Claims, solver: Solver, counter: Counter) -> None:
    """Add the figures of a counter; nothing is known of kernels that the solver computes itself."""
    if solver.observable:
        claims.kernel_evaluations, claims.cache_hits = counter.evaluations, counter.cache_hits
        claims.evaluations_at_least, claims.cache_misses = counter.evaluations_at_least, counter.cache_misses
        claims.cache_needed_mb = counter.cache_needed_bytes / 2**20 if counter.cache_misses else None
    claims.oracle_calls, claims.oracle_kernel_evaluations = counter.oracle_calls, counter.oracle_evaluations


def refusal(solver: Solver, problem: ProblemSummary, faults: list[str], plugin: str) -> str | None:
    """Return a sentence why the solver does not take a problem; a ``skip()`` that fails costs its own answer alone."""
    try:
        reason = solver.skip(problem)
    except Exception as error:
        faults.append(f"skip() failed: {format_error(error, plugin)}; the run was carried out")
        return None
    if reason is None or (isinstance(reason, str) and reason):
        return reason
    return f"{solver.name}'s skip() returned {clipped(str(clean(reason)), 80)}; it must return a sentence that says why, or None"


def failure_claims(error: BaseException, plugin: str) -> Claims:
    """Return status, cause and reason of what a solver of a plugin, a data source, or the machine under it raised."""
    status, stopped_by, reason = Status.ERROR, StoppedBy.FAULT, format_error(error, plugin)
    if is_out_of_memory(error):
        status, stopped_by, reason = Status.MEMORY, StoppedBy.MEMORY, f"out of memory: {reason}"
    elif isinstance(error, (InvalidModel, InvalidKernel)):
        return Claims(status=Status.INVALID, stopped_by=stopped_by, reason=text(error), measured_at=now())
    elif isinstance(error, SystemExit):
        status, reason = Status.CRASHED, f"the solver called sys.exit({clean(error.code)!r})"
    elif is_environment(error):
        what = str(error) if isinstance(error, DataChanged) else f"the machine's fault, not the solver's: {reason}"
        status, reason = Status.ENVIRONMENT, f"{what.rstrip('.')}; {MEASURED_AGAIN}"
    elif _READ_ONLY.search(reason):
        reason = f"{reason}; {_COPY}"
    output = output_of(error) or None
    return Claims(status=status, stopped_by=stopped_by, reason=reason, output=output, measured_at=now())


def _checksums(problem: Problem, plain: Problem, path: SolutionPath | None) -> dict[str, str]:
    """Return checksums of all that the problem is; of the points a sum of their words: fast, and enough for a slip.

    plain : the same problem over the engine, which notes nothing where its points are taken
    """
    if path is not None:
        return {"points": path.checksum()}
    points, checksums = plain.kernel.points, problem.contents()
    if not is_mapped(points):
        checksums["points"] = sum_of_words(points)
    return checksums


def _packed_model(outcome: Outcome, problem: Problem) -> bytes:
    """Return the model as numbers; the certifier looks at it again.

    Raises
    ------
    InvalidModel : it is none of the problem's.
    """
    model = problem.checked(outcome.dual_coef, outcome.intercept) if outcome.model is None else outcome.model
    return Model.of(model).packed()
