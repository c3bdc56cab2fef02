"""Formulation tube-svr: regression as the separation of the points shifted up from the points shifted down.

Every training point (x_i, y_i) gives two examples in the space of (phi(x), y): (x_i, y_i + epsilon) labelled +1 and
(x_i, y_i - epsilon) labelled -1. The nearest points of their (reduced) convex hulls,

    min 1/2 |sum_i u_i (x_i, y_i + epsilon) - v_i (x_i, y_i - epsilon)|^2     u, v on the simplex, u_i <= D, v_i <= D_minus

give a hyperplane (w, sigma), theta_+, theta_- in that space and the function y(x) = ((theta_+ + theta_-) / 2 - <w, x>)
/ sigma. D = 1 is the hard tube (P6), a smaller D the soft tube (P7).

The kernel of the composed examples is k(x_i, x_j) + (y_i +- epsilon)(y_j +- epsilon). As u and v both sum to 1,
w = sum (u_i - v_i) phi(x_i) and sigma = sum (u_i - v_i) y_i + 2 epsilon depend only on coef = u - v. So a model is coef, (n,),
as in the other regression formulations, and the problem in coef is

    min 1/2 coef' (K + y y') coef + 2 epsilon y' coef + 2 epsilon^2

with the same optimum. The mean of the targets (``origin``) is subtracted from them: as sum coef = 0 the problem is the same,
in smaller numbers. The intercept is -(theta_+ + theta_-) / 2, the certificate that of the reduced hulls of the 2 n examples.
|w|^2 and sigma^2 are added, so the units of y matter: targets of about the size of the kernel's values suit it best.

Source: Balcazar, Dai, Tanaka, Watanabe, "Provably fast training algorithms for support vector machines" (2008),
section 5, (P6), (P7); Bi & Bennett, NIPS 15 (2002), Theorems 3.1 and 3.2.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from harness import RBF, InvalidModel, KernelOracle, Linear, parameter
from harness.problems.dual import DualForm, two_hulls
from harness.problems.hulls import ReducedHull, ReducedHullParameters, settled_caps
from harness.problems.problem import Certificate, Expansion, Laws, Parameters, Problem, read_only, setting
from harness.problems.rounding import Bounded

if TYPE_CHECKING:
    from harness.support.arrays import Vector
    from harness.testing import Case

_MEETING = 1e-15  # 2 epsilon sigma below this fraction of max (epsilon + |y|)^2 counts as 0: the hulls meet
_ROUNDING = 1e-12  # relative difference of a sum of weights from its total that counts as rounding


@dataclass(frozen=True)
class TubeSVRParameters(Parameters):
    """Parameters of tube-svr."""

    formulation = "tube-svr"

    epsilon: float = parameter(0.1, "half the width of the tube, in units of y", gt=0)
    D: float | None = parameter(
        None, "cap of each weight, 1 / k; 1: the hard tube; none: the cap of nu = 0.5, 4 / n, if feasible", gt=0, le=1
    )
    D_minus: float | None = parameter(None, "cap of the weights of the points shifted down; none: D", gt=0, le=1)


class _TubeForm(DualForm):
    """Dual form with variables u_i in [0, D] and -v_i in [-D_minus, 0] whose sums are fixed."""

    def variables(self, dual_coef: Vector) -> Vector:
        """Return feasible (u, -v) near ``dual_coef``; equal amounts are added to u_i and v_i until the sums are 1."""
        caps = float(self.upper[0]), -float(self.lower[-1])
        return self.feasible(_weights(np.asarray(dual_coef, dtype=np.float64), caps))


class TubeSVR(Problem):
    """The tube of Bi & Bennett, hard or soft; ``targets`` are real numbers, predictions are y(x)."""

    name = "tube-svr"
    task = "regression"
    metrics = ("mse", "mae", "r2", "pearson")
    parameter_class = TubeSVRParameters
    constraints = (
        "coef = u - v with u and v on the simplex, u_i <= D, v_i <= D_minus: "
        "sum dual_coef = 0, sum |dual_coef| <= 2, no dual_coef_i beyond its cap"
    )
    laws = Laws(doubled={"D": 0.5, "D_minus": 0.5})
    epsilon = setting("epsilon", "Half the width of the tube.")

    @classmethod
    def zoo(cls) -> list[Case]:
        from harness.testing import Case, problems

        case = partial(Case.of, cls)
        linear, rbf = Linear(), RBF(gamma=0.5)
        hard, soft = {"epsilon": 2.0, "D": 1.0}, {"epsilon": 0.5, "D": 0.1}
        plane, _ = problems.separable(16)
        steep = 2.0 * plane[:, 0] - plane[:, 1] + 3.0 + 0.3 * np.cos(np.arange(16))
        x, y = problems.curve(40)
        return [
            # the shifted points lie on y = x + 1/2 and y = x - 1/2, which are 1 / sqrt(2) apart
            case("pair", problems.PAIR, [1.0, -1.0], linear, {"epsilon": 0.5, "D": 1.0}, "protocol", optimum=0.25),
            case("a-cap-for-each-side", plane, steep, linear, {"epsilon": 1.0, "D": 0.5, "D_minus": 0.125}),
            case("constant-target", x, np.full(40, 5.0), rbf, soft, optimum=0.5),  # w = 0, sigma = 2 epsilon
            case("every-point-at-the-cap", x, y, rbf, {"epsilon": 0.5, "D": 1.0 / 40.0}, optimum=0.5),
            case("no-tube", plane, steep, linear, {"epsilon": 0.01, "D": 1.0}, "meets", optimum=0.0),
            case("one-outlier", x, np.where(np.arange(40) == 3, 5.0, y), rbf, soft),
            *problems.real_values(cls, hard, soft),
        ]

    def __init__(self, kernel: KernelOracle, targets: Any, settings: Any, *, origin: float | None = None) -> None:
        self.origin = float(np.mean(np.asarray(targets, dtype=np.float64))) if origin is None else origin
        self.shifts: Vector = read_only(np.asarray(targets, dtype=np.float64) - self.origin)
        self._plain = kernel
        # upper bounds of u_i (points shifted up) and v_i (points shifted down)
        shifted = {"points shifted up": kernel.n, "points shifted down": kernel.n}
        self.caps = settled_caps(self.name, settings, kernel.n, shifted)
        self.cap = self.caps[0]
        super().__init__(kernel.replace(z=self.shifts), targets, replace(settings, D=self.cap))

    def restrict(self, indices: Any) -> TubeSVR:
        """Return the problem over the points ``indices``, with the origin of this problem instead of their mean."""
        indices = np.asarray(indices, dtype=np.intp)
        return type(self)(self._plain.restrict(indices), self.targets[indices], self.settings, origin=self.origin)

    def dual_form(self) -> DualForm:
        hulls, slope = two_hulls(np.repeat([1.0, -1.0], self.n), self.caps), -2.0 * self.epsilon * self.shifts
        linear = np.concatenate([slope, slope])
        constant = -2.0 * self.epsilon**2  # of -1/2 sigma^2, which has sum (u - v) shifts + 2 epsilon
        return _TubeForm(
            linear, hulls.lower, hulls.upper, hulls.start, 2, 2, hulls.group, relative=True, constant=constant
        )

    def feasibility_violation(self, dual_coef: Vector) -> float:
        up, down = np.maximum(dual_coef, 0.0), np.maximum(-dual_coef, 0.0)
        cap_up, cap_down = self.caps
        used = float(up.sum()), float(down.sum())
        room = float(np.maximum(0.0, np.minimum(cap_up - up, cap_down - down)).sum())
        beyond = max(float(up.max()) - cap_up, float(down.max()) - cap_down)
        return max(abs(used[0] - used[1]), max(used) - 1.0, 1.0 - max(used) - room, beyond, 0.0)

    def sigma(self, dual_coef: Vector) -> float:
        """Return the coordinate of the hyperplane along y, in units of y; at the optimum it is 0 only if w = 0 too."""
        return float(dual_coef @ self.shifts) + 2.0 * self.epsilon

    def composed(self) -> ReducedHull:
        """Return the problem over the 2 n examples, points shifted up before points shifted down, with the same counter.

        :meth:`of_composed` converts its model (u, -v) to a model of this problem with the same intercept.
        """
        twice = np.concatenate([np.arange(self.n), np.arange(self.n)])
        shifted = np.concatenate([self.shifts + self.epsilon, self.shifts - self.epsilon])
        kernel = self._plain.restrict(twice).replace(z=shifted)
        labels = np.repeat([1.0, -1.0], self.n)
        return ReducedHull(kernel, labels, ReducedHullParameters(D=self.caps[0], D_minus=self.caps[1]))

    def of_composed(self, dual_coef: Any) -> Vector:
        """Convert coefficients of :meth:`composed`, (2 n,), to coefficients of this problem, (n,)."""
        coef = np.asarray(dual_coef, dtype=np.float64)
        return np.asarray(coef[: self.n] + coef[self.n :])

    def composed_scores(self, dual_coef: Vector, scores: Vector) -> Vector:
        """Return <(w, sigma), (x_i, y_i +- epsilon)> of the 2 n examples from ``scores`` = (K + y y') dual_coef, (n,)."""
        middle = scores + 2.0 * self.epsilon * self.shifts
        reach = self.epsilon * self.sigma(dual_coef)
        return np.concatenate([middle + reach, middle - reach])

    def weights(self, dual_coef: Vector, intercept: float, scores: Vector) -> Vector:
        """Return (u, -v), (2 n,), of a model, see :meth:`composed_scores` for ``scores``.

        A common part of u_i and v_i does not change w; it is given to the points nearest to the function, where the
        violation is least.
        """
        middle = scores + 2.0 * self.epsilon * self.shifts + intercept
        return _weights(dual_coef, self.caps, np.argsort(np.abs(middle), kind="stable"))

    def bounded_certificate(self, dual_coef: Vector, intercept: float, model: Expansion) -> Certificate:
        """Return the certificate of the reduced hulls of the 2 n examples: margin bounds, epsilon and gap."""
        weights = self.weights(dual_coef, intercept, model.scores.value)
        scores = self.composed_scores(dual_coef, model.scores.value)
        if model.known:
            expansion = self._composed_expansion(dual_coef, model)
        else:
            increase = (np.abs(self.shifts) + self.epsilon) ** 2 - self.shifts**2
            largest_diagonal = float((self.kernel.diagonal() + increase).max())
            expansion = self.composed().expansion_of(weights, scores, largest_diagonal)
        certificate = self.composed().bounded_certificate(weights, intercept, expansion)
        return replace(certificate, feasibility_violation=self.feasibility_violation(dual_coef))

    def _composed_expansion(self, dual_coef: Vector, model: Expansion) -> Expansion:
        """Return the expansion over the 2 n examples, sum u = sum v = 1, from that over the n points."""
        assert model.plain is not None, "the kernel is k + y y'"
        sigma = Bounded.exact(self.shifts.astype(np.longdouble)).dot(dual_coef) + 2.0 * self.epsilon
        reach = sigma * self.epsilon
        middle = model.scores + Bounded.exact(self.shifts) * (2.0 * self.epsilon)
        scores = Bounded(
            np.concatenate([(middle + reach).value, (middle - reach).value]),
            np.concatenate([(middle + reach).error, (middle - reach).error]),
        )
        spread = model.spread + 2.0 * self.epsilon if model.spread else model.spread
        return Expansion(scores, model.plain.squared + sigma * sigma, spread)

    def scores_new(self, dual_coef: Vector, intercept: float, points: Any) -> Vector:
        """Return the predictions y(z) for new points z.

        Raises
        ------
        InvalidModel : sigma is 0, so there is no regression function.
        """
        sigma = self._positive_sigma(dual_coef)
        return self.origin - (self.kernel.expand_new(dual_coef, points) + intercept) / sigma

    def _positive_sigma(self, dual_coef: Vector) -> float:
        sigma = self.sigma(dual_coef)
        # |(w, sigma)|^2 <= 2 epsilon sigma at the optimum, so a smaller right side is a solution of hulls that meet
        if 2.0 * self.epsilon * sigma > _MEETING * (self.epsilon + float(np.abs(self.shifts).max())) ** 2:
            return sigma
        value = "sigma = 0" if abs(sigma) < 1e-9 * self.epsilon else f"sigma = {sigma:.3g}"
        raise InvalidModel(
            f"tube-svr: {value}, so there is no regression function: a tube needs sigma > 0, and points shifted by "
            f"epsilon={self.epsilon:g} that separate; take a larger epsilon, or a smaller D than {self.cap:g}."
        )


def _weights(coef: Vector, caps: tuple[float, float], order: Any = None) -> Vector:
    """Return (u, -v), (2 n,), with u - v = ``coef`` and u, v at most their ``caps``; both sum to 1 if the caps allow it.

    Equal amounts are added to u_i and v_i until the sums are 1: in proportion to the room at i, or to the first points of
    ``order``.
    """
    up, down = np.clip(coef, 0.0, caps[0]), np.clip(-coef, 0.0, caps[1])
    room = np.minimum(caps[0] - up, caps[1] - down)
    lacking = 1.0 - max(float(up.sum()), float(down.sum()))
    lacking = lacking if lacking > _ROUNDING else 0.0
    available = float(room.sum())
    if lacking >= available * (1.0 - _ROUNDING):
        shared = room
    elif order is None:
        shared = room * (lacking / available)
    else:
        shared = np.empty_like(room)
        shared[order] = np.clip(lacking - (np.cumsum(room[order]) - room[order]), 0.0, room[order])
    up, down = up + shared, down + shared
    # a weight that differs from its cap by rounding would count as free
    full_up, full_down = up >= caps[0] * (1.0 - _ROUNDING), down >= caps[1] * (1.0 - _ROUNDING)
    return np.concatenate([np.where(full_up, caps[0], up), -np.where(full_down, caps[1], down)])
