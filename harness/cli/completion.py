"""``harness completion``: the script that makes a shell complete the command."""

from __future__ import annotations

import click

from harness.cli.commands import PROGRAM
from harness.cli.main import cli

_HINTS = {
    "bash": 'add to ~/.bashrc: eval "$(harness completion bash)"',
    "zsh": 'add to ~/.zshrc: eval "$(harness completion zsh)"',
    "fish": "harness completion fish > ~/.config/fish/completions/harness.fish",
}


@click.command("completion", help="Print the completion script for a shell.\n\n\b\n" + "\n".join(_HINTS.values()))
@click.argument("shell", type=click.Choice(list(_HINTS)), metavar="SHELL")
def command(shell: str) -> None:
    """Print click's own script."""
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None, shell
    click.echo(kind(cli, {}, PROGRAM, f"_{PROGRAM.upper()}_COMPLETE").source())
