"""What the command says on standard error: the one way there, so that nothing foreign in it reaches a terminal raw."""

from __future__ import annotations

import click

from harness.plain import plain


def say(text: str) -> None:
    """Write a line to standard error: notes, progress, errors; text of plugins, stores and file names may be in it."""
    click.echo(plain(text), err=True)
