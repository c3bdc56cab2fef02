"""The host's processes: how they are started, sent requests, and ended for sure.

A process is forked from a template, a process that has imported what worker and certifier need, which takes a second, and no
plugin. The template is started while the driver is still reading its options, and serves all comparisons of the driver's
process whose environment is the same. It runs the host's code alone: a certifier that is forked from it never ran a solver.
Its children are those of no other process, so the driver asks it how they ended. Where it fails, they are started one by one.

The command forks its template from itself, before it has a plugin or a second thread: what both need is imported once. A
process of somebody else's, which may have both, starts one.

This module is light: the command imports it before anything else.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import io
import math
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import traceback
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import msgspec

from harness.run.channel import BrokenStream, Busy, Channel, can_read, control_socket
from harness.run.descendants import at_parents_end, sweep
from harness.support.files import user_cache, writable_folder
from harness.support.processes import continue_if_stopped, living, signal_to

_MOST_TEMPLATES = 2  # templates of the latest environments, which live though nothing forked from them does
_ANSWER_SECONDS = 300.0  # seconds until a template answers; the first time when all is imported, and once compiled
_CLOSE_SECONDS = 1.5  # seconds that a process may take to end when its socket is closed
_LATE_SECONDS = 0.5  # seconds that a message may be late
_POLL_SECONDS = 0.2  # seconds between two looks at a process that says nothing, and at the event that stops the waiting
_ORPHAN_SECONDS = 10.0  # seconds that what was forked has to end when its driver was killed
_SEND_SECONDS = 60.0  # seconds in which a process reads what it is sent: at once, or when it has started
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "BLIS_NUM_THREADS")
# classes that say where numba's cache is; numba's own ones serve functions that are in no file
_NUMBA_LOCATORS = "harness.measure.machine_code.SourceKeyedLocator,IPythonCacheLocator,ZipCacheLocator"
_OF_THE_DRIVER = ("HARNESS_STORE", "PYTEST_CURRENT_TEST")  # variables that other processes do without


def numba_cache_folder() -> Path:
    """Return the folder below which numba keeps machine code; NUMBA_CACHE_DIR, where it is set.

    Raises
    ------
    UsageError : it cannot be written.
    """
    # absolute: a run works in another folder
    return writable_folder(Path(os.environ.get("NUMBA_CACHE_DIR") or user_cache("HARNESS_CACHE") / "numba").absolute())


def variables(threads: int, numba_cache: Path, path: Sequence[str]) -> dict[str, str]:
    """Return the environment of the host's processes, which import from ``path``."""
    return {
        **{name: value for name, value in os.environ.items() if name not in _OF_THE_DRIVER},
        **dict.fromkeys(_THREADS, str(threads)),
        "NUMBA_CACHE_DIR": str(numba_cache),
        "NUMBA_CACHE_LOCATOR_CLASSES": _NUMBA_LOCATORS,
        "PYTHONPATH": os.pathsep.join(folder for folder in path if folder),
        "PYTHONUNBUFFERED": "1",
        "JE_ARROW_MALLOC_CONF": "background_thread:false",  # pandas imports Arrow, whose thread a forked worker would lack
    }


def start(
    module: str,
    control: socket.socket,
    environment: Mapping[str, str],
    output: Any = subprocess.DEVNULL,
    python: str = "",
) -> subprocess.Popen[bytes]:
    """Start a process of the host's, which serves the socket and writes to ``output``."""
    fd = control.fileno()
    return subprocess.Popen(
        [python or sys.executable, "-P", "-m", "harness.run.descendants", module, str(fd)], pass_fds=(fd,),
        env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True,
    )  # fmt: skip


class WorkerDied(Exception):
    """The process itself ended; the request it had is lost and may be sent again.

    running : the run had begun
    was_stopped : it was stopped from outside
    """

    running = was_stopped = False


class Late(WorkerDied):
    """The process did not send its next message in time, and was killed."""


