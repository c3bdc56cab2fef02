"""Which solver is best on each data set, and whether that is more than the noise of the runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from harness.errors import UsageError
from harness.parameters import did_you_mean
from harness.report import measures, noise, path_table
from harness.report.measures import Measure
from harness.report.rows import Group, Row, grouped
from harness.report.timing import clocks, reached, spent

if TYPE_CHECKING:
    from harness.run.record import Record

_UNTIL = {"time": "seconds", "seconds": "seconds", "kernel_evaluations": "kernel_evaluations"}
"""What is asked for -> the cost in a trace that tells what it was at a target."""


@dataclass(frozen=True)
class Place:
    """The best of one data set under one kernel; where C has several values, of one problem.

    solver : with its parameters, and its problem where there are several; empty: no run qualifies
    value : its figure, the median of its runs; ``interval``: between which figures that lies
    ties : the others that cannot be told apart from it
    beaten : the others that can
    out : those that do not compete, because a run did not do what was asked, or did not reach the target
    """

    dataset: str
    solver: str = ""
    value: float = float("nan")
    interval: noise.Interval = (float("nan"), float("nan"))
    ties: tuple[str, ...] = ()
    beaten: tuple[str, ...] = ()
    out: tuple[str, ...] = ()
    text: str = ""

    @property
    def sure(self) -> bool:
        """Whether it is told apart from every other that competes."""
        return bool(self.solver) and not self.ties

    def __str__(self) -> str:
        """Return the place as a sentence."""
        if not self.solver:
            return f"{self.dataset}: no solver did what was asked."
        told = "the only one"
        if self.ties or self.beaten:
            told = (
                f"not told apart from {', '.join(self.ties)}"
                if self.ties
                else f"told apart from {', '.join(self.beaten)}"
            )
        elif self.out:
            told = "the only one that did what was asked"
        return f"{self.dataset}: {self.solver}, {self.text}, {told}."


@dataclass(frozen=True)
class Best:
    """The best solver of each data set. As text it is a sentence for each.

    by, target : what was asked
    places : one for each data set and kernel, and problem
    """

    by: str
    target: float | None
    places: tuple[Place, ...]

    @property
    def solver(self) -> str:
        """The one that is best, or not told apart from the best, on the most data sets; empty if none competes."""
        first = Counter(place.solver for place in self.places if place.solver)
        found = first + Counter(name for place in self.places for name in place.ties)
        return max(found, key=lambda name: (found[name], first[name]), default="")

    @property
    def sure(self) -> bool:
        """Whether that one is told apart from every other on every data set."""
        return bool(self.places) and all(place.sure and place.solver == self.solver for place in self.places)

    def __str__(self) -> str:
        until = f" until a gap of {self.target:g} is certified" if self.target is not None else ""
        return "\n".join([f"by {self.by}{until}:", *(f"  {place}" for place in self.places)])

    __repr__ = __str__


def best_of(records: Sequence[Record], by: str, target: float | None) -> Best:
    """Return the best by a figure of a record, see `harness.call.result.Result.best`.

    Raises
    ------
    UsageError : a figure that is not ranked, or has no target; costs of runs that stopped where each wanted.
    """
    groups = [part for group in grouped(path_table.without_paths(records) or records) for part in _parts(group)]
    rows = [row for group in groups for row in group.rows]
    known = {measure.figure: measure for measure in measures.ranked(rows)}
    known |= {"time": measures.FIT, "seconds": measures.FIT}
    if by not in known:
        raise UsageError(f"by={by!r} is no figure that is ranked{did_you_mean(by, known)}; known: {', '.join(known)}.")
    if target is not None and (by not in _UNTIL or not target > 0):
        raise UsageError(
            f"target={target!r}: a gap above 0 has a time or kernel evaluations until it, by={by!r} is neither."
        )
    if target is None and known[by].stops and any(group.loose for group in groups):
        raise UsageError(
            "without target_gap each solver stops where its own rule says, so what they cost does not compare; ask for "
            "best(target=1e-3), or give target_gap=1e-3 to the comparison."
        )
    return Best(by, target, tuple(_place(group, known[by], by, target) for group in groups))


def _parts(group: Group) -> list[Group]:
    """Return a group a problem where a formulation has several (``C=[1, 10]``): which is easier says nothing of solvers."""
    if not group.swept:
        return [group]
    rows = {problem: [row for row in group.rows if row.problem == problem] for problem in group.problems}
    return [Group(f"{group.dataset} {problem}", group.kernel, each) for problem, each in rows.items()]


def _place(group: Group, measure: Measure, by: str, target: float | None) -> Place:
    _, of_traces = clocks([record for row in group.rows for record in row.measured])
    clock = "wall" if by == "seconds" else of_traces
    if target is None and by == "time":
        measure = measure.honest(group)
    found: dict[str, list[float]] = {}
    for row in group.rows:
        name = f"{row.name} {row.problem}" if len(group.problems) > 1 else row.name
        found[name] = (
            (measure.ranked(row) if row.complete else []) if target is None else _until(row, by, target, clock)
        )
    values = {name: each for name, each in found.items() if each}
    dataset, out = f"{group.dataset} {group.kernel}".strip(), tuple(name for name in found if not found[name])
    if not values:
        return Place(dataset, out=out)
    winner, *ties = measures.winners(measure, values)
    beaten = tuple(name for name in values if name not in (winner, *ties))
    middle, sure = median(values[winner]), measure.interval(values[winner])
    unit = " s" if measure.timed else " %" if measure is measures.ACCURACY else ""
    low, high = map(measure.text, sure)
    text = f"{measure.text(middle)}{unit}" + (f" ({low} to {high})" if low != high else "")
    return Place(dataset, winner, middle, sure, tuple(ties), beaten, out, text)


def _until(row: Row, by: str, target: float, clock: str) -> list[float]:
    """Return what every run of a row had spent when its gap was certified below the target; empty if one never was."""
    found = [spent(reached(record, [target]), record, _UNTIL[by], clock)[0] for record in row.measured]
    return (
        [value for value in found if value is not None] if len(found) == len(row.records) and None not in found else []
    )
