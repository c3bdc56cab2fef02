"""A warm process of the host's as the driver sees it: start it, ask it, wait as long as it says, and end it for sure."""

from __future__ import annotations

import contextlib
import itertools
import os
import selectors
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from typing import Any

from harness.machine import started
from harness.run import groups
from harness.run.descendants import living
from harness.run.folder import sweep
from harness.run.messages import BrokenStream, Busy, Ended, Message, Reader, send

_CLOSE_SECONDS = 1.5
_LATE_SECONDS = 0.5  # that a message may be late
_IDLE_SECONDS = 5.0  # in which a process that has nothing to do hears a request
_SEND_SECONDS = 60  # in which somebody reads what is sent: at once, or when it has started
# what tells numba where in its cache; its own ways serve functions that are in no file
_NUMBA_LOCATORS = "harness.measure.machine_code.SourceKeyedLocator,IPythonCacheLocator,ZipCacheLocator"
_GROUP = "harness-run"  # begins the names of control groups: then the driver's pid, when it started, a number
_NUMBER = itertools.count()
_LOCK = threading.Lock()


class WorkerDied(Exception):
    """The process itself ended; the request it had is lost and may be sent again."""


class Late(WorkerDied):
    """The process did not send its next message in time and was killed; ``what`` it was at, empty if it said nothing."""

    def __init__(self, what: str, seconds: float) -> None:
        super().__init__(
            f"nothing was heard for {seconds:.1f} s {f'while {what}' if what else 'after it was asked'}; killed"
        )
        self.what = what


class Process:
    """A warm process of the host's, and the socket to it.

    heard : when it last said something to the request that it has, of ``monotonic()``; 0.0: nothing
    doing : what it then said that it does
    """

    def __init__(
        self, module: str, threads: int, cores: list[int] | None, numba_cache: Path, starting: float = 60.0
    ) -> None:
        """Start it; ``starting`` : seconds in which it hears its first request."""
        ours, theirs = socket.socketpair()
        # who does not read does not hold us up
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", _SEND_SECONDS, 0))
        self.socket = ours
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115  closed in kill()
        with theirs:
            theirs.set_inheritable(True)
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-m", "harness.run.start", module, str(theirs.fileno())],
                pass_fds=(theirs.fileno(),),
                env=_environment(threads, numba_cache),
                stdin=subprocess.DEVNULL,
                stdout=self.errors,
                stderr=self.errors,
                start_new_session=True,
            )
        self.group = _group_of(self.process.pid)
        if cores is not None:
            os.sched_setaffinity(self.process.pid, cores)
        self.reader = Reader(ours.fileno())
        self.heard, self.doing = 0.0, ""
        self._free_by = monotonic() + starting

    def ask(
        self, message: Message, stop: threading.Event, limit: float, ahead: Callable[[Ended], None] | None = None
    ) -> Any:
        """Send a request and wait for the answer; see :meth:`tell` and :meth:`answer`."""
        self.tell(message)
        return self.answer(stop, limit, ahead)

    def tell(self, message: Message) -> None:
        """Send a request, which :meth:`answer` waits for.

        Raises
        ------
        WorkerDied : it ended.
        """
        self.heard, self.doing = 0.0, ""
        try:
            send(self.socket.fileno(), message)
        except OSError as error:
            raise WorkerDied(self._epitaph()) from error

    def answer(self, stop: threading.Event, limit: float, ahead: Callable[[Ended], None] | None = None) -> Any:
        """Wait for the answer, at most ``limit`` seconds, and as long as the process says each time.

        ahead : called with what it sends ahead of its answer, once

        Raises
        ------
        Late : it did not say anything in time, or was stopped, and had to be killed.
        WorkerDied : it ended before it answered, or said what is no message.
        """
        began = since = monotonic()
        deadline = max(self._free_by, began + _IDLE_SECONDS) + _LATE_SECONDS
        with selectors.DefaultSelector() as selector:
            selector.register(self.socket, selectors.EVENT_READ)
            while not self.reader.closed:
                if stop.is_set():
                    raise WorkerDied("stopped")
                if not selector.select(0.2):
                    # after a last look: we may have been stopped ourselves
                    if monotonic() > min(deadline, began + limit):
                        self.kill()
                        raise Late(self.doing, monotonic() - since)
                    continue
                try:
                    for answer in self.reader.read():
                        self.heard = since = monotonic()
                        if isinstance(answer, Ended) and not answer.final and ahead is not None:
                            ahead(answer)
                            ahead = None
                        elif not isinstance(answer, Busy):
                            self._free_by = since + getattr(answer, "occupied", 0.0)
                            return answer
                        else:
                            self.doing, deadline = answer.what, since + answer.seconds + _LATE_SECONDS
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
        if self.socket.fileno() < 0:
            return
        self.socket.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(_CLOSE_SECONDS)
        self.kill()

    def kill(self) -> None:
        """End the process and what it started at once, also where it is stopped and hears nothing."""
        self.socket.close()
        descendants = [] if self.group is not None else living(self.process.pid)
        if self.group is not None:
            self.group.kill()
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        for each in descendants:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(each, signal.SIGKILL)
        if self.group is not None:
            self.group.remove()
            self.group = None
        if self.process.returncode:  # it could not remove its folder itself
            sweep(Path(tempfile.gettempdir()))
        self.errors.close()


def _group_of(pid: int) -> groups.Group | None:
    """Make a control group for a process that was just started and take it in; None where that is refused."""
    with _LOCK:
        own = groups.own()
        first = not (number := next(_NUMBER))
    if own is None:
        return None
    if first:
        _clear(own)
    group = own.below(f"{_GROUP}-{os.getpid()}-{started(os.getpid())}-{number}")
    if group is None:
        return None
    try:
        group.add(pid)
    except OSError:  # it is gone already, or the system refuses
        group.remove()
        return None
    return group


def _clear(own: groups.Group) -> None:
    """Take the groups away that drivers left which were killed; those in which something still runs stay."""
    for folder in own.folder.glob(f"{_GROUP}-*-*-*"):
        pid, begun, _ = folder.name.removeprefix(f"{_GROUP}-").split("-", 2)
        if pid.isdigit() and str(started(int(pid))) != begun:
            for each in (*sorted((path for path in folder.rglob("*") if path.is_dir()), reverse=True), folder):
                with contextlib.suppress(OSError):
                    each.rmdir()


def _environment(threads: int, numba_cache: Path) -> dict[str, str]:
    environment = dict(os.environ)
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "BLIS_NUM_THREADS"):
        environment[name] = str(threads)
    environment |= {"NUMBA_CACHE_DIR": str(numba_cache), "NUMBA_CACHE_LOCATOR_CLASSES": _NUMBA_LOCATORS}
    environment["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    environment["PYTHONUNBUFFERED"] = "1"
    return environment
