"""The sub-commands: the harness's own, and those that plugins add."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import click

from harness.cli import index

if TYPE_CHECKING:
    from collections.abc import Iterable

    from harness.entries import Broken
    from harness.registry import Registry

PROGRAM = "harness"

COMMANDS = {
    "compare": ("harness.cli.compare", "Run solvers on data sets and show what it cost."),
    "list": ("harness.cli.listing", "List solvers, plugins, data sets, kernels ..."),
    "describe": ("harness.cli.describe", "Describe one of them, with its parameters."),
    "results": ("harness.cli.results", "Show, export, merge or delete earlier results."),
    "reproduce": ("harness.cli.reproduce", "Measure the studies of papers again."),
}
"""Sub-command of the harness -> its module, whose ``command`` it is, and its line in the help."""

HOOK = "harness_commands"


@dataclass(frozen=True)
class Added:
    """What plugins add.

    lines, plugins : command -> its line in the help, and its plugin
    commands : those whose plugins were loaded; the lines of the others came from a file
    broken : plugins that could not be asked, or whose commands are refused
    """

    lines: dict[str, str] = field(default_factory=dict)
    plugins: dict[str, str] = field(default_factory=dict)
    commands: dict[str, click.Command] = field(default_factory=dict)
    broken: dict[str, Broken] = field(default_factory=dict)

    def command(self, name: str) -> click.Command:
        """Return a command, its plugin loaded if it was not.

        Raises
        ------
        PluginError : the plugin cannot be loaded now, or has no such command any more.
        """
        if name not in self.commands:
            from harness.errors import PluginError
            from harness.registry import Registry, installed

            registry = Registry()
            registry.load_all(installed(), only=[plugin := self.plugins[name]])
            found = of(registry)
            if name not in found.commands:
                broken = found.broken.get(plugin)
                raise PluginError(broken.sentence if broken else f"plugin '{plugin}' has no command '{name}' any more.")
            self.commands.update(found.commands)
        return self.commands[name]


def added(paths: Iterable[str]) -> Added:
    """Return what the installed plugins and the files of ``paths`` add.

    Raises
    ------
    UsageError : a path that does not exist.
    """
    kept = index.read("commands")
    found = _asked() if kept is None else Added(**kept)
    if paths := list(paths):
        from harness.registry import Registry

        registry = Registry()
        registry.load_all([], paths)
        of(registry, found)
    return found


def _asked() -> Added:
    """Return what the installed plugins say that they add; those without the hook in their text are not imported."""
    from pathlib import Path

    from harness.registry import Registry, installed

    files = {entry.name: _file(entry.module) for entry in installed()}
    asked = [name for name, file in files.items() if file is None or HOOK.encode() in Path(file).read_bytes()]
    registry = Registry()
    registry.load_all(installed(), only=asked)
    found = of(registry)
    if not found.broken:  # one that is broken for want of a library may work the next time
        index.write("commands", {"lines": found.lines, "plugins": found.plugins}, filter(None, files.values()))
    return found


def _file(module: str) -> str | None:
    """Return the file of a module that is not imported for it; None if that cannot be said."""
    import importlib.util

    try:
        spec = importlib.util.find_spec(module)
    except Exception:  # the package around it is broken, which is said when it is loaded
        return None
    return spec.origin if spec is not None and spec.has_location else None


def of(registry: Registry, found: Added | None = None) -> Added:
    """Ask the plugins of a registry, and add their commands to ``found``; a plugin's are taken all or none."""
    from harness.entries import Broken, code_of, last_line
    from harness.plain import plain_line

    found = found or Added()
    found.broken.update(registry.broken)
    for name, plugin in registry.plugins.items():
        try:
            with code_of(name, f"its {HOOK}"):
                given = _checked(getattr(plugin.module, HOOK, tuple)(), found)
        except Exception as error:  # a plugin may raise anything
            found.broken[name] = Broken(name, last_line(error))
            continue
        found.commands.update(given)
        found.plugins.update(dict.fromkeys(given, name))
        found.lines.update({name: plain_line(each.get_short_help_str(limit=80)) for name, each in given.items()})
    return found


def _checked(given: Iterable[click.Command], found: Added) -> dict[str, click.Command]:
    """Return a plugin's commands by their names, none of them taken.

    Raises
    ------
    PluginError : something else than commands with names of their own.
    """
    from harness.errors import PluginError

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
