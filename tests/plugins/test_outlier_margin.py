"""outlier-margin: its certificate, its bounds and outlier-exact against every set that may be given up; the inliers' margin."""

import numpy as np
import pytest
import scipy.sparse
from harness_rgd.outlier_margin import OutlierMargin
from harness_rgd.upper_margin import Relaxation, bound_by_pairs
from hypothesis import given, settings
from hypothesis import strategies as st

from harness import RBF, CertifiedRun, KernelOracle, Linear, PluginError, get_solver
from harness.cli.main import main
from harness.problems import HardMargin, PolytopeDistance
from tests.plugins import widest
from tests.plugins.common import certified

CLOSE = 1e-6


def build(x, y, kernel=None, ridge=0.0, **values):
    return OutlierMargin.build(KernelOracle(kernel or Linear(), x, ridge=ridge), np.asarray(y, dtype=float), values)


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
    assert upper == pytest.approx(best, abs=CLOSE * size)
    coef = a_model(problem, seed)
    found = problem.certify(coef, 0.0)
    w = coef @ points
    assert (found.margin_upper, found.dual) == (upper, pytest.approx(0.5 * upper**2))
    if found.undecidable or np.linalg.norm(w) < 1e-3 * size:
        return
    realised = widest.along(problem, w, points)
    assert found.margin_lower == pytest.approx(realised, abs=CLOSE * size)
    assert found.margin_lower <= widest.widest(problem, problem.allowance) + CLOSE * size
    ratio = min(1.0, max(0.0, realised) / upper) if upper > 0.0 else 1.0
    if upper > 1e-3 * size:
        assert (found.relative_gap, found.epsilon) == pytest.approx((1.0 - ratio**2, 1.0 - ratio), abs=1e-4)
    assert found.primal == pytest.approx(0.5 * max(0.0, realised) ** 2, abs=CLOSE * size**2)
    scores = points @ w
    slab = problem.slab(scores)
    wrong = [s < slab.lowest if p else s > slab.highest for s, p in zip(scores, problem.positive, strict=True)]
    assert problem.given_up(scores) == sum(wrong) <= problem.allowance.both


@pytest.mark.parametrize("draws", [25, pytest.param(500, marks=pytest.mark.slow)])
def test_no_bound_is_below_the_widest_margin_of_all_sets_in_which_the_exact_solver_ends(draws):
    rng = np.random.default_rng(1)
    for _ in range(draws):
        problem = widest.drawn(rng)
        best, size, margins = widest.widest(problem), float(np.sqrt(problem.kernel.diagonal().max())), []
        assert min(Relaxation(problem).bound(), bound_by_pairs(problem)) >= best - 1e-9 * size
        for last in get_solver("outlier-exact").iterates(problem, rng):
            problem.checked(last.dual_coef, last.intercept)
            assert last.info["upper"] >= best - 1e-9 * size
            margins.append(last.info["margin"])
        assert last.done
        assert margins == sorted(margins)
        assert margins[-1] == pytest.approx(best, abs=1e-6 * size)
        found = problem.certify(last.dual_coef, last.intercept)
        if best > 1e-3 * size:
            assert found.margin_lower >= best * (1.0 - 1e-6)
            assert found.relative_gap <= 1e-6


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
    margin = certified(core, get_solver("nearest-point").with_target_gap(1e-4).solve(core)).margin_lower
    assert min(Relaxation(problem).bound(), bound_by_pairs(problem), problem.bounds[1]) >= margin * (1.0 - 1e-9) > 0.0
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


def test_sparse_and_mapped_points_have_the_bounds_of_dense_ones(tmp_path):
    x, y, _ = planted(3, 90, 5, 0.1, False)
    dense = build(x, y, outliers=0.1).bounds[1]
    np.save(tmp_path / "x.npy", x)
    for other in (scipy.sparse.csr_array(x), np.load(tmp_path / "x.npy", mmap_mode="r")):
        assert build(other, y, outliers=0.1).bounds[1] == pytest.approx(dense, rel=1e-9)


# -- outlier-exact ------------------------------------------------------------------------------------------------------


def test_the_intercept_is_minus_the_middle_of_the_slab():
    x, y = np.array([[12.0], [13.0], [14.0], [4.0], [8.0], [7.0], [6.0], [9.0]]), np.repeat([1.0, -1.0], 4)
    problem = build(x, y, outliers=0.13, delta=0.0)
    found = get_solver("outlier-exact").solve(problem)
    scores = problem.kernel.expand(found.dual_coef) + found.intercept
    assert min(scores[:3]) == pytest.approx(-max(scores[4:]))
    assert found.info["margin"] == pytest.approx(3.0)


