"""Estimates with intervals, and what they say of a claim.

An interval holds the true value in 95 of 100 cases: of paired differences and of logarithms of paired ratios by Student's t,
of shares by Clopper and Pearson. One pair has no interval; a single time is known to a factor of 1.5, as in the tables of
``harness compare``. What is a count that nothing random enters is exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import stats

from harness.report.noise import ONE_RUN
from reports.kit.journal import Row
from reports.kit.markdown import number
from reports.kit.measured import ratio
from reports.kit.results import Results, inside

HOLDS, FAILS, DEPENDS, UNTESTED = "holds", "does not hold", "depends", "not tested"
_LEVEL = 0.95
_FULLY = 9  # so many estimates are told one by one; of more the least and the largest

Pair = tuple[Row, Row]


@dataclass(frozen=True)
class Estimate:
    """A figure of one set, with its interval; ``low`` and ``high`` are NaN where there is none.

    runs : pairs, or tries, behind it; 0: it is exact
    held : whether the claim's criterion holds there; None: the interval says neither
    aspect : of a claim that says several things at once
    """

    name: str
    value: float
    low: float
    high: float
    runs: int
    form: str = ".2f"
    held: bool | None = None
    aspect: str = ""

    def judged(self, holds: bool, fails: bool) -> Estimate:
        """Return the estimate with what its interval says of a criterion."""
        return replace(self, held=True if holds else False if fails else None)

    def at_most(self, limit: float) -> Estimate:
        """Judge that the value is at most ``limit``: it is if the whole interval is, it is not if the whole one is above."""
        return self.judged(self.high <= limit, self.low > limit)

    def at_least(self, limit: float) -> Estimate:
        """Judge that the value is at least ``limit``."""
        return self.judged(self.low >= limit, self.high < limit)

    def told(self) -> str:
        """Return name, value and interval."""
        value, low, high = (
            number(each, self.form) if self.form else number(each) for each in (self.value, self.low, self.high)
        )
        if not self.runs:
            return f"{self.name} {value}"
        return f"{self.name} {value} ({f'{low} to {high}' if math.isfinite(self.low) else 'one run'})"


def pairs(results: Results, name: str, first: str, second: str) -> list[Pair]:
    """Return the finished runs of two solvers on a set, paired by data and seed; of one with a single run, by data alone."""
    others = results.of(name, second)
    exact = {(row["dataset"], row["seed"]): row for row in others}
    same_data = {row["dataset"]: row for row in others}
    found = [
        (row, exact.get((row["dataset"], row["seed"]), same_data.get(row["dataset"])))
        for row in results.of(name, first)
    ]
    return [(row, other) for row, other in found if other is not None]


def mean_of(name: str, values: Sequence[float], form: str = "+.2f") -> Estimate | None:
    """Return the mean of values with Student's interval; None of none."""
    if not values:
        return None
    n, middle = len(values), float(np.mean(values))
    half = float(stats.t.ppf(0.5 + _LEVEL / 2, n - 1) * np.std(values, ddof=1) / math.sqrt(n)) if n > 1 else math.nan
    return Estimate(name, middle, middle - half, middle + half, n, form)


def difference(name: str, found: Iterable[Pair], quantity: str, scale: float = 1.0) -> Estimate | None:
    """Return how much more of a quantity the first of each pair has, the mean over the pairs."""
    values = [(inside(a, quantity), inside(b, quantity)) for a, b in found]
    return mean_of(name, [scale * (float(a) - float(b)) for a, b in values if a is not None and b is not None])


def times(name: str, found: Iterable[Pair], quantity: str) -> Estimate | None:
    """Return how many times as much the first of each pair has, the geometric mean; pairs not measured in turns are left out."""
    ratios = [ratio(inside(a, quantity), inside(b, quantity)) for a, b in found]
    return geometric(name, [float(each) for each in ratios if each], single=quantity == "cpu")


def geometric(name: str, ratios: Sequence[float], *, single: bool = True) -> Estimate | None:
    """Return the geometric mean of ratios; single: one of them is known to a factor."""
    logs = mean_of(name, [math.log(each) for each in ratios])
    if logs is None:
        return None
    value, low, high = (math.exp(each) for each in (logs.value, logs.low, logs.high))
    if logs.runs == 1 and single:
        low, high = value / ONE_RUN, value * ONE_RUN
    return Estimate(name, value, low, high, logs.runs, "")


def share(name: str, hits: int, tries: int) -> Estimate | None:
    """Return the share of tries that hit, with the interval of Clopper and Pearson."""
    if not tries:
        return None
    found = stats.binomtest(hits, tries).proportion_ci(_LEVEL)
    return Estimate(name, hits / tries, float(found.low), float(found.high), tries)


def exact(name: str, value: float, form: str = "") -> Estimate:
    """Return a figure that nothing random entered."""
    return Estimate(name, value, value, value, 0, form)


def as_accurate(estimate: Estimate, error: float, margin: float = 0.05) -> Estimate:
    """Judge a difference of errors: as accurate if the interval holds 0 and ends below ``margin`` of the other's error."""
    return estimate.judged(estimate.low <= 0.0 and estimate.high <= margin * error, estimate.low > 0.0)


def verdict(estimates: Sequence[Estimate]) -> str:
    """Return what all estimates of a claim say together: each of its aspects must hold."""
    aspects = {each.aspect for each in estimates}
    if len(aspects) > 1:
        found = [verdict([each for each in estimates if each.aspect == aspect]) for aspect in aspects]
        return next((word for word in (FAILS, DEPENDS, UNTESTED) if word in found), HOLDS)
    held, failed = (sum(each.held is word for each in estimates) for word in (True, False))
    if held and failed:
        return DEPENDS
    if failed:
        return FAILS
    return HOLDS if held and 2 * held >= len(estimates) else UNTESTED


def listed(estimates: Sequence[Estimate]) -> list[str]:
    """Return a line for the estimates of each aspect and kind: where it holds, where not, where the interval says neither."""
    lines = []
    for aspect in dict.fromkeys(each.aspect for each in estimates):
        own = [each for each in estimates if each.aspect == aspect]
        for held, word in ((True, "holds"), (False, "does not hold"), (None, "undecided")):
            found = [each for each in own if each.held is held]
            if found:
                where = f"{aspect}: {word}" if aspect else word[0].upper() + word[1:]
                lines.append(f"{where} on {len(found)} of {len(own)}: {_told(found)}.")
    return lines


def _told(found: Sequence[Estimate]) -> str:
    if len(found) <= _FULLY:
        return "; ".join(each.told() for each in found)
    least, most = (over(found, key=lambda each: each.value) for over in (min, max))
    return f"from {least.told()} to {most.told()}"


def known(
    found: Iterable[Estimate | None], judge: Callable[[Estimate], Estimate] = lambda each: each, aspect: str = ""
) -> list[Estimate]:
    """Return the estimates that there are, each judged."""
    return [replace(judge(each), aspect=aspect) for each in found if each is not None]
