"""``harness results``: what the store holds, newest first."""

from __future__ import annotations

import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli import names, options, values

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from harness.run.study import Record

_WHOLE = (
    "seed", "repetition", "kernel_evaluations", "cache_hits", "iterations", "support_vectors", "core_set_size",
    "peak_rss_bytes", "oracle_calls", "oracle_kernel_evaluations", "n_train", "n_features", "n_test", "threads",
)  # fmt: skip


@click.command("results", short_help="Show the results of earlier comparisons.")
@click.option("--store", **options.STORE)
@click.option(
    "--plugins", type=values.LABELS, shell_complete=names.solvers, help="Only these: plugins, solvers or labels."
)
@click.option("--datasets", type=values.LABELS, shell_complete=names.listed("datasets"), help="Only these data sets.")
@click.option("--status", type=values.NAMES, help="Only these statuses: ok, timeout ...")
@click.option("--limit", type=values.COUNT, help="At most so many runs, the newest.")
@click.option("--format", "format_", **options.FORMAT)
@click.option("--output", **options.OUTPUT)
def command(**given: Any) -> None:
    """Show what the store holds of earlier comparisons, newest first.

    The filters take lists of names with * and ?, for example --plugins 'lasvm*,fw'. A run that was measured
    several times is shown as it was measured last; what another version of the code measured is a row of its own.
    """
    from harness.cli import loading, output
    from harness.report import formats
    from harness.run.store import default_store, read_results

    target = output.checked(given["output"])
    added = {} if given["format_"] in (None, *formats.BUILTIN) else loading.registry().report_formats
    form = formats.chosen(given["format_"], target, added)
    path = Path(given["store"]) if given["store"] else default_store()
    everything = [known(record) for record in reversed(read_results(path).to_dict("records"))]
    records = chosen(everything, given["plugins"], given["datasets"], given["status"])[: given["limit"]]
    text = formats.render(
        form, records, added=added, width=output.width(), styled=target is None and output.styled(), dated=True
    )
    output.deliver(text, target)


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
    statuses: Sequence[str] | None,
) -> list[Record]:
    """Return the records that the filters let through, of each run only the first."""
    found: dict[str, Record] = {}
    for record in records:
        solver, label, plugin = (str(record.get(name)) for name in ("solver", "label", "plugin"))
        dataset = str(record.get("dataset"))
        if not _fits(plugins, label, solver, plugin, f"{plugin}/{solver}"):
            continue
        if _fits(datasets, dataset, dataset.partition("[")[0]) and _fits(statuses, str(record.get("status"))):
            found.setdefault(str(record.get("key")), record)
    return list(found.values())


def _fits(patterns: Sequence[str] | None, *texts: str) -> bool:
    if patterns is None:
        return True
    return any(text == pattern or fnmatch.fnmatchcase(text, pattern) for pattern in patterns for text in texts)
