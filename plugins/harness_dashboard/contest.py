"""Solvers against each other over several data sets: wins, ranks and tests.

The unit is the data set: several problems on the same points (a sweep over C, other sizes of one generator) are averaged
first, as they are not independent. A solver that was run and was not certified at the target is worse than every time.
Two costs whose intervals overlap are equal: they share a win and a rank, and their difference is zero to the test.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.support.arrays import Array

LEVEL = 0.05
"""Below this p the test distinguishes two solvers."""

WORST = 1e3
"""The difference in the logarithm of the cost between one that reached the target and one that did not: beyond every other."""

FEWEST = 6
"""Data sets below which there is no test."""

EXACT = 50
"""Up to so many data sets the test's distribution is the exact one (the limit of scipy)."""


@dataclass(frozen=True)
class Contest:
    """What each of s solvers spent on each of p problems of d data sets.

    costs : shape (s, p); infinite where the target was not reached, NaN where the solver was not run
    low, high : shape (s, p), the interval of each cost
    unit : shape (p,), the data set of each problem, 0 .. d - 1
    """

    costs: Array
    low: Array
    high: Array
    unit: Array

    @cached_property
    def sets(self) -> int:
        """The number of data sets."""
        return int(self.unit.max()) + 1 if self.unit.size else 0

    @cached_property
    def logs(self) -> Array:
        """Shape (s, p): the logarithm of the ratio to the best; NaN where the target was not reached or nothing was run."""
        reached = np.where(np.isfinite(self.costs), self.costs, np.nan)
        logs: Array = np.log(np.maximum(reached, 1e-12))
        return logs - _least(logs)

    @cached_property
    def differences(self) -> Array:
        """Shape (s, s, p): the logarithm of a row's solver's cost over a column's; 0 where they overlap, NaN unknown."""
        ran = ~np.isnan(self.costs)
        missed = np.isposinf(self.costs)
        low, high = (np.where(missed, np.inf, each) for each in (self.low, self.high))
        apart = (low[:, None] > high[None]) | (high[:, None] < low[None])
        logs = np.where(missed, 0.0, self.logs)
        result = np.where(apart, logs[:, None] - logs[None], 0.0)
        result += WORST * (missed[:, None].astype(float) - missed[None])
        result[~(ran[:, None] & ran[None])] = np.nan
        return result

    @cached_property
    def ranks(self) -> Array:
        """Shape (s, d): 1 is best, as if all s had been run where some were not; NaN where a solver was not."""
        solvers = len(self.costs)
        known = ~np.isnan(self.differences)
        beaten = (self.differences > 0).sum(axis=1) + 0.5 * ((self.differences == 0).sum(axis=1) - 1)
        rivals = known.sum(axis=1) - 1
        scaled = 1.0 + beaten * (solvers - 1) / np.maximum(1, rivals)
        return self.by_set(np.where(np.isnan(self.costs), np.nan, scaled))

    @cached_property
    def wins(self) -> Array:
        """Shape (s, d): the share of the win; all whose cost is not apart from the least one have the same share."""
        best = np.nanargmin(np.where(np.isnan(self.costs), np.inf, self.costs), axis=0)
        level = np.take_along_axis(self.differences, best[None, None], axis=1)[:, 0] == 0.0
        level &= np.isfinite(self.costs)
        return self.by_set(level / np.maximum(1, level.sum(axis=0)))

    @cached_property
    def ratios(self) -> Array:
        """Shape (s, d): `logs` by data set, over its problems that were brought to the target."""
        return self.by_set(self.logs)

    @cached_property
    def reached(self) -> Array:
        """Shape (s, d): the share of the problems that were brought to the target; NaN where nothing was run."""
        return self.by_set(np.where(np.isnan(self.costs), np.nan, np.isfinite(self.costs)))

    @cached_property
    def between(self) -> Array:
        """Shape (s, s, d): `differences` by data set."""
        return self.by_set(self.differences)

    def by_set(self, values: Array) -> Array:
        """Return the means over the problems of each data set, without what is NaN; the problems are the last axis."""
        return _means(values, np.eye(self.sets)[self.unit].T)


