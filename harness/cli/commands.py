"""The sub-commands: the harness's own, and those of plugins; each is imported when it is called."""

from __future__ import annotations

import difflib
import importlib
import importlib.util
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.registry.names import NameTable
from harness.report.output import say
from harness.support.errors import HarnessError, PluginError
from harness.support.faults import format_error, reason

if TYPE_CHECKING:
    from harness.registry.discovery import Registry
    from harness.registry.entries import BrokenPlugin

PROGRAM = "harness"
HOOK = "harness_commands"

_ENDINGS = (click.ClickException, click.Abort, click.exceptions.Exit)  # what click ends a command with

COMMANDS = {
    "compare": ("harness.cli.compare", "Run solvers on data sets and show what it cost."),
    "list": ("harness.cli.describe", "List solvers, plugins, data sets, kernels ..."),
    "describe": ("harness.cli.describe", "Describe one of them, with its parameters."),
    "data": ("harness.cli.data", "Fetch and check files of papers' data sets."),
    "check": ("harness.cli.check", "Check a plugin: is what it returns right, counted, repeatable?"),
    "results": ("harness.cli.results", "Show, export, merge or delete earlier results."),
    "verify": ("harness.cli.verify", "Verify a bundle of results on this machine."),
    "peers": ("harness.cli.peers", "Install, list and remove the libraries that solvers require."),
    "reproduce": ("harness.cli.reproduce", "Measure the studies of papers again."),
    "new": ("harness.cli.new", "Write the project of a plugin of your own."),
}
"""Sub-command of the harness -> its module, and its line in the help."""


@dataclass
class Added(NameTable):
    """The commands of plugins, and the plugins that are broken or whose commands are refused."""

    owners: dict[str, str] = field(default_factory=lambda: dict.fromkeys(COMMANDS, PROGRAM))
    kind: str = "command"
    broken: dict[str, BrokenPlugin] = field(default_factory=dict)


def added(paths: Iterable[str]) -> Added:
    """Return the commands of the installed plugins and of files; plugins without the hook in their text are not imported.

    Raises
    ------
    UsageError : a path that does not exist.
    """
    from harness.registry.discovery import Registry, installed

    files = {entry.name: _file(entry.module) for entry in installed()}
    names = [name for name, file in files.items() if file is None or HOOK.encode() in Path(file).read_bytes()]
    registry, given = Registry(), Registry()
    registry.load_all(installed(), only=names)
    given.load_all([], paths)
    return of(given, of(registry))


def _file(module: str) -> str | None:
    """Return the file of a module without importing it; None if it is unknown."""
    try:
        spec = importlib.util.find_spec(module)
    except Exception:  # the package around it is broken: an error follows when it is loaded
        return None
    return spec.origin if spec is not None and spec.has_location else None


def of(registry: Registry, before: Added | None = None) -> Added:
    """Return the commands of the plugins of a registry, added to those of ``before``.

    One name of several plugins, or of the harness and others, is ``plugin/name`` of each plugin.
    """
    from harness.registry.entries import BrokenPlugin, running_plugin

    result = before or Added()
    result.broken.update(registry.broken)
    for plugin, loaded in registry.plugins.items():
        try:
            with running_plugin(plugin, f"its {HOOK}"):
                commands = _validated(getattr(loaded.module, HOOK, tuple)())
        except Exception as error:  # a plugin may raise anything
            result.broken[plugin] = BrokenPlugin(plugin, reason(error))
            continue
        for name, command in commands.items():
            result.add(name, command, plugin, built_in=registry.is_built_in(plugin))
    return result


def _validated(returned: Iterable[click.Command]) -> dict[str, click.Command]:
    """Return a plugin's commands by name.

    Raises
    ------
    PluginError : no list of commands, or a name that two of them have.
    """
    if not isinstance(returned, (list, tuple)) or not all(isinstance(item, click.Command) for item in returned):
        raise PluginError(f"{HOOK} returned {returned!r}; it must return a list of click commands.")
    commands: dict[str, click.Command] = {}
    for command in returned:
        name = command.name or ""
        if not name or name in commands:
            raise PluginError(f"its command '{name}' has no name, or is returned twice; give each a different name.")
        commands[name] = command
    return commands


class CommandGroup(click.Group):
    """A group that lists its commands in their order, and refuses an unknown one with the nearest known one."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of the help."""
        return list(self.commands)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Refuse an unknown command with the nearest known one."""
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            names = self.list_commands(ctx)
            if shared := [name for name in names if name.endswith(f"/{args[0]}")]:
                raise click.UsageError(f"command '{args[0]}' is in several plugins; write {' or '.join(shared)}.", ctx)
            near = difflib.get_close_matches(args[0], names, n=1)
            why = f"there is no command '{args[0]}'" + (f"; did you mean '{near[0]}'?" if near else self._excuse(ctx))
            raise click.UsageError(f"{why} The commands are: {', '.join(names)}.", ctx)
        return super().resolve_command(ctx, args)

    def _excuse(self, _ctx: click.Context) -> str:
        """Return the end of the sentence on an unknown command."""
        return "."


class LazyGroup(CommandGroup):
    """The harness's own commands, then those of plugins."""

    def _added(self, ctx: click.Context) -> Added:
        """Return the commands of plugins, loaded once."""
        if "added" not in ctx.meta:
            ctx.meta["added"] = added(ctx.params.get("plugin_path") or ())
        return ctx.meta["added"]  # type: ignore[no-any-return]

    def _excuse(self, ctx: click.Context) -> str:
        """Return the end of the sentence on an unknown command: it may be one of a broken plugin."""
        broken = "; ".join(plugin.sentence.rstrip(".") for plugin in self._added(ctx).broken.values())
        given = "; the file of a plugin stands before its command: harness --plugin-path FILE COMMAND."
        return f", perhaps because a plugin is broken: {broken}." if broken else given

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; an exception of a plugin's command becomes a sentence that names the plugin."""
        try:
            return super().invoke(ctx)
        except Exception as error:
            plugin = self._added(ctx).owners.get(ctx.invoked_subcommand or "") if "added" in ctx.meta else None
            if plugin in (None, PROGRAM) or isinstance(error, (*_ENDINGS, HarnessError, OSError)):
                raise
            raise PluginError(f"command '{ctx.invoked_subcommand}' failed: {format_error(error, plugin)}") from error

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of the help."""
        return [*COMMANDS, *self._added(ctx).things]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command, None if there is none of that name; for the harness's own no plugin is loaded."""
        if cmd_name not in COMMANDS:
            return self._added(ctx).things.get(cmd_name)
        module = importlib.import_module(COMMANDS[cmd_name][0])
        return module.listing if cmd_name == "list" else module.command  # type: ignore[no-any-return]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands' lines; none of the harness's own is imported for it."""
        for broken in self._added(ctx).broken.values():
            say(f"{PROGRAM}: {' '.join(broken.sentence.split())}")
        lines = [(name, line) for name, (_, line) in COMMANDS.items()]
        lines += [(name, command.get_short_help_str(limit=80)) for name, command in self._added(ctx).things.items()]
        with formatter.section("Commands"):
            formatter.write_dl(lines)
