"""``harness dashboard run``: measure commits, for the history."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from harness.cli.dashboard.shared import CONFIG

if TYPE_CHECKING:
    from harness.dashboard.measuring import Measured


@click.command("run", short_help="Measure commits of this repository.")
@click.argument("commits", metavar="[RANGE]", default="HEAD")
@click.option("--again", is_flag=True, help="Measure commits anew that were measured before.")
@click.option("--machine", metavar="NAME", help="This machine's name in the history.  [default: its host name]")
@click.option("--config", **CONFIG)
@click.option("--verbose", is_flag=True, help="Show asv's own progress.")
def command(commits: str, again: bool, machine: str | None, config: str | None, verbose: bool) -> None:
    """Measure the newest commit, or those of RANGE (HEAD~5..HEAD, or one revision), on the pinned grid.

    Each commit is installed beside the libraries of this Python, fits every cell of benchmarks/grid.json, and is saved
    when it is finished. Commits that were measured on this machine are skipped. A solver that fails is no fault of the
    measurement: it is shown as failed.

    Then make the site: harness dashboard build
    """
    from harness.dashboard import configuration, measuring

    configured = configuration.load(config or configuration.FILE_NAME)
    bench = measuring.Bench.of(configured, machine, verbose=verbose)
    wanted = measuring.commits_of(configured, commits)
    todo = [commit for commit in wanted if again or not bench.is_measured(commit)]
    if len(todo) < len(wanted):
        click.echo(f"{len(wanted) - len(todo)} of {len(wanted)} commits were measured before; --again measures anew")
    for number, commit in enumerate(todo, start=1):
        click.echo(f"[{number}/{len(todo)}] {commit[:8]} {bench.title(commit)}", err=True)
        began = time.monotonic()
        bench.measure([commit])
        click.echo(f"{commit[:8]}: {_summary(bench.measured(commit))} in {time.monotonic() - began:.0f} s")


def _summary(measured: Measured) -> str:
    from harness.dashboard.records import NO_RUN
    from harness.run.record import Status

    statuses = [record["status"] for record in measured.records.values()]
    fine, absent = statuses.count(Status.OK), sum(status in NO_RUN for status in statuses)
    failed = len(statuses) - fine - absent
    parts = [f"{fine} cells", f"{failed} failed" if failed else "", f"{absent} not in this commit" if absent else ""]
    return ", ".join(part for part in parts if part)
