"""What block SMO knows of the points it has parked, checked against the kernel itself after every look."""

from types import SimpleNamespace

import numpy as np
import pytest
from harness_smo import SMOBlock
from harness_smo.block_descent import Descent
from harness_smo.block_level import Level

from harness import CSVC, RBF, CSVCNoBias, EpsSVR, KernelOracle, OneClass, Poly, ReducedHull
from harness.kernels.oracle import uncounted
from tests.plugins.points import overlapping


def points(formulation, seed, n):
    x, y = overlapping(seed, n, d=3)
    if formulation is ReducedHull:
        x[:, 0] += 4.0 * y  # hulls that touch have w = 0, where no method ends quickly
    return x, (np.sin(2.0 * x[:, 0]) + 0.3 * y if formulation is EpsSVR else y)


def build(formulation, values, seed=0, n=1200, kernel=None):
    x, y = points(formulation, seed, n)
    return formulation.build(KernelOracle(kernel or RBF(0.5), x), y, values)


class Watched:
    """Runs a solver and compares what it knows with the kernel: of active points each round, of all at each look."""

    def __init__(self, monkeypatch, problem):
        self.problem, self.form = problem, problem.dual_form()
        with uncounted(problem.kernel):
            self.kernel = np.array(problem.kernel.block(np.arange(problem.n)))
            single = problem.kernel.astype(np.float32).block(np.arange(problem.n))
        self.off = 4.0 * float(np.abs(single - self.kernel).max())  # a value of float32, however it is computed
        self.parked = self.looks = self.looked = 0
        look, round_, watch = Descent.look, Level.round, self

        def watched_look(state, tau):
            found = look(state, tau)
            watch.check_look(state, tau, found)
            return found

        def watched_round(level, tau):
            outcome = round_(level, tau)
            watch.rounded = level
            return outcome

        monkeypatch.setattr(Descent, "look", watched_look)
        monkeypatch.setattr(Level, "round", watched_round)

    def check_look(self, state, tau, found):
        exact = self.kernel @ self.form.coef(state.a)
        total = np.abs(self.form.coef(state.a)).sum()
        rounding = 1e-12 + total * (1e-13 * np.abs(self.kernel).max() if state.exact else self.off)
        active = state.level.where
        assert (np.abs(state.level.scores - exact[active]) <= rounding).all(), "scores of active points"
        bound = state.doubt.copy()
        for generation in state.parked:
            bound[generation.points] += generation.path * state.root_diagonal[generation.points]
        off = np.abs(state.scores - exact)
        assert (off <= bound + rounding).all(), "scores of the others are within their bound"
        everyone = np.concatenate([active, state.known, *(generation.points for generation in state.parked)])
        assert sorted(everyone.tolist()) == list(range(state.n)), "every point is active, known or parked, once"
        slack = self.slack(state, exact)
        quiet = np.setdiff1d(np.arange(state.n), np.concatenate([active, found]))
        assert (slack[quiet] >= -tau - rounding).all(), "what is left parked does not violate"
        self.looks += 1
        self.looked += len(state.known)
        self.parked = max(self.parked, state.n - len(active))

    def slack(self, state, exact):
        """Distance of each point from violating with the ends of the active points, between the bounds of this time."""
        form, least = state.form, np.full(state.n, np.inf)
        for v in range(len(state.a)):
            up, low = state.level.ends[form.group[v]]
            g = form.linear[v] - exact[v % state.n]
            if state.a[v] < form.upper[v]:
                least[v % state.n] = min(least[v % state.n], up - g)
            if state.a[v] > form.lower[v]:
                least[v % state.n] = min(least[v % state.n], g - low)
        return least


CASES = {
    "c-svc": (CSVC, {"C": 100.0}),
    "c-svc-nobias": (CSVCNoBias, {"C": 100.0}),
    "eps-svr": (EpsSVR, {"C": 30.0, "epsilon": 0.1}),
    "one-class": (OneClass, {"nu": 0.3}),
    "reduced-hull": (ReducedHull, {"D": 0.01}),
}


