"""A solver that misbehaves, one fault at a time: a real plugin for the tests of faults, limits and what a run leaves.

The faults are values of a parameter of one solver, whose warm process runs them one after another.
"""

import ctypes
import inspect
import mmap
import os
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from multiprocessing.shared_memory import SharedMemory
from pathlib import Path

import numpy as np

from harness import CSVC, Iterate, Solver, hookimpl, parameter
from harness.measure import scored
from harness.solver.protocol import Subsolver

AT_IMPORT = os.getpid()
WARM_UP_POINTS = 100  # at most
CPU_SECONDS = 0.4
MEGABYTES = 300  # more than what the test leaves below the memory limit
LONG = 300.0  # seconds, far beyond any limit
PYTHON = [sys.executable, "-c"]
HOARD = f"import numpy; numpy.ones({3 * MEGABYTES} << 17)"
FAULTS = {}  # functions of this file that take a problem, by name
IN_WARM_UP = (  # what the warm-up does too
    "raises", "segfaults", "calls-exit", "prints-megabytes", "sleeps-in-warm-up", "dies-in-warm-up", "hangs-in-worker", "free",
    "files-of-warm-up",
)  # fmt: skip
KEPT = []


class WellBehaved(Solver):
    """The zero model, once."""

    name = "well-behaved"
    solves = (CSVC,)

    def iterates(self, problem, rng):
        yield Iterate(dual_coef=np.zeros(problem.n), done=True)


@dataclass(frozen=True)
class Faulty(WellBehaved):
    """The zero model after a fault, or what the fault yields."""

    name = "faulty"
    fault: str = parameter("none", "what is wrong")

    def skip(self, problem):
        return time.sleep(3600) if self.fault == "hangs-in-skip" else None

    def with_target_gap(self, gap):
        return None if self.fault == "forgets-return" else self

    def iterates(self, problem, rng):
        measured = problem.n > WARM_UP_POINTS
        found = FAULTS[self.fault](problem) if measured or self.fault in IN_WARM_UP else None
        for iterate in found if inspect.isgenerator(found) else ():
            yield iterate or Iterate(dual_coef=np.zeros(problem.n))
        info = found if isinstance(found, dict) else {}
        yield Iterate(dual_coef=np.zeros(problem.n), done=True, info=info)


class AsksOne(WellBehaved):
    """The model of an oracle that compiles."""

    name = "asks-one"

    def iterates(self, problem, rng):
        oracle = Subsolver(Faulty(fault="compiles-late"))
        for found in oracle.iterates(problem):
            yield replace(found, info={"oracle_seconds": oracle.seconds})


def forked(body):
    pid = os.fork()
    if pid == 0:
        try:
            body()
        finally:
            os._exit(0)
    return pid


def forked_pool():
    return ProcessPoolExecutor(2, get_context("fork"))


def sleeping(seconds):
    return subprocess.Popen(["sleep", seconds], start_new_session=True)


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


# -- that end or hold a run --------------------------------------------------------------------------------


def raises(problem):
    raise ValueError("a fault of the solver")


def never_yields(problem):
    disturbed()
    while True:
        sum(range(1000))


def ignores_sigterm(problem):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        time.sleep(1.0)


def segfaults(problem):
    ctypes.string_at(0)


def calls_exit(problem):
    sys.exit(4)


def eats_memory(problem):
    while True:
        KEPT.append(np.empty(4_000_000))  # asked for is eaten: touching it all can take longer than the time limit


def prints_megabytes(problem):
    for _ in range(50):
        print("x" * 100_000)


def spawns_and_waits(problem):
    sleeping("4242")
    time.sleep(600)


def yields_forever(problem):
    disturbed()
    while True:
        yield


def sleeps_in_warm_up(problem):
    if problem.n <= WARM_UP_POINTS:
        time.sleep(3600)


def dies_in_warm_up(problem):
    if problem.n <= WARM_UP_POINTS:
        os._exit(3)


def compiles_for_ever(problem):
    from numba.core.event import start_event

    start_event("numba:compiler_lock")
    time.sleep(3600)


def compiles_each_step(problem):
    from numba.core.event import end_event, start_event

    while True:
        start_event("numba:compiler_lock")
        time.sleep(0.2)
        end_event("numba:compiler_lock")
        yield


def compiles_late(problem):
    import numba

    numba.njit(lambda x: np.sort(x) + np.linalg.norm(x))(np.ones(3))


