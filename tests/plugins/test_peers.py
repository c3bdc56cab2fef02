"""Other people's libraries: handed the right problem, and their models in the harness's signs."""

import importlib.util
import subprocess
import sys

import harness_peers
import numpy as np
import pytest
import scipy.sparse
from harness_peers import LibSVM, SklearnEx
from harness_qp import QP
from harness_smo import SMO
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.svm import SVC

from harness import (
    CSVC,
    RBF,
    DotProductKernel,
    KernelOracle,
    Linear,
    Poly,
    Precomputed,
    ReducedHull,
    UsageError,
    get_solver,
)
from tests.plugins.points import cancer, digits, overlapping

HAS_SKLEARNEX = importlib.util.find_spec("sklearnex") is not None
SOLVERS = [
    LibSVM(tol=1e-6),
    pytest.param(SklearnEx(tol=1e-6), marks=pytest.mark.skipif(not HAS_SKLEARNEX, reason="sklearnex is not installed")),
]
EVERY = pytest.mark.parametrize("solver", SOLVERS, ids=["libsvm", "sklearnex"])


def build(formulation, x, y, kernel=None, **values):
    return formulation.build(KernelOracle(kernel or RBF(0.5), x), y, values)


def certified(problem, solution):
    problem.checked(solution.dual_coef, solution.intercept)
    return problem.certify(solution.dual_coef, solution.intercept)


@EVERY
@pytest.mark.parametrize("kernel", [Linear(), RBF(0.3), Poly(2, 0.5, 1.5), Poly(3, 0.2, 0.0)], ids=lambda k: k.name)
@pytest.mark.parametrize("values", [{"C": 2.0}, {"C": 2.0, "class_weight": "balanced"}])
def test_kernels_and_costs_arrive_as_stated(solver, kernel, values):
    x, y = overlapping(1, n=80)
    y[:30] = -1.0
    problem = build(CSVC, x, y, kernel, **values)
    found = certified(problem, solver.solve(problem))
    assert found.relative_gap < 1e-5
    assert found.kkt_violation < 1e-4


@pytest.mark.parametrize("data", [cancer, digits, overlapping])
@pytest.mark.parametrize("cost", [0.1, 1.0, 100.0])
def test_libsvm_smo_and_qp_agree(data, cost):
    x, y = data()
    problem = build(CSVC, x, y, RBF(0.5 if x.shape[1] == 2 else 0.03), C=cost)
    duals = [certified(problem, solver.solve(problem)).dual for solver in (LibSVM(), SMO(), QP())]
    assert duals[:2] == pytest.approx([duals[2]] * 2, rel=1e-3)


@EVERY
@pytest.mark.parametrize("storage", ["csr", "float32", "precomputed"])
def test_storage_does_not_change_the_optimum(solver, storage):
    x, y = overlapping(2, n=80)
    expected = certified(build(CSVC, x, y), solver.solve(build(CSVC, x, y))).dual
    data = {"csr": scipy.sparse.csr_array(x), "float32": x.astype(np.float32), "precomputed": RBF(0.5).block(x, x)}
    problem = build(CSVC, data[storage], y, Precomputed() if storage == "precomputed" else None)
    if solver.skip(problem) is not None:
        pytest.skip(solver.skip(problem))
    found = certified(problem, solver.solve(problem))
    assert found.dual == pytest.approx(expected, rel=1e-4)
    assert found.relative_gap < 1e-3


@pytest.mark.parametrize("kernel", [RBF(0.3), Linear()], ids=lambda kernel: kernel.name)
@pytest.mark.parametrize("data", [cancer, digits])
@pytest.mark.parametrize("cap", [None, 0.05, "least"])
def test_the_nu_svm_is_the_reduced_hull_problem(data, cap, kernel):
    x, y = data()
    least = 1.0 / min((y > 0).sum(), (y < 0).sum())
    problem = build(ReducedHull, x, y, kernel, D=least if cap == "least" else cap)
    solution = LibSVM(tol=1e-7).solve(problem)
    assert certified(problem, solution).relative_gap < 1e-4
    best = QP().solve(problem)
    scores = problem.kernel.expand(best.dual_coef)
    if cap != "least":  # there a whole class is at the cap, and its threshold is an interval
        assert solution.intercept == pytest.approx(best.intercept, abs=1e-3 * np.ptp(scores))


