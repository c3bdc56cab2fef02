"""``harness dashboard build``: the web site of everything measured and exported."""

from __future__ import annotations

import click

from harness.cli.dashboard.shared import CONFIG


@click.command("build", short_help="Make the web site.")
@click.option("--config", **CONFIG)
def command(config: str | None) -> None:
    """Make the web site: asv's history of every number, and pages that compare the solvers of a commit.

    It loads nothing over the network, so any web server, or harness dashboard serve, can show it.
    """
    from harness.dashboard import configuration, site

    made = site.build(configuration.load(config or configuration.FILE_NAME))
    click.echo(f"the site is {made.folder} ({made.files} files, {made.bytes / 1e6:.1f} MB)")
    click.echo(f"look at it: harness dashboard serve{f' --config {config}' if config else ''}")
