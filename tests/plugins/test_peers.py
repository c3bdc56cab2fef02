"""Other people's libraries: handed the right problem, their models in the harness's signs, or scored and certified as they are."""

import importlib.util
import subprocess
import sys

import harness_peers
import numpy as np
import pytest
import scipy.sparse
from harness_peers import SGD, LibLinear, LibSVM, LibSVMOfficial, LibSVR, LinearSVC, Nystroem, RandomFeatures
from harness_peers.libsvm import SklearnEx
from harness_peers.thunder import ThunderSVM

from harness import CSVC, RBF, CSVCNoBias, KernelOracle, Linear, Poly, Precomputed, UsageError, drive, get_solver
from harness.measure.scored import FreeModel
from harness.problems import L2SVC, EpsSVR, OneClass, ReducedHull
from harness.run.environments import lacking
from tests.plugins.common import build, cancer, certified, digits, exact, overlapping

INSTALLED = [cls for cls in (LibSVM, LibSVR, SklearnEx, LibSVMOfficial, ThunderSVM, LinearSVC, SGD, Nystroem, RandomFeatures)
             if importlib.util.find_spec(cls.package.partition(".")[0]) is not None]  # fmt: skip


def optional(*classes):
    """Parameters for each class, skipped where its package is not installed."""
    return [
        pytest.param(cls, id=cls.name, marks=pytest.mark.skipif(cls not in INSTALLED, reason=f"no {cls.package} here"))
        for cls in classes
    ]


EVERY = pytest.mark.parametrize("peer", optional(LibSVM, SklearnEx, LibSVMOfficial, ThunderSVM))
OF_SCIKIT_LEARN = pytest.mark.parametrize("peer", optional(LibSVM, SklearnEx))
# float32 coefficients and float32 kernel values: what is left of a tolerance of 1e-6
KKT = {"thundersvm": 1e-3}


@EVERY
@pytest.mark.parametrize("kernel", [Linear(), RBF(0.3), Poly(2, 0.5, 1.5), Poly(3, 0.2, 0.1)], ids=lambda k: k.name)
@pytest.mark.parametrize("values", [{"C": 2.0}, {"C": 2.0, "class_weight": "balanced"}])
def test_kernels_and_costs_arrive_as_stated(peer, kernel, values):
    x, y = overlapping(1, n=80)
    y[:30] = -1.0
    problem = build(CSVC, x, y, kernel, **values)
    found = certified(problem, peer(tol=1e-6).solve(problem))
    assert found.relative_gap < 1e-5
    assert found.kkt_violation < KKT.get(peer.name, 1e-4)


@EVERY
@pytest.mark.parametrize("first", [-1.0, 1.0])
@pytest.mark.parametrize("storage", [np.asarray, scipy.sparse.csr_array])
def test_the_class_of_the_first_point_decides_no_sign_and_the_conversion_has_its_seconds(peer, first, storage):
    x, y = overlapping(10, n=80)
    y[0] = first
    problem = build(CSVC, storage(x), y, C=2.0)
    solution, best = peer(tol=1e-6).solve(problem), get_solver("qp").solve(problem)
    assert certified(problem, solution).relative_gap < 1e-5
    assert solution.intercept == pytest.approx(best.intercept, abs=1e-3)
    assert solution.dual_coef == pytest.approx(best.dual_coef, abs=1e-2)
    assert 0.0 <= solution.info["conversion_cpu_seconds"] < 1.0
    assert 0.0 < solution.info["conversion_seconds"] < 1.0


@OF_SCIKIT_LEARN
@pytest.mark.parametrize("cost", [0.05, 1.0, 50.0])
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 5.0])
def test_the_svr_is_the_librarys(peer, cost, epsilon):
    x = overlapping(11, n=80)[0]
    problem = build(EpsSVR, x, np.sin(2.0 * x[:, 0]) + x[:, 1], C=cost, epsilon=epsilon)
    if peer is SklearnEx and epsilon == 5.0:
        assert "no intercept" in peer().refusal(problem)
        return
    solution = peer(tol=1e-7).solve(problem)
    found = certified(problem, solution)
    assert found.relative_gap < 1e-3  # float32 kernel values
    assert found.kkt_violation < 1e-4
    assert (np.count_nonzero(solution.dual_coef) == 0) == (epsilon == 5.0)


@pytest.mark.parametrize("nu", [0.005, 0.1, 0.5, 0.99])
def test_the_one_class_problem_is_the_librarys(nu):
    x, y = overlapping(12, n=80)
    problem = build(OneClass, x, np.ones_like(y), nu=nu)
    found = certified(problem, LibSVM(tol=1e-8).solve(problem))
    assert found.relative_gap < 1e-5
    assert found.kkt_violation < 1e-5 * problem.cap


@EVERY
def test_a_library_that_does_not_load_is_a_sentence(peer, monkeypatch):
    def fails(name):
        raise OSError("libgomp.so.1: cannot open shared object file\nand more")

    problem = build(CSVC, *overlapping(15, n=20))
    monkeypatch.setattr(importlib, "import_module", fails)
    reason = f"{peer.name} needs the package {peer.package}, which cannot be loaded: libgomp.so.1: cannot open shared"
    assert peer().refusal(problem).startswith(reason)


