"""Solvers that misbehave, one fault each, and one that behaves: a real plugin for the fault tests.

The faults are parameters of one solver, whose warm process carries them out one after another.
"""

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from harness import CSVC, Iterate, Problem, ProblemSummary, Solver, hookimpl, parameter

AT_IMPORT = os.getpid()
WARM_UP_POINTS = 100  # at most; those faults pass that could not be told from a warm-up that hangs
BEFORE: dict[str, Callable[[Problem, np.ndarray], object]] = {}
INSTEAD: dict[str, Callable[[Problem], Iterator[Iterate]]] = {}


@dataclass(frozen=True)
class WellBehaved(Solver):
    """The zero model, once."""

    name = "well-behaved"
    solves = (CSVC,)

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        yield Iterate(dual_coef=np.zeros(problem.n), done=True)


@dataclass(frozen=True)
class Faulty(Solver):
    """The zero model with a fault before it, or the fault instead."""

    name = "faulty"
    solves = (CSVC,)
    fault: str = parameter("", "what is wrong")

    def skip(self, problem: ProblemSummary) -> str | None:
        return time.sleep(3600) if self.fault == "hangs-in-skip" else None

    def with_target_gap(self, gap: float) -> Solver | None:
        return None if self.fault == "forgets-return" else self

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        if self.fault in INSTEAD:
            yield from INSTEAD[self.fault](problem)
            return
        dual_coef = np.zeros(problem.n)
        BEFORE[self.fault](problem, dual_coef)
        yield Iterate(dual_coef=dual_coef, done=True)


def fault(table, name, warm_up=True):
    """Enter a function into a table under the name of its fault; without ``warm_up`` the warm-up passes."""

    def enter(function):
        table[name] = function if warm_up else lambda problem, *model: problem.n > WARM_UP_POINTS and function(problem)
        return function

    return enter


@fault(BEFORE, "raises")
def raises(problem, dual_coef):
    raise ValueError("a fault of the solver")


@fault(BEFORE, "writes-to-a-row", warm_up=False)
def writes_to_a_row(problem):
    np.negative(problem.kernel.row(0), out=problem.kernel.row(0))


@fault(BEFORE, "sleeps", warm_up=False)
def sleeps(problem):
    time.sleep(600)


@fault(BEFORE, "never-yields")
def never_yields(problem, dual_coef):
    while True:
        dual_coef.sum()


@fault(BEFORE, "ignores-sigterm")
def ignores_sigterm(problem, dual_coef):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while problem.n > WARM_UP_POINTS:
        time.sleep(1.0)


@fault(BEFORE, "segfaults")
def segfaults(problem, dual_coef):
    ctypes.string_at(0)


@fault(BEFORE, "calls-exit")
def calls_exit(problem, dual_coef):
    sys.exit(4)


@fault(BEFORE, "eats-memory", warm_up=False)
def eats_memory(problem):
    hoard = []
    while True:
        hoard.append(np.empty(4_000_000))  # asked for is eaten: touching it all can take longer than the time limit


@fault(BEFORE, "prints-megabytes")
def prints_megabytes(problem, dual_coef):
    for _ in range(50):
        print("x" * 100_000)


@fault(BEFORE, "spawns-and-waits", warm_up=False)
def spawns_and_waits(problem):
    subprocess.Popen(["sleep", "4242"], start_new_session=True)
    time.sleep(600)


@fault(INSTEAD, "yields-forever")
def yields_forever(problem):
    while True:
        yield Iterate(dual_coef=np.zeros(problem.n))


# -- those that keep a phase waiting, and some that only seem to -------------------------------------------


@fault(INSTEAD, "none")
def zero(problem):
    yield Iterate(dual_coef=np.zeros(problem.n), done=True)


@fault(INSTEAD, "sleeps-in-warm-up")
def sleeps_in_warm_up(problem):
    if problem.n <= WARM_UP_POINTS:
        time.sleep(3600)
    yield from zero(problem)


@fault(INSTEAD, "dies-in-warm-up")
def dies_in_warm_up(problem):
    if problem.n <= WARM_UP_POINTS:
        os._exit(3)
    yield from zero(problem)


@fault(INSTEAD, "compiles-for-ever")
def compiles_for_ever(problem):
    if problem.n > WARM_UP_POINTS:
        from numba.core.event import start_event

        start_event("numba:compiler_lock")
        time.sleep(3600)
    yield from zero(problem)


@fault(INSTEAD, "compiles-each-step")
def compiles_each_step(problem):
    from numba.core.event import end_event, start_event

    while True:
        if problem.n > WARM_UP_POINTS:
            start_event("numba:compiler_lock")
            time.sleep(0.2)
            end_event("numba:compiler_lock")
        yield Iterate(dual_coef=np.zeros(problem.n))


@fault(INSTEAD, "never-closes")
def never_closes(problem):
    try:
        yield from zero(problem)
    finally:
        if problem.n > WARM_UP_POINTS:
            time.sleep(3600)


@fault(INSTEAD, "stops-worker")
def stops_worker(problem):
    if problem.n > WARM_UP_POINTS:
        os.kill(os.getppid(), signal.SIGSTOP)
    yield from zero(problem)


@fault(INSTEAD, "hangs-in-worker")
def hangs_in_worker(problem):
    if os.getpid() == AT_IMPORT:
        time.sleep(3600)
    yield from zero(problem)


@hookimpl
def harness_solvers() -> list[type[Solver]]:
    return [WellBehaved, Faulty]
