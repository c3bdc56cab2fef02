"""Other people's libraries: handed the right problem, and their models in the harness's signs."""

import importlib.util
import subprocess
import sys

import harness_peers
import numpy as np
import pytest
import scipy.sparse
from harness_peers import (
    SGD,
    LibSVM,
    LibSVMOfficial,
    LibSVR,
    LinearSVC,
    Nystroem,
    RandomFeatures,
    SklearnEx,
    ThunderSVM,
)
from harness_qp import QP

from harness import CSVC, RBF, KernelOracle, Linear, Poly, UsageError
from harness.problems import EpsSVR, OneClass, ReducedHull
from harness.run.environments import lacking
from tests.plugins.points import cancer, digits, overlapping
from tests.run.conftest import HARNESS, compared

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
BY_CLASS = pytest.mark.parametrize("peer", optional(LibSVMOfficial, ThunderSVM))
# float32 coefficients and float32 kernel values: what is left of a tolerance of 1e-6
KKT = {"thundersvm": 1e-3}


def build(formulation, x, y, kernel=None, **values):
    return formulation.build(KernelOracle(kernel or RBF(0.5), x), y, values)


def certified(problem, solution):
    problem.checked(solution.dual_coef, solution.intercept)
    return problem.certify(solution.dual_coef, solution.intercept)


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
@pytest.mark.parametrize("storage", ["dense", "csr"])
def test_the_class_of_the_first_point_decides_no_sign(peer, first, storage):
    x, y = overlapping(10, n=80)
    y[0] = first
    problem = build(CSVC, scipy.sparse.csr_array(x) if storage == "csr" else x, y, C=2.0)
    solution = peer(tol=1e-6).solve(problem)
    best = QP().solve(problem)
    assert certified(problem, solution).relative_gap < 1e-5
    assert solution.intercept == pytest.approx(best.intercept, abs=1e-3)
    assert solution.dual_coef == pytest.approx(best.dual_coef, abs=1e-2)


@pytest.mark.parametrize("peer", optional(LibSVM, SklearnEx))
@pytest.mark.parametrize("cost", [0.05, 1.0, 50.0])
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 5.0])
def test_the_svr_is_the_librarys(peer, cost, epsilon):
    x = overlapping(11, n=80)[0]
    targets = np.sin(2.0 * x[:, 0]) + x[:, 1]
    problem = build(EpsSVR, x, targets, C=cost, epsilon=epsilon)
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


@BY_CLASS
def test_costs_of_single_points_are_refused(peer):
    x, y = overlapping(13, n=20)
    upper = np.linspace(0.5, 1.0, 20)
    problem = CSVC(KernelOracle(RBF(0.5), x), y, build(CSVC, x, y).settings, upper)
    assert "one C for each class, not one for each point" in peer().refusal(problem)
    assert LibSVM().refusal(problem) is None


@EVERY
def test_the_conversion_is_told_beside_the_time(peer):
    info = peer().solve(build(CSVC, *overlapping(14, n=80))).info
    assert 0.0 <= info["conversion_cpu_seconds"] < 1.0
    assert 0.0 < info["conversion_seconds"] < 1.0


@EVERY
def test_a_library_that_does_not_load_is_a_sentence(peer, monkeypatch):
    def fails(name):
        raise OSError("libgomp.so.1: cannot open shared object file\nand more")

    x, y = overlapping(15, n=20)
    monkeypatch.setattr(importlib, "import_module", fails)
    reason = peer().refusal(build(CSVC, x, y))
    assert reason == (
        f"{peer.name} needs the package {peer.package}, which cannot be loaded: "
        "libgomp.so.1: cannot open shared object file; reinstall it."
    )


@pytest.mark.parametrize("peer", optional(SklearnEx))
def test_sklearnex_runs_with_the_threads_of_the_run(peer, monkeypatch):
    import daal4py

    x, y = overlapping(17, n=80)
    given = []
    monkeypatch.setattr(daal4py, "daalinit", given.append)
    problem = CSVC.build(KernelOracle(RBF(0.5), x).replace(threads=3), y)
    peer().converted(problem)
    assert given == [3]


@pytest.mark.parametrize("peer", optional(SklearnEx))
def test_what_sklearnex_hands_back_is_no_result_of_its(peer, monkeypatch):
    import sklearn.svm
    import sklearnex.svm

    x, y = overlapping(18, n=80)
    monkeypatch.setattr(sklearnex.svm, "SVC", sklearn.svm.SVC)
    with pytest.raises(UsageError, match="handed this problem back to scikit-learn"):
        peer().solve(build(CSVC, x, y))


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
    best = QP().solve(problem)
    scores = problem.kernel.expand(best.dual_coef)
    if cap != "least":  # there a whole class is at the cap, and its threshold is an interval
        assert solution.intercept == pytest.approx(best.intercept, abs=1e-3 * np.ptp(scores))


@EVERY
def test_what_the_library_cannot_do_is_skipped_in_words(peer):
    solver = peer()
    x, y = overlapping(7, n=10)
    assert solver.refusal(build(CSVC, x, y)) is None
    assert "cannot add a ridge" in solver.refusal(CSVC.build(KernelOracle(RBF(0.5), x, ridge=0.1), y))
    one_class = build(CSVC, x, np.ones(10))
    assert "needs points of both classes; all 10 are of one" in solver.refusal(one_class)
    with pytest.raises(UsageError, match="both classes"):
        next(solver.iterates(one_class, np.random.default_rng(0)))


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


@pytest.mark.slow
def test_two_versions_of_a_real_library_are_compared_at_once(tmp_path, monkeypatch):
    versions = ("1.6.1", "1.7.2")
    monkeypatch.delenv("PIP_CONSTRAINT", raising=False)  # of CI, whose pins exclude both
    pip = [sys.executable, "-m", "pip", "install", "--dry-run", "--no-deps", "--ignore-installed"]
    for version in versions:
        if subprocess.run([*pip, f"scikit-learn=={version}"], capture_output=True, check=False).returncode:
            pytest.skip(f"pip finds no scikit-learn {version} here")
    classes = "".join(
        f"class V{index}(LibSVM):\n    name = 'svc{index}'\n    requires = ('scikit-learn=={version}',)\n"
        for index, version in enumerate(versions)
    )
    hook = "@harness.hookimpl\ndef harness_solvers():\n    return [V0, V1]\n"
    (tmp_path / "two.py").write_text(f"import harness\nfrom harness_peers import LibSVM\n{classes}{hook}")
    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path))
    install = [*HARNESS, "peers", "install", "two", "--plugin-path", str(tmp_path / "two.py")]
    subprocess.run(install, check=True, timeout=280)
    code, records, errors = compared(
        tmp_path / "rows.sqlite", tmp_path / "two.py", "svc0,svc1", "--datasets", "checkerboard[n=40,n_test=10]"
    )
    assert code == 0, errors
    assert [(record["status"], record["versions"]["scikit-learn"]) for record in records] == [
        ("ok", version) for version in versions
    ]
