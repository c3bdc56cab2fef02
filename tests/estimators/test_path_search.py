"""`PathSearchCV` beside `GridSearchCV` with SVC: the same splits, scores and choice."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.datasets import load_iris, make_classification, make_regression
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, RepeatedStratifiedKFold, ShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

import harness
from harness import CSVC, Iterate, Solver
from harness.estimators import PathSearchCV, SolverClassifier, SolverRegressor
from harness.support.errors import UsageError

CS, GAMMAS = [100.0, 0.1, 1.0, 10.0], [0.1, "scale", "auto"]
TIGHT = SolverClassifier(target_gap=1e-8)


@pytest.fixture(scope="module")
def two():
    X, y = make_classification(120, 5, n_informative=3, n_redundant=0, flip_y=0.15, weights=[0.6], random_state=1)
    return X * [1.0, 3.0, 0.5, 1.0, 2.0], np.where(y == 1, "yes", "no")


def assert_same_search(ours, theirs):
    """Assert that two searches have the same results, but for their times."""
    assert ours.cv_results_.keys() == theirs.cv_results_.keys()
    assert ours.cv_results_["params"] == theirs.cv_results_["params"]
    for name, values in theirs.cv_results_.items():
        assert ours.cv_results_[name].__class__ is values.__class__
        if name.startswith("param_"):
            assert list(ours.cv_results_[name]) == list(values)
            assert ours.cv_results_[name].dtype == values.dtype
        elif name != "params" and "time" not in name:
            np.testing.assert_allclose(ours.cv_results_[name], values, atol=1e-6, err_msg=name)
    assert ours.best_params_ == theirs.best_params_
    assert ours.best_index_ == theirs.best_index_
    assert ours.best_score_ == pytest.approx(theirs.best_score_, abs=1e-6)
    assert ours.n_splits_ == theirs.n_splits_


SPLITS = [
    None,
    3,
    KFold(4, shuffle=True, random_state=0),
    ShuffleSplit(3, random_state=0),
    RepeatedStratifiedKFold(n_splits=2, n_repeats=2, random_state=0),
]


@pytest.mark.parametrize("cv", SPLITS, ids=lambda cv: str(cv).partition("(")[0])
@pytest.mark.parametrize("weight", [None, "balanced"])
def test_two_classes(two, cv, weight):
    ours = PathSearchCV(SolverClassifier(target_gap=1e-8, class_weight=weight), C=CS, gamma=GAMMAS, cv=cv).fit(*two)
    theirs = GridSearchCV(SVC(tol=1e-8, class_weight=weight), {"C": CS, "gamma": GAMMAS}, cv=cv).fit(*two)
    assert_same_search(ours, theirs)
    np.testing.assert_allclose(ours.decision_function(two[0]), theirs.decision_function(two[0]), atol=1e-4)
    assert ours.score(*two) == theirs.score(*two)
    assert list(ours.classes_) == ["no", "yes"]


@pytest.mark.parametrize("weight", [None, "balanced"])
def test_three_classes(weight):
    X, y = load_iris(return_X_y=True)
    X, y = X[:140] + np.random.default_rng(0).normal(scale=0.4, size=(140, 4)), y[:140]
    ours = PathSearchCV(SolverClassifier(target_gap=1e-8, class_weight=weight), C=CS, gamma=GAMMAS, cv=4).fit(X, y)
    assert_same_search(
        ours, GridSearchCV(SVC(tol=1e-8, class_weight=weight), {"C": CS, "gamma": GAMMAS}, cv=4).fit(X, y)
    )


@pytest.mark.parametrize(
    "scoring", ["roc_auc", "balanced_accuracy", "f1_macro", lambda model, X, y: model.predict(X)[0] == "yes"]
)
def test_other_scores(two, scoring):
    ours = PathSearchCV(TIGHT, C=CS, gamma=[0.1, 1.0], scoring=scoring, cv=3).fit(*two)
    assert_same_search(
        ours, GridSearchCV(SVC(tol=1e-8), {"C": CS, "gamma": [0.1, 1.0]}, scoring=scoring, cv=3).fit(*two)
    )


def test_regression():
    X, y = make_regression(90, 4, noise=10.0, random_state=0)
    y /= 20.0
    ours = PathSearchCV(SolverRegressor(epsilon=0.3, target_gap=1e-9), C=CS, gamma=[0.05, "scale"], cv=3).fit(X, y)
    theirs = GridSearchCV(SVR(epsilon=0.3, tol=1e-8), {"C": CS, "gamma": [0.05, "scale"]}, cv=3).fit(X, y)
    assert ours.best_params_ == theirs.best_params_
    np.testing.assert_allclose(ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"], atol=1e-3)


@pytest.mark.parametrize("kernel", ["linear", "poly", "precomputed"])
def test_other_kernels(two, kernel):
    X, y = two
    X = X @ X.T if kernel == "precomputed" else X
    ours = PathSearchCV(SolverClassifier(kernel=kernel, target_gap=1e-8), C=[0.01, 0.1, 1.0], cv=3).fit(X, y)
    assert_same_search(ours, GridSearchCV(SVC(kernel=kernel, tol=1e-8), {"C": [0.01, 0.1, 1.0]}, cv=3).fit(X, y))


def test_sparse_points_frames_groups_and_pipelines(two):
    X, y = two
    dense = PathSearchCV(TIGHT, C=CS, gamma=GAMMAS, cv=3).fit(X, y)
    assert_same_search(PathSearchCV(TIGHT, C=CS, gamma=GAMMAS, cv=3).fit(scipy.sparse.csr_array(X), y), dense)
    frame = pd.DataFrame(X, columns=list("abcde"))
    framed = PathSearchCV(TIGHT, C=CS, gamma=GAMMAS, cv=3).fit(frame, pd.Series(y))
    assert_same_search(framed, dense)
    assert list(framed.feature_names_in_) == list("abcde")
    groups = np.arange(len(y)) % 7
    ours = PathSearchCV(TIGHT, C=CS, cv=GroupKFold(3)).fit(X, y, groups=groups)
    assert_same_search(ours, GridSearchCV(SVC(tol=1e-8), {"C": CS}, cv=GroupKFold(3)).fit(X, y, groups=groups))
    assert make_pipeline(StandardScaler(), PathSearchCV(C=CS, cv=3)).fit(X, y).score(X, y) > 0.7


def test_a_split_may_be_a_mask_or_count_from_the_end(two):
    every = np.arange(120)
    splits = [(every % 3 > 0, every % 3 == 0), (-1 - every[:80], -1 - every[80:])]
    ours = PathSearchCV(TIGHT, C=CS, gamma=GAMMAS, cv=splits).fit(*two)
    assert_same_search(ours, GridSearchCV(SVC(tol=1e-8), {"C": CS, "gamma": GAMMAS}, cv=splits).fit(*two))


def test_without_a_refit_and_without_an_axis(two):
    search = PathSearchCV(TIGHT, cv=3, refit=False).fit(*two)
    assert search.best_params_ == {}
    assert not hasattr(search, "best_estimator_")
    assert search.best_score_ == pytest.approx(
        np.mean([search.cv_results_[f"split{k}_test_score"][0] for k in range(3)])
    )


@pytest.mark.parametrize("solver", ["smo", "libsvm", "qp"])
def test_a_solver_that_follows_no_path(two, solver):
    ours = PathSearchCV(SolverClassifier(solver, target_gap=1e-6), C=[0.1, 1.0], gamma=[0.1, "scale"], cv=3).fit(*two)
    assert_same_search(ours, PathSearchCV(TIGHT, C=[0.1, 1.0], gamma=[0.1, "scale"], cv=3).fit(*two))


@dataclass(frozen=True)
class Fails(Solver):
    """SMO that raises where C is 1, and never ends where it is 10."""

    name = "fails"
    solves = (CSVC,)

    def iterates(self, problem, rng):
        if problem.C == 1.0:
            raise ArithmeticError("no more digits")
        for iterate in harness.get_solver("smo", tau=1e-6).iterates(problem, rng):
            if problem.C == 10.0 and iterate.done:
                yield Iterate(np.zeros(problem.n), -1.0, info={"stopped": "it was tired"})
                return
            yield iterate


@pytest.mark.filterwarnings("ignore:One or more of the test scores")
def test_the_path_goes_on_after_a_cell_that_fails(two):
    with pytest.warns(
        ConvergenceWarning, match="fails failed or ended before it was done 6 times: ArithmeticError: no more"
    ):
        search = PathSearchCV(SolverClassifier(Fails()), C=CS, gamma=[0.1], cv=3, refit=False).fit(*two)
    whole = PathSearchCV(TIGHT, C=CS, gamma=[0.1], cv=3).fit(*two).cv_results_["mean_test_score"]
    scores = dict(zip(CS, search.cv_results_["mean_test_score"], strict=True))
    assert np.isnan(scores[1.0])
    assert [scores[C] for C in (100.0, 0.1)] == [whole[CS.index(C)] for C in (100.0, 0.1)]
    constant = GridSearchCV(SVC(C=1e-9), {"gamma": [0.1]}, cv=3).fit(*two)  # f = -1 predicts "no", the larger class
    assert scores[10.0] == constant.best_score_
    assert search.cv_results_["rank_test_score"][CS.index(1.0)] == 4


@dataclass(frozen=True)
class Recorded(Solver):
    """SMO that records the values of C."""

    name = "recorded"
    solves = (CSVC,)
    gap: float | None = None
    given = []

    def iterates(self, problem, rng):
        self.given.append(problem.C)
        yield from harness.get_solver("smo", tau=1e-6, gap=self.gap).iterates(problem, rng)


@pytest.mark.parametrize(("gap", "count"), [(None, 2), (1e-8, 5)])
def test_a_solution_with_all_coefficients_below_c_is_that_of_every_larger_c(two, gap, count):
    X, y = two
    C, Recorded.given[:] = [0.01, 1.0, 100.0, 1e4, 1e6], []
    ours = PathSearchCV(SolverClassifier(Recorded(gap=gap), class_weight="balanced"), C=C, gamma=[50.0], cv=3).fit(X, y)
    theirs = GridSearchCV(SVC(tol=1e-8, class_weight="balanced"), {"C": C, "gamma": [50.0]}, cv=3).fit(X, y)
    assert_same_search(ours, theirs)
    assert len(Recorded.given) - 1 == 3 * count  # one of them is the refit


def test_what_a_path_does_not_take(two):
    with pytest.raises(UsageError, match="no expansion in kernel values"):
        PathSearchCV(SolverClassifier("rff"), C=[1.0], cv=2).fit(*two)
    with pytest.raises(UsageError, match="has no C"):
        PathSearchCV(SolverClassifier("fw", formulation="hard-margin"), C=[1.0, 2.0], cv=2).fit(*two)
    with pytest.raises(UsageError, match="the search as its last step"):
        PathSearchCV(make_pipeline(StandardScaler(), TIGHT), C=[1.0]).fit(*two)
    with pytest.raises(UsageError, match="one name or one callable"):
        PathSearchCV(C=[1.0], scoring=["accuracy", "f1_macro"]).fit(*two)
    with pytest.raises(ValueError, match="1 of 1 classes"):
        PathSearchCV(C=[1.0], cv=KFold(2)).fit(two[0], np.sort(two[1]))
