"""Solvers as estimators of scikit-learn, beside SVC and SVR."""

import pickle
import warnings
from dataclasses import dataclass

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification, make_regression
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import cross_val_score
from sklearn.svm import SVC, SVR, LinearSVC

import harness
from harness import CSVC, Iterate, Solver
from harness.estimators import SolverClassifier, SolverRegressor
from harness.support.errors import UsageError

TIGHT = {"target_gap": 1e-8}


@pytest.fixture(scope="module")
def two():
    X, y = make_classification(200, 6, n_informative=4, weights=[0.7], flip_y=0.1, random_state=0)
    return X, np.where(y == 1, "sick", "well")


@pytest.fixture(scope="module")
def three():
    return load_iris(return_X_y=True)


SETTINGS = [
    {},
    {"C": 10.0, "gamma": 0.1, "class_weight": "balanced"},
    {"class_weight": {"sick": 3.0, "well": 0.5}, "gamma": "auto"},
    {"kernel": "poly", "degree": 2, "coef0": 1.0},
    {"kernel": "linear", "C": 0.5},
]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("convert", [np.asarray, scipy.sparse.csr_array], ids=["dense", "sparse"])
def test_two_classes_are_svc(two, settings, convert):
    X, y = convert(two[0]), two[1]
    ours, theirs = SolverClassifier("smo-block", **settings, **TIGHT).fit(X, y), SVC(tol=1e-8, **settings).fit(X, y)
    assert list(ours.classes_) == list(theirs.classes_)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-4)
    assert ours.score(X, y) == theirs.score(X, y)
    assert set(theirs.support_) == set(ours.support_)
    assert ours.dual_coef_.shape == (1, len(ours.support_))
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-4)


@pytest.mark.parametrize("settings", [{}, {"C": 30.0, "class_weight": "balanced"}, {"class_weight": {0: 5.0}}], ids=str)
def test_three_classes_are_svc(three, settings):
    X, y = three[0][:130], three[1][:130]  # 50, 50 and 30 points
    ours, theirs = SolverClassifier(**settings, **TIGHT).fit(X, y), SVC(tol=1e-8, **settings).fit(X, y)
    grid = np.random.default_rng(0).uniform(X.min(axis=0), X.max(axis=0), size=(2000, 4))  # ties of votes among them
    np.testing.assert_allclose(ours.decision_function(grid), theirs.decision_function(grid), atol=1e-3)
    assert (ours.predict(grid) != theirs.predict(grid)).mean() <= 0.001
    assert set(ours.support_) == set(theirs.support_)
    assert ours.dual_coef_.shape == (3, len(ours.support_))


def test_of_equal_votes_the_first_class_wins_as_in_svc():
    """Each of three classes has one vote in the middle of a triangle that is turned a little."""
    angles = np.repeat([0.0, 2.1, 4.2], 30) + np.random.default_rng(1).normal(scale=0.9, size=90)
    X, y = np.column_stack([np.cos(angles), np.sin(angles)]), np.repeat([0, 1, 2], 30)
    ours, theirs = SolverClassifier(gamma=3.0, C=100.0, **TIGHT).fit(X, y), SVC(gamma=3.0, C=100.0, tol=1e-8).fit(X, y)
    grid = np.random.default_rng(0).uniform(-1.5, 1.5, size=(20_000, 2))
    pairs = SVC(gamma=3.0, C=100.0, tol=1e-8, decision_function_shape="ovo").fit(X, y).decision_function(grid)
    tied = (np.sign(pairs) == [1, -1, 1]).all(axis=1) | (np.sign(pairs) == [-1, 1, -1]).all(axis=1)
    assert tied.sum() > 20
    assert (ours.predict(grid[tied]) == theirs.predict(grid[tied])).mean() > 0.99
    assert (ours.predict(grid[tied]) != ours.decision_function(grid[tied]).argmax(axis=1)).any()


