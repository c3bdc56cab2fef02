"""By which clock runs are compared, and what a run had spent when a gap was certified: one rule for calls and pages."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from harness.measure import repetition
from harness.measure.outcome import Status, StoppedBy
from harness.measure.repetition import clock_of, waited
from harness.report.figures import SETTINGS, is_number
from harness.run.record import Record

Point = Mapping[str, Any]

TARGETS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
"""The certified relative gaps that pages and pictures compare costs at."""

CLOCKS, seconds, times = repetition.CLOCKS, repetition.seconds, repetition.times
DISTURBED = 1.5
"""Wall over CPU seconds of one thread, beyond which a run shared its core with other work."""
_NO_CLOCK = (StoppedBy.SOLVER, StoppedBy.EXHAUSTED, StoppedBy.KERNEL_EVALUATIONS, StoppedBy.ITERATIONS)


def clocks(measured: Sequence[Record]) -> tuple[str, str]:
    """Return the clock of runs that are compared (`clock_of`), ``cpu`` or ``wall``, and that of their traces.

    Some runs may have CPU seconds at their end alone, not at the points of their traces.

    measured : runs with a model, on one data set
    """
    clock = clock_of(measured)
    traced = all(is_number(point.get("cpu_seconds")) for run in measured for point in run.get("trace") or ())
    return clock, clock if traced else "wall"


def differing(runs: Sequence[Record]) -> str:
    """Return a sentence if runs of one seed have counts that differ more than limits explain; empty if not.

    A run's randomness is its seed's, so in one thread its counts are the same each time. A run that the clock stopped, or
    a target that is looked at by the clock, may have got less far, but no further than one that ended by itself. Where
    counts differ nevertheless one run had what another one left: of a black box that shows in its yields alone. None of
    them is ranked: the first one here may have found what an earlier command left.
    """
    for name in ("kernel_evaluations", "iterations"):
        counts: dict[Any, list[tuple[int, bool]]] = {}
        for run in runs:
            if run.get("threads") == 1 and is_number(run.get(name)):
                same = tuple(run.get(each) for each in ("seed", "fold", *SETTINGS))
                counts.setdefault(same, []).append((int(run[name]), run.get("stopped_by") in _NO_CLOCK))
        for of_seed in counts.values():
            least = min((count for count, by_itself in of_seed if by_itself), default=None)
            most = max(count for count, _ in of_seed)
            if least is not None and least < most:
                return f"{least:,} and {most:,} {name.replace('_', ' ')} with the same seed"
    return ""


def disturbed(measured: Sequence[Record], wall: float | None, cpu: float | None) -> float | None:
    """Return wall over CPU seconds where they say that runs of one thread shared their core, else None.

    wall, cpu : medians over the runs ``measured``
    """
    alone = all(run.get("threads") == 1 and not waited(run) for run in measured)
    shared = wall / cpu if wall and cpu and alone else 0.0
    return shared if shared > DISTURBED else None


def places(trace: Sequence[Point], targets: Sequence[float]) -> list[int | None]:
    """Return for each target the first point whose certified relative gap is surely at most that, None if there is none.

    Of a model without a gap its suboptimality counts.
    """
    gaps = list[tuple[int, float]]()
    for i, point in enumerate(trace):
        gap = point.get("suboptimality") if point.get("relative_gap") is None else point["relative_gap"]
        if is_number(gap):
            gaps.append((i, gap + (point.get("gap_rounding") or 0.0)))
    return [next((i for i, gap in gaps if gap <= target), None) for target in targets]


def points(run: Point) -> list[Point]:
    """Return the trace of a run, and its end as a point.

    The trace is of the first fit. Where later fits took less time, no point is later than their end, which bounds its time.
    """
    end = {"seconds": seconds(run, "fit_seconds"), "cpu_seconds": seconds(run, "cpu_seconds")}
    trace = list(run.get("trace") or ())
    for name, most in end.items() if run.get("steady_fit_seconds") is not None else ():
        if is_number(most):
            trace = [{**each, name: min(each[name], most)} if is_number(each.get(name)) else each for each in trace]
    return [*trace, {**run, **end}]


def reached(run: Point, targets: Sequence[float]) -> list[Point | None]:
    """Return the point at which a run's gap was first certified below each target.

    Its end counts as a point of its trace. None: never reached.
    """
    every = points(run)
    return [None if place is None else every[place] for place in places(every, targets)]


def spent(at: Sequence[Point | None], run: Point, cost: str, clock: str = "wall") -> list[float | None]:
    """Return what a run had spent at some points (see `reached`); None where there is no point, or none knows it.

    cost : ``seconds``, of ``clock``; or ``kernel_evaluations``
    """
    if cost == "kernel_evaluations" and run.get("evaluations_at_least"):
        return [None] * len(at)
    name = "cpu_seconds" if cost == "seconds" and clock == "cpu" else cost
    found = [None if point is None else point.get(name) for point in at]
    return [value if is_number(value) else None for value in found]


def until(runs: Sequence[Record], cost: str, clock: str) -> list[list[float]]:
    """Return for each of `TARGETS` what each run had spent (see `spent`), infinity if it never got there; no skipped runs."""
    begun = [run for run in runs if run.get("status") != Status.SKIPPED]
    each = [spent(reached(run, TARGETS), run, cost, clock) for run in begun]
    return [[math.inf if value is None else value for value in costs] for costs in zip(*each, strict=True)]
