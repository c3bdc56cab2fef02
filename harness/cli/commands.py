"""The sub-commands: the harness's own, and those that plugins add; each is imported when it is called or asked for."""

from __future__ import annotations

import difflib
import importlib
import importlib.util
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.report.output import say
from harness.support.errors import HarnessError, PluginError
from harness.support.faults import format_error, reason

if TYPE_CHECKING:
    from harness.registry.discovery import Registry
    from harness.registry.entries import BrokenPlugin

PROGRAM = "harness"
HOOK, PATH = "harness_commands", "--plugin-path"

_ENDINGS = (click.ClickException, click.Abort, click.exceptions.Exit)  # what click ends a command with

COMMANDS = {
    "compare": ("harness.cli.compare", "Run solvers on data sets and show what it cost."),
    "list": ("harness.cli.describe", "List solvers, plugins, data sets, kernels ..."),
    "describe": ("harness.cli.describe", "Describe one of them, with its parameters."),
    "data": ("harness.cli.data", "Fetch and check the files of the papers' data sets."),
    "check": ("harness.cli.check", "Check a plugin: is what it returns right, counted, repeatable?"),
    "results": ("harness.cli.results", "Show, export, merge or delete earlier results."),
    "peers": ("harness.cli.peers", "Install, list and remove the libraries that solvers require."),
    "reproduce": ("harness.cli.reproduce", "Measure the studies of papers again."),
    "new": ("harness.cli.new", "Write the project of a plugin of your own."),
}
"""Sub-command of the harness -> its module, and its line in the help."""


@dataclass(frozen=True)
class Added:
    """What plugins add: their commands, the plugin of each, and the plugins that could not be asked or are refused."""

    commands: dict[str, click.Command] = field(default_factory=dict)
    plugins: dict[str, str] = field(default_factory=dict)
    broken: dict[str, BrokenPlugin] = field(default_factory=dict)


def added(paths: Iterable[str]) -> Added:
    """Return what the installed plugins and the files of ``paths`` add; plugins without the hook in their text are not imported.

    Raises
    ------
    UsageError : a path that does not exist.
    """
    from harness.registry.discovery import Registry, installed

    files = {entry.name: _file(entry.module) for entry in installed()}
    asked = [name for name, file in files.items() if file is None or HOOK.encode() in Path(file).read_bytes()]
    registry, given = Registry(), Registry()
    registry.load_all(installed(), only=asked)
    given.load_all([], paths)
    return of(given, of(registry))


def _file(module: str) -> str | None:
    """Return the file of a module that is not imported for it; None if that cannot be said."""
    try:
        spec = importlib.util.find_spec(module)
    except Exception:  # the package around it is broken, which is said when it is loaded
        return None
    return spec.origin if spec is not None and spec.has_location else None


def of(registry: Registry, found: Added | None = None) -> Added:
    """Ask the plugins of a registry, and add their commands to ``found``; a plugin's are taken all or none."""
    from harness.registry.entries import BrokenPlugin, running_plugin

    found = found or Added()
    found.broken.update(registry.broken)
    for name, plugin in registry.plugins.items():
        try:
            with running_plugin(name, f"its {HOOK}"):
                given = _checked(getattr(plugin.module, HOOK, tuple)(), found)
        except Exception as error:  # a plugin may raise anything
            found.broken[name] = BrokenPlugin(name, reason(error))
            continue
        found.commands.update(given)
        found.plugins.update(dict.fromkeys(given, name))
    return found


def _checked(given: Iterable[click.Command], found: Added) -> dict[str, click.Command]:
    """Return a plugin's commands by their names, none of them taken.

    Raises
    ------
    PluginError : something else than commands with names of their own.
    """
    if not isinstance(given, (list, tuple)) or not all(isinstance(each, click.Command) for each in given):
        raise PluginError(f"{HOOK} returned {given!r}; it must return a list of click commands: return [my_command].")
    commands: dict[str, click.Command] = {}
    for each in given:
        name = each.name or ""
        if not name or name in commands or name in COMMANDS or name in found.plugins:
            whose = f"plugin '{found.plugins[name]}'" if name in found.plugins else "the harness or this plugin"
            raise PluginError(f"its command '{name}' is already one of {whose}; give it another name.")
        commands[name] = each
    return commands


class CommandGroup(click.Group):
    """A group that lists its commands in their order, and meets an unknown one with a whole sentence."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of the help."""
        return list(self.commands)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Refuse an unknown command with the nearest known one."""
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            names = self.list_commands(ctx)
            near = difflib.get_close_matches(args[0], names, n=1)
            why = f"there is no command '{args[0]}'; did you mean '{near[0]}'?" if near else self._missing(ctx, args[0])
            raise click.UsageError(f"{why} The commands are: {', '.join(names)}.", ctx)
        return super().resolve_command(ctx, args)

    def _missing(self, ctx: click.Context, name: str) -> str:
        """Return the sentence on a command that is not there."""
        return f"there is no command '{name}'."


class LazyGroup(CommandGroup):
    """The harness's own commands, then those of plugins."""

    def _asked(self, ctx: click.Context) -> Added:
        """Return what plugins add; they are asked once."""
        found = ctx.meta.get("added")
        if not isinstance(found, Added):
            ctx.meta["added"] = found = added(ctx.params.get("plugin_path") or ())
        return found

    def _missing(self, ctx: click.Context, name: str) -> str:
        """Return the sentence on a command that is not there: it may be one of a broken plugin."""
        broken = "; ".join(each.sentence.rstrip(".") for each in self._asked(ctx).broken.values())
        why = f"the command '{name}' is missing, perhaps because a plugin is broken: {broken}."
        return why if broken else super()._missing(ctx, name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command of a plugin whose file is named behind it too: ``harness greet --plugin-path greeting.py``."""
        if args[0] not in COMMANDS:
            args = [word for each in args for word in (each.split("=", 1) if each.startswith(f"{PATH}=") else [each])]
            while PATH in args:
                at = args.index(PATH)
                ctx.params["plugin_path"] = (*ctx.params.get("plugin_path", ()), *args[at + 1 : at + 2])
                args = [*args[:at], *args[at + 2 :]]
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; what one of a plugin raises becomes a sentence that names it."""
        try:
            return super().invoke(ctx)
        except Exception as error:
            plugin = self._asked(ctx).plugins.get(ctx.invoked_subcommand or "") if "added" in ctx.meta else None
            if plugin is None or isinstance(error, (*_ENDINGS, HarnessError, OSError)):
                raise
            raise PluginError(
                f"the command '{ctx.invoked_subcommand}' failed: {format_error(error, plugin)}"
            ) from error

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of the help."""
        return [*COMMANDS, *self._asked(ctx).commands]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command, None if there is none of that name; plugins are not asked for the harness's own."""
        if cmd_name not in COMMANDS:
            return self._asked(ctx).commands.get(cmd_name)
        module = importlib.import_module(COMMANDS[cmd_name][0])
        command = module.listing if cmd_name == "list" else module.command
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands' lines; none of the harness's own is imported for it."""
        own = [(name, line) for name, (_, line) in COMMANDS.items()]
        for broken in self._asked(ctx).broken.values():
            say(f"{PROGRAM}: {' '.join(broken.sentence.split())}")
        of_plugins = [(name, each.get_short_help_str(limit=80)) for name, each in self._asked(ctx).commands.items()]
        with formatter.section("Commands"):
            formatter.write_dl([*own, *of_plugins])
