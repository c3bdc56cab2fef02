"""What the runs of the sampling solvers share: rounds of an oracle on samples, the model, the log, the last word."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from harness import Iterate, OracleFailure, Problem
from harness_sampling.oracle import Answer, CertifiedOracle
from harness_sampling.rules import Rule

if TYPE_CHECKING:
    from harness.arrays import Index
    from harness_sampling.solvers import Wrapper

_TRIES = 10  # samples drawn before what a class lacks is put in
_LOGGED = 2000  # rounds whose figures the last iterate's info lists


class Run(ABC):
    """One run: the current model and what became of the rounds so far.

    logged : names of the figures of each round that the last iterate's info lists
    own_ends : ends that are the algorithm's own, and not its giving up
    r : copies or points in a sample
    resampled : samples thrown away for want of a class; filled : samples that a class was put into, drawn uniformly
    """

    logged: ClassVar[tuple[str, ...]]
    own_ends: ClassVar[tuple[str, ...]]
    r: int

    def __init__(self, solver: Wrapper, problem: Problem, rng: np.random.Generator, rule: Rule) -> None:
        self.owner, self.problem, self.rng, self.n, self.rule = solver.name, problem, rng, problem.n, rule
        self.counter, self.counted = problem.kernel.counter, problem.kernel.counter.evaluations
        self.oracle = CertifiedOracle(solver.oracle, rule.oracle_gap, solver.oracle_seconds)
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
        return "" if ended == "next" else ended

    def _usable(self, draw: Callable[[], Index]) -> Index:
        """Return the points, ascending, of a ``draw`` that holds what the rule needs to define a subproblem.

        Drawn again while a class is short of examples, and filled up at last.
        """
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

    def _solve(self, sample: Index) -> Iterator[Answer | None]:
        """Solve on the sample from the coefficients there are, and make the answer the model; yields as the oracle does."""
        before = (self.oracle.seconds, self.oracle.evaluations)
        start = self.coef[sample] if self.solved else None
        self.rounds += 1
        self.last = {}
        for answer in self.oracle.solve(self.problem.restrict(sample), start, f"{self.owner}, round {self.rounds}"):
            if answer is not None:
                self.coef[:] = 0.0
                self.coef[sample] = answer.coef
                self.intercept, self.working_set, self.solved = answer.intercept, len(sample), True
                self.spent = {
                    "oracle_seconds": self.oracle.seconds - before[0],
                    "oracle_evaluations": self.oracle.evaluations - before[1],
                }
            yield answer

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
                **self._totals(),
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

    def _totals(self) -> dict[str, Any]:
        """Return what else the last iterate tells."""
        return {}

    @abstractmethod
    def _evidence(self, ended: str) -> str:
        """Return what is known at an end."""
