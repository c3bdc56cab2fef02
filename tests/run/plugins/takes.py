"""A solver whose processes take CPU time and memory in each way that there is, before it yields the zero model."""

import ctypes
import mmap
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from multiprocessing.shared_memory import SharedMemory
from pathlib import Path

import numba
import numpy as np

from harness import CSVC, Iterate, Solver, hookimpl, parameter
from harness.solver.protocol import Subsolver

WARM_UP_POINTS = 100
CPU_SECONDS = 0.4
MEGABYTES = 250  # more than what the test leaves below the memory limit
SPIN = f"import time\nwhile time.process_time() < {CPU_SECONDS}: pass"
HOARD = f"import numpy; numpy.ones({3 * MEGABYTES} << 17)"
WAYS = {}


def way(function):
    WAYS[function.__name__.replace("_", "-")] = function
    return function


def spin(*_):
    until = time.process_time() + CPU_SECONDS
    while time.process_time() < until:
        pass


def hoard(*_):
    return np.ones(3 * MEGABYTES << 17).sum()


def abort(*_):
    os.write(2, b"terminate called after throwing an instance of 'std::bad_alloc'\n")
    os.abort()


def disturbed():
    """Say to other processes that the clock runs, where there are some."""
    if flag := os.environ.get("TAKES_BUSY"):
        os.utime(flag)


def forked_pool():
    return ProcessPoolExecutor(2, get_context("fork"))


# -- CPU time ---------------------------------------------------------------------------------------------


@way
def pool():
    with forked_pool() as processes:
        list(processes.map(spin, range(2)))


@way
def unwaited():
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the system drops what has ended
    pid = os.fork()
    if not pid:
        spin()
        time.sleep(0.2)  # a sample is taken
        os._exit(0)
    while Path(f"/proc/{pid}").exists():
        time.sleep(0.02)


@way
def adopted():
    reading, writing = os.pipe()
    if not os.fork():
        if not os.fork():
            spin()
            os.write(writing, b"x")
        os._exit(0)
    os.wait()
    os.read(reading, 1)
    time.sleep(0.1)


@way
def working():
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as process:
        try:
            time.sleep(3 * CPU_SECONDS)
            yield
        finally:
            process.kill()


@way
def killed():
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]):
        time.sleep(3600)


@way
def spins_briefly():
    """Less CPU time than the limit, in many times as much on a busy machine."""
    disturbed()
    until = time.process_time() + CPU_SECONDS
    while time.process_time() < until:
        yield


@way
def spins_for_ever():
    disturbed()
    while True:
        yield


@way
def hangs():
    disturbed()
    while True:
        sum(range(1000))


@way
def sleeps():
    time.sleep(3600)


# -- memory -----------------------------------------------------------------------------------------------


@way
def refused_in_a_pool():
    with forked_pool() as processes:
        list(processes.map(hoard, range(1)))


@way
def refused_in_a_program():
    subprocess.run([sys.executable, "-c", HOARD], check=True, capture_output=True)


@way
def refused_in_a_program_that_is_not_checked():
    if subprocess.run([sys.executable, "-c", HOARD], check=False).returncode:
        raise RuntimeError("the program failed")


@way
def aborted_pool():
    with forked_pool() as processes:
        list(processes.map(abort, range(1)))


@way
def failed_program():
    subprocess.run([sys.executable, "-c", "raise ValueError('no memory of it')"], check=True)


@way
def mapped_file():
    with open("large", "w+b") as file:
        file.truncate(MEGABYTES << 20)
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as private:
            assert not np.frombuffer(private, dtype=np.uint8)[::4096].any()
            time.sleep(0.2)
        with mmap.mmap(file.fileno(), 0) as shared:
            for start in range(0, MEGABYTES << 20, 4096):
                shared[start] = 1
            time.sleep(0.2)


@way
def file_in_memory():
    fd = os.memfd_create("hidden")
    for _ in range(MEGABYTES):
        os.write(fd, bytes(1 << 20))
    time.sleep(0.2)
    os.close(fd)


@way
def shared_memory():
    memory = SharedMemory(create=True, size=MEGABYTES << 20)
    try:
        np.frombuffer(memory.buf, dtype=np.uint8)[::4096] = 1
        time.sleep(0.2)
    finally:
        memory.close()
        memory.unlink()


@way
def shared_memory_once():
    """Half of it, in two processes that both have it mapped and open."""
    memory = SharedMemory(create=True, size=MEGABYTES << 19)
    np.frombuffer(memory.buf, dtype=np.uint8)[::4096] = 1
    if not (pid := os.fork()):
        np.frombuffer(memory.buf, dtype=np.uint8)[::4096].sum()
        time.sleep(0.2)
        os._exit(0)
    time.sleep(0.1)
    os.waitpid(pid, 0)
    memory.unlink()


@way
def system_v():
    libc = ctypes.CDLL(None, use_errno=True)
    libc.shmat.restype = ctypes.c_void_p
    segment = libc.shmget(0, ctypes.c_size_t(MEGABYTES << 20), 0o1600)
    try:
        at = libc.shmat(segment, None, 0)
        libc.shmctl(segment, 0, None)  # it goes with the last process that has it
        ctypes.memset(at, 1, MEGABYTES << 20)
        time.sleep(0.2)
    finally:
        libc.shmdt(ctypes.c_void_p(at))


@way
def forgotten_peak():
    block = np.ones(MEGABYTES << 16)
    time.sleep(0.2)
    del block
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")


@way
def nothing():
    pass


@dataclass(frozen=True)
class Takes(Solver):
    """The zero model, after a way to take something."""

    name = "takes"
    solves = (CSVC,)
    what: str = parameter("nothing", "the way")

    def iterates(self, problem, rng):
        zero = np.zeros(problem.n)
        if problem.n > WARM_UP_POINTS:
            for _ in WAYS[self.what]() or ():
                yield Iterate(dual_coef=zero)
        yield Iterate(dual_coef=zero, done=True)


@dataclass(frozen=True)
class Compiles(Solver):
    """The zero model, after machine code that no warm-up made."""

    name = "compiles-late"
    solves = (CSVC,)

    def iterates(self, problem, rng):
        if problem.n > WARM_UP_POINTS:
            numba.njit(lambda x: np.sort(x) + np.linalg.norm(x))(np.ones(3))
        yield Iterate(dual_coef=np.zeros(problem.n), done=True)


@dataclass(frozen=True)
class AsksOne(Solver):
    """The model of an oracle that compiles."""

    name = "asks-one"
    solves = (CSVC,)

    def iterates(self, problem, rng):
        oracle = Subsolver(Compiles())
        for found in oracle.iterates(problem):
            yield replace(found, info={"oracle_seconds": oracle.seconds})


@hookimpl
def harness_solvers():
    return [Takes, AsksOne]
