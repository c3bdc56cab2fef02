"""The hull solvers on an explicit w: the iterates of the kernel path, every storage of points, the evaluations counted."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from harness_fw import MDM, FrankWolfe, Gilbert, NearestPoint, PairwiseFrankWolfe
from harness_fw import rules as names
from harness_fw.descent import LinearDescent, RowDescent, keeps_w

from harness import RBF, KernelOracle, Linear, drive
from harness.kernels.oracle import uncounted
from harness.problems import L2SVC, HardMargin, PolytopeDistance, ReducedHull
from tests.plugins.hull_problems import clouds, rng0

SOLVERS = [FrankWolfe, Gilbert, PairwiseFrankWolfe, MDM, NearestPoint]
FORMS = {
    "l2": lambda x, y: L2SVC.build(KernelOracle(Linear(), x), y, {"chi": 1.0}),
    "hard": lambda x, y: HardMargin.build(KernelOracle(Linear(), x), y),
    "reduced": lambda x, y: ReducedHull.build(KernelOracle(Linear(), x), y, {"D": 0.1}),
    "polytope": lambda x, y: PolytopeDistance.build(KernelOracle(Linear(), x), np.ones(len(y))),
}


def problem_of(form, seed=6):
    x, y = clouds(seed, 50, 40, 5, 5.0 if form != "l2" else 1.5)
    if form == "polytope":
        x[:, 0] += 3.5  # the origin outside, nearest to the inside of a face
    return FORMS[form](x, y)


def run(kind, problem, rule, epsilon=1e-6):
    return kind(problem, SOLVERS[rule](epsilon=epsilon), 10.0)


def signed_matrix(descent, problem):
    """The signed kernel matrix in the solver's order."""
    with uncounted(problem.kernel):
        values = np.array(problem.kernel.block(np.arange(problem.n)))
    return values[np.ix_(descent.order, descent.order)] * np.outer(descent._signs, descent._signs)


@pytest.mark.parametrize("rule", [names.FW, names.GILBERT, names.PAIRWISE, names.MDM, names.NEAREST])
@pytest.mark.parametrize("form", ["l2", "hard", "polytope", "reduced"])
def test_an_iteration_leaves_what_the_weights_say(form, rule):
    """Scores, near, far, <u_g, w> and |w|^2 after every step are those of the weights, and |w| falls."""
    if form == "reduced" and rule in (names.FW, names.GILBERT, names.PAIRWISE):
        pytest.skip("vertices of reduced hulls are composed of many points")
    problem = problem_of(form)
    explicit = run(LinearDescent, problem, rule)
    matrix = signed_matrix(explicit, problem)
    norm = explicit.info["norm"]
    for k in range(1, 25):
        ended = explicit.advance(k)
        state, weights = explicit.state, explicit._signs * explicit.dual_coef[explicit.order]
        scores = matrix @ weights
        np.testing.assert_allclose(state.scores, scores, atol=1e-10)
        for g, (begin, end) in enumerate(explicit.hulls):
            inside, used = slice(begin, end), np.flatnonzero(weights[begin:end])
            open_points = weights[inside] < explicit.caps[g] * (1 - 1e-12)
            assert state.scores[state.near[g]] == pytest.approx(scores[inside][open_points].min(), abs=1e-10)
            assert state.scores[state.far[g]] == pytest.approx(scores[inside][used].max(), abs=1e-10)
            part = np.zeros(problem.n)
            part[inside] = weights[inside]
            assert state.mean[g] == pytest.approx(part @ scores, abs=1e-10)
            assert state.own[g] == pytest.approx(part @ matrix @ part, abs=1e-9)
        assert explicit.info["norm"] ** 2 == pytest.approx(weights @ scores, rel=1e-9)
        assert explicit.info["norm"] <= norm * (1 + 1e-12)
        norm = explicit.info["norm"]
        if ended:
            break
    assert explicit.taken > 3


