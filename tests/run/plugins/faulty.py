"""Solvers that misbehave, one fault each, and one that behaves: real plugins for the fault tests."""

import ctypes
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from harness import CSVC, Iterate, Problem, Solver, hookimpl


@dataclass(frozen=True)
class Faulty(Solver):
    """The zero model, once; subclasses add a fault before it."""

    name = "well-behaved"
    solves = (CSVC,)

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        dual_coef = np.zeros(problem.n)
        self.fault(problem, dual_coef)
        yield Iterate(dual_coef=dual_coef, done=True)

    def fault(self, problem: Problem, dual_coef: np.ndarray) -> None:
        return None


class Raises(Faulty):
    name = "raises"

    def fault(self, problem: Problem, dual_coef: np.ndarray) -> None:
        raise ValueError("a fault of the solver")


class Sleeps(Faulty):
    name = "sleeps"

    def fault(self, problem: Problem, dual_coef: np.ndarray) -> None:
        if problem.n > 100:  # the warm-up's few points pass, the measured run does not
            time.sleep(600)


class NeverYields(Faulty):
    name = "never-yields"

    def fault(self, problem: Problem, dual_coef: np.ndarray) -> None:
        while True:
            dual_coef.sum()


class IgnoresTerm(Faulty):
    name = "ignores-sigterm"

    def fault(self, problem: Problem, dual_coef: np.ndarray) -> None:
        import signal

        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if problem.n > 100:
            while True:
                time.sleep(1.0)


class Segfaults(Faulty):
    name = "segfaults"

    def fault(self, problem: Problem, dual_coef: np.ndarray) -> None:
        ctypes.string_at(0)


class Exits(Faulty):
    name = "exits"

    def fault(self, problem: Problem, dual_coef: np.ndarray) -> None:
        os._exit(3)


class CallsExit(Faulty):
    name = "calls-exit"

    def fault(self, problem: Problem, dual_coef: np.ndarray) -> None:
        sys.exit(4)


class EatsMemory(Faulty):
    name = "eats-memory"

    def fault(self, problem: Problem, dual_coef: np.ndarray) -> None:
        if problem.n > 100:
            hoard = []
            while True:
                hoard.append(
                    np.empty(4_000_000)
                )  # asked for is eaten: touching it all can take longer than the time limit


class ReturnsNaN(Faulty):
    name = "returns-nan"

    def fault(self, problem: Problem, dual_coef: np.ndarray) -> None:
        dual_coef[2] = np.nan


class Infeasible(Faulty):
    name = "infeasible"

    def fault(self, problem: Problem, dual_coef: np.ndarray) -> None:
        dual_coef[:] = 1000.0


class WrongShape(Faulty):
    name = "wrong-shape"

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        yield Iterate(dual_coef=np.zeros(problem.n - 1), done=True)


class WritesIntoRow(Faulty):
    name = "writes-into-row"

    def fault(self, problem: Problem, dual_coef: np.ndarray) -> None:
        problem.kernel.row(0)[0] = 2.0


class YieldsForever(Faulty):
    name = "yields-forever"

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        dual_coef = np.zeros(problem.n)
        while True:
            yield Iterate(dual_coef=dual_coef)


class YieldsNothing(Faulty):
    name = "yields-nothing"

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        yield from ()


class YieldsText(Faulty):
    name = "yields-text"

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        yield "a model"  # type: ignore[misc]


class PrintsMegabytes(Faulty):
    name = "prints-megabytes"

    def fault(self, problem: Problem, dual_coef: np.ndarray) -> None:
        for _ in range(50):
            print("x" * 100_000)


class LeavesChild(Faulty):
    name = "leaves-child"

    def fault(self, problem: Problem, dual_coef: np.ndarray) -> None:
        if problem.n > 100:
            subprocess.Popen(["sleep", "4242"], start_new_session=True)


class SpawnsAndWaits(Faulty):
    name = "spawns-and-waits"

    def fault(self, problem: Problem, dual_coef: np.ndarray) -> None:
        if problem.n > 100:
            subprocess.Popen(["sleep", "4242"], start_new_session=True)
            time.sleep(600)


@hookimpl
def harness_solvers() -> list[type[Solver]]:
    return [
        Faulty, Raises, Sleeps, NeverYields, IgnoresTerm, Segfaults, Exits, CallsExit, EatsMemory, ReturnsNaN, Infeasible,
        WrongShape, WritesIntoRow, YieldsForever, YieldsNothing, YieldsText, PrintsMegabytes, LeavesChild,
        SpawnsAndWaits,
    ]  # fmt: skip
