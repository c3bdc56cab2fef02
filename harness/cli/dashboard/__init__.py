"""``harness dashboard``: a group of its own, whose commands are imported when they are called."""

from __future__ import annotations

import click

from harness.cli.lazy import LazyGroup

COMMANDS = {
    "run": ("harness.cli.dashboard.run", "Measure commits of this repository."),
    "build": ("harness.cli.dashboard.build", "Make the web site."),
    "serve": ("harness.cli.dashboard.serve", "Show the web site on this machine."),
    "export": ("harness.cli.dashboard.export", "Add the results of comparisons to the dashboard."),
    "check": ("harness.cli.dashboard.check", "Compare two commits: is the newer one slower?"),
}
"""Sub-command -> its module, whose ``command`` it is, and its line in the help."""


@click.group("dashboard", cls=LazyGroup, modules=COMMANDS, short_help="The history of every solver, as a web site.")
def command() -> None:
    """Watch every solver over the commits of a repository, or show a result store as a web site.

    The numbers are kept by asv (airspeed velocity): pip install 'svm-harness[asv]'.
    """
