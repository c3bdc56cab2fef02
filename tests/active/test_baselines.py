"""What is done about imbalance without active learning, against its definition: other libraries, and the obvious way."""

import importlib.util
import re
import subprocess
import sys
from dataclasses import dataclass

import numpy as np
import pytest
import scipy.sparse
from harness_active.baselines import Batch, DifferentCosts, Smote, Undersampling
from hypothesis import given, settings
from hypothesis import strategies as st
from imblearn.over_sampling import SMOTE
from sklearn.svm import SVC

from harness import (
    CSVC,
    RBF,
    Iterate,
    KernelOracle,
    Limits,
    Linear,
    Oracle,
    OracleFailure,
    PluginError,
    PoolSVC,
    Precomputed,
    Solver,
    Status,
    StoppedBy,
    UsageError,
    drive,
    get_solver,
)
from harness.measure.scored import FreeExpansion

EXACT = "smo-block[tau=1e-6,dtype=float64]"
METHODS = {
    "batch": Batch(oracle=EXACT),
    "undersampling": Undersampling(oracle=EXACT, ratio=1.5),
    "smote": Smote(oracle=EXACT),
    "different-costs": DifferentCosts(oracle=EXACT),
}


def clouds(positives, negatives, seed=0, d=3):
    """Return two overlapping Gaussians of so many points, in random order."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat([1.0, -1.0], [positives, negatives]))
    return rng.normal(size=(len(y), d)) + 0.5 * y[:, None], y


def stated(x, y, kernel=None, C=2.0):
    return CSVC.build(KernelOracle(kernel or RBF(gamma=0.4), x), y, {"C": C})


def outcome(solver, problem, seed=0, limits=None):
    return drive(solver, problem, np.random.default_rng(seed), limits or Limits())


def scores_of(found, problem, points):
    if found.free is None:
        return problem.scores_new(found.dual_coef, found.intercept, points)
    return found.free.scores(problem.kernel, points)


# -- batch -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("oracle", ["lasvm", "lasvm[epochs=2,tau=1e-2]", EXACT])
def test_batch_yields_the_bits_of_its_oracle(oracle):
    x, y = clouds(8, 60)
    ways = []
    for solver in (Batch(oracle=oracle), get_solver(oracle)):
        problem = stated(x, y)
        iterates = solver.iterates(problem, np.random.default_rng(5))
        ways.append([(it.dual_coef.tobytes(), it.intercept, it.step, it.done, it.working_set) for it in iterates])
        ways[-1].append(problem.kernel.counter.evaluations)
    assert ways[0] == ways[1]


def test_what_an_oracle_costs_is_noted_as_its_own_and_its_claims_go_along():
    problem = stated(*clouds(8, 60))
    found = outcome(Batch(), problem)
    counter = problem.kernel.counter
    assert (counter.oracle_calls, counter.oracle_evaluations) == (1, counter.evaluations)
    assert found.info["oracle"] == "lasvm"
    assert found.info["phase"] == "finishing"
    assert (found.info["smaller_class"], found.info["positives"], found.info["negatives"]) == (1, 8, 60)


# -- undersampling -----------------------------------------------------------------------------------


@settings(max_examples=25, deadline=None)
@given(
    positives=st.integers(1, 12),
    negatives=st.integers(1, 40),
    ratio=st.floats(0.05, 20.0),
    flipped=st.booleans(),
    seed=st.integers(0, 5),
)
def test_undersampling_keeps_all_positives_and_exactly_as_many_negatives_as_asked(
    positives, negatives, ratio, flipped, seed
):
    x, y = clouds(positives, negatives)
    problem = stated(x, -y if flipped else y)
    found = outcome(Undersampling(oracle=EXACT, ratio=ratio), problem, seed)
    few, many = min(positives, negatives), max(positives, negatives)
    expected = min(many, max(1, round(ratio * few)))
    assert (found.info["kept_positives"], found.info["kept_negatives"]) == (few, expected)
    problem.checked(found.dual_coef, found.intercept)
    rest = np.flatnonzero(found.dual_coef)
    assert np.count_nonzero(np.isin(rest, np.flatnonzero(problem.targets == found.info["smaller_class"]))) <= few
    assert np.count_nonzero(problem.targets[rest] != found.info["smaller_class"]) <= expected


def test_undersampling_is_the_svm_of_the_points_that_were_kept():
    x, y = clouds(10, 80)
    problem = stated(x, y)
    found = outcome(Undersampling(oracle=EXACT, ratio=2.0), problem, seed=3)
    negatives = np.flatnonzero(y < 0)
    chosen = np.random.default_rng(3).choice(negatives, 20, replace=False)
    kept = np.sort(np.concatenate([np.flatnonzero(y > 0), chosen]))
    assert set(np.flatnonzero(found.dual_coef)) <= set(kept)
    peer = SVC(C=2.0, gamma=0.4, tol=1e-8).fit(x[kept], y[kept])
    new, _ = clouds(20, 20, seed=9)
    np.testing.assert_allclose(scores_of(found, problem, new), peer.decision_function(new), atol=1e-4)


def test_undersampling_draws_by_the_seed_alone():
    supports = []
    for seed in (0, 0, 1):
        problem = stated(*clouds(6, 80))
        supports.append(tuple(np.flatnonzero(outcome(Undersampling(oracle=EXACT, ratio=2.0), problem, seed).dual_coef)))
    assert supports[0] == supports[1] != supports[2]


def test_without_a_ratio_it_is_the_one_that_active_learning_reaches_and_its_cost_counts():
    x, y = clouds(30, 270)
    problem, active = stated(x, y), "active-small-pool[stop=support]"
    seen = list(Undersampling().iterates(problem, np.random.default_rng(2)))
    pool, oracle = PoolSVC.build(KernelOracle(RBF(gamma=0.4), x), y, {"C": 2.0}), Oracle(active)
    (*_, last) = oracle.iterates(pool, rng=np.random.default_rng(2))
    ratio = np.count_nonzero(last.dual_coef[y < 0]) / np.count_nonzero(last.dual_coef[y > 0])
    info = seen[-1].info
    assert info["ratio"] == pytest.approx(ratio)
    assert info["kept_negatives"] == round(30 * ratio)
    assert info["active_labels"] == pool.labels_used
    assert info["active_kernel_evaluations"] == oracle.evaluations > 0
    assert problem.kernel.counter.oracle_evaluations == problem.kernel.counter.evaluations > oracle.evaluations
    begun = [it for it in seen if it.info.get("phase") == "active"]
    assert begun, "it can be stopped while the active learner works"
    assert not any(np.any(it.dual_coef) or it.done for it in begun)


@dataclass(frozen=True)
class NoModel(Solver):
    """An active learner that buys nothing."""

    name = "no-model"
    solves = (PoolSVC,)

    def iterates(self, problem, rng):
        yield Iterate(np.zeros(problem.n), done=True)


def test_a_learner_without_support_vectors_of_both_classes_gives_no_ratio(monkeypatch):
    monkeypatch.setattr("harness.oracle.get_solver", lambda text: NoModel() if text == "no-model" else get_solver(text))
    with pytest.raises(UsageError, match=r"'no-model' ended with 0 support vectors of the smaller class .* Give ratio"):
        outcome(Undersampling(active="no-model"), stated(*clouds(5, 20)))


# -- smote -------------------------------------------------------------------------------------------


def resampled(x, y, seed, wanted, neighbours=5):
    """Return the points and labels as imbalanced-learn has them of all the data: the naive way to call it."""
    label = 1.0 if np.sum(y > 0) <= np.sum(y < 0) else -1.0
    drawn = int(np.random.default_rng(seed).integers(2**31))
    sampler = SMOTE(sampling_strategy={label: wanted}, k_neighbors=neighbours, random_state=drawn)
    return sampler.fit_resample(x, y)


@pytest.mark.parametrize("storage", [np.array, scipy.sparse.csr_array])
@pytest.mark.parametrize("flipped", [False, True])
@pytest.mark.parametrize(("ratio", "wanted"), [(1.0, 90), (2.0, 45), (0.5, 180)])
def test_smote_is_the_svm_of_the_resampled_data(storage, flipped, ratio, wanted):
    x, y = clouds(12, 90)
    x[np.abs(x) < 0.4] = 0.0
    x, y = storage(x), -y if flipped else y
    problem = stated(x, y)
    found = outcome(Smote(oracle=EXACT, ratio=ratio), problem, seed=4)
    more, labels = resampled(x, y, 4, wanted)
    assert found.info["synthetic"] == wanted - 12 == more.shape[0] - 102
    peer = SVC(C=2.0, gamma=0.4, tol=1e-8).fit(more, labels)
    new, _ = clouds(20, 20, seed=9)
    np.testing.assert_allclose(scores_of(found, problem, new), peer.decision_function(new), atol=1e-4)
    assert found.free.support == pytest.approx(len(peer.support_), abs=2)
    synthetic = more[102:] if isinstance(more, np.ndarray) else more[102:].toarray()
    own = found.free.own if isinstance(x, np.ndarray) else found.free.own.toarray()
    assert {row.tobytes() for row in own} <= {row.tobytes() for row in synthetic}


@settings(max_examples=20, deadline=None)
@given(
    positives=st.integers(2, 9),
    negatives=st.integers(2, 40),
    neighbours=st.integers(1, 7),
    ratio=st.floats(0.4, 3.0),
    seed=st.integers(0, 100),
)
def test_synthetic_points_lie_between_a_point_of_the_smaller_class_and_one_of_its_nearest(
    positives, negatives, neighbours, ratio, seed
):
    x, y = clouds(positives, negatives, seed)
    problem = stated(x, y)
    (*_, last) = Smote(oracle=EXACT, ratio=ratio, neighbours=neighbours).iterates(problem, np.random.default_rng(seed))
    few, many = min(positives, negatives), max(positives, negatives)
    used = min(neighbours, few - 1)
    assert last.info["neighbours"] == used
    assert last.info["synthetic"] == max(0, round(many / ratio) - few)
    assert len(last.free_coef) == problem.n + last.info["synthetic"]
    own = x[y == last.info["smaller_class"]]
    apart = np.linalg.norm(own[:, None] - own[None], axis=-1)
    segments = [(own[i], own[j]) for i in range(few) for j in np.argsort(apart[i], kind="stable")[1 : used + 1]]
    for point in () if last.extra_points is None else last.extra_points:
        there = min(np.linalg.norm(point - a) + np.linalg.norm(point - b) - np.linalg.norm(a - b) for a, b in segments)
        assert there < 1e-9


def test_classes_of_one_size_need_no_synthetic_points():
    problem = stated(*clouds(20, 20))
    found = outcome(Smote(oracle=EXACT), problem)
    assert (found.info["synthetic"], found.free.own) == (0, None)
    assert not problem.kernel.counter.evaluations_at_least
    other = outcome(Batch(oracle=EXACT), stated(*clouds(20, 20)))
    np.testing.assert_allclose(found.free.coef, other.dual_coef, atol=1e-6)


def test_points_in_single_precision_stay_so():
    x, y = clouds(6, 40)
    found = outcome(Smote(oracle=EXACT), stated(x.astype(np.float32), y))
    assert found.free.own.dtype == np.float32


def test_its_preprocessing_is_part_of_the_run_and_its_neighbours_keep_to_the_runs_threads(monkeypatch):
    from threadpoolctl import threadpool_info

    pools = []
    honest = SMOTE.fit_resample

    def slow(self, x, y):
        import time

        time.sleep(0.05)
        pools.extend(pool["num_threads"] for pool in threadpool_info())
        assert x.shape[0] == 7, "the positives and one negative"
        return honest(self, x, y)

    monkeypatch.setattr(SMOTE, "fit_resample", slow)
    found = outcome(Smote(oracle=EXACT), stated(*clouds(6, 40)))
    assert found.seconds > found.info["preprocessing_seconds"] > 0.05
    assert set(pools) == {1}


def test_the_warm_up_has_imported_all_that_it_needs():
    script = """
