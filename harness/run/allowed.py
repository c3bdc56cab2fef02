"""How long each phase of a run may take, as the processes around it see it: the limit, and what is added for whose sake.

The measured run and what comes after it end at the time limit and 2 s at the latest. What comes before its clock, a warm-up and
then imports and ``skip()``, has a limit of its own, since importing a library can take longer than solving. Two things are no
phase of the solver's and have bounds of their own: what is compiled in its warm-up, which takes a minute where nothing is
in the cache yet, and what the host itself does, importing plugins, reading data and certifying.

A limit of seconds is one of what a run uses: CPU time, and time in which it waits by itself, for a file for example. Of a run of
one thread the seconds in which other work had its core do not count, up to a bound; see :func:`lost`.
"""

from __future__ import annotations

_SLACK_SECONDS = 2.0  # of a phase beyond the time limit
_GRACE_SECONDS = 0.7  # a solver that yields is stopped by the host at its limit; one that does not, this much later
_OFF_THE_CLOCK_SECONDS = 0.8  # more, for compilation and the host's own work in the measured run
_WITHOUT_LIMIT_SECONDS = 60.0  # what a phase may take beside the measured run, where there is no time limit; its most
_PREPARATION_SECONDS = 30.0  # that a warm-up without its compilation, or imports and skip(), may take at least
_COMPILATION_SECONDS = 120.0  # of a warm-up, at least
_START_SECONDS = 60.0  # that a process may import plugins and read data, at least
_CERTIFY_SECONDS = 1800.0
SILENT_SECONDS = 10.0  # after the last sign of life of a certifier at which it is started anew
_MOST_WALL = 5.0  # most wall seconds of a run of one thread on a busy machine, in time limits
_LEAST_SHARE = (
    0.8  # of its time limit that a run which is cut must have been able to use, else it was the machine's fault
)


def phase(time_limit: float | None) -> float:
    """Return what a phase beside the measured run may take: the time limit, at most a minute, and 2 s."""
    return min(_WITHOUT_LIMIT_SECONDS, time_limit or _WITHOUT_LIMIT_SECONDS) + _SLACK_SECONDS


def preparation(time_limit: float | None) -> float:
    """Return what a phase before the clock may take: 30 s, or the time limit and 2 s if that is more, at most 62 s."""
    return max(_PREPARATION_SECONDS, phase(time_limit))


def compilation(time_limit: float | None) -> float:
    """Return the seconds that all compilation of a warm-up may take together."""
    return max(time_limit or 0.0, _COMPILATION_SECONDS)


def off_the_clock(time_limit: float, others: float, queries: float) -> float:
    """Return the seconds of a measured run that are taken off its time limit.

    others : seconds of compilation and of the host's own work, of which a bounded part is
    queries : seconds that queries of targets took, of which no more count than the limit once more
    """
    return min(others, _OFF_THE_CLOCK_SECONDS) + min(queries, time_limit)


def fit(time_limit: float, others: float, queries: float) -> float:
    """Return the seconds after which a measured run is killed; ``others`` and ``queries`` as of :func:`off_the_clock`."""
    return time_limit + _GRACE_SECONDS + off_the_clock(time_limit, others, queries)


def lost(time_limit: float | None, threads: int, delay: float, seconds: float, cpu_seconds: float) -> float:
    """Return the seconds that other work took from a run, and that do not count to its limit.

    A run of several threads is limited by wall time, and cut short where it was disturbed: see :func:`was_disturbed`.

    delay : seconds in which its processes were ready to run, and other work had the core, added up
    seconds, cpu_seconds : wall and CPU time of the run
    """
    if time_limit is None or threads > 1:
        return 0.0
    return min(delayed(threads, delay, seconds, cpu_seconds), (_MOST_WALL - 1.0) * time_limit)


def delayed(threads: int, delay: float, seconds: float, cpu_seconds: float) -> float:
    """Return the seconds that other work took from a run; not from it: who has more threads than it may delays itself."""
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
