"""scikit-learn's own checks of estimators."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from harness.estimators import PathSearchCV, SolverClassifier, SolverRegressor

UNWEIGHTED = "l2-svc has no weights of points: weights other than 1 are refused"
EXPECTED = {
    SolverClassifier: {
        "check_sample_weight_equivalence_on_dense_data": "gamma='scale' is that of the points without weights, as in SVC",
        "check_sample_weight_equivalence_on_sparse_data": "gamma='scale' is that of the points without weights, as in SVC",
    },
    "fw": {
        "check_sample_weight_equivalence_on_dense_data": UNWEIGHTED,
        "check_sample_weight_equivalence_on_sparse_data": UNWEIGHTED,
        "check_sample_weights_list": UNWEIGHTED,
        "check_sample_weights_not_overwritten": UNWEIGHTED,
        "check_class_weight_classifiers": UNWEIGHTED,
    },
}


def expected(estimator):
    if getattr(estimator, "solver", "") == "fw":
        return EXPECTED["fw"]
    return EXPECTED.get(type(estimator), {}) if getattr(estimator, "target_gap", None) is None else {}


def test_two_exceptions_are_declared():
    assert expected(SolverRegressor()) == expected(PathSearchCV()) == expected(SolverClassifier(target_gap=1e-12)) == {}
    assert len(expected(SolverClassifier())) == 2


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(
    [
        SolverClassifier(),
        SolverClassifier(gamma=0.1, target_gap=1e-12),  # weights are repetitions, up to the gap
        SolverClassifier("fw"),
        SolverRegressor(),
        PathSearchCV(C=[1.0, 10.0], gamma=[0.1, "scale"], cv=2),
        PathSearchCV(SolverRegressor(), C=[1.0, 10.0], cv=2),
    ],
    expected_failed_checks=expected,
)
def test_an_estimator_is_as_scikit_learn_checks(estimator, check):
    check(estimator)
