"""``harness results merge``: the stores of several machines in one."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path

import click

from harness.cli import options
from harness.report.output import say
from harness.support.errors import UsageError

_HELP = """\
Add every run of the result stores to one store. Exported files (CSV, JSON, Parquet) are not merged.

The same measurement twice is one row. Different measurements of a run are all stored, and the newest is shown (of two of
the same time that of the store named last). The STOREs stay as they are. A merge that is killed leaves the store as it was.

\b
  harness results merge laptop.sqlite server.sqlite --into both.sqlite
  harness results merge server.sqlite

Exit codes: 0 every row is there, 1 some rows of the STOREs could not be read and are named, 2 a STORE is none, 3 the target could
not be written: it is as it was.
"""


@click.command("merge", help=_HELP, short_help="Merge several stores into one.")
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
