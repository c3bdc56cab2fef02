"""The driver's side of the warm processes: start them, send runs, have their models certified, notice when one dies."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections import OrderedDict
from pathlib import Path
from time import monotonic

from harness.errors import UsageError
from harness.files import user_cache
from harness.measure.machine import now
from harness.run.messages import BrokenStream, Certified, Certify, Ended, Message, Reader, Run, send
from harness.run.record import CLAIMED, MEASURED, Record, Status, StoppedBy, checked, clipped
from harness.run.study import RunSpec

_LIVE_WORKERS = 6  # idle ones hold their data: the least recently used is closed
_START_SECONDS = 300.0  # importing plugins and loading data
_COMPILE_SECONDS = 600.0  # beyond the time limit
_CERTIFY_SECONDS = 1800.0
_CLOSE_SECONDS = 1.5
# what tells numba where in it; its own ways serve functions that are in no file
_NUMBA_LOCATORS = "harness.measure.machine_code.SourceKeyedLocator,IPythonCacheLocator,ZipCacheLocator"


class WorkerDied(Exception):
    """The process itself ended; the request it had is lost and may be sent again."""


class _Process:
    """A warm process of the host's, and the socket to it."""

    def __init__(self, module: str, threads: int, cores: list[int] | None, numba_cache: Path) -> None:
        ours, theirs = socket.socketpair()
        self.socket = ours
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115  closed in close()
        with theirs:
            theirs.set_inheritable(True)
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-m", module, str(theirs.fileno())],
                pass_fds=(theirs.fileno(),),
                env=_environment(threads, numba_cache),
                stdin=subprocess.DEVNULL,
                stdout=self.errors,
                stderr=self.errors,
                start_new_session=True,
            )
        if cores is not None:
            os.sched_setaffinity(self.process.pid, cores)
        self.reader = Reader(ours.fileno())

    def ask(self, message: Message, stop: threading.Event, limit: float) -> Message:
        """Send a request and wait, at most ``limit`` seconds, for the answer.

        Raises
        ------
        WorkerDied : the process ended before it answered, said what is no message, or had to be killed.
        """
        try:
            send(self.socket.fileno(), message)
        except OSError as error:
            raise WorkerDied(self._epitaph()) from error
        deadline = monotonic() + limit
        with selectors.DefaultSelector() as selector:
            selector.register(self.socket, selectors.EVENT_READ)
            while not self.reader.closed:
                if stop.is_set():
                    raise WorkerDied("stopped")
                if monotonic() > deadline:
                    self.close()
                    raise WorkerDied("it did not answer and was killed")
                if selector.select(0.2):
                    try:
                        for answer in self.reader.read():
                            return answer
                    except BrokenStream as error:
                        raise WorkerDied(str(error)) from error
        raise WorkerDied(self._epitaph())

    def _epitaph(self) -> str:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(5.0)
        code = self.process.poll()
        self.errors.seek(0, os.SEEK_END)
        self.errors.seek(max(0, self.errors.tell() - 2000))
        lines = [line for line in self.errors.read().decode(errors="replace").splitlines() if line.strip()]
        how = f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"
        return f"it ended by {how}" + (f": {lines[-1].strip()}" if lines else "")

    def close(self) -> None:
        """End the process: it ends its child and what that started when the socket closes; SIGKILL if it does not."""
        self.socket.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(_CLOSE_SECONDS)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.errors.close()


