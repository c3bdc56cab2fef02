"""The warm worker: one process for each solver, which forks one child a run.

It imports the plugins and numba once, loads the data, and after the first run of a configuration that went well
compiles in itself what that run's warm-up compiled (from the disk cache), so that the next child starts warm.
Started as ``python -m harness.run.worker FD``; FD is its end of the driver's socket pair.
"""

from __future__ import annotations

import contextlib
import gc
import os
import sys
import time
from collections.abc import Callable
from typing import Any

from harness.errors import HarnessError
from harness.measure.compilation import CompilationWatch
from harness.measure.machine import now
from harness.run import child
from harness.run.channel import LineReader, send
from harness.run.study import RunSpec


class Worker:
    """Serves run requests until the driver closes the socket."""

    def __init__(self, control: int) -> None:
        self.control = control
        self.warm: dict[tuple[str, str], float] = {}  # solver and layout -> seconds the warm-up took
        self.bench: Any = None
        self.compilation = CompilationWatch()

    def serve(self) -> None:
        """Answer requests one after another."""
        reader = LineReader(self.control)
        while not reader.closed:
            for request in reader.read():
                self._answer(request)

    def _answer(self, request: dict[str, Any]) -> None:
        spec = RunSpec.from_dict(request["spec"])
        try:
            self._prepare(spec)
            from harness.run.execute import layout

            solver, problem, dataset = self.bench.solver(spec), self.bench.problem(spec), self.bench.dataset(spec)
            kind = (repr(solver), layout(problem))
        except Exception as error:  # a plugin's or a data source's fault: a row, never the end of the worker
            known = isinstance(error, HarnessError)
            record = {"status": "error", "reason": str(error) if known else f"{type(error).__name__}: {error}", **now()}
            send(self.control, {"event": "record", "record": record})
            return
        record = self._run(spec, solver, problem, dataset, kind)
        send(self.control, {"event": "record", "record": record})
        if record["status"] in ("ok", "budget"):
            self._adopt(spec, solver, problem, kind)

    def _prepare(self, spec: RunSpec) -> None:
        if self.bench is None:
            from threadpoolctl import threadpool_limits

            from harness.registry import load_registry, share_registry
            from harness.run.execute import Workbench

            registry = load_registry(spec.plugin_paths)
            share_registry(registry)
            self.bench = Workbench(registry)
            self.compilation.install()  # and imports numba, so that no child pays for it
            threadpool_limits(spec.threads)

    def _run(self, spec: RunSpec, solver: Any, problem: Any, dataset: Any, kind: tuple[str, str]) -> dict[str, Any]:
        from harness.run.execute import measure, warm_up

        warm = kind in self.warm

        def body(emit: Callable[[dict[str, Any]], None]) -> None:
            child.limit_memory(spec.memory_limit)
            # a time limit counts no compilation
            self.compilation.on_change = lambda on: emit({"event": "compile", "on": on})
            # also in a child of a warm parent: its first touch of inherited pages is no work of the solver's
            emit({"event": "warm", "seconds": warm_up(solver, problem)})

            def tell(message: dict[str, Any]) -> None:
                if message["event"] == "fitted":
                    child.limit_memory(None)  # the certificate is the host's own work
                emit(message)

            metrics = self.bench.registry.metrics
            record = measure(spec, solver, problem, dataset, tell, compilation=self.compilation, metrics=metrics)
            emit({"event": "record", "record": record})

        gc.collect()
        gc.freeze()  # keeps the collector from touching, and so copying, the parent's pages
        began = time.monotonic()
        pid, messages, output = child.fork(body)
        seen = child.watch(
            pid,
            messages,
            output,
            time_limit=spec.time_limit,
            memory_limit=spec.memory_limit,
            control=self.control,
        )
        record = verdict(seen, spec, time.monotonic() - began)
        warmed = self.warm[kind] if warm else seen.warm_up_seconds
        if warmed is not None:
            record["compile_seconds"] = warmed + (record.get("compile_seconds") or 0.0)
        return record

    def _adopt(self, spec: RunSpec, solver: Any, problem: Any, kind: tuple[str, str]) -> None:
        """Warm this process up as the child did, unless that could leave threads behind a fork."""
        if kind in self.warm or spec.threads > 1 or not solver.observable:
            return
        from harness.run.execute import warm_up

        threads = _own_threads()
        self.warm[kind] = warm_up(solver, problem)
        if _own_threads() > threads:
            # a forked child would lack these threads; the driver starts a fresh worker for the next run
            sys.exit(0)


