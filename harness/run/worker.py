"""The warm worker: one process for each solver, which forks one child a run.

It imports the plugins and numba once, loads the data, and after the first run of a configuration that went well
compiles in itself what that run's warm-up compiled (from the disk cache), so that the next child starts warm.
Started as ``python -m harness.run.worker FD``; FD is its end of the driver's socket pair.
"""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import replace
from time import monotonic  # by name: what a solver patches later is not this clock
from typing import Any

import numpy as np

from harness.errors import HarnessError
from harness.measure.compilation import CompilationWatch
from harness.measure.machine import now
from harness.run import allowed, child
from harness.run.forking import adopt_orphans, fork, limit_memory
from harness.run.messages import Busy, Compiling, Ended, Message, Reader, Run, Warm, send
from harness.run.place import Place
from harness.run.record import Limits, Status, StoppedBy
from harness.run.seller import Buyer, Seller
from harness.run.study import RunSpec

_CLOCK_SLACK = 0.25  # seconds of CPU time that the host's own work may take
_LATE = 5.0  # seconds that a message may wait on a busy machine
_SLOWEST_CLOCK = 0.5  # of the CPU time the system accounted
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
            problem = self.bench.problem(spec)
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
        adopts = warmed is not None and not known and alone and request.adopt
        occupied = allowed.adopting(limit, warmed or 0.0) if adopts else allowed.ending(limit)
        ended = replace(ended, occupied=occupied)
        send(self.control, replace(ended, model=None, points=[], bought=None) if self._sent_ahead else ended)
        self.place.clear()
        if adopts:
            self._adopt(solver, problem, kind, limit)

    def _prepare(self, spec: RunSpec) -> None:
        if self.bench is None:
            self._busy("loading its plugins", allowed.starting(spec.limits.seconds))
            from threadpoolctl import threadpool_limits

            from harness.registry import load_registry, share_registry
            from harness.run.execute import Workbench

            registry = load_registry(spec.plugin_paths)
            share_registry(registry)
            # what the process of a solver is not to know, the one that it is forked from does not keep
            self.bench = Workbench(registry, keeps="points" if spec.sells_labels else "training targets")
            for plugin in registry.plugins.values():
                hash(plugin.fingerprint)  # of the source as it was loaded, and once for all children
            self.compilation.install()  # and imports numba, so that no child pays for it
            threadpool_limits(spec.threads)
        self.bench.registry.used.clear()

    def _run(
        self, spec: RunSpec, solver: Any, problem: Any, kind: tuple[str, str], seller: Seller | None
    ) -> tuple[child.Watch, Ended]:
        """Carry a run out; without a warm-up where that came to no end: only the measured run decides."""
        seen = self._watched(spec, solver, problem, seller, cold=kind in self.cold)
        without = ""
        if lost_warm_up(seen):
            without = f"its warm-up on a few points {_lost(seen, spec)}; the run was carried out without one"
            self.cold.add(kind)
            self.place.begin()
            first, seen = seen, self._watched(spec, solver, problem, seller, cold=True)
            seen.left_elsewhere[:0] = first.left_elsewhere
        ended = verdict(seen, spec, monotonic() - seen.phase_began)
        warmed = self.warm.get(kind, seen.warm_up_seconds)
        if warmed is not None:
            ended.claims["compile_seconds"] = warmed + _number(ended.claims.get("compile_seconds"))
        if without:
            ended.claims["faults"] = [*(ended.claims.get("faults") or []), without]
        return seen, ended

    def _watched(self, spec: RunSpec, solver: Any, problem: Any, seller: Seller | None, *, cold: bool) -> child.Watch:
        """Fork a child that carries the run out, and return what was seen of it."""
        from harness.measure.scored import room_for_own_points
        from harness.run.execute import measure, warm_up

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
            warmed = 0.0 if cold else warm_up(solver, problem, limit, self.compilation.clock)
            emit(Warm(warmed, self.bench.registry.sources()))
            fitted = measure(spec, solver, problem, emit, compilation=self.compilation, buyer=buyer)
            limit_memory(None)  # what is left is the host's own work
            fitted.claims["sources"] = self.bench.registry.sources()
            emit(fitted)

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
            send(self.control, Ended({}, seen.fitted.model, seen.points, _bought(seen), final=False))
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
        self.warm[kind] = warm_up(solver, problem, limit, self.compilation.clock)
        if _own_threads() > threads:
            # a forked child would lack these threads; the driver starts a fresh worker for the next run
            sys.exit(0)