@pytest.mark.parametrize("rule", [names.FW, names.GILBERT, names.PAIRWISE, names.MDM])
def test_the_iterates_are_those_of_the_kernel_path(rule):
    # of the other rules and formulations too, until two steps of equal worth part them
    explicit, kept = run(LinearDescent, problem_of("l2"), rule), run(RowDescent, problem_of("l2"), rule)
    for k in range(1, 60):
        assert explicit.advance(k) == kept.advance(k) == ""
        np.testing.assert_allclose(explicit.dual_coef, kept.dual_coef, atol=1e-10)
        assert explicit.threshold == pytest.approx(kept.threshold, abs=1e-9)


@pytest.mark.parametrize("storage", ["float32", "mapped", "csr", "fortran", "restricted"])
def test_the_storage_of_the_points_does_not_matter(storage, tmp_path):
    x, y = clouds(0, 60, 50, 6, 1.5)
    x[np.abs(x) < 0.4] = 0.0
    x = x.astype(np.float32).astype(np.float64)
    stored = {"csr": scipy.sparse.csr_array, "fortran": np.asfortranarray, "float32": np.float32}.get(storage)
    if storage == "mapped":
        np.save(tmp_path / "x.npy", x)
        kernel = KernelOracle(Linear(), np.load(tmp_path / "x.npy", mmap_mode="r"))
    elif storage == "restricted":
        kernel = KernelOracle(Linear(), np.vstack([x[::-1], x])).restrict(np.arange(len(x), 2 * len(x)))
    else:
        kernel = KernelOracle(Linear(), stored(x))
    solver = PairwiseFrankWolfe(epsilon=1e-3, explicit_w=True)
    outcome = drive(solver, L2SVC.build(kernel, y, {"chi": 1.0}), rng0())
    plain = drive(solver, FORMS["l2"](x, y), rng0())
    assert outcome.claimed_done
    np.testing.assert_allclose(outcome.dual_coef, plain.dual_coef, atol=1e-9)
    assert outcome.iterations == plain.iterations


@pytest.mark.parametrize("rule", [names.FW, names.MDM])
def test_an_iteration_costs_one_pass_and_the_points_it_is_about(rule):
    problem = problem_of("l2")
    descent = run(LinearDescent, problem, rule, epsilon=1e-12)
    for k in range(1, 30):
        before, passes = problem.kernel.counter.evaluations, descent.info["rows"]
        assert descent.advance(k) == ""
        assert problem.kernel.counter.evaluations == before + problem.n + 2
        assert descent.info["rows"] == passes + 1


def test_w_is_kept_where_that_is_quicker_or_wanted():
    def kernel(n, d, kind=Linear, ridge=0.0):
        return KernelOracle(kind(), np.zeros((n, d)), ridge=ridge)

    assert not keeps_w(kernel(100, 5), None, 256.0)  # calls would take longer than passes
    assert keeps_w(kernel(100, 5), True, 256.0)
    assert not keeps_w(kernel(40_000, 50), None, 256.0)  # 839 rows fit, 204 are enough
    assert keeps_w(kernel(40_000, 50), None, 60.0)  # 196 rows fit
    assert keeps_w(kernel(40_000, 50, ridge=1.0), None, 256.0)  # 10,000 should
    assert not keeps_w(kernel(10_000, 50, ridge=1.0), None, 256.0)  # 3355 rows fit, 2500 are enough
    assert keeps_w(kernel(10_000, 5, ridge=1.0), None, 256.0)  # few features
    assert not keeps_w(kernel(40_000, 50, ridge=1.0), False, 256.0)
    assert not keeps_w(kernel(40_000, 2, RBF), None, 256.0)
    x, y = clouds(0, 5, 5, 2, 1.0)
    assert "needs a linear kernel" in FrankWolfe(explicit_w=True).skip(L2SVC.build(KernelOracle(RBF(), x), y))
    assert FrankWolfe(explicit_w=True).skip(FORMS["l2"](x, y)) is None