class Process:
    """A warm process of the host's, and the channel to it.

    Parameters
    ----------
    module : whose ``main`` it runs
    kinds : the type of the messages that it sends, or a union of such types
    environment : its environment variables, see :func:`variables`
    stop : set where nothing is wanted any more
    cores : it is pinned to these; None: to those of this process
    python : its interpreter; empty: this process's

    Attributes
    ----------
    running : the run of the last request has begun
    is_warming_up : it runs a warm-up, and may compile
    was_stopped : it was stopped from outside during the last request, and continued
    """

    def __init__(
        self, module: str, kinds: Any, environment: Mapping[str, str], stop: threading.Event,
        cores: list[int] | None = None, python: str = "",
    ) -> None:  # fmt: skip
        ours, theirs = socket.socketpair()
        ours.settimeout(_SEND_SECONDS)
        self.channel, self.stop = Channel(ours, kinds), stop
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115  closed in kill()
        self.process: Any = None  # as `subprocess.Popen`
        with theirs:
            if not python:
                with contextlib.suppress(OSError):  # it is started by itself: stopped, it is closed at once
                    self.process = template(environment).fork(module, [theirs.fileno(), self.errors.fileno()], stop)
            self.process = self.process or start(module, theirs, environment, self.errors, python)
        os.sched_setaffinity(self.process.pid, cores or os.sched_getaffinity(0))
        self.running = self.is_warming_up = self.was_stopped = False

    def ask(self, request: Any, seconds: float) -> Any:
        """Send a request and return the answer, which is due in so many seconds, or as many as the process says meanwhile.

        Raises
        ------
        Late : no message came in time, and the process was killed.
        WorkerDied : it ended before it answered, or sent what is no message.
        """
        self.running = self.is_warming_up = self.was_stopped = False
        since = monotonic()
        deadline = since + seconds + _LATE_SECONDS
        try:
            self.channel.send(request)
            while (answer := self._message()) is None or isinstance(answer, Busy):
                if answer is not None:
                    self.running, self.is_warming_up, since = answer.running, not answer.running, monotonic()
                    deadline = since + answer.seconds + _LATE_SECONDS
                elif monotonic() > deadline:
                    raise TimeoutError
        except TimeoutError as error:
            self.kill()
            raise Late(f"no message came for {monotonic() - since:.1f} s, and it was killed") from error
        except (BrokenStream, InterruptedError) as error:
            raise WorkerDied(str(error)) from error
        except OSError:  # the process ended
            raise WorkerDied(self._epitaph()) from None
        self.is_warming_up = False
        return answer

    def _message(self) -> Any:
        """Return the next message; None if none comes for a while. A process that is stopped is continued."""
        if self.stop.is_set():
            raise InterruptedError("stopped")
        try:
            return self.channel.receive(_POLL_SECONDS)
        except TimeoutError:
            self.was_stopped |= continue_if_stopped(self.process.pid)
            return None

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
        for descendant in descendants:
            signal_to(descendant, signal.SIGKILL)
        if self.process.returncode:  # it could not remove its folder itself
            sweep(Path(tempfile.gettempdir()))
        self.errors.close()


# -- the template -----------------------------------------------------------------------------------------


class Fork(msgspec.Struct, frozen=True, tag=True):
    """To a template: fork a process that serves the first descriptor and writes to the second; the answer is its number."""

    module: str
    folder: bytes


class ExitCode(msgspec.Struct, frozen=True, tag=True):
    """To a template: return the exit code of a process that has ended, or minus the signal."""

    pid: int


