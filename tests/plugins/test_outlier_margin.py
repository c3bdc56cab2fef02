"""outlier-margin: the certificate and its bounds against every set that may be given up, one after another."""

import numpy as np
import pytest
import scipy.sparse
from harness_rgd.outlier_margin import OutlierMargin
from harness_rgd.upper_margin import Relaxation, peeled
from hypothesis import given, settings
from hypothesis import strategies as st

from harness import RBF, KernelOracle, Linear, UsageError, get_solver
from harness.problems import HardMargin, PolytopeDistance
from tests.plugins import widest

CLOSE = 1e-6


def build(x, y, kernel=None, ridge=0.0, **values):
    oracle = KernelOracle(kernel or Linear(), x, ridge=ridge)
    return OutlierMargin.build(oracle, np.asarray(y, dtype=float), values)


@st.composite
def problems(draw):
    """Draw points with copies, offsets and gaps, both cases, both kinds of shares."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    n, d = draw(st.integers(4, 10)), draw(st.integers(1, 4))
    y = np.where(np.arange(n) % draw(st.integers(2, 3)) == 0, 1.0, -1.0)
    x = rng.normal(size=(n, d))
    origin = draw(st.booleans())
    x[:, 0] += draw(st.sampled_from([0.0, 1.0, 3.0])) * (1.0 if origin else y)
    if draw(st.booleans()):
        x[n // 2 :] = x[: n - n // 2]
    if not origin:
        x += draw(st.sampled_from([0.0, 100.0]))
    values = {"delta": draw(st.sampled_from([0.0, 0.5])), "outliers": draw(st.sampled_from([0.0, 0.1, 0.2, 0.3]))}
    if origin:
        values["against"] = "origin"
    elif draw(st.booleans()):
        values.update(outliers_plus=0.34, outliers_minus=draw(st.sampled_from([0.0, 0.25])))
    kernel = draw(st.sampled_from([None, None, RBF(gamma=0.3)]))
    return build(x, y, kernel, draw(st.sampled_from([0.0, 0.0, 0.5])), **values)


def a_model(problem, seed):
    """Return feasible coefficients, drawn."""
    weights = np.random.default_rng(seed).dirichlet(np.full(problem.n, 0.4)) + 1e-6
    for side in (problem.positive, ~problem.positive):
        weights[side] /= weights[side].sum() if side.any() else 1.0
    return np.where(problem.positive, weights, -weights)


@settings(max_examples=50, deadline=None)
@given(problems(), st.integers(0, 100))
def test_the_certificate_agrees_with_every_set_that_may_be_given_up(problem, seed):
    best = widest.widest(problem)
    points = widest.coordinates(problem)
    size = float(np.sqrt((points**2).sum(axis=1).max()))
    lower, upper = problem.bounds
    assert lower <= best + CLOSE * size
    assert best - CLOSE * size <= upper <= best + CLOSE * size
    coef = a_model(problem, seed)
    found = problem.certify(coef, 0.0)
    w = coef @ points
    assert found.margin_upper == upper
    assert found.dual == pytest.approx(0.5 * upper**2)
    if found.undecidable or np.linalg.norm(w) < 1e-3 * size:
        return
    realised = widest.along(problem, w, points)
    assert found.margin_lower == pytest.approx(realised, abs=CLOSE * size)
    assert found.margin_lower <= widest.widest(problem, problem.allowance) + CLOSE * size
    ratio = min(1.0, max(0.0, realised) / upper) if upper > 0.0 else 1.0
    if upper > 1e-3 * size:
        assert found.relative_gap == pytest.approx(1.0 - ratio**2, abs=1e-4)
        assert found.epsilon == pytest.approx(1.0 - ratio, abs=1e-4)
    assert found.primal == pytest.approx(0.5 * max(0.0, realised) ** 2, abs=CLOSE * size**2)
    scores = points @ w
    slab = problem.slab(scores)
    wrong = [s < slab.lowest if p else s > slab.highest for s, p in zip(scores, problem.positive, strict=True)]
    assert problem.given_up(scores) == sum(wrong) <= problem.allowance.both


@pytest.mark.parametrize("draws", [30, pytest.param(500, marks=pytest.mark.slow)])
def test_no_upper_bound_is_below_the_widest_margin_of_all_sets(draws):
    rng = np.random.default_rng(1)
    for _ in range(draws):
        problem = widest.drawn(rng)
        best, size = widest.widest(problem), float(np.sqrt(problem.kernel.diagonal().max()))
        assert Relaxation(problem).bound() >= best - 1e-9 * size
        assert peeled(problem) >= best - 1e-9 * size


def planted(seed, n, d, share, origin, gap=0.5):
    """Return points a margin apart with outliers on the wrong side, and who they are."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    x = rng.normal(size=(n, d)) * np.linspace(1.0, 2.0, d)
    side = np.ones(n) if origin else y
    x[:, 0] = side * (gap + np.abs(x[:, 0]))
    out = np.zeros(n, dtype=bool)
    out[rng.permutation(n)[: int(share * n)]] = True
    x[out, 0] *= -1.0
    return x, y, out


