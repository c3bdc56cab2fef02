"""How sure a figure is, and which two figures can be distinguished: the one rule of tables, stars and pages.

The figure of a few runs is their median. Its uncertainty is an interval; two figures whose intervals overlap could
not be distinguished, so neither is called the better one.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import comb, sqrt
from statistics import median

from harness.measure.repetition import ONE_RUN, Interval

_FEW = 4
"""Runs below which their range says little: two pairs of runs of the same code lie apart once in three times, two sets of
four once in 35 times."""

_LEAST = 6  # runs from which on there is a 95 % interval of the median
_ONE_IN = 20  # times in which such an interval misses the median once

_Z = 1.959964  # 97.5 % of a normal distribution lie below


def interval(values: Sequence[float], *, noisy: bool) -> Interval:
    """Return between which figures the median of runs lies.

    Of six runs and more: a 95 % interval of the median by order statistics, which takes nothing of how they scatter. Of
    fewer their least and greatest; and of one to three, if they are noisy, at least the median by a factor either way:
    `ONE_RUN` of one run, its power of 1 over the square root of two and of three, 1.33 and 1.26.

    Parameters
    ----------
    values : a figure of each run, at least one
    noisy : it is a time or a peak of memory, which differs from one run to the next. Counts, and what is computed from a
        model, are what they are

    References
    ----------
    W. J. Conover, Practical Nonparametric Statistics, 3rd ed. 1999, section 3.2: confidence interval for a quantile.
    """
    ordered = sorted(values)
    n = len(ordered)
    if n < _LEAST:
        middle, factor = median(ordered), ONE_RUN ** (1.0 / sqrt(n)) if noisy and n < _FEW else 1.0
        return min(ordered[0], middle / factor), max(ordered[-1], middle * factor)
    dropped, missing = 0, 1  # 2^n times the probability that the median lies below the interval
    while 2 * _ONE_IN * (missing := missing + comb(n, dropped + 1)) <= 2**n:
        dropped += 1
    return ordered[dropped], ordered[n - 1 - dropped]


def share(value: float, n: int) -> Interval:
    """Return the 95 % interval of a share, of which ``value`` is the estimate from n draws.

    References
    ----------
    E. B. Wilson, Probable inference, the law of succession, and statistical inference, JASA 22 (1927), 209-212.
    """
    p = min(max(value, 0.0), 1.0)
    middle, half = p + _Z**2 / (2 * n), _Z * sqrt(p * (1.0 - p) / n + _Z**2 / (4 * n * n))
    return (middle - half) / (1.0 + _Z**2 / n), (middle + half) / (1.0 + _Z**2 / n)
