"""What is said under a table: what a reader must know, and what explains the figures for those who ask."""

from __future__ import annotations

import math
from statistics import median
from typing import TYPE_CHECKING

from harness.measure.outcome import StoppedBy
from harness.measure.repetition import ONE_RUN, waited
from harness.report import figures, timing
from harness.report.rows import formulation_of, machines, short_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from harness.report.measures import Measure
    from harness.report.rows import Group, Row, Sheet
    from harness.run.record import Record


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


def not_shown(columns: Sequence[str], width: int | None) -> list[str]:
    """Say which columns a table of ``width`` has no room for."""
    return (
        [f"Not shown at {width} columns: {', '.join(columns)}. --format markdown or csv shows all."] if columns else []
    )


BEST = "{} best among comparable rows, or could not be distinguished from the best."


def sentences(sheet: Sheet, mark: str, *, explain: bool = False) -> list[str]:
    """Return what stands under a sheet: what its marks are, what a reader must know, and what explains it if that is asked for."""
    best = [BEST.format(mark)] if sheet.marked else []
    return [*best, *sheet.notes, *(sheet.explained if explain else [])]


def notes(groups: Sequence[Group], shown: Sequence[Measure]) -> list[str]:
    """Return what a reader of a table with the measured columns ``shown`` must know, the reasons of failures excepted."""
    rows = [row for group in groups for row in group.rows]
    records = [each for row in rows for each in row.records]
    return [
        *_formulations(rows, shown),
        *_small_caches(groups),
        *_uncertain(rows),
        *_loose(groups),
        *of_machines(records),
        *of_reuse(records),
    ]


def explained(groups: Sequence[Group], shown: Sequence[Measure]) -> list[str]:
    """Return what the columns and marks mean, and what was not measured: what ``--explain`` adds."""
    rows = [row for group in groups for row in group.rows]
    counts = sorted({len(row.records) for row in rows})
    told = [RANKING]
    if counts[-1:] > [1]:
        told.append(
            f"Figures are medians over {figures.span(str(counts[0]), str(counts[-1]))} runs (seeds and repetitions). ± is half the "
            "range of the seconds."
        )
    has = {measure.figure for measure in shown if any(row.values(measure.figure) for row in rows)}
    told += [meaning for name, meaning in _MEANINGS.items() if name in has]
    told += [_plain(each.meaning) for each in shown if each.meaning and each.figure in has]
    if any(row.values("epsilon") and not row.values("kkt_violation") for row in rows):
        told.append("eps (hull formulations): the certified margin is at least (1 - eps) times the optimal one.")
    for name, meaning in _BESIDE.items():
        oracles = dict.fromkeys(
            str(each["oracle"]) for row in rows for each in row.said(name) if not each.get("reason")
        )
        told += [f"{meaning} It was solved by {', '.join(oracles)}."] if oracles else []
    if blind := _names(row for row in rows if row.measured and not row.values("kernel_evaluations")):
        told.append(f"kernel evals -: not observable. {blind} computes kernel values out of the harness's sight.")
    stored = any(record.get("reused") for row in rows for record in row.records)
    return [*told, *_compilation(rows), *([_STORED] if stored else [])]


RANKING = (
    "Rows with a failed run are not ranked. Costs (seconds, kernel evals, core set) are ranked if all runs had the same "
    "target gap. CPU seconds are ranked if every run had one thread and waited for nothing, else wall seconds. A single run can be "
    f"off by a factor of {ONE_RUN:g}, test % by its 95 % interval. Costs, gap and KKT are ranked within a problem, test "
    "figures within a data set. Objectives are never ranked. A range holds the ratio on every problem: of times by a 95 % interval "
    "that stays right however often runs are added, of other figures by least and greatest run, or 95 % intervals from 6 runs on."
)
_STORED = "Runs from the store are of the same code, data and machine. --fresh measures them again."
_MEANINGS = {
    "cpu_seconds": "CPU seconds: of the processor, in the solver alone. Compilation is done before, certificates and tests after.",
    "fit_seconds": "wall seconds: by the clock, in the solver alone.",
    "kernel_evaluations": "kernel evals: every kernel value that the solver asked for, counted by the harness.",
    "core_set_size": "core set: training points with a coefficient (support vectors), counted by the harness.",
    "relative_gap": "rel gap: the objective is at most this fraction above the optimum. The harness computes it from the "
    "coefficients and all training points.",
    "kkt_violation": "KKT: the largest violation of the optimality conditions.",
    "test_accuracy": "test %: share of the test points that the model predicts right.",
    "working_set_size": "working set: points over which the last model was optimised, as the solver says.",
}
"""Figure of a column -> what it means."""

