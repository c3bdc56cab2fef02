"""hard-margin, l2-svc and reduced-hull: the nearest points of two (reduced) convex hulls.

    min 1/2 |Pu - Qv|^2     u, v on the simplex; reduced-hull: u_i <= D_+, v_j <= D_-

coef = +u on the positives, -v on the negatives; w = sum_i coef_i phi(x_i); intercept = -threshold.
l2-svc is the hard-margin problem of k + delta_ij / chi (Kumar & Yildirim 2009, section 2.3).

The margin of the optimal hyperplane lies in [<w, z> / |w|, |w|], z the difference of the hulls'
extreme points along w, so that lower and upper bound certify each other. As objectives: the dual value
is 1/2 |w|^2 (minimised), the primal value of the direction w is 1/2 lower^2 (maximised); the gap is
their difference and the relative gap is over the dual value: 1 - (lower / upper)^2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from harness.kernels.oracle import KernelOracle
from harness.problems import cases
from harness.problems.dual import DualForm, off_simplex, two_hulls
from harness.problems.problem import Certificate, Expansion, Laws, NoParameters, Parameters, Problem
from harness.problems.rounding import Bounded, unit_of
from harness.support.errors import UsageError
from harness.support.parameters import parameter

if TYPE_CHECKING:
    from harness.support.arrays import Vector

_NEWTON = 50  # largest number of Newton steps


class HardMargin(Problem):
    """The nearest points of conv(P) and conv(Q)."""

    name = "hard-margin"
    parameter_class: ClassVar[type] = NoParameters
    constraints = "y_i dual_coef_i >= 0, summing to 1 over each class"
    laws = Laws(doubled={}, objective=1)
    bounded_from = "above"
    has_core_set = True
    caps: tuple[float, float] = (1.0, 1.0)  # upper bounds of u_i (positives) and v_j (negatives); 1 for full hulls

    @classmethod
    def zoo(cls) -> list[cases.Case]:
        # full hulls with points in both classes touch, so that w = 0
        return cases.two_classes(cls, pair=2.0, three=2.0, opposite=False)

    def dual_form(self) -> DualForm:
        return replace(two_hulls(self.targets, self.caps), relative=True)

    def feasibility_violation(self, dual_coef: Vector) -> float:
        positive = self.targets > 0
        return off_simplex(self.targets * dual_coef, (positive, ~positive), self.caps)

    def _nearest(self, scores: Bounded) -> tuple[Bounded, Bounded]:
        """Return the least score of P's hull and the largest of Q's."""
        positive = self.targets > 0
        return scores[positive].of_rising(np.min), scores[~positive].of_rising(np.max)

    def _farthest(self, dual_coef: Vector, scores: Vector) -> tuple[float, float]:
        """Return the largest score of the face of P's hull with the model's point, and the least of Q's."""
        positive = self.targets > 0
        used = dual_coef != 0.0
        return float(scores[positive & used].max()), float(scores[~positive & used].min())

    def bounded_certificate(self, dual_coef: Vector, intercept: float, model: Expansion) -> Certificate:
        """Return margin bounds, epsilon of Kumar & Yildirim (10), (11), and the gap as defined in this module."""
        violation = self.feasibility_violation(dual_coef)
        positive, used = self.targets > 0, dual_coef != 0.0
        if not (positive & used).any() or not (~positive & used).any():
            return Certificate(feasibility_violation=violation)
        near_p, near_q = self._nearest(model.scores)
        far_p, far_q = self._farthest(dual_coef, model.scores.value)
        return Certificate.of_margin(
            model,
            near_p - near_q,
            far_p - far_q,
            kkt_violation=max(0.0, far_p - float(near_p.value), float(near_q.value) - far_q),
            feasibility_violation=violation,
        )

    def primal_of(self, squared: Bounded, scores: Bounded, intercept: float) -> Bounded:
        near_p, near_q = self._nearest(scores)
        lower = ((near_p - near_q) / squared.sqrt()).positive() if squared.lower > 0.0 else Bounded.exact(0.0)
        return lower * lower * 0.5


