"""Estimates with intervals, and the verdict on a claim.

The rule for every claim. Each set of the paper's table has an estimate: a mean over paired runs with Student's interval, a
geometric mean of paired ratios, or a share with the interval of Clopper and Pearson. The intervals of a claim hold together in 95
of 100 cases: each has the confidence 1 - 0.05 / their number (Bonferroni). One pair has no interval, but a ratio of times is known
to a factor of 1.5 or better, as in the tables of ``harness compare``; what nothing random enters is exact. A criterion is a bound
that is stated beforehand; for accuracy it is a margin: 'as accurate' means at most 5 % more errors, not a test without a result. The
criterion is met on a set if the whole interval is within it, not met if the whole interval is beyond it.

holds          met on at least half of the sets, and not met on none
does not hold  not met on at least half of the sets, and met on none
depends        met on some sets, not met on others
undecided      measured, and none of these
not tested     no set has an interval
degenerate     the algorithm was not itself on any set, such as one that samples and took all points

A claim of several aspects holds if all do; else it has the first of the words does not hold, depends, undecided, not tested and
degenerate that one of its aspects has.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from scipy import stats

from reports.kit.rows import grouped

HOLDS, FAILS, DEPENDS = "holds", "does not hold", "depends"
UNDECIDED, UNTESTED, DEGENERATE = "undecided", "not tested", "degenerate"
_WORST_FIRST = (FAILS, DEPENDS, UNDECIDED, UNTESTED, DEGENERATE)
CLOCKS = ("cpu", "seconds")
ONE_RUN = 1.5  # factor to which a single time is known
CONFIDENCE = 0.95  # of all intervals of a claim together
AS_ACCURATE = 0.05  # more errors that still count as the same accuracy, as a share of the other's
_LISTED = 9  # estimates of one kind that are listed one by one; of more the least and the largest are


@dataclass(frozen=True)
class Student:
    """Student's interval of a mean.

    error : standard error of the mean; NaN of one value
    most : largest half width that is known beforehand; infinite: none is; 0: nothing random entered
    is_log : the values are logarithms, and the ends are those of their exponentials
    """

    mean: float
    error: float
    n: int
    most: float = math.inf
    is_log: bool = False

    def ends(self, confidence: float) -> tuple[float, float]:
        """Return the low and the high end at a confidence level in (0, 1)."""
        half = float(stats.t.ppf(0.5 + confidence / 2, self.n - 1)) * self.error if self.n > 1 else math.inf
        half = min(half, self.most)
        ends = self.mean - half, self.mean + half
        return (math.exp(ends[0]), math.exp(ends[1])) if self.is_log else ends


@dataclass(frozen=True)
class Binomial:
    """Clopper and Pearson's interval of a share."""

    hits: int
    tries: int

    def ends(self, confidence: float) -> tuple[float, float]:
        """Return the low and the high end at a confidence level in (0, 1)."""
        interval = stats.binomtest(self.hits, self.tries).proportion_ci(confidence)
        return float(interval.low), float(interval.high)


@dataclass(frozen=True)
class Estimate:
    """A figure of one set, with its interval.

    runs : pairs, or tries, behind it; 0: it is exact
    least, most : the criterion of its claim, the range in which the figure must be
    aspect : part of the claim that the estimate judges; empty: the claim has a single one
    confidence : of its interval
    degenerate : why its runs are no evidence on the algorithm, in a few words; empty: they are evidence
    """

    name: str
    value: float
    interval: Student | Binomial
    runs: int
    form: str = ".3g"
    least: float = -math.inf
    most: float = math.inf
    aspect: str = ""
    confidence: float = CONFIDENCE
    degenerate: str = ""

    @property
    def low(self) -> float:
        """The low end of the interval; minus infinity, or 0 of a ratio, if there is none."""
        return self.interval.ends(self.confidence)[0]

    @property
    def high(self) -> float:
        """The high end of the interval; infinity if there is none."""
        return self.interval.ends(self.confidence)[1]

    @property
    def has_interval(self) -> bool:
        """Whether it is exact or its interval is bounded."""
        return self.runs == 0 or math.isfinite(self.high)

    @property
    def is_met(self) -> bool | None:
        """Whether the criterion is met; None if the interval is inconclusive or unbounded."""
        if self.degenerate or not self.has_interval:
            return None
        if self.least <= self.low and self.high <= self.most:
            return True
        return False if self.low > self.most or self.high < self.least else None

    def at_most(self, limit: float) -> Estimate:
        """Return the estimate with the criterion that it is at most ``limit``."""
        return replace(self, most=limit)

    def at_least(self, limit: float) -> Estimate:
        """Return the estimate with the criterion that it is at least ``limit``."""
        return replace(self, least=limit)

    def as_accurate(self, error: float) -> Estimate:
        """Return a difference of errors with the criterion that it is at most the margin of the other's ``error``."""
        return self.at_most(AS_ACCURATE * error)

    def text(self) -> str:
        """Return name, value and interval."""
        value, low, high = (f"{number:{self.form}}" for number in (self.value, self.low, self.high))
        notes = [f"{low} to {high}"] if self.runs and self.has_interval else []
        notes += ["one run"] * (self.runs == 1) + [self.degenerate] * bool(self.degenerate)
        return f"{self.name} {value} ({'; '.join(notes)})" if notes else f"{self.name} {value}"


