"""The processes of a job slot: runs are sent to its workers, models to its certifier."""

from __future__ import annotations

import os
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from pathlib import Path
from time import monotonic

import msgspec

from harness.measure.outcome import FAILED, MEASURED, DualBound, Status, StoppedBy
from harness.run import allowed, messages
from harness.run.channel import encode
from harness.run.environments import environment_of
from harness.run.host_process import Late, Process, WorkerDied, variables
from harness.run.messages import Certified, RunResult, RunSpec, ToCertify
from harness.run.path_rows import cell_record, choice, summary
from harness.run.record import MODEL, CertifiedFigures, Claims, Record
from harness.solver.path import Grid
from harness.support.files import sha256_of
from harness.support.machine import now

_LIVE = 7  # processes: the certifier and six workers, which hold data while idle; the least recently used is closed
_QUICK_SECONDS = 15.0  # seconds of reading the data up to which a process reads them before its first run
_TELL_SECONDS = 1.0  # seconds between two sentences about what is compiled
_STARTING_SECONDS = 4.0  # seconds in which an import is over, unless the machine is busy
_CERTIFIER = "harness.run.certifier"
_MODEL_BYTES = 1 << 29  # bytes of the largest model that is kept


class ProcessPool:
    """The processes of one job slot: a worker for each solver, and one certifier.

    reading_seconds : data key -> what it took to read the data before, where that is known
    """

    def __init__(
        self, cores: list[int] | None, numba_cache: Path, stop: threading.Event, reading_seconds: Mapping[str, float]
    ) -> None:
        self.cores, self.numba_cache, self.stop, self.reading_seconds = cores, numba_cache, stop, reading_seconds
        self._processes: OrderedDict[str, Process] = OrderedDict()
        self._starting = threading.Lock()
        # names of workers that died or hung before a run began: those that replace them run no warm-up themselves
        self._run_no_warm_up: set[str] = set()

    def prepare(self, specs: Iterable[RunSpec], tell: Callable[[str], None]) -> None:
        """Have the workers of the first runs, and the certifier, ready for them all at once: nothing is measured meanwhile.

        Data that take long are read when their turn comes.

        tell : called once a second with what is compiled, and how far that is
        """
        quick = [spec for spec in specs if self.reading_seconds.get(spec.data_key, 0.0) < _QUICK_SECONDS]
        first: dict[str, RunSpec] = {}
        for spec in quick:
            if len(first) < _LIVE - 1:
                first.setdefault(spec.worker, spec)
        began = monotonic()
        with ThreadPoolExecutor(max(2, len(os.sched_getaffinity(0)))) as threads:
            workers = [threads.submit(self._prepared, name, spec) for name, spec in first.items()]
            certifier = [threads.submit(self._prepared, _CERTIFIER, spec) for spec in quick[:1]]
            while wait([*workers, *certifier], _TELL_SECONDS).not_done:
                if not self._processes and monotonic() - began > _STARTING_SECONDS:
                    what = "starting (once on this machine, this compiles what all solvers share)"
                    tell(f"{what}, {monotonic() - began:.0f} s")
                compiling = {name for name, process in dict(self._processes).items() if process.is_warming_up}
                if names := [spec.solver for name, spec in first.items() if name in compiling]:
                    ready = f"{sum(worker.done() for worker in workers)} of {len(workers)} solvers ready"
                    tell(f"compiling {', '.join(names)} ({ready}), {monotonic() - began:.0f} s")

    def _prepared(self, name: str, spec: RunSpec) -> None:
        """Have a process prepare for a run. Where it fails it is replaced, and the run says why."""
        beginning = allowed.beginning(spec.limits.time_limit, 0.0)
        try:
            with self._starting:
                process = self._process(name, spec)
            process.ask(messages.Prepare(spec), beginning)
        except WorkerDied:
            with self._starting:
                self._run_no_warm_up.add(name)
                if name in self._processes:
                    self._close(name)

    def run(self, spec: RunSpec, bound: DualBound | None = None) -> Record:
        """Carry out a run and certify its model, which all end in time; see :mod:`harness.run.allowed`.

        bound : a certified dual value of its problem, for models that have none
        """
        beginning = allowed.beginning(spec.limits.time_limit, self.reading_seconds.get(spec.data_key, 0.0))
        try:
            ended = self._ended(spec, beginning, bound)
        except WorkerDied as error:
            if self.stop.is_set():
                raise
            return certified_record(_claims_of(error), CertifiedFigures())
        claims, solved = ended.claims, ended.solved
        without = not solved.model and spec.path is None
        if claims.status is None or (claims.status in MEASURED and (without or claims.fit_seconds is None)):
            claims.status = Status.INVALID
            claims.reason = "the solver's process said that it has a result, without a status, a model or a time"
        if claims.status in FAILED and self._processes[spec.worker].was_stopped:
            claims.blame_environment("its worker was stopped")
        certified = Certified(CertifiedFigures())
        if solved.model or solved.points or solved.cells:
            certified = self._certified(spec, solved, beginning, bound)
        record = certified_record(claims, certified.figures)
        if spec.path is not None:
            return self._path(spec, spec.path, record, solved.cells, certified.cells)
        return _with_model(record, spec, solved.model, solved.queried)

    def _path(
        self, spec: RunSpec, grid: Grid, run: Record, finished: Sequence[messages.FinishedCell],
        certified: Sequence[CertifiedFigures],
    ) -> Record:  # fmt: skip
        """Return a path's summary with the rows of its cells, and that of the chosen one on all training points."""
        cells, points = list[Record](), grid.cells()
        for cell, figures in zip(finished, certified, strict=False):  # none where the certifier failed
            shared = (total / len(finished) for total in (finished[-1].shared_seconds, finished[-1].shared_cpu_seconds))
            point, record = points[cell.index], cell_record(run, cell.claims, figures, *shared)
            record.update(spec.cell_entries(point.values, cell.index), fold=point.fold)
            cells.append(_with_model(record, spec, cell.model))
        chosen, refit = choice(grid, cells), None
        if chosen:
            refit = self.run(spec.at(chosen["best"]))
            refit.update(spec.cell_entries(chosen["best"], None), shared_seconds=0.0)
        return summary(grid, run, cells, refit, chosen)

    def _ended(self, spec: RunSpec, beginning: float, bound: DualBound | None) -> RunResult:
        """Return what a worker made of a run. One that dies or hangs before the run begins is replaced once."""
        for may_retry in (True, False):
            worker = self._process(spec.worker, spec)
            self._process(_CERTIFIER, spec)  # it imports meanwhile
            warm_worker = spec.worker not in self._run_no_warm_up
            try:
                ended: RunResult = worker.ask(messages.Run(spec, warm_worker, bound), beginning)
                return ended
            except WorkerDied as error:
                self._close(spec.worker)
                error.running, error.was_stopped = worker.running, worker.was_stopped
                # it was the run before, or the warm-up, that ended or blocked the worker, and not this run
                may_retry &= not worker.running and (warm_worker or not isinstance(error, Late))
                if not may_retry or self.stop.is_set():
                    raise
                self._run_no_warm_up.add(spec.worker)
        raise AssertionError

    def _certified(
        self, spec: RunSpec, solved: ToCertify, beginning: float, bound: DualBound | None = None
    ) -> Certified:
        """Return what the certifier computed. Where it dies, without the metrics, which may be the cause."""
        faults: list[str] = []
        of_plugins = not {"harness"}.issuperset(spec.trusted)
        seconds = beginning + allowed.certifying(spec.limits.time_limit, of_plugins=of_plugins)
        for stated in (spec, replace(spec, metrics=())):
            certifier = self._process(_CERTIFIER, spec)
            try:
                answer: Certified = certifier.ask(messages.Certify(stated, solved, bound), seconds)
                answer.figures.faults = [*faults, *(answer.figures.faults or [])]
                return answer
            except WorkerDied as error:
                self._close(_CERTIFIER)
                if self.stop.is_set():
                    raise
                metrics = ", ".join(spec.metrics) or "(none)"
                faults.append(f"the certifier failed, perhaps because of the metrics {metrics}: {error}")
        reason = f"the host could not certify the model: {faults[-1]}"
        return Certified(
            CertifiedFigures(status=Status.ERROR, stopped_by=StoppedBy.KILLED, reason=reason, faults=faults)
        )

    def _process(self, name: str, spec: RunSpec) -> Process:
        """Return a process that lives, started if there is none."""
        if name in self._processes and self._processes[name].process.poll() is not None:
            self._close(name)
        if name not in self._processes:
            while len(self._processes) >= _LIVE:
                self._processes.popitem(last=False)[1].close()
            home = None if name == _CERTIFIER else environment_of(spec.requires)  # the certifier is the host's
            if home is not None and (fault := home.fault()):
                raise WorkerDied(fault)  # it was there when the comparison was planned
            path, python = (sys.path, "") if home is None else (home.path, home.python)
            environment = variables(spec.threads, self.numba_cache, path)
            module = _CERTIFIER if name == _CERTIFIER else "harness.run.worker"
            self._processes[name] = Process(module, messages.FromProcess, environment, self.stop, self.cores, python)
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


