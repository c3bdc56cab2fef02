"""What a reader must know beside the figures: failures, formulations, reuse, compilation."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from harness.report import figures, timing
from harness.report.measures import GAP, GIVEN_UP, LABELS, WORKING_SET
from harness.report.rows import formulation_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.report.measures import Measure
    from harness.report.rows import Group, Row
    from harness.run.record import Record

NOT_RANKED = "gaps, KKT violations and objectives compare only within a formulation"


class Reasons:
    """Numbers the reasons of runs that are not ok: the same reason of the same solver has one number in the whole report."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def number(self, row: Row) -> str:
        """Return the mark of a row, ``[1]`` or ``[1,2]``; empty if all its runs are ok."""
        found = dict.fromkeys(_reason(row, record) for record in row.astray)
        numbers = [self._numbers.setdefault(text, len(self._numbers) + 1) for text in found]
        return f"[{','.join(map(str, numbers))}]" if numbers else ""

    def notes(self) -> list[str]:
        """Return one sentence for each number."""
        return [f"[{number}] {text}" for text, number in self._numbers.items()]


def _reason(row: Row, record: Record) -> str:
    return f"{row.name}: {record.get('status')}: {_plain(record.get('reason') or 'no reason was given')}"


def _plain(sentence: object) -> str:
    return " ".join(str(sentence).split())


def notes(groups: Sequence[Group], shown: Sequence[Measure]) -> list[str]:
    """Return the sentences under a table with the measured columns ``shown``, the failures' excepted."""
    rows = [row for group in groups for row in group.rows]
    return [
        *_targets(groups),
        *_reading(rows, shown),
        *_uncertain(rows),
        *_formulations(groups),
        *_compilation(rows),
        *_reused([record for row in rows for record in row.records]),
    ]


def _targets(groups: Sequence[Group]) -> list[str]:
    """Say that costs are not ranked where the rows that compete had no common target."""
    loose = [row for group in groups for row in group.loose]
    gaps = sorted(median(found) for row in loose if (found := GAP.ranked(row)))
    where = f" at gaps {' to '.join(dict.fromkeys(map(figures.gap, (gaps[0], gaps[-1]))))}" if gaps else ""
    told = f"no common target: rows stopped{where}, so cost is not ranked; see --target-gap."
    return [told] if loose else []


def _reading(rows: Sequence[Row], shown: Sequence[Measure]) -> list[str]:
    """Say what a figure is where a row stands for several runs, and what the columns mean that not every report has."""
    found = []
    if any(len(row.measured) > 1 for row in rows):
        counts = sorted({len(row.records) for row in rows})
        runs = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
        found.append(
            f"figures are medians over {runs} runs (seeds and repetitions); ± is half the range of the seconds."
        )
    shared = [
        row.name for row in rows if timing.disturbed(row.measured, row.median("fit_seconds"), row.median("cpu_seconds"))
    ]
    if shared:
        found.append(
            f"wall time above {timing.DISTURBED:g} times CPU time in one thread, so the machine did other work: "
            f"{', '.join(dict.fromkeys(shared))}."
        )
    waiting = [row.name for row in rows if any(map(timing.waited, row.measured))]
    if waiting:
        found.append(
            "wall time is ranked, as neither CPU time nor other work on the machine explains it all; waited for something else "
            f"(a process, a device, a server, a disk): {', '.join(dict.fromkeys(waiting))}."
        )
    found += [told for measure, told in _MEANINGS.items() if measure in shown]
    if any(row.values("epsilon") and not row.values("kkt_violation") for row in rows):
        found.append("eps (hull formulations): the certified margin is at least (1 - eps) times the optimal one.")
    for name, told in _BESIDE.items():
        beside = [record[name] for row in rows for record in row.measured if record.get(name)]
        oracles = ", ".join(dict.fromkeys(str(each["oracle"]) for each in beside if not each.get("reason")))
        found += [f"{told}; solved by {oracles}."] if oracles else []
        reasons = dict.fromkeys(_plain(each["reason"]).rstrip(".") for each in beside if each.get("reason"))
        found += [f"no {told.partition(':')[0]}: {reason}." for reason in reasons]
    return found


