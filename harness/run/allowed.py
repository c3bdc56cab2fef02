"""How long each phase of a run may take, as the processes around it see it: the limit, and what is added for whose sake.

A phase ends at the time limit and 2 s at the latest: making the solver, its warm-up, the measured run, what comes after.
Two things are no phase of the solver's and have bounds of their own: what is compiled in its warm-up, which takes a
minute where nothing is in the cache yet, and what the host itself does, importing plugins and reading data.
"""

from __future__ import annotations

import math
from time import monotonic  # by name: what a solver patches later is not this clock
from typing import TYPE_CHECKING

from harness.run.record import Limits, StoppedBy

if TYPE_CHECKING:
    from harness.run.watch import Observed

_SLACK_SECONDS = 2.0  # of a phase beyond the time limit
_GRACE_SECONDS = 0.7  # a solver that yields is stopped by the host at its limit; one that does not, this much later
_OFF_THE_CLOCK_SECONDS = 0.8  # more, for compilation and the host's own work in the measured run
_WITHOUT_LIMIT_SECONDS = 60.0  # what a phase may take beside the measured run, where there is no time limit; its most
_ONE_COMPILATION_SECONDS = 10.0  # that a single function may compile, at least: a busy machine takes eight
_COMPILATION_SECONDS = 120.0  # of a warm-up, at least
_START_SECONDS = 60.0  # that a process may import plugins and read data, at least
_CERTIFY_SECONDS = 1800.0
_ENDING_SECONDS = 10.0  # that the host may need to end a run's processes and to send what it knows, at least


def phase_seconds(time_limit: float | None) -> float:
    """Return what a phase beside the measured run may take: the time limit, at most a minute, and 2 s."""
    return warm_up_limit(time_limit) + _SLACK_SECONDS


def warm_up_limit(time_limit: float | None) -> float:
    """Return the time limit of a phase beside the measured run, a warm-up for example: the run's own, at most a minute."""
    return min(_WITHOUT_LIMIT_SECONDS, time_limit or _WITHOUT_LIMIT_SECONDS)


def one_compilation(time_limit: float | None) -> float:
    """Return the seconds within which the compiler has to be done with something, in a warm-up."""
    return max(time_limit or 0.0, _ONE_COMPILATION_SECONDS) + _SLACK_SECONDS


def compilation(time_limit: float | None) -> float:
    """Return the seconds that all compilation of a warm-up may take together."""
    return max(time_limit or 0.0, _COMPILATION_SECONDS)


def off_the_clock(time_limit: float, others: float, buying: float) -> float:
    """Return the seconds of a measured run that are taken off its time limit.

    others : seconds of compilation and of the host's own work, of which a bounded part is
    buying : seconds that labels were waited for, which are no more than the limit once more
    """
    return min(others, _OFF_THE_CLOCK_SECONDS) + min(buying, time_limit)


def latest(seen: Observed, limits: Limits) -> float:
    """Return the time of ``monotonic()`` at which the phase that a run is in has to be over; infinity: it has no limit."""
    compiled = seen.compile_spent + (monotonic() - seen.compile_began if seen.compiling else 0.0)
    if seen.phase == "fit":
        if limits.seconds is None:
            return math.inf
        host = max(0.0, seen.host_seconds - seen.bought_seconds)  # what the host did contains the purchases
        added = off_the_clock(limits.seconds, host + compiled, seen.bought_seconds)
        return seen.phase_began + limits.seconds + _GRACE_SECONDS + added
    if seen.phase == "warm-up" and seen.compiling:
        together = seen.compile_began + compilation(limits.seconds) - seen.compile_spent
        return min(seen.compile_heard + one_compilation(limits.seconds), together)
    spared = seen.compile_spent if seen.phase == "warm-up" else 0.0
    return seen.phase_began + phase_seconds(limits.seconds) + spared


def excess(seen: Observed, limits: Limits) -> StoppedBy | None:
    """Return the limit of time if it is passed."""
    return StoppedBy.TIME if monotonic() > latest(seen, limits) else None


def starting(time_limit: float | None) -> float:
    """Return the seconds in which a process of the host's has imported what it needs."""
    return max(_START_SECONDS, phase_seconds(time_limit))


def reading(seconds: float, time_limit: float | None) -> float:
    """Return the seconds in which data are read that the driver read in so many."""
    return max(_START_SECONDS, 20.0 * seconds + phase_seconds(time_limit))


def ending(time_limit: float | None) -> float:
    """Return the seconds in which the host ends a run, empties its folder and says what became of it."""
    return max(_ENDING_SECONDS, phase_seconds(time_limit))


def adopting(time_limit: float | None, warmed: float) -> float:
    """Return the seconds in which a worker warms itself up as a child of it did in ``warmed`` seconds."""
    return phase_seconds(time_limit) + warmed


def scoring(time_limit: float | None) -> float:
    """Return the seconds that one metric of a plugin may take, which may have to import its library first."""
    return max(_ENDING_SECONDS, phase_seconds(time_limit))


def certifying(time_limit: float | None, *, of_plugins: bool) -> float:
    """Return the seconds that a certificate may take; ``of_plugins``: its formulation or kernel is not the host's."""
    if not of_plugins or time_limit is None:
        return _CERTIFY_SECONDS
    return min(_CERTIFY_SECONDS, max(_START_SECONDS, 10.0 * phase_seconds(time_limit)))


def request(time_limit: float | None, read: float) -> float:
    """Return what a whole request to a process of the host's may take, whatever it says of its phases."""
    if time_limit is None:
        return math.inf
    phases = starting(time_limit) + reading(read, time_limit) + 2 * compilation(time_limit) + ending(time_limit)
    return phases + _CERTIFY_SECONDS + 6 * (time_limit + _SLACK_SECONDS)
