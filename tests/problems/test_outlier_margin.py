"""outlier-margin: the certificate and its bounds against every set that may be given up, one after another."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness import RBF, HardMargin, KernelOracle, Linear, OutlierMargin, PolytopeDistance, UsageError, get_solver
from harness.problems.giving_up import GivingUp
from harness.problems.upper_margin import Relaxation, peeled
from tests.problems import widest

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


@settings(max_examples=250, deadline=None)
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
    kept = problem.kept(scores)
    wrong = [s < kept.lowest if p else s > kept.highest for s, p in zip(scores, problem.positive, strict=True)]
    assert kept.given_up == sum(wrong) <= problem.allowance.both


@pytest.mark.parametrize("draws", [60, pytest.param(500, marks=pytest.mark.slow)])
def test_no_upper_bound_is_below_the_widest_margin_of_all_sets(draws):
    rng = np.random.default_rng(1)
    for _ in range(draws):
        problem = widest.drawn(rng)
        best, size = widest.widest(problem), float(np.sqrt(problem.kernel.diagonal().max()))
        assert Relaxation(problem).bound() >= best - 1e-9 * size
        assert peeled(problem) >= best - 1e-9 * size


@settings(max_examples=100, deadline=None)
@given(problems())
def test_the_bounds_of_the_search_hold_at_every_node_and_end_in_the_optimum(problem):
    best = widest.widest(problem)
    size = float(np.sqrt(problem.kernel.diagonal().max()))
    latest = None
    for latest in GivingUp(problem).search():
        assert latest.margin <= best + CLOSE * size
        assert latest.upper >= best - CLOSE * size
        problem.checked(latest.dual_coef, 0.0)
    assert latest.done
    assert latest.upper - latest.margin <= CLOSE * size


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
@pytest.mark.parametrize(("n", "d", "share"), [(60, 2, 0.05), (200, 3, 0.1), (400, 20, 0.2), (150, 450, 0.1)])
@pytest.mark.parametrize("kernel", [None, RBF(gamma=0.05)])
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


def test_the_bound_is_worked_out_once_and_does_not_depend_on_delta():
    x, y, _ = planted(0, 100, 3, 0.1, False)
    first = build(x, y, outliers=0.1, delta=0.0)
    second = OutlierMargin.build(first.kernel, first.targets, {"outliers": 0.1, "delta": 0.9})
    bounds = first.bounds
    before = first.kernel.counter.evaluations
    assert second.bounds == bounds
    assert first.bounds == bounds
    assert first.kernel.counter.evaluations == before


@settings(max_examples=40, deadline=None)
@given(problems())
def test_exchanging_the_classes_changes_nothing(problem):
    settled = problem.settings
    shares = {"outliers_plus": settled.outliers_minus, "outliers_minus": settled.outliers_plus}
    other = type(problem)(problem.kernel, -problem.targets, replace(settled, **shares))
    assert other.bounds[1] == pytest.approx(problem.bounds[1], rel=1e-6, abs=1e-6)


def test_the_line_worked_out_by_hand():
    x = np.array([[2.0], [3.0], [4.0], [5.0], [-6.0], [-2.0], [-3.0], [-4.0], [-5.0], [-4.5]])
    y = [1] * 5 + [-1] * 5
    problem = build(x, y, outliers=0.1, delta=0.0)
    coef = np.zeros(10)
    coef[[0, 5]] = 1.0, -1.0
    found = problem.certify(coef, 0.0)
    assert found.margin_lower == pytest.approx(4.0, rel=1e-12)
    assert found.margin_upper == pytest.approx(4.0, rel=1e-9)
    assert found.given_up == 1
    assert found.relative_gap + found.gap_rounding < 1e-8
    wrong = np.zeros(10)
    wrong[[4, 5]] = 1.0, -1.0  # w = -4: the classes the wrong way round
    found = problem.certify(wrong, 0.0)
    assert found.margin_lower < 0.0
    assert (found.primal, found.relative_gap, found.epsilon) == (0.0, 1.0, 1.0)


def test_a_model_that_gives_up_more_may_be_wider_than_the_optimum():
    x = np.array([[1.0], [2.0], [8.0], [9.0], [-1.0], [-8.0], [-9.0], [-7.0]])
    y = [1] * 4 + [-1] * 4
    coef = np.array([1.0, 0.0, 0.0, 0.0, -1.0, 0.0, 0.0, 0.0])
    found = build(x, y, outliers=0.25, delta=0.5).certify(coef, 0.0)
    assert found.margin_upper == pytest.approx(9.0, rel=1e-9)  # without 1 and -1: from -7 to 2
    assert found.margin_lower == pytest.approx(15.0, rel=1e-12)  # without 2 too: from -7 to 8
    assert (found.gap, found.relative_gap, found.epsilon) == (0.0, 0.0, 0.0)
    assert found.given_up == 3


def test_a_model_without_a_direction():
    x = np.array([[0.0, 1.0], [0.0, -1.0], [0.0, 3.0], [0.0, -3.0]])
    found = build(x, [1, -1, 1, -1], outliers=0.0).certify([0.0] * 4, 0.0)
    assert found.feasibility_violation == 1.0
    assert found.relative_gap is None
    same = np.array([[1.0, 1.0], [1.0, 1.0], [2.0, 2.0], [0.0, 0.0]])
    found = build(same, [1, -1, 1, -1], outliers=0.0).certify([1.0, -1.0, 0.0, 0.0], 0.0)
    assert (found.margin_lower, found.primal) == (0.0, 0.0)


@pytest.mark.parametrize("delta", [0.0, 1.0])
def test_points_that_coincide(delta):
    x = np.ones((12, 2))
    y = np.where(np.arange(12) % 2 == 0, 1.0, -1.0)
    problem = build(x, y, outliers=0.1, delta=delta)
    assert problem.bounds[1] < 1e-6
    coef = np.where(y > 0, 1.0, -1.0) / 6.0
    found = problem.certify(coef, 0.0)
    assert (found.margin_lower or 0.0) <= 0.0
    origin = build(x, y, outliers=0.1, delta=delta, against="origin")
    found = origin.certify(np.full(12, 1.0 / 12.0), 0.0)
    assert found.margin_lower == pytest.approx(np.sqrt(2.0))
    assert found.margin_upper == pytest.approx(np.sqrt(2.0))


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
    import scipy.sparse

    x, y, _ = planted(3, 90, 5, 0.1, False)
    dense = build(x, y, outliers=0.1).bounds[1]
    np.save(tmp_path / "x.npy", x)
    for other in (scipy.sparse.csr_array(x), np.load(tmp_path / "x.npy", mmap_mode="r")):
        assert build(other, y, outliers=0.1).bounds[1] == pytest.approx(dense, rel=1e-9)
