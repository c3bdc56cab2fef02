"""The warm worker: one process for each solver, which forks one child a run.

It imports the plugins and numba once, loads the data, and after the first run of a configuration that went well
compiles in itself what that run's warm-up compiled (from the disk cache), so that the next child starts warm.
Started as ``python -m harness.run.descendants harness.run.worker FD``; FD is its end of the driver's socket pair.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import os
import sys
from collections.abc import Callable, Sequence
from time import monotonic  # by name: what a solver patches later is not this clock
from typing import TYPE_CHECKING, Any

from harness.errors import HarnessError
from harness.machine import now
from harness.measure.compilation import CompilationWatch
from harness.run import allowed
from harness.run.descendants import adopt_orphans
from harness.run.messages import Busy, Compiling, Ended, Message, Reader, Run, Warm, send
from harness.run.record import Limits, Status, StoppedBy
from harness.run.seller import Buyer, Seller
from harness.run.watch import Observed, Place, fork, limit_memory, number, verdict, warm_up_lost, watch

if TYPE_CHECKING:
    from harness.registry import Registry
    from harness.run.plan import RunSpec

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
    cold : solver and layout whose warm-up came to no end: only the measured run decides
    """

    def __init__(self, control: int) -> None:
        self.control = control
        self.warm: dict[tuple[str, str], float] = {}
        self.cold: set[tuple[str, str]] = set()
        self.bench: Any = None
        self.place: Place | None = None
        self.compilation = CompilationWatch()
        self._until = 0.0  # when the driver expects the next message
        self._read: tuple[str, ...] = ()  # which data and kernel were last read
        self._sent = False  # what is to be certified of the run

    def serve(self) -> None:
        """Answer requests one after another."""
        reader = Reader(self.control)
        while not reader.closed:
            for request in reader.read():
                assert isinstance(request, Run)
                self._answer(request.spec, request)

    def _busy(self, what: str, seconds: float) -> None:
        self._until = monotonic() + seconds
        send(self.control, Busy(what, min(seconds, _FOR_EVER)))

    def _answer(self, spec: RunSpec, request: Run) -> None:
        from harness.run.child import is_environment, layout, of_environment, sentence

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
            self.place = self.place or Place()
            self.place.begin()
        except Exception as error:  # a plugin's or a data source's fault: a row, never the end of the worker
            if is_environment(error):
                status, reason = Status.ENVIRONMENT, of_environment(error)
            else:
                status, reason = Status.ERROR, str(error) if isinstance(error, HarnessError) else sentence(error)
            send(self.control, Ended({"status": status, "stopped_by": StoppedBy.FAULT, "reason": reason, **now()}))
            return
        seen, faults = self._watched(spec, solver, problem, seller, cold=kind in self.cold), list[str]()
        if lost := warm_up_lost(seen, spec):
            faults = [f"its warm-up on a few points {lost}; the run was carried out without one"]
            self.cold.add(kind)
            self.place.begin()
            seen = self._watched(spec, solver, problem, seller, cold=True)
        claims, warmed = verdict(seen, spec, monotonic() - seen.phase_began), self.warm.get(kind, seen.warm_up_seconds)
        claims["faults"] = [*(claims.get("faults") or []), *faults]
        if warmed is not None:
            claims["compile_seconds"] = warmed + number(claims.get("compile_seconds"))
        warmed = None if seen.killed_for or claims["status"] not in _WENT_WELL else seen.warm_up_seconds
        alone = spec.threads == 1 and bool(solver.observable) and kind not in self.warm and kind not in self.cold
        adopts = warmed is not None and alone and request.adopt and not spec.path
        occupied = allowed.adopting(limit, warmed or 0.0) if adopts else allowed.ending(limit)
        if not self._sent:
            send(self.control, seen.solved)
        send(self.control, Ended(claims, occupied))
        self.place.folder.empty()
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

            from harness.run.child import Workbench

            share_registry(functools.partial(_everything, registry, spec.plugin_paths))
            # what the process of a solver is not to know, the one that it is forked from does not keep
            self.bench = Workbench(registry, keeps="points" if spec.sells_labels else "training targets")
            self.compilation.install()  # and imports numba, so that no child pays for it
            threadpool_limits(spec.threads)
        for plugin in registry.plugins.values():
            hash(plugin.fingerprint)  # of the source as it was loaded, and once for all children
        registry.used.clear()

    def _watched(self, spec: RunSpec, solver: Any, problem: Any, seller: Seller | None, *, cold: bool) -> Observed:
        """Fork a child that carries the run out, and return what was seen of it."""
        from harness.measure.scored import room_for_own_points
        from harness.run.child import measure, warm_up

        assert self.place is not None
        compilation, limits = self.compilation, spec.limits
        buyer: Buyer | None = None if seller is None else self.bench.buyer
        path = self.bench.path(spec, (compilation.clock, compilation.cpu_clock)) if spec.path else None

        def body(emit: Callable[[Message], None], receive: Callable[[], Message]) -> None:
            if seller is not None and buyer is not None:
                seller.erase()
                buyer.connect(emit, receive)
            limit_memory(limits.memory_bytes)
            # a time limit counts no compilation
            compilation.on_change = lambda on: emit(Compiling(on))
            # also in a child of a warm parent: its first touch of inherited pages is no work of the solver's
            warmed = 0.0 if cold else warm_up(solver, problem, limits.seconds, compilation.clock, path)
            emit(Warm(warmed, self.bench.registry.sources()))
            fitted = measure(spec, solver, problem, emit, compilation=compilation, buyer=buyer, path=path)
            limit_memory(None)  # what is left is the host's own work
            fitted.claims["sources"] = self.bench.registry.sources()
            emit(fitted)

        gc.collect()
        gc.freeze()  # keeps the collector from touching, and so copying, the parent's pages
        child = fork(body, self.place.folder, self.control)
        room = 2 * room_for_own_points(problem.kernel)
        return watch(
            child,
            self.place,
            limits,
            control=self.control,
            largest=_MODEL_BYTES + 16 * max(problem.n, problem.kernel.n_features) + room,
            seller=seller,
            told=lambda seen: self._tell(seen, limits),
            ending=lambda seen: self._finishing(seen, limits),
        )

    def _tell(self, seen: Observed, limits: Limits) -> None:
        """Say by when the phase that a run is in is over, when the time that was said is nearly so."""
        if self._until - monotonic() < _SAID_AHEAD:
            latest = allowed.latest(seen, limits) + _KILLING
            if latest > self._until:
                self._busy(_PHASES[seen.phase], latest - monotonic())

    def _finishing(self, seen: Observed, limits: Limits) -> None:
        """Send the models of a run that ended by itself, which are certified while its process ends."""
        self._sent = seen.fitted is not None
        if self._sent:
            send(self.control, seen.solved)
        if self._until - monotonic() < _FINISHING:
            self._busy("ending the run", allowed.ending(limits.seconds))

    def _adopt(self, solver: Any, problem: Any, kind: tuple[str, str], limit: float | None) -> None:
        """Warm this process up as the child did, unless that leaves threads behind a fork.

        It is the solver's code that runs: the labels that are sold are read again for the next run, and of the last one
        nothing is left that it could find.
        """
        from harness.run.child import warm_up

        assert self.place is not None
        self.bench.forget_labels()
        threads = _own_threads()
        with self.place.folder.adopted():
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
        if worker.place is not None:
            worker.place.remove()
    os._exit(0)  # nothing is left to do, and the driver waits


if __name__ == "__main__":
    main()
