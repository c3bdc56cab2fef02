"""``harness results``: what the store holds, newest first."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import click

from harness.cli import names, options, values
from harness.cli.say import say
from harness.errors import UsageError
from harness.run.record import Record, Status

_OLDER = "each run as it was measured last; {} older measurement{} of the same runs left out."


@click.command("results", short_help="Show the results of earlier comparisons.")
@click.option("--store", **options.STORE)
@click.option(
    "--plugins", type=values.LABELS, shell_complete=names.solvers, help="Only these: plugins, solvers or labels."
)
@click.option("--datasets", type=values.LABELS, shell_complete=names.listed("datasets"), help="Only these data sets.")
@click.option("--status", type=values.NAMES, help=f"Only these: {', '.join(Status)}.")
@click.option("--cells", is_flag=True, help="The cells of paths too; files other than tables have them all.")
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
    from harness.report.rows import is_cell, newest
    from harness.run.store import existing

    target = output.checked_output(given["output"])
    _check_statuses(given["status"])
    named = given["format_"]
    certain = formats.meant_by(target, {}) or target is None if named is None else named in formats.BUILTIN
    added = {} if certain else loading.registry().report_formats
    form = formats.chosen(named, target, added)
    output.warn_of_suffix(target, named, added)
    with existing(given["store"]) as store:
        everything = list(store.records())[::-1]
    for sentence in store.damaged.values():
        say(f"note: {sentence}")
    if not given["cells"] and form in formats.OF_RUNS:
        everything = [record for record in everything if not is_cell(record)]
    last, older = newest(chosen(everything, given["plugins"], given["datasets"]))
    records = [record for record in last if _fits(given["status"], str(record.get("status")))][: given["limit"]]
    if not records:
        say(f"note: {_nothing(everything, given)}")
    content = formats.render(
        form,
        records,
        added=added,
        width=output.width(),
        styled=target is None and output.styled(),
        dated=True,
        remarks=[_OLDER.format(older, "" if older == 1 else "s")] if older else [],
    )
    output.deliver(content, target)


def _check_statuses(patterns: Sequence[str] | None) -> None:
    for pattern in patterns or []:
        if not any(_fits([pattern], status) for status in Status):
            raise UsageError(f"--status: there is no status '{pattern}'; the statuses are {', '.join(Status)}.")


def _nothing(everything: Sequence[Record], given: Mapping[str, Any]) -> str:
    """Say what was asked for, none of which the store holds, and what there is."""
    if not everything:
        return "the store holds no runs yet; `harness compare` measures some."
    asked = {name: given[name] for name in ("plugins", "datasets", "status") if given[name]}
    fields = {"plugins": ("plugin", "solver"), "datasets": ("dataset",), "status": ("status",)}
    there = {field: {str(record.get(field)) for record in everything} for name in asked for field in fields[name]}
    options = " ".join(f"--{name} {','.join(patterns)}" for name, patterns in asked.items())
    known = "; ".join(f"{field} {', '.join(sorted(found))}" for field, found in there.items())
    return f"no run fits {options}. The store holds {len(everything):,} with {known}."


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
