"""The process that worker and certifier are forked from: it has imported what they need, which takes a second, and no plugin.

It is started while the driver is still reading its options, and serves all comparisons of the driver's process whose
environment is the same. It runs the host's own code alone: a certifier that is forked from it never ran a solver. Its children
are those of no other process, so it tells the driver how they ended. Where it fails, they are started one by one.

This module is light: the command imports it before anything else.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import monotonic, sleep
from typing import IO, Any

from harness.run.descendants import at_parents_end
from harness.support.files import user_cache, writable_folder
from harness.support.processes import is_alive

_KEPT = 2  # of different environments, beside those whose processes live
_ANSWER_SECONDS = 300.0  # the first answer comes when all is imported, and once compiled
_POLL_SECONDS = 0.2
_ROUND_SECONDS = 0.002
_MESSAGE_BYTES = 1 << 20
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "BLIS_NUM_THREADS")
# what tells numba where in its cache; its own ways serve functions that are in no file
_NUMBA_LOCATORS = "harness.measure.machine_code.SourceKeyedLocator,IPythonCacheLocator,ZipCacheLocator"
_READ_LATER = ("HARNESS_", "PYTEST_")  # variables that no import reads: a template serves whatever they are


def numba_cache_folder() -> Path:
    """Return the folder below which numba keeps machine code; NUMBA_CACHE_DIR, where it is set.

    Raises
    ------
    UsageError : it cannot be written.
    """
    # absolute: a run works in a folder of its own
    return writable_folder(Path(os.environ.get("NUMBA_CACHE_DIR") or user_cache("HARNESS_CACHE") / "numba").absolute())


def variables(threads: int, numba_cache: Path, path: Sequence[str]) -> dict[str, str]:
    """Return the environment of the host's processes, which import from ``path``."""
    return {
        **os.environ,
        **dict.fromkeys(_THREADS, str(threads)),
        "NUMBA_CACHE_DIR": str(numba_cache),
        "NUMBA_CACHE_LOCATOR_CLASSES": _NUMBA_LOCATORS,
        "PYTHONPATH": os.pathsep.join(each for each in path if each),
        "PYTHONUNBUFFERED": "1",
    }


def command(module: str, control: socket.socket, python: str = sys.executable) -> list[str]:
    """Return the command of a process of the host's, which serves the socket."""
    return [python, "-P", "-m", "harness.run.descendants", module, str(control.fileno())]


class Forked:
    """A process that was forked from the template, as `subprocess.Popen` shows one."""

    def __init__(self, template: Template, pid: int) -> None:
        self.template, self.pid = template, pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Return how it ended, None while it lives."""
        if self.returncode is None:
            try:
                self.returncode = self.template.ask({"ended": self.pid})
            except OSError:  # nobody else knows
                self.returncode = None if is_alive(self.pid) else -signal.SIGKILL
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end; `subprocess.TimeoutExpired` if it lives for so many seconds."""
        until = None if timeout is None else monotonic() + timeout
        while (code := self.poll()) is None:
            if until is not None and monotonic() > until:
                raise subprocess.TimeoutExpired(str(self.pid), timeout or 0.0)
            sleep(_ROUND_SECONDS)
        return code


