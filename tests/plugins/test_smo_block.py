"""Block SMO: the reference solver's optimum, parked points, narrowed bounds, precisions, warm starts, storage, memory."""

import dataclasses
import itertools
import tracemalloc

import numpy as np
import pytest
from harness_smo import SMOBlock, block, state
from harness_smo.state import State
from harness_smo.strategies import Bounds, Sample

from harness import CSVC, RBF, CSVCNoBias, Grid, SolutionPath
from harness.problems import EpsSVR
from tests.kernels.oracles import own
from tests.plugins.common import build, certified, exact, iterates, matrix_of, overlapping
from tests.plugins.smo_problems import EACH, drawn, stated


def solved(problem, solver=SMOBlock()):  # noqa: B008 - it is immutable
    """The last iterate, and the least number of points that were active at any."""
    found = iterates(solver, problem)
    assert found[-1].done, found[-1].info
    return found[-1], min(each.info["active"] for each in found)


@pytest.mark.parametrize("seed", [*range(9), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(9, 27))])
def test_objective_is_the_reference_solvers(seed):
    state, solver = drawn(seed)
    problem = state()
    found = certified(problem, solved(problem, solver)[0])
    assert found.dual == pytest.approx(exact(state()).dual, rel=1e-6, abs=1e-9)
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
    problem = build(CSVC, x, np.where(f > np.median(f), 1.0, -1.0), RBF(0.2 / 3), C=cost)
    last, _ = solved(problem)
    assert last.step <= 100_000
    assert certified(problem, last).kkt_violation <= 1.01e-3


# -- parked points ---------------------------------------------------------------------------------------------------


def check_parked(of, tau, violating, kernel):
    """Compare what the state knows of parked points with the kernel itself."""
    coef = of.form.coef(of.a)
    exact, active = kernel @ coef, of.active.points
    rounding = 1e-12 + np.abs(coef).sum() * (1e-13 if of.exact else 1e-5)
    assert (np.abs(of.active.scores - exact[active]) <= rounding).all(), "scores of active points"
    assert (of.drift[active] == 0.0).all()
    assert (np.abs(of.scores - exact) <= of.drift + rounding).all(), "scores of the others are within their drift"
    quiet = np.setdiff1d(np.arange(of.n), np.concatenate([active, violating]))
    for v in range(len(of.a)):
        up, low = of.active.ends[of.form.group[v]]
        g, slack = of.form.linear[v] - exact[v % of.n], np.inf
        if of.a[v] < of.form.upper[v]:
            slack = up - g
        if of.a[v] > of.form.lower[v]:
            slack = min(slack, g - low)
        assert v % of.n not in quiet or slack >= -tau - rounding, "what is left parked does not violate"


def tuned(monkeypatch, module, **constants):
    monkeypatch.setattr(module, "TUNING", dataclasses.replace(module.TUNING, **constants))


@pytest.mark.parametrize(
    ("formulation", "values"),
    [(CSVC, {"C": 100.0}), (CSVCNoBias, {"C": 100.0}), (EpsSVR, {"C": 30.0, "epsilon": 0.1})],
    ids=["c-svc", "c-svc-nobias", "eps-svr"],
)
@pytest.mark.parametrize(("dtype", "snapshots"), [("float64", 1), ("float32", 6)])
def test_parked_points_do_not_violate(monkeypatch, formulation, values, dtype, snapshots):
    x, y = overlapping(1, 1200, d=3)
    y = np.sin(2.0 * x[:, 0]) + 0.3 * y if formulation is EpsSVR else y
    problem = build(formulation, x, y, **values)
    kernel = RBF(0.5).block(x, x)
    violating_parked, results = State.violating_parked, []

    def watched(of, tau):
        results.append(violating_parked(of, tau))
        check_parked(of, tau, results[-1], kernel)
        return results[-1]

    monkeypatch.setattr(State, "violating_parked", watched)
    tuned(monkeypatch, state, snapshots=snapshots)
    last, active = solved(problem, SMOBlock(dtype=dtype, cache_mb=0.1, working_set=64))
    assert results
    assert active < 900
    assert certified(problem, last).kkt_violation <= 1.001e-3 * problem.dual_form().unit


