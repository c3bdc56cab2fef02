"""``harness dashboard export``: results of comparisons become part of the dashboard."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.cli import options
from harness.cli.dashboard.shared import CONFIG
from harness.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.dashboard.export import Summary


@click.command("export", short_help="Add the results of comparisons to the dashboard.")
@click.option("--config", **CONFIG)
@click.option("--store", "stores", multiple=True, **{**options.STORE, "help": f"{options.STORE['help']} Repeatable."})
@click.option("--commit", metavar="REV", help="The commit of runs that name none, or one the repository does not have.")
@click.option(
    "--standalone",
    metavar="FOLDER",
    type=click.Path(file_okay=False),
    help="Make a dashboard of the stores alone: no repository needed.",
)
def command(config: str | None, stores: Sequence[str], commit: str | None, standalone: str | None) -> None:
    """Write what `harness compare` has stored as results of the dashboard, each run at the commit it was measured at.

    Whatever was exported before stays; the same run twice counts once, as it was measured last. Then make the site:
    harness dashboard build.

    With --standalone the folder gets a configuration, a repository with one commit for each state of the code that was
    measured, and the results: harness dashboard build --config FOLDER. The folder is new or empty, or one that this
    made before: it then reads the stores of before anew beside the named ones, and touches no file of another's.
    """
    if standalone is not None and (commit is not None or config is not None):
        raise UsageError(
            "--standalone: it makes its own configuration and commits; give it without --config and --commit."
        )
    from harness.dashboard import configuration
    from harness.dashboard import export as exporting
    from harness.run.store import default_store

    paths = [Path(store) for store in stores] or [default_store()]
    if standalone is not None:
        summary = exporting.standalone(paths, Path(standalone).absolute())
    else:
        summary = exporting.export(paths, configuration.load(config or configuration.FILE_NAME), commit)
    for line in _told(summary):
        click.echo(line)
    for sentence in summary.unread:
        click.echo(f"note: {sentence}", err=True)
    chosen = f" --config {standalone}" if standalone else f" --config {config}" if config else ""
    click.echo(f"make the site: harness dashboard build{chosen}")


def _told(summary: Summary) -> list[str]:
    """Return what was exported, and what was not and why."""
    place = f"{summary.commits} commit{'' if summary.commits == 1 else 's'} to {summary.folder}"
    lines = [
        f"exported {summary.runs} runs of {len(summary.solvers)} solvers on {len(summary.datasets)} problems at {place}"
    ]
    if summary.changed:
        lines.append(
            f"note: {summary.changed} runs were measured in a changed tree; they stand at the commit it came from"
        )
    if summary.homeless:
        lines.append(
            f"note: {summary.homeless} runs name no commit of the repository and were left out; --commit REV says where they belong"
        )
    if summary.older:
        lines.append(f"note: {summary.older} runs were measured anew later at the same commit and were left out")
    if summary.off_branch:
        lines.append(
            f"note: {summary.off_branch} runs are of commits that are not on the dashboard's branches: no graph shows them"
        )
    return lines
