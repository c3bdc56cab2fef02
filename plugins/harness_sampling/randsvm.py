"""``randsvm-1``: keep the support vectors, add violators drawn at random, solve again (RandSVM, Algorithm 2).

Source: the paper of RandSVM, section 3.3 (Algorithm 2), 5.1.2 and 5.2 (k for classification and regression). It ends
without violators, which is the optimum, or with k support vectors: Theorem 3 holds that solution for near optimal if
the set is almost separable. Differs in: it also ends where the violators' losses leave no more than the relative gap
asked for; what a violator's slack is (rules.py); a sample of one class is drawn again.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from harness import CSVC, EpsSVR, Iterate, Problem, parameter
from harness_sampling.oracle import Answer, Oracle, OracleFailure
from harness_sampling.rules import rule_of
from harness_sampling.sample import Sampler
from harness_sampling.scoring import RunningScores
from harness_sampling.solvers import Wrapper

if TYPE_CHECKING:
    Vector = np.ndarray[Any, np.dtype[np.float64]]
    Index = np.ndarray[Any, np.dtype[np.int64]]
    Mask = np.ndarray[Any, np.dtype[np.bool_]]

_IDLE = 3  # rounds that do not better the objective: the oracle is not exact enough to see the violators
_COARSE = 1e-4  # accuracy from which on float32 may do for the scores
_EXACTEST = 1e-12  # relative gap at which it gives up on that
_RULES = ("no violator", "gap", "k support vectors")  # ends that are the algorithm's own
_LOG = ("sample", "support", "violators", "share", "oracle_seconds", "oracle_evaluations")
_LOGGED = 2000  # rounds whose figures the last iterate's info lists


def support_bound(n: int, eps: float = 0.2, delta: float = 0.9, *, separable: bool = False) -> int:
    """Return k = 32 ln(4 n / delta) / eps^2, or 16 for a separable set, rounded up (RandSVM, 5.1.2; (7) and (8)).

    Parameters
    ----------
    n : points, eps : distortion of the margin that is let pass, delta : probability that it is larger
    """
    return math.ceil((16.0 if separable else 32.0) * math.log(4.0 * n / delta) / eps**2)


@dataclass(frozen=True)
class RandSVM1(Wrapper):
    """RandSVM-1: support vectors and r - |SV| random violators make the next sample, until none violates or |SV| >= k.

    It ends too where the violators that are left cost no more than the gap. The paper does not tell c: with c = 1 the
    support vectors reach k only if all of the sample are. With gap and tau of 1e-4 or more the passes over all points are in
    float32 as long as its rounding stays below half of the smaller one, which is tried on a few points before each pass.
    """

    name = "randsvm-1"
    solves: ClassVar[tuple[type[Problem], ...]] = (CSVC, EpsSVR)
    exact = False

    oracle: str = parameter("smo", "exact solver of the subproblems, by name: smo, smo-block, qp, libsvm, ...")
    gap: float = parameter(
        1e-3, "relative duality gap over all points at which it ends; a subproblem is solved to half of it", gt=0, lt=1
    )
    tau: float | None = parameter(
        1e-3, "a point violates if it is off by more, in units of f(x); none: so much that the gap holds for all", gt=0
    )
    k: int | None = parameter(None, "support vectors at which it stops; none: from eps and delta", ge=1)
    eps: float = parameter(0.2, "distortion of the margin, for k", gt=0, lt=1)
    delta: float = parameter(0.9, "probability of a larger distortion, for k", gt=0, lt=1)
    separable: bool = parameter(False, "the set is separable: k is half as large")
    c: float = parameter(2.0, "sample size r over k", ge=1)
    max_rounds: int | None = parameter(None, "give up after so many rounds; none: never", ge=1)

    def with_target_gap(self, gap: float) -> Self:
        """Return this solver with this gap, and points violating where it would not hold for all."""
        return self.replaced(gap=min(gap, 0.5), tau=None)

    def _small(self) -> dict[str, Any]:
        return {"k": 4, "c": 1.0, "max_rounds": 3}

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        """Yield after each round, and within rounds where the host may stop the run."""
        yield from _Run(self, problem, rng).iterates()


class _Run:
    """One run: the current sample, its solution, the violators outside."""

    def __init__(self, solver: RandSVM1, problem: Problem, rng: np.random.Generator) -> None:
        self.solver, self.problem, self.rng, self.n = solver, problem, rng, problem.n
        self.counter, self.counted = problem.kernel.counter, problem.kernel.counter.evaluations
        self.k = solver.k or support_bound(self.n, solver.eps, solver.delta, separable=solver.separable)
        self.r = min(self.n, math.ceil(solver.c * self.k))
        self.rule = rule_of(problem, solver.gap, solver.tau)
        self.oracle = Oracle(solver.oracle, self.rule.oracle_gap, solver.oracle_seconds)
        self.sampler = Sampler(self.rule, rng)
        # up to half of what is asked for may be rounding: who violates is then told for between half and one and a half tau
        asked = min(solver.gap, solver.tau or solver.gap)
        self.scores = RunningScores(problem.kernel, 0.5 * asked if asked >= _COARSE else None)
        self.coef, self.intercept, self.working_set = self.rule.start(), 0.0, 0
        self.rounds, self.idle, self.best, self.loss = 0, 0, -np.inf, 0.0
        self.last: dict[str, Any] = {}
        self.log: dict[str, list[Any]] = {name: [] for name in _LOG}

    def iterates(self) -> Iterator[Iterate]:
        """Lines 1 to 10 of Algorithm 2."""
        sample = self._first()
        while True:
            violators = np.zeros(self.n, dtype=bool)
            answer = None
            try:
                for answer in self._solve(sample):
                    if answer is None:
                        yield self._iterate("")
            except OracleFailure as error:
                yield self._iterate("oracle failed", str(error))
                raise
            assert answer is not None
            # with k support vectors it ends whether a point violates or not (line 4): no pass to find out
            if len(sample) < self.n and np.count_nonzero(self.coef) < self.k:
                outside = np.ones(self.n, dtype=bool)
                outside[sample] = False
                self.loss = 0.0
                for first, last, scores in self.scores.update(self.coef):
                    part = slice(first, last)
                    violators[part] = self.rule.violates(scores, first, last) & outside[part]
                    self.loss += float(self.rule.loss(scores, first, last) @ outside[part])
                    yield self._iterate("")
            ended = self._judge(len(sample), violators, answer)
            yield self._iterate(ended)
            if ended:
                return
            sample = self._next(violators)

    def _first(self) -> Index:
        """Return r random points (line 1), all of them if r reaches n."""
        if self.r >= self.n:
            return np.arange(self.n)
        return self.sampler.usable(lambda: np.sort(self.rng.choice(self.n, self.r, replace=False)))

    def _next(self, violators: Mask) -> Index:
        """Return the support vectors and r - |SV| random violators (lines 5 and 6)."""
        support, outside = np.flatnonzero(self.coef), np.flatnonzero(violators)
        room = min(len(outside), max(1, self.r - len(support)))
        return np.union1d(support, self.rng.choice(outside, room, replace=False))

    def _solve(self, sample: Index) -> Iterator[Answer | None]:
        """Solve on the sample from the support vectors' coefficients, and make the answer the model."""
        before = (self.oracle.seconds, self.oracle.evaluations)
        start = self.coef[sample] if self.rounds else None
        self.rounds += 1
        self.last = {}
        where = f"{self.solver.name}, round {self.rounds}"
        for answer in self.oracle.solve(self.problem.restrict(sample), start, where):
            if answer is not None:
                self.coef[:] = 0.0
                self.coef[sample] = answer.coef
                self.intercept, self.working_set = answer.intercept, len(sample)
                self.rule.learn(sample, answer)
                self.last = {
                    "oracle_seconds": self.oracle.seconds - before[0],
                    "oracle_evaluations": self.oracle.evaluations - before[1],
                }
            yield answer

    def _judge(self, size: int, violators: Mask, answer: Answer) -> str:
        """Note the round; return why it is the last one, or an empty string."""
        support, count = int(np.count_nonzero(self.coef)), int(np.count_nonzero(violators))
        looked = support < self.k or size == self.n
        self.last.update(
            sample=size, support=support, violators=count if looked else None, share=count / self.n if looked else None
        )
        for name in _LOG:
            if len(self.log[name]) < _LOGGED:
                self.log[name].append(self.last[name])
        if not looked:
            return "k support vectors"
        if count == 0:
            return "no violator"
        certificate = answer.certificate
        primal, dual = (certificate.primal or 0.0) + self.loss, certificate.dual or 0.0
        self.last["gap"] = (primal - dual) / max(1.0, abs(primal))
        if self.last["gap"] <= self.solver.gap:
            return "gap"
        if self.solver.max_rounds is not None and self.rounds >= self.solver.max_rounds:
            return "max_rounds"
        self.idle = 0 if dual > self.best + _EXACTEST * abs(dual) else self.idle + 1
        self.best = max(self.best, dual)
        if self.idle >= _IDLE:
            # a violator that the oracle puts back at zero is seen anew each round, until it is solved more exactly
            if self.oracle.gap <= _EXACTEST:
                return "stalled"
            self.idle, self.oracle.gap = 0, 0.1 * self.oracle.gap
        return ""

    def _iterate(self, ended: str, evidence: str = "") -> Iterate:
        oracle = self.oracle
        info: dict[str, Any] = {
            "rounds": self.rounds,
            "k": self.k,
            "r": self.r,
            "resampled": self.sampler.resampled,
            "filled": self.sampler.filled,
            "oracle_calls": oracle.calls,
            "oracle_again": oracle.again,
            "oracle_gap": oracle.gap,
            "oracle_seconds": oracle.seconds,
            "oracle_evaluations": oracle.evaluations,
            "own_evaluations": self.counter.evaluations - self.counted - oracle.evaluations,
            **{f"round_{name}": value for name, value in self.last.items()},
        }
        if ended:
            violators = self.last.get("violators")
            told = "violators not looked for" if violators is None else f"{violators:,} violators"
            found = f"{self.last.get('support', 0):,} support vectors, {told},"
            evidence = evidence or f"{found} after {self.rounds} rounds; k = {self.k:,}"
            info.update(
                status=ended,
                **({"evidence": evidence} if ended in _RULES else {"stopped": f"{ended}: {evidence}"}),
                solved_at_once=self.r >= self.n,
                **{f"log_{name}": values for name, values in self.log.items()},
            )
        return Iterate(
            dual_coef=self.coef,
            intercept=self.intercept,
            done=ended in _RULES,
            step=self.rounds,
            working_set=self.working_set,
            info=info,
        )
