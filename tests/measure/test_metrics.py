"""The metrics against scikit-learn and against counts made by hand."""

import itertools
import math

import numpy as np
import pytest
import sklearn.metrics
from hypothesis import assume, given
from hypothesis import strategies as st

from harness import PluginError
from harness.measure.metrics import METRICS, Metric, applicable, predicted


def test_at_the_break_even_point_precision_equals_recall() -> None:
    """The definition: call exactly n_positive points positive; then precision and recall have one denominator."""
    rng = np.random.default_rng(0)
    targets, scores = np.where(rng.random(200) < 0.3, 1.0, -1.0), rng.normal(size=200)
    threshold = np.sort(scores)[::-1][int((targets > 0).sum()) - 1]
    called = np.where(scores >= threshold, 1.0, -1.0)
    precision = sklearn.metrics.precision_score(targets, called)
    assert precision == pytest.approx(sklearn.metrics.recall_score(targets, called))
    assert METRICS["prbep"](targets, scores) == pytest.approx(precision)


labels = st.lists(st.sampled_from([-1.0, 1.0]), min_size=4, max_size=30).filter(lambda y: len(set(y)) == 2)


@given(labels, st.integers(0, 1000))
def test_the_metrics_equal_those_of_scikit_learn(values, seed) -> None:
    y, f = np.array(values), np.random.default_rng(seed).normal(size=len(values))
    called = predicted(f)
    assert METRICS["accuracy"](y, f) == pytest.approx(sklearn.metrics.accuracy_score(y, called))
    assert METRICS["balanced-accuracy"](y, f) == pytest.approx(sklearn.metrics.balanced_accuracy_score(y, called))
    assert METRICS["f1"](y, f) == pytest.approx(sklearn.metrics.f1_score(y, called, zero_division=0.0))
    assert METRICS["roc-auc"](y, f) == pytest.approx(sklearn.metrics.roc_auc_score(y, f))
    recalls = sklearn.metrics.recall_score(y, called, average=None, zero_division=0.0)
    assume(len(recalls) == 2)
    assert METRICS["g-means"](y, f) == pytest.approx(np.sqrt(np.prod(recalls)))


def test_pearson_is_the_correlation_and_undefined_for_a_constant() -> None:
    targets = np.array([1.0, 2.0, 3.0, 4.0])
    assert METRICS["pearson"](targets, 2.0 * targets - 1.0) == pytest.approx(1.0)
    assert METRICS["pearson"](targets, np.array([1.0, -1.0, -1.0, 1.0])) == pytest.approx(0.0)
    assert np.isnan(METRICS["pearson"](targets, np.ones(4)))


def test_figures_depend_neither_on_the_order_of_equal_scores_nor_on_the_unit() -> None:
    y, f = np.array([1.0, 1.0, 1.0, -1.0, -1.0]), np.array([2.0, 0.0, 0.0, 0.0, 0.0])
    for order in (slice(None), slice(None, None, -1)):
        assert METRICS["prbep"](y[order], f[order]) == pytest.approx((1 + 2 * 2 / 4) / 3)
    targets, scores = np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 3.5])
    for unit, name in itertools.product((1e-200, 1e200), ("r2", "pearson")):
        assert METRICS[name](unit * targets, unit * scores) == pytest.approx(METRICS[name](targets, scores))
    assert METRICS["pearson"](np.array([1.0, -1.0]), np.array([1e300, -1e200])) == pytest.approx(1.0)


def test_metrics_of_labels_do_not_apply_to_numbers() -> None:
    known = {**METRICS, "mine": Metric(max)}
    assert applicable(["mse", "roc-auc", "mse", "mine"], known, "regression") == ("mse", "mine")
    assert applicable(["mse", "roc-auc"], known, "classification") == ("mse", "roc-auc")
    assert applicable(METRICS, known, "regression") == ("mse", "mae", "r2", "pearson")
    assert applicable(METRICS, known, "classification") == tuple(METRICS)


def test_a_metric_is_handed_what_it_takes_and_a_figure_outside_of_its_range_is_a_fault() -> None:
    y, f = np.array([1.0, -1.0]), np.array([0.3, 2.0])
    assert Metric(lambda y, f: f.tolist(), takes="labels")(y, f) == [1.0, 1.0]
    assert Metric(lambda y, f: f.tolist())(y, f) == [0.3, 2.0]
    for figure in (-0.5, 1.5, np.float32(2.0), math.inf):
        with pytest.raises(PluginError, match=r"which is outside of its range \[0, 1\]"):
            Metric(lambda y, f, it=figure: it, low=0.0, high=1.0)(y, f)
    assert Metric(lambda y, f: 1.0 + 1e-12, low=0.0, high=1.0)(y, f) > 1.0, "rounding is none"
    assert math.isnan(Metric(lambda y, f: math.nan, low=0.0, high=1.0)(y, f)), "it may be undefined"
