"""``ramp-cccp``: the ramp loss by the concave-convex procedure, each convex problem by an oracle of the registry.

    repeat until beta stays:
        beta_i = C_i where y_i f_i < s, else 0
        f <- the solution of the convex problem of beta

The convex problem lies above J_s and touches it at f, so J_s falls in each round by at least what the problem's optimum
is below J_s(f), less the gap that the oracle leaves. It ends at a stationary point, which depends on the start.

Source: Collobert, Sinz, Weston, Bottou, Trading Convexity for Scalability, ICML 2006, Algorithm 2, here without a bias.
Differs in: an inexact oracle is allowed for, and the end is certified.
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

_STILL = 1e-3  # of the tolerance: a fall below is none


@dataclass(frozen=True)
class RampCCCP(OverOracle):
    """CCCP on the ramp loss over all points.

    Take it where labels are wrong. Paper: Collobert, Sinz, Weston and Bottou 2006.

    A step is a round. ``info``: rounds, objective (J_s), outliers (points with y f < s), changed (betas that the last
    round changed), oracle_calls, oracle_seconds, oracle_evaluations. While the oracle works, the model is that of the
    last round: J_s never rises from one model to the next, but within the hinge problem that it starts with.
    """

    name = "ramp-cccp"
    conformance = Conformance(gap=1e-3)
    solves: ClassVar[tuple[type[Problem], ...]] = (RampSVC,)
    exact = False  # a stationary point, not the minimum

    oracle: str = parameter("smo-block", "solver of the convex problems, by name: smo-block, smo, qp, ...")
    max_rounds: int = parameter(200, "give up after so many rounds", ge=1)
    tolerance: float = parameter(1e-4, "what a further round may take off J_s, relative to J_s", gt=0, lt=1)

    def with_target_gap(self, gap: float) -> Self:
        """Return this solver with this tolerance."""
        return self.replace(tolerance=min(gap, 0.5))

    def skip(self, problem: ProblemSummary) -> str | None:
        """Refuse an oracle that is not there or does not solve the convex problems."""
        subproblem, hinge = (replace(problem, formulation=each) for each in (RampSubproblem, CSVCNoBias))

        def judged(oracle: Solver) -> str | None:
            reason = oracle.refusal(subproblem) or oracle.refusal(hinge)
            return None if reason is None else f"does not serve: {reason} Name smo-block, smo, qp or another that does."

        return oracle_refusal(self.name, self.oracle, judged)

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        """Yield after each round, and wherever the oracle yields."""
        rounds = _Rounds(self, cast("RampSVC", problem))
        yield from rounds.begun()
        while not rounds.ended:
            yield from rounds.round()
        yield rounds.iterate(done=rounds.ended == "stationary")


class _Rounds:
    """One run: the model of the last round, (n,) coef with its scores K coef, its objective and its outliers."""

    def __init__(self, solver: RampCCCP, problem: RampSVC) -> None:
        self.solver, self.problem = solver, problem
        self.oracle = CertifiedOracle(solver.oracle)
        self.coef: Vector = np.zeros(problem.n)
        self.rounds = self.changed = 0
        self.ended = self.evidence = ""
        self._take(self.coef, self.coef)

    def begun(self) -> Iterator[Iterate]:
        """Find the first model, that of the hinge loss."""
        for found in self.oracle.answers(self.problem.hinge, self.solver.name, self.solver.tolerance, None):
            if isinstance(found, Answer):
                self._take(found.coef, found.scores)
                yield self.iterate()
            else:
                yield Iterate(dual_coef=found.dual_coef, step=0)

    def _take(self, coef: Vector, scores: Vector) -> None:
        self.coef, self.scores = coef, scores
        self.objective = self.problem.objective(coef, scores)
        self.outliers: Mask = self.problem.outliers(scores)

    def round(self) -> Iterator[Iterate]:
        """Solve the convex problem of the current beta, take its solution, and say whether that was the last one."""
        answer: Any = None
        convex = self.problem.subproblem(self.outliers)
        # half of the tolerance is the oracle's: unless the model is stationary, such a solution lets the objective fall
        for answer in self.oracle.answers(convex, self.solver.name, 0.5 * self.solver.tolerance, self.coef):
            if not isinstance(answer, Answer):
                yield self.iterate()
        self.rounds += 1
        self._judge(answer)
        if not self.ended:
            yield self.iterate()

    def _judge(self, answer: Answer) -> None:
        """Take the answer of a round where it is better, and note whether the run ends with it."""
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
            self.ended = "rise"
            self.evidence = f"the objective rose by {-fall:.2g} from {self.objective:.12g}: {inexact}"
            return
        if stationary and fall <= _STILL * allowed:
            self.ended = "stationary"  # as it is: nothing falls, or a point at y f = s changes sides back and forth
            return
        self.changed = changed
        self._take(answer.coef, answer.scores)
        if not changed and exact:
            self.ended = "stationary"
        elif not changed:
            self.ended, self.evidence = "uncertified", f"no beta changes, and {inexact}"
        elif self.rounds >= solver.max_rounds:
            self.ended = "max_rounds"
            self.evidence = f"{changed:,} betas changed in round {self.rounds:,}, and the objective fell by {fall:.2g}"

    def iterate(self, *, done: bool = False) -> Iterate:
        """Return the model of now with the run's figures."""
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
            info["stopped"] = f"{self.ended}: {self.evidence}"
        return Iterate(dual_coef=self.coef, done=done, step=self.rounds, info=info)