def lost_warm_up(seen: child.Watch) -> bool:
    """Return whether a child ended in its warm-up by what need not happen in the measured run.

    Not where the compiler came to no end, which is not asked a second time, nor where it wrote what is no message.
    """
    if seen.phase != "warm-up" or seen.fitted is not None or seen.killed_for is StoppedBy.FAULT:
        return False
    return not (seen.killed_for is StoppedBy.TIME and seen.compiling)


def _lost(seen: child.Watch, spec: RunSpec) -> str:
    """Return how a warm-up ended, in words."""
    if seen.killed_for is StoppedBy.TIME:
        return f"was still running after {allowed.phase_seconds(spec.limits.seconds):g} s, beside compilation"
    if seen.killed_for is StoppedBy.MEMORY:
        return "passed the limit of memory"
    return f"ended its process ({_cause(seen, spec, 0.0)[2]})"


def _own_threads() -> int:
    return len(os.listdir("/proc/self/task"))


def _number(value: Any) -> float:
    return float(value) if isinstance(value, (int, float)) else 0.0


def _sentences(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def verdict(seen: child.Watch, spec: RunSpec, wall: float) -> Ended:
    """Return what became of a child: its claims where they can be true, else what was seen of it."""
    claims: dict[str, Any] = {**now(), "sources": seen.sources} if seen.fitted is None else dict(seen.fitted.claims)
    trouble = _trouble(seen, spec, wall)
    if trouble is not None:
        claims.update(zip(("status", "stopped_by", "reason"), trouble, strict=True))
    if seen.output.strip():
        claims["output"] = "\n".join(part for part in (claims.get("output"), seen.output) if part)
    if seen.left_elsewhere:
        claims["faults"] = [*_sentences(claims.get("faults")), *seen.left_elsewhere]
    if claims.get("peak_rss_bytes") is None and seen.peak_rss:
        claims["peak_rss_bytes"] = seen.peak_rss
    bought = _bought(seen)
    claims["labels_used"] = None if bought is None else len(bought)
    return Ended(claims, None if seen.fitted is None else seen.fitted.model, seen.points, bought)


def _bought(seen: child.Watch) -> Any:
    return None if seen.seller is None else np.array(seen.seller.bought, dtype=np.int64)


def _trouble(seen: child.Watch, spec: RunSpec, wall: float) -> tuple[Status, StoppedBy, str] | None:
    """Return status, cause and reason where a child did not end as it should have, or claims what cannot be."""
    if seen.fitted is None or seen.killed_for:
        return _cause(seen, spec, wall)
    if seen.left_behind:
        many = "es" if seen.left_behind > 1 else ""
        alive = ", ".join(map(str, seen.survivors))
        ending = f"the host could not kill all, alive are {alive}" if alive else "the host killed them"
        reason = f"left {seen.left_behind} child process{many} behind; {ending}"
        return Status.ERROR, StoppedBy.FAULT, reason
    if seen.output_bytes > child.OUTPUT_LIMIT:
        size = f"{seen.output_bytes / 1e6:.1f} MB"
        reason = f"printed {size}; a solver must not print (at most 1 MB is tolerated)"
        return Status.ERROR, StoppedBy.FAULT, reason
    reason = _impossible(seen)
    return (Status.INVALID, StoppedBy.FAULT, reason) if reason else None


def _impossible(seen: child.Watch) -> str:
    """Return what the child says of clock and counts that the host knows to be untrue; empty if nothing is."""
    assert seen.fitted is not None
    claims = seen.fitted.claims
    seconds, cpu = _number(claims.get("fit_seconds")), _number(claims.get("cpu_seconds"))
    least = _SLOWEST_CLOCK * (seen.fit_cpu_seconds - seen.host_seconds - seen.buying_seconds) - _CLOCK_SLACK
    if claims.get("fit_seconds") is not None and not max(0.0, least) <= seconds <= seen.fit_seconds + _LATE:
        seen_then = f"the host saw {seen.fit_seconds:.3g} s pass, {seen.fit_cpu_seconds:.3g} s of them CPU time"
        return f"its clock says {seconds:g} s inside the solver; {seen_then}"
    if not 0.0 <= cpu <= seen.cpu_seconds + _CLOCK_SLACK:
        return f"its CPU clock says {cpu:g} s; the system accounted {seen.cpu_seconds:.3g} s to the process"
    counts = [point.figures.get("kernel_evaluations") for point in seen.points]
    counts.append(claims.get("kernel_evaluations"))
    known = [count for count in counts if isinstance(count, int)]
    if sorted(known) != known or any(count < 0 for count in known):
        return f"its count of kernel evaluations fell or is below 0: {', '.join(map(str, known[-3:]))}"
    return "" if seen.seller is None else _miscounted(seen, seen.seller, claims.get("labels_used"))


def _miscounted(seen: child.Watch, seller: Seller, claimed: Any) -> str:
    """Return what the child did about labels that no child of the harness does; empty if it did nothing."""
    if seller.refused:
        return f"it {seller.refused}"
    if claimed is not None and claimed != len(seller.bought):
        return f"it counts {claimed} labels where {len(seller.bought)} were bought"
    return seen.miscount


def _cause(seen: child.Watch, spec: RunSpec, wall: float) -> tuple[Status, StoppedBy, str]:
    """Return status, cause and reason of a child that ended without a result."""
    last, limits = _last_line(seen.output), spec.limits
    if seen.killed_for is StoppedBy.TIME:
        return Status.TIMEOUT, StoppedBy.TIME, _late(seen, limits.seconds, wall)
    if seen.killed_for is StoppedBy.MEMORY:
        reason = f"resident memory passed the limit of {(limits.memory_bytes or 0) / 2**20:g} MB; killed"
        return Status.MEMORY, StoppedBy.MEMORY, reason
    if seen.killed_for is StoppedBy.FAULT:
        reason = f"the solver's process {seen.broken}; killed"
        return Status.ERROR, StoppedBy.FAULT, reason
    refused = "MemoryError" in last or "std::bad_alloc" in last
    if os.WIFSIGNALED(seen.exit_status):
        number = os.WTERMSIG(seen.exit_status)
        name = signal.Signals(number).name if number in set(signal.Signals) else str(number)
        if refused:
            return Status.MEMORY, StoppedBy.MEMORY, f"ended by signal {number} ({name}) when an allocation was refused"
        who = StoppedBy.KILLED if number == signal.SIGKILL else StoppedBy.FAULT
        return Status.CRASHED, who, f"ended by signal {number} ({name}){': ' + last if last else ''}"
    if refused:
        return Status.MEMORY, StoppedBy.MEMORY, "an allocation beyond the memory limit was refused"
    code = os.waitstatus_to_exitcode(seen.exit_status)
    return Status.CRASHED, StoppedBy.FAULT, f"exited with code {code} without a result{': ' + last if last else ''}"


def _late(seen: child.Watch, limit: float | None, wall: float) -> str:
    """Return the sentence on a child that was killed for time, ``wall`` seconds after its phase began."""
    ended = f"killed after {wall:.1f} s"
    compiled = seen.compile_spent + (max(0.0, seen.phase_began + wall - seen.compile_began) if seen.compiling else 0.0)
    if seen.phase == "fit":
        compiling = f", {compiled:.1f} s of them compiling; compile in warm_ups()" if compiled > 0.1 else ""
        return f"still running at the time limit of {limit:g} s; {ended}{compiling}"
    own = allowed.warm_up_limit(limit)
    if seen.phase == "warm-up" and seen.compiling:
        if compiled >= allowed.compilation(limit):
            return f"compiling for {compiled:.1f} s on a few points, before the measured run; {ended}"
        most = allowed.one_compilation(limit)
        return f"compiling without an end for {most:g} s on a few points, before the measured run; {ended}"
    where = {
        "warm-up": " on a few points, before the measured run,",
        "start": " before its first step, in skip() for example,",
        "end": " after its last model, closing its iterates for example,",
    }[seen.phase]
    return f"still running{where} at the time limit of {own:g} s; {ended}"


def _last_line(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    fatal = [line for line in lines if line.startswith("Fatal Python error")]
    return (fatal or lines or [""])[-1][:300]


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
