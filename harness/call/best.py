"""Which solver is best on each data set, and whether that is more than the noise of the runs."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Sequence
from statistics import median
from typing import TYPE_CHECKING, Any

from harness.report import measures
from harness.report.measures import Measure
from harness.report.rows import Group, Row, grouped, short_name, without_paths
from harness.report.timing import clocks, reached, spent
from harness.support.errors import UsageError
from harness.support.parameters import did_you_mean

if TYPE_CHECKING:
    import pandas as pd

    from harness.run.record import Record

_UNTIL = {"time": "seconds", "seconds": "seconds", "kernel_evaluations": "kernel_evaluations"}
"""Figure -> the cost in a trace, whose value at a target is known."""

_NO_TARGET = (
    "without target_gap each solver stops where its own rule says, so what they cost does not compare; ask for "
    "best(target=1e-3) or best(by='suboptimality'), or give target_gap=1e-3 to the comparison."
)


def best_of(records: Sequence[Record], by: str, target: float | None) -> pd.DataFrame:
    """Return the best by a figure of a record, see `harness.call.result.Result.best`.

    Raises
    ------
    UsageError : a figure that is not ranked, or has no target.
    """
    import pandas as pd

    datasets = grouped(without_paths(records) or records)
    rows = [row for group in datasets for row in group.rows]
    known = {measure.figure: measure for measure in measures.ranked(rows)}
    known |= {"time": measures.FIT, "seconds": measures.FIT, "support_vectors": measures.SIZE}
    if by not in known:
        raise UsageError(f"by={by!r} is no figure that is ranked{did_you_mean(by, known)}; known: {', '.join(known)}.")
    if target is not None and (by not in _UNTIL or not target > 0):
        raise UsageError(f"target={target!r} is a gap above 0, of by='time' or by='kernel_evaluations', not by={by!r}.")
    groups = [scope for group in datasets for scope in measures.scopes(known[by], group)]
    if target is None and known[by].stops and any(group.loose for group in groups):
        nothing = pd.DataFrame(columns=["dataset", "solver", by, "low", "high", "ties"])
        nothing.attrs["reason"] = _NO_TARGET
        warnings.warn(_NO_TARGET, stacklevel=3)
        return nothing
    lines = [_best(group, known[by], by, target) for group in groups]
    kernels = Counter(group.dataset for group in groups)
    distinct = len(kernels) == len({short_name(name) for name in kernels})
    for line, group in zip(lines, groups, strict=True):
        line["dataset"] = short_name(group.dataset) if distinct else group.dataset
        line["dataset"] += f" {group.kernel}" if kernels[group.dataset] > 1 else ""
    return pd.DataFrame(lines)


def _best(group: Group, measure: Measure, by: str, target: float | None) -> dict[str, Any]:
    """Return the line of a group."""
    _, of_traces = clocks([record for row in group.rows for record in row.measured])
    clock = "wall" if by == "seconds" else of_traces
    if target is None and by != "seconds":
        measure = measure.honest(group)
    values: dict[str, list[float]] = {}
    for row in group.rows:
        if found := _figures(row, measure, by, target, clock):
            values[f"{row.name} {row.problem}" if len(group.problems) > 1 else row.name] = found
    winner, *ties = measures.winners(measure, values) if values else [""]
    low, high = measure.interval(values[winner]) if values else (None, None)
    middle = median(values[winner]) if values else None
    return {"dataset": group.dataset, "solver": winner, by: middle, "low": low, "high": high, "ties": ties}


def _figures(row: Row, measure: Measure, by: str, target: float | None, clock: str) -> list[float]:
    """Return what every run of a row had in the end, or had spent when its target was certified; empty if one did not."""
    if target is None:
        return measure.ranked(row) if row.complete else []
    if row.differing:
        return []
    values = (spent(reached(record, [target]), record, _UNTIL[by], clock)[0] for record in row.measured)
    known = [value for value in values if value is not None]
    return known if len(known) == len(row.records) else []
