"""The other way round: from the options of a comparison to the text of ``study.toml``, and paths from folder to folder."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness import selection
from harness.errors import UsageError
from harness.files import write_whole
from harness.plain import plain_line

if TYPE_CHECKING:
    from harness.registry import Registry

OF_THE_COMMAND = {
    "study", "save_study", "resume", "yes", "dry_run", "cells", "store", "format_", "output", "quiet"
}  # fmt: skip
"""Options that are no part of a study: how it is shown, where it is kept."""

_BARE = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)


def write(given: Mapping[str, Any], comment: str = "") -> str:
    """Return the text of a study.

    Parameters
    ----------
    given : name of an option -> text, number, truth value, a list of these, or a table (of ``path``); None is left out
    comment : its first lines

    Raises
    ------
    UsageError : a text that no file can hold.
    """
    lines = [f"# {plain_line(line, 1000)}".rstrip() for line in comment.splitlines()]
    tables = {name: value for name, value in given.items() if isinstance(value, Mapping)}
    plain = {name: value for name, value in given.items() if name not in tables and value is not None}
    lines += [f"{_key(name)} = {_toml(value)}" for name, value in plain.items()]
    for name, table in tables.items():
        lines += ["", f"[{_key(name)}]", *(f"{_key(key)} = {_toml(value)}" for key, value in table.items())]
    text = "\n".join(lines) + "\n"
    try:
        text.encode()
    except UnicodeEncodeError:
        raise UsageError("a name in the study is no UTF-8 text, so no file can hold it; rename it.") from None
    return text


def save(given: Mapping[str, Any], target: Path, comment: str = "") -> None:
    """Write a study, see :func:`write`; in one step.

    Raises
    ------
    UsageError : the file cannot be written.
    """
    text = write(given, comment)
    try:
        if not target.parent.is_dir():
            raise UsageError(f"the study cannot be written to {target}: the folder {target.parent} does not exist.")
        write_whole(target, text.encode())
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"the study cannot be written to {target}: {reason}.") from None


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _toml(name)


def _toml(value: Any) -> str:
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):  # what JSON escapes is what TOML does, but for one letter
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return str(int(value)) if isinstance(value, float) and value.is_integer() and abs(value) < 1e15 else repr(value)


def options_of(ctx: click.Context, registry: Registry) -> dict[str, Any]:
    """Return what a command measures, as :func:`write` takes it: the options that were given, by a line or a file.

    Paths are absolute; :func:`placed` has them as a file needs them.
    """
    found: dict[str, Any] = {}
    for parameter in ctx.command.get_params(ctx):
        name = parameter.name or ""
        value = ctx.params.get(name)
        given = ctx.get_parameter_source(name) is not click.core.ParameterSource.DEFAULT or name == "plugin_path"
        if not given or name in OF_THE_COMMAND or value is None or value == () or value is False:
            continue
        if name == "plugin_path":
            found[name] = [_led(each, None) for each in value]
        elif name == "datasets":
            parts = [part for text in value for part in parts_of(text, folder=Path.cwd())]
            found[name] = [moved(part, Path.cwd(), None, registry) for part in parts]
        elif name == "plugins":
            found[name] = [part for text in value for part in parts_of(text, folder=None)]
        else:
            found[name] = _plain(value)
    return found


def placed(options: Mapping[str, Any], target: Path, registry: Registry | None) -> dict[str, Any]:
    """Return options with absolute paths, as :func:`options_of` gives them, for a file: paths in its folder relative to it."""
    found, folder = dict(options), target.resolve().parent
    if "plugin_path" in found:
        found["plugin_path"] = [_led(path, folder) for path in found["plugin_path"]]
    if "datasets" in found:
        found["datasets"] = [moved(text, Path.cwd(), folder, registry) for text in found["datasets"]]
    return found


def _plain(value: Any) -> Any:
    """Return what an option was read as, as a file has it."""
    if isinstance(value, range):
        return value.start if len(value) == 1 else f"{value.start}-{value.stop - 1}"
    if isinstance(value, Mapping):
        return {name: list(values) for name, values in value.items()}
    return value[0] if isinstance(value, list) and len(value) == 1 else value


# -- selections and the paths in them ---------------------------------------------------------------------


def parts_of(text: str, folder: Path | None) -> list[str]:
    """Return the items of a selection, each as text; with a ``folder``, a path of a file there is one as a whole."""
    if folder is not None and selection.is_file(folder / text):
        return [text]
    return [part.strip() for part in selection.split(text) if part.strip()]


def moved(text: str, base: Path, target: Path | None, registry: Registry | None = None) -> str:
    """Return a selection of data sets with its paths, which lead from ``base``, as they are read from ``target``.

    target : a folder; None: they become absolute
    registry : whose data sets are names and no paths; None: the file is looked for
    """
    items, changed = [], False
    try:
        whole = selection.is_file(base / text)
        parts = [selection.Item(text)] if whole else selection.parse(text)
    except UsageError:
        return text  # said where names are looked at
    for item in parts:
        wild = os.sep not in item.name and any(character in item.name for character in "*?")
        named = wild or (registry is not None and item.name in registry.datasets)
        is_path = not named and selection.is_path(item.name, base)
        values = {key: [_led(each, target, base) for each in given] if key == "test" and is_path else given
                  for key, given in item.values.items()}  # fmt: skip
        items.append(selection.Item(_led(item.name, target, base) if is_path else item.name, values))
        changed |= is_path
    return ",".join(map(selection.text_of, items)) if changed else text


def _led(path: str, target: Path | None, base: Path | None = None) -> str:
    """Return a path as it is read from a folder: relative where it lies in it, else absolute."""
    whole = ((base or Path.cwd()) / Path(path).expanduser()).resolve()
    if target is not None and whole.is_relative_to(target):
        return f".{os.sep}{whole.relative_to(target)}"
    return str(whole)