_MEANINGS = {
    WORKING_SET: "working set: points the solver says its last model was optimised over; SV, counted by the harness: those with a "
    "coefficient, the core set.",
    LABELS: "labels: bought by the solver, where its formulation sells them; AUBC: area under the curve of the test accuracy over "
    "the labels bought, divided by their range.",
    GIVEN_UP: "margin: the model's own, once it gives up as many points as it may, (1 + delta) times the share; margin bound: no "
    "model that gives up the share alone has a wider one; given up: points on the wrong side or inside.",
}
_BESIDE = {
    "core_set": "core ratio: margin of all points over that of the support alone, at least",
    "inlier_margin": "inliers' margin: that of the points which the source did not plant as outliers, 0 where their hulls meet; "
    "of inliers': the model's margin over it, which may be above 1 where it gives up other points",
}
"""What another solver computed beside a run: field of the record -> what is told of its columns."""


def _uncertain(rows: Sequence[Row]) -> list[str]:
    """Say why a figure is missing, a bound or undecided, and what went wrong beside a run that has its model."""
    blind = [row.label for row in rows if row.measured and not row.values("kernel_evaluations")]
    partly = [row.label for row in rows if row.said("evaluations_at_least")]
    found = []
    if blind:
        told = ", ".join(dict.fromkeys(blind))
        found.append(f"kernel evals -: {told}: not observable, computed out of the harness's sight.")
    if partly:
        told = ", ".join(dict.fromkeys(partly))
        found.append(
            f"kernel evals ≥: {told}: the solver took the points; what it computed of them is not counted, and not ranked."
        )
    found += [
        f"{row.name}: {told}, where nothing but the seed is random: a run may have had what another one left, and what they cost is "
        "not ranked."
        for row in rows
        if (told := timing.differing(row.measured))
    ]
    undecided = (f"gap ?: {row.name}: {_plain(why)}" for row in rows for why in row.said("undecidable"))
    faults = (_plain(fault) for row in rows for record in row.records for fault in record.get("faults") or [])
    return [*found, *dict.fromkeys(undecided), *dict.fromkeys(faults)]


def _formulations(groups: Sequence[Group]) -> list[str]:
    """Say who solved which formulation where they differ, and how their parameters correspond."""
    rows: dict[str, list[Row]] = {}
    for group in groups:
        for row in group.rows:
            if row.measured:
                rows.setdefault(row.formulation, []).append(row)
    if len(rows) < 2:
        return []
    told = []
    for formulation, own in rows.items():
        values = [row.first.get("problem_parameters") or {} for row in own]
        same = [
            f"{other} = {name}"
            for name, other in formulation_of(formulation).stand_ins().items()
            if all(each.get(other) in (None, each.get(name)) for each in values)
        ]
        solvers = ", ".join(dict.fromkeys(str(row.first.get("solver")) for row in own))
        mapping = f" ({', '.join(same)})" if same else ""
        told.append(f"{formulation}{mapping} was solved by {solvers}")
    return [f"formulations differ: {'; '.join(told)}. {NOT_RANKED[0].upper()}{NOT_RANKED[1:]}."]


def _compilation(rows: Sequence[Row]) -> list[str]:
    spent: dict[str, list[float]] = {}
    for row in rows:
        values = [value for value in row.values("compile_seconds") if value >= 0.05]
        if values:
            spent.setdefault(str(row.first.get("solver")), []).extend(values)
    if not spent:
        return []
    told = ", ".join(f"{solver} {figures.seconds(median(values))} s" for solver, values in spent.items())
    return [f"warm-up and compilation, not in the seconds above (median): {told}."]


def _reused(records: Sequence[Record]) -> list[str]:
    reused = [record for record in records if record.get("reused")]
    if not reused:
        return []
    share = "all" if len(reused) == len(records) else f"{len(reused)} of {len(records)}"
    mark = "" if len(reused) == len(records) else "†: "
    return [f"{mark}{share} runs reused from the store, measured {measured_span(reused)}; --fresh measures again."]


def measured_span(records: Sequence[Record]) -> str:
    """Return ``2026-05-01 12:00 UTC`` or the first and last of several."""
    times = sorted(str(record["measured_at"]) for record in records if record.get("measured_at"))
    if not times:
        return "at an unknown time"
    first, last = moment(times[0]), moment(times[-1])
    return f"{first} UTC" if first == last else f"{first} to {last} UTC"


def moment(iso: str) -> str:
    """Return an ISO time to the minute: ``2026-05-01 12:00``."""
    return iso[:16].replace("T", " ")