def _least(values: Array) -> Array:
    """Return the least of each column, NaN of a column that has none."""
    least = np.where(np.isnan(values), np.inf, values).min(axis=0)
    return np.where(np.isinf(least), np.nan, least)


def _means(values: Array, weights: Array) -> Array:
    """Return the weighted means along the last axis, without what is NaN.

    values : shape (..., p)
    weights : shape (k, p), not negative
    Returns shape (..., k); NaN where nothing has a weight.
    """
    known = ~np.isnan(values)
    total = np.where(known, values, 0.0) @ weights.T
    weight = known.astype(float) @ weights.T
    means: Array = np.divide(total, weight, out=np.full(total.shape, np.nan), where=weight > 0)
    return means


def order(contest: Contest, names: Sequence[str]) -> list[int]:
    """Return the solvers from the best mean rank on; equal ones by the mean ratio to the best, then by name."""
    ranks, ratios = means(contest.ranks), means(contest.ratios)
    worst = np.where(np.isnan(ratios), np.inf, ratios)
    return sorted(range(len(names)), key=lambda i: (round(float(ranks[i]), 9), round(float(worst[i]), 9), names[i]))


def means(values: Array) -> Array:
    """Return the means of the rows over data sets, without what is NaN."""
    return _means(values, np.ones((1, values.shape[1])))[:, 0]


def tests(contest: Contest) -> Array:
    """Return the p of Wilcoxon's signed-rank test of each pair, shape (s, s), two-sided, 1 on the diagonal.

    Data sets where two are equal are split between both (`zsplit`); with tied differences the exact distribution errs
    on the side of no difference.
    """
    from scipy.stats import wilcoxon

    solvers = len(contest.costs)
    result = np.ones((solvers, solvers))
    rows, columns = np.triu_indices(solvers, 1)
    pairs = np.sort(contest.between[rows, columns], axis=1)  # NaN last: the test does not ask for the order
    numbers = (~np.isnan(pairs)).sum(axis=1)
    for number in np.unique(numbers[numbers > 0]):
        of = numbers == number
        method: Literal["exact", "auto"] = "exact" if number <= EXACT else "auto"
        p = wilcoxon(pairs[of][:, :number], axis=1, zero_method="zsplit", method=method).pvalue
        result[rows[of], columns[of]] = np.where(np.isnan(p), 1.0, p)
    return np.minimum(result, result.T)


def corrected(p: Array) -> Array:
    """Return the p of all pairs after Holm's correction, shape (s, s)."""
    rows, columns = np.triu_indices(len(p), 1)
    pairs = p[rows, columns]
    ascending = np.argsort(pairs, kind="stable")
    weighted = pairs[ascending] * np.arange(len(pairs), 0, -1)
    result = np.ones(p.shape)
    result[rows[ascending], columns[ascending]] = np.minimum(1.0, np.maximum.accumulate(weighted))
    return np.minimum(result, result.T)


def least_p(sets: int, solvers: int) -> float:
    """Return the least p that the exact test of a pair can have after Holm's correction for all pairs."""
    return float(min(1.0, 2.0 ** (1 - sets) * (solvers * (solvers - 1) // 2)))


def groups(p: Array) -> list[tuple[int, int]]:
    """Return the longest stretches of neighbours that the test cannot distinguish.

    p : shape (s, s), in the order of the ranks
    Returns first and last place of each, of two solvers or more.
    """
    alike = p >= LEVEL
    result: list[tuple[int, int]] = []
    for first in range(len(p)):
        last = first
        while last + 1 < len(p) and alike[first : last + 1, last + 1].all():
            last += 1
        if last > first and (not result or last > result[-1][1]):
            result.append((first, last))
    return result
