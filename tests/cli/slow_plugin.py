"""Solvers without compiled code, for tests of the command: one sleeps, one raises, one is quick, one skips, one quits."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

import harness


@dataclass(frozen=True)
class Quick(harness.Solver):
    """Return the zero model at once."""

    name = "quick"
    solves = (harness.CSVC,)
    exact = False
    shift: float = harness.parameter(0.0, "does nothing", ge=0, le=1)

    def iterates(self, problem, rng):
        yield harness.Iterate(dual_coef=np.zeros(problem.n), done=True)


@dataclass(frozen=True)
class Quitter(harness.Solver):
    """End without being done."""

    name = "quitter"
    solves = (harness.CSVC,)
    exact = False

    def iterates(self, problem, rng):
        yield harness.Iterate(dual_coef=np.zeros(problem.n), info={"stopped": "out of ideas"})


@dataclass(frozen=True)
class Sleeper(harness.Solver):
    """Sleep, then return the zero model."""

    name = "sleeper"
    solves = (harness.CSVC,)
    exact = False
    seconds: float = 0.2

    def iterates(self, problem, rng):
        end = time.monotonic() + (self.seconds if problem.n > 100 else 0.0)  # the warm-up need not sleep
        while time.monotonic() < end:
            time.sleep(0.02)
            yield harness.Iterate(dual_coef=np.zeros(problem.n))
        yield harness.Iterate(dual_coef=np.zeros(problem.n), done=True)


@dataclass(frozen=True)
class Raiser(harness.Solver):
    """Raise."""

    name = "raiser"
    solves = (harness.CSVC,)

    def iterates(self, problem, rng):
        raise RuntimeError("no luck today")
        yield


@dataclass(frozen=True)
class Skipper(harness.Solver):
    """Take no problem."""

    name = "skipper"
    solves = (harness.CSVC,)

    def skip(self, problem):
        return "it is Sunday"

    def iterates(self, problem, rng):
        yield harness.Iterate(dual_coef=np.zeros(problem.n), done=True)


@harness.hookimpl
def harness_solvers():
    return [Quick, Quitter, Sleeper, Raiser, Skipper]


@harness.hookimpl
def harness_report_formats():
    return {"lines": lambda records: "".join(f"{record['label']}\n" for record in records)}
