"""Times of repeated runs: the clock that compares them, and between which values a ratio lies, however often one looks.

Runs are repeated until the fastest solver of a problem is known, so the test is sequential: somebody looks at the times after
each repetition, and stops when the answer is there. The intervals here hold at all looks together (alpha spending).

References
----------
K. K. G. Lan and D. L. DeMets, Discrete sequential boundaries for clinical trials, Biometrika 70 (1983), 659-663.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import exp, log, sqrt
from statistics import fmean, median, stdev
from typing import Any

from harness.support.printable import is_number

CLOCKS = {"cpu": "cpu_seconds", "wall": "fit_seconds"}
"""A clock, and the figure of a run's first fit that it shows."""

STEADY = {"cpu_seconds": "steady_cpu_seconds", "fit_seconds": "steady_fit_seconds"}
"""A figure of a first fit, and that of the later fits of a run that is too short to be measured once."""

ONE_RUN = 1.5
"""A time that was measured once is known to this factor either way."""

EQUAL = 1.05
"""Two times whose ratio surely lies below this are equal."""

LEVEL = 0.05
"""Probability that two solvers of equal speed are ever called different."""

_LEAST_SPREAD = 0.01  # standard deviation of a logarithm of a ratio of times: a few runs may agree by chance
_WAITING = 0.02  # [s] from which waiting counts
_SHARE = 0.2  # share of a run from which waiting counts
_TINY = 1e-300  # [s] least time in a ratio

Interval = tuple[float, float]


def seconds(run: Mapping[str, Any], figure: str) -> Any:
    """Return a time of a run by its figure: of its later fits where it was too short to be measured once."""
    steady = run.get(STEADY.get(figure, ""))
    return run.get(figure) if steady is None else steady


def times(runs: Sequence[Mapping[str, Any]], figure: str) -> list[float]:
    """Return a time of each run that has it: of the later fits where all runs have these, as rows of older code do not."""
    name = STEADY.get(figure, figure)
    name = name if all(run.get(name) is not None for run in runs) else figure
    return [float(value) for run in runs if is_number(value := run.get(name))]


def waited(run: Mapping[str, Any]) -> bool:
    """Return whether a run's wall time is much more than its CPU time and the machine's other work explain.

    It waited for another process that outlives it, a device, a server or a disk, so that wall time is what it cost.
    """
    waiting, wall = run.get("waited_seconds"), run.get("fit_seconds")
    return is_number(waiting) and is_number(wall) and waiting > max(_WAITING, _SHARE * wall)


def clock_of(runs: Sequence[Mapping[str, Any]]) -> str:
    """Return the clock of runs that are compared, ``cpu`` or ``wall``.

    CPU seconds, which no busy machine stretches, where every run was in one thread, has them and did not wait (`waited`).
    """
    one_thread = all(run.get("threads") == 1 and is_number(run.get("cpu_seconds")) for run in runs)
    return "cpu" if runs and one_thread and not any(map(waited, runs)) else "wall"


def ratio_interval(a: Sequence[float], b: Sequence[float], comparisons: int = 1) -> Interval:
    """Return between which values the ratio of the times ``b`` over ``a`` lies.

    Of two runs and more each: the interval of a paired t-test on the logarithms of the times, of the runs that both have,
    which were measured in turns. At k runs it misses with probability 0.05 / (k (k - 1)), which adds up to 0.05 over all k.
    Of one run each time is known to a factor of `ONE_RUN` either way.

    Parameters
    ----------
    a, b : seconds, above 0, of each repetition in its order
    comparisons : how many such ratios are looked at together: the probability is shared among them
    """
    pairs = [log(max(second, _TINY) / max(first, _TINY)) for first, second in zip(a, b, strict=False)]
    k, middle = len(pairs), median(b) / max(median(a), _TINY)
    if k == 1:
        return middle / ONE_RUN**2, middle * ONE_RUN**2
    from scipy.special import stdtrit

    miss = LEVEL / (k * (k - 1) * comparisons)
    half = float(stdtrit(k - 1, 1.0 - miss / 2.0)) * max(stdev(pairs), _LEAST_SPREAD) / sqrt(k)
    mean = fmean(pairs)
    low, high = (exp(min(mean + side * half, 700.0)) for side in (-1.0, 1.0))
    return min(low, middle), max(high, middle)


def are_equal(interval: Interval) -> bool:
    """Return whether a ratio of times is surely that of two equal ones."""
    return interval[0] > 1.0 / EQUAL and interval[1] < EQUAL


def undecided(times: Mapping[str, Sequence[float]], comparisons: int = 1) -> list[str]:
    """Return the solvers whose runs have to be repeated: the fastest, and those not surely slower nor equal; empty if none are."""
    if len(times) < 2:
        return []
    first = min(times, key=lambda name: median(times[name]))
    ratios = {name: ratio_interval(times[first], of, comparisons) for name, of in times.items() if name != first}
    open_ = [name for name, (low, high) in ratios.items() if low <= 1.0 <= high and not are_equal((low, high))]
    return [first, *open_] if open_ else []
