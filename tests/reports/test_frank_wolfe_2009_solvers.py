"""reports/frank_wolfe_2009: the ladder, the generated sets, the peers and the gains of single iterations."""

import math

import numpy as np
import pytest

from harness import RBF, KernelOracle, Linear, get_solver
from harness.problems import L2SVC, HardMargin
from reports.kit import solvers, sources
from tests.plugins.points import overlapping

# -- the ladder --------------------------------------------------------------------------------------------


def climbed(ladder, problem):
    return list(ladder.iterates(problem, np.random.default_rng(0)))


def hulls(seed=0, n=60):
    x, y = overlapping(seed, n=n)
    return L2SVC.build(KernelOracle(RBF(0.5), x), y, {"C": 2.0})


def test_each_level_is_a_run_from_scratch():
    *_, last = climbed(solvers.Ladder(oracle="fw", least=1e-4, per_decade=1, seconds=300.0), hulls())
    assert last.done
    assert [level["epsilon"] for level in last.info["levels"]] == pytest.approx([1e-1, 1e-2, 1e-3, 1e-4])
    for level in last.info["levels"]:
        problem = hulls()
        *_, alone = get_solver("fw", epsilon=level["epsilon"]).iterates(problem, np.random.default_rng(0))
        assert level["iterations"] == alone.step
        assert level["core_set"] == np.count_nonzero(alone.dual_coef)
        assert level["evaluations"] == problem.kernel.counter.evaluations
        assert level["cpu"] > 0.0


def test_core_sets_have_the_margin_that_is_optimal_for_them():
    problem = hulls()
    ladder = solvers.CoreSets(oracle="gilbert", least=1e-2, per_decade=1, seconds=300.0)
    *_, last = climbed(ladder, problem)
    exact = get_solver("qp")

    def margin(part):
        found = exact.solve(part)
        return part.certify(found.dual_coef, found.intercept).margin_upper

    assert last.info["margin"] == pytest.approx([margin(hulls())] * 2, rel=1e-6)
    assert last.info["margin"][0] <= last.info["margin"][1]
    for reached in last.info["levels"]:
        *_, alone = get_solver("gilbert", epsilon=reached["epsilon"]).iterates(hulls(), np.random.default_rng(0))
        assert reached["margin"] == pytest.approx(
            [margin(hulls().restrict(np.flatnonzero(alone.dual_coef)))] * 2, rel=1e-6
        )
        assert (1.0 - reached["epsilon"]) * reached["margin"][1] <= last.info["margin"][0], "Theorem 3.3"
    *_, plain = climbed(solvers.Ladder(oracle="gilbert", least=1e-2, per_decade=1, seconds=300.0), same := hulls())
    assert [each["evaluations"] for each in plain.info["levels"]] == [
        each["evaluations"] for each in last.info["levels"]
    ]
    assert problem.kernel.counter.evaluations == same.kernel.counter.evaluations, "what is beside is not counted"


# -- the generated sets ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("m", "height"), [(3, 0.5), (4, 1.0)])
@pytest.mark.parametrize("epsilon", [0.3, 0.1, 0.03, 0.001])
def test_the_least_core_set_of_the_simplices(m, height, epsilon):
    data = sources.Simplices(m=m, height=height).load()
    whole = HardMargin.build(KernelOracle(Linear(), data.x_train), data.y_train, {})
    exact = get_solver("qp")

    def margin(members):
        part = whole.restrict(np.array(members))
        found = exact.solve(part)
        return part.certify(found.dual_coef, found.intercept).margin_upper

    optimum = margin(range(2 * m))
    assert optimum == pytest.approx(math.sqrt(height**2 + 2.0 / m), rel=1e-6)
    # by symmetry only the numbers of points matter
    fitting = [
        k + other
        for k in range(1, m + 1)
        for other in range(1, m + 1)
        if (1.0 - epsilon) * margin([*range(k), *range(m, m + other)]) <= optimum * (1.0 + 1e-9)
    ]
    assert sources.least_core_set(m, height, epsilon) == min(fitting)


# -- the peers and the lemma, measured ---------------------------------------------------------------------


def test_the_library_s_model_is_certified_as_one_of_l2_svc():
    x, y = overlapping(0, n=200)
    problem = L2SVC.build(KernelOracle(Linear(), x), y, {"C": 2.0})
    *_, found = solvers.LinearSVCPeer(tol=1e-10, scaling=100.0).iterates(problem, np.random.default_rng(0))
    assert problem.certify(found.dual_coef, found.intercept).relative_gap < 1e-2
    *_, biased = solvers.LinearSVCPeer(tol=1e-10, scaling=0.01).iterates(problem, np.random.default_rng(0))
    assert problem.certify(biased.dual_coef, biased.intercept).relative_gap > 1e-2
    assert found.info["conversion_cpu_seconds"] >= 0.0
    assert "linear kernel" in solvers.LinearSVCPeer().skip(hulls())
