"""The warm worker: one process for each solver, which forks one child a run.

It imports the plugins and numba once, loads the data, and loads in itself, from numba's cache, what the warm-up of a
configuration compiled whose run went well, now or in an earlier comparison of the same code: its children start warm.
Forked from the template, or started as ``python -m harness.run.descendants harness.run.worker FD``; FD is its end of the
driver's socket pair.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from time import monotonic  # by name: what a solver patches later is not this clock
from typing import TYPE_CHECKING, Any, NamedTuple

from harness.measure.compilation import CompilationWatch
from harness.measure.outcome import Status, StoppedBy
from harness.run import allowed
from harness.run.descendants import Descendants
from harness.run.folder import Folder
from harness.run.messages import (
    Busy,
    Compiling,
    FitResult,
    Message,
    Prepare,
    Prepared,
    Reader,
    Run,
    RunResult,
    Warm,
    send,
)  # fmt: skip
from harness.run.record import Claims
from harness.run.target_server import TargetServer
from harness.run.watch import DriverGone, Observed, finish, fork, limit_memory, verdict, watch
from harness.support import faults
from harness.support.errors import InvalidKernel
from harness.support.files import write_whole
from harness.support.machine import now

if TYPE_CHECKING:
    from harness.registry.discovery import Registry
    from harness.run.plan import RunSpec

_SAID_AHEAD = 2.0  # seconds before the next message is due that it is sent, where a run goes on
_ENDING = 10.0  # seconds that the host may need, after a phase, to end a run's processes and to send what it knows
_WENT_WELL = (Status.OK, Status.BUDGET, Status.UNFINISHED)
_MODEL_BYTES = 1 << 20  # of a message, beside 16 a point and the model's own points, which have coefficients too


class _Stated(NamedTuple):
    """A run with what it is about.

    kind : solver and layout, which decide what is compiled
    rehearsal : it ends behind its warm-up
    """

    spec: RunSpec
    solver: Any
    problem: Any
    server: TargetServer
    kind: tuple[str, str]
    rehearsal: bool = False


class Worker:
    """Serves run requests until the driver closes the socket.

    warm : solver and layout -> seconds the warm-up took in this process
    proven : solver and layout -> seconds the warm-up took in a child whose run went well
    rehearsed : solver and layout -> seconds of the warm-up before the first run, which is told of them
    cold : solver and layout whose warm-up came to no end: only the measured run decides
    """

    def __init__(self, control: int) -> None:
        self.control = control
        self.warm: dict[tuple[str, str], float] = {}
        self.proven: dict[tuple[str, str], float] = {}
        self.rehearsed: dict[tuple[str, str], float] = {}
        self.cold: set[tuple[str, str]] = set()
        self.bench: Any = None
        self.folder: Folder | None = None
        self.descendants = Descendants()
        self.compilation = CompilationWatch()
        self._until = 0.0  # when the driver expects the next message
        self._rehearsing = False

    def serve(self) -> None:
        """Answer requests one after another."""
        reader = Reader(self.control)
        while not reader.closed:
            for request in reader.read():
                if isinstance(request, Prepare):
                    self._rehearse(request.spec)
                    send(self.control, Prepared())
                    continue
                assert isinstance(request, Run)
                self._answer(request.spec, request.adopt)

    def _rehearse(self, spec: RunSpec) -> None:
        """Have at hand what a run needs, and its machine code in this process, where runs of the same code went well before.

        Where machine code is not kept yet, a child compiles it.
        """
        try:
            run = self._stated(spec)
            mark = self._mark(run)
            if mark is None:
                return
            if mark.exists():
                if (warmed := mark.read_text()) and run.kind not in self.warm:
                    self.proven[run.kind] = float(warmed)
                    self._adopt(run.solver, run.problem, run.kind, spec.limits.time_limit)
                return
        except Exception:  # the run itself will say what is wrong
            return
        assert self.folder is not None
        self._until, self._rehearsing = 0.0, True
        self.folder.new()
        self.descendants.begin()
        self.rehearsed[run.kind] = self._carried_out(run._replace(rehearsal=True))[0].warm_up_seconds or 0.0
        mark.touch()
        self._rehearsing = False
        self.folder.empty()

    def _mark(self, run: _Stated) -> Path | None:
        """Return the file that is there when machine code of this kind is kept; in it the seconds of a warm-up that is proven."""
        from harness.measure.machine_code import warmed_up

        file = self.bench.registry.plugins[run.spec.plugin].module.__file__
        return None if file is None else warmed_up(Path(file), f"{run.kind} {run.spec.threads}")

    def _stated(self, spec: RunSpec, adopt: bool = False) -> _Stated:
        """Return a run with what it is about; errors are those of a plugin or a data source."""
        from harness.run.child import layout

        self._prepare(spec)
        problem, solver = self.bench.problem(spec.first), self.bench.solver(spec)
        kind = (repr(solver), layout(problem))
        self.folder = self.folder or Folder()
        if adopt and kind in self.proven and kind not in self.warm:
            self._adopt(solver, problem, kind, spec.limits.time_limit)
        server = (
            TargetServer(self.bench.targets(spec), problem.target_budget) if spec.queries_targets else TargetServer()
        )
        return _Stated(spec, solver, problem, server, kind)

    def _answer(self, spec: RunSpec, adopt: bool) -> None:
        from harness.run.child import is_environment, of_environment

        self._until = 0.0
        try:
            run = self._stated(spec, adopt)
            assert self.folder is not None
            self.folder.new()
        except Exception as error:  # a plugin's or a data source's fault: a row, never the end of the worker
            if is_environment(error):
                status, reason = Status.ENVIRONMENT, of_environment(error)
            else:
                status = Status.INVALID if isinstance(error, InvalidKernel) else Status.ERROR
                reason = faults.format_error(error)
            claims = Claims(status=status, stopped_by=StoppedBy.FAULT, reason=reason, measured_at=now())
            send(self.control, RunResult(claims))
            return
        self.descendants.begin()
        seen, told = self._carried_out(run)
        lost_in_warm_up = seen.phase == "warm-up" and not told and seen.killed_for is not StoppedBy.FAULT
        if lost_in_warm_up and run.kind not in self.cold:
            # what it does on a few points need not happen in the measured run
            lost = (
                f"its warm-up on a few points failed: {verdict(seen, spec).reason}; the run was carried out without one"
            )
            self.cold.add(run.kind)
            self.folder.new()
            seen, told = self._carried_out(run, lost)
        if not told:
            self._tell(seen, run)
        self.folder.empty()

    def _carried_out(self, run: _Stated, *faults: str) -> tuple[Observed, bool]:
        """Carry a run out in a child; return what was seen of it, and whether the driver has been told of it already."""
        from harness.measure.scored import room_for_own_points

        assert self.folder is not None
        child = fork(self._body(run), self.folder, self.control)
        room = 2 * room_for_own_points(run.problem.kernel)
        largest = _MODEL_BYTES + 16 * max(run.problem.n, run.problem.kernel.n_features) + room
        reader = Reader(child.messages, child.secret, largest=largest)
        seen = watch(
            child,
            self.descendants,
            run.spec.limits,
            threads=run.spec.threads,
            control=self.control,
            reader=reader,
            server=run.server,
            busy=self._busy,
        )
        seen.faults += faults
        told = seen.fitted is not None and not seen.left_behind
        if told:  # all is known: its process ends while its model is certified
            self._tell(seen, run)
        else:
            self._busy(monotonic())
        finish(seen, child, self.descendants, reader)
        return seen, told

    def _tell(self, seen: Observed, run: _Stated) -> None:
        """Say what became of a run; of a rehearsal nobody asks."""
        if run.rehearsal:
            return
        claims, warmed = verdict(seen, run.spec), self.warm.get(run.kind, seen.warm_up_seconds)
        claims.faults = [*(claims.faults or []), *seen.faults]
        if warmed is not None:
            before = self.rehearsed.pop(run.kind, 0.0)
            claims.compile_seconds = before + warmed + (claims.compile_seconds or 0.0)
        alone = run.spec.threads == 1 and bool(run.solver.observable) and run.spec.path is None
        if warmed is not None and alone and claims.status in _WENT_WELL and run.kind not in self.cold:
            with contextlib.suppress(OSError):
                if run.kind not in self.proven and (mark := self._mark(run)) is not None:
                    write_whole(mark, str(warmed).encode())
            self.proven[run.kind] = warmed
        send(self.control, RunResult(claims, seen.solved))

    def _busy(self, deadline: float) -> None:
        """Say by when the next message comes, when the time that was said is nearly so; ``deadline`` of what goes on."""
        if self._until - monotonic() < _SAID_AHEAD and deadline + _ENDING > self._until:
            self._until = deadline + _ENDING
            send(self.control, Busy(min(self._until - monotonic(), 1e9), not self._rehearsing, self._rehearsing))

    def _prepare(self, spec: RunSpec) -> None:
        """Load the plugins that the run needs: another one costs it no time, and cannot disturb it."""
        from harness.registry.discovery import installed, load_registry, share_registry

        needed = {spec.plugin, *spec.trusted}
        registry = load_registry(spec.plugin_paths, needed) if self.bench is None else self.bench.registry
        if not needed <= registry.plugins.keys() | registry.broken.keys():
            registry.load_all(installed(), spec.plugin_paths, needed)
        if self.bench is None:
            from threadpoolctl import threadpool_limits

            from harness.run.child import ProblemFactory

            # absolute, since a run is in a folder of its own when it asks
            paths = [str(Path(path).absolute()) for path in spec.plugin_paths]
            share_registry(functools.partial(_everything, registry, paths))
            # what the process of a solver is not to know, the one that it is forked from does not keep
            self.bench = ProblemFactory(registry, keeps="points" if spec.queries_targets else "training targets")
            self.compilation.install()  # and imports numba, so that no child pays for it
            threadpool_limits(spec.threads)
        for plugin in registry.plugins.values():
            hash(plugin.fingerprint)  # of the source as it was loaded, and once for all children
        registry.used.clear()

    def _body(self, run: _Stated) -> Callable[[Callable[[Message], None], Callable[[], Message]], None]:
        """Return what a child does to carry the run out."""
        from harness.run.child import measure, warm_up, warm_up_in_parts

        spec, solver, problem, server, kind = run[:5]
        compilation, limits, cold = self.compilation, spec.limits, kind in self.cold
        path = self.bench.path(spec, (compilation.clock, compilation.cpu_clock)) if spec.path else None

        def body(emit: Callable[[Message], None], receive: Callable[[], Message]) -> None:
            server.erase()
            self.bench.client.connect(emit, receive)
            limit_memory(limits.memory_limit)
            # a time limit counts no compilation
            compilation.on_change = lambda on: emit(Compiling(on))
            # also in a child of a warm parent: its first touch of inherited pages is no work of the solver's
            if run.rehearsal:
                warmed = warm_up_in_parts(solver, problem, limits.time_limit, compilation, path)
            else:
                warmed = 0.0 if cold else warm_up(solver, problem, limits.time_limit, compilation.clock, path)
            emit(Warm(warmed, self.bench.registry.sources()))
            if run.rehearsal:
                emit(FitResult(Claims()))
                return
            fitted = measure(spec, solver, problem, emit, compilation=compilation, client=self.bench.client, path=path)
            limit_memory(None)  # what is left is the host's own work
            fitted.claims.sources = self.bench.registry.sources()
            emit(FitResult(fitted.claims, fitted.model, self.bench.kernel_sample(spec)))

        gc.collect()
        gc.freeze()  # keeps the collector from touching, and so copying, the parent's pages
        return body

    def _adopt(self, solver: Any, problem: Any, kind: tuple[str, str], limit: float | None) -> None:
        """Warm this process up as a child of it did, unless that leaves threads behind a fork.

        It is the solver's code that runs: targets that are queried are read again for this run, and of the last one
        nothing is left that it could find.
        """
        from harness.run.child import warm_up

        assert self.folder is not None
        send(self.control, Busy(allowed.preparation(limit) + self.proven[kind] + _ENDING, running=False))
        self.bench.forget_targets()
        threads = _own_threads()
        with self.folder.entered():
            self.warm[kind] = warm_up(solver, problem, limit, self.compilation.clock)
        if _own_threads() > threads:
            # a forked child would lack these threads; the driver asks a fresh worker
            sys.exit(0)


def _everything(registry: Registry, plugin_paths: Sequence[str]) -> Registry:
    """Load the plugins that were not needed yet, for a solver that asks for what may be in them."""
    from harness.registry.discovery import installed

    registry.load_all(installed(), plugin_paths)
    return registry


def _own_threads() -> int:
    return len(os.listdir("/proc/self/task"))


def main() -> None:
    """Serve the driver at the descriptor named on the command line."""
    control = int(sys.argv[1])
    os.set_inheritable(control, False)
    worker = Worker(control)
    try:
        with contextlib.suppress(BrokenPipeError, DriverGone):
            worker.serve()
    finally:
        worker.descendants.end()
        if worker.folder is not None:
            worker.folder.remove()
    os._exit(0)  # nothing is left to do, and the driver waits


if __name__ == "__main__":
    main()
