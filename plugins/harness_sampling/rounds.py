"""The loop of OptMargin, OptSoftMargin and RandSVM: sample, solve, double the weights of the violators.

J. L. Balcazar, Y. Dai, J. Tanaka, O. Watanabe, "Provably Fast Training Algorithms for Support Vector Machines" (2008),
Figures 1 and 3; RandSVM is Algorithm 1 of the paper of that name. Differs in: a sample that holds too few examples of
a class is drawn again; the slack of a violator (rules.py); delta and r double as section 1 proposes, and also where so
many rounds in a row were not successful that delta is refuted: a round succeeds with probability 1/2 if delta holds.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from harness import HardMargin, Problem
from harness_sampling.hulls import with_doubled_k
from harness_sampling.multiset import Multiset
from harness_sampling.rules import rule_of
from harness_sampling.run import Run
from harness_sampling.scoring import scores_in_pieces

if TYPE_CHECKING:
    from harness.arrays import Index, Mask
    from harness_sampling.solvers import WeightedSampling

_FIRST_DELTA = 4  # of the adaptive scheme
_REFUTED = 8  # unsuccessful rounds in a row: of probability 1/256 if delta held
_GIVES_UP = 10  # times the expected number of rounds, where delta stays


def expected_rounds(delta: int, m: int) -> float:
    """Return 6 delta ln m, which bounds the expected number of rounds (Balcazar et al., Theorems 2.2 and 4.3)."""
    return 6.0 * delta * math.log(max(2, m))


def sample_size(delta: int) -> int:
    """Return 6 delta^2, the r of the theorems."""
    return 6 * delta * delta


class Rounds(Run):
    """One run of the loop.

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
        self.stated = problem
        if solver.delta == "adaptive":
            self.delta = min(_FIRST_DELTA, self.n)
        else:
            self.delta = self.rule.dimension_bound() if solver.delta == "bound" else solver.delta
        least = sum(count for _, count in self.rule.needs())
        # of a reduced hull the support alone has k points of each class: a sample has three times as many
        self.r = solver.r if solver.r is not None else max(sample_size(self.delta), 3 * least if least > 2 else 0)
        self.since = self.unlucky = 0  # rounds with this delta; unsuccessful ones in a row

    # -- one round -----------------------------------------------------------------------------------

    def _round(self) -> Iterator[str]:
        """Sample, solve, look for violators, double."""
        sample, answer = self._sample(), None
        for answer in self._solve(sample):
            if answer is None:
                yield ""
        assert answer is not None
        figures = {**self.spent, "sample": len(sample), "delta": self.delta, "r": self.r}
        if answer.meeting:
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
        if self.solver.delta == "adaptive" and (
            self.since >= expected_rounds(self.delta, self.n) or self.unlucky >= _REFUTED
        ):
            self.delta, self.r = min(2 * self.delta, self.n), 2 * self.r if self.solver.r else 4 * self.r
            self.since = self.unlucky = 0
            self.doublings += 1
        return "next"

    def _sample(self) -> Index:
        """Return the points of r copies, all points where r reaches n; drawn again while a class is short of examples."""
        if self.r >= self.n:
            return np.arange(self.n)
        return self._usable(lambda: np.unique(self.weights.draw(self.r, self.rng)))

    # -- how it ends ---------------------------------------------------------------------------------

    def _meeting(self) -> str:
        """The local solution has w = 0, and so has that of all points: k is too small (Balcazar et al., section 6)."""
        problem = self.problem
        if not (getattr(self.solver, "doubles_k", False) and isinstance(problem, HardMargin)):
            return "hulls intersect"
        larger = with_doubled_k(problem)
        if larger is None:
            return "hulls intersect"
        self.problem, self.rule = larger, rule_of(larger, self.solver.gap)
        self._begin()
        self.r = max(self.r, 3 * sum(count for _, count in self.rule.needs()))
        self.k_doublings += 1
        return "next"

    def _concluded(self, ended: str) -> str:
        if ended != "next":
            # solved, but perhaps another problem than the one that was stated
            return "k doubled" if ended == "done" and self.k_doublings else ended
        if self.solver.max_rounds is not None and self.rounds >= self.solver.max_rounds:
            return "max_rounds"
        if self.solver.delta != "adaptive" and self.rounds >= _GIVES_UP * expected_rounds(self.delta, self.n):
            return "delta too small"
        return ""

    def _figures(self) -> dict[str, Any]:
        found = {"successful_rounds": self.successful, "delta": self.delta, "doublings": self.doublings}
        if not self.k_doublings:
            return found
        k = _ks(self.problem)
        return {**found, "k_plus": k[0], "k_minus": k[1], "k_doublings": self.k_doublings}

    def _totals(self) -> dict[str, Any]:
        rounds = max(1, self.rounds)
        return {
            "rounds_bound": expected_rounds(self.delta, self.n),
            "lemma_share": self.lemma[0] / rounds,
            "lemma_bound": self.lemma[1] / rounds,
        }

    def _evidence(self, ended: str) -> str:
        rounds, m = self.rounds, self.n
        if ended == "k doubled":
            first, last = (
                " and ".join(dict.fromkeys(f"{k:g}" for k in _ks(each))) for each in (self.stated, self.problem)
            )
            settings = self.problem.settings
            own = "" if settings.D_minus is None else f", D_minus = {settings.D_minus:g}"
            return (
                f"the hulls meet at k = {first}; the model is that of k = {last}, where they are apart: state reduced-hull "
                f"with D = {settings.D:g}{own} to have it certified"
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
