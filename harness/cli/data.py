"""``harness data``: the raw files of the papers' data sets, fetched from their public sources and checked."""

from __future__ import annotations

import fnmatch
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.call import values
from harness.cli.commands import CommandGroup
from harness.cli.options import Converted
from harness.report.output import results_alone, say, show
from harness.support.errors import DataError, UsageError

if TYPE_CHECKING:
    from harness.datasets.raw_files import RawFile


@click.group("data", cls=CommandGroup, no_args_is_help=False, short_help="Fetch and check files of papers' data sets.")
def command() -> None:
    """Fetch the raw files of the papers' data sets, and check those that are there.

    \b
      harness data fetch adult mnist
      harness data verify

    A file may be in the folder HARNESS_DATA, or among the fetched ones in the cache folder (HARNESS_CACHE), plain or
    compressed. It is right if its content has the SHA-256 of the registry. Nothing else fetches these files.
    """


@command.command("list", short_help="List the sets, their files and licences.")
@click.option("--format", "format_", type=click.Choice(["table", "json"]), default="table", help="How to show it.")
@results_alone()
def listing(format_: str) -> None:
    """List the sets that have raw files, how many of them are there, and their licences; no content is checked.

    \b
      harness data list
    """
    from harness.cli.catalogue import Entry
    from harness.cli.describe import show_listing
    from harness.datasets.raw_files import copies

    entries = []
    for name, files in _sets().items():
        count = f"{sum(bool(copies(file.name)) for file in files)} of {len(files)}"
        licences = ", ".join(dict.fromkeys(file.licence for file in files))
        entries.append(Entry("data set", name, "", "", None, {"files there": count, "licence": licences}))
    show_listing(entries, format_)


@command.command("fetch", short_help="Fetch the files of sets.")
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@click.option("--from", "base", metavar="URL_OR_FOLDER", default="",
              help="A mirror that has the files under their names, compressed or not; else their public sources.")  # fmt: skip
@click.option("--timeout", type=Converted(values.DURATION), help="Longest wait for a byte.  [default: 30s]")
@click.pass_context
def fetch(ctx: click.Context, names: Sequence[str], base: str, timeout: float | None) -> None:
    """Fetch the files of the data sets NAME, or the files NAME, that are not there; * and ? stand for any letters.

    \b
      harness data fetch adult
      harness data fetch '*' --from /mnt/institute/svm-data

    NAME may be the URL of a data file, or openml:ID, too. Exit codes: 0 all are there, 1 one could not be fetched, 2 bad
    usage.
    """
    from harness.datasets import fetching, raw_files

    addresses = [name for name in names if fetching.is_address(name)]
    fetches: dict[str, Callable[..., Path]] = {name: partial(fetching.local, name, tell=say) for name in addresses}
    for file in _files([name for name in names if name not in addresses]):
        fetches[file.name] = partial(raw_files.fetch, file, base)
    failed = False
    for name, get in fetches.items():
        try:
            show(f"{name}: {get(wait=timeout or fetching.WAIT, progress=sys.stderr.isatty())}\n")
        except DataError as error:
            failed = True
            say(f"harness: {error}")
    ctx.exit(int(failed))


@command.command("verify", short_help="Check the content of the files.")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.pass_context
def verify(ctx: click.Context, names: Sequence[str]) -> None:
    """Print of each file of the data sets NAME, else of all, whether it is right, wrong or missing, and its path.

    \b
      harness data verify adult mnist

    Exit codes: 0 all are right, 1 one is wrong or missing, 2 bad usage.
    """
    from harness.datasets.raw_files import look

    failed = False
    for file in _files(names or ["*"]):
        right, wrong = look(file.name, file.sha256)
        failed |= right is None
        for path, why in wrong.items():
            show(f"{file.name}: wrong, {path} {why}, expected {file.sha256}\n")
        if right or not wrong:
            show(f"{file.name}: {f'right, {right}' if right else 'missing'}\n")
    ctx.exit(int(failed))


def _sets() -> dict[str, list[RawFile]]:
    """Return the files of each set of the catalogue."""
    from harness.datasets.catalogue import CATALOGUE
    from harness.datasets.raw_files import registry

    return {cls.name: [registry()[name] for name in cls.files] for cls in CATALOGUE if cls.files}


def _files(names: Sequence[str]) -> list[RawFile]:
    """Return the files of sets or of files by names or patterns, each once.

    Raises
    ------
    UsageError : no set and no file has a name.
    """
    from harness.datasets.raw_files import registry
    from harness.support.parameters import did_you_mean

    sets = _sets() | {name: [file] for name, file in registry().items()}
    files: dict[str, RawFile] = {}
    for name in names:
        matching = fnmatch.filter(sets, name)
        if not matching:
            near = did_you_mean(name, _sets())
            raise UsageError(f"no data set with raw files is called '{name}'{near}; `harness data list` lists them.")
        files |= {file.name: file for match in matching for file in sets[match]}
    return list(files.values())
