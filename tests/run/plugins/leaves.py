"""A solver that leaves things behind: processes, files, shared memory."""

import ctypes
import mmap
import multiprocessing
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing.shared_memory import SharedMemory
from pathlib import Path

import numpy as np

from harness import CSVC, Iterate, Problem, Solver, hookimpl, parameter

WARM_UP_POINTS = 100  # at most
LONG = 300.0  # seconds, far beyond any limit
THINGS: dict[str, Callable[[], object]] = {}
KEPT = []


@dataclass(frozen=True)
class Leaves(Solver):
    """The zero model, after it left something behind."""

    name = "leaves"
    solves = (CSVC,)
    what: str = parameter("", "what it leaves")
    mark: str = parameter("", "in the names of files")

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        info = {}
        if self.what == "warm-up":
            Path(f"model-{len(KEPT)}.bin").write_bytes(b"x" * 1_000)
            KEPT.append(SharedMemory(create=True, size=1_000, name=f"warm-{len(KEPT)}-{os.getpid()}-{self.mark}"))
        elif problem.n > WARM_UP_POINTS:
            os.environ["LEAVES_MARK"] = self.mark
            info = THINGS[self.what]()
        yield Iterate(dual_coef=np.zeros(problem.n), done=True, info=info if isinstance(info, dict) else {})


def thing(function):
    THINGS[function.__name__.replace("_", "-")] = function
    return function


def forked(body):
    pid = os.fork()
    if pid == 0:
        try:
            body()
        finally:
            os._exit(0)
    return pid


def square(x):
    return x * x


@thing
def pool_closed():
    with multiprocessing.get_context("fork").Pool(2) as pool:
        pool.map(square, range(4))


@thing
def exits_with_helpers():  # they keep its pipes open
    forked(lambda: time.sleep(LONG))
    os._exit(0)


@thing
def many():
    for _ in range(60):
        forked(lambda: (os.setsid(), time.sleep(LONG)))


def respawns(pause):
    def run():
        until = time.monotonic() + LONG
        while time.monotonic() < until:
            if os.fork():
                os._exit(0)
            os.setsid()
            time.sleep(pause)

    forked(run)


@thing
def daemon():
    respawns(0.002)


@thing
def daemon_and_hangs():
    respawns(0.0)
    while True:
        pass


@thing
def guards():  # two that start each other anew
    def guard():
        while True:
            os.waitpid(forked(lambda: time.sleep(LONG)), 0)

    forked(guard)
    time.sleep(0.1)


@thing
def hidden_grandchild():
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)

    def between():
        ctypes.CDLL(None).prctl(1, 0, 0, 0, 0)
        os.setsid()
        forked(lambda: time.sleep(LONG))

    os.waitpid(forked(between), 0)


@thing
def stopped_program():
    os.kill(subprocess.Popen(["sleep", str(LONG)], start_new_session=True).pid, signal.SIGSTOP)


@thing
def printing():  # whose output never ends
    forked(lambda: os.execvp("yes", ["yes"]))
    time.sleep(0.1)


@thing
def forks_idle():  # each has all pages of this process, and none of its own
    array = np.ones(60 << 17)  # 60 MB
    pids = [forked(lambda: time.sleep(1.0)) for _ in range(12)]
    time.sleep(0.5)
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    KEPT.append(array)


@thing
def forks_large():
    def large():
        KEPT.append(np.ones(100 << 17))
        time.sleep(LONG)

    for _ in range(4):
        forked(large)
    time.sleep(LONG)


@thing
def shared_map():
    KEPT.extend(mmap.mmap(-1, 64 << 20) for _ in range(7))
    for each in KEPT:
        each.write(b"x" * len(each))
    time.sleep(LONG)


@thing
def where():
    return {
        "folder": str(Path.cwd()),
        "entries": os.listdir(),
        "temporary": tempfile.gettempdir(),
        "variable": os.environ["TMPDIR"],
    }


def fill():
    found = where()
    Path("model.bin").write_bytes(b"x" * 20_000_000)
    below = Path("a") / "b"
    below.mkdir(parents=True)
    (below / "file").write_bytes(b"x")
    below.chmod(0)
    with tempfile.NamedTemporaryFile(delete=False) as file:
        file.write(b"x" * 20_000_000)
    for _ in range(1100):  # deeper than a path may be long
        Path("deep").mkdir()
        os.chdir("deep")
    return found


@thing
def files():
    return fill()


@thing
def files_killed():
    fill()
    time.sleep(LONG)


@hookimpl
def harness_solvers() -> list[type[Solver]]:
    return [Leaves]
