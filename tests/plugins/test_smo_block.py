"""Block SMO: the optimum of the reference solver, plain SMO's, warm starts, storage, parameters, memory."""

import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
import scipy.sparse
from harness_qp import QP
from harness_smo import SMO, SMOBlock

from harness import CSVC, RBF, CSVCNoBias, EpsSVR, InvalidModel, Limits, Precomputed, UsageError, drive, get_solver
from harness.kernels.oracle import uncounted
from tests.plugins.block_problems import FORMULATIONS, drawn, stated
from tests.plugins.points import cancer, digits, overlapping
from tests.plugins.smo_problems import build, certified, curve

EACH = pytest.mark.parametrize(("formulation", "values"), FORMULATIONS.values(), ids=FORMULATIONS)


# -- the optimum of the reference solver -----------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(56))
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
@pytest.mark.parametrize("name", ["checkers", "digits", "curve", "wide"])
def test_agrees_with_plain_smo_on_larger_sets(name):
    rng = np.random.default_rng(0)
    if name == "checkers":
        x = rng.uniform(0.0, 4.0, (4000, 2))
        y = np.where(np.floor(x).sum(axis=1) % 2 == 0, 1.0, -1.0)
        settings = {"kernel": RBF(4.0), "C": 100.0}
    elif name == "digits":
        (x, y), settings = digits(1797), {"kernel": RBF(0.05), "C": 10.0}
    elif name == "curve":
        (x, y), settings = curve(0, 2500), {"kernel": RBF(0.5), "formulation": EpsSVR, "C": 2.0, "epsilon": 0.1}
    else:
        x = rng.normal(size=(1500, 200)) / 10.0
        y = np.where(x[:, 0] + 0.05 * rng.normal(size=1500) > 0, 1.0, -1.0)
        settings = {"kernel": RBF(0.5), "C": 1.0}
    problem = build(x, y, **settings)
    plain = certified(problem, SMO(tau=1e-5).solve(problem))
    for values in ({}, {"cache_mb": 0.5}, {"dtype": "float64", "working_set": 32}):
        problem = build(x, y, **settings)
        solution = SMOBlock(tau=1e-5, **values).solve(problem)
        found = certified(problem, solution)
        assert solution.done
        assert found.dual == pytest.approx(plain.dual, rel=1e-6)
        assert found.relative_gap <= 1e-4


@EACH
@pytest.mark.parametrize("gap", [1e-2, 1e-5])
def test_a_target_gap_is_certified(formulation, values, gap):
    problem = stated(formulation, values)
    loose = SMOBlock(tau=50.0)
    found = certified(problem, loose.with_target_gap(gap).solve(problem))
    assert found.relative_gap <= gap * (1.0 + 1e-6) + 1e-12
    if formulation in (CSVC, CSVCNoBias, EpsSVR):
        assert certified(problem, loose.solve(problem)).relative_gap > 1e-2, "tau alone does not reach it"


@pytest.mark.parametrize("formulation", [CSVC, CSVCNoBias])
def test_a_target_gap_is_certified_when_points_were_parked(formulation):
    # after a look that found the gap too large the tolerance is tightened: what was looked at then must be again
    x, y = overlapping(3, 1500, d=3)
    problem = build(x, y, formulation=formulation, C=10.0)
    solver = SMOBlock(tau=0.5, cache_mb=0.1, working_set=64).with_target_gap(1e-6)
    active, last = [], None
    for last in solver.iterates(problem, np.random.default_rng(0)):
        active.append(last.info["active"])
    assert min(active) < 1500
    found = problem.certify(last.dual_coef, last.intercept)
    assert found.relative_gap <= 1.001e-6
    assert found.kkt_violation <= 0.05


