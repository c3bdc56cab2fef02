"""Which of the steps that asv finds in the times are told: those where the samples before and after are apart.

asv looks for steps in medians alone. On a machine that does other work a median moves by a third, while its samples lie
where they lay; what `interval` and `apart` call the same is no change.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from asv.graph import Graph
from asv.results import iter_results

from harness.report.figures import is_number
from harness.report.noise import apart, interval

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Entry = list[Any]
"""asv's: name, path of the graph, its parameters, place of the cell, newest and best value, and the steps
``[revision before or None, revision after, value before, value after]``."""
Step = tuple[int | None, int]
"""The places in the history of the commits before and after; None: the one just before."""
Span = tuple[float, float]


class Samples:
    """The samples of the timed benchmarks at every commit.

    results : the folder of asv's results
    benchmarks : as asv describes them
    revisions : commit -> its place in the history
    """

    def __init__(self, results: Path, benchmarks: Mapping[str, Any], revisions: Mapping[str, int]) -> None:
        self.cells = {name: each["params"] for name, each in benchmarks.items() if each["type"] == "time"}
        self._results = (
            [each for each in iter_results(str(results)) if each.commit_hash in revisions] if self.cells else []
        )
        self._places = [revisions[each.commit_hash] for each in self._results]
        self._read: dict[tuple[int, str], list[Span | None]] = {}

    def bear_out(self, name: str, parameters: Mapping[str, Any], cell: int, step: Step) -> bool:
        """Whether the samples on both sides of a step are apart, or nothing is known of one; ``parameters`` of the graph."""
        before, after = step
        fitting = [i for i, each in enumerate(self._results) if _same(each.params, parameters)]
        spans = {self._places[i]: span for i in fitting if (span := self._spans(i, name)[cell])}
        if before is None:
            before = max((place for place in spans if place < after), default=-1)
        return before not in spans or after not in spans or apart(spans[before], spans[after])

    def _spans(self, i: int, name: str) -> list[Span | None]:
        if (i, name) not in self._read:
            results, params = self._results[i], self.cells[name]
            if name in results.get_all_result_keys():
                columns = (
                    getattr(results, f"get_result_{what}")(name, params) for what in ("value", "samples", "stats")
                )
                self._read[i, name] = [_span(*told) for told in zip(*columns, strict=True)]
            else:
                self._read[i, name] = [None] * math.prod(map(len, params))
        return self._read[i, name]


def _same(told: Mapping[str, Any], parameters: Mapping[str, Any]) -> bool:
    """Whether results are of a graph; its branch is none of theirs."""
    return all((told.get(name) or "") == (value or "") for name, value in parameters.items() if name != "branch")


def _span(value: Any, samples: Sequence[float] | None, stats: Mapping[str, Any] | None) -> Span | None:
    """Return where the median of a cell's samples lies; None if it was not measured."""
    if samples:
        return interval(samples, noisy=True)
    if stats and is_number(low := stats.get("ci_99_a")) and is_number(high := stats.get("ci_99_b")):
        return low, high
    return interval([value], noisy=True) if is_number(value) else None


def believed(entries: Sequence[Entry], samples: Samples, graphs: Mapping[str, Mapping[str, Any]]) -> list[Entry]:
    """Return asv's regressions without the steps that the samples do not bear out; ``graphs`` has the parameters by path."""
    kept = []
    for *entry, steps in entries:
        name, path, cell = str(entry[0]).partition("(")[0], entry[1], entry[3] or 0
        if name in samples.cells:
            steps = [step for step in steps if samples.bear_out(name, graphs[path], cell, (step[0], step[1]))]
        if steps:
            kept.append([*entry, steps])
    return kept


def settle_summary(site: Path, samples: Samples, parameters: Mapping[str, Any]) -> None:
    """Take changes that the samples do not bear out from asv's list of the benchmarks; ``parameters`` of the graphs of one list."""
    file = site / f"{Graph.get_file_path(parameters, 'summary')}.json"
    rows = json.loads(file.read_bytes())
    for row in rows:
        changed = row["change_rev"]
        timed = changed and row["name"] in samples.cells
        if timed and not samples.bear_out(row["name"], parameters, row["idx"] or 0, (changed[0], changed[1])):
            row.update(change_rev=None, prev_value=None)
    file.write_text(json.dumps(rows, separators=(",", ":")))
