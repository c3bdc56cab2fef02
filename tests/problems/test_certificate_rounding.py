"""No certificate is false: hundreds of drawn problems against exact arithmetic, where float64 is at its ends and where it is not."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse
from harness_sampling.tube_svr import TubeSVR

from harness import CSVC, RBF, CSVCNoBias, KernelOracle, Linear, PluginError, Poly, Precomputed, get_solver
from harness.problems import L2SVC, EpsSVR, HardMargin, NuSVC, OneClass, PolytopeDistance, ReducedHull
from tests.problems.exact_certificates import falsehoods, has_margin, objectives

HULLS = (HardMargin, L2SVC, ReducedHull, PolytopeDistance)
FORMULATIONS = (*HULLS, CSVC, CSVCNoBias, OneClass, NuSVC, EpsSVR, TubeSVR)
# a share of the seeds, others for each test, with the quick tests; the rest with the slow ones
SHARES = pytest.mark.parametrize(
    "share", [slice(2), pytest.param(slice(2, None), marks=pytest.mark.slow)], ids=["few", "rest"]
)


def points(kind, rng, n=16):
    """Return (x, y) of a kind of data, two features and two classes about one apart, or less."""
    y = np.where(np.arange(n) % 2, 1.0, -1.0)
    x = np.column_stack([y * rng.choice([0.3, 2.5]) + 0.7 * rng.normal(size=n), rng.normal(size=n)])
    if kind == "duplicates":
        half = n // 2
        x[half:], y[half:] = x[:half], y[:half]
    elif kind == "touching":
        x = rng.integers(-2, 3, size=(n, 2)).astype(np.float64)
    elif kind == "opposite":
        x[2:4] = x[0]
    elif kind == "timestamp":
        x = np.column_stack([1.7e9 + rng.integers(0, 3_000_000, n), y + 0.3 * x[:, 0]])
    elif kind == "mixed scales":
        x = x * [1.0, 10.0 ** rng.integers(3, 10)]
    elif kind in OFFSETS:
        x = x + OFFSETS[kind]
    elif kind in SCALES:
        x = x * SCALES[kind]
    return np.ascontiguousarray(x), y


OFFSETS = {"offset 1e4": 1e4, "offset 1e8": 1e8, "offset 1e12": 1e12}
SCALES = {"scale 1e-160": 1e-160, "scale 1e-40": 1e-40, "scale 1e40": 1e40, "scale 1e150": 1e150}
VALUES = {"C": 10.0, "chi": 5.0, "D": 0.3, "nu": 0.4, "epsilon": 0.1}
BENIGN = ("plain", "duplicates")
KERNELS = ("rbf", "rbf-products", "poly", "precomputed")
KINDS = (*BENIGN, "touching", "opposite", "timestamp", "mixed scales", *OFFSETS, *SCALES)


def plain_model(formulation, x, targets, kernel):
    """Return (coef, intercept) that the exact reference finds for tame data, and coefficients to start from."""
    plain = formulation.build(KernelOracle(kernel, x), targets, VALUES)
    form = plain.dual_form()
    start = form.coef(form.start)
    try:
        found = get_solver("qp").solve(plain)
    except PluginError:  # the interior point method gives up on numbers far apart
        return start, 0.0, start
    return np.asarray(found.dual_coef), float(found.intercept), start


def drawn(formulation, kind, seed):
    """Return (problem, coef, intercept): feasible models near the optimum, at a distance from it, and far away."""
    rng = np.random.default_rng([seed, KINDS.index(kind), FORMULATIONS.index(formulation)])
    x, y = points(kind, rng)
    centre, unit = (0.0, SCALES[kind]) if kind in SCALES else (x.mean(axis=0), 1.0)
    centre = 0.0 * x.mean(axis=0) if formulation in (OneClass, PolytopeDistance, CSVCNoBias) else centre
    if formulation in (EpsSVR, TubeSVR):
        y = y + 0.3 * rng.normal(size=len(y))
    price = 10.0 ** float(np.clip(-2.0 * np.log10(unit), -280.0, 280.0))
    found, intercept, start = plain_model(formulation, (x - centre) / unit, y, Linear())
    is_hull = formulation in (*HULLS, OneClass, NuSVC, TubeSVR)
    if not is_hull:
        found, start = found * price, start * price
    coef = found + (0.0, 1e-9, 1e-4, 0.5)[seed % 4] * (start - found)
    if kind == "opposite" and formulation in (HardMargin, L2SVC) and seed % 2:
        coef = np.zeros(len(y))
        coef[[0, 2 + (y[2] == y[0])]] = y[0], -y[0]
    w = coef @ (x - centre)
    intercept = intercept / price if formulation in (OneClass, NuSVC) else intercept
    intercept = 0.0 if formulation is CSVCNoBias else intercept - float(w @ np.broadcast_to(centre, w.shape))
    # a sparse copy is the same problem, to be summed without a centre
    data = scipy.sparse.csr_array(x) if seed % 5 == 4 else x
    values = {**VALUES, "C": VALUES["C"] * price, "chi": VALUES["chi"] * price}
    return formulation.build(KernelOracle(Linear(), data), y, values), coef, intercept


def seeds(count, *names):
    """Return the seeds, 3 or 5, in an order that differs from one test to the next."""
    first = sum(map(len, names))
    return [(first + 2 * k) % count for k in range(count)]


@SHARES
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("formulation", FORMULATIONS, ids=lambda each: each.name)
def test_no_certificate_is_false(formulation, kind, share):
    for seed in seeds(5, formulation.name, kind)[share]:
        problem, coef, intercept = drawn(formulation, kind, seed)
        assert problem.feasibility_violation(coef) <= 1e-6
        found = problem.certify(coef, intercept)
        assert falsehoods(problem, problem.feasible(coef), intercept, found) == [], f"seed {seed}: {found}"
        if kind in BENIGN:
            assert found.undecidable == "", f"seed {seed}"
            assert found.gap_rounding <= max(1e-10, 1e-2 * abs(found.relative_gap)), f"seed {seed}: {found}"
            if not has_margin(problem):
                exactly = objectives(problem, coef, intercept, Fraction)
                assert (found.primal, found.dual) == pytest.approx([float(each) for each in exactly], rel=1e-9)


def drawn_with_kernel(formulation, kernel, kind, seed):
    """Return (problem, coef, intercept) like drawn(), at an offset or not, with another kernel than the linear one."""
    rng = np.random.default_rng([seed, KERNELS.index(kernel), FORMULATIONS.index(formulation)])
    x, y = points("plain", rng, n=12)
    if kernel == "rbf-products":
        x = np.hstack([x, 0.1 * rng.normal(size=(12, 34))])
    function = {"poly": Poly(degree=2, gamma=0.5), "precomputed": Precomputed()}.get(kernel, RBF(gamma=0.5))
    tame = x @ x.T + 1.0 if kernel == "precomputed" else x
    found, intercept, start = plain_model(formulation, tame, y, function)
    coef = found + (0.0, 1e-9, 1e-4, 0.5)[seed % 4] * (start - found)
    data = tame if kernel == "precomputed" else x + OFFSETS.get(kind, 0.0)
    data = scipy.sparse.csr_array(data) if seed % 3 == 2 and kernel != "precomputed" else data
    return formulation.build(KernelOracle(function, data), y, VALUES), coef, intercept


@SHARES
@pytest.mark.parametrize("kind", ["plain", "offset 1e4", "offset 1e8"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_no_certificate_with_another_kernel_is_false(kernel, kind, share):
    for formulation in FORMULATIONS:
        for seed in seeds(3, formulation.name, kind, kernel)[share]:
            problem, coef, intercept = drawn_with_kernel(formulation, kernel, kind, seed)
            found = problem.certify(coef, intercept)
            wrong = falsehoods(problem, problem.feasible(coef), intercept, found)
            assert wrong == [], f"{formulation.name}, seed {seed}: {found}"
            if kind == "plain":  # else hulls that touch cannot be told from those that nearly do
                assert found.undecidable == "" or (has_margin(problem) and found.undecidable.startswith("w may be 0"))


def test_rounding_that_is_said_to_be_small_enough_is_not_looked_into():
    x, y = points("plain", np.random.default_rng(9))
    problem = CSVC.build(KernelOracle(RBF(0.2), x), y, {"C": 1e5})
    model = get_solver("smo-block", gap=1e-12).solve(problem)
    fine = problem.certify(model.dual_coef, model.intercept).gap_rounding
    rough = problem.certify(model.dual_coef, model.intercept, tolerated_rounding=1e-6).gap_rounding
    assert 10.0 * fine < rough < 1e-6