_BESIDE = {
    "core_set": "core ratio: at least the margin of all points over that of the support alone.",
}
"""What another solver computed beside a run: field of the record -> what its columns mean."""


_CLOCKS = ("fit_seconds", "cpu_seconds")


def _names(rows: Iterable[Row]) -> str:
    return ", ".join(dict.fromkeys(row.name for row in rows))


def _formulations(rows: Sequence[Row], shown: Sequence[Measure]) -> list[str]:
    """Say who solved which formulation where they differ, and how their parameters correspond."""
    solved: dict[str, list[Row]] = {}
    for row in rows:
        if row.measured:
            solved.setdefault(row.formulation, []).append(row)
    if len(solved) < 2:
        return []
    told = []
    for formulation, own in solved.items():
        values = [row.first.get("problem_parameters") or {} for row in own]
        same = [
            f"{other} = {name}"
            for name, other in formulation_of(formulation).stand_ins().items()
            if all(each.get(other) in (None, each.get(name)) for each in values)
        ]
        solvers = list(dict.fromkeys(str(row.first.get("solver")) for row in own))
        verb = "solves" if len(solvers) == 1 else "solve"
        told.append(f"{', '.join(solvers)} {verb} {formulation}{' with ' if same else ''}{', '.join(same)}")
    objectives = ", objectives" if any(each.figure == "primal" for each in shown) else ""
    return [f"{'; '.join(told)}: do not compare their gaps{objectives} and KKT."]


_MISSES = 0.1  # of the rows computed: fewer that were computed again are not worth a sentence


def _small_caches(groups: Sequence[Group]) -> list[str]:
    """Say which solvers computed many rows again for lack of memory, and how much would have held them."""
    found = []
    for group in groups:
        for row in group.rows:
            short = [each for each in row.measured if _misses_many(each)]
            if not short:
                continue
            worst = max(short, key=lambda each: float(each["cache_needed_mb"]))
            own = (worst.get("parameters") or {}).get("cache_mb")
            given, needed = own or worst.get("cache_mb") or 0.0, f"{math.ceil(worst['cache_needed_mb']):g}"
            remedy = f"{worst.get('solver')}[cache_mb={needed}]" if own else f"--cache-mb {needed}"
            found.append(
                f"{row.name} on {short_name(group.dataset)}: {int(worst['cache_misses']):,} kernel rows were computed again, as "
                f"the row cache of {given:g} MB was too small; {remedy} would have held them."
            )
    return list(dict.fromkeys(found))


def _misses_many(record: Record) -> bool:
    """Return whether a run computed more than a tenth of its kernel rows again, for lack of memory."""
    misses, n, values = (record.get(name) or 0 for name in ("cache_misses", "n_train", "kernel_evaluations"))
    return bool(record.get("cache_needed_mb") and misses * n > _MISSES * values)


