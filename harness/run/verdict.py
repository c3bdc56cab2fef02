"""What became of a run's process, by what was seen of it: whether its claims can be true, and else how it ended, in words."""

from __future__ import annotations

import os
import signal
from typing import Any

import numpy as np

from harness.machine import now
from harness.run import allowed, child
from harness.run.messages import Ended
from harness.run.record import Status, StoppedBy
from harness.run.seller import Seller
from harness.run.study import RunSpec

_CLOCK_SLACK = 0.25  # seconds of CPU time that the host's own work may take
_LATE = 5.0  # seconds that a message may wait on a busy machine
_SLOWEST_CLOCK = 0.5  # of the CPU time the system accounted


def lost_warm_up(seen: child.Watch) -> bool:
    """Return whether a child ended in its warm-up by what need not happen in the measured run.

    Not where the compiler came to no end, which is not asked a second time, nor where it wrote what is no message.
    """
    if seen.phase != "warm-up" or seen.fitted is not None or seen.killed_for is StoppedBy.FAULT:
        return False
    return not (seen.killed_for is StoppedBy.TIME and seen.compiling)


def warm_up_ended(seen: child.Watch, spec: RunSpec) -> str:
    """Return how a warm-up ended, in words."""
    if seen.killed_for is StoppedBy.TIME:
        return f"was still running after {allowed.phase_seconds(spec.limits.seconds):g} s, beside compilation"
    if seen.killed_for is StoppedBy.MEMORY:
        return "passed the limit of memory"
    return f"ended its process ({_cause(seen, spec, 0.0)[2]})"


def number(value: Any) -> float:
    """Return a claimed figure; 0 if it is none."""
    return float(value) if isinstance(value, (int, float)) else 0.0