@pytest.mark.parametrize("peer", optional(SklearnEx))
def test_sklearnex_runs_with_the_threads_of_the_run(peer, monkeypatch):
    import daal4py

    given = []
    monkeypatch.setattr(daal4py, "daalinit", given.append)
    peer().convert(build(CSVC, *overlapping(17, n=80), threads=3))
    assert given == [3]


@pytest.mark.parametrize("peer", optional(SklearnEx))
def test_what_sklearnex_hands_back_is_no_result_of_its(peer, monkeypatch):
    import sklearn.svm
    import sklearnex.svm

    monkeypatch.setattr(sklearnex.svm, "SVC", sklearn.svm.SVC)
    with pytest.raises(UsageError, match="passes this problem on to scikit-learn"):
        peer().solve(build(CSVC, *overlapping(18, n=80)))


@OF_SCIKIT_LEARN
@pytest.mark.parametrize("kernel", [RBF(0.3), Linear()], ids=lambda kernel: kernel.name)
@pytest.mark.parametrize("data", [cancer, digits])
@pytest.mark.parametrize("cap", [None, 0.05, "least"])
def test_the_nu_svm_is_the_reduced_hull_problem(peer, data, cap, kernel):
    x, y = data(250)
    least = 1.0 / min((y > 0).sum(), (y < 0).sum())
    problem = build(ReducedHull, x, y, kernel, D=least if cap == "least" else cap)
    solution = peer(tol=1e-7).solve(problem)
    assert certified(problem, solution).relative_gap < 1e-4
    best = get_solver("qp").solve(problem)
    scores = problem.kernel.expand(best.dual_coef)
    if cap != "least":  # there a whole class is at the cap, and its threshold is an interval
        assert solution.intercept == pytest.approx(best.intercept, abs=1e-3 * np.ptp(scores))


@EVERY
def test_what_the_library_cannot_do_is_skipped_in_words(peer):
    (x, y), solver = overlapping(7, n=10), peer()
    by_point = CSVC(KernelOracle(RBF(0.5), x), y, build(CSVC, x, y).settings, np.linspace(0.5, 1.0, 10))
    assert ("one C for each class, not one for each point" in (solver.refusal(by_point) or "")) == (
        peer is not LibSVM and peer is not SklearnEx
    )
    assert solver.refusal(build(CSVC, x, y)) is None
    assert "cannot add a ridge" in solver.refusal(CSVC.build(KernelOracle(RBF(0.5), x, ridge=0.1), y))
    with pytest.raises(UsageError, match="points of both classes; all 10"):
        next(solver.iterates(build(CSVC, x, np.ones(10)), np.random.default_rng(0)))


def test_a_solver_is_there_where_its_library_is_not():
    kernel_machines = [LibSVM, LibSVR, SklearnEx, LibSVMOfficial, ThunderSVM]
    assert harness_peers.harness_solvers()[:5] == kernel_machines
    for solver in kernel_machines:
        assert (solver in INSTALLED) == (not lacking(solver.requires)), "it names what it imports"


def test_importing_the_plugins_loads_no_library_and_compiles_nothing():
    code = (
        "import sys, harness_peers, harness_smo, harness_lasvm; "
        "assert not {'sklearn', 'sklearnex', 'scipy', 'libsvm', 'thundersvm', 'numba', 'cvxpy'} & set(sys.modules), 'too heavy'"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# -- linear and approximate models of scikit-learn ------------------------------------------------------------------------

X, Y = cancer()


def driven(solver, formulation, kernel, x=X, y=Y, **values):
    """The problem, what driving a solver on it gave, and the model as the host has it."""
    problem = build(formulation, x, y, kernel, **values)
    assert solver.refusal(problem) is None
    outcome = drive(solver, problem, np.random.default_rng(0))
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
    assert (outcome.claimed_done, outcome.reason) == (False, "the library stopped at max_iter=1")
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
    value = model.certificate(problem, model.scores(problem.kernel, x)).primal
    assert value == pytest.approx(exact(problem).primal, rel=0.05 if formulation is CSVC else 1e-3), (
        "of c-svc LIBLINEAR penalises b"
    )


def test_few_landmarks_take_few_kernel_values():
    problem, _, model = driven(Nystroem(n_components=30), CSVC, RBF(0.02))
    assert (problem.kernel.counter.evaluations, model.support) == (30 * len(X), 30)
    assert np.mean(np.sign(model.scores(problem.kernel, X)) == Y) > 0.95


def test_random_features_are_the_kernels_on_average_and_a_model_of_their_own():
    problem, _, model = driven(RandomFeatures(n_components=1000), CSVC, RBF(0.02))
    z = model.features.of(X[:50])
    assert np.abs(z @ z.T - RBF(0.02).block(X[:50], X[:50])).max() < 0.2
    assert np.mean(np.sign(model.scores(problem.kernel, X)) == Y) > 0.95
    assert model.certificate(problem, np.zeros(0)).primal is None
