"""The sub-commands that plugins add."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import click

from harness.cli import index

if TYPE_CHECKING:
    from collections.abc import Container, Iterable
    from importlib.metadata import EntryPoint

    from harness.entries import Broken
    from harness.registry import Registry

HOOK = "harness_commands"


@dataclass(frozen=True)
class Added:
    """What plugins add.

    lines : command -> its line in the help
    plugins : command -> its plugin
    commands : those that were loaded for the question, all of them unless the lines came from a file
    broken : plugins that could not be asked, or whose commands are refused
    """

    lines: dict[str, str] = field(default_factory=dict)
    plugins: dict[str, str] = field(default_factory=dict)
    commands: dict[str, click.Command] = field(default_factory=dict)
    broken: dict[str, Broken] = field(default_factory=dict)


def added(paths: Iterable[str], taken: Container[str]) -> Added:
    """Return what the installed plugins and the files of ``paths`` add to the commands ``taken``.

    Raises
    ------
    UsageError : a path that does not exist.
    """
    kept = index.read("commands")
    if kept is None:
        found, files = _asked(taken)
        if not found.broken:  # one that is broken for want of a library may work the next time
            index.write("commands", {"lines": found.lines, "plugins": found.plugins}, files)
    else:
        found = Added(**kept)
    if paths := list(paths):
        from harness.registry import Registry

        registry = Registry()
        registry.load_all([], paths)
        of(registry, taken, found)
    return found


def command(name: str, found: Added, taken: Container[str]) -> click.Command:
    """Return a command of ``found``, its plugin loaded if it was not.

    Raises
    ------
    PluginError : the plugin cannot be loaded now, or has no such command any more.
    """
    if name not in found.commands:
        from harness.errors import PluginError
        from harness.registry import Registry, installed

        registry = Registry()
        registry.load_all(installed(), only=[plugin := found.plugins[name]])
        loaded = of(registry, taken)
        if name not in loaded.commands:
            broken = loaded.broken.get(plugin)
            raise PluginError(broken.sentence if broken else f"plugin '{plugin}' has no command '{name}' any more.")
        return loaded.commands[name]
    return found.commands[name]


def of(registry: Registry, taken: Container[str] = (), found: Added | None = None) -> Added:
    """Ask the plugins of a registry, and add their commands to ``found``; a plugin's are taken all or none."""
    from harness.entries import Broken
    from harness.registered import last_line

    found = found or Added()
    found.broken.update(registry.broken)
    for name, plugin in registry.plugins.items():
        try:
            given = _checked(getattr(plugin.module, HOOK, tuple)(), taken, found)
        except (Exception, SystemExit) as error:  # a plugin may raise anything
            found.broken[name] = Broken(name, last_line(error))
            continue
        found.commands.update(given)
        found.plugins.update(dict.fromkeys(given, name))
        found.lines.update({name: each.get_short_help_str(limit=80) for name, each in given.items()})
    return found


def _checked(given: Iterable[click.Command], taken: Container[str], found: Added) -> dict[str, click.Command]:
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
        if not name or name in commands or name in taken or name in found.plugins:
            of_whom = f"plugin '{found.plugins[name]}'" if name in found.plugins else "the harness or this plugin"
            raise PluginError(f"its command '{name}' is already one of {of_whom}; give it another name.")
        commands[name] = each
    return commands


def _asked(taken: Container[str]) -> tuple[Added, list[str]]:
    """Return what the installed plugins add, and the files that say so: every installed plugin's."""
    from harness.registry import Registry, installed

    asked: list[EntryPoint] = []
    files = []
    for entry in installed():
        file = _file(entry.module)
        if file is not None:
            files.append(file)
        if file is None or HOOK.encode() in _content(file):
            asked.append(entry)
    registry = Registry()
    registry.load_all(asked)
    return of(registry, taken), files


def _file(module: str) -> str | None:
    """Return the file of a module that is not imported for it; None if that cannot be said."""
    import importlib.util

    try:
        spec = importlib.util.find_spec(module)
    except Exception:  # the package around it is broken, which is said when it is loaded
        return None
    return spec.origin if spec is not None and spec.has_location else None


def _content(file: str) -> bytes:
    with open(file, "rb") as opened:
        return opened.read()
