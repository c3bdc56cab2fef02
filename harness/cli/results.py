"""``harness results``: what the store holds, newest first."""

from __future__ import annotations

import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli import names, options, values
from harness.errors import UsageError
from harness.report.rows import STATUSES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from harness.run.study import Record

_WHOLE = (
    "seed", "repetition", "kernel_evaluations", "cache_hits", "iterations", "support_vectors", "core_set_size",
    "working_set_size", "peak_rss_bytes", "oracle_calls", "oracle_kernel_evaluations", "n_train", "n_features", "n_test", "threads",
    "memory_limit", "kernel_evaluation_limit", "iteration_limit",
)  # fmt: skip


@click.command("results", short_help="Show the results of earlier comparisons.")
@click.option("--store", **options.STORE)
@click.option(
    "--plugins", type=values.LABELS, shell_complete=names.solvers, help="Only these: plugins, solvers or labels."
)
@click.option("--datasets", type=values.LABELS, shell_complete=names.listed("datasets"), help="Only these data sets.")
@click.option("--status", type=values.NAMES, help=f"Only these: {', '.join(STATUSES)}.")
@click.option("--limit", type=values.COUNT, help="At most so many runs, the newest.")
@click.option("--format", "format_", **options.FORMAT)
@click.option("--output", **options.OUTPUT)
def command(**given: Any) -> None:
    """Show what the store holds of earlier comparisons, newest first.

    The filters take lists of names with * and ?, for example --plugins 'lasvm*,fw'. A run that was measured
    several times is shown as it was measured last; what another version of the code, another machine or another
    limit measured is a row of its own.
    """
    from harness.cli import loading, output
    from harness.report import formats
    from harness.report.rows import newest
    from harness.run.store import default_store, read_results

    target = output.checked(given["output"])
    _check_statuses(given["status"])
    named = given["format_"]
    certain = formats.meant_by(target, {}) or target is None if named is None else named in formats.BUILTIN
    added = {} if certain else loading.registry().report_formats
    form = formats.chosen(named, target, added)
    output.warn_of_suffix(target, named, added)
    path = Path(given["store"]) if given["store"] else default_store()
    everything = [known(record) for record in reversed(read_results(path).to_dict("records"))]
    last, older = newest(chosen(everything, given["plugins"], given["datasets"]))
    records = [record for record in last if _fits(given["status"], str(record.get("status")))][: given["limit"]]
    content = formats.render(
        form,
        records,
        added=added,
        width=output.width(),
        styled=target is None and output.styled(),
        dated=True,
        remarks=_older(older),
    )
    output.deliver(content, target)


def _check_statuses(patterns: Sequence[str] | None) -> None:
    for pattern in patterns or []:
        if not any(_fits([pattern], status) for status in STATUSES):
            raise UsageError(f"--status: there is no status '{pattern}'; the statuses are {', '.join(STATUSES)}.")


def _older(number: int) -> list[str]:
    if not number:
        return []
    told = "1 older measurement" if number == 1 else f"{number} older measurements"
    return [f"each run as it was measured last; {told} of the same runs left out."]


def known(record: dict[Any, Any]) -> Record:
    """Return a record as the runner made it: a DataFrame writes None as NaN and whole numbers as floats."""
    result: Record = {}
    for name, value in record.items():
        missing = value is None or (isinstance(value, float) and value != value)
        result[str(name)] = None if missing else int(value) if name in _WHOLE else value
    return result


def chosen(
    records: Iterable[Record],
    plugins: Sequence[str] | None,
    datasets: Sequence[str] | None,
) -> list[Record]:
    """Return the records whose solvers and data sets the filters let through."""
    found: list[Record] = []
    for record in records:
        solver, label, plugin = (str(record.get(name)) for name in ("solver", "label", "plugin"))
        dataset = str(record.get("dataset"))
        if not _fits(plugins, label, solver, plugin, f"{plugin}/{solver}"):
            continue
        if _fits(datasets, dataset, dataset.partition("[")[0]):
            found.append(record)
    return found


def _fits(patterns: Sequence[str] | None, *texts: str) -> bool:
    if patterns is None:
        return True
    return any(text == pattern or fnmatch.fnmatchcase(text, pattern) for pattern in patterns for text in texts)