class Forked:
    """A process that was forked from this one, or from the ``template``, as `subprocess.Popen` shows one."""

    def __init__(self, pid: int, template: Template | None = None) -> None:
        self.pid, self.template = pid, template
        self.returncode: int | None = None
        self._handle = os.pidfd_open(pid)

    def poll(self) -> int | None:
        """Return how it ended, None while it lives."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self.wait(0.0)
        return None

    def kill(self) -> None:
        """End it at once."""
        if self.returncode is None:
            signal_to(self.pid, signal.SIGKILL)

    def wait(self, timeout: float = math.inf) -> int:
        """Wait for its end; `subprocess.TimeoutExpired` if it lives for so many seconds."""
        if self.returncode is None:
            if not can_read(self._handle, timeout):
                raise subprocess.TimeoutExpired(str(self.pid), timeout)
            os.close(self._handle)
            try:
                self.returncode = self.template.ask(ExitCode(self.pid)) if self.template else _exit_code(self.pid)
            except OSError:  # the template is gone, and nobody else knows
                self.returncode = -signal.SIGKILL
        return self.returncode


def _exit_code(pid: int) -> int:
    """Wait for a child of this process; return its exit code, or minus the signal."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


class Template:
    """The driver's end of a template.

    forked : fork it from this process, see :func:`begin`; else it is started
    """

    def __init__(self, environment: Mapping[str, str], *, forked: bool = False) -> None:
        self._lock = threading.Lock()
        ours, theirs = socket.socketpair()
        self.channel = Channel(ours, int)
        self.process: Any  # as `subprocess.Popen`
        with theirs:
            if forked:
                self.process = _fork_template(theirs, environment)
            else:
                self.process = start("harness.run.host_process", theirs, environment)
        self.close = weakref.finalize(self, _end, self.channel, self.process, os.getpid())

    def ask(self, request: Any, descriptors: Sequence[int] = (), stop: threading.Event | None = None) -> int:
        """Return the answer to a request; OSError if there is none or ``stop`` is set first, and then never again."""
        with self._lock:
            until = monotonic() + _ANSWER_SECONDS
            try:
                self.channel.send(request, descriptors)
                while monotonic() < until and (stop is None or not stop.is_set()):
                    with contextlib.suppress(TimeoutError):
                        return int(self.channel.receive(_POLL_SECONDS))
                    continue_if_stopped(self.process.pid)
                raise TimeoutError
            except (OSError, BrokenStream) as error:
                self.close()
                raise ConnectionError("the template does not answer") from error

    def fork(self, module: str, descriptors: list[int], stop: threading.Event) -> Forked:
        """Fork a process that serves the first descriptor and writes to the second; OSError if that cannot be."""
        return Forked(self.ask(Fork(module, os.fsencode(Path.cwd())), descriptors, stop), self)


def _end(channel: Channel, process: Any, owner: int) -> None:
    """End a template; what was forked from it goes on."""
    if os.getpid() == owner:  # and no process that was forked from the driver
        channel.close()
        process.kill()
        process.wait()


_LATEST = list[tuple[object, Template]]()  # with the process and the environment that they are for
_LATEST_LOCK = threading.Lock()


def template(environment: Mapping[str, str], *, forked: bool = False) -> Template:
    """Return the template of this process for an environment; if there is none, it is started, or ``forked`` from this process."""
    key = os.getpid(), dict(environment)
    with _LATEST_LOCK:  # the threads of a driver need one at the same time
        alive = (each for known, each in _LATEST if known == key and each.process.poll() is None)
        latest = next(alive, None) or Template(environment, forked=forked)
        _LATEST[:] = [*(each for each in _LATEST if each[0] != key), (key, latest)][-_MOST_TEMPLATES:]
    return latest


def begin(threads: int, *, fork: bool = False) -> None:
    """Start the template that a comparison will need, while this process has something else to do.

    fork : fork it from this process, which has run the host's code alone, in one thread
    """
    with contextlib.suppress(Exception):  # it is raised again when the process is needed
        template(variables(threads, numba_cache_folder(), sys.path), forked=fork)


