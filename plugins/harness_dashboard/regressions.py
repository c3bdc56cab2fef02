"""Which of the steps that asv finds in the times are told: those where the samples before and after are apart.

asv looks for steps in medians alone. On a machine that does other work a median moves by a third, while its samples lie
where they lay; what `interval` and `apart` call the same is no regression.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from asv.results import iter_results

from harness import apart, interval, is_number

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

Entry = list[Any]
"""asv's: name, path of the graph, its parameters, place of the cell, newest and best value, and the steps
``[revision before or None, revision after, value before, value after]``."""


def believed(
    entries: Iterable[Entry], results: Path, benchmarks: Mapping[str, Any], graphs: Mapping[str, Any], revisions: Mapping[str, int]
) -> list[Entry]:  # fmt: skip
    """Return asv's entries without the steps of times where the samples of both sides overlap, and none that has no other.

    Parameters
    ----------
    results : the folder of asv's results
    benchmarks : as asv describes them
    graphs : path of a graph -> its parameters
    revisions : commit -> its place in the history
    """
    found = list(entries)
    timed = {str(entry[0]).partition("(")[0] for entry in found}
    timed = {name for name in timed if name in benchmarks and benchmarks[name]["type"] == "time"}
    if not timed:
        return found
    measured: dict[str, list[tuple[int, Mapping[str, Any], Any]]] = {name: [] for name in timed}
    for each in iter_results(str(results)):
        for name in timed.intersection(each.get_all_result_keys()):
            if each.commit_hash in revisions:
                measured[name].append((revisions[each.commit_hash], each.params, each))
    kept = []
    for entry in found:
        name, path, _, cell, _, _, steps = entry
        name = str(name).partition("(")[0]
        if name in timed:
            parameters, of = graphs[path], benchmarks[name]["params"]
            fitting = [(revision, each) for revision, told, each in measured[name] if _same(told, parameters)]
            spans = {revision: span for revision, each in fitting if (span := _interval(each, name, of, cell or 0))}
            steps = [step for step in steps if _apart(step, spans)]
        if steps:
            kept.append([*entry[:-1], steps])
    return kept


def _same(told: Mapping[str, Any], parameters: Mapping[str, Any]) -> bool:
    """Whether results are of a graph; its branch is none of theirs."""
    return all((told.get(name) or "") == (value or "") for name, value in parameters.items() if name != "branch")


def _interval(results: Any, name: str, params: Sequence[Sequence[str]], cell: int) -> tuple[float, float] | None:
    """Return where the median of a cell's samples lies; None if it was not measured."""
    samples, stats, values = (
        getattr(results, f"get_result_{what}")(name, params)[cell] for what in ("samples", "stats", "value")
    )
    if samples:
        return interval(samples, noisy=True)
    if stats and is_number(low := stats.get("ci_99_a")) and is_number(high := stats.get("ci_99_b")):
        return low, high
    return interval([values], noisy=True) if is_number(values) else None


def _apart(step: Sequence[Any], spans: Mapping[int, tuple[float, float]]) -> bool:
    """Whether the samples of the commit after a step are apart from those of the one before; so if either has none."""
    before, after = step[0], step[1]
    if before is None:  # asv leaves it out where one commit lies between
        before = max((revision for revision in spans if revision < after), default=None)
    return before not in spans or after not in spans or apart(spans[before], spans[after])
