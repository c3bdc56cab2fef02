"""A warm process of the host's: started, asked and ended for sure."""

from __future__ import annotations

import contextlib
import math
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from time import monotonic
from typing import Any

from harness.run import allowed
from harness.run.channel import BrokenStream, Channel
from harness.run.descendants import sweep
from harness.run.environments import Environment
from harness.run.messages import Busy, FromProcess, ToProcess
from harness.run.template import start, template, variables
from harness.support.processes import account, is_stopped, living, signal_to

_CLOSE_SECONDS = 1.5  # seconds that a process may take to end when its socket is closed
_LATE_SECONDS = 0.5  # seconds that a message may be late
_POLL_SECONDS = 0.2  # seconds between two looks at a process that says nothing
_WORK_SECONDS = 2.0  # seconds in which a process that works uses some CPU time, on a busy machine too
_SEND_SECONDS = 60.0  # seconds in which a process reads what it is sent: at once, or when it has started


class WorkerDied(Exception):
    """The process itself ended; the request it had is lost and may be sent again.

    running : the run had begun
    was_stopped : it was stopped from outside
    is_silent : it gave no sign of life for long, and could have taken longer
    """

    running = was_stopped = is_silent = False


class Late(WorkerDied):
    """The process did not send its next message in time, and was killed."""


class Process:
    """A warm process of the host's, and the channel to it.

    running : it said that the run which it was last asked for has begun
    compiling : it said that it compiles
    was_stopped : it was stopped from outside during the last request, and continued
    has_answered : it has answered a request, and so has started
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
        python = None if home is None else home.python
        ours, theirs = socket.socketpair()
        ours.settimeout(_SEND_SECONDS)
        self.channel = Channel(ours, FromProcess)
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115  closed in kill()
        self.process: Any = None  # as `subprocess.Popen`
        with theirs:
            if python is None:
                with contextlib.suppress(OSError):  # it is started by itself: stopped, it is closed at once
                    descriptors = [theirs.fileno(), self.errors.fileno()]
                    self.process = template(environment).fork(module, descriptors, environment, stop)
            self.process = self.process or start(module, theirs, environment, self.errors, python or "")
        if cores is not None:
            os.sched_setaffinity(self.process.pid, cores)
        self.running = self.compiling = self.was_stopped = self.has_answered = False

    def ask(self, request: ToProcess, stop: threading.Event, seconds: float, most: float = math.inf) -> Any:
        """Send a request and return the answer, which comes in so many seconds, or as many as the process says each time.

        most : seconds in which the answer comes whatever the process says. A process that has such a bound is not late
            while it uses CPU time: compiled code may keep it from saying anything

        Raises
        ------
        Late : it did not say anything in time, or was stopped, and had to be killed.
        WorkerDied : it ended before it answered, or said what is no message.
        """
        self.running = self.compiling = self.was_stopped = False
        since, cpu_seconds = monotonic(), 0.0
        if most < math.inf and self.has_answered:
            seconds = min(seconds, allowed.SILENT_SECONDS)
        deadline, latest = since + seconds + _LATE_SECONDS, since + most + _LATE_SECONDS
        try:
            self.channel.send(request)
            while True:
                try:
                    answer = self.channel.receive(_POLL_SECONDS, stop)
                except TimeoutError:
                    if not self.was_stopped and is_stopped(self.process.pid):
                        self.was_stopped = True
                        signal_to(self.process.pid, signal.SIGCONT)
                    if monotonic() > min(deadline, latest):
                        before, cpu_seconds = cpu_seconds, self._cpu_seconds()
                        if monotonic() > latest or most == math.inf or cpu_seconds <= before:
                            raise
                        deadline = monotonic() + _WORK_SECONDS
                    continue
                since = monotonic()
                if not isinstance(answer, Busy):
                    break
                self.running, self.compiling = answer.running, answer.compiling
                cpu_seconds = self._cpu_seconds()
                deadline = since + answer.seconds + _LATE_SECONDS
        except TimeoutError as error:
            self.kill()
            late = Late(f"nothing was heard for {monotonic() - since:.1f} s, and it was killed")
            late.is_silent = monotonic() < latest
            raise late from error
        except (BrokenStream, InterruptedError) as error:
            raise WorkerDied(str(error)) from error
        except OSError:  # the process ended
            raise WorkerDied(self._epitaph()) from None
        self.compiling, self.has_answered = False, True
        return answer

    def _cpu_seconds(self) -> float:
        found = account(self.process.pid)
        return 0.0 if found is None else found.cpu_seconds

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
        if self.channel.fileno() < 0:
            return
        self.channel.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(_CLOSE_SECONDS)
        self.kill()

    def kill(self) -> None:
        """End the process and what it started at once, also where it is stopped and hears nothing."""
        self.channel.close()
        descendants = living(self.process.pid)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        for each in descendants:
            signal_to(each, signal.SIGKILL)
        if self.process.returncode:  # it could not remove its folder itself
            sweep(Path(tempfile.gettempdir()))
        self.errors.close()
