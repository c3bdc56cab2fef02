"""``harness results merge``: the stores of several machines in one."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.cli import options
from harness.report.output import say
from harness.support.errors import UsageError

if TYPE_CHECKING:
    from harness.run.store import Merged, StoreReader

_HELP = """\
Add every run of the result stores to one store. Exported files (CSV, JSON, Parquet) are not merged.

The same measurement twice is one row. Of a run that several have with different content all is kept,
and the newest stands for the run (of two of the same time that of the store named last). The STOREs stay as they are.
A merge that is killed leaves the store as it was.

\b
  harness results merge laptop.sqlite server.sqlite --into both.sqlite
  harness results merge server.sqlite

Exit codes: 0 every row is there, 1 some rows of the STOREs could not be read and are named, 2 a STORE is none, 3 the target could
not be written: it is as it was.
"""


@click.command("merge", help=_HELP, short_help="Merge several stores into one.")
@click.argument("sources", nargs=-1, required=True, type=click.Path(), metavar="STORE...")
@click.option(
    "--into",
    **{**options.STORE, "help": "The store that takes them, made if there is none.  [default: the user's own]"},
)
@click.pass_context
def merge(ctx: click.Context, sources: Sequence[str], into: str | None) -> None:
    """Merge the sources, and say what became of it."""
    from harness.run.store import Store, StoreReader, default_store

    target = Path(into) if into is not None else default_store()
    for path in map(Path, sources):
        if path.exists() and target.exists() and path.samefile(target):
            raise UsageError(
                f"{path} is what the others are merged into, and a file to be merged too; name it with --into alone, "
                "or another one with --into."
            )
    with contextlib.ExitStack() as stack:
        found = [stack.enter_context(StoreReader(each)) for each in sources]
        store = stack.enter_context(Store(target))
        told = store.merge(found)
    damaged = [sentence for each in found for sentence in each.damaged.values()]
    for sentence in damaged:
        say(f"note: {sentence}")
    _tell(told, found, target)
    ctx.exit(1 if damaged else 0)


def _tell(told: Merged, sources: Sequence[StoreReader], target: Path) -> None:
    for source, read, added in zip(sources, told.read, told.added, strict=True):
        there = f", {read - added:,} there already" if read > added else ""
        say(f"{source.path}: {read:,} row{'' if read == 1 else 's'}, {added:,} new{there}")
    if count := len(told.remeasured):
        runs = f"{count:,} run{'' if count == 1 else 's'}"
        say(f"note: {runs} measured several times, with different content: all is kept, the newest stands for the run")
    say(f"merged into {target}")