import sys, numpy as np
from harness import CSVC, RBF, KernelOracle
from harness.run.execute import warm_up
from harness_active.baselines import Smote
rng = np.random.default_rng(0)
y = np.where(np.arange(60) % 2, 1.0, -1.0)
solver = Smote()
small = [each.name for each in solver.warm_ups()]
assert small == ["smote", "lasvm"], small
assert "sklearn" not in sys.modules
warm_up(solver, CSVC.build(KernelOracle(RBF(), rng.normal(size=(60, 2))), y, {"C": 1.0}))
assert "imblearn.over_sampling" in sys.modules
before = set(sys.modules)
y = np.where(np.arange(200) % 10, -1.0, 1.0)
list(solver.iterates(CSVC.build(KernelOracle(RBF(), rng.normal(size=(200, 2))), y, {"C": 1.0}), rng))
late = sorted(name for name in set(sys.modules) - before)
assert not late, late
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr


# -- different costs ---------------------------------------------------------------------------------


@pytest.mark.parametrize("flipped", [False, True])
def test_different_costs_is_the_svm_with_a_price_for_each_class(flipped):
    x, y = clouds(10, 95)
    y = -y if flipped else y
    problem = stated(x, y)
    found = outcome(DifferentCosts(oracle=EXACT), problem)
    smaller = -1.0 if flipped else 1.0
    assert (found.info["smaller_class"], found.info["factor"]) == (smaller, 9.5)
    peer = SVC(C=2.0, gamma=0.4, class_weight={smaller: 9.5}, tol=1e-8).fit(x, y)
    new, _ = clouds(20, 20, seed=9)
    np.testing.assert_allclose(scores_of(found, problem, new), peer.decision_function(new), atol=1e-4)


