"""Solvers and a metric that keep each phase of a run waiting, and some that only seem to: a real plugin for the tests."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from harness import CSVC, Iterate, Problem, Solver, hookimpl, parameter

WARM_UP_POINTS = 100  # at most
AT_IMPORT = os.getpid()
WAYS: dict[str, Callable[[Problem], Iterator[Iterate]]] = {}
Way = Callable[[Problem], Iterator[Iterate]]


def zero(problem: Problem, **info: object) -> Iterator[Iterate]:
    """Yield the zero model, once."""
    yield Iterate(dual_coef=np.zeros(problem.n), done=True, info=info)


def way(name: str) -> Callable[[Way], Way]:
    """Enter a way to be late, or large, under its name."""

    def enter(function: Way) -> Way:
        WAYS[name] = function
        return function

    return enter


@way("slow-steps")
def slow_steps(problem: Problem) -> Iterator[Iterate]:
    while True:
        time.sleep(0.2)
        yield Iterate(dual_coef=np.zeros(problem.n))


@way("sleeps-in-warm-up")
def sleeps_in_warm_up(problem: Problem) -> Iterator[Iterate]:
    if problem.n <= WARM_UP_POINTS:
        time.sleep(3600)
    yield from zero(problem)


@way("dies-in-warm-up")
def dies_in_warm_up(problem: Problem) -> Iterator[Iterate]:
    if problem.n <= WARM_UP_POINTS:
        os._exit(3)
    yield from zero(problem)


@way("compiles-for-ever")
def compiles_for_ever(problem: Problem) -> Iterator[Iterate]:
    if problem.n > WARM_UP_POINTS:
        from numba.core.event import start_event

        start_event("numba:compiler_lock")
        time.sleep(3600)
    yield from zero(problem)


@way("compiles-each-step")
def compiles_each_step(problem: Problem) -> Iterator[Iterate]:
    from numba.core.event import end_event, start_event

    while True:
        if problem.n > WARM_UP_POINTS:
            start_event("numba:compiler_lock")
            time.sleep(0.2)
            end_event("numba:compiler_lock")
        yield Iterate(dual_coef=np.zeros(problem.n))


@way("never-closes")
def never_closes(problem: Problem) -> Iterator[Iterate]:
    try:
        yield from zero(problem)
    finally:
        if problem.n > WARM_UP_POINTS:
            time.sleep(3600)


@way("stops-worker")
def stops_worker(problem: Problem) -> Iterator[Iterate]:
    if problem.n > WARM_UP_POINTS:
        os.kill(os.getppid(), signal.SIGSTOP)
    yield from zero(problem)


@way("hangs-in-worker")
def hangs_in_worker(problem: Problem) -> Iterator[Iterate]:
    if os.getpid() == AT_IMPORT:
        time.sleep(3600)
    yield from zero(problem)


@dataclass(frozen=True)
class Phases(Solver):
    """The zero model, too late or too long."""

    name = "phases"
    solves = (CSVC,)
    way: str = parameter("", "what keeps it waiting")

    def skip(self, problem: Problem) -> str | None:
        if self.way == "hangs-in-skip":
            time.sleep(3600)
        return None

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        yield from WAYS.get(self.way, zero)(problem)


@hookimpl
def harness_solvers() -> list[type[Solver]]:
    return [Phases]
