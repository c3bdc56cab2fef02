"""``harness results``: the runs of the store, newest first, to show, export, merge or delete."""

from __future__ import annotations

import contextlib
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.call import values
from harness.cli import options, where
from harness.cli.commands import CommandGroup
from harness.cli.options import Converted
from harness.cli.verify import export
from harness.report.output import results_alone, say, show
from harness.support.errors import UsageError

if TYPE_CHECKING:
    from harness.run.store import StoreReader

_OLDER = "the newest measurement of each run; {} older measurement{} left out (--all shows them)."
_HELP = """\
Show the runs of earlier comparisons, newest first.

\b
  harness results --plugins 'lasvm*,fw' --limit 20
  harness results --where 'fit_seconds>1' --where status=timeout,memory
  harness results --where problem_parameters.C=10 --output runs.parquet
  harness results --where 'measured_at<2026-01' --delete

Of several measurements of a run the newest is shown. Another version of the code, another machine or another limit makes
another run. The fields of --where are those of --format json; 'none' is an unknown value.
"""
_MERGE_HELP = """\
Add every run of the result stores to one store. Exported files (CSV, JSON, Parquet) are not merged.

The same measurement twice is one row. Different measurements of a run are all stored, and the newest is shown (of two of
the same time that of the store named last). The STOREs stay as they are. A merge that is killed leaves the store as it was.

\b
  harness results merge laptop.sqlite server.sqlite --into both.sqlite
  harness results merge server.sqlite

Exit codes: 0 every row is there, 1 some rows of the STOREs could not be read and are named, 2 a STORE is none, 3 the target could
not be written: it is as it was.
"""
_NOT_WITH_DELETE = ("path", "cells", "all", "limit", "format_", "output")


@click.group("results", cls=CommandGroup, invoke_without_command=True, help=_HELP,
             short_help="Show, export, merge or delete earlier results.")  # fmt: skip
@where.selecting_runs
@click.option("--cells", is_flag=True, help="The cells of paths too; files other than tables have them all.")
@click.option("--all", is_flag=True, help="Older measurements of the same runs too.")
@click.option("--limit", type=Converted(values.COUNT), help="At most so many runs, the newest.")
@click.option("--explain", **options.EXPLAIN)
@click.option("--format", "format_", **options.FORMAT)
@click.option("--output", **options.OUTPUT)
@click.option("--path", is_flag=True, help="Print the path of the store, and nothing else.")
@click.option("--delete", is_flag=True, help="Delete what fits, with older measurements and cells; asks before.")
@click.option("--yes", is_flag=True, help="Delete without a question.")
@click.pass_context
@results_alone()
def command(ctx: click.Context, /, **given: Any) -> None:
    """Show, write or delete runs of the store."""
    if ctx.invoked_subcommand is not None:
        _refuse_options(ctx)
        return
    if given["delete"] and (others := [name.removesuffix("_") for name in _NOT_WITH_DELETE if given[name]]):
        raise UsageError(f"--delete does not go with --{others[0]}; leave one of them out.")
    if given["path"]:
        from harness.run.store import default_store

        show(f"{given['store'] or default_store()}\n")
    elif given["delete"]:
        _delete(given)
    else:
        _show(given)


command.add_command(export)


def _refuse_options(ctx: click.Context) -> None:
    """Refuse options before a sub-command: it does not see them."""
    line = click.core.ParameterSource.COMMANDLINE
    stray = [each for each in ctx.params if ctx.get_parameter_source(each) is line]
    if stray:
        command = f"harness results {ctx.invoked_subcommand}"
        raise UsageError(
            f"--{stray[0].removesuffix('_')} stands before {ctx.invoked_subcommand}; see `{command} --help`."
        )


