"""The group of all commands: a module or a plugin is imported when its command is called, not when it is listed."""

from __future__ import annotations

import difflib
import importlib

import click
from click.shell_completion import CompletionItem

from harness.cli.commands import COMMANDS, PROGRAM, Added, added
from harness.report.output import say


class CommandGroup(click.Group):
    """A group that lists its commands in their order, and meets an unknown one with a whole sentence."""

    def lines(self, ctx: click.Context) -> dict[str, str]:
        """Return command -> its line in the help, in the help's order."""
        return {name: command.get_short_help_str() for name, command in self.commands.items()}

    def knows(self, ctx: click.Context, name: str) -> bool:
        """Whether there is a command of this name."""
        return name in self.lines(ctx)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of the help."""
        return list(self.lines(ctx))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Refuse an unknown command with the nearest known one."""
        if args and not args[0].startswith("-") and not self.knows(ctx, args[0]):
            near = difflib.get_close_matches(args[0], self.lines(ctx), n=1)
            guess = f"; did you mean '{near[0]}'?" if near else "."
            raise click.UsageError(
                f"there is no command '{args[0]}'{guess} The commands are: {', '.join(self.lines(ctx))}.", ctx
            )
        return super().resolve_command(ctx, args)


class LazyGroup(CommandGroup):
    """The harness's own commands, then those of plugins."""

    def added(self, ctx: click.Context) -> Added:
        """Return what plugins add; who is broken is said once, and to no shell that waits for a completion."""
        found = ctx.meta.get("added")
        if not isinstance(found, Added):
            ctx.meta["added"] = found = added(ctx.params.get("plugin_path") or ())
            if not ctx.resilient_parsing:
                for broken in found.broken.values():
                    say(f"{PROGRAM}: {' '.join(broken.sentence.split())}")
        return found

    def lines(self, ctx: click.Context) -> dict[str, str]:
        """Return command -> its line in the help, in the help's order."""
        return {**{name: line for name, (_, line) in COMMANDS.items()}, **self.added(ctx).lines}

    def knows(self, ctx: click.Context, name: str) -> bool:
        """Whether there is a command of this name; plugins are not asked for the harness's own."""
        return name in COMMANDS or super().knows(ctx, name)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command; None if there is none of that name."""
        if cmd_name in COMMANDS:
            command = importlib.import_module(COMMANDS[cmd_name][0]).command
            assert isinstance(command, click.Command)
            return command
        return self.added(ctx).command(cmd_name) if cmd_name in self.added(ctx).lines else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands' lines without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(self.lines(ctx).items()))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem[str]]:
        """Complete a command's name without importing any."""
        found = [CompletionItem(n, help=line) for n, line in self.lines(ctx).items() if n.startswith(incomplete)]
        return [*found, *click.Command.shell_complete(self, ctx, incomplete)]