@dataclass(frozen=True)
class L2SVCParameters(Parameters):
    """Parameters of l2-svc; ``C`` is the default of chi."""

    formulation = "l2-svc"

    C: float = parameter(
        1.0, "penalty of a squared violation; stands for chi where chi is none", gt=0, stands_for="chi"
    )
    chi: float | None = parameter(None, "penalty of a squared violation, chi / 2 xi^2; none: chi = C", gt=0)


class L2SVC(HardMargin):
    """Squared violations with penalty chi: the hard-margin problem of the kernel k + delta_ij / chi.

    Up to a positive scale of (w, b) the squared-hinge SVM 1/2 |w|^2 + chi/2 sum max(0, 1 - y (f + b))^2.
    """

    name = "l2-svc"
    parameter_class = L2SVCParameters
    laws = Laws(doubled={"chi": 0.5}, scaled={"chi": -1}, objective=1)
    bounds_weights = True

    @classmethod
    def zoo(cls) -> list[cases.Case]:
        return cases.two_classes(cls, {"C": 10.0}, {"C": 1.0}, pair=2.1)

    def __init__(self, kernel: KernelOracle, targets: Any, settings: Any) -> None:
        self.chi = float(settings.C if settings.chi is None else settings.chi)
        ridge = 1.0 / self.chi
        settings = replace(settings, chi=self.chi)
        super().__init__(kernel if kernel.ridge == ridge else kernel.replace(ridge=ridge), targets, settings)

    def primal_of(self, squared: Bounded, scores: Bounded, intercept: float) -> Bounded:
        """Return half the squared margin of (w, xi): 1 over the squared-hinge objective at the best positive multiple of f."""
        margins = (scores + intercept) * self.targets
        times = self._times(float(squared.value), margins.value)
        slack = (1.0 - margins * times).positive()
        return Bounded.exact(1.0) / (squared * (0.5 * times * times) + slack.dot(slack) * (0.5 * self.chi))

    def _times(self, squared: float, margins: Any) -> float:
        """Return the t >= 0 that minimises the convex t^2 |w|^2 / 2 + chi / 2 sum max(0, 1 - t y f)^2, by Newton's method."""
        times = 0.0
        for _ in range(_NEWTON):
            short = np.asarray(margins[times * margins < 1.0], dtype=np.float64)
            curvature = squared + self.chi * float(short @ short)
            update = max(0.0, self.chi * float(short.sum()) / curvature) if curvature > 0.0 else 0.0
            if update == times:
                break
            times = update
        return times

    def dual_point(self, model: Expansion, intercept: float) -> Vector:
        """Return coefficients in proportion to the violations, as at the optimum."""
        margins = np.asarray(self.targets * (model.scores.value + intercept), dtype=np.float64)
        short = np.maximum(0.0, 1.0 - self._times(float(model.squared.value), margins) * margins)
        coef = np.zeros(self.n)
        for label in (1.0, -1.0):
            members = np.flatnonzero(self.targets == label)
            weights = short[members]
            weights = weights if weights.any() else margins[members] == margins[members].min()
            coef[members] = label * weights / weights.sum()
        return coef

    def certificate_with_dual(self, primal: Bounded, dual_coef: Vector, model: Expansion) -> Certificate:
        """Return the certificate of two margins: that of the model, and the distance of the hulls' points in the dual point."""
        return Certificate.of_two_margins(model, primal)


@dataclass(frozen=True)
class ReducedHullParameters(Parameters):
    """Parameters of reduced-hull."""

    formulation = "reduced-hull"

    D: float | None = parameter(
        None, "cap of each weight, 1/k; none: the cap of nu = 0.5, 4 / n, if feasible", gt=0, le=1
    )
    D_minus: float | None = parameter(None, "cap of the weights of the negatives; none: D", gt=0, le=1)