def _show(given: Mapping[str, Any]) -> None:
    from harness.call import request
    from harness.registry.discovery import Registry
    from harness.registry.hookspecs import FORMATS
    from harness.report import files, formats, output
    from harness.run.store import StoreReader

    target = output.checked_output(given["output"])
    named = given["format_"]
    certain = formats.meant_by(target, {}) or target is None if named is None else named in FORMATS
    registry = Registry() if certain and not given["plugin_path"] else request.loaded(given["plugin_path"])
    form, added = formats.chosen(named, target, registry), registry.report_formats
    cells = given["cells"] or form not in formats.OF_RUNS
    with StoreReader(given["store"]) as store:
        numbers, older = where.newest_rows(store, given, cells=cells, every=given["all"])
        numbers = numbers[: given["limit"]]
        if not numbers:
            say(where.nothing(given))
        if form in files.WRITERS:
            output.deliver(lambda file: files.WRITERS[form](store.at(numbers), file), target)
            return
        remarks = [_OLDER.format(older, "" if older == 1 else "s")] if older else []
        shown = {"width": output.width(), "styled": target is None and output.styled(), "explain": given["explain"]}
        records = list(store.at(numbers))
        content = formats.render(form, records, added=added, dated=True, remarks=remarks, **shown)
    output.deliver(content, target)


def _delete(given: Mapping[str, Any]) -> None:
    """Delete the rows that meet the conditions, every measurement of them, and the cells of their paths; ask before."""
    from harness.run.store import Store, StoreReader

    with StoreReader(given["store"]) as reader:
        path, doomed = reader.path, _doomed(reader, given)
        for sentence in reader.damaged.values():
            say(f"note: {sentence}")
    if not doomed:
        say(where.nothing(given))
        return
    solvers = ", ".join(f"{name} ({count:,})" for name, count in Counter(row[3] for row in doomed).most_common())
    rows = f"{len(doomed):,} row{'' if len(doomed) == 1 else 's'} of {solvers}"
    if not given["yes"]:
        if not sys.stdin.isatty():
            raise UsageError(f"--delete would delete {rows} from {path}; add --yes, as there is no terminal.")
        if not click.confirm(f"Delete {rows} from {path}?", err=True):
            say("nothing was deleted.")
            return
    with Store(path) as store:
        deleted = store.delete(row[:3] for row in doomed)
    say(f"deleted {deleted:,} row{'' if deleted == 1 else 's'} from {path}")


def _doomed(reader: StoreReader, given: Mapping[str, Any]) -> list[tuple[int, str, str, str]]:
    """Return number, key, time of measurement and solver of the rows to delete, and of the cells of the paths among them."""
    doomed: list[tuple[int, str, str, str]] = []
    others: list[tuple[int, str, str, str]] = []
    for row in reader.rows():
        key, _, measured_at, _ = row.content
        entry = (row.number, key, measured_at, str(row.record.get("solver")))
        (doomed if where.selected(row.record, given) and where.meets(row.record, given) else others).append(entry)
    paths = {(key, measured_at) for _, key, measured_at, _ in doomed}
    return doomed + [row for row in others if (row[1].rpartition("/")[0], row[2]) in paths]


@command.command("merge", help=_MERGE_HELP, short_help="Merge several stores into one.")
@click.argument("sources", nargs=-1, required=True, type=click.Path(), metavar="STORE...")
@click.option("--into", **{**options.STORE, "help": "The target, made if there is none.  [default: the user's store]"})
@click.pass_context
def merge(ctx: click.Context, sources: Sequence[str], into: str | None) -> None:
    """Merge the sources, and print the number of rows."""
    from harness.run.store import Store, StoreReader, default_store

    target = Path(into) if into is not None else default_store()
    for path in map(Path, sources):
        if path.exists() and target.exists() and path.samefile(target):
            raise UsageError(f"{path} is both a source and the target; leave it out, or name another one with --into.")
    with contextlib.ExitStack() as stack:
        stores = [stack.enter_context(StoreReader(source)) for source in sources]
        merged = stack.enter_context(Store(target)).merge(stores)
    damaged = [sentence for store in stores for sentence in store.damaged.values()]
    for sentence in damaged:
        say(f"note: {sentence}")
    for store, read, added in zip(stores, merged.read, merged.added, strict=True):
        say(f"{store.path}: {_count(read, 'row')}, {added:,} new")
    if runs := len(merged.remeasured):
        say(f"note: {_count(runs, 'run')} measured several times: all are stored, the newest is shown")
    say(f"merged into {target}")
    ctx.exit(1 if damaged else 0)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
