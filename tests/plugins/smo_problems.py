"""Problems for the tests of SMO and block SMO: every formulation with a dual form, and draws of all that may be awkward."""

import numpy as np
import pytest
from harness_smo import SMO, SMOBlock

from harness import CSVC, RBF, CSVCNoBias, Linear, Poly, Precomputed
from harness.problems import L2SVC, EpsSVR, HardMargin, OneClass, ReducedHull
from tests.plugins.common import build, overlapping

FORMULATIONS = {
    "c-svc": (CSVC, {"C": 10.0}), "c-svc-nobias": (CSVCNoBias, {"C": 10.0}), "l2-svc": (L2SVC, {"chi": 5.0}),
    "eps-svr": (EpsSVR, {"C": 4.0, "epsilon": 0.1}), "eps-svr-without-tube": (EpsSVR, {"C": 4.0, "epsilon": 0.0}),
    "one-class": (OneClass, {"nu": 0.3}), "one-class-all": (OneClass, {"nu": 1.0}),
    "reduced-hull": (ReducedHull, {"D": 0.1}), "hard-margin": (HardMargin, {}),
}  # fmt: skip
EACH = pytest.mark.parametrize(("formulation", "values"), FORMULATIONS.values(), ids=FORMULATIONS)
_BY_SMO = {name: each for name, each in FORMULATIONS.items() if SMO.takes(each[0])}
EACH_BY_SMO = pytest.mark.parametrize(("formulation", "values"), _BY_SMO.values(), ids=_BY_SMO)


def curve(seed=0, n=60):
    """Points in the plane and a noisy function of them."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    return x, np.sin(2.0 * x[:, 0]) + 0.5 * x[:, 1] + 0.1 * rng.normal(size=n)


def stated(formulation, values, seed=0, n=60, kernel=None, **oracle):
    x, y = curve(seed, n) if formulation is EpsSVR else overlapping(seed, n)
    if formulation in (ReducedHull, HardMargin):
        x[:, 0] += 4.0 * y  # hulls that touch have w = 0, where no method ends quickly
    return build(formulation, x, y, kernel, **oracle, **values)


def drawn(seed):
    """One of many problems: any formulation, kernel, cost, and data that make the kernel matrix singular."""
    rng = np.random.default_rng(seed)
    formulation, values = list(FORMULATIONS.values())[seed % len(FORMULATIONS)]
    n, d = int(rng.integers(20, 300)), int(rng.integers(1, 6))
    y = np.where(rng.random(n) < 0.4, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    x = rng.normal(size=(n, d))
    x[:, 0] += y
    if formulation in (HardMargin, ReducedHull):
        x[:, 0] += 5.0 * y
    elif seed % 3 == 0:  # duplicates, one point with both labels among them
        x = x[rng.integers(0, n // 2, n)]
        x[1] = x[0]
    kernel = [RBF(0.5), Linear(), Poly(2, 0.5, 1.0), RBF(5.0)][int(rng.integers(4))]
    largest = 5 if isinstance(kernel, RBF) else 2
    cost = float(10.0 ** rng.uniform(-3, largest if formulation is not CSVCNoBias else 2))  # one at a time is slow
    values = values | {name: cost for name in ("C", "chi") if name in values}
    if formulation is ReducedHull:
        values = {"D": float(rng.choice([0.1, 0.5, 1.0]))} if (y > 0).sum() >= 10 <= (y < 0).sum() else {"D": 1.0}
    if formulation is EpsSVR:
        y = np.sin(2.0 * x[:, 0]) + 0.2 * rng.normal(size=n)
    if formulation is CSVC and seed % 2:
        values = values | {"class_weight": "balanced"}
    if seed % 5 == 0:
        x, kernel = kernel.block(x, x), Precomputed()

    def state():
        problem = build(formulation, x, y, kernel, threads=1 + seed % 2, **values)
        if formulation in (CSVC, CSVCNoBias) and seed % 4 == 0:  # a cost of its own for each point
            costs = np.random.default_rng(seed).uniform(0.1, 3.0, n) * cost
            problem = formulation(problem.kernel, y, problem.settings, upper=costs)
        return problem

    size = int(rng.choice([4, 16, 64, 512] if cost < 1e3 else [64, 512]))
    precision, memory = str(rng.choice(["float32", "float64"])), float(rng.choice([0.01, 1.0, 100.0]))
    return state, SMOBlock(tau=1e-6, working_set=size, dtype=precision, cache_mb=memory)
