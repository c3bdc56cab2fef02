"""The driver's side of the warm workers: start them, send runs, notice when one dies."""

from __future__ import annotations

import contextlib
import hashlib
import os
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import OrderedDict
from pathlib import Path

from harness.errors import UsageError
from harness.measure.machine import now
from harness.run.channel import LineReader, send
from harness.run.study import Record, RunSpec

_LIVE_WORKERS = 6  # idle ones hold their data: the least recently used is closed
_START_SECONDS = 300.0  # importing plugins and loading data
_AFTER_LIMIT_SECONDS = 2400.0  # compilation and the host's certificate, beyond the time limit
_CLOSE_SECONDS = 1.5
_NUMBA_CACHES_KEPT = 8


class WorkerDied(Exception):
    """The worker process itself ended; the run it had is lost and may be sent again."""


class WorkerProcess:
    """One warm worker and the socket to it."""

    def __init__(self, spec: RunSpec, cores: list[int] | None, numba_cache: Path) -> None:
        ours, theirs = socket.socketpair()
        self.socket = ours
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115  closed in close()
        with theirs:
            theirs.set_inheritable(True)
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-m", "harness.run.worker", str(theirs.fileno())],
                pass_fds=(theirs.fileno(),),
                env=_environment(spec.threads, numba_cache),
                stdin=subprocess.DEVNULL,
                stdout=self.errors,
                stderr=self.errors,
                start_new_session=True,
            )
        if cores is not None:
            os.sched_setaffinity(self.process.pid, cores)
        self.reader = LineReader(ours.fileno())

    def run(self, spec: RunSpec, stop: threading.Event) -> Record:
        """Send a run and wait for its record.

        Raises
        ------
        WorkerDied : the worker ended before it answered, or had to be killed.
        """
        try:
            send(self.socket.fileno(), {"spec": spec.as_dict()})
        except OSError as error:
            raise WorkerDied(self._epitaph()) from error
        limit = spec.time_limit if spec.time_limit is not None else float("inf")
        deadline = time.monotonic() + _START_SECONDS + limit + _AFTER_LIMIT_SECONDS
        with selectors.DefaultSelector() as selector:
            selector.register(self.socket, selectors.EVENT_READ)
            while not self.reader.closed:
                if stop.is_set():
                    raise WorkerDied("stopped")
                if time.monotonic() > deadline:
                    self.close()
                    raise WorkerDied("the worker did not answer and was killed")
                if selector.select(0.2):
                    for message in self.reader.read():
                        if message.get("event") == "record":
                            return dict(message["record"])
        raise WorkerDied(self._epitaph())

    def _epitaph(self) -> str:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(5.0)
        code = self.process.poll()
        self.errors.seek(0, os.SEEK_END)
        self.errors.seek(max(0, self.errors.tell() - 2000))
        lines = [line for line in self.errors.read().decode(errors="replace").splitlines() if line.strip()]
        how = f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"
        return f"the worker process ended by {how}" + (f": {lines[-1].strip()}" if lines else "")

    def close(self) -> None:
        """End the worker: it ends its child and what that started when the socket closes; SIGKILL if it does not."""
        self.socket.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(_CLOSE_SECONDS)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.errors.close()


class Pool:
    """The workers of one job slot, by solver."""

    def __init__(self, cores: list[int] | None, numba_cache: Path, stop: threading.Event) -> None:
        self.cores, self.numba_cache, self.stop = cores, numba_cache, stop
        self._workers: OrderedDict[str, WorkerProcess] = OrderedDict()

    def run(self, spec: RunSpec) -> Record:
        """Carry out a run; a worker that dies under it is replaced and the run sent once more."""
        reason = ""
        for _ in range(2):
            worker = self._worker(spec)
            try:
                return worker.run(spec, self.stop)
            except WorkerDied as error:
                self._forget(spec)
                if self.stop.is_set():
                    raise
                reason = str(error)
        return {"status": "crashed", "reason": f"{reason} (twice)", **now()}

    def _worker(self, spec: RunSpec) -> WorkerProcess:
        name = spec.worker
        if name in self._workers and self._workers[name].process.poll() is not None:
            self._forget(spec)
        if name not in self._workers:
            while len(self._workers) >= _LIVE_WORKERS:
                self._workers.popitem(last=False)[1].close()
            self._workers[name] = WorkerProcess(spec, self.cores, self.numba_cache)
        self._workers.move_to_end(name)
        return self._workers[name]

    def _forget(self, spec: RunSpec) -> None:
        worker = self._workers.pop(spec.worker, None)
        if worker is not None:
            worker.close()

    def close(self) -> None:
        """End all workers."""
        while self._workers:
            self._workers.popitem()[1].close()


def _environment(threads: int, numba_cache: Path) -> dict[str, str]:
    environment = dict(os.environ)
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "BLIS_NUM_THREADS"):
        environment[name] = str(threads)
    environment.setdefault("NUMBA_CACHE_DIR", str(numba_cache))
    environment["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    environment["PYTHONUNBUFFERED"] = "1"
    return environment


def numba_cache_folder(fingerprints: list[str]) -> Path:
    """Return the folder for machine code of exactly this source.

    numba keys its disk cache by the file that defines a function alone: after a change in another file the
    old machine code would be measured. The oldest folders are removed.
    """
    import platformdirs

    root = Path(os.environ.get("HARNESS_CACHE") or platformdirs.user_cache_path("svm-harness")) / "numba"
    folder = root / hashlib.sha256("".join(fingerprints).encode()).hexdigest()[:16]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        os.utime(folder)
    except OSError as error:
        raise UsageError(
            f"the cache folder {root} cannot be written ({error.strerror}); set HARNESS_CACHE to a folder that can."
        ) from None
    others = sorted((path for path in root.iterdir() if path.is_dir()), key=lambda path: path.stat().st_mtime)
    for old in others[:-_NUMBA_CACHES_KEPT]:
        shutil.rmtree(old, ignore_errors=True)
    return folder