def test_sample_weights_are_svcs(two):
    X, y = two
    weights = np.random.default_rng(0).integers(0, 4, size=len(y)).astype(float)
    ours = SolverClassifier(gamma=0.2, **TIGHT).fit(X, y, sample_weight=weights)
    theirs = SVC(gamma=0.2, tol=1e-8).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-4)
    assert not set(np.flatnonzero(weights == 0.0)) & set(ours.support_)
    with pytest.raises(ValueError, match="positive weight"):
        ours.fit(X, y, sample_weight=(y == "sick").astype(float))
    with pytest.raises(UsageError, match="no weights of points"):
        SolverClassifier("fw").fit(X, y, sample_weight=weights)


def test_a_precomputed_kernel(two):
    X, y = two
    K = np.exp(-0.2 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    given, computed = SolverClassifier(kernel="precomputed", **TIGHT), SolverClassifier(gamma=0.2, **TIGHT)
    np.testing.assert_allclose(
        given.fit(K[:150, :150], y[:150]).decision_function(K[150:, :150]),
        computed.fit(X[:150], y[:150]).decision_function(X[150:]),
        atol=1e-6,
    )
    assert cross_val_score(given, K, y, cv=3).tolist() == cross_val_score(computed, X, y, cv=3).tolist()


@pytest.mark.parametrize("settings", [{}, {"C": 20.0, "epsilon": 3.0, "gamma": 0.1}, {"kernel": "linear"}], ids=str)
def test_regression_is_svr(settings):
    X, y = make_regression(150, 5, noise=5.0, random_state=0)
    y /= 10.0
    ours, theirs = SolverRegressor(**settings, **TIGHT).fit(X, y), SVR(tol=1e-8, **settings).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-3)
    assert ours.score(X, y) == pytest.approx(theirs.score(X, y), abs=1e-4)