def never_closes(problem):
    try:
        yield Iterate(dual_coef=np.zeros(problem.n), done=True)
    finally:
        time.sleep(3600)


def hangs_in_worker(problem):
    if os.getpid() == AT_IMPORT:
        time.sleep(3600)


# -- models that are no dual solution ----------------------------------------------------------------------


def free(problem):
    """The difference of the classes' means in feature space, the negatives' mean from points of its own: no fault."""
    y = problem.targets
    coef, own = np.where(y > 0, 1.0 / np.sum(y > 0), 0.0), np.full(np.sum(y < 0), -1.0 / np.sum(y < 0))
    yield Iterate(free_coef=np.append(coef, own), extra_points=np.asarray(problem.kernel.points)[y < 0], done=True)


def forging(name, extra_coef, extra_points):
    """Have the solver's own process send what no check has seen."""

    def forged(problem):
        model = scored.FreeModel(np.ones(problem.n), extra_coef, extra_points, 0.0)
        scored.FreeModel.checked = lambda *_: model
        return free(problem)

    FAULTS[name] = forged


forging("forged-nan", np.full(2, np.nan), np.zeros((2, 2)))
forging("forged-width", np.ones(2), np.zeros((2, 1)))
forging("forged-size", np.ones(1 << 20), np.ones((1 << 20, 8)))


# -- that take CPU time ------------------------------------------------------------------------------------


def pool(problem):
    with forked_pool() as processes:
        list(processes.map(spin, range(2)))


def unwaited(problem):
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the system drops what has ended
    pid = forked(lambda: (spin(), time.sleep(0.2)))  # a sample is taken
    while Path(f"/proc/{pid}").exists():
        time.sleep(0.02)


def adopted(problem):
    reading, writing = os.pipe()
    forked(lambda: forked(lambda: (spin(), os.write(writing, b"x"))))
    os.wait()
    os.read(reading, 1)
    time.sleep(0.1)


def working(problem):
    with subprocess.Popen([*PYTHON, "while True: pass"]) as process:
        try:
            time.sleep(3 * CPU_SECONDS)
            yield
        finally:
            process.kill()


def killed(problem):
    with subprocess.Popen([*PYTHON, "while True: pass"]):
        time.sleep(3600)


def spins_briefly(problem):
    """Less CPU time than the limit, in many times as much on a busy machine."""
    disturbed()
    until = time.process_time() + CPU_SECONDS
    while time.process_time() < until:
        yield


# -- that take memory --------------------------------------------------------------------------------------


def refused_in_a_pool(problem):
    with forked_pool() as processes:
        list(processes.map(hoard, range(1)))


def refused_in_a_program_that_is_not_checked(problem):
    if subprocess.run([*PYTHON, HOARD], check=False).returncode:
        raise RuntimeError("the program failed")


def refused_in_c(problem):
    """As a library does that does not look at what it is given."""
    libc = ctypes.CDLL(None)
    libc.malloc.restype = ctypes.c_void_p
    while True:
        ctypes.memset(libc.malloc(1 << 20), 1, 1 << 20)


def refused_in_a_silent_program(problem):
    grows = "kept = []\ntry:\n while True: kept.append(b'x' * (1 << 20))\nexcept MemoryError: raise SystemExit(3)"
    subprocess.run([*PYTHON, grows], check=True, stderr=subprocess.DEVNULL)


def aborted_pool(problem):
    with forked_pool() as processes:
        list(processes.map(abort, range(1)))


def mapped_file(problem):
    with open("large", "w+b") as file:
        file.truncate(MEGABYTES << 20)
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as private:
            assert not np.frombuffer(private, dtype=np.uint8)[::4096].any()
            time.sleep(0.2)
        with mmap.mmap(file.fileno(), 0) as shared:
            np.frombuffer(shared, dtype=np.uint8)[::4096] = 1
            time.sleep(0.2)


def file_in_memory(problem):
    fd = os.memfd_create("hidden")
    for _ in range(MEGABYTES):
        os.write(fd, bytes(1 << 20))
    time.sleep(0.2)
    os.close(fd)


def shared_memory(problem):
    memory = SharedMemory(create=True, size=MEGABYTES << 20)
    try:
        np.frombuffer(memory.buf, dtype=np.uint8)[::4096] = 1
        time.sleep(0.2)
    finally:
        memory.close()
        memory.unlink()


