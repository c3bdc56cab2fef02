"""The suite of a solver that queries targets: sound, and with faults of the honest and of the other kind."""

from collections.abc import Iterator

import numpy as np
import pytest

from harness import Iterate, Problem, Solver, get_solver
from harness.testing import SolverConformance, run_checks
from tests.run.plugins.queries import QueriesAtRandom

CHECK = "test_uses_queried_targets_only"


class TestQueriesAtRandom(SolverConformance):
    solver = QueriesAtRandom(batch=4)
    gap = 1e-5


class TestQueriesInBatches(SolverConformance):
    solver = QueriesAtRandom(first=20, batch=7, oracle="smo-block")
    gap = 1e-2


class UsesUnqueried(QueriesAtRandom):
    """Puts a pair of coefficients where it guesses the labels, and queries them later."""

    name = "uses-unqueried"

    def model(self, problem: Problem, oracle: Solver, *, done: bool) -> Iterate:
        found = super().model(problem, oracle, done=done)
        guessed = np.setdiff1d(np.arange(problem.n), problem.queried)[:2]
        found.dual_coef[guessed] = [1e-3, -1e-3][: len(guessed)]
        return found


class EntersItself(QueriesAtRandom):
    """Enters labels into the problem's ledger without a query."""

    name = "enters-itself"

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        problem._ledger.enter(np.array([0]), np.array([1.0]))
        yield from super().iterates(problem, rng)


class Peeks(QueriesAtRandom):
    """Queries the points of class +1 first: it must have seen the labels."""

    name = "peeks"

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        best = np.argsort(-problem._answer.__closure__[0].cell_contents.y, kind="stable")
        problem.query(best[: min(3, problem.queries_left)])
        yield self.model(problem, get_solver(self.oracle), done=True)


@pytest.mark.parametrize(
    ("solver", "message"),
    [
        (UsesUnqueried, "were not queried by then"),
        (EntersItself, "use only problem.query"),
        (Peeks, "targets that it did not query"),
    ],
)
def test_a_fault_with_labels_is_caught(solver: type[Solver], message: str) -> None:
    suite = type("Suite", (SolverConformance,), {"solver": solver(batch=4), "gap": None})
    found = [result for result in run_checks(suite, CHECK) if result.status == "failed"]
    assert found, f"{CHECK} passed {solver.__name__}"
    assert any(message in result.message for result in found), found[0].message