def mean_of(name: str, values: Iterable[float], form: str = "+.2f") -> Estimate | None:
    """Return the mean of values with Student's interval; None of none."""
    finite = np.asarray([value for value in values if math.isfinite(value)])
    if not len(finite):
        return None
    n, mean = len(finite), float(finite.mean())
    error = float(finite.std(ddof=1)) / math.sqrt(n) if n > 1 else math.nan
    return Estimate(name, mean, Student(mean, error, n), n, form)


def means(runs: pd.DataFrame, quantity: str, form: str, by: str = "set") -> list[Estimate]:
    """Return the mean of a quantity of runs for each set, or for each value of another column."""
    return within(mean_of(str(name), group[quantity], form) for name, group in grouped(runs, by, sort=False))


def geometric(name: str, ratios: Iterable[float], *, timed: bool = False) -> Estimate | None:
    """Return the geometric mean of ratios; timed: they are of times, whose interval is never wider than that of a single one."""
    logs = mean_of(name, [math.log(ratio) for ratio in ratios if ratio > 0.0], ".3g")
    if logs is None or not isinstance(logs.interval, Student):
        return None
    interval = replace(logs.interval, is_log=True, most=math.log(ONE_RUN) if timed else math.inf)
    return replace(logs, value=math.exp(logs.value), interval=interval)


def share(name: str, hits: int, tries: int) -> Estimate | None:
    """Return the share of tries that hit, with the interval of Clopper and Pearson; None of no tries."""
    return Estimate(name, hits / tries, Binomial(hits, tries), tries, ".2f") if tries else None


def exact(name: str, value: float, form: str = ".3g") -> Estimate:
    """Return a figure that nothing random entered."""
    return Estimate(name, value, Student(value, math.nan, 1, most=0.0), 0, form)


def pairs(runs: pd.DataFrame, first: str, second: str, quantity: str) -> pd.DataFrame:
    """Return a quantity of two solvers' runs, paired by set, data and seed: set, ``quantity_x``, ``quantity_y``.

    A solver with a single run on some data is paired with all of the other's there. Times pair only within a session.
    """
    on = ["set", "dataset", *(["session"] if quantity in CLOCKS else [])]
    both = [runs[runs["solver"] == solver].dropna(subset=[quantity]) for solver in (first, second)]
    one, other = (grouped(rows, "set", [*on[1:], "seed"]).obj[[*on, "seed", quantity]] for rows in both)
    exactly = one.merge(other, on=[*on, "seed"])
    alone = [rows.groupby(on)["seed"].transform("nunique") == 1 for rows in (one, other)]
    loosely = pd.concat([one[alone[0]].merge(other, on=on), one.merge(other[alone[1]], on=on)]).drop_duplicates()
    return pd.concat([exactly, loosely[loosely["seed_x"] != loosely["seed_y"]]], ignore_index=True)


def differences(
    runs: pd.DataFrame, first: str, second: str, quantity: str, scale: float = 1.0, form: str = "+.2f"
) -> list[Estimate]:
    """Return, for each set, how much more of a quantity the first solver has, the mean over the pairs."""
    by_set = pairs(runs, first, second, quantity).groupby("set", sort=False)
    return within(
        mean_of(str(name), scale * (paired[f"{quantity}_x"] - paired[f"{quantity}_y"]), form) for name, paired in by_set
    )


