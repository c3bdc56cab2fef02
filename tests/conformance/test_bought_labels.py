"""The suite of a solver that buys labels: sound, and with faults of the honest and of the other kind."""

from collections.abc import Iterator

import numpy as np
import pytest

from harness import Iterate, Problem, Solver
from harness.testing import Result, SolverConformance, run_checks
from tests.run.plugins.buys import BuysAtRandom

CHECK = "test_rests_on_bought_labels_alone"


class TestBuysAtRandom(SolverConformance):
    solver = BuysAtRandom(batch=4)
    gap = 1e-5


class TestBuysInBatches(SolverConformance):
    solver = BuysAtRandom(first=20, batch=7, oracle="smo-block")
    gap = 1e-2


class UsesUnbought(BuysAtRandom):
    """Puts a pair of coefficients where it guesses the labels, and buys them later."""

    name = "uses-unbought"

    def model(self, problem: Problem, oracle: Solver, *, done: bool) -> Iterate:
        found = super().model(problem, oracle, done=done)
        guessed = np.setdiff1d(np.arange(problem.n), problem.bought)[:2]
        found.dual_coef[guessed] = [1e-3, -1e-3][: len(guessed)]
        return found


class EntersItself(BuysAtRandom):
    """Enters labels into the problem's ledger without a purchase."""

    name = "enters-itself"

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        problem._ledger.enter(np.array([0]), np.array([1.0]))
        yield from super().iterates(problem, rng)


class Peeks(BuysAtRandom):
    """Buys the points of class +1 first: it must have seen the labels."""

    name = "peeks"

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        best = np.argsort(-problem._seller.__self__, kind="stable")
        problem.buy(best[: min(3, problem.labels_left)])
        yield self.model(problem, self._oracle(), done=True)

    def _oracle(self) -> Solver:
        from harness import get_solver

        return get_solver(self.oracle)


def failures(solver: type[Solver], only: str = CHECK) -> list[Result]:
    suite = type("Suite", (SolverConformance,), {"solver": solver(batch=4), "gap": None})
    return [result for result in run_checks(suite, only) if result.status == "failed"]


@pytest.mark.parametrize(
    ("solver", "said"),
    [
        (UsesUnbought, "whose label was not bought by then"),
        (EntersItself, "labels counted"),
        (Peeks, "the labels that it did not buy were changed"),
    ],
)
def test_a_fault_with_labels_is_caught(solver: type[Solver], said: str) -> None:
    found = failures(solver)
    assert found, f"{CHECK} passed {solver.__name__}"
    assert any(said in result.message for result in found), found[0].message
