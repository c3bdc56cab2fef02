"""``filtered``: what users do where labels lie: drop what a detector of outliers points at, train an SVM on the rest.

The wrapper over any exact solver: the detector judges the points, the oracle solves the problem over those that are kept,
and its model, with zeros at the others, is the answer. The certificate is that of the problem over *all* points, whose
optimum is another: its gap is honest, and large where much was dropped. What a filter is good for shows in test errors.

Cost: the detector's passes over the features (an isolation forest's are linear in n, local outlier factors compare all
points of a class), then the oracle on fewer points. The detector holds the points of a class in memory, mapped ones too.
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

_FOR_HULLS, _FOR_OTHERS = "nearest-point", "smo-block"  # the oracle where none is named
_FEWEST = 3  # points of a class that tell what is usual in it
_NEIGHBOURS = 20  # of the local outlier factor, scikit-learn's default


@dataclass(frozen=True)
class Filtered(OverOracle):
    """An SVM on the points that a detector of outliers leaves; the rest have coefficient 0.

    Take it as the baseline of methods for wrong labels. Paper: Liu, Ting and Zhou 2008.

    Both detectors, scikit-learn's, look for points that are unusual for their class: isolation forests (Liu, Ting, Zhou
    2008) and local outlier factors (Breunig, Kriegel, Ng, Sander 2000). They look at the features and compute
    no kernel values, yet with a kernel that is not linear the count says "at least".

    On outlier-margin the filter gives up points in place of the solver, and the oracle finds the widest margin between
    the hulls of the others, or between their hull and the origin. The certificate is that of the problem over all
    points.
    """

    name = "filtered"
    conformance = Conformance(
        excused={
            "every_kernel_value_is_counted": "its detector looks at the points",
            "ends_by_itself": "where what it keeps cannot be separated its oracle says so, and is not done",
        }
    )
    solves = (CSVC, CSVCNoBias, "outlier-margin")
    exact = False

    detector: Literal["isolation-forest", "local-outlier"] = parameter("isolation-forest", "what tells outliers")
    oracle: str | None = parameter(
        None, "exact solver of what is left, by name; none: smo-block, on outlier-margin nearest-point"
    )
    share: float | None = parameter(
        None,
        "share of each class that is dropped, rounded down; none: (1 + delta) times the share of outlier-margin, elsewhere "
        "as many as the detector itself calls outliers",
        ge=0,
        lt=1,
    )
    gap: float = parameter(
        DEFAULT_RELATIVE_GAP, "relative duality gap asked of the oracle, of its own problem", gt=0, lt=1
    )

    def skip(self, problem: ProblemSummary) -> str | None:
        """Refuse points without features, and an oracle that is not there or solves something else."""
        if problem.kernel.name == "precomputed":
            return f"filtered: {self.detector} looks at features, and kernel values that were given have none; name a kernel."
        left = _formulation_left(problem)
        return oracle_refusal(self.name, self._oracle_for(left), takes(left))

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        """Yield as the oracle yields, its model with zeros at the points dropped."""
        sides, began = _sides(problem), fit_clock()
        shares = [self.share if self.share is not None else _given_up(problem, name) for name, _ in sides]
        dropped = flagged(self.detector, problem, [rows for _, rows in sides], shares, rng)
        seconds = fit_clock() - began
        for name, rows in sides:
            if dropped[rows].all():
                raise UsageError(
                    f"filtered: {self.detector} calls all {len(rows)} {name} outliers; expected a point of each class to be "
                    "left. Give share, the part of each class that is dropped."
                )
        told = {
            "detector": self.detector,
            "detector_seconds": seconds,
            "dropped": int(dropped.sum()),
            **{f"dropped_{name}": int(dropped[rows].sum()) for name, rows in sides if len(sides) > 1},
        }
        kept = np.flatnonzero(~dropped)
        rest = _restricted(problem, kept)
        oracle, coef = Oracle(self._oracle_for(type(rest))), np.zeros(problem.n)
        for found in oracle.models(rest, self.name, gap=self.gap, rng=rng):
            coef[kept] = found.dual_coef
            intercept = found.intercept
            if found.done and (stated := _with_outliers(problem)):
                intercept = stated.slab(problem.kernel.expand(coef)).intercept
            yield replace(found, dual_coef=coef, intercept=intercept, info={**found.info, **told})

    def _oracle_for(self, left: type[Problem]) -> str:
        return self.oracle or (_FOR_OTHERS if issubclass(left, CSVC) else _FOR_HULLS)


def _formulation_left(problem: ProblemSummary) -> type[Problem]:
    """Return the formulation of the problem that is left."""
    if problem.formulation.name != "outlier-margin":
        return problem.formulation
    return PolytopeDistance if problem.settings.against == "origin" else HardMargin


def _with_outliers(problem: Problem) -> Any:
    """Return the problem if its formulation gives points up; else None."""
    return problem if problem.name == "outlier-margin" else None


def _sides(problem: Problem) -> list[tuple[str, Index]]:
    """Return the points that are judged together: those of each class, or all against the origin."""
    if (stated := _with_outliers(problem)) and stated.against_origin:
        return [("points", np.arange(problem.n))]
    upper = problem.targets > 0
    return [("positives", np.flatnonzero(upper)), ("negatives", np.flatnonzero(~upper))]


def _given_up(problem: Problem, side: str) -> float | None:
    """Return the share of a side that a model of the formulation may give up; None: it gives up none."""
    if not _with_outliers(problem):
        return None
    own = {"positives": problem.settings.outliers_plus, "negatives": problem.settings.outliers_minus}.get(side)
    return float((1.0 + problem.settings.delta) * (problem.settings.outliers if own is None else own))


def _restricted(problem: Problem, kept: Index) -> Problem:
    """Return the problem that is left over the points ``kept``."""
    stated = _with_outliers(problem)
    rest: Problem = stated.inliers(kept) if stated else problem.restrict(kept)
    return rest


# -- detectors: how unusual each point is, and which they would call outliers themselves ------------------------------


def flagged(
    detector: str, problem: Problem, sides: Sequence[Index], shares: Sequence[float | None], rng: np.random.Generator
) -> Mask:
    """Return the points that a detector would drop, (n,).

    Parameters
    ----------
    sides : the points of each class, judged by themselves; against the origin all in one
    shares : of each class, the share that is dropped, rounded down, and never all; None: what the detector itself calls
        outliers
    rng : where its own randomness comes from

    Those of a class with fewer than three points are not judged.
    """
    points, seed = problem.kernel.points, int(rng.integers(2**31))
    found = np.zeros(problem.n, dtype=bool)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # on duplicates
        for rows, share in zip(sides, shares, strict=True):
            count = len(rows) if share is None else min(rounded_down(share * len(rows)), len(rows) - 1)
            if len(rows) < _FEWEST or count == 0:
                continue
            unusual, verdict = _DETECTORS[detector](points[rows], seed)
            chosen = np.flatnonzero(verdict) if share is None else np.argsort(-unusual, kind="stable")[:count]
            found[rows[chosen]] = True
    return found


def _isolated(x: Any, seed: int) -> tuple[Vector, Mask]:
    from sklearn.ensemble import IsolationForest

    forest = IsolationForest(random_state=seed).fit(x)
    scores = forest.score_samples(x)
    return -scores, scores < forest.offset_


def _local(x: Any, _seed: int) -> tuple[Vector, Mask]:
    from sklearn.neighbors import LocalOutlierFactor

    found = LocalOutlierFactor(n_neighbors=min(_NEIGHBOURS, x.shape[0] - 1)).fit(x)
    return -found.negative_outlier_factor_, found.negative_outlier_factor_ < found.offset_


_DETECTORS = {"isolation-forest": _isolated, "local-outlier": _local}
