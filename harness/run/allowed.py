"""Deadlines of each phase of a run: the time limit, plus slack for compilation and the host's own work.

The measured run is killed 1.5 s after its time limit; what comes after it has the limit, at most a minute, and 2 s. What comes
before its clock, a warm-up and then imports and ``skip()``, has a limit of its own, since importing a library can take longer
than solving. Two things are no phase of the solver's and have bounds of their own: compilation in its warm-up, which takes a
minute where nothing is in the cache yet, and the host's own work, importing plugins, reading data and certifying.

A time limit bounds what a run uses: CPU time, and time in which it waits by itself, for a file for example. For a run of one
thread the seconds in which other work had its core do not count, up to four limits; see :func:`lost`.
"""

from __future__ import annotations

import math

_SLACK_SECONDS = 2.0  # seconds of a phase beyond the time limit
_OFF_THE_CLOCK_SECONDS = 0.8  # most seconds of compilation and the host's work in a fit that do not count
_FIT_SECONDS = 1.5  # seconds beyond the time limit at which a run is killed whose solver does not yield
_WITHOUT_LIMIT_SECONDS = 60.0  # most seconds of a phase beside the measured run, before the slack
_PREPARATION_SECONDS = 30.0  # least limit in seconds of a warm-up without its compilation, of imports and skip()
_COMPILATION_SECONDS = 90.0  # least limit in seconds of the compilation in a warm-up
_START_SECONDS = 60.0  # least limit in seconds of a process that imports plugins and reads data
_CERTIFY_SECONDS = 1800.0  # most seconds of a certificate
_LOST_SHARE = 4.0  # most seconds that other work takes from a run and that do not count, in time limits
_LEAST_SHARE = 0.8  # fraction of its time limit that a run must have been able to use, else the machine cut it


def phase(time_limit: float | None) -> float:
    """Return the seconds of a phase beside the measured run: the time limit, at most a minute, and 2 s."""
    return min(_WITHOUT_LIMIT_SECONDS, time_limit or _WITHOUT_LIMIT_SECONDS) + _SLACK_SECONDS


def preparation(time_limit: float | None) -> float:
    """Return the seconds of a phase before the clock: 30 s, or the time limit and 2 s if that is more, at most 62 s."""
    return max(_PREPARATION_SECONDS, phase(time_limit))


def compilation(time_limit: float | None) -> float:
    """Return the seconds that all compilation of a warm-up may take together."""
    return max(time_limit or 0.0, _COMPILATION_SECONDS)


def fit(time_limit: float | None) -> float:
    """Return after how many seconds a measured run is killed; the caller adds the time of target queries."""
    return math.inf if time_limit is None else time_limit + _FIT_SECONDS


def overtime(time_limit: float, others: float, queries: float) -> float:
    """Return the seconds beside those inside the solver that count to the time limit.

    others : seconds of compilation and of the host's own work, of which a part does not count
    queries : seconds that queries of targets took, of which no more than the limit once more does not count
    """
    return max(0.0, others - _OFF_THE_CLOCK_SECONDS) + max(0.0, queries - time_limit)


def lost(time_limit: float | None, threads: int, delay: float, seconds: float, cpu_seconds: float) -> float:
    """Return the seconds that other work took from a run, and that do not count to its limit.

    A run of several threads is limited by wall time, and cut short where it was disturbed: see :func:`was_disturbed`.

    delay : seconds in which its processes were ready to run, and other work had the core, added up
    seconds, cpu_seconds : wall and CPU time of the run
    """
    if time_limit is None or threads > 1:
        return 0.0
    return min(delayed(threads, delay, seconds, cpu_seconds), _LOST_SHARE * time_limit)


def delayed(threads: int, delay: float, seconds: float, cpu_seconds: float) -> float:
    """Return the seconds that other work took from a run; a run with more threads than allowed delays itself."""
    return max(0.0, min(delay, seconds - cpu_seconds / threads))


def was_disturbed(time_limit: float, seconds: float, delayed_seconds: float) -> bool:
    """Return whether a run that was cut at its time limit could use so little of it that the machine was at fault."""
    least = _LEAST_SHARE * time_limit
    return seconds - delayed_seconds < least and delayed_seconds > time_limit - least


def beginning(time_limit: float | None, read: float) -> float:
    """Return the seconds in which a process of the host's imports what it needs and reads data, read before in ``read``."""
    return _START_SECONDS + 20.0 * read + phase(time_limit)


def certifying(time_limit: float | None, *, of_plugins: bool) -> float:
    """Return the seconds that a certificate may take; ``of_plugins``: it needs code that is not the host's."""
    if not of_plugins or time_limit is None:
        return _CERTIFY_SECONDS
    return min(_CERTIFY_SECONDS, max(_START_SECONDS, 10.0 * phase(time_limit)))