@pytest.mark.parametrize(("noise", "whole"), [(0.0, False), (1.0, True)])
def test_the_whole_matrix_is_computed_where_many_points_matter(noise, whole):
    n, rng = 1200, np.random.default_rng(5)
    x = rng.normal(size=(n, 2))
    y = np.where(x[:, 0] + np.sin(2.0 * x[:, 1]) + noise * rng.normal(size=n) > 0.0, 1.0, -1.0)
    problem = build(CSVC, x, y, RBF(0.3), C=1e3)
    last, _ = solved(problem)
    assert certified(problem, last).kkt_violation <= 1.01e-3
    assert Sample(problem).sparse != whole
    assert (last.info["rows_computed"] >= 800) == whole


def test_scores_of_float32_are_not_gone_on_with_in_float64(monkeypatch):
    # parked points were taken up with the rounding of their float32 scores: a certified gap of 0.06 counted as 1e-3
    tuned(monkeypatch, block, dense_points=600)
    rng = np.random.default_rng(1)
    x = rng.normal(size=(1500, 3))
    y = np.where(np.sin(2.0 * x[:, 0]) + x[:, 1] * x[:, 2] + rng.normal(size=1500) > 0.0, 1.0, -1.0)
    problem = build(CSVC, x, y, RBF(0.6), C=1e6)
    last, _ = solved(problem, SMOBlock().with_target_gap(1e-3))
    assert certified(problem, last).relative_gap <= 1e-3


@pytest.mark.parametrize("formulation", [CSVC, CSVCNoBias])
def test_a_target_gap_is_certified_when_points_were_parked(formulation):
    # after a look that found the gap too large the tolerance is tightened: what was looked at then must be again
    x, y = overlapping(3, 1500, d=3)
    problem = build(formulation, x, y, C=10.0)
    solver = SMOBlock(tau=0.5, cache_mb=0.1, working_set=64).with_target_gap(1e-6)
    last, active = solved(problem, solver)
    assert active < 1500
    assert certified(problem, last).relative_gap <= 1.001e-6
    assert solved(problem, solver.replace(shrinking=False, dtype="float64"))[1] == 1500


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
    truth = matrix_of(problem)
    stretch, caps = Bounds.stretch, []

    def watched(bounds, form, a, scores, *, at_once):
        size = np.abs(a).sum()
        assert scores == pytest.approx(truth @ form.coef(a), abs=1e-6 * (1.0 + size))
        assert all(abs(a[form.group == k].sum()) <= 1e-11 * size for k in range(form.groups))
        before, at_top = dual(form, a, truth @ form.coef(a)), (a >= form.upper) & (a > 0)
        wider, factor = stretch(bounds, form, a, scores, at_once=at_once)
        assert ((a >= wider.lower) & (a <= wider.upper)).all()
        assert dual(wider, a, truth @ form.coef(a)) >= before - 1e-9 * abs(before)
        if factor >= wider.upper.max() / form.upper.max():
            assert (a[at_top] == wider.upper[at_top]).all(), "at its bound to the last bit"
        caps.append(bounds.cap)
        return wider, factor

    monkeypatch.setattr(Bounds, "stretch", watched)
    last, _ = solved(problem, SMOBlock(tau=1e-3))
    assert (caps, caps[-1]) == (sorted(caps), 1.0)
    assert len(caps) >= 2
    assert certified(problem, last).kkt_violation <= 1.01e-3


# -- precision, warm starts, storage, memory -------------------------------------------------------------------------


