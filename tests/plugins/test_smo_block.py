"""Block SMO: the reference solver's optimum, parked points, narrowed bounds, precisions, warm starts, storage, memory."""

import itertools
import tracemalloc

import numpy as np
import pytest
from harness_qp import QP
from harness_smo import SMOBlock
from harness_smo.block_state import BlockState, Few, Narrowed

from harness import CSVC, RBF, CSVCNoBias, Grid, KernelOracle, SolutionPath
from harness.problems import EpsSVR
from tests.kernels.oracles import own
from tests.plugins.block_problems import FORMULATIONS, drawn, stated
from tests.plugins.points import overlapping
from tests.plugins.smo_problems import build, certified

EACH = pytest.mark.parametrize(("formulation", "values"), FORMULATIONS.values(), ids=FORMULATIONS)


def last_of(solver, problem):
    """The last iterate, and how many points were active at each."""
    found = list(solver.iterates(problem, np.random.default_rng(0)))
    return found[-1], [iterate.info["active"] for iterate in found]


@pytest.mark.parametrize("seed", range(24))
def test_objective_is_the_reference_solvers(seed):
    state, solver = drawn(seed)
    problem = state()
    solution = solver.solve(problem)
    found = certified(problem, solution)
    reference = state()
    best = certified(reference, QP().solve(reference)).dual
    assert solution.done, solution.info
    assert found.dual == pytest.approx(best, rel=1e-6, abs=1e-9)
    assert found.feasibility_violation <= 1e-12
    if problem.dual_form().groups < 2:  # the hulls' certificate states the violation over the hull
        assert found.kkt_violation <= 1.01e-6 * problem.dual_form().unit + 1e-12


@pytest.mark.slow
@pytest.mark.parametrize(("n", "cost", "seed"), [(2000, 1e4, 0), (4000, 1e6, 3)])
def test_a_wide_kernel_at_a_large_cost_does_not_chase_rounding(n, cost, seed):
    # few support vectors and no noise: float32 scores took 137,663,261 steps here once
    rng = np.random.default_rng(seed)
    x, c, w = rng.normal(size=(n, 3)), rng.normal(size=(12, 3)), rng.normal(size=12)
    f = np.exp(-((x[:, None, :] - c) ** 2).sum(-1) / 6) @ w
    problem = CSVC.build(KernelOracle(RBF(0.2 / 3), x), np.where(f > np.median(f), 1.0, -1.0), {"C": cost})
    solution = SMOBlock().solve(problem)
    assert solution.done
    assert solution.steps <= 100_000
    assert certified(problem, solution).kkt_violation <= 1.01e-3


# -- parked points ---------------------------------------------------------------------------------------------------


def check_look(state, tau, found, kernel):
    """Compare what the state knows after a look with the kernel itself."""
    coef = state.form.coef(state.a)
    exact, active = kernel @ coef, state.level.where
    rounding = 1e-12 + np.abs(coef).sum() * (1e-13 if state.exact else 1e-5)
    assert (np.abs(state.level.scores - exact[active]) <= rounding).all(), "scores of active points"
    bound = state.doubt.copy()
    for generation in state.parked:
        bound[generation.points] += generation.path * state.root_diagonal[generation.points]
    assert (np.abs(state.scores - exact) <= bound + rounding).all(), "scores of the others are within their bound"
    everyone = np.concatenate([active, state.known, *(generation.points for generation in state.parked)])
    assert sorted(everyone.tolist()) == list(range(state.n)), "every point is active, known or parked, once"
    quiet = np.setdiff1d(np.arange(state.n), np.concatenate([active, found]))
    for v in range(len(state.a)):
        up, low = state.level.ends[state.form.group[v]]
        g, slack = state.form.linear[v] - exact[v % state.n], np.inf
        if state.a[v] < state.form.upper[v]:
            slack = up - g
        if state.a[v] > state.form.lower[v]:
            slack = min(slack, g - low)
        assert v % state.n not in quiet or slack >= -tau - rounding, "what is left parked does not violate"


@pytest.mark.parametrize(
    ("formulation", "values"),
    [(CSVC, {"C": 100.0}), (CSVCNoBias, {"C": 100.0}), (EpsSVR, {"C": 30.0, "epsilon": 0.1})],
    ids=["c-svc", "c-svc-nobias", "eps-svr"],
)
@pytest.mark.parametrize(("dtype", "generations"), [("float64", 1), ("float32", 6)])
def test_parked_points_do_not_violate(monkeypatch, formulation, values, dtype, generations):
    x, y = overlapping(1, 1200, d=3)
    y = np.sin(2.0 * x[:, 0]) + 0.3 * y if formulation is EpsSVR else y
    problem = build(x, y, formulation=formulation, **values)
    kernel = RBF(0.5).block(x, x)
    look, looked = BlockState.look, []

    def watched(state, tau):
        found = look(state, tau)
        check_look(state, tau, found, kernel)
        looked.append(len(state.known))
        return found

    monkeypatch.setattr(BlockState, "look", watched)
    monkeypatch.setattr("harness_smo.block_state._GENERATIONS", generations)
    last, active = last_of(SMOBlock(dtype=dtype, cache_mb=0.1, working_set=64), problem)
    assert last.done
    assert looked
    assert min(active) < 900
    found = problem.certify(last.dual_coef, last.intercept)
    assert found.kkt_violation <= 1.001e-3 * problem.dual_form().unit