def test_rows_in_use_stay_when_levels_change():
    # the ages of rows go on when the active points change: otherwise rows of the present round made room for others
    x, y = overlapping(7, 2000, d=4)
    problem = build(x, y, C=0.16)
    solver = SMOBlock(cache_mb=0.2, working_set=64, dtype="float64")
    iterates = list(solver.iterates(problem, np.random.default_rng(0)))
    assert min(iterate.info["active"] for iterate in iterates) < 2000
    found = problem.certify(iterates[-1].dual_coef, iterates[-1].intercept)
    assert found.kkt_violation <= 1.01e-3


# -- precision -------------------------------------------------------------------------------------------------------


def test_the_answer_is_within_tau_where_float32_is_not():
    x, y = overlapping(5, 600)
    x += 10.0  # far from the origin: the products of the features cancel
    problem = build(x, y, RBF(0.5), C=10_000.0)
    solution = SMOBlock(tau=1e-3).solve(problem)
    assert certified(problem, solution).kkt_violation <= 1.01e-3
    assert solution.info["float64"]
    coef = solution.dual_coef
    with uncounted(problem.kernel):
        off = np.abs(problem.kernel.astype(np.float32).expand(coef) - problem.kernel.expand(coef)).max()
    assert off > 2e-3, "scores of float32 do not tell whether the answer is within tau"


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_last_phase_is_in_float64(dtype):
    x, y = overlapping(6, 700)
    iterates = list(SMOBlock(dtype=dtype, tau=1e-5).iterates(build(x, y, C=10.0), np.random.default_rng(0)))
    exact = [iterate.info["float64"] for iterate in iterates]
    assert exact[-1]
    assert exact == sorted(exact), "never back"
    assert exact[0] == (dtype == "float64")


# -- warm starts -----------------------------------------------------------------------------------------------------


@EACH
@pytest.mark.parametrize("setting", [{"tau": 1e-3}, {"tau": 1e-6, "dtype": "float64"}, {"tau": 1e-6}], ids=str)
def test_from_the_optimum_it_ends_at_once(formulation, values, setting):
    problem, n = stated(formulation, values, n=600), 600
    solver = SMOBlock(**setting)
    cold = solver.solve(problem)
    warm = solver.replaced(tau=1.01 * solver.tau).solve(problem, start=cold.dual_coef)
    assert warm.done
    assert warm.steps <= 5
    assert certified(problem, warm).dual == pytest.approx(certified(problem, cold).dual, rel=1e-9)
    # the scores in the precision of the rows, and once more in float64 with a sample before that; the diagonal
    support = int(np.count_nonzero(cold.dual_coef))
    assert warm.kernel_evaluations <= 2 * n * support + 200 * support + 2 * n


@pytest.mark.parametrize("formulation", [CSVC, CSVCNoBias, EpsSVR])
def test_the_optimum_at_one_cost_starts_the_next(formulation):
    x, y = curve(1, 500) if formulation is EpsSVR else overlapping(1, 500)
    first = SMOBlock(tau=1e-6).solve(build(x, y, formulation=formulation, C=5.0))
    problem = build(x, y, formulation=formulation, C=10.0)
    cold, warm = SMOBlock(tau=1e-6).solve(problem), SMOBlock(tau=1e-6).solve(problem, start=first.dual_coef)
    assert certified(problem, warm).dual == pytest.approx(certified(problem, cold).dual, rel=1e-7)
    # to three digits: beyond that the last steps among the free variables are most of them, from any start
    assert SMOBlock().solve(problem, start=first.dual_coef).steps < SMOBlock().solve(problem).steps


@pytest.mark.parametrize("seed", range(6))
@EACH
def test_any_feasible_point_is_a_start(formulation, values, seed):
    problem = stated(formulation, values, seed, n=150)
    form, rng = problem.dual_form(), np.random.default_rng(seed)
    start = form.coef(form.variables(form.coef(rng.uniform(form.lower, np.minimum(form.upper, 1.0)))))
    cold = certified(problem, SMOBlock(tau=1e-6).solve(problem))
    warm = certified(problem, SMOBlock(tau=1e-6).solve(problem, start=start))
    assert warm.dual == pytest.approx(cold.dual, rel=1e-6, abs=1e-9)


