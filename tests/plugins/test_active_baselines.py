"""What is done about imbalance without active learning, against its definition: other libraries, and the obvious way."""

from dataclasses import dataclass

import numpy as np
import pytest
import scipy.sparse
from harness_active.baselines import Batch, DifferentCosts, Smote, Undersampling
from harness_active.pool_svc import PoolSVC
from imblearn.over_sampling import SMOTE
from sklearn.svm import SVC

from harness import CSVC, RBF, Iterate, Solver, drive, get_solver
from harness.registry.subproblem_oracle import Oracle, OracleFailure
from tests.plugins.common import build

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


def stated(x, y):
    return build(CSVC, x, y, RBF(gamma=0.4), C=2.0)


def assert_is(found, problem, peer):
    """Assert that a model has the scores of scikit-learn's."""
    new, _ = clouds(20, 20, seed=9)
    own = found.model is None
    scores = (
        problem.scores_new(found.dual_coef, found.intercept, new) if own else found.model.scores(problem.kernel, new)
    )
    np.testing.assert_allclose(scores, peer.decision_function(new), atol=1e-4)


# -- batch -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("oracle", ["lasvm", "lasvm[epochs=2,tau=1e-2]", EXACT])
def test_batch_yields_the_bits_of_its_oracle(oracle):
    x, y = clouds(8, 60)
    runs = []
    for solver in (Batch(oracle=oracle), get_solver(oracle)):
        problem = stated(x, y)
        found = solver.iterates(problem, np.random.default_rng(5))
        runs.append(
            [(each.dual_coef.tobytes(), each.intercept, each.step, each.done, each.working_set) for each in found]
        )
        runs[-1].append(problem.kernel.counter.evaluations)
    assert runs[0] == runs[1]


# -- undersampling -----------------------------------------------------------------------------------


def test_undersampling_is_the_svm_of_the_points_that_were_kept():
    x, y = clouds(10, 80)
    problem = stated(x, y)
    found = drive(Undersampling(oracle=EXACT, ratio=2.0), problem, np.random.default_rng(3))
    chosen = np.random.default_rng(3).choice(np.flatnonzero(y < 0), 20, replace=False)
    kept = np.sort(np.concatenate([np.flatnonzero(y > 0), chosen]))
    assert set(np.flatnonzero(found.dual_coef)) <= set(kept)
    assert_is(found, problem, SVC(C=2.0, gamma=0.4, tol=1e-8).fit(x[kept], y[kept]))


def test_without_a_ratio_it_is_the_one_that_active_learning_reaches_and_its_cost_counts():
    x, y = clouds(30, 270)
    problem, active = stated(x, y), "active-small-pool[stop=support]"
    seen = list(Undersampling().iterates(problem, np.random.default_rng(2)))
    pool, oracle = build(PoolSVC, x, y.__getitem__, RBF(gamma=0.4), C=2.0), Oracle(active)
    (*_, last) = oracle.iterates(pool, rng=np.random.default_rng(2))
    ratio = np.count_nonzero(last.dual_coef[y < 0]) / np.count_nonzero(last.dual_coef[y > 0])
    names = "ratio", "kept_negatives", "active_labels", "active_kernel_evaluations"
    figures = [seen[-1].info[name] for name in names]
    assert figures == [pytest.approx(ratio), round(30 * ratio), len(pool.queried), oracle.evaluations]
    assert problem.kernel.counter.oracle_evaluations == problem.kernel.counter.evaluations > oracle.evaluations > 0
    begun = [it for it in seen if it.info.get("phase") == "active"]
    assert begun, "it can be stopped while the active learner works"
    assert not any(np.any(it.dual_coef) or it.done for it in begun)


# -- smote -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("storage", [np.array, scipy.sparse.csr_array])
@pytest.mark.parametrize("flipped", [False, True])
@pytest.mark.parametrize(("ratio", "wanted"), [(1.0, 90), (2.0, 45), (0.5, 180)])
def test_smote_is_the_svm_of_the_resampled_data(storage, flipped, ratio, wanted):
    x, y = clouds(12, 90)
    x[np.abs(x) < 0.4] = 0.0
    x, y = storage(x), -y if flipped else y
    problem = stated(x, y)
    found = drive(Smote(oracle=EXACT, ratio=ratio), problem, np.random.default_rng(4))
    seed = int(np.random.default_rng(4).integers(2**31))  # of all the data: the naive way to call it
    more, labels = SMOTE(sampling_strategy={-1.0 if flipped else 1.0: wanted}, random_state=seed).fit_resample(x, y)
    assert found.info["synthetic"] == wanted - 12 == more.shape[0] - 102
    peer = SVC(C=2.0, gamma=0.4, tol=1e-8).fit(more, labels)
    assert_is(found, problem, peer)
    assert found.model.support == pytest.approx(len(peer.support_), abs=2)
    own, synthetic = (scipy.sparse.csr_array(part).toarray() for part in (found.model.own, more[102:]))
    assert {row.tobytes() for row in own} <= {row.tobytes() for row in synthetic}


# -- different costs ---------------------------------------------------------------------------------


@pytest.mark.parametrize("flipped", [False, True])
def test_different_costs_is_the_svm_with_a_price_for_each_class(flipped):
    x, y = clouds(10, 95)
    y = -y if flipped else y
    problem = stated(x, y)
    found = drive(DifferentCosts(oracle=EXACT), problem, np.random.default_rng(0))
    smaller = -1.0 if flipped else 1.0
    assert (found.info["smaller_class"], found.info["factor"]) == (smaller, 9.5)
    assert_is(found, problem, SVC(C=2.0, gamma=0.4, class_weight={smaller: 9.5}, tol=1e-8).fit(x, y))


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


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("fault", ["raises", "weights", "free", "nothing", "refuses"])
def test_an_oracle_that_fails_ends_the_run_with_its_name(name, fault, monkeypatch):
    monkeypatch.setattr("harness.registry.subproblem_oracle.get_solver", lambda text: Faulty(fault=fault))
    with pytest.raises(OracleFailure, match=f"{name}: the oracle 'faulty' failed"):
        drive(METHODS[name].replace(oracle="faulty"), stated(*clouds(8, 50)), np.random.default_rng(0))


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("oracle", ["nobody", "lasvm[epochs", "fw", "smote", "different-costs"])
def test_an_oracle_that_cannot_train_and_a_single_class_are_refused(name, oracle):
    solver = METHODS[name].replace(oracle=oracle)
    assert solver.refusal(stated(*clouds(8, 50))).startswith(f"{name}: ")
    assert solver.warm_ups()
    assert (
        METHODS[name].refusal(stated(clouds(0, 10)[0], np.full(10, -1.0))).startswith(f"{name}: all 10 points are of")
    )
