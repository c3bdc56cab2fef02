"""c-svc <-> reduced-hull in both directions, against the exact optimum of the other formulation."""

import sys
from pathlib import Path

import numpy as np
import pytest

from harness import CSVC, RBF, KernelOracle, Linear, ReducedHull, UsageError
from harness.kernels.oracle import uncounted
from harness.problems.conversion import to_c_svc, to_reduced_hull

sys.path.insert(0, str(Path(__file__).parent))
from exact import nearest_points, svm_dual, svm_primal


def data(seed=0, n=40):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.45, 1.0, -1.0)
    x = rng.normal(size=(n, 2))
    x[:, 0] += 1.2 * y
    return x, y


def matrix_of(problem):
    with uncounted(problem.kernel):
        return np.array(problem.kernel.block(np.arange(problem.n)))


@pytest.mark.parametrize("kernel", [RBF(0.5), Linear()], ids=lambda kernel: kernel.name)
@pytest.mark.parametrize("cost", [0.1, 1.0, 30.0])
def test_c_svc_optimum_is_the_reduced_hull_optimum(kernel, cost):
    x, y = data()
    problem = CSVC.build(KernelOracle(kernel, x), y, {"C": cost})
    _, _, b = svm_primal(matrix_of(problem), y, problem.upper, has_bias=True)
    coef = svm_dual(matrix_of(problem), y, problem.upper, has_bias=True)
    hull, weights, intercept = to_reduced_hull(problem, coef, b)
    hull.checked(weights, intercept)
    found = hull.certify(weights, intercept)
    best, _ = nearest_points(matrix_of(problem), y, hull.cap)
    assert found.dual == pytest.approx(best, rel=1e-6)
    assert found.relative_gap == pytest.approx(0.0, abs=2e-6)
    sizes = np.abs(coef).sum() / 2.0
    assert intercept == pytest.approx(b / sizes)


@pytest.mark.parametrize("kernel", [RBF(0.5), Linear()], ids=lambda kernel: kernel.name)
@pytest.mark.parametrize("cap", [0.06, 0.1, 0.23])
def test_reduced_hull_optimum_is_the_c_svc_optimum(kernel, cap):
    x, y = data(1)
    problem = ReducedHull.build(KernelOracle(kernel, x), y, {"D": cap})
    _, weights = nearest_points(matrix_of(problem), y, cap)
    svc, coef, intercept = to_c_svc(problem, weights)
    svc.checked(coef, intercept)
    found = svc.certify(coef, intercept)
    best, _, _ = svm_primal(matrix_of(problem), y, svc.upper, has_bias=True)
    assert found.dual == pytest.approx(best, rel=1e-6)
    assert found.primal == pytest.approx(best, rel=1e-6)
    # C = D S, with S the sum of alpha over a class
    assert pytest.approx(cap * coef[y > 0].sum(), rel=1e-9) == svc.C


def test_there_and_back_is_the_same_model():
    x, y = data(2)
    problem = CSVC.build(KernelOracle(RBF(0.5), x), y, {"C": 2.0})
    _, _, b = svm_primal(matrix_of(problem), y, problem.upper, has_bias=True)
    coef = svm_dual(matrix_of(problem), y, problem.upper, has_bias=True)
    hull, weights, _ = to_reduced_hull(problem, coef, b)
    back, again, intercept = to_c_svc(hull, weights)
    assert pytest.approx(2.0, rel=1e-6) == back.C
    assert again == pytest.approx(coef, abs=1e-5)
    assert intercept == pytest.approx(b, abs=1e-5)


def test_models_without_a_counterpart_are_refused():
    x, y = data(3)
    balanced = CSVC.build(KernelOracle(RBF(0.5), x), y, {"class_weight": "balanced"})
    with pytest.raises(UsageError, match="needs one C for all points"):
        to_reduced_hull(balanced, y * 0.1, 0.0)
    with pytest.raises(UsageError, match="all coefficients are zero"):
        to_reduced_hull(CSVC.build(KernelOracle(RBF(0.5), x), y), np.zeros(len(y)), 0.0)
    same = np.repeat(x[:5], 2, axis=0)
    hull = ReducedHull.build(KernelOracle(RBF(0.5), same), np.tile([1.0, -1.0], 5), {"D": 1.0})
    with pytest.raises(UsageError, match="these reduced hulls intersect, take a smaller D"):
        to_c_svc(hull, np.tile([0.2, -0.2], 5))


def test_conversion_is_counted_like_any_request():
    x, y = data(4)
    problem = ReducedHull.build(KernelOracle(RBF(0.5), x), y, {"D": 0.1})
    _, weights = nearest_points(matrix_of(problem), y, 0.1)
    with uncounted(problem.kernel):
        to_c_svc(problem, weights)
    assert problem.kernel.counter.evaluations == 0
    to_c_svc(problem, weights)
    assert problem.kernel.counter.evaluations == len(y) * np.count_nonzero(weights)


def test_a_class_whose_points_are_all_at_the_cap_still_converts():
    x, y = data(5)
    cap = 1.0 / min((y > 0).sum(), (y < 0).sum())
    problem = ReducedHull.build(KernelOracle(RBF(0.5), x), y, {"D": cap})
    _, weights = nearest_points(matrix_of(problem), y, cap)
    svc, coef, intercept = to_c_svc(problem, weights)
    svc.checked(coef, intercept)
    assert svc.certify(coef, intercept).relative_gap == pytest.approx(0.0, abs=1e-6)