def test_zero_is_a_start_and_an_infeasible_point_is_refused():
    x, y = overlapping(2, 100)
    problem = build(x, y, C=1.0)
    zero = SMOBlock().solve(problem, start=np.zeros(100))
    assert zero.dual_coef.tobytes() == SMOBlock().solve(problem).dual_coef.tobytes()
    for start, message in (
        (np.full(100, 2.0), "violates the constraints"),
        (np.zeros(99), "shape"),
        (y * np.nan, "finite"),
    ):
        with pytest.raises(InvalidModel, match=message):
            SMOBlock().solve(problem, start=start)


def test_the_start_is_left_as_it_was():
    x, y = overlapping(2, 100)
    problem = build(x, y, C=5.0)
    start = SMOBlock(tau=0.5).solve(problem).dual_coef
    before = start.copy()
    SMOBlock(tau=1e-6).solve(problem, start=start)
    assert start.tobytes() == before.tobytes()


# -- restriction, storage, repetition, memory ------------------------------------------------------------------------


@EACH
def test_a_restricted_problem_is_the_problem_of_its_points(formulation, values):
    whole = stated(formulation, values, n=200)
    picked = np.sort(np.random.default_rng(1).permutation(200)[:120])
    part = whole.restrict(picked)
    own = build(whole.kernel.points[picked], whole.targets[picked], None, formulation, **values)
    one, other = SMOBlock(tau=1e-6).solve(part), SMOBlock(tau=1e-6).solve(own)
    assert whole.kernel.counter.evaluations == one.kernel_evaluations, "counted to the run of the whole"
    assert part.certify(one.dual_coef, one.intercept).dual == pytest.approx(certified(own, other).dual, rel=1e-6)


@pytest.mark.parametrize("storage", ["csr", "float32", "precomputed", "fortran", "mapped"])
@pytest.mark.parametrize("cache_mb", [0.05, 10.0])
def test_storage_does_not_change_the_optimum(storage, cache_mb, tmp_path):
    x, y = overlapping(6, 700, d=4)
    x[np.abs(x) < 0.3] = 0.0
    x = x.astype(np.float32).astype(np.float64)
    found = certified(build(x, y, C=10.0), SMOBlock(tau=1e-6).solve(build(x, y, C=10.0)))
    np.save(tmp_path / "x.npy", x)
    data = {
        "csr": lambda: scipy.sparse.csr_array(x),
        "float32": lambda: x.astype(np.float32),
        "precomputed": lambda: RBF(0.5).block(x, x),
        "fortran": lambda: np.asfortranarray(x),
        "mapped": lambda: np.load(tmp_path / "x.npy", mmap_mode="r"),
    }[storage]()
    problem = build(data, y, Precomputed() if storage == "precomputed" else RBF(0.5), C=10.0)
    again = certified(problem, SMOBlock(tau=1e-6, cache_mb=cache_mb, working_set=64).solve(problem))
    assert again.dual == pytest.approx(found.dual, rel=1e-7)


@EACH
@pytest.mark.parametrize("threads", [1, 2])
def test_the_same_run_twice_is_the_same_bit_for_bit(formulation, values, threads):
    solver = SMOBlock(threads=threads, cache_mb=0.1, working_set=32)
    runs = [
        [
            (it.dual_coef.tobytes(), it.intercept, it.step)
            for it in solver.iterates(stated(formulation, values, n=800), rng)
        ]
        for rng in (np.random.default_rng(3), np.random.default_rng(3))
    ]
    assert runs[0] == runs[1]


