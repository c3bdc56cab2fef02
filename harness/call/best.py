"""Which solver is best on each data set, and whether that is more than the noise of the runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from harness.errors import UsageError
from harness.parameters import did_you_mean
from harness.report import figures, measures, noise, path_table
from harness.report.rows import Group, Row, grouped
from harness.report.timing import CLOCKS, clocks, reached, spent
from harness.run.record import COLUMNS

if TYPE_CHECKING:
    from harness.run.record import Record

_NOISY = (*CLOCKS.values(), "peak_rss_bytes")  # differ from one run to the next of the same code
_STOPS = (*_NOISY, "kernel_evaluations", "iterations", "support_vectors")  # depend on where a solver stopped
_UNTIL = {
    **{figure: ("seconds", clock) for clock, figure in CLOCKS.items()}, "kernel_evaluations": ("kernel_evaluations", "wall"),
}  # fmt: skip
"""Figure -> the cost and clock of a trace that tell what it was at a target."""
_MORE = ("test_accuracy", "train_accuracy", "margin_lower", "dual")  # more of it is better; of all others less
_DOUBTS = {"kernel_evaluations": "evaluations_at_least", "relative_gap": "undecidable"}
_TEXTS = {
    "kernel_evaluations": figures.count, "iterations": figures.count, "support_vectors": figures.count,
    "test_accuracy": figures.percent, "train_accuracy": figures.percent, "relative_gap": figures.gap,
}  # fmt: skip


@dataclass(frozen=True)
class Place:
    """The best of one data set under one kernel; where C has several values, of one problem.

    solver : with its parameters, and its problem where there are several; empty: no run qualifies
    value : its figure, the median of its runs; ``interval``: between which figures that lies
    ties : the others that cannot be told apart from it, by their intervals
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
    figure: str = ""

    @property
    def sure(self) -> bool:
        """Whether it is told apart from every other that competes."""
        return bool(self.solver) and not self.ties

    def __str__(self) -> str:
        """Return the place as a sentence."""
        if not self.solver:
            return f"{self.dataset}: no solver did what was asked."
        text = _TEXTS.get(self.figure, figures.seconds if self.figure in CLOCKS.values() else figures.significant)
        unit = " s" if self.figure in CLOCKS.values() else " %" if text is figures.percent else ""
        low, high = (text(end) for end in self.interval)
        between = f" ({low} to {high})" if low != high else ""
        told = f"not told apart from {_and(self.ties)}" if self.ties else f"told apart from {_and(self.beaten)}"
        if not self.ties and not self.beaten:
            told = "the only one that did what was asked" if self.out else "the only one"
        return f"{self.dataset}: {self.solver}, {text(self.value)}{unit}{between}, {told}."


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
        names = [name for place in self.places if place.solver for name in (place.solver, *place.ties)]
        first = Counter(place.solver for place in self.places if place.solver)
        found = Counter(names)
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
    """Return the best by a figure of a record, see `harness.call.result.Result.best`."""
    runs = path_table.without_paths(records) or list(records)
    groups = [part for group in grouped(runs) for part in _parts(group)]
    return Best(by, target, tuple(_place(group, _figure(by, target, group, runs), target) for group in groups))


def _parts(group: Group) -> list[Group]:
    """Return a group a problem where a formulation has several (``C=[1, 10]``): which is easier says nothing of solvers."""
    if not group.swept:
        return [group]
    rows = {problem: [row for row in group.rows if row.problem == problem] for problem in group.problems}
    return [Group(f"{group.dataset} {problem}", group.kernel, each) for problem, each in rows.items()]


def _figure(by: str, target: float | None, group: Group, runs: Sequence[Record]) -> str:
    """Return the field that is compared within a group."""
    measured = [record for row in group.rows for record in row.measured]
    if by in ("time", "seconds"):
        of_runs, of_traces = clocks(measured)
        figure = CLOCKS["wall" if by == "seconds" else of_runs if target is None else of_traces]
    else:
        figure = by
        known = {name for record in runs for name, value in record.items() if figures.is_number(value)}
        known |= {f"metrics.{name}" for record in runs for name in record.get("metrics") or {}}
        if figure not in known and figure not in COLUMNS:
            names = ["time", *sorted(known)]
            raise UsageError(
                f"by={by!r} is no figure of these runs{did_you_mean(by, names)}; known: {', '.join(names)}."
            )
    if target is not None and (figure not in _UNTIL or not target > 0):
        raise UsageError(
            f"target={target!r}: a gap above 0 has a time or kernel evaluations until it, by={by!r} is neither."
        )
    if target is None and figure in _STOPS and group.loose:
        raise UsageError(
            "without target_gap each solver stops where its own rule says, so what they cost does not compare; ask for "
            "best(target=1e-3), or give target_gap=1e-3 to the comparison."
        )
    return figure


def _place(group: Group, figure: str, target: float | None) -> Place:
    values: dict[str, list[float]] = {}
    out = []
    for row in group.rows:
        name = f"{row.name} {row.problem}" if len(group.problems) > 1 else row.name
        found = _values(row, figure, target)
        if found:
            values[name] = found
        else:
            out.append(name)
    dataset = f"{group.dataset} {group.kernel}".strip()
    if not values:
        return Place(dataset, out=tuple(out))
    sure = {name: noise.interval(each, noisy=figure in _NOISY) for name, each in values.items()}
    metric = figure.removeprefix("metrics.")
    more = figure in _MORE or (metric != figure and metric not in measures.LOSSES)
    winner = (max if more else min)(values, key=lambda name: median(values[name]))
    others = [name for name in values if name != winner]
    ties = [name for name in others if not noise.apart(sure[name], sure[winner])]
    beaten = tuple(name for name in others if name not in ties)
    return Place(dataset, winner, median(values[winner]), sure[winner], tuple(ties), beaten, tuple(out), figure)


def _values(row: Row, figure: str, target: float | None) -> list[float]:
    """Return the figure of every run of a row; empty if one of them does not compete."""
    if row.said(_DOUBTS.get(figure, "")):
        return []
    if target is None:
        return row.values(figure) if row.complete else []
    cost, clock = _UNTIL[figure]
    found = [spent(reached(record, [target]), record, cost, clock)[0] for record in row.measured]
    return (
        [value for value in found if value is not None] if None not in found and len(found) == len(row.records) else []
    )


def _and(names: Sequence[str]) -> str:
    return ", ".join(names[:-1]) + f" and {names[-1]}" if len(names) > 1 else "".join(names)
