"""The warm worker: one process for each solver, which forks one child a run.

It imports the plugins and numba once, loads the data, and runs a warm-up itself once a run behind it went well, now or in an
earlier comparison of the same code (:mod:`harness.run.warm_up`): its children have the machine code in memory.
Forked from the template, or started as ``python -m harness.run.descendants harness.run.worker FD``; FD is its end of the
driver's socket pair.
"""

from __future__ import annotations

import contextlib
import gc
import os
import sys
from pathlib import Path
from time import monotonic  # by name: what a solver patches later is not this clock
from typing import TYPE_CHECKING, Any, NamedTuple

from harness.measure.compilation import CompilationWatch
from harness.measure.outcome import Status, StoppedBy
from harness.measure.scored import room_for_own_points
from harness.run import allowed, messages
from harness.run.channel import Channel
from harness.run.child import ProblemFactory, is_environment, measure, of_environment
from harness.run.descendants import Descendants
from harness.run.folder import Folder
from harness.run.record import Claims
from harness.run.target_server import TargetServer
from harness.run.warm_up import State, WarmUp, layout, small_problem, warm_up
from harness.run.watch import DriverGone, Observed, finish, fork, limit_memory, verdict, watch, why_lost
from harness.support import faults
from harness.support.errors import InvalidKernel
from harness.support.machine import constraints, now

if TYPE_CHECKING:
    from harness.registry.discovery import Registry
    from harness.run.plan import RunSpec

_BUSY_AHEAD = 2.0  # seconds before the next message is due that a run which goes on sends one
_ENDING = 10.0  # seconds that the host may need, after a phase, to end a run's processes and to send the result
_WENT_WELL = (Status.OK, Status.BUDGET, Status.UNFINISHED)
_MESSAGE_BYTES = (
    33 << 20
)  # of a child's message, beside 16 a point and the model's own points, which have coefficients too


class _Run(NamedTuple):
    """A run that is about to be measured; its problem is not among it: a warm-up comes before.

    largest : most bytes of a message of its child
    """

    spec: RunSpec
    solver: Any
    server: TargetServer
    warm_up: WarmUp
    largest: int


