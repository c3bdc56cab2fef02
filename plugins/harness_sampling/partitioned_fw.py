"""Fully corrective Frank-Wolfe for l2-svc on a training set that no machine holds: a pass is a linear minimisation over both hulls.

The hulls' points farthest along w are what Frank-Wolfe steps to (Kumar & Yildirim 2009, Algorithm 1). Here a pass returns
the farthest points of each class, many at once, and an oracle finds the best weights of these and of the points in use, as
core vector machines do (Tsang, Kwok, Cheung, JMLR 6, 2005). Each pass ends with the margin of w over all points, so that
lower and upper bound of the widest margin are the certificate. With the linear kernel a pass is one product X w.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from harness import Certificate, Kernel, KernelOracle, Linear, UsageError, fit_clock
from harness.problems import L2SVC
from harness.registry.subproblem_oracle import Answer
from harness.support.arrays import Index, Vector
from harness_sampling.partitioned import (
    PartitionedFit,
    PartitionedModel,
    Round,
    Sample,
    check_kernel,
    draw_part,
    scores_of,
    smallest,
)

if TYPE_CHECKING:
    from harness import ChunkedFile, PartitionedData  # which load what reads files

_SIGNS = 1.0, -1.0
_NO_POINTS: tuple[Any, Index] = np.empty(0), np.empty(0, np.int64)


@dataclass(frozen=True)
class Farthest:
    """Of each class, +1 and -1, the points outside the sample with the smallest y <w, x>.

    beyond : how many have less than all points of the sample
    reaches, rows : their y <w, x>, ascending, and their numbers
    """

    beyond: int
    evaluations: int
    reaches: tuple[Any, Any]
    rows: tuple[Index, Index]


def farthest_of_part(
    part: ChunkedFile, start: int, model: PartitionedModel, inside: Index, reach: tuple[float, float], count: int
) -> Farthest:
    """Look for the points of a part that are farthest along w.

    Parameters
    ----------
    start : number of its first point
    inside : (m,) numbers of the points of the sample, which are left out
    reach : of each class, the smallest y <w, x> in the sample
    count : points of each class, at most
    """
    oracle = KernelOracle(model.kernel, model.support_vectors)
    found, beyond = [_NO_POINTS, _NO_POINTS], 0
    for x, y in part:
        reaches = y * scores_of(oracle, model.coef, x, None)
        rows = np.arange(start, start + len(y), dtype=np.int64)
        start += len(y)
        outside = ~np.isin(rows, inside, assume_unique=True)
        for k, sign in enumerate(_SIGNS):
            own = outside & (y == sign) & (reaches < reach[k])
            beyond += int(np.count_nonzero(own))
            found[k] = smallest([found[k], (reaches[own], rows[own])], count)
    (near, rows), (other, others) = found
    return Farthest(beyond, oracle.counter.evaluations, (near, other), (rows, others))


class PartitionedFW:
    """l2-svc by fully corrective Frank-Wolfe over a :class:`harness.PartitionedData`.

    Parameters
    ----------
    kernel : any kernel of two points (not precomputed); at its best with the linear one
    C : penalty of a squared violation, C / 2 xi^2, > 0
    gap : certified relative gap to reach, 1 - (lower / upper)^2 of the margin, > 0
    count : points that a pass takes in of each class, >= 1
    oracle : the solver that finds the best weights
    max_rounds : passes, >= 1
    seed : of the first points

    The model depends on the data and these alone; see :class:`PartitionedRandSVM`.

    Raises
    ------
    UsageError : values that there are not.
    """

    def __init__(
        self,
        kernel: Kernel | None = None,
        C: float = 1.0,
        *,
        gap: float = 1e-3,
        count: int = 200,
        oracle: str = "smo-block",
        max_rounds: int = 200,
        seed: int = 0,
    ) -> None:
        self.kernel = Linear() if kernel is None else check_kernel(kernel, "Linear()")
        for name, value in (("gap", gap), ("count", count), ("max_rounds", max_rounds)):
            if not value > 0 or (name != "gap" and value != int(value)):
                expected = "a number" if name == "gap" else "a whole number"
                raise UsageError(f"{name} is {value!r}; expected {expected} above 0.")
        self.settings, self.gap, self.count = L2SVC.parameter_class(C=C), float(gap), int(count)
        self.oracle, self.max_rounds, self.seed = oracle, int(max_rounds), seed

    def fit(
        self,
        data: PartitionedData | str,
        executor: Executor | None = None,
        *,
        progress: Callable[[str], object] | None = None,
    ) -> PartitionedFit:
        """Solve until the certified relative gap over all points is at most ``gap``, or for ``max_rounds`` passes.

        Memory: in this process the points in use, 2 ``count`` more, and the oracle's cache; in a worker a chunk and the points in
        use.
        See :meth:`PartitionedRandSVM.fit`.
        """
        return _Run(self, data, executor, progress).fit()


class _Run(Sample):
    """One fit."""

    def __init__(
        self,
        owner: PartitionedFW,
        data: PartitionedData | str,
        executor: Executor | None,
        progress: Callable[[str], object] | None,
    ) -> None:
        super().__init__(data, executor, owner.oracle, progress)
        self.owner = owner

    def fit(self) -> PartitionedFit:
        began = fit_clock()
        draw = self.owner.seed, 0, self.owner.count
        first = [self.map_parts(draw_part, (sign, draw)) for sign in _SIGNS]
        rows = [smallest([(each.keys, each.rows) for each in records], self.owner.count)[1] for records in first]
        self.change_sample(np.concatenate(rows), np.empty(0, dtype=np.intp))
        while True:
            problem = L2SVC(KernelOracle(self.owner.kernel, self.points), self.labels, self.owner.settings)
            answer = self.solve(problem, "fw over parts", 0.5 * self.owner.gap)
            status, fresh, certificate = self._score_all(answer)
            if status:
                break
            self.change_sample(fresh, np.flatnonzero(self.coef))
        model, seconds = self.model(self.owner.kernel, answer.intercept), fit_clock() - began
        return PartitionedFit(model, certificate, status, tuple(self.rounds), self.evaluations, seconds)

    def _score_all(self, answer: Answer) -> tuple[str, Index, Certificate]:
        """Make the pass of a round; return why it is the last one, or '', the points to take in, and the certificate."""
        began, before, owner = fit_clock(), self.evaluations, self.owner
        reaches: Vector = self.labels * answer.scores
        inside: Any = tuple(float(reaches[self.labels == sign].min()) for sign in _SIGNS)
        model, own = self.model(owner.kernel, answer.intercept), self.split_by_part(self.rows)
        found = self.map_parts(
            farthest_of_part, {part: (model, rows, inside, owner.count) for part, rows in own.items()}
        )
        self.evaluations += sum(each.evaluations for each in found)
        least, fresh = [], []
        for k, reach in enumerate(inside):
            far, rows = smallest([(each.reaches[k], each.rows[k]) for each in found], owner.count)
            least.append(min([reach, *far[:1]]))
            fresh.append(rows)
        squared = float(answer.coef @ answer.scores)
        certificate = _certificate(squared, sum(least))
        done = certificate.meets(owner.gap)
        self.rounds.append(
            Round(
                len(self.rows), int(np.count_nonzero(self.coef)), sum(each.beyond for each in found), certificate.primal,
                certificate.dual, certificate.relative_gap, True, self.oracle.seconds - self.spent[0],
                fit_clock() - began, before - self.spent[1], self.evaluations - before,
            )
        )  # fmt: skip
        last = len(self.rounds) == owner.max_rounds
        return "gap" if done else "max_rounds" if last else "", np.concatenate(fresh), certificate


def _certificate(squared: float, reach: float) -> Certificate:
    """Return the certificate of w: |w|^2 with the ridge, and the least <w, z> of the difference of all points' hulls."""
    upper, lower = float(np.sqrt(squared)), max(0.0, reach) / float(np.sqrt(squared))
    relative = max(0.0, 1.0 - (lower / upper) ** 2)
    return Certificate(
        primal=0.5 * lower**2,
        dual=0.5 * squared,
        gap=0.5 * squared * relative,
        relative_gap=relative,
        epsilon=max(0.0, 1.0 - reach / squared),
        margin_lower=lower,
        margin_upper=upper,
    )
