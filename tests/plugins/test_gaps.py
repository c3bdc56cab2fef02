"""What a solver calls done is certified: its default on hulls at one relative gap, and every gap that is chosen."""

import numpy as np
import pytest

from harness import DEFAULT_RELATIVE_GAP, RBF, Limits, Linear, Poly, drive
from harness.registry.discovery import load_registry
from tests.plugins.common import build

pytestmark = pytest.mark.slow  # each test drives every exact solver

HULLS = {"hard-margin", "l2-svc", "reduced-hull", "polytope-distance", "tube-svr"}
REGISTRY = load_registry()
SOLVERS = [cls() for plugin in REGISTRY.solvers.values() for cls in plugin.values() if cls.exact]
PAIRS = [(solver, cls) for solver in SOLVERS for cls in REGISTRY.solved_by(type(solver))]


def drawn(formulation, seed):
    """Points far apart, near each other, and with labels flipped; every kernel; a price of any size."""
    rng = np.random.default_rng([seed, 11])
    n, d = int(rng.integers(40, 90)), int(rng.integers(2, 5))
    y = np.where(np.arange(n) % 3 == 0, 1.0, -1.0)
    x = rng.normal(size=(n, d))
    x[:, 0] += y * (4.0, 1.5, 1.5)[seed]
    kernel = (Linear(), RBF(gamma=0.5), Poly(degree=2, gamma=0.5, coef0=1.0))[seed]
    cost, name = (1.0, 100.0, 10.0)[seed], formulation.name
    values = {"C": cost, "chi": cost, "epsilon": (1.0, 0.5, 1.0)[seed], "nu": 0.3}
    if name in ("hard-margin", "reduced-hull"):
        x[:, 0] += 3.0 * y  # hulls that meet have w = 0, where no method ends quickly
    elif seed == 2:
        y = np.where(rng.random(n) < 0.1, -y, y)
    if name in ("polytope-distance", "one-class"):
        x = x + 8.0
    caps = {"reduced-hull": (0.3, 0.1, 0.07), "tube-svr": (0.2, 0.1, 0.1)}
    if name in caps:
        values["D"] = caps[name][seed]
    if formulation.task == "regression":
        y = x[:, 0] / 4.0 + np.sin(x[:, 1]) + 0.1 * rng.normal(size=n)
    return build(formulation, x, y, kernel, **values)


@pytest.mark.parametrize(("gap", "seed"), [(None, 0), (None, 1), (None, 2), (1e-2, 1), (1e-4, 1)])
@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: f"{pair[0].name}-{pair[1].name}")
def test_the_gap_by_default_and_one_that_is_chosen_are_reached(pair, gap, seed):
    solver, formulation = pair
    if gap is None and formulation.name not in HULLS:
        pytest.skip("the default of hulls is one relative gap")
    least = 1e-2 if solver.name == "gilbert" else 0.0  # whose epsilon falls like 1 / k
    problem, chosen = drawn(formulation, seed), solver if gap is None else solver.with_target_gap(max(gap, least))
    refused = chosen.refusal(problem)
    if refused is not None:
        pytest.skip(refused)
    outcome = drive(chosen, problem, np.random.default_rng(0), Limits(time_limit=100.0))
    if outcome.dual_coef is None:
        found = problem.certify_weights(outcome.model.weights, outcome.intercept)
    else:
        found = problem.certify(*problem.checked(outcome.dual_coef, outcome.intercept))
    assert outcome.claimed_done, outcome.info
    assert found.relative_gap <= max(gap or DEFAULT_RELATIVE_GAP, least if gap else 0.0) * (1.0 + 1e-9)
