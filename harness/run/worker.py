"""The warm worker: one process for each solver, which forks one child a run.

It imports the plugins and numba once, loads the data, and after the first run of a configuration that went well
compiles in itself what that run's warm-up compiled (from the disk cache), so that the next child starts warm.
Started as ``python -m harness.run.start harness.run.worker FD``; FD is its end of the driver's socket pair.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from time import monotonic  # by name: what a solver patches later is not this clock
from typing import TYPE_CHECKING, Any

from harness.errors import HarnessError
from harness.machine import now
from harness.measure.compilation import CompilationWatch
from harness.run import allowed, child
from harness.run.forking import fork, limit_memory
from harness.run.messages import Busy, Compiling, Ended, Message, Reader, Run, Warm, send
from harness.run.parenthood import adopt_orphans
from harness.run.place import Place
from harness.run.record import Limits, Status, StoppedBy
from harness.run.seller import Buyer, Seller
from harness.run.study import RunSpec
from harness.run.verdict import bought_points, lost_warm_up, number, verdict, warm_up_ended

if TYPE_CHECKING:
    from harness.registry import Registry

_KILLING = 0.5  # seconds between the end of a phase and the next message, where the run is killed
_SAID_AHEAD = 2.0  # seconds before the next message is due that it is sent, where a run goes on
_FINISHING = 5.0  # seconds within which a run is usually ended, whatever it left behind
_FOR_EVER = 1e9  # seconds
_PHASES = {
    "warm-up": "warming up on a few points",
    "start": "preparing the measured run",
    "fit": "carrying out the measured run",
    "end": "closing the measured run",
}
_WENT_WELL = (Status.OK, Status.BUDGET, Status.UNFINISHED)
_MODEL_BYTES = 1 << 20  # of a message, beside 16 a point and the model's own points, which have coefficients too


class Worker:
    """Serves run requests until the driver closes the socket.

    warm : solver and layout -> seconds the warm-up took in this process
    cold : solver and layout whose warm-up came to no end: their runs are carried out without one
    """

    def __init__(self, control: int) -> None:
        self.control = control
        self.warm: dict[tuple[str, str], float] = {}
        self.cold: set[tuple[str, str]] = set()
        self.bench: Any = None
        self.place = Place()
        self.compilation = CompilationWatch()
        self._until = 0.0  # when the driver expects the next message
        self._read: tuple[str, ...] = ()  # which data and kernel were last read
        self._sent_ahead = False  # the last run's model

    def serve(self) -> None:
        """Answer requests one after another."""
        reader = Reader(self.control)
        while not reader.closed:
            for request in reader.read():
                assert isinstance(request, Run)
                self._answer(RunSpec.from_dict(request.spec), request)

    def _busy(self, what: str, seconds: float) -> None:
        self._until = monotonic() + seconds
        send(self.control, Busy(what, min(seconds, _FOR_EVER)))

    def _answer(self, spec: RunSpec, request: Run) -> None:
        from harness.run.execute import is_environment, layout, of_environment, sentence

        limit = spec.limits.seconds
        try:
            self._prepare(spec)
            if self._read != (read := (spec.data_key, spec.kernel, repr(spec.kernel_parameters))) or spec.sells_labels:
                self._busy("reading the data", request.reading)
            self._read = read
            problem = self.bench.problem(spec.first)
            seller = Seller(self.bench.labels(spec), problem.labels_left) if spec.sells_labels else None
            self._busy(f"making and running the solver '{spec.solver}'", allowed.phase_seconds(limit))
            solver = self.bench.solver(spec)
            kind = (repr(solver), layout(problem))
            alone = spec.threads == 1 and bool(solver.observable)
            self.place.begin()
        except Exception as error:  # a plugin's or a data source's fault: a row, never the end of the worker
            if is_environment(error):
                status, reason = Status.ENVIRONMENT, of_environment(error)
            else:
                status, reason = Status.ERROR, str(error) if isinstance(error, HarnessError) else sentence(error)
            send(self.control, Ended({"status": status, "stopped_by": StoppedBy.FAULT, "reason": reason, **now()}))
            return
        seen, ended = self._run(spec, solver, problem, kind, seller)
        warmed = None if seen.killed_for or ended.claims["status"] not in _WENT_WELL else seen.warm_up_seconds
        known = kind in self.warm or kind in self.cold
        adopts = warmed is not None and not known and alone and request.adopt and not spec.path
        occupied = allowed.adopting(limit, warmed or 0.0) if adopts else allowed.ending(limit)
        ended = replace(ended, occupied=occupied)
        send(self.control, replace(ended, model=None, points=[], bought=None) if self._sent_ahead else ended)
        self.place.clear()
        if adopts:
            self._adopt(solver, problem, kind, limit)

    def _prepare(self, spec: RunSpec) -> None:
        """Load the plugins that the run needs: a file that it does not need cannot disturb it."""
        from harness.registry import load_registry, share_registry

        if self.bench is None:
            self._busy("loading its plugins", allowed.starting(spec.limits.seconds))
        registry = load_registry() if self.bench is None else self.bench.registry
        registry.load_all((), spec.plugin_paths, {spec.plugin, *spec.trusted})
        if self.bench is None:
            from threadpoolctl import threadpool_limits

            from harness.run.execute import Workbench

            share_registry(functools.partial(_everything, registry, spec.plugin_paths))
            # what the process of a solver is not to know, the one that it is forked from does not keep
            self.bench = Workbench(registry, keeps="points" if spec.sells_labels else "training targets")
            self.compilation.install()  # and imports numba, so that no child pays for it
            threadpool_limits(spec.threads)
        for plugin in registry.plugins.values():
            hash(plugin.fingerprint)  # of the source as it was loaded, and once for all children
        registry.used.clear()

    def _run(
        self, spec: RunSpec, solver: Any, problem: Any, kind: tuple[str, str], seller: Seller | None
    ) -> tuple[child.Watch, Ended]:
        """Carry a run out; without a warm-up where that came to no end: only the measured run decides."""
        seen = self._watched(spec, solver, problem, seller, cold=kind in self.cold)
        without = ""
        if lost_warm_up(seen):
            without = f"its warm-up on a few points {warm_up_ended(seen, spec)}; the run was carried out without one"
            self.cold.add(kind)
            self.place.begin()
            seen = self._watched(spec, solver, problem, seller, cold=True)
        ended = verdict(seen, spec, monotonic() - seen.phase_began)
        warmed = self.warm.get(kind, seen.warm_up_seconds)
        if warmed is not None:
            ended.claims["compile_seconds"] = warmed + number(ended.claims.get("compile_seconds"))
        if without:
            ended.claims["faults"] = [*(ended.claims.get("faults") or []), without]
        return seen, ended

    def _watched(self, spec: RunSpec, solver: Any, problem: Any, seller: Seller | None, *, cold: bool) -> child.Watch:
        """Fork a child that carries the run out, and return what was seen of it."""
        from harness.measure.scored import room_for_own_points
        from harness.run.execute import measure, warm_up
        from harness.run.path_run import measure_path, path_of, warm_up_path

        buyer: Buyer | None = None if seller is None else self.bench.buyer
        limit = spec.limits.seconds

        def body(emit: Callable[[Message], None], receive: Callable[[], Message]) -> None:
            if seller is not None and buyer is not None:
                seller.erase()
                buyer.connect(emit, receive)
            limit_memory(spec.limits.memory_bytes)
            # a time limit counts no compilation
            self.compilation.on_change = lambda on: emit(Compiling(on))
            # also in a child of a warm parent: its first touch of inherited pages is no work of the solver's
            watch = self.compilation
            if path is None:
                warmed = 0.0 if cold else warm_up(solver, problem, limit, watch.clock)
                emit(Warm(warmed, self.bench.registry.sources()))
                fitted = measure(spec, solver, problem, emit, compilation=watch, buyer=buyer)
            else:
                warmed = 0.0 if cold else warm_up_path(solver, path, limit, watch.clock)
                emit(Warm(warmed, self.bench.registry.sources()))
                fitted = measure_path(spec, solver, path, emit, compilation=watch)
            limit_memory(None)  # what is left is the host's own work
            fitted.claims["sources"] = self.bench.registry.sources()
            emit(fitted)

        path: Any = None
        if spec.path:
            clocks = (self.compilation.clock, self.compilation.cpu_clock)
            cold_start = spec.path["start"] == "cold"
            path = path_of(spec, self.bench.dataset(spec), self.bench.registry, clocks, cold=cold_start)
        gc.collect()
        gc.freeze()  # keeps the collector from touching, and so copying, the parent's pages
        forked = fork(body, self.place, hidden=(self.control,))
        room = 2 * room_for_own_points(problem.kernel)
        largest = _MODEL_BYTES + 16 * max(problem.n, problem.kernel.n_features) + room
        return child.watch(
            forked,
            spec.limits,
            control=self.control,
            largest=largest,
            seller=seller,
            told=lambda seen: self._tell(seen, spec.limits),
            ending=lambda seen: self._finishing(seen, limit),
        )

    def _tell(self, seen: child.Watch, limits: Limits) -> None:
        """Say by when the phase that a run is in is over, when the time that was said is nearly so."""
        if (
            self._until - monotonic() < _SAID_AHEAD
            and (latest := allowed.latest(seen, limits) + _KILLING) > self._until
        ):
            self._busy(_PHASES.get(seen.phase, seen.phase), latest - monotonic())

    def _finishing(self, seen: child.Watch, limit: float | None) -> None:
        self._sent_ahead = seen.fitted is not None and not seen.killed_for
        if self._sent_ahead and seen.fitted is not None:
            send(self.control, Ended({}, seen.fitted.model, seen.points, bought_points(seen), final=False))
        if self._until - monotonic() < _FINISHING:
            self._busy("ending the run", allowed.ending(limit))

    def _adopt(self, solver: Any, problem: Any, kind: tuple[str, str], limit: float | None) -> None:
        """Warm this process up as the child did, unless that leaves threads behind a fork.

        It is the solver's code that runs: the labels that are sold are read again for the next run, and of the last one
        nothing is left that it could find.
        """
        self.bench.forget_labels()
        from harness.run.execute import warm_up

        threads = _own_threads()
        with self.place.adopted():
            self.warm[kind] = warm_up(solver, problem, limit, self.compilation.clock)
        if _own_threads() > threads:
            # a forked child would lack these threads; the driver starts a fresh worker for the next run
            sys.exit(0)


def _everything(registry: Registry, plugin_paths: Sequence[str]) -> Registry:
    """Load the files that were not needed yet, for a solver that asks for what may be in them."""
    registry.load_all((), plugin_paths)
    return registry


def _own_threads() -> int:
    return len(os.listdir("/proc/self/task"))


def main() -> None:
    """Serve the driver at the descriptor named on the command line."""
    control = int(sys.argv[1])
    adopt_orphans()
    os.set_inheritable(control, False)
    worker = Worker(control)
    try:
        with contextlib.suppress(BrokenPipeError):
            worker.serve()
    finally:
        worker.place.remove()
    os._exit(0)  # nothing is left to do, and the driver waits


if __name__ == "__main__":
    main()
