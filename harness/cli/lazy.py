"""A group of commands whose modules are imported when they are called, not when they are listed."""

from __future__ import annotations

import difflib
import importlib
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

if TYPE_CHECKING:
    from collections.abc import Mapping


class LazyGroup(click.Group):
    """A group that knows its commands by name, module and line of the help.

    modules : command -> its module, whose ``command`` it is, and its line in the help, in the help's order
    """

    def __init__(self, *args: Any, modules: Mapping[str, tuple[str, str]], **extra: Any) -> None:
        super().__init__(*args, **extra)
        self.modules = modules

    def lines(self, ctx: click.Context) -> dict[str, str]:
        """Return command -> its line in the help, in the help's order."""
        return {name: line for name, (_, line) in self.modules.items()}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of the help."""
        return list(self.lines(ctx))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command; None if there is none of that name."""
        if cmd_name not in self.modules:
            return None
        command = importlib.import_module(self.modules[cmd_name][0]).command
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Refuse an unknown command with the nearest known one."""
        if args and not args[0].startswith("-") and args[0] not in self.modules and args[0] not in self.lines(ctx):
            near = difflib.get_close_matches(args[0], self.lines(ctx), n=1)
            guess = f"; did you mean '{near[0]}'?" if near else "."
            raise click.UsageError(
                f"there is no command '{args[0]}'{guess} The commands are: {', '.join(self.lines(ctx))}.", ctx
            )
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands' lines without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(self.lines(ctx).items()))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem[str]]:
        """Complete a command's name without importing any."""
        found = [CompletionItem(n, help=line) for n, line in self.lines(ctx).items() if n.startswith(incomplete)]
        return [*found, *click.Command.shell_complete(self, ctx, incomplete)]
