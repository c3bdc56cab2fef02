"""How sure a figure is, and which two figures are told apart: the one rule of tables, stars and pages.

The figure of a few runs is their median. What is said of it is an interval; two figures whose intervals overlap are not
told apart, so neither is called the better one.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import comb

ONE_RUN = 1.5
"""A time, or a peak of memory, that was measured once is known to this factor either way."""

_LEAST, _ONE_IN = 6, 20  # runs from which on an interval of the median can miss it once in so many times only

Interval = tuple[float, float]


def interval(values: Sequence[float], *, noisy: bool) -> Interval:
    """Return between which figures the median of runs lies.

    Of six runs and more: a 95 % interval of the median by order statistics, which takes nothing of how they scatter. Of
    two to five: the least and the greatest, which is less sure (of two runs 50 %, of five 94 %).

    Parameters
    ----------
    values : a figure of each run, at least one
    noisy : it is a time or a peak of memory, so that one run says little: a factor of `ONE_RUN` either way. Counts, and
        what is computed from a model, are what they are

    References
    ----------
    W. J. Conover, Practical Nonparametric Statistics, 3rd ed. 1999, section 3.2: confidence interval for a quantile.
    """
    ordered = sorted(values)
    n = len(ordered)
    if n == 1:
        return (ordered[0] / ONE_RUN, ordered[0] * ONE_RUN) if noisy else (ordered[0], ordered[0])
    if n < _LEAST:
        return ordered[0], ordered[-1]
    dropped, missing = 0, 1  # 2^n times the probability that the median lies below the interval
    while 2 * _ONE_IN * (missing := missing + comb(n, dropped + 1)) <= 2**n:
        dropped += 1
    return ordered[dropped], ordered[n - 1 - dropped]


def apart(a: Interval, b: Interval) -> bool:
    """Return whether two intervals do not overlap: the figures differ by more than their noise."""
    return a[1] < b[0] or b[1] < a[0]
