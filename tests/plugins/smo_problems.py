"""Problems for the tests of SMO: every formulation with a dual form, and their optima."""

import numpy as np
import pytest
from harness_qp import QP

from harness import CSVC, RBF, CSVCNoBias, KernelOracle
from harness.problems import EpsSVR, OneClass, ReducedHull
from tests.plugins.points import overlapping


def build(x, y, kernel=None, formulation=CSVC, cache_mb=256.0, threads=1, **values):
    return formulation.build(KernelOracle(kernel or RBF(0.5), x, cache_mb=cache_mb, threads=threads), y, values)


def certified(problem, solution):
    problem.checked(solution.dual_coef, solution.intercept)
    return problem.certify(solution.dual_coef, solution.intercept)


def optimum(problem):
    """The optimal objective, from the interior-point solver's primal and dual which agree."""
    found = certified(problem, QP().solve(problem))
    assert found.relative_gap < 1e-7
    return found.dual


def curve(seed=0, n=60):
    """Points in the plane and a noisy function of them."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    return x, np.sin(2.0 * x[:, 0]) + 0.5 * x[:, 1] + 0.1 * rng.normal(size=n)


CASES = {
    "c-svc": (CSVC, {"C": 4.0}),
    "c-svc-nobias": (CSVCNoBias, {"C": 4.0}),
    "eps-svr": (EpsSVR, {"C": 4.0, "epsilon": 0.1}),
    "eps-svr-without-tube": (EpsSVR, {"C": 4.0, "epsilon": 0.0}),
    "one-class": (OneClass, {"nu": 0.3}),
    "one-class-all": (OneClass, {"nu": 1.0}),
    "reduced-hull": (ReducedHull, {"D": 0.1}),
    "full-hull": (ReducedHull, {"D": 1.0}),
}
EACH = pytest.mark.parametrize(("formulation", "values"), CASES.values(), ids=CASES)


def stated(formulation, values, seed=0, n=60, kernel=None, **oracle):
    x, y = curve(seed, n) if formulation is EpsSVR else overlapping(seed, n)
    if formulation is ReducedHull:
        x[:, 0] += (2.5 if values["D"] == 1.0 else 1.5) * y  # hulls that touch have w = 0, where no method ends quickly
    return build(x, y, kernel, formulation, **oracle, **values)
