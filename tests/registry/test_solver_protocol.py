"""A solver as an oracle: solve() drives it to the end and says what it cost."""

from dataclasses import dataclass

import numpy as np
import pytest

from harness import CSVC, RBF, CSVCNoBias, Iterate, KernelOracle, Solver, UsageError


def problem() -> CSVC:
    x = np.random.default_rng(0).normal(size=(12, 2))
    return CSVC.build(KernelOracle(RBF(), x), np.where(np.arange(12) % 2, 1.0, -1.0), {"C": 2.0})


@dataclass(frozen=True)
class Counting(Solver):
    """Asks for three rows and says it is done at the second of three iterates."""

    name = "counting"
    solves = (CSVC,)

    def iterates(self, problem, rng):
        coef = np.zeros(problem.n)
        for step in range(3):
            problem.kernel.row(step)
            coef[step] = problem.targets[step]
            yield Iterate(coef, 0.5, done=step == 1, step=10 * (step + 1), info={"step": step})

    def iterates_from(self, problem, rng, start):
        yield Iterate(start, done=True)


def test_an_oracle_stops_at_done_and_reports_its_cost() -> None:
    stated = problem()
    solution = Counting().solve(stated)
    assert (solution.done, solution.steps, solution.intercept, solution.info) == (True, 20, 0.5, {"step": 1})
    assert solution.kernel_evaluations == 24
    assert np.count_nonzero(solution.dual_coef) == 2
    counter = stated.kernel.counter
    assert (counter.evaluations, counter.oracle_calls, counter.oracle_evaluations) == (24, 1, 24)
    assert (counter.cache_hits, counter.cache_misses, counter.evaluations_at_least) == (0, 0, False)


def test_evaluations_on_a_restricted_problem_count_to_the_run() -> None:
    stated = problem()
    stated.kernel.row(0)
    solution = Counting().solve(stated.restrict([0, 1, 2, 3, 4]))
    assert solution.kernel_evaluations == 10
    assert stated.kernel.counter.evaluations == 12 + 10
    assert stated.kernel.counter.oracle_evaluations == 10


def test_a_start_is_used_where_the_solver_can() -> None:
    start = np.arange(12.0)
    solution = Counting().solve(problem(), start=start)
    np.testing.assert_array_equal(solution.dual_coef, start)
    start[:] = 0.0
    assert solution.dual_coef[3] == 3.0


def test_an_oracle_refuses_a_formulation_it_does_not_solve() -> None:
    x = np.random.default_rng(0).normal(size=(12, 2))
    kernel, y = KernelOracle(RBF(), x), np.where(np.arange(12) % 2, 1.0, -1.0)
    # without the bias it is another problem, although the class inherits
    with pytest.raises(UsageError, match="counting does not solve c-svc-nobias; it solves c-svc"):
        Counting().solve(CSVCNoBias.build(kernel, y))
    assert kernel.counter.evaluations == 0
