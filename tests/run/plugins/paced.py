"""Solvers that take a given CPU time, and one whose later fits crash."""

import os
import signal
from dataclasses import dataclass
from time import thread_time

import numpy as np

from harness import CSVC, Iterate, Solver, hookimpl, parameter

WARM_UP_POINTS = 64  # at most
FITS = []


@dataclass(frozen=True)
class Paced(Solver):
    """Returns the zero model after so many milliseconds, the first time in a process after twice as many."""

    name = "paced"
    solves = (CSVC,)
    ms: float = parameter(4.0, "CPU time in milliseconds", gt=0)

    def iterates(self, problem, rng):
        began, first = thread_time(), problem.n > WARM_UP_POINTS and not FITS
        if problem.n > WARM_UP_POINTS:
            FITS.append(problem.n)
        while thread_time() - began < self.ms * (2e-3 if first else 1e-3):
            pass
        yield Iterate(dual_coef=np.zeros(problem.n), done=True)


@dataclass(frozen=True)
class SecondFit(Solver):
    """Fits once in a process; what happens then is a parameter."""

    name = "second-fit"
    solves = (CSVC,)
    then: str = parameter("raises", "what the second fit does: raises, dies or hangs")

    def iterates(self, problem, rng):
        if FITS:
            if self.then == "dies":
                os.kill(os.getpid(), signal.SIGSEGV)
            while self.then == "hangs":
                pass
            raise ValueError("there was one")
        if problem.n > WARM_UP_POINTS:
            FITS.append(problem.n)
        yield Iterate(dual_coef=np.zeros(problem.n), done=True)


@hookimpl
def harness_solvers():
    return [Paced, SecondFit]
