"""outlier-margin: the widest margin that is left when a share of the points may be given up as outliers.

    max over P' of P, Q' of Q    min { |Pu - Qv| : u on the simplex over P', v over Q' }

with |P'| + |Q'| >= (1 - outliers) n, or |P'| >= (1 - outliers_plus) |P| and |Q'| >= (1 - outliers_minus) |Q|. Against
the origin there is one set, all points, and Q is the origin. It is not convex and has no dual. A model is a direction
w = Pu - Qv, a point of the difference of both whole hulls (against the origin a point of the one hull): coef = +u on the
positives, -v on the negatives. Its margin lies between the worst points that it keeps; intercept = minus the middle.

Judged is a model by two criteria: it may give up (1 + delta) times the share, and its margin is compared with an upper
bound of the widest that gives up the share alone: the optimum itself up to 40 points (giving_up.py), else the least of
two relaxations (upper_margin.py). Counts are rounded down, and each class keeps a point.

Source: Ding & Xu, "Random gradient descent tree" (2015), Definitions 2 to 5. Their gamma is ``outliers`` here, as gamma
is the kernel's width.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Literal
from weakref import WeakKeyDictionary

import numpy as np

from harness.errors import UsageError
from harness.kernels.functions import RBF, Linear
from harness.kernels.oracle import KernelOracle
from harness.problems.dual import off_simplex
from harness.problems.giving_up import GivingUp
from harness.problems.hulls import HardMargin
from harness.problems.polytope_distance import PolytopeDistance
from harness.problems.problem import Certificate, Expansion, Laws, Parameters, Problem, cases, parameter
from harness.problems.rounding import Bounded, unit_of
from harness.problems.upper_margin import upper_margin
from harness.shares import rounded_down

if TYPE_CHECKING:
    from harness.arrays import Vector

_NODES = 20_000  # of the search that a certificate makes: a few seconds
_known: WeakKeyDictionary[Any, dict[Any, tuple[float, float]]] = WeakKeyDictionary()


@dataclass(frozen=True)
class OutlierMarginParameters(Parameters):
    """Parameters of outlier-margin."""

    formulation = "outlier-margin"

    outliers: float = parameter(
        0.1, "share of all points that may be given up, whatever their class", ge=0, lt=1, stands_for="outliers_plus"
    )
    outliers_plus: float | None = parameter(
        None, "share of the positives that may be given up; none: both classes share `outliers`", ge=0, lt=1
    )
    outliers_minus: float | None = parameter(
        None, "share of the negatives that may be given up; give it together with outliers_plus", ge=0, lt=1
    )
    delta: float = parameter(0.5, "a model may give up (1 + delta) times the share", ge=0, le=1)
    against: Literal["class", "origin"] = parameter(
        "class", "what the margin separates: the classes, or all points from the origin, whatever their labels"
    )


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

    @classmethod
    def zoo(cls) -> list[cases.Case]:
        case: Any = partial(cases.Case.of, cls)
        classes, wrong = [1.0] * 5 + [-1.0] * 5, [2.0, 3.0, 4.0, 5.0, -6.0, -2.0, -3.0, -4.0, -5.0, -4.5]
        line, ray = (
            np.outer(wrong, [0.6, 0.8]),
            np.outer([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, -1.0], [1.0, 1.0]),
        )
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
        told = ", ".join(f"{name}={value:g}" for name, value in shares.items() if value is not None)
        return (
            f"outlier-margin: {told} with delta={settings.delta:g} gives up {given_up} of {points}; each class must keep "
            "one at least: choose a smaller share, or a smaller delta."
        )

    def kept(self, scores: Vector) -> Kept:
        """Return the widest slab along a direction with ``scores`` <w, x_i>, (n,), that gives up what a model may."""
        up, down = self._ends(np.where(self.positive, scores, -scores))
        lowest, highest = float(up), 0.0 if self.against_origin else -float(down)
        wrong = np.where(self.positive, scores < lowest, scores > highest)
        return Kept(lowest, highest, int(wrong.sum()))

    def _ends(self, signed: Any) -> tuple[Any, Any]:
        """Return the least score kept of the positives, and of the negatives that of -<w, x>: their sum is the widest.

        signed : (n,) <w, x_i> of the positives, -<w, x_i> of the negatives; the sum rises in all of them
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
        """Lower and upper bound of the optimal margin, whatever the model; worked out once for the same data and share.

        Up to 40 points by branch and bound over who is given up, and so the optimum but for rounding, unless that takes
        more nodes than a certificate has; beyond, 0 and the least of the bounds of `harness.problems.upper_margin`.
        """
        kept = _known.setdefault(self.kernel.identity, {})
        key = self.share, self.against_origin, self.positive.tobytes(), self.kernel.ridge
        if key not in kept:
            kept[key] = self._searched() if self.n <= GivingUp.LARGEST else (0.0, upper_margin(self))
        return kept[key]

    def _searched(self) -> tuple[float, float]:
        for found in GivingUp(self).search():
            if found.done or found.nodes > _NODES:
                break
        return found.margin, found.upper if found.done else min(found.upper, upper_margin(self))

    def optimum(self) -> tuple[float, float] | None:
        lower, upper = self.bounds
        return (0.5 * lower**2, 0.5 * upper**2) if self.n <= GivingUp.LARGEST else None

    def inliers(self, indices: Any) -> Problem:
        """Return the problem whose optimum is the exact margin of the points ``indices``, none of them given up."""
        indices = np.asarray(indices, dtype=np.intp)
        formulation = PolytopeDistance if self.against_origin else HardMargin
        return formulation.build(self.kernel.restrict(indices), self.targets[indices])

    def bounded_certificate(self, dual_coef: Vector, intercept: float, model: Expansion) -> Certificate:
        """Return the margin along the model's direction against the upper bound of the optimal one; see the module.

        As objectives: 1/2 margin_lower^2, 0 where what is kept is not separated, and 1/2 margin_upper^2; the relative gap
        is 1 - (lower / upper)^2, and 0 of a model that is wider than the bound because it gives up more.


        margin_lower : of what is kept where the model gives up what it may; negative where that is not separated
        margin_upper : of all that gives up the share alone, see :attr:`bounds`
        epsilon, delta : the model is an (epsilon, delta)-approximation of Definitions 3 and 5 with this epsilon at most
        """
        violation = self.feasibility_violation(dual_coef)
        if not (dual_coef != 0.0).any():
            return Certificate(feasibility_violation=violation)
        signed = model.scores * np.where(self.positive, 1.0, -1.0)
        reach = signed.of_rising(lambda each: np.add(*self._ends(each)))
        # the ends are scores as they are; their sum is rounded, here and in what bounds it
        reach = Bounded(reach.value, reach.error + 4.0 * unit_of(signed.value.dtype) * abs(signed.value).max())
        return Certificate.of_kept_margin(
            model,
            reach,
            self.bounds[1],
            given_up=self.kept(model.scores.value).given_up,
            feasibility_violation=violation,
        )
