"""Detectors of outliers that users pick: scikit-learn's two, class by class, and cleanlab's confident learning.

Each says of every point how unusual it is, and which points it would call outliers itself.
"""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from harness import rounded_down

if TYPE_CHECKING:
    import numpy.typing as npt

    from harness import Problem

    Numbers = npt.NDArray[np.float64]
    Rows = npt.NDArray[np.intp]
    Flags = npt.NDArray[np.bool_]
    Judged = tuple[Numbers, Flags]

_FEWEST = 3  # points of a class that tell what is usual in it
_NEIGHBOURS = 20  # of the local outlier factor, scikit-learn's default
_FOLDS = 5  # of the probabilities that confident learning looks at, cleanlab's default


def reason_against(detector: str, problem: Problem, sides: Sequence[Rows]) -> str | None:
    """Return why a detector cannot judge the points of ``problem``, a sentence; None if it can."""
    if problem.kernel.kernel.name == "precomputed":
        return f"filtered: {detector} looks at features, and kernel values that were given have none; name a kernel."
    if detector != "confident-learning":
        return None
    if len(sides) < 2:
        return (
            "filtered: confident-learning compares labels, which take no part against the origin; choose "
            "detector=isolation-forest or local-outlier."
        )
    fewest = min(len(rows) for rows in sides)
    if fewest < 2:
        return (
            f"filtered: confident-learning learns each label from other points, and one class has {fewest}; expected 2 at "
            "least. Choose detector=isolation-forest or local-outlier."
        )
    if importlib.util.find_spec("cleanlab") is None:
        return (
            "filtered: detector=confident-learning needs the package cleanlab, which is not installed; install it with "
            "pip install 'svm-harness[filters]', or choose detector=isolation-forest or local-outlier."
        )
    return None


def flagged(
    detector: str, problem: Problem, sides: Sequence[Rows], shares: Sequence[float | None], rng: np.random.Generator
) -> Flags:
    """Return the points that a detector would drop, (n,).

    Parameters
    ----------
    detector : isolation-forest, local-outlier (each class by itself) or confident-learning (labels against labels)
    sides : the points of each class; against the origin all in one
    shares : of each class, the share that is dropped, rounded down, and never all; None: what the detector itself calls
        outliers
    rng : where its own randomness comes from

    Those of a class with fewer than three points are not judged.
    """
    points, seed = problem.kernel.points, int(rng.integers(2**31))
    found = np.zeros(problem.n, dtype=bool)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # on duplicates, and on a classifier that could be closer
        together = _confident(points, problem, seed) if detector == "confident-learning" else None
        for rows, share in zip(sides, shares, strict=True):
            count = len(rows) if share is None else min(rounded_down(share * len(rows)), len(rows) - 1)
            if len(rows) < _FEWEST or count == 0:
                continue
            if together is not None:
                unusual, verdict = together[0][rows], together[1][rows]
            else:
                unusual, verdict = _ALONE[detector](points[rows], seed)
            chosen = np.flatnonzero(verdict) if share is None else np.argsort(-unusual, kind="stable")[:count]
            found[rows[chosen]] = True
    return found


def _isolated(x: Any, seed: int) -> Judged:
    from sklearn.ensemble import IsolationForest

    forest = IsolationForest(random_state=seed).fit(x)
    scores = forest.score_samples(x)
    return -scores, scores < forest.offset_


def _local(x: Any, _seed: int) -> Judged:
    from sklearn.neighbors import LocalOutlierFactor

    found = LocalOutlierFactor(n_neighbors=min(_NEIGHBOURS, x.shape[0] - 1)).fit(x)
    return -found.negative_outlier_factor_, found.negative_outlier_factor_ < found.offset_


_ALONE = {"isolation-forest": _isolated, "local-outlier": _local}


def _confident(points: Any, problem: Problem, seed: int) -> Judged:
    from cleanlab.filter import find_label_issues
    from cleanlab.rank import get_label_quality_scores

    labels = (problem.targets > 0).astype(np.int64)
    chances = _probabilities(points, labels, problem.kernel.is_linear, seed)
    issues = find_label_issues(labels, chances, n_jobs=1)  # no processes beside the run's own
    return -get_label_quality_scores(labels, chances), np.asarray(issues, dtype=bool)


def _probabilities(points: Any, labels: Any, linear: bool, seed: int) -> Numbers:
    """Return (n, 2) probabilities of the classes, each point's by a classifier that did not learn from it."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold, cross_val_predict
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    folds = StratifiedKFold(min(_FOLDS, int(np.bincount(labels).min())), shuffle=True, random_state=seed)
    model = (
        make_pipeline(StandardScaler(with_mean=False), LogisticRegression(max_iter=1000))
        if linear
        else RandomForestClassifier(random_state=seed)
    )
    return np.asarray(cross_val_predict(model, points, labels, cv=folds, method="predict_proba"), dtype=np.float64)