@pytest.mark.parametrize("origin", [False, True])
@pytest.mark.parametrize(
    ("n", "d", "share", "kernel"), [(60, 2, 0.05, None), (200, 3, 0.1, RBF(gamma=0.05)), (150, 450, 0.1, None)]
)
def test_no_upper_bound_is_below_the_margin_of_the_planted_inliers(n, d, share, origin, kernel):
    x, y, out = planted(n + d, n, d, share, origin)
    problem = build(x, y, kernel, outliers=share, against="origin" if origin else "class")
    core = problem.inliers(np.flatnonzero(~out))
    assert isinstance(core, PolytopeDistance if origin else HardMargin)
    solved = get_solver("nearest-point").with_target_gap(1e-4).solve(core)
    margin = core.certify(solved.dual_coef, solved.intercept).margin_lower
    assert margin > 0.0
    for bound in (Relaxation(problem).bound(), peeled(problem), problem.bounds[1]):
        assert bound >= margin * (1.0 - 1e-9)
    assert problem.bounds[0] <= margin
    other = OutlierMargin.build(problem.kernel, y, {**problem.parameters, "delta": 0.9})
    before = problem.kernel.counter.evaluations
    assert other.bounds == problem.bounds
    assert problem.kernel.counter.evaluations == before, "worked out once, whatever delta is"


@pytest.mark.parametrize("n", [12, 60])
@pytest.mark.parametrize("size", [1e200, 1e-200])
def test_points_beyond_what_float64_can_square_have_no_figures_and_no_fault(n, size):
    x, y, _ = planted(0, n, 2, 0.1, False)
    found = build(x * size, y, outliers=0.1).certify(a_model(build(x, y), 0), 0.0)
    assert found.undecidable or found.margin_lower <= found.margin_upper * 1.01


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"outliers": 1.0}, "outliers"),
        ({"outliers": -0.1}, "outliers"),
        ({"outliers": 0.9}, "gives up 9 of 10 points"),
        ({"outliers_plus": 0.7, "outliers_minus": 0.1}, "gives up 5 of 5 positives"),
        ({"outliers_plus": 0.1}, "given alone"),
        ({"outliers_plus": 0.1, "outliers_minus": 0.1, "against": "origin"}, "no classes"),
    ],
)
def test_a_share_that_cannot_be_is_told_in_a_sentence(values, told):
    x = np.arange(20.0).reshape(10, 2)
    with pytest.raises(UsageError, match=told):
        build(x, np.where(np.arange(10) % 2 == 0, 1.0, -1.0), **values)


def test_sparse_and_mapped_points_have_the_bounds_of_dense_ones(tmp_path):
    x, y, _ = planted(3, 90, 5, 0.1, False)
    dense = build(x, y, outliers=0.1).bounds[1]
    np.save(tmp_path / "x.npy", x)
    for other in (scipy.sparse.csr_array(x), np.load(tmp_path / "x.npy", mmap_mode="r")):
        assert build(other, y, outliers=0.1).bounds[1] == pytest.approx(dense, rel=1e-9)