class Template:
    """The driver's end of a template."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._lock = threading.Lock()
        self._forked: list[Forked] = []
        self.socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self.process = subprocess.Popen(
                command("harness.run.template", theirs), pass_fds=(theirs.fileno(),), env=environment,
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
            )  # fmt: skip

    def ask(self, request: dict[str, Any], descriptors: Sequence[int] = (), stop: threading.Event | None = None) -> Any:
        """Return the answer to a request; OSError if there is none or ``stop`` is set first, and then never again."""
        until = monotonic() + _ANSWER_SECONDS
        with self._lock:
            try:
                socket.send_fds(self.socket, [json.dumps(request).encode()], descriptors)
                while not select.select([self.socket], [], [], _POLL_SECONDS)[0]:
                    if monotonic() > until or (stop is not None and stop.is_set()):
                        raise TimeoutError
                answer = self.socket.recv(_MESSAGE_BYTES)
            except OSError:
                self.close()
                raise
        if not answer:
            raise ConnectionError("the template ended")
        return json.loads(answer)

    def fork(
        self,
        module: str,
        control: socket.socket,
        errors: IO[bytes],
        environment: Mapping[str, str],
        stop: threading.Event,
    ) -> Forked:
        """Fork a process that serves ``control`` and writes to ``errors``; OSError if that cannot be."""
        place = {"cwd": str(Path.cwd()), "cores": sorted(os.sched_getaffinity(0)), "environment": dict(environment)}
        forked = Forked(self, self.ask({"module": module, **place}, [control.fileno(), errors.fileno()], stop))
        self._forked = [*(each for each in self._forked if each.returncode is None), forked]
        return forked

    def is_needed(self) -> bool:
        """Return whether a process that was forked from it lives: nobody else can say how that ends."""
        return any(each.poll() is None for each in self._forked)

    def close(self) -> None:
        """End it; what was forked from it goes on."""
        self.socket.close()
        self.process.kill()
        self.process.wait()


_TEMPLATES: dict[tuple[object, ...], Template] = {}  # the last one is the latest


def template(environment: Mapping[str, str]) -> Template:
    """Return the template of this process for an environment, started if there is none."""
    read = sorted(item for item in environment.items() if not item[0].startswith(_READ_LATER))
    key = (os.getpid(), *read)
    found = _TEMPLATES.pop(key, None)
    if found is None or found.process.poll() is not None:
        found = Template(environment)
    _TEMPLATES[key] = found
    for old in list(_TEMPLATES)[:-_KEPT]:
        if not _TEMPLATES[old].is_needed():
            _TEMPLATES.pop(old).close()
    return found


def begin(threads: int) -> None:
    """Start the template that a comparison will need, while this process has something else to do."""
    with contextlib.suppress(Exception):  # whatever it is, it is told of when the process is needed
        template(variables(threads, numba_cache_folder(), sys.path))


@atexit.register
def _end() -> None:
    for key, each in _TEMPLATES.items():
        if key[0] == os.getpid():
            each.close()


# -- in the template itself --------------------------------------------------------------------------------


def _prepare() -> None:
    """Import what worker and certifier need, and have the machine code at hand that states nearly every problem.

    What solvers use of it in float32 is compiled at the same time, by another process, where it is not kept yet.
    """
    gc.disable()
    for name in ("harness.run.worker", "harness.run.certifier", "scipy.sparse", "threadpoolctl"):
        importlib.import_module(name)
    import numpy as np

    import harness
    from harness.kernels.checks import check_finite
    from harness.kernels.oracle import KernelOracle
    from harness.measure.machine_code import warmed_up
    from harness.registry.discovery import load_registry

    rbf: Any = load_registry(only=()).kernel_class("rbf")
    kept = warmed_up(Path(harness.__file__), "float32")
    other = 0 if kept is None or kept.exists() else os.fork() or -1
    for features in (8, 64):  # of few and of many the values are computed in two ways
        points = np.random.default_rng(0).random((64, features))
        check_finite(KernelOracle(rbf(gamma=1.0), points, dtype=np.float32 if other < 0 else np.float64))
    if kept is not None and other < 0:
        kept.touch()
        os._exit(0)
    gc.freeze()  # keeps the collector from touching, and so copying, its pages in what is forked
    if other:
        os.waitpid(other, 0)


def _forked(request: Mapping[str, Any], descriptors: Sequence[int], control: socket.socket) -> int:
    """Fork a process of the host's; return its number, in the template alone."""
    if pid := os.fork():
        for descriptor in descriptors:
            os.close(descriptor)
        return pid
    code = 1
    try:
        at_parents_end(signal.SIGCONT)
        os.setsid()
        control.close()
        served, errors = descriptors
        os.dup2(errors, 1)
        os.dup2(errors, 2)
        os.close(errors)
        os.chdir(request["cwd"])
        os.environ.clear()
        os.environ.update(request["environment"])
        os.sched_setaffinity(0, request["cores"])
        gc.enable()
        importlib.invalidate_caches()  # files may be newer than the template
        sys.argv = [request["module"], str(served)]
        importlib.import_module(request["module"]).main()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def main() -> None:
    """Serve the driver at the descriptor named on the command line."""
    control = socket.socket(fileno=int(sys.argv[1]))
    os.set_inheritable(control.fileno(), False)
    _prepare()
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        while True:
            data, descriptors, _, _ = socket.recv_fds(control, _MESSAGE_BYTES, 2)
            if not data:
                break
            request, answer = json.loads(data), None
            if "module" in request:
                answer = _forked(request, descriptors, control)
            else:
                pid, status = os.waitpid(request["ended"], os.WNOHANG)
                answer = os.waitstatus_to_exitcode(status) if pid else None
            control.send(json.dumps(answer).encode())
    os._exit(0)


if __name__ == "__main__":
    main()