@pytest.mark.slow
def test_the_answer_is_within_tau_where_float32_is_not():
    x, y = overlapping(5, 600)
    problem = build(CSVC, x + 10.0, y, RBF(0.5), C=10_000.0)  # far from the origin: the products of the features cancel
    last, _ = solved(problem, SMOBlock(tau=1e-3))
    assert certified(problem, last).kkt_violation <= 1.01e-3
    assert last.info["float64"]
    kernel, coef = own(problem).kernel, last.dual_coef
    off = np.abs(kernel.replace(dtype=np.float32).expand(coef) - kernel.expand(coef)).max()
    assert off > 2e-3, "scores of float32 do not tell whether the answer is within tau"


@EACH
@pytest.mark.parametrize("tau", [1e-3, 1e-6])
def test_from_the_optimum_it_ends_at_once(formulation, values, tau):
    problem, n = stated(formulation, values, n=600), 600
    cold = SMOBlock(tau=tau).solve(problem)
    warm = SMOBlock(tau=1.01 * tau).solve(problem, start=cold.dual_coef)
    assert warm.done
    assert warm.steps <= 5
    assert certified(problem, warm).dual == pytest.approx(certified(problem, cold).dual, rel=1e-9)
    # the scores in the precision of the rows, and once more in float64 with a sample before that; the diagonal
    support = int(np.count_nonzero(cold.dual_coef))
    assert warm.kernel_evaluations <= 2 * n * support + 200 * support + 2 * n


@EACH
def test_any_feasible_point_is_a_start_and_the_same_run_twice_is_the_same_bit_for_bit(formulation, values):
    problem, solver = stated(formulation, values, 1, n=150), SMOBlock(tau=1e-6)
    form, rng = problem.dual_form(), np.random.default_rng(1)
    start = form.coef(form.variables(form.coef(rng.uniform(form.lower, np.minimum(form.upper, 1.0)))))
    before = start.copy()
    cold, warm = (certified(problem, solver.solve(problem, start=each)) for each in (None, start))
    assert warm.dual == pytest.approx(cold.dual, rel=1e-6, abs=1e-9)
    assert start.tobytes() == before.tobytes()
    runs = (
        iterates(SMOBlock(cache_mb=0.1, working_set=32), stated(formulation, values, n=800, threads=2)) for _ in "12"
    )
    one, two = ([(each.dual_coef.tobytes(), each.intercept, each.step) for each in run] for run in runs)
    assert one == two


@pytest.mark.slow
def test_memory_is_that_of_the_cache_and_some_vectors():
    n = 20_000
    x, y = overlapping(0, n, d=4)
    problem = build(CSVC, x, y, RBF(1.0), C=1.0)
    solved(
        build(CSVC, x[:100], y[:100], RBF(1.0), C=1.0), SMOBlock(working_set=64)
    )  # compiled before memory is looked at
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
    monkeypatch.setattr(SMOBlock, "_begin", lambda *given, **named: states.append(begin(*given, **named)) or states[-1])
    x, y = overlapping(0, 62)
    path = SolutionPath(Grid({"C": (0.5, 4.0)}, {"gamma": (0.3, 2.0)}, 3), CSVC, RBF, x, y)
    cells = [cell for cell, found in SMOBlock().solve_path(path, np.random.default_rng(0)) if found.done]
    assert cells == list(path.cells)
    sizes = [len(path.members(cell)) for cell in cells if cell.before is None]
    assert ([each.n for each in states], len({*sizes})) == (sizes, 2)
    computed = sum(size**2 + size for size in sizes)  # and the diagonal
    assert path.counter.evaluations == computed
    assert len({each.memory.ctypes.data for each in states}) <= 2  # a fold of one point more has more
    path.problem(cells[-1]).kernel.row(0)
    assert path.counter.evaluations == computed + sizes[-1]  # no row was left for others


def test_both_precisions_are_warmed_up_in_working_sets_and_over_whole_matrices():
    ways = {(solver.dtype, solver.working_set is None, solver.newton) for solver in SMOBlock().warm_ups()}
    assert ways == {(dtype, whole, "always" if whole else "auto") for dtype in ("auto", "float32") for whole in (0, 1)}
    given = SMOBlock(working_set=64, dtype="float64")
    assert given.warm_ups() == (given,)
