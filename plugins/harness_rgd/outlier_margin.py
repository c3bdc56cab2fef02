"""Formulation outlier-margin: the widest margin after giving up a share of the points as outliers.

    max over P' of P, Q' of Q    min { |Pu - Qv| : u on the simplex over P', v over Q' }

with |P'| + |Q'| >= (1 - outliers) n, or |P'| >= (1 - outliers_plus) |P| and |Q'| >= (1 - outliers_minus) |Q|. Against the origin
P is all points and Q is the origin. The problem is not convex and has no dual. A model is a direction w = Pu - Qv, a point of the
difference of both full hulls (against the origin, of the hull of all points): coef = +u on the positives, -v on the negatives. Its
margin is that between the worst points that are not given up; the intercept is minus its middle.

A model may give up (1 + delta) times the share. The certificate compares its margin with an upper bound of the margin of every
model that gives up only the share: the optimum for up to 40 points (outlier_search.py), else the smaller of two relaxations
(upper_margin.py). Counts are rounded down, and at least one point of each class is retained.

Source: Ding & Xu, "Random gradient descent tree" (2015), Definitions 2 to 5. Their gamma is ``outliers`` here, as gamma
is the width of the RBF kernel.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Literal, NamedTuple

import numpy as np

from harness import RBF, CertifiedRun, Column, Conformance, KernelOracle, Linear, UsageError, get_solver, rounded_down
from harness.problems import HardMargin, PolytopeDistance
from harness.problems.certificate import float_above, float_below, undecided
from harness.problems.dual import off_simplex
from harness.problems.problem import Bounded, Certificate, Expansion, Laws, Parameters, Problem, cases, parameter
from harness.problems.rounding import unit_of
from harness.support.arrays import Vector
from harness_rgd.inlier_margin import cached_result, inlier_margin
from harness_rgd.outlier_search import MAX_POINTS, OutlierSearch
from harness_rgd.upper_margin import upper_margin

_MAX_NODES = 20_000  # largest number of nodes of the search for a certificate, which take a few seconds


@dataclass(frozen=True)
class OutlierMarginParameters(Parameters):
    """Parameters of outlier-margin."""

    formulation = "outlier-margin"

    outliers: float = parameter(
        0.1, "share of all points, of either class, that may be given up", ge=0, lt=1, stands_for="outliers_plus"
    )
    outliers_plus: float | None = parameter(
        None, "share of the positives that may be given up; none: both classes share `outliers`", ge=0, lt=1
    )
    outliers_minus: float | None = parameter(
        None, "share of the negatives that may be given up; requires outliers_plus", ge=0, lt=1
    )
    delta: float = parameter(0.5, "a model may give up (1 + delta) times the share", ge=0, le=1)
    against: Literal["class", "origin"] = parameter(
        "class", "class: the margin separates the classes; origin: all points, of either label, from the origin"
    )


@dataclass(frozen=True)
class Allowance:
    """Number of points that may be given up: of the positives (against the origin: of all), of the negatives, of both."""

    positive: int
    negative: int
    both: int

    def splits(self) -> range:
        """Return the numbers of positives that may be given up if ``both`` points are given up in total."""
        return range(max(0, self.both - self.negative), min(self.positive, self.both) + 1)


class Slab(NamedTuple):
    """The slab between the worst points of both classes that are not given up.

    lowest : least score of the retained positives (against the origin: of the retained points)
    highest : largest score of the retained negatives (against the origin: 0)
    dropped : number of points given up on each side
    """

    lowest: float
    highest: float
    dropped: tuple[int, ...] = ()

    @property
    def intercept(self) -> float:
        """The intercept of the plane in the middle."""
        return -0.5 * (self.lowest + self.highest)


class OutlierMargin(Problem):
    """The widest margin after giving up a share of the points.

    share : number of points that the optimum may give up
    allowance : number of points that a model may give up, (1 + delta) times as many
    positive : (n,) bool, the points on the upper side of the margin: the positives, or all points against the origin
    """

    name = "outlier-margin"
    parameter_class = OutlierMarginParameters
    constraints = "y_i dual_coef_i >= 0, summing to 1 over each class (against the origin: dual_coef_i >= 0, sum 1)"
    laws = Laws(doubled={}, objective=1)
    conformance = Conformance(
        excused={
            "primal_bounds_every_dual": "a model may give up (1 + delta) times the share, and then exceed the bound"
        }
    )
    columns = (
        Column("margin_lower", "", "high", "margin of the model, which may give up (1 + delta) times the share.", "margin"),
        Column("margin_upper", "", None, "upper bound of the margin of every model that gives up only the share.", "margin\nbound"),
        Column("given_up", "points", None, "points inside the margin or on the wrong side."),
        Column("inlier_margin", "", None, "margin of the points that the data set did not plant as outliers; 0 if their hulls meet.",
               "inliers'\nmargin"),
        Column("inlier_ratio", "", None, "margin of the model over it; above 1 if the model gives up other points.", "of\ninliers'"),
        Column("inlier_solver", "", None, "solver of the inliers' margin; --core-set-oracle sets it."),
    )  # fmt: skip

    @classmethod
    def zoo(cls) -> list[cases.Case]:
        case: Any = partial(cases.Case.of, cls)
        classes, wrong = [1.0] * 5 + [-1.0] * 5, [2.0, 3.0, 4.0, 5.0, -6.0, -2.0, -3.0, -4.0, -5.0, -4.5]
        line, ray = np.outer(wrong, [0.6, 0.8]), np.outer([*range(1, 10), -1], [1.0, 1.0])
        each, origin = {"outliers_plus": 0.2, "outliers_minus": 0.0}, {"outliers": 0.1, "against": "origin"}
        x, y = cases.overlapping(20)
        few, labels = cases.separable(10)
        whole, rbf = {"outliers": 0.1, "delta": 0.0}, RBF(gamma=0.5)
        return [
            case("line", line, classes, Linear(), whole, "protocol", optimum=8.0),
            case("line-each-class", line, classes, Linear(), each, optimum=8.0),
            case("ray", ray, classes, Linear(), origin, "protocol", optimum=1.0),
            case("overlapping", x, y, Linear(), {"outliers": 0.3}, "protocol"),
            case("overlapping-rbf", x, y, rbf, {"outliers": 0.1}, "protocol"),
            case("cloud", x + 1.0, y, Linear(), {**origin, "outliers": 0.2}),
            case("constant-feature", cases.with_constant(few), labels, Linear(), {"outliers": 0.2}),
            case("duplicates", np.concatenate([few, few]), [*labels, *labels], rbf, whole),
            case("nobody", few, labels, Linear(), {"outliers": 0.0}),
            case("meets", line, classes, Linear(), {"outliers": 0.0}, "meets"),
        ]

    def __init__(self, kernel: KernelOracle, targets: Any, settings: Any) -> None:
        super().__init__(kernel, targets, settings)
        if (settings.outliers_plus is None) != (settings.outliers_minus is None):
            given = "outliers_plus" if settings.outliers_minus is None else "outliers_minus"
            raise UsageError(
                f"outlier-margin: {given} is given alone; give a share for each class, outliers_plus and outliers_minus, "
                "or one for both, outliers."
            )
        if self.against_origin and settings.outliers_plus is not None:
            raise UsageError("outlier-margin: against the origin there are no classes; give `outliers` alone.")
        self.positive = np.ones(self.n, dtype=bool) if self.against_origin else self.targets > 0
        self.positive.flags.writeable = False
        self.share = self._allowed(1.0)
        self.allowance = self._allowed(1.0 + settings.delta)

    @property
    def against_origin(self) -> bool:
        """Whether the margin separates all points from the origin."""
        return bool(self.settings.against == "origin")

    def _allowed(self, factor: float) -> Allowance:
        settings, positives = self.settings, int(self.positive.sum())
        negatives = self.n - positives
        if settings.outliers_plus is not None:
            first = rounded_down(factor * settings.outliers_plus * positives)
            second = rounded_down(factor * settings.outliers_minus * negatives)
            for name, given_up, count in (("positives", first, positives), ("negatives", second, negatives)):
                if given_up >= count:
                    raise UsageError(self._too_many(given_up, f"{count} {name}"))
            return Allowance(first, second, first + second)
        both, sides = rounded_down(factor * settings.outliers * self.n), 1 if self.against_origin else 2
        if both > self.n - sides:
            raise UsageError(self._too_many(both, f"{self.n} points"))
        return Allowance(min(both, positives - 1), min(both, max(0, negatives - 1)), both)

    def _too_many(self, given_up: int, points: str) -> str:
        settings = self.settings
        shares = {name: getattr(settings, name) for name in ("outliers", "outliers_plus", "outliers_minus")}
        values = ", ".join(f"{name}={value:g}" for name, value in shares.items() if value is not None)
        return (
            f"outlier-margin: {values} with delta={settings.delta:g} gives up {given_up} of {points}; at least one point of "
            "each class must be left: choose a smaller share, or a smaller delta."
        )

    def slab(self, scores: Vector) -> Slab:
        """Return the widest slab along a direction with ``scores`` <w, x_i>, (n,), after giving up ``allowance``."""
        up, down = self._ends(np.where(self.positive, scores, -scores))
        return Slab(float(up), 0.0 if self.against_origin else -float(down))

    def given_up(self, scores: Vector) -> int:
        """Return the number of points inside the slab or on its wrong side."""
        slab = self.slab(scores)
        return int(np.where(self.positive, scores < slab.lowest, scores > slab.highest).sum())

    def _ends(self, signed: Any) -> tuple[Any, Any]:
        """Return the least signed score of the retained positives and of the retained negatives with the largest sum.

        signed : (n,) <w, x_i> of the positives, -<w, x_i> of the negatives; the sum increases with each of them
        """
        allowance, up = self.allowance, np.sort(signed[self.positive])
        if self.against_origin:
            return up[allowance.both], up.dtype.type(0.0)
        down, dropped = np.sort(signed[~self.positive]), np.asarray(allowance.splits())
        best = int(dropped[np.argmax(up[dropped] + down[allowance.both - dropped])])
        return up[best], down[allowance.both - best]

    def feasibility_violation(self, dual_coef: Vector) -> float:
        weights = dual_coef if self.against_origin else self.targets * dual_coef
        hulls = [side for side in (self.positive, ~self.positive) if side.any()]
        return off_simplex(weights, hulls, [np.inf] * len(hulls))

    @cached_property
    def bounds(self) -> tuple[float, float]:
        """Lower and upper bound of the optimal margin; cached by data and share.

        Up to 40 points by branch and bound, which gives the optimum up to rounding unless it needs more than 20,000 nodes; for
        more points 0 and the smallest bound of `harness_rgd.upper_margin`.
        """
        key = self.share, self.against_origin, self.positive.tobytes()
        bounds: tuple[float, float] = cached_result(self.kernel, key, self._bounds)
        return bounds

    def _bounds(self) -> tuple[float, float]:
        if self.n > MAX_POINTS:
            return 0.0, upper_margin(self)
        for state in OutlierSearch(self).search():
            if state.done or state.nodes > _MAX_NODES:
                break
        return state.margin, state.upper if state.done else min(state.upper, upper_margin(self))

    def figures(self, run: CertifiedRun) -> Mapping[str, Any]:
        """Return the number of points given up, and the margin of the inliers if the data set planted outliers."""
        margin = run.certificate.margin_lower
        figures: dict[str, Any] = {} if margin is None else {"given_up": self.given_up(run.scores)}
        planted, bounds = run.planted, list[float]()
        if planted is None:
            return figures
        solver = run.solver or get_solver("qp" if self.against_origin else "smo-block")

        def inlier_upper() -> float:
            inliers, key = self.inliers(np.flatnonzero(~planted)), (solver, self.against_origin, planted.tobytes())
            bounds[:] = cached_result(self.kernel, key, partial(inlier_margin, inliers, solver))
            return bounds[1]

        def ratio() -> float | None:
            return margin / bounds[1] if margin is not None and bounds and bounds[0] > 0.0 else None

        return {**figures, "inlier_solver": solver.name, "inlier_margin": inlier_upper, "inlier_ratio": ratio}

    def inliers(self, indices: Any) -> Problem:
        """Return the convex problem of the margin of the points ``indices``, which gives up none of them."""
        indices = np.asarray(indices, dtype=np.intp)
        formulation = PolytopeDistance if self.against_origin else HardMargin
        return formulation.build(self.kernel.restrict(indices), self.targets[indices])

    def bounded_certificate(self, dual_coef: Vector, intercept: float, model: Expansion) -> Certificate:
        """Return the margin along the model's direction with the upper bound of the optimal margin.

        The objectives are 1/2 margin_lower^2, 0 if the retained points are not separated, and 1/2 margin_upper^2. The relative
        gap is 1 - (lower / upper)^2, or 0 if the margin exceeds the bound because the model gives up more points.

        margin_lower : margin of the model after it gives up ``allowance``; negative if the retained points are not separated
        margin_upper : upper bound of the margin of every model that gives up only the share, see :attr:`bounds`
        epsilon : the model is an (epsilon, delta)-approximation of Definitions 3 and 5 for this epsilon
        """
        violation = self.feasibility_violation(dual_coef)
        if not (dual_coef != 0.0).any():
            return Certificate(feasibility_violation=violation)
        signed = model.scores * np.where(self.positive, 1.0, -1.0)
        reach = signed.of_rising(lambda values: np.add(*self._ends(values)))
        # the ends are exact scores, but their sum is rounded, in the value and in its bounds
        reach = Bounded(reach.value, reach.error + 4.0 * unit_of(signed.value.dtype) * abs(signed.value).max())
        upper = self.bounds[1]
        dual = 0.5 * upper * upper
        if not model.squared.finite or not reach.finite or not np.isfinite(dual):
            return Certificate.of_gap(Bounded.exact(np.nan), known=False, feasibility_violation=violation)
        if not model.has_direction and not model.vanishes:
            return Certificate(undecidable=undecided(model), feasibility_violation=violation)
        with np.errstate(all="ignore"):
            lower = reach / model.squared.sqrt() if model.has_direction else Bounded.exact(0.0)
            ratio = (
                (lower / upper).of_rising(lambda values: np.clip(values, 0.0, 1.0))
                if upper > 0.0
                else Bounded.exact(1.0)
            )
            relative = (1.0 - ratio) * (ratio + 1.0)
        gap = max(0.0, float(relative.value))
        return Certificate.of_gap(
            relative,
            known=model.known,
            primal=(lower.positive() * lower.positive()) * 0.5,
            dual=dual,
            gap=dual * gap,
            relative_gap=gap,
            epsilon=min(1.0, float_above(np.maximum(0.0, (1.0 - ratio).upper)) or 0.0),
            margin_lower=float_below(lower.lower),
            margin_upper=upper,
            feasibility_violation=violation,
        )
