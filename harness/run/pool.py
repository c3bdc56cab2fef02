"""The driver's side of the warm processes: start them, ask them, have models certified, and end them for sure.

A path of problems is a run whose points are its cells: it has a row for each cell with its share of the run's time, a
choice among them, and a summary. The run's seconds are the sum of its cells': each has its own, and an equal part of what
all share (`shared_seconds`). The choice is the cell of the least mean validation error over the folds; of equals the
smallest values, the first axis first (C, then gamma). LIBSVM's grid.py takes of equal rates the one it met first, of the
same gamma the smaller C.
"""

from __future__ import annotations

import contextlib
import math
import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from pathlib import Path
from statistics import fmean, stdev
from time import monotonic
from typing import Any

from harness.measure.outcome import MEASURED, Status, StoppedBy
from harness.run import allowed
from harness.run.descendants import living, signal_to
from harness.run.environments import Environment, environment_of
from harness.run.folder import sweep
from harness.run.messages import (
    BrokenStream,
    Busy,
    Certify,
    Message,
    Point,
    Prepare,
    Reader,
    Run,
    RunResult,
    ToCertify,
    send,
)
from harness.run.plan import RunSpec
from harness.run.record import CLAIMED, Record, checked
from harness.run.template import Forked, command, template, variables
from harness.solver.path import Grid
from harness.support.machine import now
from harness.support.printable import clipped

_LIVE = 7  # the certifier and six workers, which hold their data while idle: the least recently used is closed
_CLOSE_SECONDS = 1.5
_LATE_SECONDS = 0.5  # that a message may be late
_SEND_SECONDS = 60  # in which somebody reads what is sent: at once, or when it has started
_POLL_SECONDS = 0.2
_QUICK_SECONDS = 15.0
_TELL_SECONDS = 1.0
_STARTING_SECONDS = 4.0  # an import is over then, unless the machine is busy
_CERTIFIER = "harness.run.certifier"
_TOLD = (
    "status", "reason", "stopped_by", "fit_seconds", "cpu_seconds", "cache_hits", "iterations", "working_set_size",
    "claimed_done", "info",
)  # fmt: skip
_MEASURED = ("fit_seconds", "cpu_seconds", "kernel_evaluations", "iterations")


class WorkerDied(Exception):
    """The process itself ended; the request it had is lost and may be sent again; ``running`` : the run had begun."""

    running = False


class Late(WorkerDied):
    """The process did not send its next message in time, and was killed."""


class Process:
    """A warm process of the host's, and the socket to it.

    running : it said that the run which it was last asked for has begun
    compiling : it said that it compiles
    """

    def __init__(
        self,
        module: str,
        threads: int,
        cores: list[int] | None,
        numba_cache: Path,
        stop: threading.Event,
        home: Environment | None = None,
    ) -> None:
        environment = variables(threads, numba_cache, sys.path if home is None else home.path)
        ours, theirs = socket.socketpair()
        # who does not read does not hold us up
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", _SEND_SECONDS, 0))
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", 0, int(_POLL_SECONDS * 1e6)))
        self.socket = ours
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115  closed in kill()
        with theirs:
            self.process = self._started(module, theirs, environment, None if home is None else home.python, stop)
        if cores is not None:
            os.sched_setaffinity(self.process.pid, cores)
        self.reader = Reader(ours.fileno())
        self.running = self.compiling = False

    def _started(
        self,
        module: str,
        control: socket.socket,
        environment: Mapping[str, str],
        python: str | None,
        stop: threading.Event,
    ) -> Forked | subprocess.Popen[bytes]:
        """Fork the process from this interpreter's template; start it by itself where there is none, or ``python`` is another one."""
        if python is None:
            with contextlib.suppress(OSError):  # stopped: the one that is started instead is closed at once
                return template(environment).fork(module, control, self.errors, environment, stop)
        return subprocess.Popen(
            command(module, control, python or sys.executable), pass_fds=(control.fileno(),), env=environment,
            stdin=subprocess.DEVNULL, stdout=self.errors, stderr=self.errors, start_new_session=True,
        )  # fmt: skip

    def ask(self, request: Message, stop: threading.Event, seconds: float) -> Any:
        """Send a request and return the answer, which comes in so many seconds, or as many as the process says each time.

        Raises
        ------
        Late : it did not say anything in time, or was stopped, and had to be killed.
        WorkerDied : it ended before it answered, or said what is no message.
        """
        self.running = self.compiling = False
        since = monotonic()
        deadline = since + seconds + _LATE_SECONDS
        try:
            send(self.socket.fileno(), request)
            while not self.reader.closed:
                received = self.reader.received
                for answer in self.reader.read():
                    if not isinstance(answer, Busy):
                        self.compiling = False
                        return answer
                    since = monotonic()
                    self.running, self.compiling = answer.running, answer.compiling
                    deadline = since + answer.seconds + _LATE_SECONDS
                if stop.is_set():
                    raise WorkerDied("stopped")
                # after a last look: we may have been stopped ourselves
                if self.reader.received == received and monotonic() > deadline:
                    self.kill()
                    raise Late(f"nothing was heard for {monotonic() - since:.1f} s, and it was killed")
        except BrokenStream as error:
            raise WorkerDied(str(error)) from error
        except OSError:  # nobody reads
            pass
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
        if self.socket.fileno() < 0:
            return
        self.socket.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(_CLOSE_SECONDS)
        self.kill()

    def kill(self) -> None:
        """End the process and what it started at once, also where it is stopped and hears nothing."""
        self.socket.close()
        descendants = living(self.process.pid)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        for each in descendants:
            signal_to(each, signal.SIGKILL)
        if self.process.returncode:  # it could not remove its folder itself
            sweep(Path(tempfile.gettempdir()))
        self.errors.close()


