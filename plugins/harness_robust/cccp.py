"""Solver ``ramp-cccp``: the ramp loss by the concave-convex procedure, each convex problem by an oracle of the registry.

    repeat until beta does not change:
        beta_i = C_i where y_i f_i < s, else 0
        f <- the solution of the convex problem of beta

The convex problem is an upper bound of J_s, with equality at f. So each round lowers J_s by at least J_s(f) minus the optimum
of the convex problem, minus the gap of the oracle. The run ends at a stationary point, which depends on the start.

Source: Collobert, Sinz, Weston, Bottou, Trading Convexity for Scalability, ICML 2006, Algorithm 2, here without a bias.
This code differs in two points: the oracle may be inexact, and the result is certified.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, cast

import numpy as np

from harness import Conformance, CSVCNoBias, Iterate, Problem, ProblemSummary, Solver, parameter
from harness.registry.subproblem_oracle import Answer, CertifiedOracle, OverOracle, oracle_refusal
from harness.support.arrays import Mask, Vector
from harness_robust.ramp import RampSubproblem, RampSVC

_MIN_FALL = 1e-3  # decrease of the objective that counts as one, as a fraction of the tolerated decrease


@dataclass(frozen=True)
class RampCCCP(OverOracle):
    """CCCP on the ramp loss over all points.

    Use it for data with wrong labels. Paper: Collobert, Sinz, Weston and Bottou 2006.

    A step is a round. ``info``: rounds, objective (J_s), outliers (points with y f < s), changed (betas that the last
    round changed), oracle_calls, oracle_seconds, oracle_evaluations. Iterates within a round are the model of the previous
    round, so J_s does not rise from one iterate to the next after the first problem, that of the hinge loss.
    """

    name = "ramp-cccp"
    conformance = Conformance(gap=1e-3)
    solves: ClassVar[tuple[type[Problem], ...]] = (RampSVC,)
    exact = False  # a stationary point, not the minimum

    oracle: str = parameter("smo-block", "solver of the convex problems, by name: smo-block, smo, qp, ...")
    max_rounds: int = parameter(200, "largest number of rounds", ge=1)
    tolerance: float = parameter(1e-4, "decrease of J_s in a round, over J_s, at which the run ends", gt=0, lt=1)

    def with_target_gap(self, gap: float) -> Self:
        """Return this solver with this tolerance."""
        return self.replace(tolerance=min(gap, 0.5))

    def skip(self, problem: ProblemSummary) -> str | None:
        """Return why the oracle is not available or does not solve the convex problems, or None."""
        subproblem, hinge = (replace(problem, formulation=convex) for convex in (RampSubproblem, CSVCNoBias))

        def reason(oracle: Solver) -> str | None:
            refusal = oracle.refusal(subproblem) or oracle.refusal(hinge)
            return refusal and f"does not serve: {refusal} Name smo-block, smo, qp or another that does."

        return oracle_refusal(self.name, self.oracle, reason)

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        """Yield an iterate after each round and whenever the oracle yields."""
        rounds = _Rounds(self, cast("RampSVC", problem))
        yield from rounds.solve_hinge()
        while not rounds.status:
            yield from rounds.round()
        yield rounds.iterate(done=rounds.status == "stationary")


class _Rounds:
    """State of a run: coef, (n,), of the last round, its scores K coef, its objective and its outliers."""

    def __init__(self, solver: RampCCCP, problem: RampSVC) -> None:
        self.solver, self.problem = solver, problem
        self.oracle = CertifiedOracle(solver.oracle)
        self.coef: Vector = np.zeros(problem.n)
        self.rounds = self.changed = 0
        self.status = self.evidence = ""
        self._set_model(self.coef, self.coef)

    def solve_hinge(self) -> Iterator[Iterate]:
        """Compute the first model, that of the hinge loss."""
        for result in self.oracle.answers(self.problem.hinge, self.solver.name, self.solver.tolerance, None):
            if isinstance(result, Answer):
                self._set_model(result.coef, result.scores)
                yield self.iterate()
            else:
                yield Iterate(dual_coef=result.dual_coef, step=0)

    def _set_model(self, coef: Vector, scores: Vector) -> None:
        self.coef, self.scores = coef, scores
        self.objective = self.problem.objective(coef, scores)
        self.outliers: Mask = self.problem.outliers(scores)

    def round(self) -> Iterator[Iterate]:
        """Solve the convex problem of the current beta and set the model and the status from its solution."""
        answer: Any = None
        convex = self.problem.subproblem(self.outliers)
        # with half of the tolerance as the oracle's gap the objective falls unless the model is stationary
        for answer in self.oracle.answers(convex, self.solver.name, 0.5 * self.solver.tolerance, self.coef):
            if not isinstance(answer, Answer):
                yield self.iterate()
        self.rounds += 1
        self._update(answer)
        if not self.status:
            yield self.iterate()

    def _update(self, answer: Answer) -> None:
        """Set the model to the answer of a round if it is better, and the status if the run ends."""
        solver, outliers = self.solver, self.problem.outliers(answer.scores)
        changed = int(np.count_nonzero(outliers != self.outliers))
        fall = self.objective - self.problem.objective(answer.coef, answer.scores)
        allowed = solver.tolerance * abs(self.objective)
        exact, bound = answer.relative_gap <= solver.tolerance, answer.certificate.dual
        stationary = bound is not None and self.objective - bound <= allowed
        inexact = (
            f"in round {self.rounds} the oracle '{solver.oracle}' left a relative gap of {answer.relative_gap:.2g} on the "
            f"convex problem, with a tolerance of {solver.tolerance:g}"
        )
        if fall < 0.0 and not stationary:
            self.status = "rise"
            self.evidence = f"the objective rose by {-fall:.2g} from {self.objective:.12g}: {inexact}"
            return
        if stationary and fall <= _MIN_FALL * allowed:
            self.status = "stationary"  # the objective does not fall, though points at y f = s may change sides
            return
        self.changed = changed
        self._set_model(answer.coef, answer.scores)
        if not changed and exact:
            self.status = "stationary"
        elif not changed:
            self.status, self.evidence = "uncertified", f"no beta changes, and {inexact}"
        elif self.rounds >= solver.max_rounds:
            self.status = "max_rounds"
            self.evidence = f"{changed:,} betas changed in round {self.rounds:,}, and the objective fell by {fall:.2g}"

    def iterate(self, *, done: bool = False) -> Iterate:
        """Return the current model with the figures of the run."""
        info: dict[str, Any] = {
            "rounds": self.rounds,
            "objective": self.objective,
            "outliers": int(np.count_nonzero(self.outliers)),
            "changed": self.changed,
            "oracle_calls": self.oracle.calls,
            "oracle_seconds": self.oracle.seconds,
            "oracle_evaluations": self.oracle.evaluations,
        }
        if self.evidence:
            info["stopped"] = f"{self.status}: {self.evidence}"
        return Iterate(dual_coef=self.coef, done=done, step=self.rounds, info=info)