class ReducedHull(HardMargin):
    """The nearest points of two reduced hulls: no weight above the cap of its class (Balcazar et al., (P2) = (P5)).

    cap : D with its default resolved: the cap of the positives, and of the negatives unless ``D_minus`` is given
    """

    name = "reduced-hull"
    parameter_class = ReducedHullParameters
    constraints = "0 <= y_i dual_coef_i <= D (negatives: D_minus, if given), summing to 1 over each class"
    laws = Laws(doubled={"D": 0.5, "D_minus": 0.5}, objective=1)

    @classmethod
    def zoo(cls) -> list[cases.Case]:
        return cases.two_classes(cls, pair=2.0, three=2.0)

    def __init__(self, kernel: KernelOracle, targets: Any, settings: Any) -> None:
        positives = int((np.asarray(targets) > 0).sum())
        hulls = {"positives": positives, "negatives": kernel.n - positives}
        self.caps = settled_caps(self.name, settings, kernel.n, hulls)
        self.cap = self.caps[0]
        super().__init__(kernel, targets, replace(settings, D=self.cap))

    def _nearest(self, scores: Bounded) -> tuple[Bounded, Bounded]:
        positive = self.targets > 0
        cap_positive, cap_negative = self.caps
        return _bounded_minimum(scores[positive], cap_positive), -_bounded_minimum(-scores[~positive], cap_negative)

    def _farthest(self, dual_coef: Vector, scores: Vector) -> tuple[float, float]:
        # the worst reduced-hull point of the same face; points at the cap stay at the cap
        positive = self.targets > 0
        weights = self.targets * dual_coef
        cap_positive, cap_negative = self.caps
        far_p = -_face_minimum(-scores[positive], weights[positive], cap_positive)
        return far_p, _face_minimum(scores[~positive], weights[~positive], cap_negative)


def settled_caps(formulation: str, settings: Any, n: int, hulls: Mapping[str, int]) -> tuple[float, float]:
    """Return the caps of both hulls from the parameters ``D`` and ``D_minus`` of ``formulation`` for n points.

    hulls : name of the points of each hull -> their number

    Raises
    ------
    UsageError : the points of a hull cannot have weights that sum to 1.
    """
    least = [1.0 / max(1, count) for count in hulls.values()]
    first = max(*least, min(1.0, 4.0 / n)) if settings.D is None else float(settings.D)
    caps = (first, first) if settings.D_minus is None else (first, float(settings.D_minus))
    names = "D", "D" if settings.D_minus is None else "D_minus"
    worst = max(0, 1, key=lambda side: least[side] / caps[side])
    if caps[worst] < least[worst] * (1.0 - 1e-12):
        name, count = list(hulls.items())[worst]
        raise UsageError(
            f"{formulation}: {names[worst]}={caps[worst]:g} leaves the hull of the {count} {name} empty; "
            f"{names[worst]} must be at least 1/{max(1, count)} = {least[worst]:g}."
        )
    return caps


def _greedy(values: Any, cap: float) -> Any:
    """Return the minimum of <values, u> over u on the simplex with u_i <= cap, in the precision of ``values``.

    The greedy sum: the smallest values with weight ``cap`` each until the weights sum to 1, the last one fractional.
    """
    whole = min(len(values), int(1 / Fraction(cap)))
    rest = float(1 - whole * Fraction(cap))  # if rounding the cap makes the hull empty, the largest value has the rest
    ordered = np.sort(values if whole >= len(values) else np.partition(values, whole)[: whole + 1])
    above = ordered - ordered[0]
    return ordered[0] + (cap * above[:whole].sum() + rest * above[-1])


def _bounded_minimum(values: Bounded, cap: float) -> Bounded:
    """Return the minimum of `_greedy` for values with errors, with a bound of its error."""
    minimum = values.of_rising(lambda v: _greedy(v, cap))
    size = abs(minimum.value) + abs(values.value.min()) + minimum.error
    return Bounded(minimum.value, minimum.error + 100 * unit_of(size.dtype) * size)


def _face_minimum(values: Vector, weights: Vector, cap: float) -> float:
    """Return the minimum of `_greedy` over the smallest face of the reduced hull that contains ``weights``."""
    fixed = weights >= cap * (1.0 - 1e-9)
    free = (weights > 0.0) & ~fixed
    total = cap * float(values[fixed].sum())
    mass = 1.0 - cap * int(fixed.sum())
    if mass <= 1e-12 or not free.any():
        return total
    return total + mass * float(_greedy(values[free], min(1.0, cap / mass)))
