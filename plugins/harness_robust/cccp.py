"""``ramp-cccp``: the ramp loss by the concave-convex procedure, each convex problem by an oracle of the registry.

    beta_i = C_i where y_i f_i < s, else 0;   f <- the solution of the convex problem of beta;   until beta stays

The convex problem lies above J_s and touches it at f, so J_s falls in each round by at least what the problem's optimum
is below J_s(f), less the gap that the oracle leaves. It ends at a stationary point, which depends on the start.

Source: Collobert, Sinz, Weston, Bottou, Trading Convexity for Scalability, ICML 2006, Algorithm 2, here without a bias.
Differs in: an inexact oracle is allowed for, and the end is certified.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, cast

import numpy as np

from harness import Certificate, Iterate, PluginError, Problem, Solver, parameter
from harness.oracle import Oracle, is_observable, oracle_refusal
from harness.problems import RampSVC

if TYPE_CHECKING:
    from harness.arrays import Mask, Vector

_STILL = 1e-3  # of the tolerance: a fall below is none
_ATTEMPTS = 4  # at one subproblem, each asked for a tenth of the gap
_SMALLEST = 1e-13  # relative gap that nobody is asked for less than


@dataclass(frozen=True)
class RampCCCP(Solver):
    """CCCP on the ramp loss over all points.

    A step is a round. ``info``: rounds, objective (J_s), outliers (points with y f < s), changed (betas that the last
    round changed), oracle_calls, oracle_seconds, oracle_evaluations. While the oracle works, the model is that of the
    last round: J_s never rises from one model to the next, but within the hinge problem that it starts with. With
    ``start=zero`` and s > 0 all points are beyond s, and the model w = 0 is stationary: it ends at once.
    """

    name = "ramp-cccp"
    solves: ClassVar[tuple[type[Problem], ...]] = (RampSVC,)
    exact = False  # a stationary point, not the minimum

    oracle: str = parameter("smo-block", "solver of the convex problems, by name: smo-block, smo, qp, ...")
    start: Literal["hinge", "zero"] = parameter("hinge", "first model: that of the hinge loss, or w = 0")
    max_rounds: int = parameter(200, "give up after so many rounds", ge=1)
    tolerance: float = parameter(1e-4, "what a further round may take off J_s, relative to max(1, J_s)", gt=0, lt=1)

    @property
    def observable(self) -> bool:  # type: ignore[override]
        """False over a black box: what it evaluates is part of the run and cannot be counted."""
        return is_observable(self.oracle)

    def with_target_gap(self, gap: float) -> Self:
        """Return this solver with this tolerance."""
        return self.replaced(tolerance=min(gap, 0.5))

    def skip(self, problem: Problem) -> str | None:
        """Refuse an oracle that is not there or does not solve the convex problems."""
        return _refusal(self.name, self.oracle, cast("RampSVC", problem))

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        """Yield after each round, and wherever the oracle yields."""
        rounds = _Rounds(self, cast("RampSVC", problem))
        yield from rounds.begun()
        while not rounds.ended:
            yield from rounds.round()
        yield rounds.iterate(done=rounds.ended == "stationary")


def _refusal(owner: str, name: str, problem: RampSVC) -> str | None:
    """Return why the oracle called ``name`` cannot serve ``owner`` on ``problem``, in a sentence; None if it can."""

    def judged(oracle: Solver) -> str | None:
        nobody = np.zeros(problem.n, dtype=bool)
        reason = oracle.refusal(problem.subproblem(nobody)) or oracle.refusal(problem.hinge)
        return None if reason is None else f"does not serve: {reason} Name smo-block, smo, qp or another that does."

    return oracle_refusal(owner, name, judged)


@dataclass
class Answer:
    """What the oracle found for a subproblem.

    coef : (n,) feasible coefficients
    scores : (n,) K coef
    certificate : of the subproblem
    """

    coef: Vector
    scores: Vector
    certificate: Certificate

    @property
    def relative_gap(self) -> float:
        """The certified relative gap; infinite where rounding leaves none."""
        found = self.certificate.relative_gap
        return np.inf if found is None else found


class ConvexOracle(Oracle):
    """One run's oracle for convex subproblems, and what it cost; ``owner``: the solver that asks."""

    def __init__(self, name: str, owner: str) -> None:
        super().__init__(name)
        self.owner = owner

    def solve(self, problem: Problem, start: Vector | None, gap: float) -> Iterator[Vector | Answer]:
        """Work on ``problem``; yields the oracle's coefficients, (n,), as they come, and at last its best answer.

        An answer that its certificate shows to be farther off than ``gap`` is asked for again, ten times as exact; the
        caller looks at what the last attempt reached.

        Parameters
        ----------
        start : (n,) coefficients to start from, cut to the bounds here; None: the oracle's own

        Raises
        ------
        OracleFailure : the sentence names the solver that asked, and the oracle.
        """
        form, best, wanted = problem.dual_form(), None, gap
        for _ in range(_ATTEMPTS):
            found: Any = None
            with self.failing_in(self.owner):
                for iterate in self.iterates(
                    problem, gap=wanted, start=None if start is None else form.variables(start)
                ):
                    found = iterate.dual_coef
                    if found is None:
                        raise PluginError("it gave a model without coefficients.")
                    yield found
                answer = self._certified(problem, found)
            best = answer if best is None or answer.relative_gap < best.relative_gap else best
            if best.relative_gap <= gap or wanted <= _SMALLEST:
                break
            start, wanted = best.coef, max(0.1 * wanted, _SMALLEST)
        assert best is not None
        yield best

    def _certified(self, problem: Problem, found: Vector | None) -> Answer:
        """Return the last model with its certificate; its scores are the asking solver's own kernel evaluations."""
        if found is None:
            raise PluginError("it ended without a model.")
        coef, _ = problem.checked(found, 0.0)
        coef = problem.dual_form().variables(coef)  # rounding beyond the bounds cut off
        scores = problem.kernel.expand(coef)
        return Answer(coef, scores, problem.certificate(coef, 0.0, scores))


