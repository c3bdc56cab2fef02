"""How long each phase of a run may take, as the processes around it see it: the limit, and what is added for whose sake."""

from __future__ import annotations

from time import monotonic  # by name: what a solver patches later is not this clock
from typing import TYPE_CHECKING

from harness.run.record import Limits, StoppedBy

if TYPE_CHECKING:
    from harness.run.child import Watch

_GRACE_SECONDS = 0.7  # a solver that yields is stopped by the host at its limit; one that does not, this much later
_WARM_UP_SECONDS = 60.0  # without a time limit
_COMPILE_SECONDS = 300.0


def excess(seen: Watch, limits: Limits) -> StoppedBy | None:
    """Return the limit of time if it is passed."""
    elapsed = monotonic() - seen.phase_began
    compiled = seen.compile_spent + (monotonic() - seen.compile_began if seen.compiling else 0.0)
    compiled = min(compiled, _COMPILE_SECONDS)
    if seen.phase == "warm-up":
        if elapsed > warm_up_limit(limits.seconds) + _GRACE_SECONDS + compiled:
            return StoppedBy.TIME
    elif limits.seconds is not None:
        others = seen.host_seconds + seen.buying_seconds + compiled
        if elapsed > limits.seconds + _GRACE_SECONDS + others:
            return StoppedBy.TIME
    return None


def warm_up_limit(time_limit: float | None) -> float:
    """Return the seconds a warm-up may take, compilation not counted: the run's own limit, at most a minute."""
    return min(_WARM_UP_SECONDS, time_limit or _WARM_UP_SECONDS)
