"""What is done about imbalance without active learning, against its definition: other libraries, and the obvious way."""

import re
from dataclasses import dataclass

import numpy as np
import pytest
import scipy.sparse
from harness_active.baselines import Batch, DifferentCosts, Smote, Undersampling
from harness_active.pool_svc import PoolSVC
from imblearn.over_sampling import SMOTE
from sklearn.svm import SVC

from harness import CSVC, RBF, Iterate, KernelOracle, PluginError, Solver, drive, get_solver
from harness.registry.subproblem_oracle import Oracle, OracleFailure

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


def outcome(solver, problem, seed=0):
    return drive(solver, problem, np.random.default_rng(seed))


def scores_of(found, problem, points):
    if found.model is None:
        return problem.scores_new(found.dual_coef, found.intercept, points)
    return found.model.scores(problem.kernel, points)


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


# -- undersampling -----------------------------------------------------------------------------------


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


def test_without_a_ratio_it_is_the_one_that_active_learning_reaches_and_its_cost_counts():
    x, y = clouds(30, 270)
    problem, active = stated(x, y), "active-small-pool[stop=support]"
    seen = list(Undersampling().iterates(problem, np.random.default_rng(2)))
    pool, oracle = PoolSVC.build(KernelOracle(RBF(gamma=0.4), x), y.__getitem__, {"C": 2.0}), Oracle(active)
    (*_, last) = oracle.iterates(pool, rng=np.random.default_rng(2))
    ratio = np.count_nonzero(last.dual_coef[y < 0]) / np.count_nonzero(last.dual_coef[y > 0])
    info = seen[-1].info
    assert info["ratio"] == pytest.approx(ratio)
    assert info["kept_negatives"] == round(30 * ratio)
    assert info["active_labels"] == len(pool.queried)
    assert info["active_kernel_evaluations"] == oracle.evaluations > 0
    assert problem.kernel.counter.oracle_evaluations == problem.kernel.counter.evaluations > oracle.evaluations
    begun = [it for it in seen if it.info.get("phase") == "active"]
    assert begun, "it can be stopped while the active learner works"
    assert not any(np.any(it.dual_coef) or it.done for it in begun)


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
    assert found.model.support == pytest.approx(len(peer.support_), abs=2)
    synthetic = more[102:] if isinstance(more, np.ndarray) else more[102:].toarray()
    own = found.model.own if isinstance(x, np.ndarray) else found.model.own.toarray()
    assert {row.tobytes() for row in own} <= {row.tobytes() for row in synthetic}


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


# -- all of them -------------------------------------------------------------------------------------


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
    "raises": r"failed: .*Faulty\.iterates: ZeroDivisionError: a wheel came off",
    "weights": "failed: it returned no dual coefficients",
    "free": "failed: it returned no dual coefficients",
    "nothing": "failed: it ended without a model",
    "refuses": r"failed: it refused the \d+ points that it was given: it takes no more than 3 points",
}


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("fault", SAID)
def test_an_oracle_that_fails_ends_the_run_with_its_name(name, fault, monkeypatch):
    monkeypatch.setattr("harness.registry.subproblem_oracle.get_solver", lambda text: Faulty(fault=fault))
    with pytest.raises(OracleFailure, match=f"{name}: the oracle 'faulty' {SAID[fault]}"):
        outcome(METHODS[name].replace(oracle="faulty"), stated(*clouds(8, 50)))
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
    solver = METHODS[name].replace(oracle=oracle)
    said = solver.refusal(stated(*clouds(8, 50)))
    assert said.startswith(f"{name}: ")
    assert re.search(reason, said), said
    assert solver.warm_ups()


@pytest.mark.parametrize("name", METHODS)
def test_a_single_class_is_refused(name):
    problem = stated(clouds(0, 10)[0], np.full(10, -1.0))
    assert METHODS[name].refusal(problem) == f"{name}: all 10 points are of one class; expected points of both."
