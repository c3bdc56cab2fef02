"""Runs of a formulation that queries its targets, as a user has them: the same as in this process, compared, kept and reused."""

import numpy as np
import pytest
from harness_active.pool_svc import PoolSVC

from harness import RBF, KernelOracle, TracePlan, drive
from harness.datasets.generators import Checkerboard
from harness.measure.metrics import accuracy
from tests.run.conftest import PLUGINS, compared
from tests.run.plugins.queries import QueriesAtRandom

GIVEN = ("--datasets", "checkerboard[n=120,n_test=60]", "--C", "10", "--gamma", "2")
RANDOM = "queries-at-random[first=4,batch=3]"

pytestmark = pytest.mark.slow  # each starts processes


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """Return the records of two budgets."""
    store = tmp_path_factory.mktemp("pool") / "store.sqlite"
    asked = ("--formulation", "pool-svc[budget=[40,500]]", "--seeds", "0,1")
    code, records, errors = compared(store, PLUGINS / "queries.py", RANDOM, *GIVEN, *asked)
    assert code == 0, errors
    return records


def found(records, budget, seed):
    return next(each for each in records if (each["problem_parameters"].get("budget"), each["seed"]) == (budget, seed))


def test_a_run_whose_targets_are_served_is_the_run_of_one_process(measured):
    data = Checkerboard(n=120, n_test=60).load()
    for seed in (0, 1):
        record = found(measured, 40, seed)
        kernel = KernelOracle(RBF(gamma=2.0), data.x_train)
        problem = PoolSVC.build(kernel, data.y_train.__getitem__, {"C": 10.0, "budget": 40})
        here = drive(QueriesAtRandom(first=4, batch=3), problem, np.random.default_rng(seed), plan=TracePlan())
        ladder = [point["queried"] for point in record["trace"] if point["reason"] == "queried"]
        assert ladder == [point.queried for point in here.trace if point.reason == "queried"]
        assert record["figures"]["labels_used"] == len(problem.queried) == 40
        assert record["support_vectors"] == np.count_nonzero(here.dual_coef)
        assert record["positive_support_vectors"] == np.count_nonzero(here.dual_coef > 0)
        scores = problem.scores_new(here.dual_coef, here.intercept, data.x_test)
        assert record["test_accuracy"] == accuracy(data.y_test, scores)
        assert record["relative_gap"] < 1e-6


def test_every_point_of_the_ladder_is_scored_and_the_area_lies_between(measured):
    record = found(measured, 500, 0)
    assert {"queries", "qp", "harness"} <= set(record["sources"]), "who trains belongs to what the run used"
    assert record["figures"]["labels_used"] == 120, "a budget above the number of points means all of them"
    ladder = [point for point in record["trace"] if point["reason"] in ("queried", "end")]
    assert (ladder[0]["queried"], ladder[-1]["queried"]) == (4, 120)
    figures = record["figures"]
    for name, area in {"accuracy": figures["aubc"], **figures["aubc_of_metrics"]}.items():
        curve = [point["test_accuracy"] if name == "accuracy" else point["metrics"][name] for point in ladder]
        assert min(curve) <= area <= max(curve)
    for point in ladder:
        assert 0 <= point["positive_support_vectors"] <= point["support_vectors"] <= point["queried"]
