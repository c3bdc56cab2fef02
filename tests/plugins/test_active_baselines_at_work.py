"""What all methods for imbalance have in common: targets, budgets, failing oracles, and what they refuse."""

import importlib.util
import re
from dataclasses import dataclass

import numpy as np
import pytest
from harness_active.baselines import Batch, DifferentCosts, Smote, Undersampling

from harness import (
    CSVC,
    Iterate,
    KernelOracle,
    Limits,
    Linear,
    OracleFailure,
    PluginError,
    Precomputed,
    Solver,
    Status,
    StoppedBy,
    UsageError,
)
from harness.measure.scored import FreeExpansion
from tests.plugins.imbalance_problems import EXACT, METHODS, clouds, outcome, scores_of, stated

# -- all of them -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", METHODS)
def test_the_oracle_is_asked_for_the_target_gap(name):
    solver = METHODS[name].replaced(oracle="smo-block").with_target_gap(1e-5)
    assert solver.gap == 1e-5
    assert outcome(solver, stated(*clouds(8, 50))).status is Status.OK


def test_a_smaller_gap_asks_for_more_work():
    spent = []
    for gap in (1e-1, 1e-7):
        problem = stated(*clouds(20, 150))
        outcome(Batch(oracle="smo-block", gap=gap), problem)
        spent.append(problem.kernel.counter.evaluations + problem.kernel.counter.cache_hits)
    assert spent[0] < spent[1]


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


@pytest.mark.parametrize("name", METHODS)
def test_an_iterate_says_at_every_time_what_was_done(name):
    told = {
        "batch": {"oracle"},
        "undersampling": {"ratio", "kept_positives", "kept_negatives"},
        "smote": {"synthetic", "neighbours", "preprocessing_seconds"},
        "different-costs": {"factor"},
    }
    for iterate in METHODS[name].iterates(stated(*clouds(8, 50)), np.random.default_rng(0)):
        assert {*told[name], "oracle", "smaller_class", "positives", "negatives"} <= set(iterate.info)


@pytest.mark.parametrize("name", METHODS)
def test_two_equal_classes_and_a_pair_of_points_are_handled(name):
    solver = METHODS[name]
    if name != "smote":
        assert outcome(solver, stated(np.array([[0.0], [1.0]]), np.array([1.0, -1.0]))).status is Status.OK
    found = outcome(solver, stated(*clouds(10, 10)))
    assert found.info["smaller_class"] == 1


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


@pytest.mark.parametrize(
    ("solver", "problem", "reason"),
    [
        (Smote(), lambda x, y: stated(x, np.where(np.arange(len(y)) == 3, 1.0, -1.0)), "has a single point"),
        (Smote(), lambda x, y: stated(x @ x.T, y, Precomputed()), "kernel values that were given have none"),
        (
            DifferentCosts(),
            lambda x, y: CSVC.build(KernelOracle(Linear(), x), y, {"class_weight": "balanced"}),
            "class_weight=balanced sets the costs of the classes already",
        ),
        (Undersampling(active="nobody"), stated, "called 'nobody'.* named by the parameter active; give ratio"),
        (Undersampling(active="lasvm"), stated, "the oracle 'lasvm' solves c-svc, not pool-svc; name an active learner"),
    ],
)  # fmt: skip
def test_what_a_method_cannot_be_applied_to_is_refused_in_a_sentence(solver, problem, reason):
    made = problem(*clouds(8, 50))
    assert re.search(reason, solver.skip(made))
    with pytest.raises(UsageError, match=reason):
        outcome(solver, made)


def test_where_imbalanced_learn_is_missing_smote_says_what_to_install(monkeypatch):
    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "imblearn" else real(name))
    said = Smote().skip(stated(*clouds(8, 50)))
    assert "needs the package imbalanced-learn, which is not installed" in said
    assert "pip install 'svm-harness[imbalance]'" in said


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: Undersampling(ratio=0.0), "ratio"),
        (lambda: Undersampling(ratio=-1.0), "ratio"),
        (lambda: Smote(ratio=0.0), "ratio"),
        (lambda: Smote(ratio=float("nan")), "ratio"),
        (lambda: Smote(neighbours=0), "neighbours"),
        (lambda: Batch(gap=1.0), "gap"),
        (lambda: Batch(oracle=3), "oracle"),
    ],
)
def test_parameters_outside_their_range_are_refused(make, reason):
    with pytest.raises(UsageError, match=reason):
        make()


@pytest.mark.parametrize("solver", [Smote(), DifferentCosts()])
def test_a_model_that_is_not_certified_is_no_oracle(solver):
    with pytest.raises(PluginError, match="ended without dual coefficients"):
        solver.solve(stated(*clouds(8, 50)))


def test_a_black_box_over_further_points_is_told_all_of_them():
    problem = stated(*clouds(8, 50))
    found = outcome(Smote(oracle="libsvm"), problem)
    assert not Smote(oracle="libsvm").observable
    exact = outcome(Smote(oracle=EXACT), stated(*clouds(8, 50)))
    new, _ = clouds(10, 10, seed=3)
    np.testing.assert_allclose(scores_of(found, problem, new), scores_of(exact, problem, new), atol=1e-2)
    assert isinstance(found.free, FreeExpansion)