class ProcessPool:
    """The processes of one job slot: a worker for each solver, and one certifier."""

    def __init__(self, cores: list[int] | None, numba_cache: Path, stop: threading.Event) -> None:
        self.cores, self.numba_cache, self.stop = cores, numba_cache, stop
        self._processes: OrderedDict[str, Process] = OrderedDict()
        self._starting = threading.Lock()
        self._not_adopting: set[str] = set()  # workers that ended, or hung, before their run began
        self._failed: set[str] = set()  # workers that did so before they were asked for a run

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
                self._failed.add(name)
                self._not_adopting.add(name)
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
        """Have a run carried out. A process that dies before it begins with it is replaced, and asked once more."""
        tries = (False,) if spec.worker in self._failed else (True, False)
        self._failed.discard(spec.worker)
        for may_retry in tries:
            worker = self._process(spec.worker, "harness.run.worker", spec)
            self._process(_CERTIFIER, _CERTIFIER, spec)  # it imports meanwhile
            try:
                ended: RunResult = worker.ask(Run(spec, spec.worker not in self._not_adopting), self.stop, beginning)
                return ended
            except WorkerDied as error:
                self._close(spec.worker)
                error.running = worker.running
                if worker.running or not may_retry or self.stop.is_set():
                    raise
                # it was not this run that ended it or kept it, but what the one before did to it
                self._not_adopting.add(spec.worker)
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
            with contextlib.suppress(OSError):
                process.socket.shutdown(socket.SHUT_RDWR)
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


def cell_records(
    spec: RunSpec, run: Record, points: Sequence[Point], judged: Sequence[Mapping[str, Any]]
) -> list[Record]:
    """Return a record for each finished cell; ``run`` is the path's own, whose costs they share.

    judged : the certifier's figures of each point
    """
    cells = Grid.from_dict(spec.path).cells()
    last = points[-1].figures if points else {}
    count = max(1, len(points))
    shared, shared_cpu = (float(last.get(name) or 0.0) / count for name in ("shared_seconds", "shared_cpu_seconds"))
    found = []
    for point, verdict in zip(points, judged, strict=True):
        claimed, cell = point.figures, cells[point.figures["cell"]]
        told = {name: claimed.get(name) for name in _TOLD}
        told["fit_seconds"] = (told["fit_seconds"] or 0.0) + shared
        told["cpu_seconds"] = (told["cpu_seconds"] or 0.0) + shared_cpu
        told["kernel_evaluations"] = claimed.get("own_evaluations")
        place, at = {**spec.path, "cell": cell.index}, spec.at(cell.values)
        record, _ = checked(
            {
                **told, **verdict, "shared_seconds": shared, "path": place, "fold": cell.fold,
                "measured_at": run.get("measured_at"), "sources": run.get("sources"),
                "problem_parameters": at.problem_parameters, "kernel_parameters": at.kernel_parameters,
            }
        )  # fmt: skip
        found.append(record)
    return found


def choice(spec: RunSpec, cells: Sequence[Record]) -> dict[str, Any]:
    """Return ``best``, the values of the cell of least mean validation error, that error and its standard error.

    Empty without folds, where not all cells were finished, and where none has a validation error of every fold.
    """
    axes, folds = (*spec.path["costs"], *spec.path["widths"]), spec.path["folds"]
    errors: dict[tuple[float, ...], list[float]] = {}
    for cell in cells:
        given = {**(cell.get("problem_parameters") or {}), **(cell.get("kernel_parameters") or {})}
        if cell.get("validation_error") is not None:
            errors.setdefault(tuple(given[name] for name in axes), []).append(cell["validation_error"])
    whole = {values: found for values, found in errors.items() if len(found) == folds}
    if not folds or not whole or len(cells) < Grid.from_dict(spec.path).size:
        return {}
    best = min(whole, key=lambda values: (fmean(whole[values]), values))
    error = stdev(whole[best]) / math.sqrt(folds) if folds > 1 else 0.0
    return {"best": dict(zip(axes, best, strict=True)), "cv_error": fmean(whole[best]), "cv_standard_error": error}


def summary(
    spec: RunSpec, run: Record, cells: Sequence[Record], refit: Record | None, chosen: dict[str, Any]
) -> Record:
    """Return the path's own record: its totals, the choice, and the test figures of the refit."""
    gaps = [cell["relative_gap"] for cell in cells if cell.get("relative_gap") is not None]
    every = [*cells, *([] if refit is None else [refit])]
    path = {
        **spec.path,
        "cells": Grid.from_dict(spec.path).size,
        "finished": len(cells),
        "rows": len(every),
        "certified": sum(cell.status is Status.OK and cell.get("relative_gap") is not None for cell in cells),
        "worst_gap": max(gaps, default=None),
        **chosen,
    }
    found = Record({**run, "path": path, "shared_seconds": sum(cell.get("shared_seconds") or 0.0 for cell in cells)})
    for name in _MEASURED:  # of a run that was killed what was measured of it
        parts = [run] if run.get("fit_seconds") is not None else cells
        known = [part[name] for part in (*parts, *every[len(cells) :]) if part.get(name) is not None]
        found[name] = sum(known) if known else None
    if refit is not None:
        found.update(
            {name: refit.get(name) for name in ("test_accuracy", "metrics", "metrics_better", "support_vectors")}
        )
    astray = [cell for cell in every if cell.status is not Status.OK]
    if found.status is Status.OK and astray:
        first = astray[0]
        told = f"{len(astray)} of {len(every)} cells are not ok, the first one is {first.get('status')}: {first.get('reason')}"
        found.update(status=first.get("status"), stopped_by=first.get("stopped_by"), reason=told)
    found.cells = tuple(every)
    return found
