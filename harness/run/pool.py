"""The driver's side of the warm processes: start them, ask them, have models certified, and end them for sure."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import Any

from harness.measure.outcome import MEASURED, Status, StoppedBy
from harness.run import allowed
from harness.run.environments import environment_of
from harness.run.host_process import Late, Process, WorkerDied
from harness.run.messages import (
    Certify,
    Prepare,
    Run,
    RunResult,
    ToCertify,
)
from harness.run.path_rows import cell_records, choice, summary
from harness.run.plan import RunSpec
from harness.run.record import CLAIMED, Record, checked
from harness.support.machine import now
from harness.support.printable import clipped

_LIVE = 7  # processes: the certifier and six workers, which hold data while idle; the least recently used is closed
_QUICK_SECONDS = 15.0
_TELL_SECONDS = 1.0
_STARTING_SECONDS = 4.0  # an import is over then, unless the machine is busy
_CERTIFIER = "harness.run.certifier"


class ProcessPool:
    """The processes of one job slot: a worker for each solver, and one certifier."""

    def __init__(self, cores: list[int] | None, numba_cache: Path, stop: threading.Event) -> None:
        self.cores, self.numba_cache, self.stop = cores, numba_cache, stop
        self._processes: OrderedDict[str, Process] = OrderedDict()
        self._starting = threading.Lock()
        # names of workers that died or hung before a run began: those that replace them run no warm-up themselves
        self._run_no_warm_up: set[str] = set()

    def prepare(
        self, specs: Iterable[RunSpec], reading_seconds: Mapping[str, float], tell: Callable[[str], None]
    ) -> None:
        """Have the workers of the first runs, and the certifier, ready for them all at once: nothing is measured meanwhile.

        reading_seconds : data key -> what it took to read the data; what takes long is read when its turn comes
        tell : called each second with what is compiled, and how far that is
        """
        quick = [spec for spec in specs if reading_seconds[spec.data_key] < _QUICK_SECONDS]
        first: dict[str, RunSpec] = {}
        for spec in quick:
            if len(first) < _LIVE - 1:
                first.setdefault(spec.worker, spec)
        began = monotonic()
        with ThreadPoolExecutor(max(2, len(os.sched_getaffinity(0)))) as threads:
            asked = [threads.submit(self._prepared, name, spec) for name, spec in first.items()]
            certifier = [threads.submit(self._prepared, _CERTIFIER, spec) for spec in quick[:1]]
            while wait([*asked, *certifier], _TELL_SECONDS).not_done:
                if not self._processes and monotonic() - began > _STARTING_SECONDS:
                    what = "starting (once on this machine, this compiles what all solvers share)"
                    tell(f"{what}, {monotonic() - began:.0f} s")
                compiling = {name for name, each in dict(self._processes).items() if each.compiling}
                if names := [spec.solver for name, spec in first.items() if name in compiling]:
                    ready = f"{sum(each.done() for each in asked)} of {len(asked)} solvers ready"
                    tell(f"compiling {', '.join(names)} ({ready}), {monotonic() - began:.0f} s")

    def _prepared(self, name: str, spec: RunSpec) -> None:
        """Have a process prepare for a run. Where it fails it is replaced, and the run may tell of it."""
        beginning = allowed.beginning(spec.limits.time_limit, 0.0)
        try:
            with self._starting:
                process = self._process(name, _CERTIFIER if name == _CERTIFIER else "harness.run.worker", spec)
            process.ask(Prepare(spec), self.stop, beginning)
        except WorkerDied:
            with self._starting:
                self._run_no_warm_up.add(name)
                if name in self._processes:
                    self._close(name)

    def run(self, spec: RunSpec, reading_seconds: float = 0.0) -> Record:
        """Carry out a run and certify its model, which all end in time; see :mod:`harness.run.allowed`.

        reading_seconds : what it took to read the run's data before
        """
        beginning = allowed.beginning(spec.limits.time_limit, reading_seconds)
        try:
            ended = self._ended(spec, beginning)
        except WorkerDied as error:
            if self.stop.is_set():
                raise
            reason = f"the process that carries out the solver's runs failed: {error}"
            if not isinstance(error, Late):
                return Record(status=Status.CRASHED, stopped_by=StoppedBy.KILLED, reason=reason, **now())
            # it is the solver's fault that its worker hangs or is stopped, unless it was not its turn yet
            stopped = StoppedBy.TIME if error.running else StoppedBy.KILLED
            return Record(status=Status.TIMEOUT, stopped_by=stopped, reason=reason, **now())
        solved = ended.solved
        record, wrong = checked({name: value for name, value in ended.claims.items() if name in CLAIMED})
        if record.status is None:
            wrong.append(f"status is {clipped(str(record.get('status')), 80)}, which is none")
        without = not solved.model and not spec.path
        if record.status in MEASURED and (without or record.get("fit_seconds") is None):
            wrong.append("it says that it has a result, without a model or a time")
        if wrong:
            reason = f"the solver's process gave figures that cannot be: {'; '.join(wrong)}"
            record.update(status=Status.INVALID, reason=reason)
        if spec.path:
            return self._path(spec, record, solved, beginning, reading_seconds)
        if solved.model or solved.points:
            merge_certificate(record, checked(self._certified(spec, solved, beginning))[0])
        return record

    def _path(self, spec: RunSpec, run: Record, solved: ToCertify, beginning: float, reading_seconds: float) -> Record:
        """Return a path's summary with the rows of its cells, and that of the chosen one on all training points."""
        verdict = self._certified(spec, solved, beginning) if solved.points else {}
        judged = verdict.pop("cells", None)
        merge_certificate(run, checked(verdict)[0])
        cells = [] if judged is None else cell_records(spec, run, solved.points, judged)
        chosen = choice(spec, cells)
        if "best" not in chosen:
            return summary(spec, run, cells, None, chosen)
        at = spec.at(chosen["best"])
        own = {"problem_parameters": at.problem_parameters, "kernel_parameters": at.kernel_parameters}
        refit = Record(
            {**self.run(at, reading_seconds), "path": {**spec.path, "cell": None}, "shared_seconds": 0.0, **own}
        )
        return summary(spec, run, cells, refit, chosen)

    def _ended(self, spec: RunSpec, beginning: float) -> RunResult:
        """Return what a worker made of a run. One that dies or hangs before the run begins is replaced and asked once more."""
        for may_retry in (True, False):
            worker = self._process(spec.worker, "harness.run.worker", spec)
            self._process(_CERTIFIER, _CERTIFIER, spec)  # it imports meanwhile
            warm_worker = spec.worker not in self._run_no_warm_up
            try:
                ended: RunResult = worker.ask(Run(spec, warm_worker), self.stop, beginning)
                return ended
            except WorkerDied as error:
                self._close(spec.worker)
                error.running = worker.running
                # it was the run before, or the warm-up, that ended the worker or kept it, and not this run
                may_retry &= not worker.running and (warm_worker or not isinstance(error, Late))
                if not may_retry or self.stop.is_set():
                    raise
                self._run_no_warm_up.add(spec.worker)
        raise AssertionError

    def _certified(self, spec: RunSpec, solved: ToCertify, beginning: float) -> dict[str, Any]:
        """Return the certifier's figures. Where it dies of them, those without the metrics, and why."""
        faults: list[str] = []
        of_plugins = not {"harness"}.issuperset(spec.trusted)
        seconds = beginning + allowed.certifying(spec.limits.time_limit, of_plugins=of_plugins)
        for asked in (spec, replace(spec, metrics=())):
            certifier = self._process(_CERTIFIER, _CERTIFIER, spec)
            try:
                figures = certifier.ask(Certify(asked, solved), self.stop, seconds).figures
                return {**figures, "faults": [*faults, *(figures.get("faults") or [])]}
            except WorkerDied as error:
                self._close(_CERTIFIER)
                if self.stop.is_set():
                    raise
                metrics = ", ".join(spec.metrics) or "(none)"
                faults.append(f"the certifier failed, perhaps of the metrics {metrics}: {error}")
        reason = f"the host could not certify the model: {faults[-1]}"
        return {"status": Status.ERROR, "stopped_by": StoppedBy.KILLED, "reason": reason, "faults": faults}

    def _process(self, name: str, module: str, spec: RunSpec) -> Process:
        """Return a process that lives, started if there is none."""
        if name in self._processes and self._processes[name].process.poll() is not None:
            self._close(name)
        if name not in self._processes:
            while len(self._processes) >= _LIVE:
                self._processes.popitem(last=False)[1].close()
            home = None if module == _CERTIFIER else environment_of(spec.requires)  # the certifier is the host's
            if home is not None and (fault := home.fault()):
                raise WorkerDied(fault)  # it was there when the comparison was planned
            self._processes[name] = Process(module, spec.threads, self.cores, self.numba_cache, self.stop, home)
        self._processes.move_to_end(name)
        return self._processes[name]

    def _close(self, name: str) -> None:
        self._processes.pop(name).close()

    def close(self) -> None:
        """End all processes."""
        for process in self._processes.values():  # all at once
            process.channel.shutdown()
        while self._processes:
            self._processes.popitem()[1].close()


def merge_certificate(record: Record, verdict: Record) -> None:
    """Add the certifier's figures to a record; what it says of how the run ended outweighs what the solver says."""
    status, reason, killed = (verdict.pop(name, None) for name in ("status", "reason", "stopped_by"))
    trace, faults = verdict.pop("trace", None) or [], verdict.pop("faults", None) or []
    if trace and trace[-1].get("reason") == "end":
        known = {name: name for name in ("cpu_seconds", "kernel_evaluations")}
        known |= {"seconds": "fit_seconds", "iteration": "iterations"}
        trace[-1] |= {name: record[column] for name, column in known.items() if record.get(column) is not None}
    sources = {**(record.get("sources") or {}), **(verdict.pop("sources", None) or {})}
    record.update(verdict, trace=trace, faults=[*(record.get("faults") or []), *faults], sources=sources)
    if status is not None and record.status in MEASURED:
        before = record.get("reason") if status == Status.MISSED else None
        record.update(status=status, reason="; ".join(text for text in (reason, before) if text))
        record.update(stopped_by=killed or record.get("stopped_by"))
