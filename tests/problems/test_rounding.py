"""No certificate is false: drawn problems against exact arithmetic, numbers with a bound of their error, and any units."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse
from harness_sampling.tube_svr import TubeSVR

from harness import CSVC, RBF, Certificate, CSVCNoBias, Kernel, KernelOracle, Linear, Poly, Precomputed, get_solver
from harness.problems import L2SVC, EpsSVR, HardMargin, NuSVC, OneClass, PolytopeDistance, ReducedHull
from harness.problems.rounding import Bounded
from harness.registry.discovery import load_registry
from harness.support.errors import PluginError
from tests.plugins.common import build, certified
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


# -- Numbers with a bound of their error, against fractions, and what a certificate makes of them --------


def exact(array):
    return [Fraction(float(v)) for v in np.asarray(array)]


def holds(found, true):
    value, error = (Fraction(*each.as_integer_ratio()) for each in (found.value, found.error))
    return abs(value - true) <= error


@pytest.mark.parametrize("dtype", [np.float64, np.longdouble])
@pytest.mark.parametrize("seed", range(20))
@np.errstate(all="ignore")
def test_operations_hold_their_bounds(seed, dtype):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 400))
    size = 10.0 ** rng.integers(-200, 100)
    x, y = rng.normal(size=(2, n)) * 10.0 ** rng.integers(-8, 8, size=(2, n)) * size
    y[rng.random(n) < 0.3] = -x[rng.random(n) < 0.3][:1].sum()
    p, q = exact(x), exact(y)
    a, b = Bounded.exact(x.astype(dtype)), Bounded.exact(y.astype(dtype))
    total, product = sum(p), sum(u * v for u, v in zip(p, q, strict=True))
    assert holds(a.sum(), total)
    assert holds(a.dot(b), product)
    assert holds((a * b - b).sum(), product - sum(q))
    losses = sum(max(Fraction(0), u - v) for u, v in zip(p, q, strict=True))
    assert holds((a - y.astype(dtype)).positive().sum(), losses)
    assert holds((3.0 - abs(a)).sum(), sum(3 - abs(u) for u in p))
    quotient = (a.sum() / b.dot(b)) * b.sum()
    assert not quotient.finite or holds(quotient, total * sum(q) / sum(v * v for v in q))
    root = b.dot(b).sqrt()
    low, high = (Fraction(*float(v).as_integer_ratio()) for v in (root.lower, root.upper))
    assert low * (1 - Fraction(1, 2**52)) <= 0 or (low * (1 - Fraction(1, 2**52))) ** 2 <= sum(v * v for v in q)
    assert sum(v * v for v in q) <= (high * (1 + Fraction(1, 2**52))) ** 2


def test_a_target_is_met_by_the_whole_interval_alone():
    assert Certificate(relative_gap=1e-3, gap_rounding=1e-9).meets(1.1e-3)
    assert not Certificate(relative_gap=1e-3, gap_rounding=2e-4).meets(1.1e-3)
    assert Certificate(relative_gap=1e-9).meets(1.0), "nothing is known of its rounding: a formulation of a stranger"
    assert not Certificate(undecidable="not decidable in float64.").meets(1.0)
    assert Certificate(relative_gap=0.0, gap_rounding=0.0).meets(0.0)


def test_objectives_without_bounds_have_a_gap_and_no_rounding():
    found = Certificate.of_objectives(3.0, 1.0, kkt_violation=0.5, feasibility_violation=0.0)
    assert (found.gap, found.relative_gap, found.gap_rounding) == (2.0, pytest.approx(2.0 / 3.0), None)
    lost = Certificate.of_objectives(np.inf, 1.0, kkt_violation=0.5, feasibility_violation=0.0)
    assert lost.relative_gap is None
    assert "not a number" in lost.undecidable
    wide = Bounded(np.float64(1.0), np.float64(0.7))
    lost = Certificate.of_objectives(wide, Bounded.exact(0.0), kkt_violation=0.5, feasibility_violation=0.0)
    assert (lost.primal, lost.gap, lost.relative_gap, lost.gap_rounding) == (None, None, None, None)
    assert "rounding may have moved it by 4.7; not decidable in float64" in lost.undecidable


@dataclass(frozen=True)
class Cosine(Kernel):
    name = "cosine"

    def block(self, x, z):
        return np.cos(x[:, :1] - z[:, 0])

    def diagonal(self, x):
        return np.ones(len(x))


def test_a_kernel_of_unknown_making_is_taken_to_be_off_by_many_roundings():
    x, y = np.array([[0.1], [2.9]]), np.array([1.0, -1.0])
    found = CSVC.build(KernelOracle(Cosine(), x), y, {"C": 1.0}).certify([0.3, -0.3], 0.1)
    assert 0.09 * 256 * 2.0**-53 < found.gap_rounding < 1e-11


@pytest.mark.parametrize("scale", [1e-160, 1e150, 1e160])
def test_data_at_the_ends_of_float64_divide_by_no_zero_and_overflow_into_no_figure(scale):
    x, y = np.array([[3.0, 1.0], [2.0, -2.0], [-2.5, 1.5]]) * scale, np.array([1.0, 1.0, -1.0])
    found = HardMargin.build(KernelOracle(Linear(), x), y).certify([0.5, 0.5, -1.0], 0.0)
    # w = (5, -2): <w, p> = 13 and 14, <w, q> = -15.5, |w|^2 = 29
    assert (found.undecidable, found.margin_lower <= 28.5 / np.sqrt(29.0) * scale) == ("", True)
    assert found.margin_lower == pytest.approx(28.5 / np.sqrt(29.0) * scale, rel=1e-3)
    assert found.margin_upper == pytest.approx(np.sqrt(29.0) * scale, rel=1e-12)
    assert abs(found.relative_gap - (1.0 - (28.5 / 29.0) ** 2)) <= found.gap_rounding + 1e-15
    assert found.gap_rounding < 1e-3
    alone = PolytopeDistance.build(KernelOracle(Linear(), x[:2]), np.ones(2)).certify([1.0, 0.0], 0.0)
    assert abs(alone.relative_gap - (1.0 - 0.4**2)) <= alone.gap_rounding + 1e-15


def test_what_lies_beyond_float64_is_said_and_is_no_number():
    x = np.array([[1e-150], [-0.5e-150]])
    found = OneClass.build(KernelOracle(Linear(), x), np.ones(2), {"nu": 1.0}).certify([0.5, 0.5], -1e30)
    figures = {name: value for name, value in found.as_dict().items() if name != "undecidable"}
    assert all(value is None or np.isfinite(value) for value in figures.values())
    assert found.relative_gap is None
    # the relative gap is computed as 1, and the bound of its rounding as 1e317
    assert found.undecidable == "the rounding of f(x) or of an objective has no finite bound; not decidable in float64."
    assert "overflows in float64" in Certificate.of_objectives(np.inf, 0.0).undecidable


# -- The relative gap does not depend on the units -------------------------------------------------------


# formulation -> parameters, and the power of the points' and the targets' scale that each has, the coefficients first
SVC = {"C": 3.0}, {"coef": (-2, 0), "C": (-2, 0)}
UNITS = {
    "c-svc": SVC, "c-svc-nobias": SVC, "ramp-svc": SVC, "l2-svc": ({"chi": 3.0}, {"chi": (-2, 0)}), "hard-margin": ({}, {}),
    "eps-svr": ({"C": 3.0, "epsilon": 0.1}, {"coef": (-2, 1), "C": (-2, 1), "epsilon": (0, 1), "intercept": (0, 1)}),
    "reduced-hull": ({"D": 0.4}, {}), "nu-svc": ({"nu": 0.4}, {"intercept": (2, 0)}), "polytope-distance": ({}, {}),
    "one-class": ({"nu": 0.4}, {"intercept": (2, 0)}), "outlier-margin": ({"outliers": 0.1}, {}),
    # the targets are one more coordinate of the points
    "tube-svr": ({"epsilon": 0.5, "D": 0.4}, {"targets": (1, 0), "epsilon": (1, 0)}),
}  # fmt: skip
UNIT_SCALES = [(1e-9, 1.0), (1e9, 1.0), (1.0, 1e-9), (1.0, 1e9), (1e-9, 1e-9), (1e9, 1e9), (1e-5, 1e3)]


def problem_of(name, values, points, targets):
    return build(load_registry().formulation(name), points, targets, Linear(), **values)


def data(name):
    rng = np.random.default_rng(3)
    y = np.where(np.arange(16) % 2, 1.0, -1.0)
    points = np.column_stack([2.0 * y + 0.3 * rng.normal(size=16), rng.normal(size=16) + 4.0])
    return points, points[:, 0] + 0.1 * rng.normal(size=16) if name in ("eps-svr", "tube-svr") else y


@pytest.mark.parametrize(
    "scales", [UNIT_SCALES[-2:], pytest.param(UNIT_SCALES[:-2], marks=pytest.mark.slow)], ids=["both", "each"]
)
@pytest.mark.parametrize("name", UNITS)
def test_the_relative_gap_does_not_depend_on_units(name, scales):
    values, powers = UNITS[name]
    points, targets = data(name)
    problem, rng = problem_of(name, values, points, targets), np.random.default_rng(4)
    if problem.has_dual_form():
        form = problem.dual_form()
        start, optimum = form.coef(form.start), get_solver("qp").solve(problem)
        models = [(start, 0.3), (0.7 * optimum.dual_coef + 0.3 * start, optimum.intercept)]
    elif name == "ramp-svc":
        models = [(0.0 * targets, 0.0), (targets * rng.uniform(0.0, 1.0, 16), 0.0)]
    else:
        models = [(targets / 8.0, 0.0)]
    for coef, intercept in models:
        intercept = intercept if problem.has_bias else 0.0
        known = problem.certify(*problem.checked(coef, intercept))
        assert known.relative_gap is not None
        for scale in scales:
            factor = {each: scale[0] ** p * scale[1] ** q for each, (p, q) in powers.items()}
            regression = factor.get("targets", scale[1] if name == "eps-svr" else 1.0)
            changed = {each: value * factor.get(each, 1.0) for each, value in values.items()}
            other = problem_of(name, changed, points * scale[0], targets * regression)
            scaled = coef * factor.get("coef", 1.0), intercept * factor.get("intercept", 1.0)
            found = other.certify(*other.checked(*scaled))
            assert found.relative_gap == pytest.approx(known.relative_gap, rel=1e-6, abs=1e-9), scale
            assert found.meets(1e-3) == known.meets(1e-3)


def test_the_model_zero_is_not_good_enough_for_small_targets():
    points, _ = data("eps-svr")
    problem = problem_of("eps-svr", {"C": 1.0, "epsilon": 1e-8}, points, 1e-6 * points[:, 0])
    assert problem.certify(np.zeros(16), 0.0).relative_gap > 0.9
    assert certified(problem, get_solver("smo").with_target_gap(1e-3).solve(problem)).meets(1e-3)


def test_where_the_optimum_is_zero_the_gap_is_relative_to_what_the_dual_allows():
    points, _ = data("eps-svr")
    problem = problem_of("eps-svr", {"C": 2.0, "epsilon": 0.5}, points, np.zeros(16))
    assert problem.certify(np.zeros(16), 0.0).relative_gap == 0.0
    least = 1e-12 * 2.0 * 2.0 * 0.5 * 16
    assert problem.dual_form().gap_scale(0.0) == pytest.approx(least)
    outside, rounding = (problem.certify(np.zeros(16), 0.5 + off) for off in (1e-6, 2.0**-53))
    assert outside.relative_gap == pytest.approx(1.0, rel=1e-6)  # each point pays C for a millionth
    assert rounding.relative_gap < 1e-3