def test_its_coefficients_are_the_exact_solution_under_these_bounds_and_no_solution_of_the_stated_problem():
    x, y = clouds(5, 60)
    problem = stated(x, y)
    found = outcome(DifferentCosts(oracle="qp"), problem)
    costly = CSVC(problem.kernel, problem.targets, problem.settings, np.where(y > 0, 24.0, 2.0))
    gap = costly.certify(*costly.checked(found.free.coef, found.free.intercept)).relative_gap
    assert gap < 1e-6
    assert problem.feasibility_violation(found.free.coef) > 1.0


# -- all of them -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", METHODS)
def test_the_oracle_is_asked_for_the_target_gap(name):
    solver = METHODS[name].replaced(oracle="smo-block").with_target_gap(1e-5)
    assert solver.gap == 1e-5
    assert outcome(solver, stated(*clouds(8, 50))).status is Status.OK


def test_a_smaller_gap_asks_for_more_work():
    spent = []
    for gap in (1e-1, 1e-7):
        problem = stated(*clouds(20, 150))
        outcome(Batch(oracle="smo-block", gap=gap), problem)
        spent.append(problem.kernel.counter.evaluations + problem.kernel.counter.cache_hits)
    assert spent[0] < spent[1]


@pytest.mark.parametrize("name", METHODS)
def test_budgets_hold_and_what_was_reached_is_a_model(name):
    problem = stated(*clouds(60, 600))
    solver = METHODS[name].replaced(oracle="lasvm[block=8]")
    found = outcome(solver, problem, limits=Limits(iterations=1))
    assert (found.status, found.stopped_by, found.yields) == (Status.BUDGET, StoppedBy.ITERATIONS, 1)
    again = stated(*clouds(60, 600))
    spent = outcome(solver, again, limits=Limits(kernel_evaluations=5000))
    assert spent.status is Status.BUDGET
    assert 5000 <= again.kernel.counter.evaluations < 100_000
    assert np.isfinite(scores_of(spent, again, clouds(5, 5)[0])).all()