def solved(seed, n, noise, cost):
    """Return a problem on the two sides of a wave, and the last iterate over it, which is done and certified."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    y = np.where(x[:, 0] + np.sin(2.0 * x[:, 1]) + noise * rng.normal(size=n) > 0.0, 1.0, -1.0)
    problem = build(x, y, RBF(0.3), C=cost)
    last, _ = last_of(SMOBlock(), problem)
    assert last.done
    assert certified(problem, last).kkt_violation <= 1.01e-3
    return problem, last


@pytest.mark.parametrize(("noise", "few"), [(0.0, True), (1.0, False)])
def test_where_few_points_matter_no_whole_matrix_is_computed(noise, few):
    problem, last = solved(5, 1200, noise, 1e3)
    assert Few(problem).few_matter == few
    assert (last.info["rows_computed"] < 800) == few


@pytest.mark.parametrize(("noise", "many"), [(0.0, False), (3.0, True)])
def test_of_more_points_the_whole_matrix_is_computed_where_many_support(noise, many):
    _, last = solved(6, 2600, noise, 2.0)
    assert (last.info["rows_computed"] == 2600) == many


def test_scores_of_float32_are_not_gone_on_with_in_float64(monkeypatch):
    # parked points were taken up with the rounding of their float32 scores: a certified gap of 0.06 counted as 1e-3
    monkeypatch.setattr("harness_smo.block.WHOLE", 600)
    rng = np.random.default_rng(1)
    x = rng.normal(size=(1500, 3))
    y = np.where(np.sin(2.0 * x[:, 0]) + x[:, 1] * x[:, 2] + rng.normal(size=1500) > 0.0, 1.0, -1.0)
    problem = build(x, y, RBF(0.6), C=1e6)
    solution = SMOBlock().with_target_gap(1e-3).solve(problem)
    assert solution.done
    assert certified(problem, solution).relative_gap <= 1e-3


@pytest.mark.parametrize("formulation", [CSVC, CSVCNoBias])
def test_a_target_gap_is_certified_when_points_were_parked(formulation):
    # after a look that found the gap too large the tolerance is tightened: what was looked at then must be again
    x, y = overlapping(3, 1500, d=3)
    problem = build(x, y, formulation=formulation, C=10.0)
    solver = SMOBlock(tau=0.5, cache_mb=0.1, working_set=64).with_target_gap(1e-6)
    last, active = last_of(solver, problem)
    assert min(active) < 1500
    assert problem.certify(last.dual_coef, last.intercept).relative_gap <= 1.001e-6
    assert set(last_of(solver.replace(shrinking=False, dtype="float64"), problem)[1]) == {1500}


# -- narrowed bounds -------------------------------------------------------------------------------------------------


def dual(form, a, scores):
    return form.linear @ a - 0.5 * form.coef(a) @ scores


@pytest.mark.parametrize("cost", [1e3, 1e6])
@pytest.mark.parametrize(
    ("formulation", "values"),
    [(CSVC, {}), (CSVCNoBias, {}), (EpsSVR, {"epsilon": 0.1}), (CSVC, {"class_weight": "balanced"})],
    ids=["c-svc", "c-svc-nobias", "eps-svr", "balanced"],
)
def test_on_the_way_to_a_large_cost_every_widening_keeps_the_sums_and_gains(monkeypatch, formulation, values, cost):
    problem = stated(formulation, {"C": cost, **values}, 3, n=150)
    truth = problem.kernel.block(np.arange(150), np.arange(150))
    widen, caps = Narrowed.widen, []

    def watched(narrowed, form, a, scores, at_once):
        size = np.abs(a).sum()
        assert scores == pytest.approx(truth @ form.coef(a), abs=1e-6 * (1.0 + size))
        assert [a[form.group == k].sum() for k in range(form.groups)] == pytest.approx(
            [0.0] * form.groups, abs=1e-11 * size
        )
        before, at_top = dual(form, a, truth @ form.coef(a)), (a >= form.upper) & (a > 0)
        wider, factor = widen(narrowed, form, a, scores, at_once)
        assert ((a >= wider.lower) & (a <= wider.upper)).all()
        assert dual(wider, a, truth @ form.coef(a)) >= before - 1e-9 * abs(before)
        if factor >= wider.upper.max() / form.upper.max():
            assert (a[at_top] == wider.upper[at_top]).all(), "at its bound to the last bit"
        caps.append(narrowed.cap)
        return wider, factor

    monkeypatch.setattr(Narrowed, "widen", watched)
    solution = SMOBlock(tau=1e-3).solve(problem)
    assert solution.done
    assert caps == sorted(caps)
    assert len(caps) >= 2
    assert caps[-1] == 1.0
    assert certified(problem, solution).kkt_violation <= 1.01e-3


# -- precision, warm starts, storage, memory -------------------------------------------------------------------------


@pytest.mark.slow
def test_the_answer_is_within_tau_where_float32_is_not():
    x, y = overlapping(5, 600)
    x += 10.0  # far from the origin: the products of the features cancel
    problem = build(x, y, RBF(0.5), C=10_000.0)
    solution = SMOBlock(tau=1e-3).solve(problem)
    assert certified(problem, solution).kkt_violation <= 1.01e-3
    assert solution.info["float64"]
    coef = solution.dual_coef
    off = np.abs(own(problem).kernel.replace(dtype=np.float32).expand(coef) - own(problem).kernel.expand(coef)).max()
    assert off > 2e-3, "scores of float32 do not tell whether the answer is within tau"


@EACH
@pytest.mark.parametrize("setting", [{"tau": 1e-3}, {"tau": 1e-6}], ids=str)
def test_from_the_optimum_it_ends_at_once(formulation, values, setting):
    problem, n = stated(formulation, values, n=600), 600
    solver = SMOBlock(**setting)
    cold = solver.solve(problem)
    warm = solver.replace(tau=1.01 * solver.tau).solve(problem, start=cold.dual_coef)
    assert warm.done
    assert warm.steps <= 5
    assert certified(problem, warm).dual == pytest.approx(certified(problem, cold).dual, rel=1e-9)
    # the scores in the precision of the rows, and once more in float64 with a sample before that; the diagonal
    support = int(np.count_nonzero(cold.dual_coef))
    assert warm.kernel_evaluations <= 2 * n * support + 200 * support + 2 * n


@pytest.mark.parametrize("seed", range(2))
@EACH
def test_any_feasible_point_is_a_start(formulation, values, seed):
    problem = stated(formulation, values, seed, n=150)
    form, rng = problem.dual_form(), np.random.default_rng(seed)
    start = form.coef(form.variables(form.coef(rng.uniform(form.lower, np.minimum(form.upper, 1.0)))))
    before = start.copy()
    cold = certified(problem, SMOBlock(tau=1e-6).solve(problem))
    warm = certified(problem, SMOBlock(tau=1e-6).solve(problem, start=start))
    assert warm.dual == pytest.approx(cold.dual, rel=1e-6, abs=1e-9)
    assert start.tobytes() == before.tobytes()


@EACH
def test_the_same_run_twice_is_the_same_bit_for_bit(formulation, values):
    solver = SMOBlock(cache_mb=0.1, working_set=32)
    runs = []
    for _ in range(2):
        found = solver.iterates(stated(formulation, values, n=800, threads=2), np.random.default_rng(3))
        runs.append([(each.dual_coef.tobytes(), each.intercept, each.step) for each in found])
    assert runs[0] == runs[1]


@pytest.mark.slow
def test_memory_is_that_of_the_cache_and_some_vectors():
    n = 20_000
    x, y = overlapping(0, n, d=4)
    problem = build(x, y, RBF(1.0), C=1.0)
    last_of(SMOBlock(working_set=64), build(x[:100], y[:100], RBF(1.0), C=1.0))  # compiled before memory is looked at
    tracemalloc.start()
    try:
        list(itertools.islice(SMOBlock(cache_mb=1.0, working_set=256).iterates(problem, None), 30))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # expand() holds 32 MB of kernel values at a time, in up to two copies; 1 MB of rows; blocks of the working set;
    # at most a hundred vectors of n: 2 % of the 3.2 GB that n x n takes
    assert peak <= 2 * 32e6 + 2**20 + 10 * 256**2 * 8 + 100 * n * 8


def test_along_a_path_the_matrix_is_computed_once_into_memory_that_the_folds_share(monkeypatch):
    states, begin = [], SMOBlock._begin
    monkeypatch.setattr(SMOBlock, "_begin", lambda *given: states.append(begin(*given)) or states[-1])
    x, y = overlapping(0, 62)
    path = SolutionPath(Grid({"C": (0.5, 4.0)}, {"gamma": (0.3, 2.0)}, 3), CSVC, RBF, x, y)
    cells = [cell for cell, found in SMOBlock().solve_path(path, np.random.default_rng(0)) if found.done]
    assert cells == list(path.cells)
    sizes = [len(path.members(cell)) for cell in cells if cell.before is None]
    assert [state.n for state in states] == sizes
    assert len({*sizes}) == 2
    computed = sum(size**2 + size for size in sizes)  # and the diagonal
    assert path.counter.evaluations == computed
    assert len({state.memory.ctypes.data for state in states}) <= 2  # a fold of one point more has more
    path.problem(cells[-1]).kernel.row(0)
    assert path.counter.evaluations == computed + sizes[-1]  # no row was left for others


def test_both_precisions_are_warmed_up_in_working_sets_and_over_whole_matrices():
    ways = {(solver.dtype, solver.working_set is None, solver.newton) for solver in SMOBlock().warm_ups()}
    assert ways == {(dtype, whole, "always" if whole else "auto") for dtype in ("auto", "float32") for whole in (0, 1)}
    given = SMOBlock(working_set=64, dtype="float64")
    assert given.warm_ups() == (given,)
