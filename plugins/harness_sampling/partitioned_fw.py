"""Fully corrective Frank-Wolfe for l2-svc on a training set that no machine can load whole.

A pass is a linear minimisation over both hulls. Frank-Wolfe steps to the point of each hull that is farthest along w (Kumar &
Yildirim 2009, Algorithm 1). Here a pass returns many of the farthest points of each class, and an oracle computes the best
weights of these and of the sample, as in core vector machines (Tsang, Kwok, Cheung, JMLR 6, 2005). Each pass computes the
margin of w over all points, so that the lower and the upper bound of the margin are the certificate. With the linear kernel a
pass is one product X w.
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
    from harness import ChunkedFile, PartitionedData  # their import loads the readers of files

_SIGNS = 1.0, -1.0
_NO_POINTS: tuple[Any, Index] = np.empty(0), np.empty(0, np.int64)


@dataclass(frozen=True)
class Farthest:
    """The points of each class, +1 and -1, outside the sample with the smallest y <w, x>.

    beyond : number of points whose y <w, x> is below that of all points of their class in the sample
    reaches, rows : y <w, x> of the returned points, ascending, and their row numbers
    """

    beyond: int
    evaluations: int
    reaches: tuple[Any, Any]
    rows: tuple[Index, Index]


def farthest_of_part(
    part: ChunkedFile, start: int, model: PartitionedModel, inside: Index, reach: tuple[float, float], count: int
) -> Farthest:
    """Return the points of a part that are farthest along w.

    Parameters
    ----------
    start : row number of the part's first point
    inside : (m,) row numbers of the sample's points in this part, which are left out
    reach : smallest y <w, x> in the sample, of each class
    count : number of points of each class to return, at most
    """
    oracle = KernelOracle(model.kernel, model.support_vectors)
    farthest, beyond = [_NO_POINTS, _NO_POINTS], 0
    for x, y in part:
        reaches = y * scores_of(oracle, model.coef, x, None)
        rows = np.arange(start, start + len(y), dtype=np.int64)
        start += len(y)
        outside = ~np.isin(rows, inside, assume_unique=True)
        for k, sign in enumerate(_SIGNS):
            farther = outside & (y == sign) & (reaches < reach[k])
            beyond += int(np.count_nonzero(farther))
            farthest[k] = smallest([farthest[k], (reaches[farther], rows[farther])], count)
    (reaches_plus, rows_plus), (reaches_minus, rows_minus) = farthest
    return Farthest(beyond, oracle.counter.evaluations, (reaches_plus, reaches_minus), (rows_plus, rows_minus))


class PartitionedFW:
    """l2-svc by fully corrective Frank-Wolfe over a :class:`harness.PartitionedData`.

    Parameters
    ----------
    kernel : any kernel of two points (not precomputed); the linear kernel is fastest
    C : penalty of a squared violation, C / 2 xi^2, > 0
    gap : certified relative gap to reach, 1 - (lower / upper)^2 of the margin, > 0
    count : number of points of each class that a pass adds to the sample, >= 1
    oracle : the solver that computes the best weights of the sample
    max_rounds : largest number of passes, >= 1
    seed : seed of the first sample

    The model depends only on the data and these parameters; see :class:`PartitionedRandSVM`.

    Raises
    ------
    UsageError : a parameter has an invalid value.
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

        This process needs memory for the support vectors, 2 ``count`` more points and the oracle's cache, a worker for a chunk and
        the support vectors. See :meth:`PartitionedRandSVM.fit` for the parameters.
        """
        return _Run(self, data, executor, progress).fit()


class _Run(Sample):
    """One fit of Frank-Wolfe over parts."""

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
        rows = [smallest([(record.keys, record.rows) for record in records], self.owner.count)[1] for records in first]
        self.change_sample(np.concatenate(rows), np.empty(0, dtype=np.intp))
        while True:
            problem = L2SVC(KernelOracle(self.owner.kernel, self.points), self.labels, self.owner.settings)
            answer = self.solve(problem, "fw over parts", 0.5 * self.owner.gap)
            status, new_rows, certificate = self._score_all(answer)
            if status:
                break
            self.change_sample(new_rows, np.flatnonzero(self.coef))
        model, seconds = self.model(self.owner.kernel, answer.intercept), fit_clock() - began
        return PartitionedFit(model, certificate, status, tuple(self.rounds), self.evaluations, seconds)

    def _score_all(self, answer: Answer) -> tuple[str, Index, Certificate]:
        """Make the pass of a round; return why the fit ends or '', the points to add to the sample, and the certificate."""
        began, before, owner = fit_clock(), self.evaluations, self.owner
        reaches: Vector = self.labels * answer.scores
        sample_reach: Any = tuple(float(reaches[self.labels == sign].min()) for sign in _SIGNS)
        model = self.model(owner.kernel, answer.intercept)
        results = self.map_parts(
            farthest_of_part,
            {part: (model, rows, sample_reach, owner.count) for part, rows in self.split_by_part(self.rows).items()},
        )
        self.evaluations += sum(result.evaluations for result in results)
        total_reach, new_rows = 0.0, []
        for k, reach in enumerate(sample_reach):
            farthest, rows = smallest([(result.reaches[k], result.rows[k]) for result in results], owner.count)
            total_reach += min([reach, *farthest[:1]])
            new_rows.append(rows)
        squared = float(answer.coef @ answer.scores)
        certificate = _certificate(squared, total_reach)
        done = certificate.meets(owner.gap)
        self.rounds.append(
            Round(
                len(self.rows), int(np.count_nonzero(self.coef)), sum(result.beyond for result in results), certificate.primal,
                certificate.dual, certificate.relative_gap, True, self.oracle.seconds - self.spent[0],
                fit_clock() - began, before - self.spent[1], self.evaluations - before,
            )
        )  # fmt: skip
        last = len(self.rounds) == owner.max_rounds
        return "gap" if done else "max_rounds" if last else "", np.concatenate(new_rows), certificate


def _certificate(squared: float, reach: float) -> Certificate:
    """Return the certificate of w from |w|^2, with the ridge, and the smallest <w, z> over the difference of both hulls."""
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