def test_intersecting_reduced_hulls_are_feasible_still():
    x, y = overlapping(3, n=60)
    problem = build(ReducedHull, x, y, Linear(), D=0.5)
    found = certified(problem, LibSVM().solve(problem))
    assert found.dual == pytest.approx(0.0, abs=1e-6)


@given(seed=st.integers(0, 10_000), n=st.integers(4, 30), cost=st.sampled_from([0.2, 3.0, 100.0]))
@settings(max_examples=25)
def test_flipping_the_labels_negates_the_model(seed, n, cost):
    x, y = overlapping(seed, n)
    y[0], y[1] = 1.0, -1.0
    problem, flipped = build(CSVC, x, y, C=cost), build(CSVC, x, -y, C=cost)
    one, other = LibSVM(tol=1e-8).solve(problem), LibSVM(tol=1e-8).solve(flipped)
    assert certified(problem, one).dual == pytest.approx(certified(flipped, other).dual, rel=1e-6)
    assert problem.kernel.expand(one.dual_coef) == pytest.approx(-problem.kernel.expand(other.dual_coef), abs=1e-4)


def test_the_scores_are_scikit_learns_decision_function():
    x, y = overlapping(4, n=80)
    problem = build(CSVC, x, y, C=3.0)
    solution = LibSVM().solve(problem)
    model = SVC(C=3.0, gamma=0.5).fit(x, y)
    new = overlapping(5, n=80)[0]
    assert problem.scores_new(solution.dual_coef, solution.intercept, new) == pytest.approx(
        model.decision_function(new)
    )
    assert solution.info["iterations"] == model.n_iter_[0]


def test_the_librarys_own_kernel_values_are_not_counted():
    x, y = overlapping(6, n=80)
    problem = build(CSVC, x, y)
    LibSVM().solve(problem)
    assert problem.kernel.counter.evaluations == 0
    assert not LibSVM.observable, "so that the host records null, not 0"


class Laplace(DotProductKernel):
    name = "laplace"

    def from_products(self, products, sq_x, sq_z):
        raise NotImplementedError

    def diagonal(self, x):
        raise NotImplementedError


@EVERY
def test_what_the_library_cannot_do_is_skipped_in_words(solver):
    x, y = overlapping(7, n=10)
    assert solver.skip(build(CSVC, x, y)) is None
    assert "cannot add a ridge" in solver.skip(CSVC.build(KernelOracle(RBF(0.5), x, ridge=0.1), y))
    assert f"{solver.name} has no kernel 'laplace'" in solver.skip(build(CSVC, x, y, Laplace()))
    one_class = build(CSVC, x, np.ones(10))
    assert "needs points of both classes; all 10 are of one" in solver.skip(one_class)
    with pytest.raises(UsageError, match="both classes"):
        next(solver.iterates(one_class, np.random.default_rng(0)))


def test_sklearnex_leaves_precomputed_kernels_to_libsvm():
    x, y = overlapping(8, n=10)
    gram = build(CSVC, RBF(0.5).block(x, x), y, Precomputed())
    assert "take libsvm" in SklearnEx().skip(gram)
    assert LibSVM().skip(gram) is None


def test_a_solver_appears_where_its_package_is_installed(monkeypatch):
    names = [solver.name for solver in harness_peers.harness_solvers()]
    assert names == ["libsvm", "sklearnex"] if HAS_SKLEARNEX else names == ["libsvm"]
    monkeypatch.setattr(importlib.util, "find_spec", lambda package: None)
    assert harness_peers.harness_solvers() == []


def test_parameters():
    assert get_solver("libsvm").with_target_gap(1e-4).tol == pytest.approx(1e-5)
    assert get_solver("libsvm").with_target_gap(0.5).tol == 1e-3
    x, y = overlapping(9, n=80)
    problem = build(CSVC, x, y, C=50.0)
    loose, exact = (certified(problem, LibSVM(tol=tol).solve(problem)) for tol in (0.5, 1e-6))
    assert exact.kkt_violation < 1e-5 < loose.kkt_violation
    plain = certified(problem, LibSVM(shrinking=False, cache_mb=1.0).solve(problem))
    assert plain.dual == pytest.approx(exact.dual, rel=1e-4)


def test_importing_the_plugin_loads_no_library():
    code = "import sys, harness_peers; assert not {'sklearn', 'sklearnex', 'scipy'} & set(sys.modules), 'too heavy'"
    subprocess.run([sys.executable, "-c", code], check=True)
