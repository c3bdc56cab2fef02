"""No kernel value is free: what a solver can take by public names is counted, or its count says 'at least'."""

import copy
import multiprocessing
import pickle

import numpy as np
import pytest
from harness_robust.ramp import RampSVC
from harness_sampling.tube_svr import TubeSVR

import harness
from harness import CSVC, RBF, Iterate, KernelOracle, Limits, Linear, Poly, Precomputed, Solver, TracePlan, drive
from harness.kernels.engine import Engine
from harness.problems import L2SVC, HardMargin, OneClass, PolytopeDistance, ReducedHull
from harness.problems.expansion import of_weights
from harness.testing.running import recorded_work
from tests.plugins.common import overlapping

GAUSSIAN = RBF(gamma=0.5)
N = 40


def oracle_of(kernel=GAUSSIAN, x=None):
    x = overlapping(0, N)[0] if x is None else x
    return KernelOracle(kernel, kernel.block(x, x) if isinstance(kernel, Precomputed) else x)


def problem_of(formulation, **values):
    x, y = overlapping(0, N)
    return formulation.build(KernelOracle(RBF(gamma=0.5), x), y, values)


# -- values computed from the points ------------------------------------------------------------------


VIEWS = {
    "itself": lambda kernel: kernel,
    "restricted": lambda kernel: kernel.restrict([1, 3, 5]),
    "float32": lambda kernel: kernel.replace(dtype=np.float32),
    "cache": lambda kernel: kernel.replace(cache_mb=1.0),
    "ridge": lambda kernel: kernel.replace(ridge=0.5),
    "threads": lambda kernel: kernel.replace(threads=2),
    "tube": lambda kernel: kernel.replace(z=np.ones(kernel.n)),
    "part of a tube": lambda kernel: kernel.replace(z=np.ones(kernel.n)).restrict([0, 2]).replace(dtype=np.float32),
    "inside a tube": lambda kernel: kernel.replace(z=np.ones(kernel.n)).replace(z=None),
}


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("kernel", [RBF(gamma=0.5), Poly(degree=2), Linear()])
def test_who_takes_the_points_is_counted_at_least(kernel, view):
    oracle = oracle_of(kernel)
    seen = VIEWS[view](oracle)
    assert not oracle.counter.evaluations_at_least
    kernel.block(seen.points, seen.points)
    assert oracle.counter.evaluations == 0
    assert oracle.counter.evaluations_at_least
    assert seen.counter is oracle.counter


def test_nothing_that_serves_a_solver_or_the_host_counts_as_taking_the_points():
    for kernel in (RBF(gamma=0.5), Linear()):
        oracle = oracle_of(kernel)
        x, y = oracle_of().points, overlapping(0, N)[1]
        oracle.expand(y), oracle.diagonal(), oracle.row(0)
        oracle.expand_new(y, x), oracle.features(), oracle.rows_at(x)
        plain = CSVC.build(Engine(kernel, x), y)
        problem = CSVC.build(oracle, y)
        target = Limits(target_gap=1e-9)
        outcome = drive(harness.get_solver("smo"), problem, np.random.default_rng(0), target, TracePlan(), plain=plain)
        plain.certify(outcome.dual_coef, outcome.intercept)
        assert not oracle.counter.evaluations_at_least


# -- the host's own methods in a solver's hands --------------------------------------------------------


ASKED = {
    "certify": lambda problem, coef: problem.certify(coef, 0.0),
    "certificate": lambda problem, coef: problem.certificate(coef, 0.0, np.ones(problem.n)),
    "scores_new": lambda problem, coef: problem.scores_new(coef, 0.0, np.ones((7, 2))),
    "largest_diagonal": lambda problem, coef: problem.largest_diagonal(),
}
FORMULATIONS = {
    **{each: {} for each in (CSVC, L2SVC, HardMargin, PolytopeDistance, RampSVC)},
    ReducedHull: {"D": 0.1},
    OneClass: {"nu": 0.5},
    TubeSVR: {"epsilon": 0.5, "D": 0.2},
}


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_what_a_method_of_the_problem_computes_is_counted(formulation, asked):
    problem = problem_of(formulation, **FORMULATIONS[formulation])
    coef = 0.5 * problem.targets if formulation is RampSVC else problem.dual_form().coef(problem.dual_form().start)
    coef = coef if coef.any() else 0.5 * problem.targets
    with recorded_work() as work:
        ASKED[asked](problem, coef)
    assert problem.kernel.counter.evaluations == work.values
    assert work.values > 0 or asked == "certificate"


