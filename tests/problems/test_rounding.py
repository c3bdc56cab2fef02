"""Numbers with a bound of their error, against fractions, and what a certificate makes of them."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from harness import CSVC, Certificate, Kernel, KernelOracle, Linear
from harness.problems import HardMargin, OneClass, PolytopeDistance
from harness.problems.rounding import Bounded


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