def shared_memory_once(problem):
    """Half of it, in two processes that both have it mapped and open."""
    memory = SharedMemory(create=True, size=MEGABYTES << 19)
    pages = np.frombuffer(memory.buf, dtype=np.uint8)[::4096]
    pages[:] = 1
    pid = forked(lambda: (pages.sum(), time.sleep(0.2)))
    time.sleep(0.1)
    os.waitpid(pid, 0)
    memory.unlink()


def system_v(problem):
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


def forgotten_peak(problem):
    block = np.ones(MEGABYTES << 16)
    time.sleep(0.2)
    del block
    Path("/proc/self/clear_refs").write_text("5")


def forks_idle(problem):  # each has all pages of this process, and none of its own
    KEPT.append(np.ones(60 << 17))  # 60 MB
    pids = [forked(lambda: time.sleep(1.0)) for _ in range(12)]
    time.sleep(0.5)
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def forks_large(problem):
    for _ in range(4):
        forked(lambda: (KEPT.append(np.ones(100 << 17)), time.sleep(LONG)))
    time.sleep(LONG)


def shared_map(problem):
    KEPT.extend(mmap.mmap(-1, 64 << 20) for _ in range(7))
    for each in KEPT:
        each.write(b"x" * len(each))
    time.sleep(LONG)


# -- that leave processes and files ------------------------------------------------------------------------


def pool_closed(problem):
    with get_context("fork").Pool(2) as processes:
        processes.map(abs, range(4))


def exits_with_helpers(problem):  # they keep its pipes open
    forked(lambda: time.sleep(LONG))
    os._exit(0)


def many(problem):
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


def daemon_and_hangs(problem):
    respawns(0.0)
    while True:
        pass


def guards(problem):  # two that start each other anew
    def guard():
        while True:
            os.waitpid(forked(lambda: time.sleep(LONG)), 0)

    forked(guard)
    time.sleep(0.1)


def hidden_grandchild(problem):
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)

    def between():
        ctypes.CDLL(None).prctl(1, 0, 0, 0, 0)
        os.setsid()
        forked(lambda: time.sleep(LONG))

    os.waitpid(forked(between), 0)


def printing(problem):  # whose output never ends
    forked(lambda: os.execvp("yes", ["yes"]))
    time.sleep(0.1)


def where(problem):
    temporary = {"temporary": tempfile.gettempdir(), "variable": os.environ["TMPDIR"]}
    return {"folder": str(Path.cwd()), "entries": os.listdir(), **temporary}


def files(problem):
    found, below = where(problem), Path("a") / "b"
    Path("model.bin").write_bytes(b"x" * 20_000_000)
    below.mkdir(parents=True)
    (below / "file").write_bytes(b"x")
    below.chmod(0)
    with tempfile.NamedTemporaryFile(delete=False) as file:
        file.write(b"x" * 20_000_000)
    for _ in range(1100):  # deeper than a path may be long
        Path("deep").mkdir()
        os.chdir("deep")
    return found


def files_killed(problem):
    files(problem)
    time.sleep(LONG)


def files_of_warm_up(problem):
    Path(f"model-{len(KEPT)}.bin").write_bytes(b"x" * 1_000)
    KEPT.append(SharedMemory(create=True, size=1_000, name=f"warm-{len(KEPT)}-{os.getpid()}-{os.environ['MARK']}"))


FAULTS |= {
    "none": lambda problem: None,
    "hangs-in-skip": lambda problem: None,
    "writes-to-a-row": lambda problem: np.negative(problem.kernel.row(0), out=problem.kernel.row(0)),
    "sleeps": lambda problem: time.sleep(600),
    "stops-worker": lambda problem: os.kill(os.getppid(), signal.SIGSTOP),
    "naps": lambda problem: time.sleep(CPU_SECONDS),
    "refused-in-a-program": lambda problem: subprocess.run([*PYTHON, HOARD], check=True, capture_output=True),
    "failed-program": lambda problem: subprocess.run([*PYTHON, "raise ValueError('no memory of it')"], check=True),
    "daemon": lambda problem: respawns(0.002),
    "stopped-program": lambda problem: os.kill(sleeping("300.0").pid, signal.SIGSTOP),
}
FAULTS |= {
    name.replace("_", "-"): function
    for name, function in list(vars().items())
    if inspect.isfunction(function) and [*inspect.signature(function).parameters] == ["problem"]
}


@hookimpl
def harness_solvers():
    return [WellBehaved, Faulty, AsksOne]
