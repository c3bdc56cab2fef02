"""What a solver calls done is certified: its default on hulls at one relative gap, and every gap it is asked for."""

import numpy as np
import pytest

from harness import DEFAULT_RELATIVE_GAP, RBF, KernelOracle, Limits, Linear, Poly, drive
from harness.registry.discovery import load_registry

pytestmark = pytest.mark.slow  # each test starts processes of its own, or drives every solver

HULLS = ("hard-margin", "l2-svc", "reduced-hull", "polytope-distance", "tube-svr")
REGISTRY = load_registry()
SOLVERS = [cls() for plugin in REGISTRY.solvers.values() for cls in plugin.values()]
PAIRS = [(solver, cls) for solver in SOLVERS if solver.exact for cls in REGISTRY.solved_by(type(solver))]
ON_HULLS = [(solver, cls) for solver, cls in PAIRS if cls.name in HULLS]


def drawn(formulation, seed):
    """Points far apart, near each other, and with labels flipped; every kernel; a price of any size."""
    rng = np.random.default_rng([seed, 11])
    n, d = int(rng.integers(40, 90)), int(rng.integers(2, 5))
    y = np.where(np.arange(n) % 3 == 0, 1.0, -1.0)
    x = rng.normal(size=(n, d))
    x[:, 0] += y * (4.0, 1.5, 1.5)[seed]
    kernel = (Linear(), RBF(gamma=0.5), Poly(degree=2, gamma=0.5, coef0=1.0))[seed]
    values = {
        "C": (1.0, 100.0, 10.0)[seed],
        "epsilon": (1.0, 0.5, 1.0)[seed],
        "nu": 0.3,
        "chi": (1.0, 100.0, 10.0)[seed],
    }
    if formulation.name in ("hard-margin", "reduced-hull"):
        x[:, 0] += 3.0 * y  # hulls that meet have w = 0, where no method ends quickly
    elif seed == 2:
        y = np.where(rng.random(n) < 0.1, -y, y)
    if formulation.name in ("polytope-distance", "one-class"):
        x = x + 8.0
    if formulation.name == "reduced-hull":
        values["D"] = (0.3, 0.1, 0.07)[seed]
    if formulation.name == "tube-svr":
        values["D"] = (0.2, 0.1, 0.1)[seed]
    if formulation.task == "regression":
        y = x[:, 0] / 4.0 + np.sin(x[:, 1]) + 0.1 * rng.normal(size=n)
    return formulation.build(KernelOracle(kernel, x), y, values)


def ended(solver, formulation, seed):
    """Return the outcome of a run and the certified relative gap."""
    problem = drawn(formulation, seed)
    refused = solver.refusal(problem)
    if refused is not None:
        pytest.skip(refused)
    outcome = drive(solver, problem, np.random.default_rng(0), Limits(time_limit=100.0))
    if outcome.dual_coef is None:
        gap = problem.certify_weights(outcome.model.weights, outcome.intercept).relative_gap
    else:
        gap = problem.certify(*problem.checked(outcome.dual_coef, outcome.intercept)).relative_gap
    assert outcome.claimed_done or outcome.status == "budget" or outcome.info["stopped"]
    return outcome, gap


def named(pair):
    return f"{pair[0].name}-{pair[1].name}"


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("pair", ON_HULLS, ids=named)
def test_the_default_stops_at_one_relative_gap(pair, seed):
    outcome, gap = ended(*pair, seed)
    assert outcome.claimed_done, outcome.info
    assert gap <= DEFAULT_RELATIVE_GAP * (1.0 + 1e-9)


@pytest.mark.parametrize("gap", [1e-2, 1e-4])
@pytest.mark.parametrize("pair", PAIRS, ids=named)
def test_a_gap_that_was_asked_for_is_reached(pair, gap):
    solver, formulation = pair
    gap = max(gap, 1e-2) if solver.name == "gilbert" else gap  # whose epsilon falls like 1 / k
    outcome, reached = ended(solver.with_target_gap(gap), formulation, 1)
    assert outcome.claimed_done, outcome.info
    assert reached <= gap * (1.0 + 1e-9)


def test_every_formulation_of_hulls_has_solvers():
    assert {cls.name for _, cls in ON_HULLS} == set(HULLS) <= set(REGISTRY.formulations)
