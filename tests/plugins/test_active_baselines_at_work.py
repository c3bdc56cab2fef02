"""What all methods for imbalance have in common: targets, budgets, failing oracles, and what they refuse."""

import re
from dataclasses import dataclass

import numpy as np
import pytest

from harness import (
    CSVC,
    Iterate,
    Limits,
    OracleFailure,
    PluginError,
    Solver,
    Status,
    StoppedBy,
    UsageError,
)
from tests.plugins.imbalance_problems import METHODS, clouds, outcome, scores_of, stated

# -- all of them -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", METHODS)
def test_budgets_hold_and_what_was_reached_is_a_model(name):
    problem = stated(*clouds(60, 600))
    solver = METHODS[name].replaced(oracle="lasvm[block=8]")
    found = outcome(solver, problem, limits=Limits(iterations=1))
    assert (found.status, found.stopped_by, found.yields) == (Status.BUDGET, StoppedBy.ITERATIONS, 1)
    again = stated(*clouds(60, 600))
    spent = outcome(solver, again, limits=Limits(kernel_evaluations=5000))
    assert spent.status is Status.BUDGET
    assert 5000 <= again.kernel.counter.evaluations < 100_000
    assert np.isfinite(scores_of(spent, again, clouds(5, 5)[0])).all()


@dataclass(frozen=True)
class Faulty(Solver):
    """Solves and then fails in one of many ways."""

    name = "faulty"
    solves = (CSVC,)
    fault: str = "raises"

    def skip(self, problem):
        return "it takes no more than 3 points." if self.fault == "refuses" else None

    def iterates(self, problem, rng):
        if self.fault == "raises":
            yield Iterate(np.zeros(problem.n))
            raise ZeroDivisionError("a wheel came off")
        if self.fault == "weights":
            yield Iterate(weights=np.zeros(problem.kernel.n_features), done=True)
        if self.fault == "free":
            yield Iterate(free_coef=np.zeros(problem.n), done=True)


SAID = {
    "raises": "failed: ZeroDivisionError: a wheel came off",
    "weights": "failed: it gives no dual coefficients",
    "free": "failed: it gives no dual coefficients",
    "nothing": "failed: it ended without a model",
    "refuses": r"failed: it refused the \d+ points that it was given: it takes no more than 3 points",
}


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("fault", SAID)
def test_an_oracle_that_fails_ends_the_run_with_its_name(name, fault, monkeypatch):
    monkeypatch.setattr("harness.oracle.get_solver", lambda text: Faulty(fault=fault))
    with pytest.raises(OracleFailure, match=f"{name}: the oracle 'faulty' {SAID[fault]}"):
        outcome(METHODS[name].replaced(oracle="faulty"), stated(*clouds(8, 50)))
    assert issubclass(OracleFailure, PluginError)


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize(
    ("oracle", "reason"),
    [
        ("nobody", "oracle='nobody': there is no solver or plugin called 'nobody'"),
        ("lasvm[epochs", r"has a '\[' without its '\]'"),
        ("fw", "the oracle 'fw' solves .*, not c-svc; name one that does"),
        ("smote", "the oracle 'smote' gives a model that is no solution of c-svc"),
        ("different-costs", "the oracle 'different-costs' gives a model that is no solution of c-svc"),
    ],
)
def test_an_oracle_that_cannot_train_is_refused_in_a_sentence(name, oracle, reason):
    solver = METHODS[name].replaced(oracle=oracle)
    said = solver.skip(stated(*clouds(8, 50)))
    assert said.startswith(f"{name}: ")
    assert re.search(reason, said), said
    with pytest.raises(UsageError):
        outcome(solver, stated(*clouds(8, 50)))
    assert solver.warm_ups()


@pytest.mark.parametrize("name", METHODS)
def test_a_single_class_is_refused(name):
    problem = stated(clouds(0, 10)[0], np.full(10, -1.0))
    assert METHODS[name].skip(problem) == f"{name}: all 10 points are of one class; expected points of both."