@pytest.mark.slow
def test_memory_is_that_of_the_cache_and_some_vectors():
    n = 20_000
    x, y = overlapping(0, n, d=4)
    problem = build(x, y, RBF(1.0), C=1.0)
    for _ in SMOBlock(working_set=64).iterates(build(x[:100], y[:100], RBF(1.0), C=1.0), np.random.default_rng(0)):
        pass  # compiled before memory is looked at
    tracemalloc.start()
    try:
        for iterate in SMOBlock(cache_mb=1.0, working_set=256, max_iterations=20_000).iterates(
            problem, np.random.default_rng(0)
        ):
            last = iterate
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert last.step >= 20_000 or last.done
    # expand() holds 32 MB of kernel values at a time, in up to two copies; 1 MB of rows; blocks of the working set;
    # at most a hundred vectors of n: 2 % of the 3.2 GB that n x n takes
    bound = 2 * 32e6 + 2**20 + 10 * 256**2 * 8 + 100 * n * 8
    assert peak <= bound < 0.05 * 8.0 * n * n


# -- parameters ------------------------------------------------------------------------------------------------------


def test_a_tighter_tau_is_a_smaller_violation():
    x, y = cancer()
    duals = []
    for tau in (1.0, 1e-2, 1e-4, 1e-6):
        problem = build(x, y, RBF(0.03), C=10.0)
        solution = SMOBlock(tau=tau).solve(problem)
        found = certified(problem, solution)
        assert found.kkt_violation <= 1.01 * tau
        assert solution.info["kkt_violation"] <= tau
        duals.append(found.dual)
    assert duals == sorted(duals)


def test_iterates_climb_and_budgets_stop_them():
    x, y = overlapping(8, 500)
    problem = build(x, y, C=100.0)
    duals, steps = [], []
    for iterate in SMOBlock(working_set=32, dtype="float64").iterates(problem, np.random.default_rng(0)):
        duals.append(problem.certify(iterate.dual_coef, 0.0).dual)
        steps.append(iterate.step)
    assert len(steps) > 20
    assert steps == sorted(steps)
    assert (np.diff(duals) >= -1e-9 * abs(duals[-1])).all()
    outcome = drive(
        SMOBlock(working_set=16), build(x, y, C=100.0), np.random.default_rng(0), Limits(kernel_evaluations=20_000)
    )
    assert outcome.status == "budget"
    limited = SMOBlock(max_iterations=50, working_set=16).solve(build(x, y, C=100.0))
    assert limited.steps >= 50
    assert not limited.done
    assert f"max_iterations={limited.steps}: the violation is" in limited.info["stopped"]
    problem.checked(limited.dual_coef, limited.intercept)


def test_a_tolerance_below_rounding_ends():
    x, y = overlapping(9, 80)
    solution = SMOBlock(tau=1e-300).solve(build(x, y, C=100.0))
    assert solution.done or "stalled: the next step is lost in rounding" in solution.info["stopped"]
    assert solution.info["kkt_violation"] < 1e-9


def test_parameters_are_checked_and_named():
    assert isinstance(get_solver("smo-block"), SMOBlock)
    for values, message in (
        ({"tau": 0}, "tau=0"), ({"working_set": 3}, "working_set=3"), ({"threads": 0}, "threads=0"), ({"dtype": "int8"}, "float32"),
    ):  # fmt: skip
        with pytest.raises(UsageError, match=message):
            SMOBlock(**values)
    assert SMOBlock(tau=0.1, shrinking=False).label == "smo-block[tau=0.1,shrinking=False]"


def test_importing_the_plugin_compiles_nothing():
    code = "import sys, harness_smo; assert not {'numba', 'llvmlite', 'sklearn'} & set(sys.modules), 'too heavy'"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_both_precisions_are_warmed_up_in_working_sets_and_over_whole_matrices():
    ways = {(solver.dtype, solver.working_set is None, solver.newton) for solver in SMOBlock().warm_ups()}
    assert ways == {(dtype, whole, "always" if whole else "auto") for dtype in ("auto", "float32") for whole in (0, 1)}
    given = SMOBlock(working_set=64, dtype="float64")
    assert given.warm_ups() == (given,)
