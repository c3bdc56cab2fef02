"""Estimates with intervals, and what they say of a claim.

An interval holds the true value in 95 of 100 cases: of paired differences and of logarithms of paired ratios by Student's t, of
shares by Clopper and Pearson. One pair has no interval; a single time is known to a factor of 1.5, as in the tables of
``harness compare``. What nothing random enters is exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from scipy import stats

from reports.kit.rows import grouped

HOLDS, FAILS, DEPENDS, UNTESTED = "holds", "does not hold", "depends", "not tested"
CLOCKS = ("cpu", "seconds")
ONE_RUN = 1.5  # factor to which a single time is known
_LEVEL = 0.95
_FULLY = 9  # so many estimates are told one by one; of more the least and the largest


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
    form: str = ".3g"
    held: bool | None = None
    aspect: str = ""

    def judged(self, *, holds: bool, fails: bool) -> Estimate:
        """Return the estimate with what its interval says of a criterion."""
        return replace(self, held=True if holds else False if fails else None)

    def at_most(self, limit: float) -> Estimate:
        """Judge that the value is at most ``limit``: it is if the whole interval is, it is not if the whole one is above."""
        return self.judged(holds=self.high <= limit, fails=self.low > limit)

    def at_least(self, limit: float) -> Estimate:
        """Judge that the value is at least ``limit``."""
        return self.judged(holds=self.low >= limit, fails=self.high < limit)

    def as_accurate(self, error: float, margin: float = 0.05) -> Estimate:
        """Judge a difference of errors: the interval holds 0, or less, and ends below ``margin`` of the other's ``error``."""
        return self.judged(holds=self.low <= 0.0 and self.high <= margin * error, fails=self.low > 0.0)

    def told(self) -> str:
        """Return name, value and interval."""
        value, low, high = (f"{each:{self.form}}" for each in (self.value, self.low, self.high))
        if not self.runs:
            return f"{self.name} {value}"
        interval = f"{low} to {high}" if math.isfinite(self.low) else ""
        return f"{self.name} {value} ({'; '.join(filter(None, [interval, 'one run' if self.runs == 1 else '']))})"


def mean_of(name: str, values: Iterable[float], form: str = "+.2f") -> Estimate | None:
    """Return the mean of values with Student's interval; None of none."""
    found = np.asarray([value for value in values if math.isfinite(value)])
    if not len(found):
        return None
    n, middle = len(found), float(found.mean())
    half = float(stats.t.ppf(0.5 + _LEVEL / 2, n - 1) * found.std(ddof=1) / math.sqrt(n)) if n > 1 else math.nan
    return Estimate(name, middle, middle - half, middle + half, n, form)


def geometric(name: str, ratios: Iterable[float], *, single: bool = False) -> Estimate | None:
    """Return the geometric mean of ratios; single: one of them alone is a ratio of times, known to a factor."""
    logs = mean_of(name, [math.log(each) for each in ratios if each > 0.0])
    if logs is None:
        return None
    value, low, high = (math.exp(each) for each in (logs.value, logs.low, logs.high))
    if logs.runs == 1 and single:
        low, high = value / ONE_RUN, value * ONE_RUN
    return Estimate(name, value, low, high, logs.runs)


def share(name: str, hits: int, tries: int) -> Estimate | None:
    """Return the share of tries that hit, with the interval of Clopper and Pearson; None of no tries."""
    if not tries:
        return None
    found = stats.binomtest(hits, tries).proportion_ci(_LEVEL)
    return Estimate(name, hits / tries, float(found.low), float(found.high), tries, ".2f")


def exact(name: str, value: float, form: str = ".3g") -> Estimate:
    """Return a figure that nothing random entered."""
    return Estimate(name, value, value, value, 0, form)


def pairs(runs: pd.DataFrame, first: str, second: str, quantity: str) -> pd.DataFrame:
    """Return a quantity of two solvers' runs, paired by set, data and seed: set, ``quantity_x``, ``quantity_y``.

    A solver with a single run on some data is paired with all of the other's there. Times pair only within a session.
    """
    on = ["set", "dataset", *(["session"] if quantity in CLOCKS else [])]
    both = [runs[runs["solver"] == solver].dropna(subset=[quantity]) for solver in (first, second)]
    one, other = (grouped(own, "set", [*on[1:], "seed"]).obj[[*on, "seed", quantity]] for own in both)
    exactly = one.merge(other, on=[*on, "seed"])
    alone = [each.groupby(on)["seed"].transform("nunique") == 1 for each in (one, other)]
    loosely = pd.concat([one[alone[0]].merge(other, on=on), one.merge(other[alone[1]], on=on)]).drop_duplicates()
    return pd.concat([exactly, loosely[loosely["seed_x"] != loosely["seed_y"]]], ignore_index=True)


def differences(
    runs: pd.DataFrame, first: str, second: str, quantity: str, scale: float = 1.0, form: str = "+.2f"
) -> list[Estimate]:
    """Return, for each set, how much more of a quantity the first solver has, the mean over the pairs."""
    found = pairs(runs, first, second, quantity)
    return known(
        mean_of(str(name), scale * (own[f"{quantity}_x"] - own[f"{quantity}_y"]), form)
        for name, own in found.groupby("set", sort=False)
    )


def ratios(runs: pd.DataFrame, first: str, second: str, quantity: str) -> list[Estimate]:
    """Return, for each set, how many times as much of a quantity the first solver has, the geometric mean over the pairs."""
    found = pairs(runs, first, second, quantity)
    return known(
        geometric(str(name), own[f"{quantity}_x"] / own[f"{quantity}_y"], single=quantity in CLOCKS)
        for name, own in found.groupby("set", sort=False)
    )


def known(
    found: Iterable[Estimate | None], judge: Callable[[Estimate], Estimate] = lambda each: each, aspect: str = ""
) -> list[Estimate]:
    """Return the estimates that there are, each judged; ``aspect`` : of the claim."""
    return [replace(judge(each), aspect=aspect or each.aspect) for each in found if each is not None]


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
