"""Repetitions that are added to a study, in turns, until the fastest solvers of each problem are known."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from harness.measure.outcome import Status
from harness.measure.repetition import CLOCKS, clock_of, times, undecided
from harness.run.messages import RunSpec
from harness.run.record import Record

MOST = 20  # repetitions
_SECONDS = 30.0  # seconds in the solvers, of all runs of a problem, beyond which none is added


class Repeats:
    """The repetitions of a study; after each the times are looked at, see `harness.measure.repetition`.

    specs : the runs, the driver's list, to which it appends what is added
    """

    def __init__(self, specs: Sequence[RunSpec]) -> None:
        self.specs, self._known = specs, 0
        # runs of a problem by solver, in the order of their repetitions
        self._problems: dict[tuple[str, str, str], dict[str, list[int]]] = {}
        self._open = set[tuple[str, str, str]]()
        self._comparisons = 1

    def due(self, records: Mapping[int, Record]) -> list[int]:
        """Return the runs, one of each seed and solver, that are to be repeated once more; none if nothing is left to learn.

        records : of all runs
        """
        for index in range(self._known, len(self.specs)):
            spec = self.specs[index]
            if spec.kernel and spec.path is None and not (spec.skip_reason or spec.broken_reason):
                problem, rival = _problem(spec), json.dumps([spec.plugin, spec.label, spec.parameters], default=str)
                self._problems.setdefault(problem, {}).setdefault(rival, []).append(index)
        if not self._known:
            self._open = {problem for problem, rivals in self._problems.items() if len(rivals) > 1}
            of_formulation = Counter(formulation for _, formulation, _ in self._open)
            self._comparisons = max(of_formulation.values(), default=1)
        self._known = len(self.specs)
        found = {problem: self._of(self._problems[problem], records) for problem in sorted(self._open)}
        self._open = {problem for problem, runs in found.items() if runs}
        return [index for runs in found.values() for index in runs]

    def _of(self, rivals: Mapping[str, list[int]], records: Mapping[int, Record]) -> list[int]:
        runs = {rival: [records[index] for index in indices] for rival, indices in rivals.items()}
        able = {rival: of for rival, of in runs.items() if {run.status for run in of} <= {Status.OK, Status.BUDGET}}
        figure = CLOCKS[clock_of([run for of in able.values() for run in of])]
        found = {rival: times(of, figure) for rival, of in able.items()}
        if not all(len(of) == len(able[rival]) and min(of) > 0.0 for rival, of in found.items()):
            return []
        open_ = undecided(found, self._comparisons)
        last = {rival: self.specs[rivals[rival][-1]].repetition for rival in open_}
        candidates = ((rival, index) for rival in open_ for index in rivals[rival])
        again = [index for rival, index in candidates if self.specs[index].repetition == last[rival] < MOST - 1]
        spent = sum(float(run.get("fit_seconds") or 0.0) for of in runs.values() for run in of)
        spent += sum(float(records[index].get("fit_seconds") or 0.0) for index in again)
        # who is measured first in one repetition is the last one in the next
        return sorted(again, reverse=max(last.values(), default=0) % 2 == 0) if spent <= _SECONDS else []

    def added(self, indices: Sequence[int]) -> list[RunSpec]:
        """Return the next repetitions of runs."""
        specs = [self.specs[index] for index in indices]
        return [replace(spec, repetition=spec.repetition + 1) for spec in specs]


def _problem(spec: RunSpec) -> tuple[str, str, str]:
    """Return what the runs that compare have in common: the data, the formulation, and all else as text."""
    stated = [spec.problem_parameters, spec.kernel, spec.kernel_parameters, spec.dataset, spec.limits.target_gap]
    return spec.data_key, spec.formulation, json.dumps(stated, sort_keys=True, default=str)
