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
from harness_sampling.oracle import Answer
from harness_sampling.rules import LossRule, rule_of
from harness_sampling.run import Run
from harness_sampling.scoring import RunningScores
from harness_sampling.solvers import Wrapper

if TYPE_CHECKING:
    from harness.arrays import Index, Mask

DELTA, DELTA_REGRESSION = 0.9, 0.1
"""delta of the paper's k: 5.1.2 for classification, 5.2 for regression (but for MNIST, 5.2.3: 0.9)."""

_IDLE = 3  # rounds that do not better the objective: the oracle is not exact enough to see the violators
_COARSE = 1e-4  # accuracy from which on float32 may do for the scores
_EXACTEST = 1e-12  # relative gap at which it gives up on that


def support_bound(n: int, eps: float = 0.2, delta: float = DELTA, *, separable: bool = False) -> int:
    """Return k = 32 ln(4 n / delta) / eps^2, or 16 for a separable set, rounded up (RandSVM, 5.1.2 and 5.2; (7) and (8)).

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
    delta: float | None = parameter(
        None, "probability of a larger distortion, for k; none: the paper's, 0.9, in regression 0.1", gt=0, lt=1
    )
    separable: bool = parameter(False, "the set is separable: k is half as large")
    c: float = parameter(2.0, "sample size r over k", ge=1)
    max_rounds: int | None = parameter(None, "give up after so many rounds; none: never", ge=1)

    def with_target_gap(self, gap: float) -> Self:
        """Return this solver with this gap, and points violating where it would not hold for all."""
        return self.replaced(gap=min(gap, 0.5), tau=None)

    def distortion_risk(self, problem: Problem) -> float:
        """Return delta, the paper's for the task where none is given."""
        if self.delta is not None:
            return self.delta
        return DELTA_REGRESSION if problem.task == "regression" else DELTA

    def _small(self) -> dict[str, Any]:
        return {"k": 4, "c": 1.0, "max_rounds": 3}

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        """Yield after each round, and within rounds where the host may stop the run."""
        yield from _Run(self, problem, rng).iterates()


class _Run(Run):
    """One run: the current sample, its solution, the violators outside."""

    logged = ("sample", "support", "violators", "share", "oracle_seconds", "oracle_evaluations")
    own_ends = ("no violator", "gap", "k support vectors")

    def __init__(self, solver: RandSVM1, problem: Problem, rng: np.random.Generator) -> None:
        rule = rule_of(problem, solver.gap, solver.tau)
        assert isinstance(rule, LossRule)
        super().__init__(solver, problem, rng, rule)
        self.solver, self.losses = solver, rule
        self.k = solver.k or support_bound(
            self.n, solver.eps, solver.distortion_risk(problem), separable=solver.separable
        )
        self.r = min(self.n, math.ceil(solver.c * self.k))
        # up to half of what is asked for may be rounding: who violates is then told for between half and one and a half tau
        asked = min(solver.gap, solver.tau or solver.gap)
        self.scores = RunningScores(problem.kernel, 0.5 * asked if asked >= _COARSE else None)
        self.idle, self.best, self.loss = 0, -np.inf, 0.0
        self.sample: Index | None = None  # of the next round

    def _round(self) -> Iterator[str]:
        """Lines 2 to 9 of Algorithm 2."""
        sample, answer = self._first() if self.sample is None else self.sample, None
        for answer in self._solve(sample):
            if answer is None:
                yield ""
        assert answer is not None
        self.rule.learn(sample, answer)
        self.last = dict(self.spent)
        violators = np.zeros(self.n, dtype=bool)
        # with k support vectors it ends whether a point violates or not (line 4): no pass to find out
        if len(sample) < self.n and np.count_nonzero(self.coef) < self.k:
            outside = np.ones(self.n, dtype=bool)
            outside[sample] = False
            self.loss = 0.0
            for first, last, scores in self.scores.update(self.coef):
                part = slice(first, last)
                violators[part] = self.rule.violates(scores, first, last) & outside[part]
                self.loss += float(self.losses.loss(scores, first, last) @ outside[part])
                yield ""
        ended = self._judge(len(sample), violators, answer)
        if ended == "next":
            self.sample = self._next(violators)
        yield ended

    def _first(self) -> Index:
        """Return r random points (line 1), all of them if r reaches n."""
        if self.r >= self.n:
            return np.arange(self.n)
        return self._usable(lambda: np.sort(self.rng.choice(self.n, self.r, replace=False)))

    def _next(self, violators: Mask) -> Index:
        """Return the support vectors and r - |SV| random violators (lines 5 and 6)."""
        support, outside = np.flatnonzero(self.coef), np.flatnonzero(violators)
        room = min(len(outside), max(1, self.r - len(support)))
        return np.union1d(support, self.rng.choice(outside, room, replace=False))

    def _judge(self, size: int, violators: Mask, answer: Answer) -> str:
        """Note the round; return why it is the last one, or 'next'."""
        support, count = int(np.count_nonzero(self.coef)), int(np.count_nonzero(violators))
        looked = support < self.k or size == self.n
        found = {"violators": count, "share": count / self.n} if looked else {"violators": None, "share": None}
        self._note(**self.spent, sample=size, support=support, **found)
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
        return "next"

    def _figures(self) -> dict[str, Any]:
        return {"k": self.k, "oracle_gap": self.oracle.gap}

    def _evidence(self, ended: str) -> str:
        violators = self.last.get("violators")
        told = "violators not looked for" if violators is None else f"{violators:,} violators"
        found = f"{self.last.get('support', 0):,} support vectors, {told},"
        return f"{found} after {self.rounds} rounds; k = {self.k:,}"
