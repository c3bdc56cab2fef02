"""outlier-margin: the widest margin that is left when a share of the points may be given up as outliers.

    max over P' of P, Q' of Q    min { |Pu - Qv| : u on the simplex over P', v over Q' }

with |P'| + |Q'| >= (1 - outliers) n, or |P'| >= (1 - outliers_plus) |P| and |Q'| >= (1 - outliers_minus) |Q|. Against
the origin there is one set, all points, and Q is the origin. It is not convex and has no dual. A model is a direction
w = Pu - Qv, a point of the difference of both whole hulls (against the origin a point of the one hull): coef = +u on the
positives, -v on the negatives. Its margin lies between the worst points that it keeps; intercept = minus the middle.

Judged is a model by two criteria: it may give up (1 + delta) times the share, and its margin is compared with the
widest that gives up the share alone. Counts are rounded down, and each class keeps a point.

Source: Ding & Xu, "Random gradient descent tree" (2015), Definitions 2 to 5. Their gamma is ``outliers`` here, as gamma
is the kernel's width.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from harness import parameters
from harness.errors import UsageError
from harness.kernels.oracle import KernelOracle
from harness.parameters import parameter
from harness.problems.expansion import Expansion
from harness.problems.problem import Certificate, Laws, Problem

if TYPE_CHECKING:
    from harness.arrays import Vector

_ROUNDING = 1e-9  # a share times a number of points is a whole number up to this


@dataclass(frozen=True)
class OutlierMarginParameters:
    """Parameters of outlier-margin."""

    outliers: float = parameter(0.1, "share of all points that may be given up, whatever their class", ge=0, lt=1)
    outliers_plus: float | None = parameter(
        None, "share of the positives that may be given up; none: both classes share `outliers`", ge=0, lt=1
    )
    outliers_minus: float | None = parameter(
        None, "share of the negatives; given if and only if outliers_plus is", ge=0, lt=1
    )
    delta: float = parameter(0.5, "a model may give up (1 + delta) times the share", ge=0, le=1)
    against: Literal["class", "origin"] = parameter(
        "class", "what the margin separates: the classes, or all points from the origin; the labels then take no part"
    )

    def __post_init__(self) -> None:
        parameters.check(self, owner="formulation 'outlier-margin'")


@dataclass(frozen=True)
class Allowance:
    """How many points may be given up: of the positives (against the origin: of all), of the negatives, and in sum."""

    positive: int
    negative: int
    both: int

    def splits(self) -> range:
        """Return the numbers of positives that may be given up where ``both`` points are."""
        return range(max(0, self.both - self.negative), min(self.positive, self.both) + 1)


@dataclass(frozen=True)
class Kept:
    """The margin of one direction: the slab between the worst points that are kept.

    lowest : the least score of the positives kept (against the origin: of all points)
    highest : the largest score of the negatives kept (against the origin: 0)
    given_up : points on the wrong side of the slab or inside of it
    """

    lowest: float
    highest: float
    given_up: int

    @property
    def reach(self) -> float:
        """Width of the slab times |w|; negative where what is kept is not separated."""
        return self.lowest - self.highest


class OutlierMargin(Problem):
    """The widest margin after giving up a share of the points.

    share : what the optimum may give up; allowance : what a model may, (1 + delta) times as many
    positive : (n,) bool, the points on the margin's upper side: the positives, or all points against the origin
    """

    name = "outlier-margin"
    parameter_class = OutlierMarginParameters
    constraints = "y_i dual_coef_i >= 0, summing to 1 over each class (against the origin: dual_coef_i >= 0, sum 1)"
    laws = Laws(doubled={}, objective=1)

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
            first = _whole(factor * settings.outliers_plus * positives)
            second = _whole(factor * settings.outliers_minus * negatives)
            for name, given_up, count in (("positives", first, positives), ("negatives", second, negatives)):
                if given_up >= count:
                    raise UsageError(self._too_many(given_up, f"{count} {name}"))
            return Allowance(first, second, first + second)
        both, sides = _whole(factor * settings.outliers * self.n), 1 if self.against_origin else 2
        if both > self.n - sides:
            raise UsageError(self._too_many(both, f"{self.n} points"))
        return Allowance(min(both, positives - 1), min(both, max(0, negatives - 1)), both)

    def _too_many(self, given_up: int, points: str) -> str:
        settings = self.settings
        shares = {name: getattr(settings, name) for name in ("outliers", "outliers_plus", "outliers_minus")}
        told = ", ".join(f"{name}={value:g}" for name, value in shares.items() if value is not None)
        return (
            f"outlier-margin: {told} with delta={settings.delta:g} gives up {given_up} of {points}; each class must keep "
            "one at least: choose a smaller share, or a smaller delta."
        )

    def kept(self, scores: Vector) -> Kept:
        """Return the widest slab along a direction with ``scores`` <w, x_i>, (n,), that gives up what a model may."""
        return self._slab(scores, self.allowance)

    def _slab(self, scores: Vector, allowance: Allowance) -> Kept:
        up = np.sort(scores[self.positive])
        if self.against_origin:
            lowest = float(up[allowance.both])
            return Kept(lowest, 0.0, int((scores < lowest).sum()))
        down = np.sort(-scores[~self.positive])
        dropped = np.asarray(allowance.splits())
        reach = up[dropped] + down[allowance.both - dropped]
        best = int(np.argmax(reach))
        lowest, highest = float(up[dropped[best]]), -float(down[allowance.both - dropped[best]])
        wrong = np.where(self.positive, scores < lowest, scores > highest)
        return Kept(lowest, highest, int(wrong.sum()))

    def feasibility_violation(self, dual_coef: Vector) -> float:
        weights = dual_coef if self.against_origin else self.targets * dual_coef
        sums = [abs(float(weights[side].sum()) - 1.0) for side in (self.positive, ~self.positive) if side.any()]
        return max(*sums, float(-weights.min()), 0.0)

    def certificate(
        self, dual_coef: Vector, intercept: float, scores: Vector, expansion: Expansion | None = None
    ) -> Certificate:
        """Return the realised margin; see the module."""
        violation = self.feasibility_violation(dual_coef)
        model = expansion or self.expansion_of(dual_coef, scores)
        length = float(model.squared.sqrt().value)
        kept = self.kept(scores)
        lower = kept.reach / length if length > 0.0 else 0.0
        return Certificate(primal=0.5 * max(0.0, lower) ** 2, feasibility_violation=violation, margin_lower=lower)


def _whole(number: float) -> int:
    return int(np.floor(number + _ROUNDING))
