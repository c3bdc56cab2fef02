"""The dual form: one box-constrained quadratic program for every convex formulation.

    max  linear'a - 1/2 coef' K coef     coef = a.reshape(copies, n).sum(axis=0)
    s.t. lower <= a <= upper, and the sum of a over each group is that of ``start``

A solver of this program solves all formulations. The gradient of variable v is g_v = linear_v - (K coef)_{v mod n}; a is
optimal iff in each group no variable that may rise (a < upper) has a larger g than one that may fall (a > lower),
and without groups iff g <= 0 wherever a may rise and g >= 0 wherever it may fall.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.support.arrays import Index, Vector

    Groups = np.ndarray[Any, np.dtype[np.int8]]

_EXACT = 1e-16  # tolerance of a group's sum, relative to its coefficients
_ROUNDING = 1e-12  # error of a group's sum, relative to its coefficients, for which no variable leaves its bound
_STEPS = 4  # largest number of coefficients that correct the rounding of a sum
_LEAST_SCALE = 1e-12  # objectives below this fraction of the form's extent may be rounding of 0


@dataclass(frozen=True, eq=False)
class DualForm:
    """The program above, V = copies * n variables; variable v belongs to point v mod n.

    linear, lower, upper : (V,) float64, contiguous copies; 0 is always in [lower, upper]
    start : (V,) float64, a cheap feasible point; it fixes the sums
    copies : 1, or 2 if a point has one variable for each sign (eps-svr with epsilon > 0: the first is >= 0)
    groups : number of fixed sums: 0 (no bias), 1, or 2 (hulls: one for each class)
    group : (V,) int8, the group of each variable; zeros unless there are two (hulls: 0 positive, 1 negative class;
        if each point is in both hulls: 0 the first copy, 1 the second)
    unit : unit of tau, in units of f(x): 1, or the cap of a coefficient for one-class and nu-svc (LIBSVM's scale)
    relative : whether a violation is meaningful only relative to |w|^2, as the optimum is a length of unknown size (hulls)
    constant : constant term of the objective
    """

    linear: Vector
    lower: Vector
    upper: Vector
    start: Vector
    copies: int
    groups: int
    group: Groups
    unit: float = 1.0
    relative: bool = False
    constant: float = 0.0

    @property
    def n(self) -> int:
        """Number of points."""
        return len(self.linear) // self.copies

    def coef(self, a: Vector) -> Vector:
        """Return the signed coefficients of the variables, (n,)."""
        total: Vector = a.reshape(self.copies, self.n).sum(axis=0)
        return total

    def gradient(self, scores: Vector) -> Vector:
        """Return g of every variable, (V,), from ``scores`` = K coef, (n,)."""
        return np.asarray(self.linear - np.tile(scores, self.copies))

    def scores(self, gradient: Vector) -> Vector:
        """Return K coef, (n,), from the gradient of every variable."""
        return self.linear[: self.n] - gradient[: self.n]

    def ends(self, a: Vector, gradient: Vector, at_bound: float = 0.0) -> list[tuple[float, float]]:
        """Return (largest g of a variable that may rise, smallest g of one that may fall) for each group.

        They are -inf and inf if there is no such variable. Without groups, return one pair, clipped at 0.

        at_bound : distance from a bound, as a fraction of the range, up to which a variable counts as at the bound
        """
        slack = at_bound * (self.upper - self.lower)
        rise, fall = a < self.upper - slack, a > self.lower + slack
        if self.groups == 0:
            return [(float(gradient[rise].max(initial=0.0)), float(gradient[fall].min(initial=0.0)))]
        pairs = []
        for k in range(self.groups):
            member = self.group == k
            up, low = gradient[member & rise], gradient[member & fall]
            pairs.append((float(up.max(initial=-np.inf)), float(low.min(initial=np.inf))))
        return pairs

    def violation(self, ends: list[tuple[float, float]]) -> float:
        """Return the largest violation of the optimality conditions, >= 0, in units of f(x)."""
        if self.groups == 0:
            return max(ends[0][0], -ends[0][1])
        return max(0.0, *(up - low for up, low in ends))

    def levels(self, ends: list[tuple[float, float]]) -> list[float]:
        """Return the multiplier of each group's sum: the mean of its finite ends, 0 if there is none."""
        levels = []
        for pair in ends[: self.groups]:
            finite = [end for end in pair if math.isfinite(end)]
            levels.append(sum(finite) / len(finite) if finite else 0.0)
        return levels

    def intercept(self, levels: list[float]) -> float:
        """Return b: the mean of the levels in every formulation, 0 without groups."""
        return sum(levels) / len(levels) if self.groups else 0.0

    def relative_gap(self, a: Vector, scores: Vector, intercept: float, doubt: float = 0.0) -> float:
        """Return the duality gap over :meth:`gap_scale` of a form that starts at 0 and has at most one fixed sum.

        Up to rounding this is the relative gap of a certificate, in a tenth of its time: each variable contributes its
        distance to the bound towards which g - intercept points, times |g - intercept|.

        a : (V,) variables
        scores : (n,) K coef
        doubt : bound of the error of each score, for an upper bound of the gap
        """
        away = self.gradient(scores) - intercept
        gap = float(np.maximum((away + doubt) * (self.upper - a), (doubt - away) * (a - self.lower)).sum())
        dual = float(self.linear @ a) - 0.5 * float(self.coef(a) @ scores) + self.constant
        return gap / self.gap_scale(dual + gap) if gap else 0.0

    def gap_scale(self, primal: float) -> float:
        """Return the scale of the gap of a model with this objective: |primal|, but at least a small fraction of the extent.

        The extent is the sum of |linear| (upper - lower), which has the units of the objective. It matters only if the
        objective is 0 up to rounding.
        """
        return max(abs(primal), _LEAST_SCALE * float(np.abs(self.linear) @ (self.upper - self.lower)))

    def repaired(self, dual_coef: Vector) -> Vector:
        """Return feasible coefficients, (n,), near ``dual_coef``: inside their bounds, with sums that are exact in real numbers.

        Return the same array if it is feasible. Rounding may remain if the bounds leave no room.
        """
        coef = self.coef(np.clip(self.split(dual_coef), self.lower, self.upper))
        near = self.coef(self.variables(coef))
        if float(np.abs(near - coef).sum()) > _ROUNDING * float(np.abs(coef).sum()):
            coef = near
        if self.copies == 1:
            for k in range(self.groups):
                _sum_exactly(coef, np.flatnonzero(self.group == k), self)
        elif self.groups:
            _sum_exactly(coef, np.arange(self.n), self)  # of both signs, whose separate sums are unknown
        return dual_coef if np.array_equal(coef, dual_coef) else coef

    def variables(self, dual_coef: Vector) -> Vector:
        """Return feasible variables (V,) near the signed coefficients ``dual_coef``, (n,): a warm start.

        They are clipped into the box; the error of a group's sum is divided among its free variables in proportion to
        their room, then among nonzero ones at a bound, and among the others only if these do not suffice.
        """
        return self.feasible(self.split(dual_coef))

    def split(self, dual_coef: Vector) -> Vector:
        """Return the variables, (V,), whose signed coefficients are ``dual_coef``, without clipping."""
        coef = np.asarray(dual_coef, dtype=np.float64)
        parts = [coef] if self.copies == 1 else [np.maximum(coef, 0.0), np.minimum(coef, 0.0)]
        return np.concatenate(parts)

    def feasible(self, variables: Vector) -> Vector:
        """Return ``variables``, (V,), moved into their bounds and to the sum of each group, as in :meth:`variables`."""
        a: Vector = np.clip(variables, self.lower, self.upper)
        for k in range(self.groups):
            member = self.group == k
            a[member] = _with_sum(a[member], self.lower[member], self.upper[member], float(self.start[member].sum()))
        return a


def _sum_exactly(coef: Vector, members: Index, form: DualForm) -> None:
    """Correct the rounding error of the sum of ``members`` in place, in the smallest coefficients with room for it.

    The last digit of a small coefficient is so small that one or two coefficients suffice.
    """
    total = float(form.start.reshape(form.copies, form.n)[:, members].sum())
    lower, upper = (form.coef(bound) for bound in (form.lower, form.upper))
    able = members[coef[members] != 0.0]
    for _ in range(_STEPS):
        error = math.fsum([*coef[members].tolist(), -total])
        room = (coef - lower if error > 0.0 else upper - coef)[able]
        if error == 0.0 or not (room >= abs(error)).any():
            break
        which = int(np.argmin(np.where(room >= abs(error), np.abs(coef[able]), np.inf)))
        coef[able[which]] -= error
        able = np.delete(able, which)


def _with_sum(a: Vector, lower: Vector, upper: Vector, total: float) -> Vector:
    """Return ``a`` moved into its bounds and to the sum ``total``, up to rounding."""
    for _ in range(8):
        excess = float(a.sum()) - total
        error = abs(excess) / max(abs(total), float(np.abs(a).sum()), 1e-300)
        if error <= _EXACT:
            break
        room: Vector = a - lower if excess > 0.0 else upper - a
        # a variable moved off its bound by rounding would count as free, so move free ones first, then nonzero ones
        free, used = np.where((a > lower) & (a < upper), room, 0.0), np.where(a != 0.0, room, 0.0)
        if free.any():
            room = free
        elif error <= _ROUNDING:
            break
        elif used.any():
            room = used
        if not room.any():
            break
        a = np.clip(a - excess * (room / room.sum()), lower, upper)
    return a


def first_at_cap(cap: Vector) -> Vector:
    """Return weights, (n,) with sum 1: the first points at their ``cap``, (n,), and one more at the rest."""
    before = np.concatenate([[0.0], np.cumsum(cap)[:-1]])
    return np.asarray(np.clip(1.0 - before, 0.0, cap), dtype=np.float64)


def off_simplex(weights: Vector, hulls: Sequence[Any], caps: Sequence[float]) -> float:
    """Return the violation by weights, (n,), of being >= 0, summing to 1 in each hull and being at most its cap.

    hulls : mask of the points of each hull, (n,) bool
    """
    sums = [abs(float(weights[hull].sum()) - 1.0) for hull in hulls]
    beyond = [float(np.max(weights[hull], initial=0.0)) - cap for hull, cap in zip(hulls, caps, strict=True)]
    return max(*sums, float(-weights.min()), *beyond, 0.0)


def boxed(linear: Vector, lower: Vector, upper: Vector, *, groups: int, copies: int = 1) -> DualForm:
    """Return the form of a program that starts at 0, with one fixed sum or none (``groups``)."""
    nothing = np.zeros(len(linear))
    return DualForm(linear, lower, upper, nothing, copies, groups, nothing.astype(np.int8))


def capped_simplex(n: int, cap: float) -> DualForm:
    """Return the form of min 1/2 coef' K coef over n coefficients in [0, cap] that sum to 1."""
    upper = _out_of_reach(np.full(n, cap), 1.0)
    form = boxed(np.zeros(n), np.zeros(n), upper, groups=1)
    return replace(form, start=first_at_cap(upper), unit=min(1.0, cap))


def two_hulls(targets: Vector, caps: tuple[float, float], total: float = 1.0) -> DualForm:
    """Return the form of min 1/2 coef' K coef over y_i coef_i in [0, cap of the class] that sum to ``total`` in each class.

    caps : largest coefficients of the positives and of the negatives
    """
    positive, n = targets > 0, len(targets)
    start, bound = np.zeros(n), _out_of_reach(np.where(positive, *caps), total)
    for members in (positive, ~positive):
        start[members] = np.minimum(bound[members], total * first_at_cap(bound[members] / total))
    return DualForm(
        linear=np.zeros(n),
        lower=np.minimum(0.0, targets * bound),
        upper=np.maximum(0.0, targets * bound),
        start=targets * start,
        copies=1,
        groups=2,
        group=(~positive).astype(np.int8),
    )


def _out_of_reach(caps: Vector, total: float) -> Vector:
    """Return the caps, with those of at least ``total``, which the sum implies, replaced by twice the total."""
    return np.where(caps < total, caps, 2.0 * total)
