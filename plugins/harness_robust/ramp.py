"""Formulation ramp-svc: the SVM with the ramp loss and no bias, and its convex majorant at a model.

    min_w  J_s(w) = 1/2 |w|^2 + sum_i C_i R_s(y_i f_i),    R_s = H_1 - H_s,  H_t(z) = max(0, t - z),  s < 1

The loss of a point is at most C_i (1 - s). J_s is not convex and has no dual. If its concave part is replaced by the tangent at
a model f, with beta_i = C_i where y_i f_i < s and else 0, the result is convex, an upper bound of J_s and equal to J_s at f.
Its minimisation is one step of the concave-convex procedure (CCCP):

    max_a  sum_i y_i a_i - 1/2 a' K a + (1 - s) sum_i beta_i    s.t.  0 <= y_i a_i + beta_i <= C_i

Source: Ertekin, Bottou, Giles, Ignorance is Bliss: Non-Convex Online Support Vector Machines, section 5.1, (16)-(18),
which omits the constant. There is no bias, as in that paper's solvers.
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

_CONVEX_GAP = 1e-6  # relative gap to which a certificate solves the convex problem
_CHANGED_SHARE = 0.25  # assumed share of the points whose coefficients that solution changes
_MAX_SOLVED_POINTS = 100_000  # points; for larger problems a certificate uses the coefficients of the model


@dataclass(frozen=True)
class RampSVCParameters(CSVCParameters):
    """Parameters of ramp-svc."""

    formulation = "ramp-svc"

    s: float = parameter(-1.0, "value of y f below which the loss is constant; minus infinity is the hinge loss", lt=1)


class RampSVC(Problem):
    """The SVM with the ramp loss. ``hinge`` is the same problem with the hinge loss; its ``upper`` is C_i, (n,)."""

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
    s = setting("s", "Value of y f below which the loss is constant.")

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
        """Return the largest distance of a coefficient to [-C_i, C_i], outside of which no beta_i makes it feasible."""
        return max(float(np.max(np.abs(dual_coef) - self.upper)), 0.0) / float(self.upper.max())

    def objective(self, dual_coef: Vector, scores: Vector) -> float:
        """Return J_s of the model with ``scores`` = K dual_coef, both (n,)."""
        model = Expansion.of_scores(dual_coef, scores)
        return float(self.primal_of(model.squared, model.scores).value)

    def primal_of(self, squared: Bounded, scores: Bounded, intercept: float = 0.0) -> Bounded:
        flat = Bounded.exact(1.0) - self.s
        ramp = (1.0 - (scores + intercept) * self.targets).of_rising(lambda hinge: np.clip(hinge, 0.0, flat.value))
        return squared * 0.5 + Bounded(ramp.value, ramp.error + flat.error).dot(self.upper)

    def outliers(self, scores: Vector) -> Mask:
        """Return the points with y f < s, whose beta is C (eq. 17), as (n,) bool."""
        return np.asarray(self.targets * scores < self.s)

    def subproblem(self, outliers: Mask) -> RampSubproblem:
        """Return the convex problem with beta_i = C_i at ``outliers``, (n,) bool, and else 0."""
        return RampSubproblem(self.kernel, self.targets, self.settings, self.upper, outliers)

    def certify(self, dual_coef: Any, intercept: float, scores: Vector | None = None, **_: float) -> Certificate:
        """Return the certificate of the first scores, as more precise ones would need another solution of the convex problem."""
        return super().certify(dual_coef, intercept, scores, tolerated_rounding=np.inf)

    def bounded_certificate(self, dual_coef: Vector, intercept: float, model: Expansion) -> Certificate:
        """Return J_s and the distance of the model from a stationary point.

        primal : J_s(w)
        dual : dual value of a solution of the convex problem at this model (the module's second formula), a lower bound of
            the minimum of the convex problem and not of J_s
        gap, relative_gap : primal - dual, and that over J_s: the most by which a step of CCCP can lower the convex majorant;
            0 if and only if the model is a stationary point of CCCP. A stationary point may be far from the global minimum;
            the certificate does not bound that distance.
        kkt_violation : see :meth:`kkt_violation`

        The solver ``smo-block`` solves the convex problem. If it is not installed or there are more than 100,000 points,
        ``dual`` is the value of the model's coefficients clipped to the bounds, and the gap may be a loose upper bound.

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
        """Return the number of kernel values of a certificate, which solves the convex problem."""
        changed = int(_CHANGED_SHARE * self.n) if self.n <= _MAX_SOLVED_POINTS else 0
        return super().certificate_cost(max(support, changed))

    def _best_dual(self, convex: RampSubproblem, dual_coef: Vector, scores: Vector, model: Expansion) -> Bounded:
        clipped = np.clip(dual_coef, convex.lower_bounds, convex.upper_bounds)
        if (clipped != dual_coef).any():
            expansion = next(expansions(self.kernel, clipped))
            model = expansion if model.known else Expansion.of_scores(clipped, expansion.scores.value)
        model_dual = convex.dual(clipped, model)
        oracle = _oracle() if self.n <= _MAX_SOLVED_POINTS else None
        if oracle is None:
            return model_dual
        # clipped, so that the value is a dual value even if the oracle's result is infeasible
        solution = np.clip(oracle.solve(convex, clipped).dual_coef, convex.lower_bounds, convex.upper_bounds)
        oracle_dual = convex.dual(solution, next(expansions(self.kernel, solution)))
        return oracle_dual if oracle_dual.value > model_dual.value else model_dual

    def kkt_violation(self, dual_coef: Vector, scores: Vector) -> float:
        """Return the largest violation of the conditions of a stationary point, in units of f.

        With z = y f and a = y coef they are, for beta = 0: z >= s, z >= 1 unless a = C, z <= 1 unless a = 0; for
        beta = C: z <= s, z >= 1 unless a = 0, z <= 1 unless a = -C. The smaller violation of the two counts for a point;
        a < 0 excludes beta = 0, and a > 0 excludes beta = C.
        """
        z, a, slack = self.targets * scores, self.targets * dual_coef, AT_BOUND * self.upper
        short, over, flat = 1.0 - z, z - 1.0, z - self.s
        inlier = np.maximum(-flat, np.where(a < self.upper - slack, short, -np.inf))  # beta = 0
        inlier = np.maximum(inlier, np.where(a > slack, over, -np.inf))
        outlier = np.maximum(flat, np.where(a < -slack, short, -np.inf))  # beta = C
        outlier = np.maximum(outlier, np.where(a > -self.upper + slack, over, -np.inf))
        violation = np.minimum(np.where(a < -slack, np.inf, inlier), np.where(a > slack, np.inf, outlier))
        return max(0.0, float(violation.max()))


class RampSubproblem(Problem):
    """The convex problem of a CCCP step: c-svc-nobias with the bounds of ``outliers`` shifted by -y C.

    Its objective contains the constant (1 - s) sum beta, so that it is an upper bound of J_s. Users do not select this
    formulation: :meth:`RampSVC.subproblem` constructs it for exact solvers.
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
        """Return the dual objective of a model from its expansion, including the constant."""
        return Bounded.exact(self.targets * dual_coef).sum() - model.squared * 0.5 + self._constant

    def bounded_certificate(self, dual_coef: Vector, intercept: float, model: Expansion) -> Certificate:
        """Return the certificate of the convex problem.

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
    """Return the solver of the convex problem of a certificate, or None if it is not installed."""
    try:
        return get_solver("smo-block").with_target_gap(_CONVEX_GAP)
    except UsageError:
        return None