def _sentences(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def verdict(seen: child.Watch, spec: RunSpec, wall: float) -> Ended:
    """Return what became of a child: its claims where they can be true, else what was seen of it."""
    claims: dict[str, Any] = {**now(), "sources": seen.sources} if seen.fitted is None else dict(seen.fitted.claims)
    trouble = _trouble(seen, spec, wall)
    if trouble is not None:
        claims.update(zip(("status", "stopped_by", "reason"), trouble, strict=True))
    if seen.output.strip():
        claims["output"] = "\n".join(part for part in (claims.get("output"), seen.output) if part)
    if claims.get("peak_rss_bytes") is None and seen.peak_rss:
        claims["peak_rss_bytes"] = seen.peak_rss
    killed = seen.fitted is None and seen.phase == "fit"
    claims["killed_cpu_seconds"] = max(0.0, seen.fit_cpu_seconds - seen.host_seconds) if killed else None
    bought = bought_points(seen)
    claims["labels_used"] = None if bought is None else len(bought)
    return Ended(claims, None if seen.fitted is None else seen.fitted.model, seen.points, bought)


def bought_points(seen: child.Watch) -> Any:
    """Return the points whose labels a child bought, in that order; None where none are sold."""
    return None if seen.seller is None else np.array(seen.seller.bought, dtype=np.int64)


def _trouble(seen: child.Watch, spec: RunSpec, wall: float) -> tuple[Status, StoppedBy, str] | None:
    """Return status, cause and reason where a child did not end as it should have, or claims what cannot be."""
    if seen.fitted is None or seen.killed_for:
        return _cause(seen, spec, wall)
    if seen.left_behind:
        many = "es" if seen.left_behind > 1 else ""
        alive = ", ".join(map(str, seen.survivors))
        ending = f"the host could not kill all, alive are {alive}" if alive else "the host killed them"
        reason = f"left {seen.left_behind} child process{many} behind; {ending}"
        return Status.ERROR, StoppedBy.FAULT, reason
    if seen.output_bytes > child.OUTPUT_LIMIT:
        size = f"{seen.output_bytes / 1e6:.1f} MB"
        reason = f"printed {size}; a solver must not print (at most 1 MB is tolerated)"
        return Status.ERROR, StoppedBy.FAULT, reason
    reason = _impossible(seen)
    return (Status.INVALID, StoppedBy.FAULT, reason) if reason else None


def _impossible(seen: child.Watch) -> str:
    """Return what the child says of clock and counts that the host knows to be untrue; empty if nothing is."""
    assert seen.fitted is not None
    claims = seen.fitted.claims
    seconds, cpu = number(claims.get("fit_seconds")), number(claims.get("cpu_seconds"))
    least = _SLOWEST_CLOCK * (seen.fit_cpu_seconds - seen.host_seconds - seen.buying_seconds) - _CLOCK_SLACK
    if claims.get("fit_seconds") is not None and not max(0.0, least) <= seconds <= seen.fit_seconds + _LATE:
        seen_then = f"the host saw {seen.fit_seconds:.3g} s pass, {seen.fit_cpu_seconds:.3g} s of them CPU time"
        return f"its clock says {seconds:g} s inside the solver; {seen_then}"
    if not 0.0 <= cpu <= seen.cpu_seconds + _CLOCK_SLACK:
        return f"its CPU clock says {cpu:g} s; the system accounted {seen.cpu_seconds:.3g} s to the process"
    counts = [point.figures.get("kernel_evaluations") for point in seen.points]
    counts.append(claims.get("kernel_evaluations"))
    known = [count for count in counts if isinstance(count, int)]
    if sorted(known) != known or any(count < 0 for count in known):
        return f"its count of kernel evaluations fell or is below 0: {', '.join(map(str, known[-3:]))}"
    return "" if seen.seller is None else _miscounted(seen, seen.seller, claims.get("labels_used"))


def _miscounted(seen: child.Watch, seller: Seller, claimed: Any) -> str:
    """Return what the child did about labels that no child of the harness does; empty if it did nothing."""
    if seller.refused:
        return f"it {seller.refused}"
    if claimed is not None and claimed != len(seller.bought):
        return f"it counts {claimed} labels where {len(seller.bought)} were bought"
    return seen.miscount


def _cause(seen: child.Watch, spec: RunSpec, wall: float) -> tuple[Status, StoppedBy, str]:
    """Return status, cause and reason of a child that ended without a result."""
    last, limits = _last_line(seen.output), spec.limits
    if seen.killed_for is StoppedBy.TIME:
        return Status.TIMEOUT, StoppedBy.TIME, _late(seen, limits.seconds, wall)
    if seen.killed_for is StoppedBy.MEMORY:
        reason = f"resident memory passed the limit of {(limits.memory_bytes or 0) / 2**20:g} MB; killed"
        return Status.MEMORY, StoppedBy.MEMORY, reason
    if seen.killed_for is StoppedBy.FAULT:
        reason = f"the solver's process {seen.broken}; killed"
        return Status.ERROR, StoppedBy.FAULT, reason
    refused = "MemoryError" in last or "std::bad_alloc" in last
    if os.WIFSIGNALED(seen.exit_status):
        number = os.WTERMSIG(seen.exit_status)
        name = signal.Signals(number).name if number in set(signal.Signals) else str(number)
        if refused:
            return Status.MEMORY, StoppedBy.MEMORY, f"ended by signal {number} ({name}) when an allocation was refused"
        who = StoppedBy.KILLED if number == signal.SIGKILL else StoppedBy.FAULT
        return Status.CRASHED, who, f"ended by signal {number} ({name}){': ' + last if last else ''}"
    if refused:
        return Status.MEMORY, StoppedBy.MEMORY, "an allocation beyond the memory limit was refused"
    code = os.waitstatus_to_exitcode(seen.exit_status)
    return Status.CRASHED, StoppedBy.FAULT, f"exited with code {code} without a result{': ' + last if last else ''}"


def _late(seen: child.Watch, limit: float | None, wall: float) -> str:
    """Return the sentence on a child that was killed for time, ``wall`` seconds after its phase began."""
    ended = f"killed after {wall:.1f} s"
    compiled = seen.compile_spent + (max(0.0, seen.phase_began + wall - seen.compile_began) if seen.compiling else 0.0)
    if seen.phase == "fit":
        compiling = f", {compiled:.1f} s of them compiling; compile in warm_ups()" if compiled > 0.1 else ""
        return f"still running at the time limit of {limit:g} s; {ended}{compiling}"
    own = allowed.warm_up_limit(limit)
    if seen.phase == "warm-up" and seen.compiling:
        if compiled >= allowed.compilation(limit):
            return f"compiling for {compiled:.1f} s on a few points, before the measured run; {ended}"
        most = allowed.one_compilation(limit)
        return f"compiling without an end for {most:g} s on a few points, before the measured run; {ended}"
    where = {
        "warm-up": " on a few points, before the measured run,",
        "start": " before its first step, in skip() for example,",
        "end": " after its last model, closing its iterates for example,",
    }[seen.phase]
    return f"still running{where} at the time limit of {own:g} s; {ended}"


def _last_line(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    fatal = [line for line in lines if line.startswith("Fatal Python error")]
    return (fatal or lines or [""])[-1][:300]