class _Rounds:
    """One run: the model of the last round, (n,) coef with its scores K coef, its objective and its outliers."""

    def __init__(self, solver: RampCCCP, problem: RampSVC) -> None:
        self.solver, self.problem = solver, problem
        self.oracle = ConvexOracle(solver.oracle, solver.name)
        self.coef: Vector = np.zeros(problem.n)
        self.rounds = self.changed = 0
        self.ended = self.evidence = ""
        self._take(self.coef, self.coef)

    def begun(self) -> Iterator[Iterate]:
        """Find the first model."""
        if self.solver.start == "zero":
            yield self.iterate()
            return
        for found in self.oracle.solve(self.problem.hinge, None, self.solver.tolerance):
            if isinstance(found, Answer):
                self._take(found.coef, found.scores)
                yield self.iterate()
            else:
                yield Iterate(dual_coef=found, step=0)

    def _take(self, coef: Vector, scores: Vector) -> None:
        self.coef, self.scores = coef, scores
        self.objective = self.problem.objective(coef, scores)
        self.outliers: Mask = self.problem.outliers(scores)

    def round(self) -> Iterator[Iterate]:
        """Solve the convex problem of the current beta, take its solution, and say whether that was the last one."""
        answer: Any = None
        # half of the tolerance is the oracle's: unless the model is stationary, such a solution lets the objective fall
        for answer in self.oracle.solve(self.problem.subproblem(self.outliers), self.coef, 0.5 * self.solver.tolerance):
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
        allowed = solver.tolerance * max(1.0, abs(self.objective))
        exact, bound = answer.relative_gap <= solver.tolerance, answer.certificate.dual
        stationary = bound is not None and self.objective - bound <= allowed
        if fall < 0.0 and not stationary:
            self.ended = "rise"
            self.evidence = (
                f"the objective rose by {-fall:.2g} from {self.objective:.12g} in round {self.rounds}: the oracle "
                f"'{solver.oracle}' left a relative gap of {answer.relative_gap:.2g} on the convex problem"
            )
            return
        if stationary and fall <= _STILL * allowed:
            self.ended = "stationary"  # as it is: nothing falls, or a point at y f = s changes sides back and forth
            return
        self.changed = changed
        self._take(answer.coef, answer.scores)
        if not changed and exact:
            self.ended = "stationary"
        elif not changed:
            self.ended = "uncertified"
            self.evidence = (
                f"no beta changes, but the oracle '{solver.oracle}' left a relative gap of {answer.relative_gap:.2g} on "
                f"the convex problem, above the tolerance {solver.tolerance:g}"
            )
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
