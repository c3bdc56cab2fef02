"""The sentences under a table: what a reader must know, and what ``--explain`` adds."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from statistics import median

from harness.measure.repetition import ONE_RUN, waited
from harness.report import figures, timing
from harness.report.measures import Measure
from harness.report.rows import Group, Row, formulation_of, machines, short_name
from harness.run.dual_bounds import lacks_gap, solvers_with_dual
from harness.run.record import Record

RANKING = (
    "Rows with a failed run are not ranked. Costs (seconds, kernel evals, core set), gap and KKT are ranked within a problem, and "
    "costs only if all runs had the same target gap; test figures are ranked within a data set. CPU seconds rank if every run had "
    f"one thread and waited for nothing, else wall seconds. A single run can be off by a factor of {ONE_RUN:g}, test % by its "
    "95 % interval. A range holds the ratio on every problem: of times by a 95 % interval that stays right however often "
    "runs are added, of other figures by least and greatest run, or 95 % intervals from 6 runs on."
)
_INSIDE = "in the solver alone, without compilation, certificates and tests; below 0.5 s those of later fits in the same process."
_MEANINGS = {
    "CPU seconds": f"of the processor, {_INSIDE}",
    "wall seconds": f"by the clock, {_INSIDE}",
    "kernel evals": "kernel values that the solver computed, counted by the harness; -: it computes them by itself.",
    "core set": "training points with a coefficient (support vectors).",
    "rel gap": "the objective is at most this fraction above the optimum, computed by the harness from the coefficients.",
    "subopt": "the objective is at most this fraction above the optimum, by the best certified dual value of the same problem.",
    "KKT": "the largest violation of the optimality conditions.",
    "eps": "the margin is at least (1 - eps) times the best.",
    "KKT /eps": "the largest violation of the optimality conditions; of hulls, the margin is at least (1 - eps) times the best.",
    "test %": "share of the test points that the model predicts right.",
    "working set": "points over which the last model was optimised, according to the solver.",
    "core ratio": "at least the margin of all points over that of the core set alone.",
}  # fmt: skip
_ROW_NOTES: dict[str, Callable[[Row], object]] = {
    f"The machine was busy: wall time is over {timing.DISTURBED:g} times CPU time for {{}}.":
        lambda row: timing.disturbed(row.measured, row.median("fit_seconds"), row.median("cpu_seconds")),
    "Wall time is ranked: {} waited for something else (a process, a device, a server, a disk).":
        lambda row: any(map(waited, row.measured)),
    "kernel evals ≥: {} took the points. What it computed from them is not counted, so it is not ranked.":
        lambda row: row.entries("evaluations_at_least"),
}  # fmt: skip
"""A sentence on some rows -> whether a row is one of them."""
_MISSES = 0.1  # share of the kernel rows; fewer that were computed again are not worth a sentence


def notes(groups: Sequence[Group]) -> list[str]:
    """Return what a reader must know beside the reasons of failures: what is not ranked, a bound, undecided or disturbed."""
    rows = [row for group in groups for row in group.rows]
    records = [record for row in rows for record in row.records]
    about = {text: dict.fromkeys(row.name for row in rows if holds(row)) for text, holds in _ROW_NOTES.items()}
    found = [
        *_formulations(rows),
        *(note for group in groups for row in group.rows for note in _small_cache(row, group)),
        *(text.format(", ".join(names)) for text, names in about.items() if names),
        *(f"{row.name}: {row.differing}, so state may have leaked between runs; its costs are not ranked."
          for row in rows if row.differing),
        *_duals(rows),
        *(f"gap ?: {row.name}: {why}" for row in rows for why in row.entries("undecidable")),
        *_faults(rows),
        *_undeclared(records),
        *(f"no core ratio: {each['reason'].rstrip('.')}." for row in rows for each in row.entries("core_set") if each.get("reason")),
        *_loose(groups),
        *of_machines(records),
        *of_code(records),
        *of_reuse(records),
    ]  # fmt: skip
    return list(dict.fromkeys(" ".join(note.split()) for note in found))


def explained(rows: Sequence[Row]) -> list[str]:
    """Return how rows are ranked and what stands for several runs; the columns explain themselves (`meaning`)."""
    counts = sorted({len(row.records) for row in rows})
    runs = figures.span(str(counts[0]), str(counts[-1]))
    medians = f"Figures are medians over {runs} runs (seeds and repetitions). ± is half the range of the seconds."
    return [RANKING, *([medians] if counts[-1] > 1 else [])]


def meaning(measure: Measure) -> str:
    """Return what a column shows, a sentence that begins with its title; empty if nobody declared it."""
    title = " ".join(measure.title.split())
    return measure.meaning or (f"{title}: {_MEANINGS[title]}" if title in _MEANINGS else "")


def _formulations(rows: Sequence[Row]) -> Iterable[str]:
    """Yield who solved which formulation where they differ."""
    solvers: dict[str, dict[str, None]] = {}
    for row in rows:
        if row.measured:
            solvers.setdefault(row.formulation, {})[str(row.first.get("solver"))] = None
    if len(solvers) > 1:
        parts = (f"{', '.join(who)} solve{'s' * (len(who) == 1)} {what}" for what, who in solvers.items())
        yield f"{'; '.join(parts)}: do not compare their gaps and KKT."


def _duals(rows: Sequence[Row]) -> Iterable[str]:
    """Yield whose duals give a suboptimality, and which solvers would give one to rows that have none."""
    from harness.registry.discovery import shared_registry

    if used := sorted({str(of) for row in rows if row.borrows_dual for of in row.entries("best_dual_of")}):
        yield f"subopt: with the dual of {'; '.join(used)}."
    lacking: dict[str, dict[str, None]] = {}
    for row in rows:
        if any(lacks_gap(record) and record.get("best_dual") is None for record in row.measured):
            lacking.setdefault(row.formulation, {})[row.name] = None
    for formulation, names in lacking.items():
        if able := solvers_with_dual(formulation_of(formulation), shared_registry()):
            offered = f"add {' or '.join(able)} to --plugins"
            yield f"{', '.join(names)}: no dual bound of this problem is known; {offered}."


def _small_cache(row: Row, group: Group) -> Iterable[str]:
    """Yield how many rows were computed again for lack of memory, if they are many, and how much holds them."""
    short = [each for each in row.measured if each.get("cache_needed_mb")]
    worst = max(short, key=lambda each: float(each["cache_needed_mb"]), default=Record())
    misses, n, values = (worst.get(name) or 0 for name in ("cache_misses", "n_train", "kernel_evaluations"))
    if misses * n > _MISSES * values:
        of_solver = (worst.get("parameters") or {}).get("cache_mb")
        needed = f"{math.ceil(worst['cache_needed_mb']):g}"
        remedy = f"{worst.get('solver')}[cache_mb={needed}]" if of_solver else f"--cache-mb {needed}"
        again = f"{row.name} on {short_name(group.dataset)}: {misses:,} kernel rows were computed again"
        cache = f"the row cache of {of_solver or worst.get('cache_mb') or 0.0:g} MB"
        yield f"{again}, as {cache} was too small; {remedy} holds them."


def _faults(rows: Sequence[Row]) -> Iterable[str]:
    """Yield what failed beside a run, and in which rows."""
    names: dict[str, dict[str, None]] = {}
    for row in rows:
        for fault in (fault for record in row.records for fault in record.get("faults") or ()):
            names.setdefault(str(fault), {})[row.name] = None
    yield from (f"{', '.join(where)}: {fault}" for fault, where in names.items())


def _undeclared(records: Sequence[Record]) -> Iterable[str]:
    """Yield which solvers used code whose changes do not make their rows stale."""
    used: dict[str, set[str]] = {}
    for record in records:
        used.setdefault(str(record.get("solver")), set()).update(record.get("undeclared") or ())
    for solver, files in used.items():
        if files:
            yield f"{solver} ran {', '.join(sorted(files))}, not named in its depends_on: a row is reused even if it changes."


def _loose(groups: Sequence[Group]) -> Iterable[str]:
    """Yield where runs stopped that had no common target."""
    rivals = [row for group in groups for unit in group.units for row in unit.loose]
    gaps = sorted(median(values) for row in rivals if (values := row.values("relative_gap")))
    if rivals:
        ends = f"the runs stopped at gaps {figures.span(figures.gap(gaps[0]), figures.gap(gaps[-1]))}" if gaps else ""
        yield f"Costs are not ranked: {ends or 'each solver stops by its own rule'}."


def of_machines(records: Sequence[Record]) -> Iterable[str]:
    """Yield which classes of machines there were, if there were several."""
    classes = machines(records)
    if len(classes) > 1:
        known = {each["id"]: each for record in records if (each := record.get("machine") or {}).get("id")}
        facts = [(each[:6], known.get(each, {})) for each in classes]
        about = [f"{at} ({on.get('declared') or on.get('processor')}, {on.get('cores')} cores)" for at, on in facts]
        yield f"{len(classes)} classes of machines: {', '.join(about)}. Runs are compared within one."


def of_code(records: Sequence[Record]) -> Iterable[str]:
    """Yield with which versions of the harness's own code rows were measured, if with several."""
    codes = dict.fromkeys(code for record in records if (code := (record.get("sources") or {}).get("harness")))
    if len(codes) > 1:
        known = ", ".join(str(code)[:6] for code in codes)
        yield f"Rows were measured with {len(codes)} versions of the harness's code ({known}). Compare within one."


def of_reuse(records: Sequence[Record]) -> Iterable[str]:
    """Yield which runs were measured earlier, and when."""
    reused = [record for record in records if record.get("reused")]
    if reused:
        share = "All runs" if len(reused) == len(records) else f"†: {len(reused)} of {len(records)} runs"
        times = sorted(str(record["measured_at"])[:16] for record in reused if record.get("measured_at")) or ["?"]
        span = figures.span(times[0], times[-1]).replace("T", " ")
        yield f"{share} are from the store, measured {span} UTC. --fresh measures them again."