@pytest.mark.parametrize("name", METHODS)
def test_an_iterate_says_at_every_time_what_was_done(name):
    told = {
        "batch": {"oracle"},
        "undersampling": {"ratio", "kept_positives", "kept_negatives"},
        "smote": {"synthetic", "neighbours", "preprocessing_seconds"},
        "different-costs": {"factor"},
    }
    for iterate in METHODS[name].iterates(stated(*clouds(8, 50)), np.random.default_rng(0)):
        assert {*told[name], "oracle", "smaller_class", "positives", "negatives"} <= set(iterate.info)


@pytest.mark.parametrize("name", METHODS)
def test_two_equal_classes_and_a_pair_of_points_are_handled(name):
    solver = METHODS[name]
    if name != "smote":
        assert outcome(solver, stated(np.array([[0.0], [1.0]]), np.array([1.0, -1.0]))).status is Status.OK
    found = outcome(solver, stated(*clouds(10, 10)))
    assert found.info["smaller_class"] == 1


@dataclass(frozen=True)
class Faulty(Solver):
    """Solves and then fails in one of many ways."""

    name = "faulty"
    solves = (CSVC,)
    fault: str = "raises"

    def skip(self, problem):
        return "it takes no more than 3 points." if self.fault == "refuses" else None

    def iterates(self, problem, rng):
        if self.fault == "raises":
            yield Iterate(np.zeros(problem.n))
            raise ZeroDivisionError("a wheel came off")
        if self.fault == "weights":
            yield Iterate(weights=np.zeros(problem.kernel.n_features), done=True)
        if self.fault == "free":
            yield Iterate(free_coef=np.zeros(problem.n), done=True)


