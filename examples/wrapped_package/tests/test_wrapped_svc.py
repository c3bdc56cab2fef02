"""The model is the library's, in the harness's signs, and what it cannot take is refused."""

import numpy as np
import pytest
import scipy.sparse
from sklearn.svm import SVC
from wrapped_svc import WrappedSVC

from harness import CSVC, RBF, KernelOracle, Poly

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 3))
Y = np.where(X[:, 0] + 0.5 * RNG.normal(size=80) > 0.4, 1.0, -1.0)


@pytest.mark.parametrize("stored", [np.array, scipy.sparse.csr_array])
@pytest.mark.parametrize("class_weight", ["none", "balanced"])
def test_it_is_the_librarys_model_and_certified(stored, class_weight) -> None:
    values = {"C": 2.0, "class_weight": class_weight}
    problem = CSVC.build(KernelOracle(RBF(gamma=0.5), stored(X)), Y, values)
    solution = WrappedSVC(tol=1e-6).solve(problem)
    own = SVC(C=2.0, gamma=0.5, tol=1e-6, class_weight=None if class_weight == "none" else "balanced").fit(X, Y)
    found = problem.kernel.expand(solution.dual_coef) + solution.intercept
    np.testing.assert_allclose(found, own.decision_function(X), atol=1e-4)
    gap = problem.certify(solution.dual_coef, solution.intercept).relative_gap
    assert gap is not None
    assert gap < 1e-5


def test_what_it_cannot_take_is_refused_in_a_sentence() -> None:
    reason = WrappedSVC().refusal(CSVC.build(KernelOracle(Poly(), X), Y, {}))
    assert reason == "wrapped-svc wraps the kernels rbf and linear, and not 'poly'; take libsvm."
    assert "both classes" in str(WrappedSVC().refusal(CSVC.build(KernelOracle(RBF(), X), np.ones(80), {})))
    assert WrappedSVC().refusal(CSVC.build(KernelOracle(RBF(), X), Y, {})) is None
