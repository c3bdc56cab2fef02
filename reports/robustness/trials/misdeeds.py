"""What a bad plugin does wrong: one function each, with the name it has in a composition.

Everything here ends by itself after `LONGEST` seconds and takes at most `MOST_BYTES`, so that a harness that fails its
campaign leaves a machine that can be used.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import resource
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

LONGEST = 150.0  # seconds
MOST_BYTES = 3 << 30
KEPT: list[Any] = []  # what is left open
HOSTILE = "\x1b]0;owned\x07\x1b[2J<script>alert(1)</script>\udcff\u202e\x00 | `;rm -rf ~` {0} %s \r\n[bold]"
DEEDS: dict[str, Callable[[], Any]] = {}


def deed(act: Callable[[], Any]) -> Callable[[], Any]:
    DEEDS[act.__name__.strip("_").replace("_", "-")] = act
    return act


_TOKEN = os.environ.get("HARNESS_CAMPAIGN", "no-trial")  # before a fault empties the environment


def token() -> str:
    """Return what names of files that are left hold, so that their trial can be told."""
    return _TOKEN


def _until() -> float:
    return time.monotonic() + LONGEST


def square(x: int) -> int:
    return x * x


# -- raising -----------------------------------------------------------------------------------------------


class Hostile(BaseException):
    """An exception that is no Exception."""


class Mute(Exception):
    """Its text raises."""

    def __str__(self) -> str:
        raise ValueError("no text")

    __repr__ = __str__


class Endless(Exception):
    """Its text never comes."""

    def __str__(self) -> str:
        spin()
        return ""

    __repr__ = __str__


def _raising(name: str, make: Callable[[], BaseException]) -> None:
    def act() -> None:
        raise make()

    DEEDS[name] = act


_raising("raise-value", lambda: ValueError("a plain fault"))
_raising("raise-hostile", lambda: RuntimeError(HOSTILE))
_raising("raise-surrogate", lambda: ValueError(os.fsdecode(b"no model in /data/\xff\xfe.bin")))
_raising("raise-huge", lambda: RuntimeError("x" * 100_000_000))
_raising("raise-many-lines", lambda: RuntimeError("a line\n" * 1_000_000))
_raising("raise-base", lambda: Hostile("base"))
_raising("raise-interrupt", KeyboardInterrupt)
_raising("raise-generator-exit", lambda: GeneratorExit("x"))
_raising("raise-stop-iteration", lambda: StopIteration(3))
_raising("raise-memory-error", lambda: MemoryError("pretended"))
_raising("raise-mute", Mute)
_raising("raise-endless-text", Endless)
_raising("raise-system-exit", lambda: SystemExit(0))
_raising("raise-system-exit-text", lambda: SystemExit(HOSTILE))
_raising("raise-os-error", lambda: OSError(28, "No space left on device"))
_raising("raise-group", lambda: BaseExceptionGroup("several", [ValueError("one"), Hostile("two")]))


@deed
def raise_chained() -> None:
    error: Exception | None = None
    for number in range(2000):
        try:
            raise ValueError(f"number {number}") from error
        except ValueError as caught:
            error = caught
    raise RuntimeError("the last of two thousand") from error


@deed
def raise_deep() -> None:
    def down() -> None:
        down()

    down()


# -- hanging -----------------------------------------------------------------------------------------------


@deed
def sleep() -> None:
    time.sleep(LONGEST)


@deed
def spin() -> None:
    until = _until()
    while time.monotonic() < until:
        pass


@deed
def sleep_in_c() -> None:
    ctypes.PyDLL(None).sleep(int(LONGEST))  # holds the interpreter's lock


@deed
def spin_deaf() -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP})
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        _ignore(number)
    spin()


def _ignore(number: signal.Signals) -> None:
    try:
        signal.signal(number, signal.SIG_IGN)
    except ValueError:  # not in the main thread
        return


@deed
def spin_catching() -> None:
    until = _until()
    while time.monotonic() < until:
        try:
            time.sleep(0.2)
        except BaseException:
            continue


@deed
def deadlock() -> None:
    lock = threading.Lock()
    lock.acquire()
    lock.acquire(timeout=LONGEST)


@deed
def stop_itself() -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


@deed
def read_nothing() -> None:
    ours, theirs = os.pipe()
    KEPT.extend((ours, theirs))
    signal.alarm(int(LONGEST))
    os.read(ours, 1)


@deed
def ask_stdin() -> None:
    input("your password? ")


# -- ending ------------------------------------------------------------------------------------------------


@deed
def exit_0() -> None:
    os._exit(0)


@deed
def exit_3() -> None:
    os._exit(3)


@deed
def segfault() -> None:
    ctypes.string_at(0)


@deed
def abort() -> None:
    os.abort()


@deed
def kill_itself() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@deed
def become_true() -> None:
    os.execv("/bin/true", ["true"])


@deed
def become_sleep() -> None:
    os.execv("/bin/sleep", ["sleep", str(int(LONGEST))])


@deed
def alarm() -> None:
    signal.alarm(1)
    time.sleep(3.0)


def _to_parent(number: signal.Signals) -> None:
    """Send a signal to the worker above a run, and to nobody else."""
    parent = os.getppid()
    with open(f"/proc/{parent}/cmdline", "rb") as file:
        if b"harness.run.worker" not in file.read():
            return
    os.kill(parent, number)


@deed
def kill_parent() -> None:
    _to_parent(signal.SIGKILL)
    time.sleep(5.0)


@deed
def stop_parent() -> None:
    _to_parent(signal.SIGSTOP)


# -- memory ------------------------------------------------------------------------------------------------


@deed
def allocate() -> None:
    KEPT.extend(bytearray(b"x") * (1 << 26) for _ in range(MOST_BYTES >> 26))


@deed
def allocate_shared() -> None:
    for _ in range(MOST_BYTES >> 26):
        block = mmap.mmap(-1, 1 << 26)
        block[:] = b"x" * (1 << 26)
        KEPT.append(block)


@deed
def allocate_in_children() -> None:
    for _ in range(4):
        if os.fork() == 0:
            kept = bytearray(b"x") * (MOST_BYTES // 4)
            time.sleep(LONGEST)
            os._exit(len(kept) & 1)
    time.sleep(10.0)


@deed
def limits_of_its_own() -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


# -- floods ------------------------------------------------------------------------------------------------


@deed
def print_much() -> None:
    for _ in range(1000):
        sys.stdout.write("spam " * 20_000 + "\n")


@deed
def print_for_ever() -> None:
    until = time.monotonic() + 15.0
    while time.monotonic() < until:
        os.write(1, b"y" * 65536)


@deed
def print_hostile() -> None:
    os.write(1, HOSTILE.encode(errors="surrogateescape"))
    os.write(2, HOSTILE.encode(errors="surrogateescape"))
    print(HOSTILE.encode(errors="replace").decode())


@deed
def write_to_all_descriptors() -> None:
    for number in range(3, 64):
        try:
            if str(Path(f"/proc/self/fd/{number}").readlink()).startswith(("pipe:", "socket:")):
                os.set_blocking(number, False)
                os.write(number, b'DEBUG: iteration 5 done\n{"event": "record"}\n')
        except OSError:
            continue


# -- processes and threads ---------------------------------------------------------------------------------


@deed
def leave_process_pool() -> None:
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    pool = ProcessPoolExecutor(2, mp_context=get_context("fork"))
    KEPT.append(pool)
    list(pool.map(square, range(4)))


@deed
def leave_multiprocessing_pool() -> None:
    from multiprocessing import get_context

    pool = get_context("fork").Pool(2)
    KEPT.append(pool)
    pool.map(square, range(4))


@deed
def leave_helpers() -> None:
    for _ in range(8):
        if os.fork() == 0:
            time.sleep(LONGEST)
            os._exit(0)


@deed
def leave_program() -> None:
    import subprocess

    KEPT.append(subprocess.Popen(["sleep", str(int(LONGEST))], start_new_session=True))


def _daemon(life: Callable[[], Any]) -> None:
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    os.setsid()
    if os.fork():
        os._exit(0)
    try:
        life()
    finally:
        os._exit(0)


@deed
def leave_daemon() -> None:
    _daemon(sleep)


@deed
def leave_deaf_daemon() -> None:
    def life() -> None:
        os.closerange(0, 256)
        spin_deaf()

    _daemon(life)


@deed
def leave_respawning_daemon() -> None:
    def life() -> None:
        until = time.monotonic() + 40.0
        while time.monotonic() < until:
            if os.fork():
                os._exit(0)
            os.setsid()
            time.sleep(0.002)

    _daemon(life)


@deed
def leave_children_of_children() -> None:
    for _ in range(3):
        if os.fork() == 0:
            for _ in range(3):
                if os.fork() == 0:
                    os.setsid()
                    time.sleep(LONGEST)
                    os._exit(0)
            time.sleep(LONGEST)
            os._exit(0)


@deed
def adopt_and_hide() -> None:
    libc = ctypes.CDLL(None)
    libc.prctl(36, 1, 0, 0, 0)  # the reaper of its descendants
    if os.fork() == 0:
        libc.prctl(1, 0, 0, 0, 0)  # no signal when the parent ends
        _daemon(sleep)
        os._exit(0)


@deed
def leave_threads() -> None:
    def life() -> None:
        for _ in range(int(LONGEST * 10)):
            time.sleep(0.1)

    for _ in range(5):
        threading.Thread(target=life).start()


# -- files and surroundings --------------------------------------------------------------------------------


@deed
def leave_files() -> None:
    for folder, name in ((".", f"left-{token()}.bin"), (tempfile.gettempdir(), f"left-{token()}.tmp")):
        Path(folder, name).write_bytes(b"x" * 1_000_000)
    KEPT.append(tempfile.mkdtemp(prefix="left-"))


@deed
def leave_big_file() -> None:
    with open(f"left-{token()}.big", "wb") as file:
        for _ in range(100):
            file.write(b"x" * 1_000_000)


@deed
def leave_shared_memory() -> None:
    from multiprocessing.shared_memory import SharedMemory

    KEPT.append(SharedMemory(create=True, size=1_000_000, name=f"left-{token()}-{os.getpid()}"))


@deed
def leave_file_and_spin() -> None:
    leave_files()
    spin()


@deed
def change_folder() -> None:
    os.chdir("/")


@deed
def empty_environment() -> None:
    os.environ.clear()


@deed
def hostile_environment() -> None:
    os.environ.update(
        PYTHONPATH="/nowhere", PATH="", TMPDIR="/nowhere", HARNESS_STORE="/nowhere/x", HARNESS_CACHE="/nowhere"
    )
    os.environ["PYTHONWARNINGS"] = "error"


@deed
def close_descriptors() -> None:
    os.closerange(3, 256)


@deed
def close_output() -> None:
    os.closerange(0, 3)


@deed
def exhaust_descriptors() -> None:
    try:
        while True:
            KEPT.append(os.open("/dev/null", os.O_RDONLY))
    except OSError:
        return


@deed
def break_output() -> None:
    sys.stdout = sys.stderr = None  # type: ignore[assignment]


@deed
def change_umask() -> None:
    os.umask(0o777)


@deed
def change_clock() -> None:
    time.perf_counter = time.monotonic = time.process_time = lambda: 0.0  # type: ignore[assignment]


@deed
def set_hooks() -> None:
    sys.excepthook = sys.unraisablehook = lambda *_: None  # type: ignore[assignment]
    sys.setrecursionlimit(60)


@deed
def trace_everything() -> None:
    def tracer(*_: Any) -> Any:
        raise Hostile("traced")

    sys.settrace(tracer)


# -- compiling ---------------------------------------------------------------------------------------------


@deed
def type_for_ever() -> None:
    import numba
    from numba.extending import overload

    def inner(x: float) -> float:
        return x

    @overload(inner)
    def _typed(_: Any) -> Any:
        until = _until()
        while time.monotonic() < until:
            time.sleep(0.05)

    @numba.njit
    def outer(x: float) -> float:
        return inner(x)

    outer(1.0)


@deed
def compile_again_and_again() -> None:
    import numba

    until = time.monotonic() + 40.0
    number = 0.0
    while time.monotonic() < until:
        number += 1.0
        constant = number

        @numba.njit
        def compiled(x: float, factor: float = constant) -> float:
            return x * factor

        compiled(1.0)


@deed
def spin_compiled() -> None:
    import numba

    @numba.njit(nogil=True)
    def endless(x: float) -> float:
        while x >= 0.0:
            x += 1.0
            if x > 1e15:
                x = 0.0
        return x

    signal.alarm(int(LONGEST))
    endless(0.0)
