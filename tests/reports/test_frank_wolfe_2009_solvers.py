"""reports/frank_wolfe_2009: the ladder, the generated sets, the peers and the gains of single iterations."""

import math
from itertools import combinations

import numpy as np
import pytest

from harness import L2SVC, RBF, HardMargin, Iterate, KernelOracle, Linear, get_solver
from reports.frank_wolfe_2009 import linear_hulls
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


def test_delta_is_half_the_largest_squared_distance_and_not_counted():
    problem = hulls()
    first = next(iter(solvers.Ladder(oracle="fw").iterates(problem, np.random.default_rng(0))))
    alone = hulls()
    next(iter(get_solver("fw", epsilon=0.1).iterates(alone, np.random.default_rng(0))))
    assert problem.kernel.counter.evaluations == alone.kernel.counter.evaluations
    gram = alone.kernel.block(np.arange(60), np.arange(60)) + 0.0
    diagonal = alone.kernel.diagonal()
    pairs = [
        diagonal[i] + diagonal[j] - 2.0 * gram[i, j]
        for i, j in combinations(range(60), 2)
        if alone.targets[i] != alone.targets[j]
    ]
    assert first.info["delta"] == pytest.approx(0.5 * max(pairs))


def test_hulls_that_meet_end_the_ladder():
    x, y = np.array([[0.0], [2.0], [1.0], [3.0]]), np.array([1.0, 1.0, -1.0, -1.0])
    problem = HardMargin.build(KernelOracle(Linear(), x), y, {})
    *_, last = climbed(solvers.Ladder(oracle="fw"), problem)
    assert not last.done
    assert last.info["levels"] == []
    assert last.info["ended"] == "hulls intersect"


def test_a_level_that_is_not_reached_leaves_where_it_stood(monkeypatch):
    class GivesUp:
        def with_target_gap(self, gap):
            self.gap = gap
            return self

        def iterates(self, problem, rng):
            coef = np.zeros(problem.n)
            yield Iterate(coef, step=1, working_set=2, info={"epsilon_plus": 0.5})
            yield Iterate(coef, step=7, working_set=2, done=self.gap > 0.05, info={"epsilon_plus": 0.02})

    monkeypatch.setattr(solvers, "get_solver", lambda name: GivesUp())
    *_, last = climbed(solvers.Ladder(oracle="x", least=1e-3, per_decade=1), hulls())
    assert [level["iterations"] for level in last.info["levels"]] == [7]
    assert (last.done, last.info["last_epsilon"], last.info["last_iterations"]) == (False, 0.02, 7)


def test_a_ladder_ends_with_its_cpu_time():
    *_, last = climbed(solvers.Ladder(oracle="fw", seconds=1e-9), hulls())
    assert not last.done
    assert last.info["ended"] == "its 1e-09 s of CPU time are over"
    assert len(last.info["levels"]) <= 1


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


def test_an_iteration_and_a_product_take_turns(monkeypatch):
    clock = iter(np.arange(0.0, 1000.0, 0.006))
    monkeypatch.setattr(linear_hulls.time, "process_time", lambda: float(next(clock)))
    x, y = overlapping(0, n=200)
    problem = L2SVC.build(KernelOracle(Linear(), x), y, {"C": 1.0})
    (last,) = linear_hulls.BesideProduct(oracle="mdm", rounds=3).iterates(problem, np.random.default_rng(0))
    assert last.done
    assert last.info["product"] == pytest.approx(0.018), "one product, between three readings of the clock"
    low, middle, high = last.info["ratio"]
    assert 0.0 < low <= middle <= high
    assert middle == pytest.approx(last.info["iteration"] / last.info["product"])
    assert problem.certify(last.dual_coef, last.intercept).feasibility_violation < 1e-9
    assert "linear kernel" in linear_hulls.BesideProduct().skip(hulls())


