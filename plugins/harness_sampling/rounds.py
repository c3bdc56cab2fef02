"""Rounds of the sampling solvers: solve a sample by an oracle, find the violators outside, draw the next sample.

OptMargin, OptSoftMargin and RandSVM (:class:`WeightedRounds`) sample by weights, solve, and double the weights of the
violators. J. L. Balcazar, Y. Dai, J. Tanaka, O. Watanabe, "Provably Fast Training Algorithms for Support Vector Machines"
(2008), Figures 1 and 3; RandSVM is Algorithm 1 of the paper of that name. This code differs in three points. A sample with too
few examples of a class is drawn again. A violator has a slack (rules.py). delta and r double as section 1 proposes, and also
after eight unsuccessful rounds in a row, as with a valid delta a round succeeds with probability 1/2.

RandSVM-1 (:class:`SupportRounds`) retains the support vectors, adds violators drawn at random, and solves again. Source: the
paper of RandSVM, section 3.3 (Algorithm 2). It ends without violators, at the optimum, or with k support vectors, which is
near the optimum if the set is almost separable (Theorem 3). This code differs in three points. It also ends if the losses of
the violators increase the relative gap to no more than the target. A violator has a slack (rules.py). A sample of one class
is drawn again.
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

_MAX_DRAWS = 10  # samples drawn before missing examples of a class are added
_MAX_LOGGED_ROUNDS = 2000  # rounds whose figures the info of the last iterate lists
_FIRST_DELTA = 4  # first delta of the adaptive scheme
_UNSUCCESSFUL_ROUNDS = 8  # unsuccessful rounds in a row until delta doubles; probability 1/256 with a valid delta
_ROUNDS_FACTOR = 10  # largest number of rounds with a fixed delta, over their expected number
IDLE = 3  # rounds without a better objective until the oracle's gap becomes smaller
COARSE = 1e-4  # smallest accuracy of scores for which float32 is tried
EXACTEST = 1e-12  # smallest relative gap of the oracle


class Rounds(ABC):
    """The current model and the figures of the rounds so far.

    logged : names of the figures of each round that the last iterate's info lists
    done_statuses : statuses with which the algorithm is done; with any other it gave up
    r : number of copies or points in a sample
    resampled : number of samples drawn again because a class lacked examples
    filled : number of samples to which random examples of a class were added
    """

    logged: ClassVar[tuple[str, ...]]
    done_statuses: ClassVar[tuple[str, ...]]
    r: int

    def __init__(self, solver: Wrapper, problem: Problem, rng: np.random.Generator, rule: HullRule | LossRule) -> None:
        self.owner, self.problem, self.rng, self.n, self.rule = solver.name, problem, rng, problem.n, rule
        self.max_rounds = solver.max_rounds
        self.counter, self.initial_evaluations = problem.kernel.counter, problem.kernel.counter.evaluations
        self.oracle, self.oracle_gap = CertifiedOracle(solver.oracle), 0.5 * solver.gap
        self._begin()
        self.rounds = self.resampled = self.filled = 0
        self.last: dict[str, Any] = {}  # figures of the last round
        self.spent: dict[str, Any] = {}  # seconds and kernel evaluations of the oracle in the last round
        self.log: dict[str, list[Any]] = {name: [] for name in self.logged}

    def _begin(self) -> None:
        """Set the first model, a feasible point."""
        form = self.problem.dual_form()
        self.coef, self.intercept, self.working_set, self.solved = form.coef(form.start), 0.0, 0, False

    def iterates(self) -> Iterator[Iterate]:
        """Yield the current model after each round and wherever the host may stop the oracle or the pass over the data."""
        while True:
            status = ""
            try:
                for status in self._round():
                    if not status:
                        yield self._iterate("")
            except OracleFailure as error:
                yield self._iterate("oracle failed", str(error))
                raise
            status = self._final_status(status)
            yield self._iterate(status)
            if status:
                return

    @abstractmethod
    def _round(self) -> Iterator[str]:
        """Perform one round. Yield '' where the host may stop, and last the status with which the run ends, or 'next'."""

    def _final_status(self, status: str) -> str:
        """Return the status with which the run ends after a round with ``status``, or '' if it continues."""
        if status != "next":
            return status
        return "max_rounds" if self.max_rounds is not None and self.rounds >= self.max_rounds else ""

    def _draw_usable(self, draw: Callable[[], Index]) -> Index:
        """Return a sample by ``draw``, ascending, that contains the points that the rule needs to define a subproblem.

        A sample with too few examples of a class is drawn again, and the last one is filled up. If r >= n it is all points.
        """
        if self.r >= self.n:
            return np.arange(self.n)
        needs, sample = self.rule.needs(), draw()
        for _ in range(_MAX_DRAWS - 1):
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

    def _solve(self, sample: Index) -> Generator[str, None, Answer]:
        """Solve the sample from the current coefficients, make the answer the model and return it.

        Yield '' where the host may stop.
        """
        oracle = self.oracle
        seconds, evaluations = oracle.seconds, oracle.evaluations
        start = self.coef[sample] if self.solved else None
        self.rounds += 1
        self.last = {}
        answer: Any = None
        self.subproblem, where = self.problem.restrict(sample), f"{self.owner}, round {self.rounds}"
        for answer in answers(oracle, self.subproblem, where, self.oracle_gap, start):
            if not isinstance(answer, Answer):
                yield ""
        assert isinstance(answer, Answer)
        self.coef[:] = 0.0
        self.coef[sample] = answer.coef
        self.intercept, self.working_set, self.solved = answer.intercept, len(sample), True
        self.spent = {
            "oracle_seconds": oracle.seconds - seconds,
            "oracle_evaluations": oracle.evaluations - evaluations,
        }
        return answer

    def _record(self, **figures: Any) -> None:
        """Append the figures of a round to the log."""
        self.last = figures
        for name, values in self.log.items():
            if len(values) < _MAX_LOGGED_ROUNDS:
                values.append(figures[name])

    def _iterate(self, status: str, evidence: str = "") -> Iterate:
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
            "own_evaluations": self.counter.evaluations - self.initial_evaluations - oracle.evaluations,
            **self._figures(),
            **{f"round_{name}": value for name, value in self.last.items()},
        }
        done = status in self.done_statuses
        if status:
            evidence = evidence or self._evidence(status)
            info.update(
                status=status,
                **({"evidence": evidence} if done else {"stopped": f"{status}: {evidence}"}),
                solved_at_once=self.r >= self.n,
                **{f"log_{name}": values for name, values in self.log.items()},
            )
        return Iterate(
            dual_coef=self.coef,
            intercept=self.intercept,
            done=done,
            step=self.rounds,
            working_set=self.working_set,
            info=info,
        )

    @abstractmethod
    def _figures(self) -> dict[str, Any]:
        """Return the entries of ``Iterate.info`` that only this algorithm has."""

    @abstractmethod
    def _evidence(self, status: str) -> str:
        """Return a sentence that explains the status with which the run ends."""


class WeightedRounds(Rounds):
    """Rounds with samples by weights, which double at violators.

    mapped : the result of :func:`harness_sampling.scoring.mapped_features`
    lemma : sums over the rounds of the violators' share of the weight and of its bound (u - r) delta / (r + 1) / u (Lemma 2.1)
    """

    logged = ("sample", "violators", "share", "successful", "oracle_seconds", "oracle_evaluations", "delta", "r")
    done_statuses = ("done",)

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
        needed = sum(count for _, count in self.rule.needs())
        # the support of a reduced hull has k points of each class: a sample has three times as many
        # 6 delta^2 is the r of the theorems
        self.r = solver.r if solver.r is not None else max(6 * self.delta**2, 3 * needed if needed > 2 else 0)
        self.delta_rounds = 0  # rounds with the current delta
        self.unsuccessful = 0  # unsuccessful rounds in a row

    # -- one round -----------------------------------------------------------------------------------

    def _round(self) -> Iterator[str]:
        """Draw a sample, solve it, find the violators and double their weights."""
        sample = self._draw_usable(lambda: np.unique(self.weights.draw(self.r, self.rng)))
        answer = yield from self._solve(sample)
        figures = {**self.spent, "sample": len(sample), "delta": self.delta, "r": self.r}
        if meets(self.subproblem, self.oracle_gap, answer):
            self._record(**figures, violators=0, share=0.0, successful=False)
            yield self._double_k()
            return
        violators = np.zeros(self.n, dtype=bool)
        if len(sample) < self.n:
            self.rule.learn(sample, answer)
            for first, last, scores in scores_in_pieces(self.problem.kernel, self.coef, self.mapped):
                violators[first:last] = self.rule.violates(scores, first, last)
                yield ""
            violators[sample] = False
        yield self._double_weights(violators, figures, drawn=len(sample) < self.n)

    def _double_weights(self, violators: Mask, figures: dict[str, Any], *, drawn: bool) -> str:
        """Double the weights of the violators if they are few; return 'done' if there are none, else 'next'."""
        u, v = self.weights.total, self.weights.weight(violators)
        share, bound = v / u, max(0.0, 1.0 - self.r / u) * self.delta / (self.r + 1) if drawn else 0.0
        successful = 3 * self.delta * v <= u
        self.lemma[0] += share
        self.lemma[1] += bound
        self.successful += successful
        self._record(**figures, violators=int(np.count_nonzero(violators)), share=share, successful=successful)
        self.delta_rounds += 1
        self.unsuccessful = 0 if successful else self.unsuccessful + 1
        if v == 0:
            return "done"
        if successful:
            self.weights.double(violators)
        too_small = self.delta_rounds >= self.expected_rounds or self.unsuccessful >= _UNSUCCESSFUL_ROUNDS
        if self.solver.delta == "adaptive" and too_small:
            self.delta, self.r = min(2 * self.delta, self.n), 2 * self.r if self.solver.r else 4 * self.r
            self.delta_rounds = self.unsuccessful = 0
            self.doublings += 1
        return "next"

    # -- how it ends ---------------------------------------------------------------------------------

    def _double_k(self) -> str:
        """Double k if ``doubles_k``, as w = 0 on the sample and so on all points (Balcazar et al., section 6)."""
        problem, doubles = self.problem, getattr(self.solver, "doubles_k", False)
        larger = with_doubled_k(problem) if doubles and isinstance(problem, HardMargin) else None
        if larger is None:
            return "w may be 0"
        self.problem, self.rule = larger, rule_of(larger, self.solver.gap)
        self._begin()
        self.r = max(self.r, 3 * sum(count for _, count in self.rule.needs()))
        self.k_doublings += 1
        return "next"

    def _final_status(self, status: str) -> str:
        if status == "done" and self.k_doublings:
            return "k doubled"  # the solution of another problem than the stated one
        status = super()._final_status(status)
        if not status and self.solver.delta != "adaptive" and self.rounds >= _ROUNDS_FACTOR * self.expected_rounds:
            return "delta too small"
        return status

    @property
    def expected_rounds(self) -> float:
        """6 delta ln m, which bounds the expected number of rounds (Balcazar et al., Theorems 2.2 and 4.3)."""
        return 6.0 * self.delta * math.log(max(2, self.n))

    def _figures(self) -> dict[str, Any]:
        rounds = max(1, self.rounds)
        figures = {
            "successful_rounds": self.successful,
            "delta": self.delta,
            "doublings": self.doublings,
            "rounds_bound": self.expected_rounds,
            "lemma_share": self.lemma[0] / rounds,
            "lemma_bound": self.lemma[1] / rounds,
        }
        if not self.k_doublings:
            return figures
        k = _ks(self.problem)
        return {**figures, "k_plus": k[0], "k_minus": k[1], "k_doublings": self.k_doublings}

    def _evidence(self, status: str) -> str:
        rounds = self.rounds
        if status == "k doubled":
            settings, k = self.problem.settings, " and ".join(dict.fromkeys(f"{k:g}" for k in _ks(self.problem)))
            cap_minus = "" if settings.D_minus is None else f", D_minus = {settings.D_minus:g}"
            return (
                "the stated hulls meet, or are no farther apart than rounding; the model is that of "
                f"k = {k}, with which they are disjoint: state reduced-hull with D = {settings.D:g}{cap_minus} to certify it"
            )
        return {
            "done": f"no violator after {rounds} rounds",
            "w may be 0": f"in round {rounds} |w| may be rounding noise: the hulls of {self.working_set:,} points meet, or are no "
            "farther apart than rounding, and so are the hulls of all points",
            "max_rounds": f"violators are left after {rounds} rounds",
            "delta too small": f"{rounds} rounds; at most {self.expected_rounds:.0f} are expected with a valid delta",
        }[status]


def _ks(problem: Problem) -> tuple[float, float]:
    """Return k = 1 / D of each class."""
    assert isinstance(problem, HardMargin)
    return 1.0 / problem.caps[0], 1.0 / problem.caps[1]


class SupportRounds(Rounds):
    """Rounds with samples of the support vectors and random violators."""

    logged = ("sample", "support", "violators", "share", "oracle_seconds", "oracle_evaluations")
    done_statuses = ("no violator", "gap", "k support vectors")

    def __init__(self, solver: RandSVM1, problem: Problem, rng: np.random.Generator) -> None:
        rule = rule_of(problem, solver.gap, solver.tau)
        assert isinstance(rule, LossRule)
        super().__init__(solver, problem, rng, rule)
        self.solver, self.losses = solver, rule
        self.k = solver.most_support(problem)
        self.r = min(self.n, math.ceil(solver.c * self.k))
        # scores may be off by half of the accuracy: the slack of a violator is then between tau / 2 and 3 tau / 2
        accuracy = min(solver.gap, solver.tau or solver.gap)
        self.scores = RunningScores(problem.kernel, 0.5 * accuracy if accuracy >= COARSE else None)
        self.idle, self.best, self.loss = 0, -np.inf, 0.0
        self.sample: Index | None = None  # sample of the next round

    def _round(self) -> Iterator[str]:
        """Perform lines 2 to 9 of Algorithm 2."""
        sample = self.sample
        if sample is None:  # line 1: r random points
            sample = self._draw_usable(lambda: np.sort(self.rng.choice(self.n, self.r, replace=False)))
        answer = yield from self._solve(sample)
        self.rule.learn(sample, answer)
        self.last = dict(self.spent)
        violators = np.zeros(self.n, dtype=bool)
        # with k support vectors the run ends with violators or without (line 4), so it needs no pass
        if len(sample) < self.n and np.count_nonzero(self.coef) < self.k:
            outside = np.ones(self.n, dtype=bool)
            outside[sample] = False
            self.loss = 0.0
            for first, last, scores in self.scores.update(self.coef):
                part = slice(first, last)
                violators[part] = self.rule.violates(scores, first, last) & outside[part]
                self.loss += float(self.losses.loss(scores, first, last) @ outside[part])
                yield ""
        status = self._status_of_round(len(sample), violators, answer)
        if status == "next":
            self.sample = self._next_sample(violators)
        yield status

    def _next_sample(self, violators: Mask) -> Index:
        """Return the support vectors and r - |SV| random violators (lines 5 and 6)."""
        support, outside = np.flatnonzero(self.coef), np.flatnonzero(violators)
        room = min(len(outside), max(1, self.r - len(support)))
        return np.union1d(support, self.rng.choice(outside, room, replace=False))

    def _status_of_round(self, size: int, violators: Mask, answer: Answer) -> str:
        """Record the round; return the status with which the run ends, or 'next'."""
        support, count = int(np.count_nonzero(self.coef)), int(np.count_nonzero(violators))
        counted = support < self.k or size == self.n
        figures = {"violators": count, "share": count / self.n} if counted else {"violators": None, "share": None}
        self._record(**self.spent, sample=size, support=support, **figures)
        if not counted:
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
            # a violator whose coefficient the oracle sets to 0 violates again each round until the oracle's gap is smaller
            if self.oracle_gap <= EXACTEST:
                return "stalled"
            self.idle, self.oracle_gap = 0, 0.1 * self.oracle_gap
        return "next"

    def _figures(self) -> dict[str, Any]:
        return {"k": self.k, "oracle_gap": self.oracle_gap}

    def _evidence(self, status: str) -> str:
        count = self.last.get("violators")
        violators = "violators not counted" if count is None else f"{count:,} violators"
        support = f"{self.last.get('support', 0):,} support vectors"
        return f"{support}, {violators}, after {self.rounds} rounds; k = {self.k:,}"