class Worker:
    """Serves run requests until the driver closes the socket.

    warm_ups : by configuration of the solver and layout of the data
    """

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self.warm_ups: dict[tuple[str, str], WarmUp] = {}
        self.bench: Any = None
        self.folder: Folder | None = None
        self.descendants = Descendants()
        self.compilation = CompilationWatch()
        self._constraints: dict[str, Any] = {}  # of this process, after code of its own plugin ran in it
        self._until = 0.0  # when the driver expects the next message
        self._compiles = False  # before the first run

    def serve(self) -> None:
        """Answer requests one after another."""
        for request in self.channel:
            if isinstance(request, messages.Prepare):
                self._prepare(request.spec)
                self.channel.send(messages.Prepared())
            else:
                self._answer(request.spec, request.warm_worker)

    def _prepare(self, spec: RunSpec) -> None:
        """Have at hand what a run needs; a child compiles machine code that is not on the disk yet."""
        try:
            run = self._planned(spec, warm_worker=True)
        except Exception:  # the run itself will say what is wrong
            return
        if run.warm_up.must_compile:
            assert self.folder is not None
            self._until, self._compiles = 0.0, True
            self.folder.new()
            self.descendants.begin()
            run.warm_up.compiled(self._run_child(run, only_compile=True)[0].warm_up_seconds or 0.0)
            self._compiles = False
            self.folder.empty()

    def _planned(self, spec: RunSpec, *, warm_worker: bool) -> _Run:
        """Return a run with what it needs; errors are those of a plugin or a data source."""
        self._load(spec)
        self.folder = self.folder or Folder()
        solver = self.bench.solver(spec)  # its code runs before the problem is stated
        of_data, largest = self._sizes(spec)
        kind = (f"{spec.solver} {spec.parameters} {spec.limits.target_gap}", of_data)
        if kind not in self.warm_ups:
            self.warm_ups[kind] = WarmUp(self._mark(spec, kind))
        progress = self.warm_ups[kind]
        if warm_worker and progress.state is State.SAFE and spec.path is None:
            self._warm_worker(spec, solver, progress)
        server = TargetServer()
        if spec.queries_targets:
            server = TargetServer(self.bench.dataset(spec).y_train, self.bench.problem(spec).target_budget)
        self._constraints = constraints(os.getpid())
        return _Run(spec, solver, server, progress, largest)

    def _changed(self, *pids: int) -> str:
        """Return in words how what processes may do differs from what this one might when its run was planned."""
        before, found = self._constraints, dict[str, str]()
        for after in map(constraints, pids):
            for name, value in after.items():
                if value != before[name] and name != "RLIMIT_DATA":  # which the host sets
                    found[name] = f"{name} of its process is {value} and was {before[name]}"
        return "; ".join(found.values())

    def _sizes(self, spec: RunSpec) -> tuple[str, int]:
        """Return the layout of a run's data, and the most bytes of a message of its child."""
        problem = self.bench.problem(spec.first)
        points, room = max(problem.n, problem.kernel.n_features), 2 * room_for_own_points(problem.kernel)
        return layout(problem), _MESSAGE_BYTES + 16 * points + room

    def _mark(self, spec: RunSpec, kind: tuple[str, str]) -> Path | None:
        """Return the file that names the state of a warm-up to later comparisons; None: the plugin compiles nothing."""
        from harness.measure.machine_code import warm_up_mark

        file = self.bench.registry.plugins[spec.plugin].module.__file__
        return None if file is None else warm_up_mark(Path(file), f"{kind} {spec.threads}")

    def _answer(self, spec: RunSpec, warm_worker: bool) -> None:
        self._until = 0.0
        if self._constraints and self._changed(os.getpid()):
            sys.exit(0)  # somebody limited this process; the driver asks a fresh one
        try:
            run = self._planned(spec, warm_worker=warm_worker)
            assert self.folder is not None
            self.folder.new()
        except Exception as error:  # a plugin's or a data source's fault: a row, never the end of the worker
            if is_environment(error):
                status, reason = Status.ENVIRONMENT, of_environment(error)
            else:
                status = Status.INVALID if isinstance(error, InvalidKernel) else Status.ERROR
                reason = faults.format_error(error)
            claims = Claims(status=status, stopped_by=StoppedBy.FAULT, reason=reason, measured_at=now())
            self.channel.send(messages.RunResult(claims))
            return
        self.descendants.begin()
        seen, is_sent = self._run_child(run)
        is_lost = seen.phase == "warm-up" and not is_sent and seen.killed_for is not StoppedBy.FAULT
        if is_lost and run.warm_up.state is not State.FAILED:
            # what it does on a few points need not happen in the measured run
            run.warm_up.failed()
            self.folder.new()
            why = why_lost(seen)
            seen, is_sent = self._run_child(run, f"{spec.solver}: warm-up failed ({why}); measured without warm-up.")
        if not is_sent:
            self._send_result(seen, run)
        self.folder.empty()

    def _run_child(self, run: _Run, *faults: str, only_compile: bool = False) -> tuple[Observed, bool]:
        """Measure a run in a child; return what was seen of it, and whether its result was sent to the driver already."""
        assert self.folder is not None
        body = self._body(run, only_compile=only_compile)
        child, spec = fork(body, self.folder, self.channel, run.largest), run.spec
        seen = watch(
            child, self.descendants, spec.limits, threads=spec.threads, control=self.channel, server=run.server,
            busy=self._busy,
        )  # fmt: skip
        seen.faults += faults
        if seen.killed_for or seen.fitted is None or seen.fitted.claims.status not in _WENT_WELL:
            seen.constraints = self._changed(child.pid, os.getpid())
        is_sent = seen.fitted is not None and not seen.left_behind and not only_compile
        if is_sent:  # its process ends while its model is certified
            self._send_result(seen, run)
        else:
            self._busy(monotonic())
        finish(seen, child, self.descendants)
        return seen, is_sent

    def _send_result(self, seen: Observed, run: _Run) -> None:
        """Send what became of a run."""
        claims = verdict(seen, run.spec)
        claims.faults = [*(claims.faults or []), *seen.faults]
        is_alone = run.spec.threads == 1 and bool(run.solver.observable) and run.spec.path is None
        seconds = run.warm_up.run_ended(seen.warm_up_seconds, well=is_alone and claims.status in _WENT_WELL)
        if seconds is not None:
            claims.compile_seconds = seconds + (claims.compile_seconds or 0.0)
        self.channel.send(messages.RunResult(claims, seen.solved))

    def _busy(self, deadline: float) -> None:
        """Say by when the next message comes, when the time that was said is nearly so; ``deadline`` of what goes on."""
        if self._until - monotonic() < _BUSY_AHEAD and deadline + _ENDING > self._until:
            self._until = deadline + _ENDING
            self.channel.send(messages.Busy(min(self._until - monotonic(), 1e9), not self._compiles, self._compiles))

    def _load(self, spec: RunSpec) -> None:
        """Load the plugins that the run needs: another one costs it no time, and cannot disturb it."""
        from harness.registry.discovery import installed, load_registry, share_registry

        needed = {spec.plugin, *spec.trusted}
        registry = load_registry(spec.plugin_paths, needed) if self.bench is None else self.bench.registry
        if not needed <= registry.plugins.keys() | registry.broken.keys():
            registry.load_all(installed(), spec.plugin_paths, needed)
        if self.bench is None:
            from threadpoolctl import threadpool_limits

            # absolute, since a run is in a folder of its own when it asks
            paths = [str(Path(path).absolute()) for path in spec.plugin_paths]

            def everything() -> Registry:
                """Load the plugins that were not needed yet, for a solver that asks for what may be in them."""
                registry.load_all(installed(), paths)
                return registry

            share_registry(everything)
            self.bench = ProblemFactory(registry, for_solver=True)
            self.compilation.install()  # and imports numba, so that no child pays for it
            threadpool_limits(spec.threads)
        for plugin in registry.plugins.values():
            hash(plugin.fingerprint)  # of the source as it was loaded, and once for all children
        registry.used.clear()

    def _body(self, run: _Run, *, only_compile: bool) -> messages.Body:
        """Return what a child does to measure a run; ``only_compile``: it ends behind its warm-up."""
        spec, solver, bench, compilation = run.spec, run.solver, self.bench, self.compilation
        limits, clocks = spec.limits, (compilation.clock, compilation.cpu_clock)

        def body(emit: messages.Emit, receive: messages.Receive) -> None:
            bench.client.connect(emit, receive)
            limit_memory(limits.memory_limit)
            # a time limit counts no compilation
            compilation.on_change = lambda on: emit(messages.Compiling(on))
            seconds = 0.0
            if run.warm_up.state is not State.FAILED:
                # also in a child of a warm parent: its first touch of inherited pages is no work of the solver's
                small = small_problem(bench, spec, clocks)
                seconds = warm_up(solver, small, limits.time_limit, compilation.clock)
            emit(messages.Warm(seconds, bench.registry.sources()))
            if only_compile:
                emit(messages.FitResult(Claims()))
                return
            problem, path = bench.problem(spec.first), bench.path(spec, clocks) if spec.path else None
            fitted = measure(spec, solver, problem, emit, compilation=compilation, client=bench.client, path=path)
            limit_memory(None)  # what is left is the host's own work
            fitted.claims.sources = bench.registry.sources()
            emit(messages.FitResult(fitted.claims, fitted.model, bench.kernel_sample(spec)))

        gc.collect()
        gc.freeze()  # keeps the collector from touching, and so copying, the parent's pages
        return body

    def _warm_worker(self, spec: RunSpec, solver: Any, progress: WarmUp) -> None:
        """Warm this process up as a child of it did; it ends if that leaves threads, which a forked child would lack."""
        assert self.folder is not None
        limit = spec.limits.time_limit
        self.channel.send(messages.Busy(allowed.preparation(limit) + progress.seconds + _ENDING, running=False))
        threads = _own_threads()
        with self.folder.entered():
            small = small_problem(self.bench, spec)
            progress.worker_ran(warm_up(solver, small, limit, self.compilation.clock))
        if _own_threads() > threads:
            sys.exit(0)  # the driver asks a new worker


def _own_threads() -> int:
    return len(os.listdir("/proc/self/task"))


def main() -> None:
    """Serve the driver at the descriptor named on the command line."""
    worker = Worker(Channel.from_command_line(messages.ToProcess))
    try:
        with contextlib.suppress(ConnectionError, DriverGone):
            worker.serve()
    finally:
        worker.descendants.end()
        if worker.folder is not None:
            worker.folder.remove()
    os._exit(0)  # nothing is left to do, and the driver waits


if __name__ == "__main__":
    main()
