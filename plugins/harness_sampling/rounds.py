"""The loop of OptMargin, OptSoftMargin and RandSVM: sample, solve, double the weights of the violators.

J. L. Balcazar, Y. Dai, J. Tanaka, O. Watanabe, "Provably Fast Training Algorithms for Support Vector Machines" (2008),
Figures 1 and 3; RandSVM is Algorithm 1 of the paper of that name. Differs in: a sample that holds too few examples of
a class is drawn again; the slack of a violator (rules.py); delta and r double as section 1 proposes, and also where so
many rounds in a row were not successful that delta is refuted: a round succeeds with probability 1/2 if delta holds.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from harness import HardMargin, Iterate, Problem
from harness_sampling.hulls import with_doubled_k
from harness_sampling.multiset import Multiset
from harness_sampling.oracle import Answer, Oracle, OracleFailure
from harness_sampling.rules import Rule, rule_of
from harness_sampling.sample import Sampler
from harness_sampling.scoring import scores_in_pieces

if TYPE_CHECKING:
    Vector = np.ndarray[Any, np.dtype[np.float64]]
    Index = np.ndarray[Any, np.dtype[np.int64]]
    Mask = np.ndarray[Any, np.dtype[np.bool_]]

_FIRST_DELTA = 4  # of the adaptive scheme
_REFUTED = 8  # unsuccessful rounds in a row: of probability 1/256 if delta held
_GIVES_UP = 10  # times the expected number of rounds, where delta stays
_LOGGED = 2000  # rounds whose figures the last iterate's info lists
_LOG = ("sample", "violators", "share", "successful", "oracle_seconds", "oracle_evaluations", "delta", "r")


@dataclass(frozen=True)
class Plan:
    """What a solver of this family was told; see its parameters."""

    owner: str
    oracle: str
    gap: float
    delta: int | Literal["adaptive", "bound"]
    r: int | None
    max_rounds: int | None
    oracle_seconds: float | None
    doubles_k: bool = False


def expected_rounds(delta: int, m: int) -> float:
    """Return 6 delta ln m, which bounds the expected number of rounds (Balcazar et al., Theorems 2.2 and 4.3)."""
    return 6.0 * delta * math.log(max(2, m))


def sample_size(delta: int) -> int:
    """Return 6 delta^2, the r of the theorems."""
    return 6 * delta * delta


@dataclass
class Tally:
    """What the rounds were like; the figures of a round by name, and their sums.

    lemma : sums of the violators' share of the weight, and of the bound (u - r) delta / (r + 1) over u (Lemma 2.1)
    """

    rounds: int = 0
    successful: int = 0
    doublings: int = 0
    last: dict[str, Any] = field(default_factory=dict)
    log: dict[str, list[Any]] = field(default_factory=lambda: {name: [] for name in _LOG})
    lemma: list[float] = field(default_factory=lambda: [0.0, 0.0])

    def note(self, **figures: Any) -> None:
        """Keep the figures of one round."""
        self.last = figures
        for name, value in figures.items():
            if len(self.log[name]) < _LOGGED:
                self.log[name].append(value)


class Rounds:
    """One run of the loop.

    mapped : what :func:`harness_sampling.scoring.mapped_features` says of the problem's points
    """

    def __init__(self, plan: Plan, problem: Problem, rng: np.random.Generator, mapped: int | None = None) -> None:
        self.plan, self.problem, self.rng, self.mapped = plan, problem, rng, mapped
        self.n = problem.n
        self.counter, self.counted = problem.kernel.counter, problem.kernel.counter.evaluations
        self.rule: Rule = rule_of(problem, plan.gap)
        self.oracle = Oracle(plan.oracle, self.rule.oracle_gap, plan.oracle_seconds)
        self.weights, self.tally, self.sampler = Multiset(self.n), Tally(), Sampler(self.rule, rng)
        self.coef, self.intercept = self.rule.start(), 0.0
        self.solved, self.working_set = False, 0
        self.k_doublings, self.stated = 0, problem
        if plan.delta == "adaptive":
            self.delta = min(_FIRST_DELTA, self.n)
        else:
            self.delta = self.rule.dimension_bound() if plan.delta == "bound" else plan.delta
        least = sum(count for _, count in self.rule.needs())
        # of a reduced hull the support alone has k points of each class: a sample has three times as many
        self.r = plan.r if plan.r is not None else max(sample_size(self.delta), 3 * least if least > 2 else 0)
        self.since = self.unlucky = 0  # rounds with this delta; unsuccessful ones in a row

    def iterates(self) -> Iterator[Iterate]:
        """Yield the current model after each round, and wherever the oracle or the pass over the data may be stopped."""
        while True:
            ended = ""
            try:
                for ended in self._round():
                    if not ended:
                        yield self._iterate("")
            except OracleFailure as error:
                yield self._iterate("oracle failed", str(error))
                raise
            if ended == "next":
                ended = self._given_up()
            elif ended == "done" and self.k_doublings:
                ended = "k doubled"  # solved, but another problem than the one that was stated
            yield self._iterate(ended)
            if ended:
                return

    # -- one round -----------------------------------------------------------------------------------

    def _round(self) -> Iterator[str]:
        """Sample, solve, look for violators, double. Yields '' where the host may stop; last why the run ends, or 'next'."""
        tally, oracle = self.tally, self.oracle
        sample = self._sample()
        before = (oracle.seconds, oracle.evaluations)
        tally.rounds += 1
        tally.last = {}
        answer = None
        start = self.coef[sample] if self.solved else None
        where = f"{self.plan.owner}, round {tally.rounds}"
        for answer in oracle.solve(self.problem.restrict(sample), start, where):
            if answer is None:
                yield ""
        assert answer is not None
        self._take(sample, answer)
        spent = {"oracle_seconds": oracle.seconds - before[0], "oracle_evaluations": oracle.evaluations - before[1]}
        figures = {**spent, "sample": len(sample), "delta": self.delta, "r": self.r}
        if answer.meeting:
            tally.note(**figures, violators=0, share=0.0, successful=False)
            yield self._meeting()
            return
        violators = np.zeros(self.n, dtype=bool)
        if len(sample) < self.n:
            self.rule.learn(sample, answer)
            for first, last, scores in scores_in_pieces(self.problem.kernel, self.coef, self.mapped):
                violators[first:last] = self.rule.violates(scores, first, last)
                yield ""
            violators[sample] = False
        yield self._judge(violators, figures, drawn=len(sample) < self.n)

    def _judge(self, violators: Mask, figures: dict[str, Any], *, drawn: bool) -> str:
        """Double the weights of the violators if they are few; return 'done' without any, else 'next'."""
        tally, u, v = self.tally, self.weights.total, self.weights.weight(violators)
        share, bound = v / u, max(0.0, 1.0 - self.r / u) * self.delta / (self.r + 1) if drawn else 0.0
        successful = 3 * self.delta * v <= u
        tally.lemma[0] += share
        tally.lemma[1] += bound
        tally.successful += successful
        tally.note(**figures, violators=int(np.count_nonzero(violators)), share=share, successful=successful)
        self.since += 1
        self.unlucky = 0 if successful else self.unlucky + 1
        if v == 0:
            return "done"
        if successful:
            self.weights.double(violators)
        if self.plan.delta == "adaptive" and (
            self.since >= expected_rounds(self.delta, self.n) or self.unlucky >= _REFUTED
        ):
            self.delta, self.r = min(2 * self.delta, self.n), 2 * self.r if self.plan.r else 4 * self.r
            self.since = self.unlucky = 0
            tally.doublings += 1
        return "next"

    def _sample(self) -> Index:
        """Return the points of r copies, all points where r reaches n; drawn again while a class is short of examples."""
        if self.r >= self.n:
            return np.arange(self.n)
        self.sampler.rule = self.rule
        return self.sampler.usable(lambda: np.unique(self.weights.draw(self.r, self.rng)))

    def _take(self, sample: Index, answer: Answer) -> None:
        """Make the answer the current model."""
        self.coef[:] = 0.0
        self.coef[sample] = answer.coef
        self.intercept, self.solved, self.working_set = answer.intercept, True, len(sample)

    # -- how it ends ---------------------------------------------------------------------------------

    def _meeting(self) -> str:
        """The local solution has w = 0, and so has that of all points: k is too small (Balcazar et al., section 6)."""
        problem = self.problem
        if not (self.plan.doubles_k and isinstance(problem, HardMargin)):
            return "hulls intersect"
        larger = with_doubled_k(problem)
        if larger is None:
            return "hulls intersect"
        self.problem, self.rule = larger, rule_of(larger, self.plan.gap)
        self.coef, self.intercept, self.solved, self.working_set = self.rule.start(), 0.0, False, 0
        self.r = max(self.r, 3 * sum(count for _, count in self.rule.needs()))
        self.k_doublings += 1
        return "next"

    def _given_up(self) -> str:
        """Return why there is no further round, or an empty string."""
        rounds, limit = self.tally.rounds, self.plan.max_rounds
        if limit is not None and rounds >= limit:
            return "max_rounds"
        if self.plan.delta != "adaptive" and rounds >= _GIVES_UP * expected_rounds(self.delta, self.n):
            return "delta too small"
        return ""

    def _iterate(self, ended: str, evidence: str = "") -> Iterate:
        tally, oracle = self.tally, self.oracle
        info: dict[str, Any] = {
            "rounds": tally.rounds,
            "successful_rounds": tally.successful,
            "delta": self.delta,
            "r": self.r,
            "doublings": tally.doublings,
            "resampled": self.sampler.resampled,
            "filled": self.sampler.filled,
            "oracle_calls": oracle.calls,
            "oracle_again": oracle.again,
            "oracle_seconds": oracle.seconds,
            "oracle_evaluations": oracle.evaluations,
            "own_evaluations": self.counter.evaluations - self.counted - oracle.evaluations,
        }
        info.update({f"round_{name}": value for name, value in tally.last.items()})
        if self.k_doublings:
            k = _ks(self.problem)
            info.update(k_plus=k[0], k_minus=k[1], k_doublings=self.k_doublings)
        if ended:
            rounds, told = max(1, tally.rounds), evidence or self._evidence(ended)
            info.update(
                status=ended,
                **({"evidence": told} if ended == "done" else {"stopped": f"{ended}: {told}"}),
                rounds_bound=expected_rounds(self.delta, self.n),
                solved_at_once=self.r >= self.n,
                lemma_share=tally.lemma[0] / rounds,
                lemma_bound=tally.lemma[1] / rounds,
                **{f"log_{name}": values for name, values in tally.log.items()},
            )
        return Iterate(
            dual_coef=self.coef,
            intercept=self.intercept,
            done=ended == "done",
            step=tally.rounds,
            working_set=self.working_set,
            info=info,
        )

    def _evidence(self, ended: str) -> str:
        rounds, m = self.tally.rounds, self.n
        if ended == "k doubled":
            first, last = (
                " and ".join(dict.fromkeys(f"{k:g}" for k in _ks(each))) for each in (self.stated, self.problem)
            )
            caps = " and ".join(dict.fromkeys(f"{1.0 / k:g}" for k in _ks(self.problem)))
            return (
                f"the hulls meet at k = {first}; the model is that of k = {last}, where they are apart: state reduced-hull "
                f"with D = {caps} to have it certified"
            )
        return {
            "done": f"no violator after {rounds} rounds",
            "hulls intersect": f"w = 0 in round {rounds}: the hulls of {self.working_set:,} points meet, and so do all",
            "max_rounds": f"violators are left after {rounds} rounds",
            "delta too small": f"{rounds} rounds; {expected_rounds(self.delta, m):.0f} were expected if delta held",
        }[ended]


def _ks(problem: Problem) -> tuple[float, float]:
    """Return k = 1 / D of each class."""
    assert isinstance(problem, HardMargin)
    return 1.0 / problem.caps[0], 1.0 / problem.caps[1]