def _own_threads() -> int:
    return len(os.listdir("/proc/self/task"))


def verdict(seen: child.Watch, spec: RunSpec, wall: float) -> dict[str, Any]:
    """Turn what was seen of a child into a record."""
    output = seen.output
    record: dict[str, Any] = dict(seen.record or seen.fitted or {"trace": seen.points, **now()})
    if seen.record is None:
        status, reason = _cause(seen, spec, wall)
        record.update(status=status, reason=reason)
        record["output"] = "\n".join(part for part in (record.get("output"), output) if part) or None
    elif seen.left_behind:
        many = "es" if seen.left_behind > 1 else ""
        record.update(
            status="error", reason=f"left {seen.left_behind} child process{many} behind; the host killed them"
        )
    elif seen.output_bytes > child.OUTPUT_LIMIT:
        size = f"{seen.output_bytes / 1e6:.1f} MB"
        record.update(status="error", reason=f"printed {size}; a solver must not print (at most 1 MB is tolerated)")
        record["output"] = output
    elif output.strip():
        record["output"] = "\n".join(part for part in (record.get("output"), output) if part)
    if record.get("peak_rss_bytes") is None and seen.peak_rss:
        record["peak_rss_bytes"] = seen.peak_rss
    return record


def _cause(seen: child.Watch, spec: RunSpec, wall: float) -> tuple[str, str]:
    """Return status and reason of a child that ended without a record."""
    last = _last_line(seen.output)
    if seen.killed_for == "timeout":
        warming = seen.phase == "warm-up"
        where = " on a few points, before the measured run," if warming else ""
        limit = child.warm_up_limit(spec.time_limit) if warming else spec.time_limit
        return "timeout", f"still running{where} at the time limit of {limit:g} s; killed after {wall:.1f} s"
    if seen.killed_for == "memory":
        return "memory", f"resident memory passed the limit of {(spec.memory_limit or 0) / 2**20:g} MB; killed"
    if seen.killed_for == "host":
        return "error", "the host's certificate took too long; the model was not certified"
    if os.WIFSIGNALED(seen.exit_status):
        import signal

        number = os.WTERMSIG(seen.exit_status)
        name = signal.Signals(number).name if number in set(signal.Signals) else str(number)
        if "MemoryError" in last or "std::bad_alloc" in last:
            return "memory", f"ended by signal {number} ({name}) when an allocation was refused"
        return "crashed", f"ended by signal {number} ({name}){': ' + last if last else ''}"
    code = os.waitstatus_to_exitcode(seen.exit_status)
    if "MemoryError" in last:
        return "memory", "an allocation beyond the memory limit was refused"
    return "crashed", f"exited with code {code} without a result{': ' + last if last else ''}"


def _last_line(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    fatal = [line for line in lines if line.startswith("Fatal Python error")]
    return (fatal or lines or [""])[-1][:300]


def main() -> None:
    """Serve the driver at the descriptor named on the command line."""
    control = int(sys.argv[1])
    child.adopt_orphans()
    os.set_inheritable(control, False)
    with contextlib.suppress(BrokenPipeError):
        Worker(control).serve()
    os._exit(0)  # nothing is left to do, and the driver waits


if __name__ == "__main__":
    main()
