"""Kumar & Yildirim 2009 on real data: Theorem 3.1's bound, certified epsilon, margin bounds that bracket the exact margin."""

import numpy as np
import pytest

from harness import RBF, KernelOracle, Limits, TracePlan, drive, get_solver
from harness.problems import L2SVC
from harness.registry.discovery import load_registry

EPSILON = 1e-3


def stated(name):
    (source,) = load_registry().select_datasets(name)
    data = source.load()
    kernel = KernelOracle(RBF(gamma=data.defaults["gamma"]), data.x_train)
    return L2SVC.build(kernel, data.y_train, {"C": data.defaults["C"]})


@pytest.mark.parametrize("name", ["wdbc", "australian", "german.numer", "breast-cancer"])
@pytest.mark.parametrize("solver", ["fw", "gilbert"])
def test_certified_and_bracketed(name, solver, request):
    if name != "breast-cancer":
        request.getfixturevalue("raw_data")
    problem = stated(name)
    exact_model = get_solver("qp").solve(problem)
    exact = problem.certify(exact_model.dual_coef, exact_model.intercept)
    assert exact.epsilon < 1e-6

    counted = stated(name)
    models = []
    outcome = drive(
        get_solver(solver, epsilon=EPSILON),
        counted,
        np.random.default_rng(0),
        Limits(time_limit=100.0),
        TracePlan(per_decade=10),
        observer=lambda _, model: models.append(model),
    )
    found = counted.certify(outcome.dual_coef, outcome.intercept)
    assert outcome.claimed_done
    assert found.epsilon <= EPSILON * (1.0 + 1e-6)
    assert outcome.iterations <= outcome.info["iteration_bound"]
    assert outcome.working_set == np.count_nonzero(outcome.dual_coef)

    points = [counted.certify(*model) for model in models if model is not None]
    assert len(points) >= 3
    slack = 1e-6 * exact.margin_upper
    for point in points:
        assert point.margin_lower <= exact.margin_upper + slack
        assert point.margin_upper >= exact.margin_lower - slack
    assert found.margin_lower <= exact.margin_upper + slack
    assert found.margin_upper >= exact.margin_lower - slack