@pytest.mark.parametrize(
    ("solver", "settings"),
    [
        ("smo", {}),
        ("libsvm", {}),
        ("qp", {}),
        ("lasvm[epochs=2]", {"random_state": 0}),
        ("fw", {"C": 10.0}),
        ("reduced", {"solver": "fw", "formulation": "reduced-hull", "parameters": {"D": 0.1}}),
        ("libsvm", {"formulation": "nu-svc", "parameters": {"nu": 0.2}}),
        ("linearsvc", {"kernel": "linear", "formulation": "l2-svc"}),
        ("rff", {"random_state": 0}),
        ("nystroem", {"random_state": 0}),
        ("ramp-cccp", {}),
        ("an instance", {"solver": harness.get_solver("smo", tau=1e-5)}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_any_solver_by_its_name(three, solver, settings):
    X, y = three
    estimator = SolverClassifier(**{"solver": solver, "gamma": 0.3, **settings}).fit(X, y)
    assert estimator.score(X, y) > 0.9
    copies = [pickle.loads(pickle.dumps(estimator)), clone(estimator).fit(X, y)]
    for copy in copies:
        np.testing.assert_array_equal(copy.decision_function(X), estimator.decision_function(X))


def test_other_regression_formulations():
    """The model of tube-svr is no plain expansion: its predictions are the formulation's."""
    X, y = make_regression(80, 3, noise=2.0, random_state=0)
    y /= 20.0
    tube = SolverRegressor(formulation="tube-svr", epsilon=0.5, parameters={"D": 0.1}).fit(X, y)
    assert tube.score(X, y) > 0.5
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(tube)).predict(X), tube.predict(X))


def test_c_of_l2_svc_is_that_of_the_squared_hinge(two):
    X, y = two
    ours = SolverClassifier("smo-block", formulation="l2-svc", kernel="linear", C=0.7, target_gap=1e-9).fit(X, y)
    # LIBLINEAR counts C of sum xi^2, and has the intercept among the weights: a large constant feature frees it
    theirs = LinearSVC(C=0.35 * 1.0, intercept_scaling=1000.0, tol=1e-10, max_iter=1_000_000, dual=False).fit(X, y)
    a, b = ours.decision_function(X), theirs.decision_function(X)
    assert np.corrcoef(a, b)[0, 1] > 0.9999


def test_the_gap_is_certified_on_request(two):
    X, y = two
    loose = SolverClassifier("smo[tau=0.5]", certify=True).fit(X, y)
    tight = SolverClassifier("smo", certify=True, target_gap=1e-6).fit(X, y)
    assert 0 <= tight.relative_gap_ <= 1e-6 < loose.relative_gap_ < 1.0
    assert not hasattr(SolverClassifier().fit(X, y), "relative_gap_")
    with pytest.warns(ConvergenceWarning, match="above target_gap=1e-08. The certified relative gap of its last model"):
        # of kernel values in float32
        assert SolverClassifier("libsvm", C=100.0, certify=True, target_gap=1e-8).fit(X, y).relative_gap_ > 1e-8
    assert np.isnan(SolverClassifier("rff", certify=True).fit(X, y).relative_gap_)
    linear = SolverClassifier("linearsvc", kernel="linear", C=0.01, certify=True).fit(X, y)
    assert 0 <= linear.relative_gap_ < 0.1


@dataclass(frozen=True)
class GivesUp(Solver):
    """SMO that raises, or ends, after some iterates."""

    name = "gives-up"
    solves = (CSVC,)
    after: int = 1
    how: str = "raises"

    def iterates(self, problem, rng):
        inner = harness.get_solver("smo", tau=1e-9).iterates(problem, rng)
        for _ in range(self.after):
            yield Iterate(np.zeros(problem.n), 0.25)
        if self.how == "raises":
            raise ArithmeticError("no more digits")
        if self.how == "says":
            yield Iterate(np.zeros(problem.n), 0.25, info={"stopped": "it was tired"})
        if self.how == "false":
            yield Iterate(np.full(problem.n, np.nan), 0.0, done=True)
        del inner


@pytest.mark.parametrize(("how", "said"), [("raises", "no more digits"), ("says", "it was tired"), ("ends", "done")])
def test_a_solver_that_does_not_converge_is_a_warning_with_its_gap(two, how, said):
    X, y = two
    estimator = SolverClassifier(GivesUp(how=how), certify=True)
    with pytest.warns(ConvergenceWarning, match=f"gives-up .*{said}.*certified relative gap of its last model is 1"):
        estimator.fit(X, y)
    assert estimator.relative_gap_ == pytest.approx(1.0)
    assert (estimator.decision_function(X) == 0.25).all()
    assert len(estimator.support_) == 0


def test_a_solver_without_a_model_raises(two):
    with pytest.raises(ArithmeticError, match="no more digits"):
        SolverClassifier(GivesUp(after=0)).fit(*two)
    with pytest.raises(harness.PluginError, match="no model"):
        SolverClassifier(GivesUp(after=0, how="ends")).fit(*two)
    with pytest.raises(harness.InvalidModel, match="finite"):
        SolverClassifier(GivesUp(how="false")).fit(*two)


@pytest.mark.parametrize(
    ("estimator", "said"),
    [
        (SolverClassifier("smoo"), "smo"),
        (SolverClassifier(kernel="gauss"), "rbf"),
        (SolverClassifier(gamma="scaled"), "scale"),
        (SolverClassifier(formulation="hard-margins"), "hard-margin"),
        (SolverClassifier("lasvm", formulation="hard-margin"), "c-svc"),
        (SolverClassifier(parameters={"nuu": 0.1}), "C"),
        (SolverClassifier(parameters={"C": 100.0}), "C and gamma are arguments"),
        (SolverClassifier(parameters={"gamma": 100.0}), "C and gamma are arguments of the estimator"),
        (SolverClassifier("libsvm-svr"), "formulation of classification that libsvm-svr solves"),
        (SolverClassifier(C=-1.0), "C"),
    ],
    ids=lambda value: "" if isinstance(value, str) else str(value),
)
def test_a_wrong_parameter_is_told_with_what_there_is(two, estimator, said):
    with pytest.raises(UsageError, match=said):
        estimator.fit(*two)


def test_a_path_is_not_needed_for_many_classes():
    rng = np.random.default_rng(0)
    centres = rng.normal(scale=4.0, size=(7, 3))
    y = rng.integers(0, 7, size=300)
    X = centres[y] + rng.normal(size=(300, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ours, theirs = SolverClassifier(**TIGHT).fit(X, y), SVC(tol=1e-8).fit(X, y)
    assert ours.intercept_.shape == (21,)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-3)
