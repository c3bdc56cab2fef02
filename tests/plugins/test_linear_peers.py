"""Linear and approximate models of scikit-learn: of the right problem, and in forms that the host scores and certifies."""

import numpy as np
import pytest
import scipy.sparse
from harness_peers import SGD, LibLinear, LinearSVC, Nystroem, RandomFeatures
from harness_qp import QP

from harness import CSVC, RBF, CSVCNoBias, KernelOracle, Limits, Linear, Poly, Precomputed, ProblemSummary, drive
from harness.measure.scored import FreeModel
from harness.problems import L2SVC
from tests.plugins.points import cancer, overlapping

X, Y = cancer()


def driven(solver, formulation, kernel, x=X, y=Y, **values):
    """The problem, what driving a solver on it gave, and the model as the host has it."""
    problem = formulation.build(KernelOracle(kernel, x), y, values)
    assert solver.refusal(problem) is None
    outcome = drive(solver, problem, np.random.default_rng(0), Limits())
    return problem, outcome, outcome.model


@pytest.mark.parametrize("values", [{"C": 0.1}, {"C": 1.0}, {"C": 0.5, "class_weight": "balanced"}])
@pytest.mark.parametrize("formulation", [CSVCNoBias, L2SVC])
@pytest.mark.parametrize("storage", [np.array, scipy.sparse.csr_array])
@pytest.mark.parametrize("solver", [LinearSVC(tol=1e-6), LibLinear(tol=1e-5)], ids=lambda solver: solver.name)
def test_liblinear_is_certified_to_a_small_gap(solver, formulation, values, storage):
    if solver.name == "liblinear":
        pytest.importorskip("liblinear", reason="pip install 'svm-harness[peers]'")
    problem, outcome, model = driven(solver, formulation, Linear(), storage(X), **values)
    assert outcome.claimed_done or outcome.reason.startswith("the library stopped at its largest number")
    found = model.certificate(problem, np.zeros(0))
    assert 0.0 <= found.relative_gap + found.gap_rounding < (1e-4 if outcome.claimed_done else 1e-3)


def test_a_library_that_is_stopped_is_not_done():
    outcome = driven(LinearSVC(max_iter=1, tol=1e-9), CSVCNoBias, Linear())[1]
    assert not outcome.claimed_done
    assert outcome.reason == "the library stopped at max_iter=1"
    assert LinearSVC().with_target_gap(1e-5).gap == 1e-5


@pytest.mark.parametrize("formulation", [CSVC, CSVCNoBias])
def test_sgd_comes_nearer_with_each_pass(formulation):
    gaps = []
    for epochs in (1, 100):
        problem, outcome, model = driven(SGD(epochs=epochs, average=True), formulation, Linear(), C=0.1)
        assert outcome.yields == outcome.iterations == epochs
        gaps.append(model.certificate(problem, np.zeros(0)).relative_gap)
    assert gaps[1] < min(0.05, gaps[0])


@pytest.mark.parametrize("formulation", [CSVC, CSVCNoBias, L2SVC])
@pytest.mark.parametrize("kernel", [RBF(0.02), Poly(2, 0.1, 1.0), Precomputed()], ids=lambda kernel: kernel.name)
def test_nystroem_with_all_points_is_the_kernel_machine(formulation, kernel):
    x, y = overlapping(3, n=60)
    x = x @ x.T if isinstance(kernel, Precomputed) else x
    problem, _, model = driven(Nystroem(n_components=60, tol=1e-7), formulation, kernel, x, y, C=1.0)
    assert isinstance(model, FreeModel)
    assert problem.kernel.counter.evaluations == 60 * 60
    best = QP().solve(problem)
    value = model.certificate(problem, model.scores(problem.kernel, x)).primal
    exact = problem.certify(best.dual_coef, best.intercept).primal
    assert value == pytest.approx(exact, rel=0.05 if formulation is CSVC else 1e-3), "of c-svc LIBLINEAR penalises b"


def test_few_landmarks_take_few_kernel_values():
    problem, _, model = driven(Nystroem(n_components=30), CSVC, RBF(0.02))
    assert problem.kernel.counter.evaluations == 30 * len(X)
    assert model.support == 30
    assert np.mean(np.sign(model.scores(problem.kernel, X)) == Y) > 0.95


def test_random_features_are_the_kernels_on_average_and_a_model_of_their_own():
    problem, _, model = driven(RandomFeatures(n_components=1000), CSVC, RBF(0.02))
    z = model.features.of(X[:50])
    assert np.abs(z @ z.T - RBF(0.02).block(X[:50], X[:50])).max() < 0.2
    assert np.mean(np.sign(model.scores(problem.kernel, X)) == Y) > 0.95
    assert model.certificate(problem, np.zeros(0)).primal is None


@pytest.mark.parametrize(
    ("solver", "kernel", "labels", "reason"),
    [
        (LinearSVC(), RBF(), Y, "linearsvc needs the linear kernel, not 'rbf'; take --kernel linear"),
        (SGD(), Poly(), Y, "sgd needs the linear kernel, not 'poly'"),
        (RandomFeatures(), Linear(), Y, "rff has features for the rbf kernel, not for 'linear'; take nystroem"),
        (Nystroem(), RBF(), Y * Y, "nystroem needs points of both classes; all 569 are of one"),
    ],
)
def test_what_a_peer_cannot_do_is_refused_in_a_sentence(solver, kernel, labels, reason):
    assert solver.skip(ProblemSummary.of(CSVC.build(KernelOracle(kernel, X), labels))).startswith(reason)