def test_with_less_accuracy_it_stops_sooner():
    rng, y = np.random.default_rng(0), np.where(np.arange(36) % 2 == 0, 1.0, -1.0)
    problem = build(rng.normal(size=(36, 6)) + 0.5 * y[:, None] * np.eye(6)[0], y, outliers=0.2)
    exact, rough = (get_solver("outlier-exact", accuracy=value).solve(problem).info for value in (1e-9, 0.4))
    assert rough["nodes"] < exact["nodes"]
    assert rough["margin"] >= 0.6 * exact["margin"]


# -- the margin of the points that were not planted --------------------------------------------------------------------

PLANTED = np.array([False, False, False, True, False, False])
LINE = np.array([[2.0, 0.0], [3.0, 1.0], [4.0, 0.0], [-9.0, 0.0], [-1.0, 0.0], [-5.0, 2.0]])
LABELS = np.array([1.0, 1.0, 1.0, 1.0, -1.0, -1.0])
COEF = np.array([1.0, 0.0, 0.0, 0.0, -1.0, 0.0])


def on_a_line(x=LINE, **values):
    return build(x, LABELS, outliers=0.17, **values)


def figures(stated, solver=None, planted=PLANTED):
    """Return the figures of the nearest points of the inliers, as the certifier computes them."""
    coef = np.abs(COEF) / 2.0 if stated.against_origin else COEF
    run = CertifiedRun(coef, 0.0, stated.kernel.expand(coef), stated.certify(coef, 0.0), planted, solver)
    return {name: value() if callable(value) else value for name, value in stated.figures(run).items()}


@pytest.mark.parametrize("oracle", [None, "qp", "nearest-point"])
@pytest.mark.parametrize(("values", "margin"), [({}, 3.0), ({"against": "origin"}, 1.0)])
def test_it_is_the_margin_of_the_others(oracle, values, margin):
    found = figures(on_a_line(np.abs(LINE) if values else LINE, **values), oracle and get_solver(oracle))
    assert found["inlier_margin"] == pytest.approx(margin, abs=1e-3)
    assert found["inlier_margin"] >= margin * (1.0 - 1e-9)
    assert found["inlier_solver"] == oracle or not oracle
    names = {"given_up", "inlier_margin", "inlier_ratio", "inlier_solver"}
    assert set(found) == names <= {column.name for column in OutlierMargin.columns}


def test_the_ratio_is_that_of_the_models_margin_and_a_model_counts_what_it_gives_up():
    found = figures(on_a_line())
    assert (found["given_up"], found["inlier_ratio"]) == (1, pytest.approx(1.0, abs=1e-3))
    assert set(figures(on_a_line(), planted=None)) == {"given_up"}
    x = LINE.copy()  # hulls that meet
    x[4] = [3.0, 0.5]
    found = figures(on_a_line(x), get_solver("qp"))
    assert (found["inlier_margin"], found["inlier_ratio"]) == (0.0, None)


def test_it_is_solved_once():
    stated, asked = on_a_line(), []

    class Asked(type(get_solver("qp"))):
        def iterates(self, problem, rng):
            asked.append(problem.n)
            yield from super().iterates(problem, rng)

    assert figures(stated, Asked()) == figures(stated, Asked())
    assert asked == [5]
    with pytest.raises(PluginError, match="does not solve hard-margin"):
        figures(on_a_line(), get_solver("lasvm"))


@pytest.mark.slow
@pytest.mark.parametrize("oracle", ["nearest-point", "lasvm"])
def test_the_command_shows_it_beside_the_margin(tmp_path, capsys, oracle):
    given = [
        "--plugins", "outlier-exact", "--datasets", "gaussian-outliers[least=8,most=12,d=2]", "--core-set-oracle", oracle,
        "--formulation", "outlier-margin[outliers=0.1,delta=0]", "--store", str(tmp_path / "runs.db"), "--format", "markdown",
        "--explain",
    ]  # fmt: skip
    with pytest.raises(SystemExit) as ended:
        main(["compare", *given])
    text = capsys.readouterr().out
    assert not ended.value.code
    head, _, row = ([cell.strip() for cell in line.split("|")] for line in text.splitlines() if line.startswith("|"))
    shown = dict(zip(head, row, strict=True))
    assert float(shown["margin"]) <= float(shown["margin bound"])
    if oracle == "lasvm":
        assert "inliers' margin" not in shown
        assert "no inliers' margin: plugin 'rgd', " in text
        assert "lasvm does not solve hard-margin" in text
        return
    assert "margin bound: upper bound of the margin of every model that gives up only the share." in text
    ratio = float(shown["margin"]) / float(shown["inliers' margin"])
    assert ratio == pytest.approx(float(shown["of inliers'"]), rel=1e-3)