def _fork_template(control: socket.socket, environment: Mapping[str, str]) -> Forked:
    """Fork a template, which serves the socket; what it shares with this process is imported before."""
    os.environ.update({name: environment[name] for name in _THREADS})  # for the libraries that are loaded now
    _import_first()
    if pid := os.fork():
        return Forked(pid)
    try:
        at_parents_end(signal.SIGCONT)
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDWR)
        for number in map(int, os.listdir("/proc/self/fd")):
            with contextlib.suppress(OSError):  # of the list itself, which is closed by now
                if number not in (nothing, control.fileno()):
                    os.dup2(nothing, number) if number < 3 else os.close(number)
        os.close(nothing)
        for name, number in (("stdout", 1), ("stderr", 2)):  # without buffers, as PYTHONUNBUFFERED makes them
            given, raw = getattr(sys, name), io.FileIO(number, "w", closefd=False)
            setattr(sys, name, io.TextIOWrapper(raw, given.encoding, given.errors, write_through=True))
        os.environ.clear()
        os.environ.update(environment)
        serve(control)
    finally:
        os._exit(1)


# -- in the template itself --------------------------------------------------------------------------------


def _import_first() -> None:
    """Import what driver, worker and certifier need, and look once at what the host registers: much of that stays known."""
    for name in ("harness.run.worker", "harness.run.certifier", "packaging.requirements"):
        importlib.import_module(name)
    from harness.registry.discovery import load_registry

    load_registry(only=())


def _prepare() -> None:
    """Import what worker and certifier need, and have the machine code at hand that states nearly every problem.

    What solvers use of it in float32 is compiled once, and not loaded here.
    """
    gc.disable()
    _import_first()
    for name in ("scipy.sparse", "threadpoolctl"):
        importlib.import_module(name)
    import numpy as np

    import harness
    from harness.kernels.checks import check_finite
    from harness.kernels.functions import RBF
    from harness.kernels.oracle import KernelOracle
    from harness.measure.machine_code import warm_up_mark

    mark = warm_up_mark(Path(harness.__file__), "float32")
    for dtype in (np.float64,) if mark.exists() else (np.float64, np.float32):
        for features in (8, 64):  # of few and of many the values are computed in two ways
            points = np.random.default_rng(0).random((64, features))
            check_finite(KernelOracle(RBF(gamma=1.0), points, dtype=dtype))
    mark.touch()
    gc.freeze()  # keeps the collector from touching, and so copying, its pages in what is forked


def _fork(request: Fork, channel: Channel) -> int:
    """Fork a process of the host's; return its number, in the template alone."""
    served, errors = channel.descriptors
    if pid := os.fork():
        while channel.descriptors:
            os.close(channel.descriptors.pop())
        return pid
    code = 1
    try:
        at_parents_end(signal.SIGCONT)
        os.setsid()
        channel.close()
        os.dup2(errors, 1)
        os.dup2(errors, 2)
        os.close(errors)
        os.chdir(request.folder)
        gc.enable()
        importlib.invalidate_caches()  # files may be newer than the template
        sys.argv = [request.module, str(served)]
        importlib.import_module(request.module).main()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def serve(control: socket.socket) -> None:
    """Serve the driver at the other end of a socket."""
    channel = Channel(control, Fork | ExitCode, most_descriptors=2)
    _prepare()
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        for request in channel:
            channel.send(_fork(request, channel) if isinstance(request, Fork) else _exit_code(request.pid))
    _end_orphans()
    os._exit(0)


def _end_orphans() -> None:
    """Kill what was forked from this process and goes on although its driver was killed: a plugin may hold it in a warm-up."""
    until = monotonic() + _ORPHAN_SECONDS
    with contextlib.suppress(ChildProcessError):  # all have ended
        while monotonic() < until:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                for pid in living(os.getpid()):
                    continue_if_stopped(pid)  # it sees that it is alone, and ends
                sleep(_POLL_SECONDS)
    for pid in living(os.getpid()):
        signal_to(pid, signal.SIGKILL)


if __name__ == "__main__":
    serve(control_socket())
