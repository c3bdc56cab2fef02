"""The warm worker: one process for each solver, which forks one child a run.

It imports the plugins and numba once, loads the data, and runs a warm-up itself once a child got through it, now or in an
earlier comparison of the same code (:mod:`harness.run.warm_up`): its children have the machine code in memory.
Forked from the template, or started as ``python -m harness.run.descendants harness.run.worker FD``; FD is its end of the
driver's socket pair.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import os
import sys
from dataclasses import replace
from itertools import starmap
from pathlib import Path
from time import monotonic  # by name: what a solver patches later is not this clock
from typing import TYPE_CHECKING, Any

from harness.measure.compilation import CompilationWatch
from harness.measure.outcome import FAILED
from harness.measure.scored import room_for_own_points
from harness.run import allowed, messages
from harness.run.channel import Busy, Channel, control_socket
from harness.run.child import ChildRun, failure_claims
from harness.run.dependencies import CodeWatch, code_of
from harness.run.descendants import Descendants, Folder
from harness.run.messages import Phase
from harness.run.problem_factory import ProblemFactory
from harness.run.target_server import TargetServer
from harness.run.warm_up import State, WarmUp, layout, warm_up
from harness.run.watch import DriverGone, Observed, exit_words, finish, fork, outcome_claims, watch
from harness.support.machine import constraints
from harness.support.processes import count_threads, living

if TYPE_CHECKING:
    from harness.registry.discovery import Registry
    from harness.run.messages import RunSpec
    from harness.run.record import Claims

_BUSY_SECONDS = 2.0  # seconds before the next message is due at which a run that goes on sends one
_END_SECONDS = 10.0  # seconds that the host may need, after a phase, to end a run's processes and to send the result
_MESSAGE_BYTES = 33 << 20  # bytes of a child's message, beside its model's
_POINT_BYTES = 16  # bytes of a model for each point


class Worker:
    """Serves run requests until the driver closes the socket.

    warm_ups : by configuration of the solver and layout of the data
    """

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self.warm_ups: dict[tuple[str, str], WarmUp] = {}
        self.factory: Any = None
        self.folder: Any = None
        self.descendants = Descendants()
        self.compilation, self.code = CompilationWatch(), CodeWatch()
        self._constraints: dict[str, Any] = {}  # of this process, after code of its own plugin ran in it
        self._until = 0.0  # when the driver expects the next message

    def serve(self) -> None:
        """Answer requests one after another."""
        for request in self.channel:
            if isinstance(request, messages.Prepare):
                with contextlib.suppress(Exception):  # the run itself will say what is wrong
                    self._plan(request.spec, warm_worker=True)
                self.channel.send(messages.Prepared())
            elif self._changes():
                sys.exit(0)  # somebody limited this process; the driver starts a fresh one
            else:
                self._answer(request)
            if self.folder is not None:
                self.folder.empty()

    def _plan(self, spec: RunSpec, *, warm_worker: bool) -> ChildRun:
        """Return a run with what it needs; errors are those of a plugin or a data source."""
        self._load(spec)
        self.folder = self.folder or Folder()
        self.code.folder = str(self.folder.path)
        solver = self.factory.solver(spec)  # its code runs before the problem is stated
        problem = self.factory.problem(spec.first)
        points, room = max(problem.n, problem.kernel.n_features), 2 * room_for_own_points(problem.kernel)
        budget = problem.target_budget if spec.queries_targets else 0
        kind = (f"{spec.solver} {spec.parameters} {spec.limits.target_gap}", layout(problem))
        del problem
        self.warm_ups.setdefault(kind, WarmUp())
        server = TargetServer()
        if spec.queries_targets:
            server = TargetServer(self.factory.dataset(spec).y_train, budget)
        largest = _MESSAGE_BYTES + _POINT_BYTES * points + room
        run = ChildRun(spec, solver, self.factory, self.compilation, self.code, server, self.warm_ups[kind], largest)
        self._warm_up(run, f"{kind} {spec.threads}", in_worker=warm_worker and spec.threads == 1)
        self._constraints = constraints(os.getpid())
        self.folder.new()
        return run

    def _warm_up(self, run: ChildRun, kind: str, *, in_worker: bool) -> None:
        """Have a child try the solver's warm-up, and then this process run it; it ends if that leaves threads or processes.

        A forked child would lack the threads.
        """
        from harness.measure.machine_code import warm_up_mark

        spec, progress = run.spec, run.warm_up
        if progress.state is State.NEW:
            mark = warm_up_mark(Path(self.factory.registry.plugins[spec.plugin].module.__file__), kind)
            progress.state = State.SAFE if mark.exists() else self._try_warm_up(run)
            if progress.state is State.SAFE:
                with contextlib.suppress(OSError):
                    mark.touch()
        if progress.state is State.SAFE and in_worker:
            limit, threads, before = spec.limits.time_limit, count_threads(), {*living(os.getpid())}
            self._until = 0.0
            self._busy(monotonic() + allowed.preparation(limit), running=False)
            with self.folder.entered(), self.code.ignored():
                small = self.factory.small(spec.first)
                progress.seconds = warm_up(run.solver, small, limit, self.compilation.clock).seconds
            progress.state = State.WARM
            if count_threads() > threads or not before.issuperset(living(os.getpid())):
                sys.exit(0)  # the driver starts a new worker

    def _try_warm_up(self, run: ChildRun) -> State:
        """Run the solver's warm-up in a child, which compiles it; return what is known of it then."""
        self.folder.new()
        observed = self._run_child(replace(run, only_warm_up=True))
        warm, claims = observed.warm or messages.Warm(0.0), outcome_claims(observed)
        run.warm_up.unreported_seconds = warm.seconds
        is_safe = warm.complete and claims.status is None and not self._undeclared(run, claims)
        return State.SAFE if is_safe else State.UNSAFE

    def _changes(self) -> str:
        """Return in words what was done to this process since a run was planned; a child may change itself."""
        after = constraints(os.getpid())
        return "; ".join(
            f"{name} of its process is {after[name]} and was {before}"
            for name, before in self._constraints.items()
            if after[name] != before
        )

    def _answer(self, request: messages.Run) -> None:
        """Measure a run and send its result."""
        spec, warm_worker = request.spec, request.warm_worker
        try:
            run = replace(self._plan(spec, warm_worker=warm_worker), bound=request.bound)
        except Exception as error:  # a plugin's or a data source's fault: a row, never the end of the worker
            self.channel.send(messages.RunResult(failure_claims(error, "")))
            return
        observed = self._run_child(run)
        if observed.phase is Phase.WARM_UP and not observed.is_sent and run.warm_up.state is not State.FAILED:
            # what it does on a few points need not happen in the measured run
            run.warm_up.state = State.FAILED
            self.folder.new()
            why = observed.failure[0] if observed.failure else exit_words(observed.exit_status)
            observed = self._run_child(run, f"warm-up failed ({why}); measured without warm-up.")
        if not observed.is_sent:
            self._send_result(observed, run)

    def _run_child(self, run: ChildRun, *faults: str) -> Observed:
        """Measure a run in a child; return what was observed of it."""
        self._until = 0.0
        self.descendants.begin()
        gc.collect()
        gc.freeze()  # keeps the collector from touching, and so copying, the parent's pages
        child = fork(run.body, self.folder, self.channel, run.largest)
        sample = functools.partial(self.descendants.sample, child.pid)
        observed = Observed(run.spec, run.server, sample, faults=[*faults])
        watch(child, observed, self.channel, functools.partial(self._busy, running=not run.only_warm_up))
        has_model = observed.result is not None and observed.result.claims.status not in FAILED
        if has_model and not observed.left_behind and not run.only_warm_up:
            # its process ends while its model is certified
            self._send_result(observed, run)
        else:
            self._busy(monotonic(), running=not run.only_warm_up)
        finish(child, observed, self.descendants)
        return observed

    def _send_result(self, observed: Observed, run: ChildRun) -> None:
        """Send the outcome of a run."""
        observed.disturbance = observed.disturbance or self._changes()
        claims = outcome_claims(observed)
        claims.undeclared = self._undeclared(run, claims) or None
        if observed.warm is not None:
            seconds = run.warm_up.reported_seconds(observed.warm.seconds)
            claims.compile_seconds = seconds + (claims.compile_seconds or 0.0)
        self.channel.send(messages.RunResult(claims, observed.to_certify))
        observed.is_sent = True

    def _undeclared(self, run: ChildRun, claims: Claims) -> list[str]:
        """Return the paths of code that the processes of a run used and that nobody declared."""
        used = {*(claims.undeclared or ())}.union(*starmap(code_of, self.descendants.commands.values()))
        return self.code.undeclared(run.spec.depends_on, self.factory.registry, used)

    def _busy(self, deadline: float, *, running: bool) -> None:
        """Say by when the next message comes, once the time that was said is nearly over; ``deadline`` : of what goes on."""
        if self._until - monotonic() < _BUSY_SECONDS and deadline + _END_SECONDS > self._until:
            self._until = deadline + _END_SECONDS
            seconds = min(self._until - monotonic(), 1e9)
            self.channel.send(Busy(seconds, running))

    def _load(self, spec: RunSpec) -> None:
        """Load the plugins that the run needs: another one costs it no time, and cannot disturb it."""
        from harness.registry.discovery import installed, load_registry, share_registry

        needed = {spec.plugin, *spec.trusted, *spec.helpers}
        if self.factory is None:
            self.code.install()
        registry = load_registry(spec.plugin_paths, needed) if self.factory is None else self.factory.registry
        if not needed <= registry.plugins.keys() | registry.broken.keys():
            registry.load_all(installed(), spec.plugin_paths, needed)
        if self.factory is None:
            from threadpoolctl import threadpool_limits

            # absolute, since a run is in a folder of its own when it asks
            paths = [str(Path(path).absolute()) for path in spec.plugin_paths]

            def everything() -> Registry:
                """Load the plugins that were not needed yet, for a solver that asks for what may be in them."""
                registry.load_all(installed(), paths)
                return registry

            share_registry(everything, registry)
            self.factory = ProblemFactory(registry, for_solver=True)
            self.compilation.install()  # and imports numba, so that no child pays for it
            threadpool_limits(spec.threads)
        for plugin in registry.plugins.values():
            hash(plugin.fingerprint)  # of the source as it was loaded, and once for all children
        registry.used.clear()


def main() -> None:
    """Serve the driver at the descriptor named on the command line."""
    worker = Worker(Channel(control_socket(), messages.ToProcess))
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
