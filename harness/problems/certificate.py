"""Certificates of models: figures that the host computes, with bounds of their rounding if known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.problems.expansion import Expansion
from harness.problems.rounding import Bounded
from harness.support.decimals import UNKNOWN_ROUNDING

if TYPE_CHECKING:
    from harness.support.arrays import Mask, Vector

_USELESS = 0.25  # rounding of a relative gap, as a fraction of max(1, gap), above which the gap is undecidable
_FINE_SHARE = 1e-2  # rounding of a relative gap, as a fraction of the gap, that is tolerated
_FINE = 1e-10  # rounding of a relative gap that is always tolerated


@dataclass(frozen=True)
class Certificate:
    """Figures of a model that the harness computes; None if the formulation has no such figure.

    primal, dual : objective values of the model's primal and dual points, in the units of the formulation
    gap : the duality gap, >= 0 up to rounding; an upper bound on the distance of either from the optimum
    relative_gap : the gap over the formulation's scale (see each problem): the best computed value
    gap_rounding : bound of the difference between ``relative_gap`` and the exact relative gap; None if unknown. The exact gap
        is that of the given float64 coefficients and intercept, with kernel values that are exact functions of the float64
        points. The coefficients satisfy the sums of the constraints exactly, as an offset of the data would magnify violations
    undecidable : why rounding leaves no useful gap, in a sentence; then all figures but the violations are None
    kkt_violation : largest violation of the optimality conditions, in units of f(x)
    feasibility_violation : largest violation of the dual's constraints, relative to their scale
    epsilon : 1 - lower / upper margin bound; the margin is at least (1 - epsilon) times the optimal one
    epsilon_plus, epsilon_minus : (10) and (11) of Kumar & Yildirim (2009): how far the extreme points of the hulls along w
        fall short of |w|, and how far the farthest support vectors exceed it, both relative
    margin_lower, margin_upper : bounds of the optimal margin (hull formulations), rounded down and up

    If the hulls touch, the optimum is w = 0, which has no direction to certify. A relative gap of 0 is claimed only if |w| is
    proved to be at most 16 x 2^-53 x the model's *spread*, sum_j |coef_j| |x_j - c| about a centre c, which is the length
    that rounding the coefficients of w = 0 to float64 may give, wherever the data lie. The certificate then bounds the margin
    by 0 and ``margin_upper``, and the gap is relative to spread^2 / 2.
    """

    primal: float | None = None
    dual: float | None = None
    gap: float | None = None
    relative_gap: float | None = None
    gap_rounding: float | None = None
    undecidable: str = ""
    kkt_violation: float | None = None
    feasibility_violation: float | None = None
    epsilon: float | None = None
    epsilon_plus: float | None = None
    epsilon_minus: float | None = None
    margin_lower: float | None = None
    margin_upper: float | None = None

    @classmethod
    def of_objectives(
        cls,
        primal: Bounded | float,
        dual: Bounded | float,
        *,
        scale: Bounded | float | None = None,
        rounding_known: bool | None = None,
        **violations: Any,
    ) -> Certificate:
        """Return the certificate of a minimised primal and its dual; the gap is relative to ``scale``, or |primal|.

        rounding_known : whether the bounds of ``primal`` and ``dual`` are valid; None: if both are `Bounded`
        violations : kkt_violation and feasibility_violation
        """
        known = isinstance(primal, Bounded) and isinstance(dual, Bounded)
        known = known if rounding_known is None else rounding_known
        with np.errstate(all="ignore"):
            upper = primal if isinstance(primal, Bounded) else Bounded.exact(primal)
            gap = upper - dual
            relative = gap if gap.is_zero else gap / (abs(upper) if scale is None else scale)
        figures = {"primal": _number(upper), "dual": _number(dual), "gap": _number(gap)}
        return cls.of_gap(relative, known=known, **figures, **violations)

    @classmethod
    def of_primal(cls, primal: Bounded | None) -> Certificate:
        """Return the certificate of a model with a primal value only."""
        return cls(primal=None if primal is None else _number(primal))

    @classmethod
    def of_margin(cls, model: Expansion, reach: Bounded, far: float, **violations: Any) -> Certificate:
        """Return the certificate of w, a point of one hull or the difference of points of two hulls.

        The dual value is 1/2 |w|^2 (minimised), the primal value of the direction w is 1/2 lower^2 (maximised), where
        lower = reach / |w| is the margin along w, or 0 if w does not separate.

        model : expansion with |w|^2, and the length up to which w counts as 0
        reach : minimum of <w, z> over the difference of the hulls; at most |w|^2
        far : maximum of <w, z> over the faces that contain the model's points
        """
        squared = model.squared
        with np.errstate(all="ignore"):
            ratio = reach / squared
            clipped = ratio.positive()
            relative, norm = (1.0 - clipped) * (clipped + 1.0), squared.sqrt()
            shortfall, lower, dual = 1.0 - ratio, reach / norm, squared * 0.5
        if not squared.finite or not reach.finite:
            return cls(undecidable=_not_finite(squared, reach), **violations)
        if not model.has_direction:
            return cls._of_no_direction(model, violations["feasibility_violation"])
        if not _is_finite(relative):
            return cls(undecidable=undecided(model), **violations)
        return cls.of_gap(
            relative,
            known=model.known,
            primal=_number((lower.positive() * lower.positive()) * 0.5),
            dual=_number(dual),
            gap=_number(dual * relative),
            epsilon=float_above(np.maximum(0.0, shortfall.upper)),
            epsilon_plus=_number(shortfall),
            epsilon_minus=_number(far / squared.value - 1.0),
            margin_lower=float_below(lower.lower),
            margin_upper=float_above(norm.upper),
            **violations,
        )

    @classmethod
    def of_two_margins(cls, model: Expansion, primal: Bounded) -> Certificate:
        """Return the certificate of a direction with margin sqrt(2 primal), and of points of the hulls at distance |w|.

        model : expansion of these points, with a ridge, so that |w| > 0
        """
        half, lower, upper = model.squared * 0.5, (primal * 2.0).sqrt(), model.squared.sqrt()
        certificate = cls.of_objectives(half, primal, scale=half)
        if certificate.undecidable:
            return certificate
        return replace(
            certificate,
            primal=certificate.dual,
            dual=certificate.primal,
            epsilon=float_above(np.maximum(0.0, (1.0 - lower / upper).upper)),
            margin_lower=float_below(lower.lower),
            margin_upper=float_above(upper.upper),
        )

    @classmethod
    def of_gap(cls, relative: Bounded, *, known: bool, **figures: Any) -> Certificate:
        """Return the certificate of these figures; only the violations and a reason if rounding makes the gap undecidable.

        known : whether the bound of ``relative`` is valid
        figures : further fields of the certificate, numbers or `Bounded`; the default of ``relative_gap`` is ``relative``
        """
        reason = "" if _is_finite(relative) else _not_finite(relative)
        if known and relative.error > _USELESS * max(1.0, abs(relative.value)):
            reason = reason or _lost(relative)
        if reason:
            violations = {name: value for name, value in figures.items() if name.endswith("_violation")}
            return cls(undecidable=reason, **violations)
        figures = {name: _number(value) if isinstance(value, Bounded) else value for name, value in figures.items()}
        figures = {"relative_gap": float(relative.value), **figures}
        return cls(gap_rounding=_rounding(relative) if known else None, **figures)

    @classmethod
    def _of_no_direction(cls, model: Expansion, feasibility_violation: float) -> Certificate:
        """Return the certificate of a w that is 0 up to rounding of the coefficients, or whose direction is undecidable."""
        squared = model.squared
        if not model.vanishes:
            return cls(undecidable=undecided(model), feasibility_violation=feasibility_violation)
        spread = np.longdouble(model.spread)
        relative = squared / spread**2 if spread > 0.0 else Bounded.exact(0.0)
        return cls(
            primal=0.0,
            dual=_number(squared * 0.5),
            gap=_number(squared * 0.5),
            relative_gap=float(relative.value),
            gap_rounding=_rounding(relative),
            feasibility_violation=feasibility_violation,
            margin_lower=0.0,
            margin_upper=float_above(squared.sqrt().upper),
        )

    def meets(self, target: float) -> bool:
        """Return whether the relative gap plus the bound of its rounding is at most ``target``."""
        if self.relative_gap is None or self.contradicts_itself:
            return False
        return self.relative_gap + (self.gap_rounding or 0.0) <= target

    @property
    def contradicts_itself(self) -> bool:
        """Whether the figures contradict each other beyond rounding: a gap below 0, or a lower margin above the upper one.

        A formulation whose models may be better than the optimum (because they give up more points) has a relative gap of 0
        for them.
        """
        rounding = UNKNOWN_ROUNDING if self.gap_rounding is None else self.gap_rounding
        if self.relative_gap is not None and self.relative_gap < -rounding:
            return True
        if self.margin_lower is None or self.margin_upper is None or self.relative_gap == 0.0:
            return False
        return self.margin_lower > self.margin_upper * (1.0 + rounding)

    @property
    def touching(self) -> bool:
        """Whether the hulls are proved to touch: a lower margin of 0, and a relative gap of 0."""
        return self.margin_lower == 0.0 and self.relative_gap is not None and self.relative_gap < 1e-20

    def is_closer_than(self, other: Certificate) -> bool:
        """Return whether this certificate is more precise than another one of the same model."""
        if self.undecidable or other.undecidable:
            return bool(other.undecidable)
        return (self.gap_rounding or 0.0) < (other.gap_rounding or 0.0)

    @property
    def settled(self) -> bool:
        """Whether rounding is so small that no higher precision is needed."""
        if self.relative_gap is None or self.gap_rounding is None:
            return not self.undecidable
        return self.gap_rounding <= max(_FINE_SHARE * abs(self.relative_gap), _FINE)

    def as_dict(self) -> dict[str, Any]:
        """Return the figures by name."""
        return dict(vars(self))


@dataclass(frozen=True)
class CertifiedRun:
    """A run with a certified and scored dual solution, the argument of ``Problem.figures``.

    dual_coef, intercept : the model: (n,) coefficients, and b
    scores : (n,) K dual_coef, with the kernel's ridge: f is scores - kernel.ridge * dual_coef + intercept
    certificate : the certificate of the model
    planted : (n,) bool, the outliers that the data source planted; None if there are none
    solver : the `harness.Solver` of --core-set-oracle; None without that option
    trace : the points of the run's trace, including the last model
    queried : indices of the points whose targets the solver queried, in order; empty if all targets are given
    """

    dual_coef: Vector
    intercept: float
    scores: Vector
    certificate: Certificate
    planted: Mask | None = None
    solver: Any = None
    trace: Sequence[dict[str, Any]] = ()
    queried: Sequence[int] = ()


def undecided(model: Expansion) -> str:
    """Return the sentence for a w of which rounding hides whether it is 0."""
    length, rounding = (float(np.sqrt(np.maximum(0.0, s))) for s in (model.squared.value, model.squared.error))
    return (
        f"w may be 0: |w| is computed as {length:.2g}, and rounding may amount to {rounding:.2g}; "
        "not decidable in float64."
    )


def _not_finite(*figures: Bounded) -> str:
    """Return the sentence for figures with a value, or a bound of rounding, that is not finite."""
    if all(np.isfinite(float(figure.value)) for figure in figures):
        return "the rounding of f(x) or of an objective has no finite bound; not decidable in float64."
    return "f(x) or an objective overflows in float64, or is not a number; not decidable in float64: scale the data."


def _lost(relative: Bounded) -> str:
    return (
        f"the relative gap is computed as {float(relative.value):.2g}, and rounding may have moved it by "
        f"{float(relative.error):.2g}; not decidable in float64."
    )


def _is_finite(figure: Bounded) -> bool:
    """Return whether the figure and its bound are in the range of float64."""
    return bool(np.isfinite(float(figure.value)) and np.isfinite(float(figure.error)))


def _number(figure: Any) -> float | None:
    """Return the figure as float64; None beyond its range."""
    value = float(figure.value if isinstance(figure, Bounded) else figure)
    return value if np.isfinite(value) else None


def _rounding(relative: Bounded) -> float:
    """Return the bound of the relative gap's error, including its rounding to float64."""
    return float(np.nextafter(float(relative.error) + 2.0**-53 * abs(float(relative.value)), np.inf))


def float_above(bound: Any) -> float | None:
    """Return a float64 that is at least ``bound``, or None beyond its range; equal values stay."""
    value = float(bound)
    return _number(value if value == bound else np.nextafter(value, np.inf))


def float_below(bound: Any) -> float | None:
    """Return a float64 that is at most ``bound``, or None beyond its range; equal values stay."""
    value = float(bound)
    return _number(value if value == bound else np.nextafter(value, -np.inf))