def errors(runs: pd.DataFrame, first: str, second: str) -> list[Estimate]:
    """Return, for each set, how many points of test error the first solver has more; criterion: it is as accurate."""
    level = grouped(runs[runs["solver"] == second], "set")["error"].mean()
    return [difference.as_accurate(level[difference.name]) for difference in differences(runs, first, second, "error")]


def ratios(runs: pd.DataFrame, first: str, second: str, quantity: str) -> list[Estimate]:
    """Return, for each set, how many times as much of a quantity the first solver has, the geometric mean over the pairs."""
    by_set = pairs(runs, first, second, quantity).groupby("set", sort=False)
    return within(
        geometric(str(name), paired[f"{quantity}_x"] / paired[f"{quantity}_y"], timed=quantity in CLOCKS)
        for name, paired in by_set
    )


def unless_degenerate(estimates: Iterable[Estimate], runs: pd.DataFrame, sampler: str) -> list[Estimate]:
    """Return the estimates, those of sets on which a solver that samples never did so marked as degenerate.

    It samples in a run where ``info.r`` points are fewer than all of them, and there is more than one round.
    """
    sampled = (runs["solver"] == sampler) & (runs["info.r"] < runs["n_train"]) & (runs["info.rounds"] > 1)
    sets = set(runs.loc[sampled, "set"])
    return [each if each.name in sets else replace(each, degenerate="took all points") for each in estimates]


def within(
    estimates: Iterable[Estimate | None], *, least: float = -math.inf, most: float = math.inf, aspect: str = ""
) -> list[Estimate]:
    """Return the estimates that are not None with the criterion that each is in [least, most]; ``aspect`` : of the claim."""
    return [
        replace(each, least=max(each.least, least), most=min(each.most, most), aspect=aspect or each.aspect)
        for each in estimates
        if each is not None
    ]


def verdict(estimates: Sequence[Estimate], sets: int = 0) -> str:
    """Return the verdict of all estimates of a claim, by the rule of this module.

    sets : of the paper's table, where some were not measured
    """
    aspects = {estimate.aspect for estimate in estimates}
    if len(aspects) > 1:
        words = {verdict([estimate for estimate in estimates if estimate.aspect == aspect], sets) for aspect in aspects}
        return next((word for word in _WORST_FIRST if word in words), HOLDS)
    valid = [estimate for estimate in estimates if not estimate.degenerate]
    met, failed = (sum(estimate.is_met is word for estimate in valid) for word in (True, False))
    if met and failed:
        return DEPENDS
    if not any(estimate.has_interval for estimate in valid):
        return DEGENERATE if len(valid) < len(estimates) else UNTESTED
    if 2 * max(met, failed) < max(len(valid), sets):
        return UNDECIDED
    return HOLDS if met else FAILS


def joint_intervals(estimates: Sequence[Estimate]) -> list[Estimate]:
    """Return the estimates of a claim, their intervals of joint confidence `CONFIDENCE`, by Bonferroni's correction."""
    number = sum(estimate.runs > 1 and not estimate.degenerate for estimate in estimates)
    return [replace(estimate, confidence=1.0 - (1.0 - CONFIDENCE) / max(1, number)) for estimate in estimates]


def format_estimates(estimates: Sequence[Estimate]) -> list[str]:
    """Return a line for the estimates of each aspect and kind: criterion met, not met, undecided, without an interval, degenerate."""
    lines = []
    for aspect in dict.fromkeys(estimate.aspect for estimate in estimates):
        of_aspect = [estimate for estimate in estimates if estimate.aspect == aspect]
        kinds = [_kind(estimate) for estimate in of_aspect]
        for kind in ("met", "not met", UNDECIDED, "no interval", DEGENERATE):
            of_kind = [estimate for estimate, of in zip(of_aspect, kinds, strict=True) if of == kind]
            if of_kind:
                start = f"{aspect}: {kind}" if aspect else kind.capitalize()
                lines.append(f"{start} on {len(of_kind)} of {len(of_aspect)}: {_ends(of_kind)}.")
    return lines


def _kind(estimate: Estimate) -> str:
    if estimate.degenerate:
        return DEGENERATE
    kinds = {True: "met", False: "not met", None: UNDECIDED}
    return kinds[estimate.is_met] if estimate.has_interval else "no interval"


def _ends(estimates: Sequence[Estimate]) -> str:
    if len(estimates) <= _LISTED:
        return "; ".join(estimate.text() for estimate in estimates)
    least, most = (over(estimates, key=lambda estimate: estimate.value) for over in (min, max))
    return f"from {least.text()} to {most.text()}"
