"""Repetitions that are added to a study, in turns, until the fastest solvers of each problem are known."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence

from harness.measure.outcome import Status
from harness.measure.repetition import CLOCKS, clock_of, times, undecided
from harness.run.messages import RunSpec
from harness.run.record import Record

MOST = 20  # repetitions
_SECONDS = 30.0  # seconds in the solvers, of all runs of a problem, beyond which none is added


def due(specs: Sequence[RunSpec], records: Mapping[int, Record]) -> list[int]:
    """Return the runs, one of each seed and solver, that are to be repeated once more; none if nothing is left to learn.

    specs : all runs, with those that were added
    records : of all runs, by index; see `harness.measure.repetition` for what is learnt from their times
    """
    # runs of a problem by solver, in the order of their repetitions
    problems: dict[tuple[str, str, str], dict[str, list[int]]] = {}
    for index, spec in enumerate(specs):
        if spec.kernel and spec.path is None and not (spec.skip_reason or spec.broken_reason):
            rival = json.dumps([spec.plugin, spec.label, spec.parameters], default=str)
            problems.setdefault(_problem(spec), {}).setdefault(rival, []).append(index)
    contested = sorted((problem, rivals) for problem, rivals in problems.items() if len(rivals) > 1)
    comparisons = max(Counter(formulation for (_, formulation, _), _ in contested).values(), default=1)
    return [index for _, rivals in contested for index in _of(rivals, specs, records, comparisons)]


def _of(
    rivals: Mapping[str, list[int]], specs: Sequence[RunSpec], records: Mapping[int, Record], comparisons: int
) -> list[int]:
    """Return the runs of one problem that are to be repeated; a problem that has none will have none later."""
    runs = {rival: [records[index] for index in indices] for rival, indices in rivals.items()}
    able = {rival: of for rival, of in runs.items() if {run.status for run in of} <= {Status.OK, Status.BUDGET}}
    figure = CLOCKS[clock_of([run for of in able.values() for run in of])]
    found = {rival: times(of, figure) for rival, of in able.items()}
    if not all(len(of) == len(able[rival]) and min(of) > 0.0 for rival, of in found.items()):
        return []
    open_ = undecided(found, comparisons)
    last = {rival: specs[rivals[rival][-1]].repetition for rival in open_}
    candidates = ((rival, index) for rival in open_ for index in rivals[rival])
    again = [index for rival, index in candidates if specs[index].repetition == last[rival] < MOST - 1]
    spent = sum(float(run.get("fit_seconds") or 0.0) for of in runs.values() for run in of)
    spent += sum(float(records[index].get("fit_seconds") or 0.0) for index in again)
    # who is measured first in one repetition is the last one in the next
    return sorted(again, reverse=max(last.values(), default=0) % 2 == 0) if spent <= _SECONDS else []


def _problem(spec: RunSpec) -> tuple[str, str, str]:
    """Return what the runs that compare have in common: the data, the formulation, and all else as text."""
    stated = [spec.problem_parameters, spec.kernel, spec.kernel_parameters, spec.dataset, spec.limits.target_gap]
    return spec.data_key, spec.formulation, json.dumps(stated, sort_keys=True, default=str)
