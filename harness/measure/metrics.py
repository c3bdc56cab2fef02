"""Test metrics: each takes (targets, scores f(x)), both (n,), and returns a number; scikit-learn's where it has them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from harness.registry.metric import Metric, Scorer, predicted


def accuracy(targets: Any, scores: Any) -> float:
    """Share of points with the right sign."""
    return float(np.mean(predicted(scores) == targets))


def balanced_accuracy(targets: Any, scores: Any) -> float:
    """Mean of sensitivity and specificity."""
    from sklearn.metrics import balanced_accuracy_score

    return float(balanced_accuracy_score(targets, predicted(scores)))


def g_means(targets: Any, scores: Any) -> float:
    """Geometric mean of sensitivity and specificity."""
    positive = targets > 0
    hit = predicted(scores) == targets
    return float(np.sqrt(np.mean(hit[positive]) * np.mean(hit[~positive])))


def roc_auc(targets: Any, scores: Any) -> float:
    """Area under the ROC curve."""
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(targets, scores))


def prbep(targets: Any, scores: Any) -> float:
    """Precision at the threshold that calls exactly n_positive points positive: there precision = recall; ties by their mean."""
    positives = int(np.sum(targets > 0))
    threshold = np.sort(scores)[-positives]
    above, tied = scores > threshold, scores == threshold
    # the points of equal scores may be in any order, so they count by their share of positives
    hits = np.sum(targets[above] > 0) + (positives - np.sum(above)) * np.mean(targets[tied] > 0)
    return float(hits / positives) if positives else float("nan")


def f1(targets: Any, scores: Any) -> float:
    """Harmonic mean of precision and recall of the positive class."""
    from sklearn.metrics import f1_score

    return float(f1_score(targets, predicted(scores), pos_label=1.0, zero_division=0.0))


def mean_squared_error(targets: Any, scores: Any) -> float:
    """Mean of (y - f)^2."""
    return float(np.mean((np.asarray(targets) - scores) ** 2))


def mean_absolute_error(targets: Any, scores: Any) -> float:
    """Mean of |y - f|."""
    return float(np.mean(np.abs(np.asarray(targets) - scores)))


def _without_unit(values: Any, unit: float) -> Any:
    """Return values divided by the power of two nearest above ``unit``, exactly, as squares of 1e-170 or 1e170 are no float64."""
    return np.ldexp(values, -np.frexp(unit)[1])


def r2(targets: Any, scores: Any) -> float:
    """Coefficient of determination."""
    from sklearn.metrics import r2_score

    unit = np.max(np.abs(targets))
    return float(r2_score(_without_unit(targets, unit), _without_unit(scores, unit)))


def pearson(targets: Any, scores: Any) -> float:
    """Pearson's correlation of targets and f; NaN, recorded as null, where either is constant."""
    if np.ptp(targets) == 0.0 or np.ptp(scores) == 0.0:
        return float("nan")
    return float(np.corrcoef(*[_without_unit(values, np.max(np.abs(values))) for values in (targets, scores)])[0, 1])


_SHARES: Mapping[str, Scorer] = {
    "accuracy": accuracy, "balanced-accuracy": balanced_accuracy, "g-means": g_means, "roc-auc": roc_auc, "prbep": prbep, "f1": f1
}  # fmt: skip
METRICS = {name: Metric(function, "high", 0.0, 1.0, task="classification") for name, function in _SHARES.items()} | {
    "mse": Metric(mean_squared_error, "low", 0.0),
    "mae": Metric(mean_absolute_error, "low", 0.0),
    "r2": Metric(r2, "high", high=1.0),
    "pearson": Metric(pearson, "high", low=-1.0, high=1.0),
}
"""The host's metrics; those of labels need targets -1 / +1, the others take any."""


def applicable(names: Iterable[str], known: Mapping[str, Metric], task: str) -> tuple[str, ...]:
    """Return those of the metrics, each once, that are for data of ``task``."""
    return tuple(dict.fromkeys(name for name in names if known[name].task in (None, task)))