class Pool:
    """The processes of one job slot: a worker for each solver, and one certifier."""

    def __init__(self, cores: list[int] | None, numba_cache: Path, stop: threading.Event) -> None:
        self.cores, self.numba_cache, self.stop = cores, numba_cache, stop
        self._workers: OrderedDict[str, _Process] = OrderedDict()
        self._certifier: _Process | None = None

    def run(self, spec: RunSpec) -> Record:
        """Carry out a run and certify its model. A process that dies under it is replaced and asked once more."""
        began = monotonic()
        try:
            ended = self._ended(spec)
        except WorkerDied as error:
            if self.stop.is_set():
                raise
            reason = f"the worker process failed twice: {error}"
            return Record(status=Status.CRASHED, stopped_by=StoppedBy.KILLED, reason=reason, **now())
        record, wrong = checked({name: value for name, value in ended.claims.items() if name in CLAIMED})
        if record.status is None:
            wrong.append(f"status is {clipped(str(record.get('status')), 80)}, which is none")
        if record.status in MEASURED and (ended.model is None or record.get("fit_seconds") is None):
            wrong.append("it says that it has a result, without a model or a time")
        if (record.get("fit_seconds") or 0.0) > monotonic() - began:
            wrong.append(f"its clock says {record['fit_seconds']:g} s, more than passed")
        if wrong:
            reason = f"the solver's process gave figures that cannot be: {'; '.join(wrong)}"
            record.update(status=Status.INVALID, reason=reason)
        if ended.model is not None or ended.points:
            judge(record, self._certified(spec, ended))
        return record

    def _ended(self, spec: RunSpec) -> Ended:
        limit = spec.limits.seconds if spec.limits.seconds is not None else float("inf")
        for attempt in range(2):
            worker = self._worker(spec)
            self._started_certifier(spec)  # it loads its data meanwhile
            try:
                answer = worker.ask(Run(spec.as_dict()), self.stop, _START_SECONDS + limit + _COMPILE_SECONDS)
                if isinstance(answer, Ended):
                    return answer
                raise WorkerDied(f"it answered with {type(answer).__name__}")
            except WorkerDied:
                self._forget(spec)
                if attempt or self.stop.is_set():
                    raise
        raise AssertionError

    def _certified(self, spec: RunSpec, ended: Ended) -> Record:
        """Return the certifier's figures. Where it dies of them, those without a plugin's metrics, and why."""
        faults: list[str] = []
        for asked in (spec.as_dict(), {**spec.as_dict(), "metrics": ()}):
            certifier = self._started_certifier(spec)
            try:
                answer = certifier.ask(
                    Certify(asked, ended.model, ended.points, ended.bought), self.stop, _CERTIFY_SECONDS
                )
                if isinstance(answer, Certified):
                    found, _ = checked(answer.figures)
                    return Record({**found, "faults": [*faults, *(found.get("faults") or [])]})
            except WorkerDied as error:
                certifier.close()
                self._certifier = None
                if self.stop.is_set():
                    raise
                faults.append(
                    f"the certifier failed, perhaps of the metrics {', '.join(spec.metrics) or '(none)'}: {error}"
                )
        reason = f"the host could not certify the model: {faults[-1]}"
        return Record(status=Status.ERROR, stopped_by=StoppedBy.KILLED, reason=reason, faults=faults)

    def _worker(self, spec: RunSpec) -> _Process:
        name = spec.worker
        if name in self._workers and self._workers[name].process.poll() is not None:
            self._forget(spec)
        if name not in self._workers:
            while len(self._workers) >= _LIVE_WORKERS:
                self._workers.popitem(last=False)[1].close()
            self._workers[name] = _Process("harness.run.worker", spec.threads, self.cores, self.numba_cache)
        self._workers.move_to_end(name)
        return self._workers[name]

    def _started_certifier(self, spec: RunSpec) -> _Process:
        if self._certifier is not None and self._certifier.process.poll() is not None:
            self._certifier.close()
            self._certifier = None
        if self._certifier is None:
            self._certifier = _Process("harness.run.certify", spec.threads, self.cores, self.numba_cache)
        return self._certifier

    def _forget(self, spec: RunSpec) -> None:
        worker = self._workers.pop(spec.worker, None)
        if worker is not None:
            worker.close()

    def close(self) -> None:
        """End all processes."""
        while self._workers:
            self._workers.popitem()[1].close()
        if self._certifier is not None:
            self._certifier.close()
            self._certifier = None


def judge(record: Record, verdict: Record) -> None:
    """Add the certifier's figures to a record; what it says of how the run ended outweighs what the solver says."""
    status, reason, killed = (verdict.pop(name, None) for name in ("status", "reason", "stopped_by"))
    trace, faults = verdict.pop("trace", None) or [], verdict.pop("faults", None) or []
    if trace and trace[-1].get("reason") == "end":
        known = {"seconds": "fit_seconds", "kernel_evaluations": "kernel_evaluations", "iteration": "iterations"}
        trace[-1] |= {name: record[column] for name, column in known.items() if record.get(column) is not None}
    sources = {**(record.get("sources") or {}), **(verdict.pop("sources", None) or {})}
    record.update(verdict, trace=trace, faults=[*(record.get("faults") or []), *faults], sources=sources)
    if status is not None and record.status in MEASURED:
        before = record.get("reason") if status == Status.MISSED else None
        record.update(status=status, reason="; ".join(text for text in (reason, before) if text))
        record.update(stopped_by=killed or record.get("stopped_by"))


def _environment(threads: int, numba_cache: Path) -> dict[str, str]:
    environment = dict(os.environ)
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "BLIS_NUM_THREADS"):
        environment[name] = str(threads)
    environment |= {"NUMBA_CACHE_DIR": str(numba_cache), "NUMBA_CACHE_LOCATOR_CLASSES": _NUMBA_LOCATORS}
    environment["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    environment["PYTHONUNBUFFERED"] = "1"
    return environment


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
