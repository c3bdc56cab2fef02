"""Collect the figures of each cell at every commit of a machine and environment, and the changes at the commits."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Any

from harness_dashboard.commits import SHOWN
from harness_dashboard.history import digits
from harness_dashboard.numbers import figure, rounded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness import Record
    from harness_dashboard.records import RecordFile

FIGURES = (
    "fit_seconds", "cpu_seconds", "kernel_evaluations", "core_set_size", "test_error", "digits", "peak_rss_bytes",
)  # fmt: skip


def series(files: Sequence[RecordFile]) -> dict[str, Any] | None:
    """Return the figures by commit, the oldest first; None for fewer than two commits.

    ``cells`` are pairs of a solver and a data set; ``figures`` has for each of `FIGURES` a list for each cell.
    ``changes`` are those of the newest commit; ``earlier`` has those of the earlier commits, the newest first.
    """
    ordered = sorted(files, key=lambda file: (file.commit_time or 0, file.measured_at))
    if len({file.commit for file in ordered}) < 2:
        return None
    of_files = [file.cells() for file in ordered]
    cells = sorted({cell for runs_of in of_files for cell in runs_of})
    newest = ordered[-1]
    return {
        "commits": [file.commit[:SHOWN] for file in ordered],
        "cells": cells,
        "figures": {
            name: [[_median(runs_of.get(cell, []), name) for runs_of in of_files] for cell in cells] for name in FIGURES
        },
        "changes": newest.changes,
        "against": (newest.against or "")[:SHOWN],
        "earlier": [
            {"commit": file.commit[:SHOWN], "against": (file.against or "")[:SHOWN], "changes": file.changes}
            for file in ordered[-2::-1]
            if file.changes
        ],
    }


def _median(runs: Sequence[Record], name: str) -> float | None:
    """Return the median of a figure over the runs that did not fail."""
    measured = [run for run in runs if run.measured and not run.failed]
    values = [digits(run.get("relative_gap")) if name == "digits" else figure(run, name) for run in measured]
    numbers = [value for value in values if value is not None]
    return rounded(median(numbers)) if numbers else None