SAID = {
    "raises": "failed: ZeroDivisionError: a wheel came off",
    "weights": "failed: it gives no dual coefficients",
    "free": "failed: it gives no dual coefficients",
    "nothing": "failed: it ended without a model",
    "refuses": r"failed: it refused the \d+ points that it was given: it takes no more than 3 points",
}


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("fault", SAID)
def test_an_oracle_that_fails_ends_the_run_with_its_name(name, fault, monkeypatch):
    monkeypatch.setattr("harness.oracle.get_solver", lambda text: Faulty(fault=fault))
    with pytest.raises(OracleFailure, match=f"{name}: the oracle 'faulty' {SAID[fault]}"):
        outcome(METHODS[name].replaced(oracle="faulty"), stated(*clouds(8, 50)))
    assert issubclass(OracleFailure, PluginError)


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize(
    ("oracle", "reason"),
    [
        ("nobody", "oracle='nobody': there is no solver or plugin called 'nobody'"),
        ("lasvm[epochs", r"has a '\[' without its '\]'"),
        ("fw", "the oracle 'fw' solves .*, not c-svc; name one that does"),
        ("smote", "the oracle 'smote' gives a model that is no solution of c-svc"),
        ("different-costs", "the oracle 'different-costs' gives a model that is no solution of c-svc"),
    ],
)
def test_an_oracle_that_cannot_train_is_refused_in_a_sentence(name, oracle, reason):
    solver = METHODS[name].replaced(oracle=oracle)
    said = solver.skip(stated(*clouds(8, 50)))
    assert said.startswith(f"{name}: ")
    assert re.search(reason, said), said
    with pytest.raises(UsageError):
        outcome(solver, stated(*clouds(8, 50)))
    assert solver.warm_ups()


@pytest.mark.parametrize("name", METHODS)
def test_a_single_class_is_refused(name):
    problem = stated(clouds(0, 10)[0], np.full(10, -1.0))
    assert METHODS[name].skip(problem) == f"{name}: all 10 points are of one class; expected points of both."


@pytest.mark.parametrize(
    ("solver", "problem", "reason"),
    [
        (Smote(), lambda x, y: stated(x, np.where(np.arange(len(y)) == 3, 1.0, -1.0)), "has a single point"),
        (Smote(), lambda x, y: stated(x @ x.T, y, Precomputed()), "kernel values that were given have none"),
        (
            DifferentCosts(),
            lambda x, y: CSVC.build(KernelOracle(Linear(), x), y, {"class_weight": "balanced"}),
            "class_weight=balanced sets the costs of the classes already",
        ),
        (Undersampling(active="nobody"), stated, "called 'nobody'.* named by the parameter active; give ratio"),
        (Undersampling(active="lasvm"), stated, "the oracle 'lasvm' solves c-svc, not pool-svc; name an active learner"),
    ],
)  # fmt: skip
def test_what_a_method_cannot_be_applied_to_is_refused_in_a_sentence(solver, problem, reason):
    made = problem(*clouds(8, 50))
    assert re.search(reason, solver.skip(made))
    with pytest.raises(UsageError, match=reason):
        outcome(solver, made)


def test_where_imbalanced_learn_is_missing_smote_says_what_to_install(monkeypatch):
    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "imblearn" else real(name))
    said = Smote().skip(stated(*clouds(8, 50)))
    assert "needs the package imbalanced-learn, which is not installed" in said
    assert "pip install 'svm-harness[imbalance]'" in said


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: Undersampling(ratio=0.0), "ratio"),
        (lambda: Undersampling(ratio=-1.0), "ratio"),
        (lambda: Smote(ratio=0.0), "ratio"),
        (lambda: Smote(ratio=float("nan")), "ratio"),
        (lambda: Smote(neighbours=0), "neighbours"),
        (lambda: Batch(gap=1.0), "gap"),
        (lambda: Batch(oracle=3), "oracle"),
    ],
)
def test_parameters_outside_their_range_are_refused(make, reason):
    with pytest.raises(UsageError, match=reason):
        make()


@pytest.mark.parametrize("solver", [Smote(), DifferentCosts()])
def test_a_model_that_is_not_certified_is_no_oracle(solver):
    with pytest.raises(PluginError, match="ended without dual coefficients"):
        solver.solve(stated(*clouds(8, 50)))


def test_a_black_box_over_further_points_is_told_all_of_them():
    problem = stated(*clouds(8, 50))
    found = outcome(Smote(oracle="libsvm"), problem)
    assert not Smote(oracle="libsvm").observable
    exact = outcome(Smote(oracle=EXACT), stated(*clouds(8, 50)))
    new, _ = clouds(10, 10, seed=3)
    np.testing.assert_allclose(scores_of(found, problem, new), scores_of(exact, problem, new), atol=1e-2)
    assert isinstance(found.free, FreeExpansion)
