"""A solver that takes a while and notes every run it starts in a file: for tests that kill processes."""

import os
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from harness import CSVC, Iterate, Solver, hookimpl, parameter

NOTED = []  # processes


@dataclass(frozen=True)
class SlowSteps(Solver):
    """Sleeps, then returns the zero model."""

    name = "slow-steps"
    solves = (CSVC,)
    seconds: float = parameter(0.2, "how long to sleep", ge=0)
    number: int = parameter(0, "makes configurations differ")

    def iterates(self, problem, rng):
        if problem.n > 40:  # not in a warm-up
            time.sleep(self.seconds)
            if os.getpid() not in NOTED:  # a short fit is repeated in its process
                NOTED.append(os.getpid())
                with Path(os.environ["SLOW_STEPS_LOG"]).open("a") as log:
                    log.write(f"{self.number} {os.getppid()} {os.getpid()} {rng.integers(10**9)}\n")
        yield Iterate(dual_coef=np.zeros(problem.n), done=True)


@hookimpl
def harness_solvers():
    return [SlowSteps]