class Pausing(Solver):
    """Yields one model twice, so that the host certifies it in between; then asks for what the host has computed."""

    name = "pausing"
    solves = (HardMargin,)

    def iterates(self, problem, rng):
        coef = problem.dual_form().coef(problem.dual_form().start)
        problem.kernel.row(3)
        spent = [problem.kernel.counter.evaluations]
        for _ in range(2):
            yield Iterate(coef)
            spent.append(problem.kernel.counter.evaluations)
        problem.kernel.diagonal()
        for i in np.flatnonzero(coef):
            problem.kernel.row(i)
        problem.largest_diagonal()
        spent.append(problem.kernel.counter.evaluations)
        yield Iterate(coef, done=True, info={"spent": spent, "support": int(np.count_nonzero(coef))})


def test_the_host_s_certificates_in_mid_run_are_neither_counted_nor_a_gift():
    plain = HardMargin.build(Engine(RBF(gamma=0.5), overlapping(0, N)[0]), overlapping(0, N)[1])
    problem = plain.counted()
    traced = TracePlan(first_seconds=1e-12, first_evaluations=1)
    models, given = [], (np.random.default_rng(0), Limits(target_gap=1e-9), traced)
    outcome = drive(Pausing(), problem, *given, plain=plain, observer=lambda _, model: models.append(model))
    assert models
    assert all(model is not None for model in models)
    support = outcome.info["support"]
    assert outcome.info["spent"] == [N, N, N, N + N + support * N]  # the diagonal once, every row that it had not had
    counter = problem.kernel.counter
    assert (counter.evaluations, counter.cache_hits) == (outcome.info["spent"][-1], 0)


# -- the counter itself --------------------------------------------------------------------------------


SHARED = []


def _in_pool(problem):
    SHARED[:] = [problem]
    with multiprocessing.get_context("fork").Pool(1) as pool:
        return pool.apply(_rows_of_shared)


def _rows_of_shared():
    return np.array(SHARED[0].kernel.rows([0, 1]))


CHEATS = {
    "a pool of processes": _in_pool,
    "a pickled problem": lambda problem: pickle.loads(pickle.dumps(problem)).kernel.row(0),
    "a deep copy": lambda problem: copy.deepcopy(problem).kernel.row(0),
    "a copied kernel": lambda problem: copy.copy(problem.kernel).row(0),
    "the points of a linear kernel": lambda problem: problem.kernel.features().rows(np.arange(problem.n)),
    "a dual point": lambda problem: problem.dual_point(of_weights(problem.kernel, np.ones(2), np.float64), 0.0),
}


@pytest.mark.parametrize("cheat", CHEATS)
def test_values_that_come_another_way_make_the_count_a_lower_bound(cheat):
    problem = CSVC.build(KernelOracle(Linear(), overlapping(0, N)[0]), overlapping(0, N)[1])
    problem.kernel.row(0)
    assert not problem.kernel.counter.evaluations_at_least
    CHEATS[cheat](problem)
    assert problem.kernel.counter.evaluations_at_least


def test_no_public_name_leads_to_values_without_a_count():
    """What is public gives values that are counted, or says so: each is called on what it takes."""
    oracle = oracle_of(Linear())
    assert not [name for name in (*dir(oracle), *dir(harness)) if "uncounted" in name or name in ("engine", "source")]
    with recorded_work() as work:
        oracle.rows_at(np.ones((4, 2))), oracle.expand_models(np.arange(3), np.ones((3, 2)))
    assert oracle.counter.evaluations == 4 * N + 3 * N == work.values
    assert isinstance(oracle.identity, object)
    assert not [name for name in dir(oracle.identity) if not name.startswith("_")]


@pytest.mark.parametrize("value", [0, -(10**30), N - 1, "free", None, 0.5, float("nan")])
def test_a_count_is_not_lowered(value):
    oracle = oracle_of()
    oracle.row(1)
    with pytest.raises(ValueError, match=r"set to evaluations = .* after 40"):
        oracle.counter.evaluations = value
    assert oracle.counter.evaluations == N
    oracle.counter.evaluations_at_least = True
    with pytest.raises(ValueError, match="only grow"):
        oracle.counter.evaluations_at_least = False
