"""ramp-svc: the SVM with the ramp loss and no bias, and the convex problem that stands for it at one model.

    min_w  J_s(w) = 1/2 |w|^2 + sum_i C_i R_s(y_i f_i),    R_s = H_1 - H_s,  H_t(z) = max(0, t - z),  s < 1

The loss of a point is at most C_i (1 - s), however wrong it is. J_s is not convex and has no dual. Its concave part
is replaced by its tangent at a model f: beta_i = C_i where y_i f_i < s, else 0. What is left lies above J_s, touches
it at f, and is convex (one step of the concave-convex procedure, CCCP):

    max_a  sum_i y_i a_i - 1/2 a' K a + (1 - s) sum_i beta_i    s.t.  0 <= y_i a_i + beta_i <= C_i

Source: Ertekin, Bottou, Giles, Ignorance is Bliss: Non-Convex Online Support Vector Machines, section 5.1, (16)-(18),
which leaves out the constant. No bias, as that paper's solvers have none.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from harness import RBF, Conformance, KernelOracle, Solver, UsageError, get_solver, parameter
from harness.problems.csvc import CSVCNoBias, CSVCParameters
from harness.problems.dual import DualForm, boxed
from harness.problems.expansion import Expansion, expansions
from harness.problems.problem import AT_BOUND, Bounded, Certificate, Problem, read_only, setting

if TYPE_CHECKING:
    from harness.support.arrays import Mask, Vector
    from harness.testing import Case

_RESOLVED = 1e-6  # relative gap that is asked for where the convex problem is solved anew
_MOVED = 0.25  # of the points are moved in solving anew
_RESOLVABLE = 100_000  # points; beyond, the certificate makes do with the model's own coefficients


@dataclass(frozen=True)
class RampSVCParameters(CSVCParameters):
    """Parameters of ramp-svc."""

    formulation = "ramp-svc"

    s: float = parameter(-1.0, "the loss is flat below y f = s; minus infinity would be the hinge loss", lt=1)


class RampSVC(Problem):
    """The SVM with the ramp loss. ``hinge`` is the same problem with the hinge loss; its ``upper`` holds C_i, (n,)."""

    name = "ramp-svc"
    checks_zero_norm = False
    parameter_class = RampSVCParameters
    constraints = "|dual_coef_i| <= C_i and intercept 0"
    has_bias = False
    conformance = Conformance(
        excused={
            "primal_bounds_every_dual": "not convex: the dual value is that of the convex sub-problem at the model"
        }
    )
    per_point = ("upper",)
    C = setting("C", "The common price C before class weights.")
    s = setting("s", "Where the loss becomes flat, in units of y f.")

    @classmethod
    def zoo(cls) -> list[Case]:
        from harness.testing import Case, problems

        x, y = problems.separable(16)
        wrong, soft = np.where(np.arange(16) < 4, -y, y), {"C": 1.0}
        # far on the wrong side: beyond s
        beyond = Case.of(cls, "outliers", 2.0 * x, wrong, RBF(gamma=0.5), soft, "protocol", "outliers")
        return [*problems.two_classes(cls, {"C": 10.0}, soft, pair=0.5, three=0.5), beyond]

    def __init__(self, kernel: KernelOracle, targets: Any, settings: Any, upper: Any = None) -> None:
        super().__init__(kernel, targets, settings)
        convex = CSVCParameters(C=settings.C, class_weight=settings.class_weight)
        self.hinge = CSVCNoBias(kernel, targets, convex, upper)

    @property
    def upper(self) -> Vector:
        """C_i, (n,); read-only."""
        return self.hinge.upper

    def feasibility_violation(self, dual_coef: Vector) -> float:
        """How far coefficients leave [-C_i, C_i]: beyond, they are feasible for no choice of beta_i in {0, C_i}."""
        return max(float(np.max(np.abs(dual_coef) - self.upper)), 0.0) / float(self.upper.max())

    def objective(self, dual_coef: Vector, scores: Vector) -> float:
        """Return J_s of the model with ``scores`` = K dual_coef, both (n,)."""
        model = Expansion.of_scores(dual_coef, scores)
        return float(self.primal_of(model.squared, model.scores).value)

    def primal_of(self, squared: Bounded, scores: Bounded, intercept: float = 0.0) -> Bounded:
        flat = Bounded.exact(1.0) - self.s
        ramp = (1.0 - (scores + intercept) * self.targets).of_rising(lambda each: np.clip(each, 0.0, flat.value))
        return squared * 0.5 + Bounded(ramp.value, ramp.error + flat.error).dot(self.upper)

    def outliers(self, scores: Vector) -> Mask:
        """Return which points have y f < s, and so beta = C (eq. 17), (n,)."""
        return np.asarray(self.targets * scores < self.s)

    def subproblem(self, outliers: Mask) -> RampSubproblem:
        """Return the convex problem whose concave part is the tangent with beta_i = C_i at ``outliers``, (n,) bool."""
        return RampSubproblem(self.kernel, self.targets, self.settings, self.upper, outliers)

    def certify(self, dual_coef: Any, intercept: float, scores: Vector | None = None, **_: float) -> Certificate:
        """Return the certificate of the first scores: for finer ones the convex problem would be solved once more."""
        return super().certify(dual_coef, intercept, scores, tolerated_rounding=np.inf)

    def bounded_certificate(self, dual_coef: Vector, intercept: float, model: Expansion) -> Certificate:
        """J_s, and how far the model is from being stationary.

        primal : J_s(w)
        dual : the best dual value known of the convex problem at this model (the module's second formula): a lower
            bound on *its* minimum, found by solving it anew, not on the minimum of J_s
        gap, relative_gap : primal - dual, and that over J_s: no step of CCCP from here can take more off J_s's
            convex majorant; 0 if and only if the model is a stationary point of CCCP. A model may be stationary and
            far from the global minimum: no figure here says how far.
        kkt_violation : see :meth:`kkt_violation`

        Solving anew takes the solver ``smo-block``, up to 100,000 points; where it is not installed, or beyond, ``dual`` is the
        value of the model's own coefficients, cut to the bounds, and the gap an upper bound that may be loose.

        Raises
        ------
        InvalidModel : the intercept is not 0.
        """
        self.refuse_intercept(intercept)
        scores = model.scores.value
        convex = self.subproblem(self.outliers(scores))
        primal = self.primal_of(model.squared, model.scores)
        return self.of_objectives(dual_coef, model, primal, self._best_dual(convex, dual_coef, scores, model))

    def certificate_cost(self, support: int) -> int:
        """Return the kernel values of solving anew: rows of a good part of the points, however few the model has."""
        moved = int(_MOVED * self.n) if self.n <= _RESOLVABLE else 0
        return super().certificate_cost(max(support, moved))

    def _best_dual(self, convex: RampSubproblem, dual_coef: Vector, scores: Vector, model: Expansion) -> Bounded:
        own = np.clip(dual_coef, convex.lower_bounds, convex.upper_bounds)
        if (own != dual_coef).any():
            cut = next(expansions(self.kernel, own))
            model = cut if model.known else Expansion.of_scores(own, cut.scores.value)
        best = convex.dual(own, model)
        oracle = _oracle() if self.n <= _RESOLVABLE else None
        if oracle is None:
            return best
        # cut as well: whatever the oracle returns, the value is one of the convex problem's dual
        found = np.clip(oracle.solve(convex, own).dual_coef, convex.lower_bounds, convex.upper_bounds)
        other = convex.dual(found, next(expansions(self.kernel, found)))
        return other if other.value > best.value else best

    def kkt_violation(self, dual_coef: Vector, scores: Vector) -> float:
        """Return by how much, in units of f, the worst point misses the conditions of a stationary point.

        With z = y f and a = y coef they are, for beta = 0: z >= s, z >= 1 unless a = C, z <= 1 unless a = 0; for
        beta = C: z <= s, z >= 1 unless a = 0, z <= 1 unless a = -C. Of the two, the one that a point misses by less
        counts; a < 0 rules the first out, a > 0 the second.
        """
        z, a, slack = self.targets * scores, self.targets * dual_coef, AT_BOUND * self.upper
        short, over, flat = 1.0 - z, z - 1.0, z - self.s
        plain = np.maximum(-flat, np.where(a < self.upper - slack, short, -np.inf))
        plain = np.maximum(plain, np.where(a > slack, over, -np.inf))
        tangent = np.maximum(flat, np.where(a < -slack, short, -np.inf))
        tangent = np.maximum(tangent, np.where(a > -self.upper + slack, over, -np.inf))
        missed = np.minimum(np.where(a < -slack, np.inf, plain), np.where(a > slack, np.inf, tangent))
        return max(0.0, float(missed.max()))


class RampSubproblem(Problem):
    """The convex problem that CCCP solves at one model: c-svc-nobias with the bounds of ``outliers`` shifted by -y C.

    Its objective holds the constant (1 - s) sum beta, so that primal and dual are upper bounds of J_s where they meet
    it. No formulation to choose: :meth:`RampSVC.subproblem` makes it, for whoever needs an exact solver's answer.
    """

    name = "ramp-svc-subproblem"
    checks_zero_norm = False
    parameter_class = RampSVCParameters
    constraints = "0 <= y_i dual_coef_i + beta_i <= C_i and intercept 0"
    has_bias = False
    per_point = ("upper", "outliers")

    def __init__(self, kernel: KernelOracle, targets: Any, settings: Any, upper: Vector, outliers: Mask) -> None:
        super().__init__(kernel, targets, settings)
        self.upper = upper
        self.beta: Vector = read_only(np.where(outliers, upper, 0.0))
        self._constant = (Bounded.exact(1.0) - float(settings.s)) * Bounded.exact(self.beta).sum()
        shift = self.beta * self.targets
        self.lower_bounds: Vector = read_only(np.minimum(0.0, upper * self.targets) - shift)
        self.upper_bounds: Vector = read_only(np.maximum(0.0, upper * self.targets) - shift)

    @property
    def outliers(self) -> Mask:
        """The points with beta_i = C_i, (n,)."""
        return np.asarray(self.beta > 0.0)

    def dual_form(self) -> DualForm:
        form = boxed(self.targets.copy(), self.lower_bounds.copy(), self.upper_bounds.copy(), groups=0)
        return replace(form, constant=float(self._constant.value))

    def feasibility_violation(self, dual_coef: Vector) -> float:
        outside = np.maximum(self.lower_bounds - dual_coef, dual_coef - self.upper_bounds)
        return max(float(outside.max()), 0.0) / float(self.upper.max())

    def dual(self, dual_coef: Vector, model: Expansion) -> Bounded:
        """Return the dual objective, constant included, of a model and its expansion."""
        return Bounded.exact(self.targets * dual_coef).sum() - model.squared * 0.5 + self._constant

    def bounded_certificate(self, dual_coef: Vector, intercept: float, model: Expansion) -> Certificate:
        """P, D, the gap, and the largest gradient that its bound does not hold.

        Raises
        ------
        InvalidModel : the intercept is not 0.
        """
        self.refuse_intercept(intercept)
        rising = Bounded.exact(self.targets) - model.scores
        # the larger of lower * g and upper * g
        loss = rising * self.lower_bounds + rising.positive() * (Bounded.exact(self.upper_bounds) - self.lower_bounds)
        primal = model.squared * 0.5 + loss.sum() + self._constant
        return self.of_objectives(dual_coef, model, primal, self.dual(dual_coef, model))


def _oracle() -> Solver | None:
    """Return the solver that solves the convex problem anew, or None where it is not installed."""
    try:
        return get_solver("smo-block").with_target_gap(_RESOLVED)
    except UsageError:
        return None