@pytest.mark.slow
@pytest.mark.parametrize(("formulation", "values"), CASES.values(), ids=CASES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("cache_mb", [0.1, 0.4])
def test_parked_points_do_not_violate_and_scores_are_within_their_bounds(
    monkeypatch, formulation, values, dtype, cache_mb
):
    problem = build(formulation, values)
    watched = Watched(monkeypatch, problem)
    last = list(SMOBlock(dtype=dtype, cache_mb=cache_mb, working_set=64).iterates(problem, np.random.default_rng(0)))[
        -1
    ]
    assert last.done
    assert watched.looks >= 1
    if formulation in (CSVC, CSVCNoBias):
        assert watched.parked > 300
        assert watched.looked > 0


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kernel", [RBF(0.2), Poly(2, 0.5, 1.0)], ids=lambda kernel: kernel.name)
def test_the_bounds_hold_for_other_kernels_and_larger_costs(monkeypatch, seed, kernel):
    wide = kernel.name == "rbf"
    problem = build(CSVC, {"C": 300.0 if wide else 0.1}, seed, n=1400, kernel=kernel)
    watched = Watched(monkeypatch, problem)
    solver = SMOBlock(cache_mb=0.1, working_set=64, dtype="float32" if wide else "float64")
    last = list(solver.iterates(problem, np.random.default_rng(0)))[-1]
    assert last.done
    assert watched.parked > 300
    assert problem.certify(last.dual_coef, last.intercept).kkt_violation <= 1.01e-3


@pytest.mark.slow
def test_generations_are_joined_without_losing_their_doubt(monkeypatch):
    joined, join = [], Descent._merge_oldest

    def counted(state):
        joined.append(len(state.parked[0].points))
        join(state)

    monkeypatch.setattr("harness_smo.block_descent._GENERATIONS", 1)
    monkeypatch.setattr(Descent, "_merge_oldest", counted)
    problem = build(CSVC, {"C": 100.0}, 1, n=2500)
    watched = Watched(monkeypatch, problem)
    last = list(SMOBlock(cache_mb=0.2, working_set=128, dtype="float64").iterates(problem, np.random.default_rng(0)))[
        -1
    ]
    assert last.done
    assert joined
    assert watched.parked > 300
    assert problem.certify(last.dual_coef, last.intercept).kkt_violation <= 1.01e-3


@pytest.mark.parametrize(("formulation", "values"), list(CASES.values())[:4], ids=list(CASES)[:4])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("cache_mb", [0.1, 0.4])
def test_the_violation_over_all_points_is_within_tau(formulation, values, dtype, cache_mb):
    problem = build(formulation, values)
    solution = SMOBlock(dtype=dtype, cache_mb=cache_mb, working_set=64).solve(problem)
    assert solution.done
    found = problem.certify(solution.dual_coef, solution.intercept)
    assert found.kkt_violation <= 1.001e-3 * problem.dual_form().unit


def test_few_points_are_never_parked():
    problem = build(CSVC, {"C": 10.0}, n=400)
    iterates = SMOBlock(cache_mb=0.01, working_set=16, dtype="float64").iterates(problem, np.random.default_rng(0))
    assert {iterate.info["active"] for iterate in iterates} == {400}


def test_without_shrinking_no_point_is_parked():
    problem = build(CSVC, {"C": 100.0})
    solver = SMOBlock(cache_mb=0.1, working_set=64, dtype="float64", shrinking=False)
    active = {iterate.info["active"] for iterate in solver.iterates(problem, np.random.default_rng(0))}
    assert active == {1200}
    solver = solver.replaced(shrinking=True)
    assert min(iterate.info["active"] for iterate in solver.iterates(problem, np.random.default_rng(0))) < 1200


def test_a_small_violation_that_is_not_halved_for_many_rounds_is_stale():
    level = SimpleNamespace(violation=0.02, rounds=0)
    state = SimpleNamespace(level=level, rounds=0, narrowed=SimpleNamespace(loose=0.3), best=np.inf, since=0)
    told = []
    for level.rounds, level.violation in ((1, 0.02), (60, 0.012), (61, 0.009), (120, 0.006), (122, 0.006)):
        told.append(Descent.stale(state))
    assert told == [False, False, False, False, True]
    level.rounds, level.violation = 500, 0.5  # a large violation swings for its own reasons
    assert not Descent.stale(state)
