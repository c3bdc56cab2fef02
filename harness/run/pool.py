"""The driver's side of the warm processes: start them, send runs, have their models certified, notice when one dies."""

from __future__ import annotations

import contextlib
import os
import tempfile
import threading
from collections import OrderedDict
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import Any

from harness.errors import UsageError
from harness.files import user_cache
from harness.machine import now
from harness.run import allowed
from harness.run.cleaning import clipped
from harness.run.messages import METRIC, Certified, Certify, Ended, Run
from harness.run.path_records import cell_records, choice, refit_of, summary
from harness.run.process import Late, Process, WorkerDied
from harness.run.record import CLAIMED, MEASURED, Record, Status, StoppedBy, checked
from harness.run.study import RunSpec

_LIVE_WORKERS = 6  # idle ones hold their data: the least recently used is closed


class Pool:
    """The processes of one job slot: a worker for each solver, and one certifier."""

    def __init__(self, cores: list[int] | None, numba_cache: Path, stop: threading.Event) -> None:
        self.cores, self.numba_cache, self.stop = cores, numba_cache, stop
        self._workers: OrderedDict[str, Process] = OrderedDict()
        self._certifier: Process | None = None
        self._certifying: Process | None = None  # that was sent the model of the run which is not over yet
        self._not_adopting: set[str] = set()  # workers that ended, or hung, when they warmed themselves up

    def run(self, spec: RunSpec, reading_seconds: float = 0.0) -> Record:
        """Carry out a run and certify its model, which all end in time; see :mod:`harness.run.allowed`.

        A process that dies under it early is replaced and asked once more.

        reading_seconds : what it took to read the run's data before
        """
        began, reading = monotonic(), allowed.reading(reading_seconds, spec.limits.seconds)
        try:
            ended = self._ended(spec, reading)
        except Late as error:
            # it is the solver's fault that its worker hangs or is stopped, unless it was not its turn yet
            stopped = StoppedBy.TIME if error.what else StoppedBy.KILLED
            reason = f"the process that carries out the solver's runs is stopped or hangs: {error}"
            return Record(status=Status.TIMEOUT, stopped_by=stopped, reason=reason, **now())
        except WorkerDied as error:
            if self.stop.is_set():
                raise
            reason = f"the process that carries out the solver's runs failed: {error}"
            return Record(status=Status.CRASHED, stopped_by=StoppedBy.KILLED, reason=reason, **now())
        record, wrong = checked({name: value for name, value in ended.claims.items() if name in CLAIMED})
        if record.status is None:
            wrong.append(f"status is {clipped(str(record.get('status')), 80)}, which is none")
        without = ended.model is None and not spec.path
        if record.status in MEASURED and (without or record.get("fit_seconds") is None):
            wrong.append("it says that it has a result, without a model or a time")
        if (record.get("fit_seconds") or 0.0) > monotonic() - began:
            wrong.append(f"its clock says {record['fit_seconds']:g} s, more than passed")
        if wrong:
            reason = f"the solver's process gave figures that cannot be: {'; '.join(wrong)}"
            record.update(status=Status.INVALID, reason=reason)
        if spec.path:
            return self._path(spec, record, ended, reading, reading_seconds)
        if ended.model is not None or ended.points:
            judge(record, checked(self._certified(spec, ended, reading))[0])
        return record

    def _path(self, spec: RunSpec, run: Record, ended: Ended, reading: float, reading_seconds: float) -> Record:
        """Return a path's summary with the rows of its cells, and that of the chosen one on all training points."""
        verdict = self._certified(spec, ended, reading) if ended.points else {}
        judged = verdict.pop("cells", None)
        judge(run, checked(verdict)[0])
        if judged is None:
            return summary(spec, run, [], None, {})
        cells = cell_records(spec, run, ended.points, judged)
        chosen = choice(spec, cells)
        if "best" not in chosen:
            return summary(spec, run, cells, None, chosen)
        refit = self.run(spec.at(chosen["best"]), reading_seconds)
        return summary(spec, run, cells, refit_of(refit, spec, chosen["best"]), chosen)

    def _ended(self, spec: RunSpec, reading: float) -> Ended:
        limit, attempts = spec.limits.seconds, 0
        while True:
            if self._certifying is not None:  # of a run that was lost: its answer is nobody's
                self._close_certifier()
            worker, is_new = self._worker(spec)
            self._started_certifier(spec)  # it loads its data meanwhile
            request = Run(spec.as_dict(), reading, spec.worker not in self._not_adopting)
            sent: list[Ended] = []

            def ahead(model: Ended, sent: list[Ended] = sent) -> None:
                sent.append(model)
                if model.model is not None or model.points:
                    self._certify(spec, model, reading)

            try:
                answer = worker.ask(request, self.stop, allowed.request(limit, reading), ahead)
                if isinstance(answer, Ended) and answer.final:
                    if not sent:
                        return answer
                    return replace(answer, model=sent[0].model, points=sent[0].points, bought=sent[0].bought)
                raise WorkerDied(f"it answered with {type(answer).__name__}")
            except WorkerDied as error:
                self._forget(spec)
                if self.stop.is_set():
                    raise
                if not worker.heard and not is_new:
                    # it was not this run that ended it or kept it, but what the one before did to it after its end
                    self._not_adopting.add(spec.worker)
                    continue
                attempts += 1
                spent = monotonic() - worker.heard if worker.heard else 0.0
                if attempts == 2 or isinstance(error, Late) or spent > 0.5 * (limit or float("inf")):
                    raise

    def _certify(self, spec: RunSpec, ended: Ended, reading: float) -> None:
        """Have a model certified while its run ends: the certifier's figures are asked for afterwards."""
        certifier = self._started_certifier(spec)
        with contextlib.suppress(WorkerDied):  # it is asked once more
            certifier.tell(Certify(spec.as_dict(), ended.model, ended.points, ended.bought, reading))
            self._certifying = certifier

    def _certified(self, spec: RunSpec, ended: Ended, reading: float) -> dict[str, Any]:
        """Return the certifier's figures. Where it dies of them, or of a metric, those without a plugin's metrics, and why."""
        faults: list[str] = []
        asked = spec.as_dict()
        while True:
            was_idle = self._certifier is not None
            certifier = self._started_certifier(spec)
            try:
                if certifier is not self._certifying:
                    certifier.tell(Certify(asked, ended.model, ended.points, ended.bought, reading))
                self._certifying = None
                answer = certifier.answer(self.stop, allowed.request(spec.limits.seconds, reading))
                if isinstance(answer, Certified):
                    return {**answer.figures, "faults": [*faults, *(answer.figures.get("faults") or [])]}
                raise WorkerDied(f"it answered with {type(answer).__name__}")
            except WorkerDied as error:
                self._close_certifier()
                if self.stop.is_set():
                    raise
                if was_idle and not certifier.heard:
                    continue  # it ended, or was stopped, before it heard of this model
                metrics = ", ".join(spec.metrics) or "(none)"
                faults.append(f"the certifier failed, perhaps of the metrics {metrics}: {error}")
                if len(faults) == 2 or (isinstance(error, Late) and not error.what.startswith(METRIC)):
                    break
                asked = {**asked, "metrics": ()}
        reason = f"the host could not certify the model: {faults[-1]}"
        return {"status": Status.ERROR, "stopped_by": StoppedBy.KILLED, "reason": reason, "faults": faults}

    def _worker(self, spec: RunSpec) -> tuple[Process, bool]:
        """Return the worker of a run, and whether it was started just now."""
        name = spec.worker
        if name in self._workers and self._workers[name].process.poll() is not None:
            self._not_adopting.add(name)
            self._forget(spec)
        is_new = name not in self._workers
        if is_new:
            while len(self._workers) >= _LIVE_WORKERS:
                self._workers.popitem(last=False)[1].close()
            self._workers[name] = self._started("harness.run.worker", spec)
        self._workers.move_to_end(name)
        return self._workers[name], is_new

    def _started(self, module: str, spec: RunSpec) -> Process:
        return Process(module, spec.threads, self.cores, self.numba_cache, allowed.starting(spec.limits.seconds))

    def _started_certifier(self, spec: RunSpec) -> Process:
        if self._certifier is not None and self._certifier.process.poll() is not None:
            self._close_certifier()
        if self._certifier is None:
            self._certifier = self._started("harness.run.certify", spec)
        return self._certifier

    def _forget(self, spec: RunSpec) -> None:
        worker = self._workers.pop(spec.worker, None)
        if worker is not None:
            worker.close()

    def close(self) -> None:
        """End all processes."""
        while self._workers:
            self._workers.popitem()[1].close()
        self._close_certifier()

    def _close_certifier(self) -> None:
        if self._certifier is not None:
            self._certifier.close()
        self._certifier = self._certifying = None


def judge(record: Record, verdict: Record) -> None:
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


def numba_cache_folder() -> Path:
    """Return the folder below which numba keeps machine code; NUMBA_CACHE_DIR, where it is set.

    Raises
    ------
    UsageError : it cannot be written.
    """
    # absolute: a run works in a folder of its own
    folder = Path(os.environ.get("NUMBA_CACHE_DIR") or user_cache("HARNESS_CACHE") / "numba").absolute()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise UsageError(
            f"the cache folder {folder} cannot be written ({error.strerror}); set HARNESS_CACHE to a folder that can."
        ) from None
    return folder
