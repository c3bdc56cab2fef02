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

import msgspec

from harness.measure.outcome import FAILED, MEASURED, Status, StoppedBy
from harness.run import allowed
from harness.run.environments import environment_of
from harness.run.host_process import Late, Process, WorkerDied
from harness.run.messages import Certified, Certify, Prepare, Run, RunResult, ToCertify
from harness.run.path_rows import cell_entries, cell_records, choice, summary
from harness.run.plan import RunSpec
from harness.run.record import CertifiedFigures, Claims, Record
from harness.support.machine import now

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
            if error.was_stopped:
                claims = Claims(reason=str(error), measured_at=now())
                claims.blame_environment("its worker was stopped")
                return certified_record(claims, CertifiedFigures())
            if not isinstance(error, Late):
                return Record(status=Status.CRASHED, stopped_by=StoppedBy.KILLED, reason=reason, measured_at=now())
            # it is the solver's fault that its worker hangs or is stopped, unless it was not its turn yet
            stopped = StoppedBy.TIME if error.running else StoppedBy.KILLED
            return Record(status=Status.TIMEOUT, stopped_by=stopped, reason=reason, measured_at=now())
        claims, solved = ended.claims, ended.solved
        without = not solved.model and spec.path is None
        if claims.status is None or (claims.status in MEASURED and (without or claims.fit_seconds is None)):
            claims.status = Status.INVALID
            claims.reason = "the solver's process said that it has a result, without a status, a model or a time"
        if claims.status in FAILED and self._processes[spec.worker].was_stopped:
            claims.blame_environment("its worker was stopped")
        if spec.path is not None:
            return self._path(spec, claims, solved, beginning, reading_seconds)
        if solved.model or solved.points:
            return certified_record(claims, self._certified(spec, solved, beginning).figures)
        return certified_record(claims, CertifiedFigures())

    def _path(
        self, spec: RunSpec, claims: Claims, solved: ToCertify, beginning: float, reading_seconds: float
    ) -> Record:
        """Return a path's summary with the rows of its cells, and that of the chosen one on all training points."""
        found = self._certified(spec, solved, beginning) if solved.cells else Certified(CertifiedFigures())
        run = certified_record(claims, found.figures)
        cells = cell_records(spec, run, solved.cells, found.cells) if found.cells else []
        chosen = choice(spec, cells)
        if "best" not in chosen:
            return summary(spec, run, cells, None, chosen)
        at = spec.at(chosen["best"])
        refit = self.run(at, reading_seconds)
        refit.update(cell_entries(spec, at, None), shared_seconds=0.0)
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
                error.running, error.was_stopped = worker.running, worker.was_stopped
                # it was the run before, or the warm-up, that ended the worker or kept it, and not this run
                may_retry &= not worker.running and (warm_worker or not isinstance(error, Late))
                if not may_retry or self.stop.is_set():
                    raise
                self._run_no_warm_up.add(spec.worker)
        raise AssertionError

    def _certified(self, spec: RunSpec, solved: ToCertify, beginning: float) -> Certified:
        """Return what the certifier computed. Where it dies, without the metrics, which may be the cause."""
        faults: list[str] = []
        of_plugins = not {"harness"}.issuperset(spec.trusted)
        most = beginning + allowed.certifying(spec.limits.time_limit, of_plugins=of_plugins)
        tries = [spec, spec, replace(spec, metrics=())]
        while tries:
            stated = tries.pop(0)
            certifier = self._process(_CERTIFIER, _CERTIFIER, spec)
            try:
                answer: Certified = certifier.ask(Certify(stated, solved), self.stop, beginning, most)
                answer.figures.faults = [*faults, *(answer.figures.faults or [])]
                return answer
            except WorkerDied as error:
                self._close(_CERTIFIER)
                if self.stop.is_set():
                    raise
                if len(tries) == 2 and error.is_silent:
                    continue  # its metrics are no cause of that
                tries = tries[-1:]
                metrics = ", ".join(spec.metrics) or "(none)"
                faults.append(f"the certifier failed, perhaps because of the metrics {metrics}: {error}")
        reason = f"the host could not certify the model: {faults[-1]}"
        return Certified(
            CertifiedFigures(status=Status.ERROR, stopped_by=StoppedBy.KILLED, reason=reason, faults=faults)
        )

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


def certified_record(claims: Claims, found: CertifiedFigures) -> Record:
    """Return the record of a run; what the certifier says of how it ended outweighs the claims."""
    record, ending = Record.of(claims), msgspec.structs.replace(found, status=None, stopped_by=None, reason=None)
    record.update(Record.of(ending), trace=[point.as_dict() for point in found.trace or []])
    if found.trace and found.trace[-1].reason == "end":
        known = {"seconds": "fit_seconds", "iteration": "iterations", "cpu_seconds": "cpu_seconds"}
        known["kernel_evaluations"] = "kernel_evaluations"
        record["trace"][-1] |= {name: record[column] for name, column in known.items() if column in record}
    record["faults"] = [*(claims.faults or []), *(found.faults or [])]
    record["sources"] = {**(claims.sources or {}), **(found.sources or {})}
    if found.status is not None and record.status in MEASURED:
        before = claims.reason if found.status is Status.MISSED else None
        record.update(status=found.status, reason="; ".join(filter(None, (found.reason, before))))
        record["stopped_by"] = found.stopped_by or claims.stopped_by
    return record
