"""The rounds of the sampling solvers: an oracle on a sample, its model, the violators outside, the next sample.

OptMargin, OptSoftMargin and RandSVM (:class:`WeightedRounds`): sample by weights, solve, double the weights of the
violators. J. L. Balcazar, Y. Dai, J. Tanaka, O. Watanabe, "Provably Fast Training Algorithms for Support Vector Machines"
(2008), Figures 1 and 3; RandSVM is Algorithm 1 of the paper of that name. Differs in: a sample that holds too few
examples of a class is drawn again; the slack of a violator (rules.py); delta and r double as section 1 proposes, and
also where so many rounds in a row were not successful that delta is refuted: a round succeeds with probability 1/2 if
delta holds.

RandSVM-1 (:class:`SupportRounds`): keep the support vectors, add violators drawn at random, solve again. Source: the
paper of RandSVM, section 3.3 (Algorithm 2). It ends without violators, which is the optimum, or with k support vectors:
Theorem 3 holds that solution for near optimal if the set is almost separable. Differs in: it also ends where the
violators' losses leave no more than the relative gap asked for; what a violator's slack is (rules.py); a sample of one
class is drawn again.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from harness import Iterate, Problem
from harness.problems import HardMargin
from harness.registry.subproblem_oracle import Answer, CertifiedOracle, OracleFailure
from harness.support.arrays import Index, Mask
from harness_sampling.hulls import with_doubled_k
from harness_sampling.multiset import Multiset
from harness_sampling.oracle import answers, meets
from harness_sampling.rules import HullRule, LossRule, rule_of
from harness_sampling.scoring import RunningScores, scores_in_pieces

if TYPE_CHECKING:
    from harness_sampling.solvers import RandSVM1, WeightedSampling, Wrapper

_TRIES = 10  # samples drawn before what a class lacks is put in
_LOGGED = 2000  # rounds whose figures the last iterate's info lists
_FIRST_DELTA = 4  # of the adaptive scheme
_REFUTED = 8  # unsuccessful rounds in a row: of probability 1/256 if delta held
_GIVES_UP = 10  # times the expected number of rounds, where delta stays
IDLE = 3  # rounds that do not better the objective: the oracle is not exact enough to see the violators
COARSE = 1e-4  # accuracy from which on float32 may do for the scores
EXACTEST = 1e-12  # relative gap at which it gives up on that


class Rounds(ABC):
    """The current model, and what became of the rounds so far.

    logged : names of the figures of each round that the last iterate's info lists
    own_ends : ends that are the algorithm's own, and not its giving up
    r : copies or points in a sample
    resampled : samples thrown away for want of a class; filled : samples that a class was put into, drawn uniformly
    """

    logged: ClassVar[tuple[str, ...]]
    own_ends: ClassVar[tuple[str, ...]]
    r: int

    def __init__(self, solver: Wrapper, problem: Problem, rng: np.random.Generator, rule: HullRule | LossRule) -> None:
        self.owner, self.problem, self.rng, self.n, self.rule = solver.name, problem, rng, problem.n, rule
        self.max_rounds = solver.max_rounds
        self.counter, self.counted = problem.kernel.counter, problem.kernel.counter.evaluations
        self.oracle, self.oracle_gap = CertifiedOracle(solver.oracle), 0.5 * solver.gap
        self._begin()
        self.rounds = self.resampled = self.filled = 0
        self.last: dict[str, Any] = {}  # figures of the last round
        self.spent: dict[str, Any] = {}  # by its oracle
        self.log: dict[str, list[Any]] = {name: [] for name in self.logged}

    def _begin(self) -> None:
        """Set the model before there is one: a feasible point."""
        form = self.problem.dual_form()
        self.coef, self.intercept, self.working_set, self.solved = form.coef(form.start), 0.0, 0, False

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
            ended = self._concluded(ended)
            yield self._iterate(ended)
            if ended:
                return

    @abstractmethod
    def _round(self) -> Iterator[str]:
        """Work on one round. Yields '' where the host may stop; last why the run ends, or 'next'."""

    def _concluded(self, ended: str) -> str:
        """Return why the run ends after a round that said ``ended``, or an empty string."""
        if ended != "next":
            return ended
        return "max_rounds" if self.max_rounds is not None and self.rounds >= self.max_rounds else ""

    def _usable(self, draw: Callable[[], Index]) -> Index:
        """Return the points, ascending, of a ``draw`` that holds what the rule needs to define a subproblem.

        Drawn again while a class is short of examples, and filled up at last. Where r reaches n it is all points.
        """
        if self.r >= self.n:
            return np.arange(self.n)
        needs, sample = self.rule.needs(), draw()
        for _ in range(_TRIES - 1):
            if all(np.count_nonzero(members[sample]) >= count for members, count in needs):
                return sample
            self.resampled += 1
            sample = draw()
        for members, count in needs:
            short = count - int(np.count_nonzero(members[sample]))
            if short > 0:
                self.filled += 1
                outside = np.setdiff1d(np.flatnonzero(members), sample, assume_unique=True)
                sample = np.union1d(sample, self.rng.choice(outside, short, replace=False))
        return sample

    def _solved(self, sample: Index) -> Generator[str, None, Answer]:
        """Solve on the sample from the coefficients there are, make the answer the model and return it.

        Yields '' where the host may stop.
        """
        oracle = self.oracle
        seconds, evaluations = oracle.seconds, oracle.evaluations
        start = self.coef[sample] if self.solved else None
        self.rounds += 1
        self.last = {}
        found: Any = None
        self.part, where = self.problem.restrict(sample), f"{self.owner}, round {self.rounds}"
        for found in answers(oracle, self.part, where, self.oracle_gap, start):
            if not isinstance(found, Answer):
                yield ""
        answer: Answer = found
        self.coef[:] = 0.0
        self.coef[sample] = answer.coef
        self.intercept, self.working_set, self.solved = answer.intercept, len(sample), True
        self.spent = {
            "oracle_seconds": oracle.seconds - seconds,
            "oracle_evaluations": oracle.evaluations - evaluations,
        }
        return answer

    def _note(self, **figures: Any) -> None:
        """Keep the figures of one round."""
        self.last = figures
        for name, listed in self.log.items():
            if len(listed) < _LOGGED:
                listed.append(figures[name])

    def _iterate(self, ended: str, evidence: str = "") -> Iterate:
        oracle = self.oracle
        info: dict[str, Any] = {
            "rounds": self.rounds,
            "r": self.r,
            "resampled": self.resampled,
            "filled": self.filled,
            "oracle_calls": oracle.calls,
            "oracle_again": oracle.again,
            "oracle_seconds": oracle.seconds,
            "oracle_evaluations": oracle.evaluations,
            "own_evaluations": self.counter.evaluations - self.counted - oracle.evaluations,
            **self._figures(),
            **{f"round_{name}": value for name, value in self.last.items()},
        }
        if ended:
            told, own = evidence or self._evidence(ended), ended in self.own_ends
            info.update(
                status=ended,
                **({"evidence": told} if own else {"stopped": f"{ended}: {told}"}),
                solved_at_once=self.r >= self.n,
                **{f"log_{name}": values for name, values in self.log.items()},
            )
        return Iterate(
            dual_coef=self.coef,
            intercept=self.intercept,
            done=ended in self.own_ends,
            step=self.rounds,
            working_set=self.working_set,
            info=info,
        )

    @abstractmethod
    def _figures(self) -> dict[str, Any]:
        """Return what else each iterate tells of the run."""

    @abstractmethod
    def _evidence(self, ended: str) -> str:
        """Return what is known at an end."""


class WeightedRounds(Rounds):
    """Samples by weights that double at violators.

    mapped : what :func:`harness_sampling.scoring.mapped_features` says of the points
    lemma : sums of the violators' share of the weight, and of the bound (u - r) delta / (r + 1) over u (Lemma 2.1)
    """

    logged = ("sample", "violators", "share", "successful", "oracle_seconds", "oracle_evaluations", "delta", "r")
    own_ends = ("done",)

    def __init__(
        self, solver: WeightedSampling, problem: Problem, rng: np.random.Generator, mapped: int | None = None
    ) -> None:
        super().__init__(solver, problem, rng, rule_of(problem, solver.gap))
        self.solver, self.mapped = solver, mapped
        self.weights = Multiset(self.n)
        self.successful = self.doublings = self.k_doublings = 0
        self.lemma = [0.0, 0.0]
        if solver.delta == "adaptive":
            self.delta = min(_FIRST_DELTA, self.n)
        else:
            self.delta = self.rule.dimension_bound() if solver.delta == "bound" else solver.delta
        least = sum(count for _, count in self.rule.needs())
        # of a reduced hull the support alone has k points of each class: a sample has three times as many
        # 6 delta^2 is the r of the theorems
        self.r = solver.r if solver.r is not None else max(6 * self.delta**2, 3 * least if least > 2 else 0)
        self.since = self.unlucky = 0  # rounds with this delta; unsuccessful ones in a row

    # -- one round -----------------------------------------------------------------------------------

    def _round(self) -> Iterator[str]:
        """Sample, solve, look for violators, double."""
        sample = self._usable(lambda: np.unique(self.weights.draw(self.r, self.rng)))
        answer = yield from self._solved(sample)
        figures = {**self.spent, "sample": len(sample), "delta": self.delta, "r": self.r}
        if meets(self.part, self.oracle_gap, answer):
            self._note(**figures, violators=0, share=0.0, successful=False)
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
        u, v = self.weights.total, self.weights.weight(violators)
        share, bound = v / u, max(0.0, 1.0 - self.r / u) * self.delta / (self.r + 1) if drawn else 0.0
        successful = 3 * self.delta * v <= u
        self.lemma[0] += share
        self.lemma[1] += bound
        self.successful += successful
        self._note(**figures, violators=int(np.count_nonzero(violators)), share=share, successful=successful)
        self.since += 1
        self.unlucky = 0 if successful else self.unlucky + 1
        if v == 0:
            return "done"
        if successful:
            self.weights.double(violators)
        if self.solver.delta == "adaptive" and (self.since >= self.expected or self.unlucky >= _REFUTED):
            self.delta, self.r = min(2 * self.delta, self.n), 2 * self.r if self.solver.r else 4 * self.r
            self.since = self.unlucky = 0
            self.doublings += 1
        return "next"

    # -- how it ends ---------------------------------------------------------------------------------

    def _meeting(self) -> str:
        """The local solution has w = 0, and so has that of all points: k is too small (Balcazar et al., section 6)."""
        problem, doubles = self.problem, getattr(self.solver, "doubles_k", False)
        larger = with_doubled_k(problem) if doubles and isinstance(problem, HardMargin) else None
        if larger is None:
            return "w may be 0"
        self.problem, self.rule = larger, rule_of(larger, self.solver.gap)
        self._begin()
        self.r = max(self.r, 3 * sum(count for _, count in self.rule.needs()))
        self.k_doublings += 1
        return "next"

    def _concluded(self, ended: str) -> str:
        if ended == "done" and self.k_doublings:
            return "k doubled"  # solved, but another problem than the one that was stated
        ended = super()._concluded(ended)
        if not ended and self.solver.delta != "adaptive" and self.rounds >= _GIVES_UP * self.expected:
            return "delta too small"
        return ended

    @property
    def expected(self) -> float:
        """6 delta ln m, which bounds the expected number of rounds (Balcazar et al., Theorems 2.2 and 4.3)."""
        return 6.0 * self.delta * math.log(max(2, self.n))

    def _figures(self) -> dict[str, Any]:
        rounds = max(1, self.rounds)
        found = {
            "successful_rounds": self.successful,
            "delta": self.delta,
            "doublings": self.doublings,
            "rounds_bound": self.expected,
            "lemma_share": self.lemma[0] / rounds,
            "lemma_bound": self.lemma[1] / rounds,
        }
        if not self.k_doublings:
            return found
        k = _ks(self.problem)
        return {**found, "k_plus": k[0], "k_minus": k[1], "k_doublings": self.k_doublings}

    def _evidence(self, ended: str) -> str:
        rounds = self.rounds
        if ended == "k doubled":
            settings, k = self.problem.settings, " and ".join(dict.fromkeys(f"{k:g}" for k in _ks(self.problem)))
            own = "" if settings.D_minus is None else f", D_minus = {settings.D_minus:g}"
            return (
                f"the hulls that were stated meet, or nearly; the model is that of k = {k}, where they are apart: state reduced-hull "
                f"with D = {settings.D:g}{own} to have it certified"
            )
        return {
            "done": f"no violator after {rounds} rounds",
            "w may be 0": f"in round {rounds} |w| is rounding: the hulls of {self.working_set:,} points meet, or are no farther "
            "apart than rounding shows, and so are all",
            "max_rounds": f"violators are left after {rounds} rounds",
            "delta too small": f"{rounds} rounds; {self.expected:.0f} were expected if delta held",
        }[ended]


def _ks(problem: Problem) -> tuple[float, float]:
    """Return k = 1 / D of each class."""
    assert isinstance(problem, HardMargin)
    return 1.0 / problem.caps[0], 1.0 / problem.caps[1]


class SupportRounds(Rounds):
    """Samples of the support vectors and violators."""

    logged = ("sample", "support", "violators", "share", "oracle_seconds", "oracle_evaluations")
    own_ends = ("no violator", "gap", "k support vectors")

    def __init__(self, solver: RandSVM1, problem: Problem, rng: np.random.Generator) -> None:
        rule = rule_of(problem, solver.gap, solver.tau)
        assert isinstance(rule, LossRule)
        super().__init__(solver, problem, rng, rule)
        self.solver, self.losses = solver, rule
        self.k = solver.most_support(problem)
        self.r = min(self.n, math.ceil(solver.c * self.k))
        # up to half of what is asked for may be rounding: who violates is then told for between half and one and a half tau
        asked = min(solver.gap, solver.tau or solver.gap)
        self.scores = RunningScores(problem.kernel, 0.5 * asked if asked >= COARSE else None)
        self.idle, self.best, self.loss = 0, -np.inf, 0.0
        self.sample: Index | None = None  # of the next round

    def _round(self) -> Iterator[str]:
        """Lines 2 to 9 of Algorithm 2."""
        sample = self.sample
        if sample is None:  # line 1: r random points
            sample = self._usable(lambda: np.sort(self.rng.choice(self.n, self.r, replace=False)))
        answer = yield from self._solved(sample)
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
        self.last["gap"] = (primal - dual) / (abs(primal) or 1.0)
        if self.last["gap"] <= self.solver.gap:
            return "gap"
        self.idle = 0 if dual > self.best + EXACTEST * abs(dual) else self.idle + 1
        self.best = max(self.best, dual)
        if self.idle >= IDLE:
            # a violator that the oracle puts back at zero is seen anew each round, until it is solved more exactly
            if self.oracle_gap <= EXACTEST:
                return "stalled"
            self.idle, self.oracle_gap = 0, 0.1 * self.oracle_gap
        return "next"

    def _figures(self) -> dict[str, Any]:
        return {"k": self.k, "oracle_gap": self.oracle_gap}

    def _evidence(self, ended: str) -> str:
        violators = self.last.get("violators")
        told = "violators not looked for" if violators is None else f"{violators:,} violators"
        found = f"{self.last.get('support', 0):,} support vectors, {told},"
        return f"{found} after {self.rounds} rounds; k = {self.k:,}"