def test_the_accuracies_of_a_ladder():
    assert solvers.Ladder(least=1e-2, per_decade=2).accuracies == pytest.approx([1e-1, 10**-1.5, 1e-2])
    assert solvers.Ladder(least=0.1).accuracies == pytest.approx([0.1])


# -- the generated sets ------------------------------------------------------------------------------------


def test_mushrooms_are_one_hot_and_separable():
    data = sources.MushroomsLike(n=150).load()
    assert data.x_train.shape[0] == data.x_test.shape[0] == 150
    assert set(np.unique(data.x_train)) == {0.0, 1.0}
    assert (data.x_train.sum(axis=1) == 22).all()
    assert min((data.y_train > 0).mean(), (data.y_train < 0).mean()) > 0.2
    problem = HardMargin.build(KernelOracle(Linear(), data.x_train), data.y_train, {})
    found = problem.certify(*_model(get_solver("fw", epsilon=0.5), problem))
    assert found.margin_lower > 0.0
    other = sources.MushroomsLike(n=150, seed=1).load()
    assert other.sha256 != data.sha256


def _model(solver, problem):
    *_, last = solver.iterates(problem, np.random.default_rng(0))
    return last.dual_coef, last.intercept


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


@pytest.mark.parametrize("formulation", [L2SVC, HardMargin])
def test_smo_without_a_cap_finds_the_nearest_points(formulation):
    x, y = overlapping(0, n=60)
    settings = {"C": 2.0} if formulation is L2SVC else {}
    problem = formulation.build(KernelOracle(RBF(2.0), x), y, settings)
    found = problem.certify(*_model(solvers.UncappedSMO().with_target_gap(1e-4), problem))
    assert found.feasibility_violation < 1e-12
    assert found.relative_gap <= 1e-4
    exact = get_solver("qp").solve(problem)
    assert found.margin_upper == pytest.approx(problem.certify(exact.dual_coef, exact.intercept).margin_upper, rel=1e-4)


def test_the_library_s_model_is_certified_as_one_of_l2_svc():
    x, y = overlapping(0, n=200)
    problem = L2SVC.build(KernelOracle(Linear(), x), y, {"C": 2.0})
    *_, found = solvers.LinearSVCPeer(tol=1e-10, scaling=100.0).iterates(problem, np.random.default_rng(0))
    assert problem.certify(found.dual_coef, found.intercept).relative_gap < 1e-2
    *_, biased = solvers.LinearSVCPeer(tol=1e-10, scaling=0.01).iterates(problem, np.random.default_rng(0))
    assert problem.certify(biased.dual_coef, biased.intercept).relative_gap > 1e-2
    assert found.info["conversion_cpu_seconds"] >= 0.0
    assert "linear kernel" in solvers.LinearSVCPeer().skip(hulls())


def test_gains_are_those_of_single_iterations():
    problem = hulls()
    *_, last = solvers.Decrease(epsilon=1e-2).iterates(problem, np.random.default_rng(0))
    assert last.done
    psi, kinds, epsilons = [], [], []
    for k in range(last.step + 1):
        *_, found = get_solver("fw", epsilon=1e-2, max_iterations=max(1, k)).iterates(hulls(), np.random.default_rng(0))
        if k == 0:
            found = next(iter(get_solver("fw").iterates(hulls(), np.random.default_rng(0))))
        psi.append(0.5 * found.info["norm"] ** 2)
        kinds.append(found.info["kind"])
        epsilons.append(found.info["epsilon"])
    ratios = []
    for k in range(1, len(psi)):
        if kinds[k] != "drop":
            share = epsilons[k - 1] ** 2 * psi[-1]
            promised = psi[k - 1] * share / (share + last.info["delta"])
            ratios.append((psi[k - 1] - psi[k]) / promised)
    assert last.info["steps"] == len(ratios)
    assert last.info["drops"] == kinds.count("drop")
    assert last.info["least"] == pytest.approx(min(ratios), rel=1e-6)
    assert last.info["median"] == pytest.approx(np.median(ratios), rel=1e-6)
