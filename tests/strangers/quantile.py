"""quantile-svr: regression with the pinball loss and no bias, a formulation that the harness does not have.

    min_w  1/2 |w|^2 + C sum_i max(q r_i, (q - 1) r_i),   r_i = y_i - f_i
    max    sum_i y_i coef_i - 1/2 coef' K coef     s.t.  -(1 - q) C <= coef_i <= q C

Source: Takeuchi, Le, Sears, Smola, JMLR 7 (2006), without the bias.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np

from harness import Certificate, Column, DualForm, Iterate, Laws, Linear, Problem, Solver, hookimpl, parameter


@dataclass(frozen=True)
class Parameters:
    C: float = parameter(1.0, "price of an error", gt=0)
    quantile: float = parameter(0.5, "share of the targets that shall lie below f", gt=0, lt=1)


class QuantileSVR(Problem):
    """Regression on a quantile of the targets."""

    name = "quantile-svr"
    task = "regression"
    has_bias = False
    metrics = ("mae",)
    columns = (
        Column("share_below", "share", meaning="training targets that lie below f", title="below\nf"),
        Column("misses", "share", "low", "how far that is from the quantile"),
        Column("broken", meaning="a figure that cannot be computed"),
    )
    parameter_class = Parameters
    constraints = "-(1 - quantile) C <= dual_coef_i <= quantile C"
    laws = Laws(symmetric=False, doubled={"C": 0.5}, scaled={"C": -1}, objective=-1)

    @classmethod
    def zoo(cls):
        from harness.testing import Case, problems

        case = partial(Case.of, cls)
        return [
            case("pair", np.array([[0.0, 1.0], [0.0, -1.0]]), [1, -1], Linear(), {"C": 10.0}, "protocol", optimum=0.5),
            *problems.real_values(cls, {"C": 10.0}, {"C": 1.0, "quantile": 0.8}),
        ]

    @property
    def bounds(self):
        C, q = self.settings.C, self.settings.quantile
        return -(1.0 - q) * C, q * C

    def dual_form(self):
        lower, upper = (np.full(self.n, bound) for bound in self.bounds)
        nothing = np.zeros(self.n)
        group = nothing.astype(np.int8)
        return DualForm(self.targets.copy(), lower, upper, nothing, copies=1, groups=0, group=group)

    def figures(self, run):
        below = np.mean(self.targets < run.scores + run.intercept)
        misses = abs(below - self.settings.quantile)
        return {"share_below": below, "misses": misses, "broken": lambda: 1 // 0}

    def feasibility_violation(self, dual_coef):
        lower, upper = self.bounds
        return max(float((lower - dual_coef).max()), float((dual_coef - upper).max()), 0.0) / self.settings.C

    def certificate(self, dual_coef, intercept, scores):
        q, residual = self.settings.quantile, self.targets - scores - intercept
        half = 0.5 * float(dual_coef @ scores)
        loss = float(np.maximum(q * residual, (q - 1.0) * residual).sum())
        violations = {
            "kkt_violation": self.kkt_violation(dual_coef, scores),
            "feasibility_violation": self.feasibility_violation(dual_coef),
        }
        dual = float(self.targets @ dual_coef) - half
        return Certificate.of_objectives(half + self.settings.C * loss, dual, **violations)


@dataclass(frozen=True)
class Coordinate(Solver):
    """One coefficient after the other to its own optimum."""

    name = "coordinate"
    solves = (QuantileSVR,)
    tau: float = parameter(1e-6, "stop when a sweep moves no coefficient by more, relative to C", gt=0)

    def iterates(self, problem, rng):
        lower, upper = problem.bounds
        coef, scores, diagonal = np.zeros(problem.n), np.zeros(problem.n), problem.kernel.diagonal()
        while True:
            moved = 0.0
            for i in range(problem.n):
                step = np.clip(coef[i] + (problem.targets[i] - scores[i]) / diagonal[i], lower, upper) - coef[i]
                if step != 0.0:
                    coef[i] += step
                    scores += step * problem.kernel.row(i)
                    moved = max(moved, abs(step))
            done = moved <= self.tau * problem.settings.C
            yield Iterate(coef, 0.0, done=done)
            if done:
                return


@hookimpl
def harness_formulations():
    return [QuantileSVR]


@hookimpl
def harness_solvers():
    return [Coordinate]
