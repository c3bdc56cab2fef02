"""No kernel value is free: what a solver can take by public names is counted, or its count says 'at least'."""

from __future__ import annotations

import numpy as np
import pytest

import harness
from harness import CSVC, RBF, Iterate, KernelOracle, Linear, Poly, Precomputed, Solver, TracePlan, drive
from harness.kernels.counter import Counter
from harness.problems import L2SVC, HardMargin, OneClass, PolytopeDistance, RampSVC, ReducedHull, TubeSVR
from harness.testing.running import recorded_work
from tests.plugins.points import overlapping

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
    "float32": lambda kernel: kernel.astype(np.float32),
    "cache": lambda kernel: kernel.with_cache(1.0),
    "ridge": lambda kernel: kernel.with_ridge(0.5),
    "threads": lambda kernel: kernel.with_threads(2),
    "tube": lambda kernel: kernel.with_product(np.ones(kernel.n)),
    "part of a tube": lambda kernel: kernel.with_product(np.ones(kernel.n)).restrict([0, 2]).astype(np.float32),
    "inside a tube": lambda kernel: kernel.with_product(np.ones(kernel.n)).plain,
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
        oracle.expand(y), oracle.expand_new(y, x), oracle.diagonal(), oracle.row(0), oracle.features()
        problem = CSVC.build(oracle, y)
        outcome = drive(harness.get_solver("smo"), problem, np.random.default_rng(0), plan=TracePlan())
        problem.certify(outcome.dual_coef, outcome.intercept)
        assert not oracle.counter.evaluations_at_least


# -- the host's own methods in a solver's hands --------------------------------------------------------


ASKED = {
    "certify": lambda problem, coef: problem.certify(coef, 0.0),
    "certificate": lambda problem, coef: problem.certificate(coef, 0.0, np.ones(problem.n)),
    "scores_new": lambda problem, coef: problem.scores_new(coef, 0.0, np.ones((7, 2))),
    "largest_diagonal": lambda problem, coef: problem.largest_diagonal(),
}
FORMULATIONS = {
    CSVC: {},
    L2SVC: {},
    HardMargin: {},
    ReducedHull: {"D": 0.1},
    PolytopeDistance: {},
    OneClass: {"nu": 0.5},
    RampSVC: {},
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
    problem = problem_of(HardMargin)
    outcome = drive(
        Pausing(), problem, np.random.default_rng(0), plan=TracePlan(first_seconds=1e-12, first_evaluations=1)
    )
    assert outcome.trace
    assert all(point.margin_upper is not None for point in outcome.trace)
    support = outcome.info["support"]
    assert outcome.info["spent"] == [N, N, N, N + N + support * N]  # the diagonal once, every row that it had not had
    assert problem.kernel.counter == Counter(evaluations=outcome.info["spent"][-1], cache_hits=0)


# -- the counter itself --------------------------------------------------------------------------------


def test_no_public_name_leads_to_uncounted_work():
    oracle = oracle_of()
    names = [*dir(oracle), *dir(oracle.with_product(np.ones(N))), *dir(problem_of(CSVC)), *dir(harness)]
    assert not [name for name in names if "uncounted" in name and not name.startswith("_")]
    with pytest.raises(AttributeError):
        oracle.counter = Counter()


@pytest.mark.parametrize("value", [0, -(10**30), N - 1, "free", None, 0.5, float("nan")])
def test_a_count_is_not_lowered(value):
    oracle = oracle_of()
    oracle.row(1)
    with pytest.raises(ValueError, match=r"counter was set to evaluations = .* after 40; its counts are whole numbers"):
        oracle.counter.evaluations = value
    assert oracle.counter.evaluations == N
    oracle.counter.evaluations_at_least = True
    with pytest.raises(ValueError, match="only grow"):
        oracle.counter.evaluations_at_least = False
