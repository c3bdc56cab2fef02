"""Solver ``filtered``: drop the outliers that a detector reports, then train an SVM on the other points.

It wraps any exact solver: the detector selects the outliers of each class, and the oracle solves the problem over the inliers.
The result is the oracle's model with coefficient 0 at the outliers. The certificate is that of the problem over *all* points,
which has another optimum, so the gap is large if many points were dropped. Compare filters by their test errors.

The cost is the detector's passes over the features (linear in n for an isolation forest, quadratic in the class size for local
outlier factors) and the oracle on fewer points. The detector loads the points of a class into memory, mapped points too.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from harness import (
    CSVC,
    DEFAULT_RELATIVE_GAP,
    Conformance,
    CSVCNoBias,
    Iterate,
    Problem,
    ProblemSummary,
    UsageError,
    fit_clock,
    parameter,
    rounded_down,
)
from harness.problems import HardMargin, PolytopeDistance
from harness.registry.subproblem_oracle import Oracle, OverOracle, oracle_refusal, takes
from harness.support.arrays import Index, Mask, Vector

_HULL_ORACLE = "nearest-point"  # default oracle on outlier-margin
_SVC_ORACLE = "smo-block"  # default oracle on c-svc and c-svc-nobias
_MIN_CLASS_SIZE = 3  # number of points from which the detector is applied to a class
_NEIGHBOURS = 20  # number of neighbours of the local outlier factor; scikit-learn's default


@dataclass(frozen=True)
class Filtered(OverOracle):
    """An SVM on the inliers of each class according to an outlier detector; the other points have coefficient 0.

    Use it as the baseline for methods that cope with wrong labels. Paper: Liu, Ting and Zhou 2008.

    The detectors are scikit-learn's isolation forest (Liu, Ting, Zhou 2008) and local outlier factor (Breunig, Kriegel, Ng,
    Sander 2000); both score how unusual a point is for its class. They read the features and compute no kernel values, yet with
    a nonlinear kernel the number of kernel values is reported as "at least".

    On outlier-margin the detector selects the outliers, and the oracle computes the widest margin between the hulls of the
    inliers, or between their hull and the origin. The certificate is that of the problem over all points.
    """

    name = "filtered"
    conformance = Conformance(
        excused={
            "every_kernel_value_is_counted": "the detector reads the points",
            "ends_by_itself": "if the inliers cannot be separated, the oracle stops without being done",
        }
    )
    solves = (CSVC, CSVCNoBias, "outlier-margin")
    exact = False

    detector: Literal["isolation-forest", "local-outlier"] = parameter("isolation-forest", "detector of outliers")
    oracle: str | None = parameter(
        None, "exact solver for the inliers, by name; none: smo-block, on outlier-margin nearest-point"
    )
    share: float | None = parameter(
        None,
        "share of each class that is dropped, rounded down; none: on outlier-margin (1 + delta) times its share of outliers, "
        "else by the threshold of the detector",
        ge=0,
        lt=1,
    )
    gap: float = parameter(
        DEFAULT_RELATIVE_GAP, "relative duality gap of the oracle on the problem over the inliers", gt=0, lt=1
    )

    def skip(self, problem: ProblemSummary) -> str | None:
        """Return why the problem has no features or the oracle cannot solve it, or None."""
        if problem.kernel.name == "precomputed":
            return f"filtered: {self.detector} needs features, and a precomputed kernel has none; name a kernel."
        formulation = _inlier_formulation(problem)
        return oracle_refusal(self.name, self._oracle_for(formulation), takes(formulation))

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        """Yield the iterates of the oracle with zeros at the dropped points."""
        classes, began = _classes(problem), fit_clock()
        shares = [self.share if self.share is not None else _outlier_share(problem, name) for name, _ in classes]
        dropped = detect_outliers(self.detector, problem, [rows for _, rows in classes], shares, rng)
        seconds = fit_clock() - began
        for name, rows in classes:
            if dropped[rows].all():
                raise UsageError(
                    f"filtered: {self.detector} reports all {len(rows)} {name} as outliers; a point of each class must be left. "
                    "Give share, the share of each class that is dropped."
                )
        info = {
            "detector": self.detector,
            "detector_seconds": seconds,
            "dropped": int(dropped.sum()),
            **{f"dropped_{name}": int(dropped[rows].sum()) for name, rows in classes if len(classes) > 1},
        }
        inliers, stated = np.flatnonzero(~dropped), _as_outlier_margin(problem)
        inlier_problem: Problem = stated.inliers(inliers) if stated else problem.restrict(inliers)
        oracle, coef = Oracle(self._oracle_for(type(inlier_problem))), np.zeros(problem.n)
        for iterate in oracle.models(inlier_problem, self.name, gap=self.gap, rng=rng):
            coef[inliers] = iterate.dual_coef
            intercept = iterate.intercept
            if iterate.done and stated:
                intercept = stated.slab(problem.kernel.expand(coef)).intercept
            yield replace(iterate, dual_coef=coef, intercept=intercept, info={**iterate.info, **info})

    def _oracle_for(self, formulation: type[Problem]) -> str:
        return self.oracle or (_SVC_ORACLE if issubclass(formulation, CSVC) else _HULL_ORACLE)


def _inlier_formulation(problem: ProblemSummary) -> type[Problem]:
    """Return the formulation of the problem over the inliers."""
    if problem.formulation.name != "outlier-margin":
        return problem.formulation
    return PolytopeDistance if problem.settings.against == "origin" else HardMargin


def _as_outlier_margin(problem: Problem) -> Any:
    """Return the problem if its formulation is outlier-margin; else None."""
    return problem if problem.name == "outlier-margin" else None


def _classes(problem: Problem) -> list[tuple[str, Index]]:
    """Return the name and the points of each class, or of all points together against the origin."""
    if (stated := _as_outlier_margin(problem)) and stated.against_origin:
        return [("points", np.arange(problem.n))]
    positive = problem.targets > 0
    return [("positives", np.flatnonzero(positive)), ("negatives", np.flatnonzero(~positive))]


def _outlier_share(problem: Problem, name: str) -> float | None:
    """Return the share of outliers that the formulation allows in a class; None if it allows no outliers."""
    if not _as_outlier_margin(problem):
        return None
    share = {"positives": problem.settings.outliers_plus, "negatives": problem.settings.outliers_minus}.get(name)
    return float((1.0 + problem.settings.delta) * (problem.settings.outliers if share is None else share))


# -- detectors: each returns how unusual the points are, and which of them exceed its threshold ------------------------


def detect_outliers(
    detector: str, problem: Problem, classes: Sequence[Index], shares: Sequence[float | None], rng: np.random.Generator
) -> Mask:
    """Return the points that a detector drops, (n,).

    Parameters
    ----------
    classes : the points of each class, to which the detector is applied separately
    shares : share of each class that is dropped, rounded down and never all points; None: by the detector's threshold
    rng : source of the detector's seed

    Classes with fewer than three points have no outliers.
    """
    points, seed = problem.kernel.points, int(rng.integers(2**31))
    outliers = np.zeros(problem.n, dtype=bool)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # on duplicates
        for rows, share in zip(classes, shares, strict=True):
            count = len(rows) if share is None else min(rounded_down(share * len(rows)), len(rows) - 1)
            if len(rows) < _MIN_CLASS_SIZE or count == 0:
                continue
            unusualness, above = _DETECTORS[detector](points[rows], seed)
            chosen = np.flatnonzero(above) if share is None else np.argsort(-unusualness, kind="stable")[:count]
            outliers[rows[chosen]] = True
    return outliers


def _isolation_forest(x: Any, seed: int) -> tuple[Vector, Mask]:
    from sklearn.ensemble import IsolationForest

    forest = IsolationForest(random_state=seed).fit(x)
    scores = forest.score_samples(x)
    return -scores, scores < forest.offset_


def _local_outlier_factor(x: Any, _seed: int) -> tuple[Vector, Mask]:
    from sklearn.neighbors import LocalOutlierFactor

    model = LocalOutlierFactor(n_neighbors=min(_NEIGHBOURS, x.shape[0] - 1)).fit(x)
    return -model.negative_outlier_factor_, model.negative_outlier_factor_ < model.offset_


_DETECTORS = {"isolation-forest": _isolation_forest, "local-outlier": _local_outlier_factor}