def _uncertain(rows: Sequence[Row]) -> list[str]:
    """Say why a figure is missing, a bound, undecided or not the solver's own, and what went wrong beside a run."""
    found = []
    if shared := _names(row for row in rows if timing.disturbed(row.measured, *map(row.median, _CLOCKS))):
        found.append(f"The machine was busy: wall time is over {timing.DISTURBED:g} times CPU time for {shared}.")
    if waiting := _names(row for row in rows if any(map(waited, row.measured))):
        found.append(
            f"Wall time is ranked: {waiting} waited for something else (a process, a device, a server, a disk)."
        )
    if partly := _names(row for row in rows if row.said("evaluations_at_least")):
        found.append(
            f"kernel evals ≥: {partly} took the points. What it computed from them is not counted, so it is not ranked."
        )
    found += [
        f"{row.name}: {told}, so state may have leaked between runs; its costs are not ranked."
        for row in rows
        if (told := row.differing)
    ]
    ended = [(row, [each.get("stopped_by") == StoppedBy.TARGET for each in row.measured]) for row in rows]
    if told := ", ".join(f"{sum(by)} of {len(by)} runs of {row.name}" for row, by in ended if 0 < sum(by) < len(by)):
        found.append(f"The host stopped {told} at the target gap, so their gaps and counts differ from the others'.")
    undecided = (f"gap ?: {row.name}: {_plain(why)}" for row in rows for why in row.said("undecidable"))
    faults = (_plain(fault) for row in rows for record in row.records for fault in record.get("faults") or [])
    missing = (
        f"no {meaning.partition(':')[0]}: {_plain(each['reason']).rstrip('.')}."
        for name, meaning in _BESIDE.items()
        for row in rows
        for each in row.said(name)
        if each.get("reason")
    )
    return [*found, *dict.fromkeys((*undecided, *faults, *missing))]


def _loose(groups: Sequence[Group]) -> list[str]:
    """Say where runs stopped that had no common target."""
    rivals = [row for group in groups for unit in group.units for row in unit.loose]
    gaps = sorted(median(values) for row in rivals if (values := row.values("relative_gap")))
    if not rivals:
        return []
    ends = f"the runs stopped at gaps {figures.span(figures.gap(gaps[0]), figures.gap(gaps[-1]))}" if gaps else ""
    return [f"Costs are not ranked: {ends or 'each solver stops by its own rule'}."]


def _compilation(rows: Sequence[Row]) -> list[str]:
    spent: dict[str, list[float]] = {}
    for row in rows:
        values = [value for value in row.values("compile_seconds") if value >= 0.05]
        if values:
            spent.setdefault(str(row.first.get("solver")), []).extend(values)
    told = ", ".join(f"{solver} {figures.seconds(median(values))} s" for solver, values in spent.items())
    return [f"Warm-up and compilation, not part of the seconds (median): {told}."] if told else []


def of_machines(records: Sequence[Record]) -> list[str]:
    """Say how many classes of machines there were, and which, if there were several."""
    classes = machines(records)
    if len(classes) < 2:
        return []
    known = {each["id"]: each for record in records if (each := record.get("machine") or {}).get("id")}
    found = [(on[:6], known.get(on, {})) for on in classes]
    about = ", ".join(
        f"{on} ({each.get('declared') or each.get('processor')}, {each.get('cores')} cores)" for on, each in found
    )
    return [f"{len(classes)} classes of machines: {about}. Runs are compared within one."]


def of_reuse(records: Sequence[Record]) -> list[str]:
    """Say which runs were measured earlier, and when."""
    reused = [record for record in records if record.get("reused")]
    if not reused:
        return []
    share = "All runs" if len(reused) == len(records) else f"†: {len(reused)} of {len(records)} runs"
    return [f"{share} are from the store, measured {measured_span(reused)}."]


def measured_span(records: Sequence[Record]) -> str:
    """Return ``2026-05-01 12:00 UTC`` or the first and last of several."""
    times = sorted(str(record["measured_at"]) for record in records if record.get("measured_at"))
    if not times:
        return "at an unknown time"
    return f"{figures.span(moment(times[0]), moment(times[-1]))} UTC"


def moment(iso: str) -> str:
    """Return an ISO time to the minute: ``2026-05-01 12:00``."""
    return iso[:16].replace("T", " ")