def _claims_of(error: WorkerDied) -> Claims:
    """Return the claims of a run whose worker ended or hung."""
    reason = f"the process that carries out the solver's runs failed: {error}"
    claims = Claims(status=Status.CRASHED, stopped_by=StoppedBy.KILLED, reason=reason, measured_at=now())
    if error.was_stopped:
        claims.reason = str(error)
        claims.blame_environment("its worker was stopped")
    elif isinstance(error, Late):  # it is the solver's fault, unless it was not its turn yet
        claims.status, claims.stopped_by = Status.TIMEOUT, StoppedBy.TIME if error.running else StoppedBy.KILLED
    return claims


def _with_model(record: Record, spec: RunSpec, model: bytes, queried: Sequence[int] = ()) -> Record:
    """Return a record with its model and the model's hash if models are kept and it was certified."""
    if spec.keep_model and len(model) > _MODEL_BYTES:
        fault = f"its model of {len(model) / 1e6:,.0f} MB is not kept; at most {_MODEL_BYTES / 1e6:,.0f} MB are"
        record["faults"] = [*(record.get("faults") or []), fault]
    elif spec.keep_model and model and record.measured:
        record[MODEL] = encode(ToCertify(model, queried=list(queried), seed=spec.seed))
        record["model_sha256"] = sha256_of(record[MODEL])
    return record


def certified_record(claims: Claims, certified: CertifiedFigures) -> Record:
    """Return the record of a run; what the certifier says of how it ended outweighs the claims."""
    status = stopped_by = reason = None
    if certified.status is not None and claims.status in MEASURED:
        status, stopped_by, reason = certified.status, certified.stopped_by, certified.reason
        if status is Status.MISSED:
            reason = "; ".join(filter(None, (reason, claims.reason)))
    figures = msgspec.structs.replace(
        certified, status=status, stopped_by=stopped_by, reason=reason, trace=certified.trace or [],
        faults=[*(claims.faults or []), *(certified.faults or [])], sources={**(claims.sources or {}), **(certified.sources or {})},
    )  # fmt: skip
    record = Record.of(claims, figures)
    if certified.trace and certified.trace[-1].reason == "end":
        names = {"fit_seconds": "seconds", "iterations": "iteration"}
        for column in ("fit_seconds", "cpu_seconds", "iterations", "kernel_evaluations"):
            if column in record:
                record["trace"][-1][names.get(column, column)] = record[column]
    return record
