"""``study.toml``: what a comparison measures, as a file; read from it, and written to it.

A key is the name of an option, its value what the option takes: a text, a number, or a list of these.

.. code-block:: toml

    plugins = ["lasvm[epochs=[1,2]]", "smo-block"]
    datasets = ["digits", "./my_data.csv"]  # a relative path is relative to the file
    C = [1, 10]
    time_limit = "5m"

    [path]
    gamma = [0.01, 0.1]

How a comparison is shown and where it is kept is no part of it: such options are given with the command. The keywords of
a call are read as a file's keys are.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness import parameters, selection
from harness.admission import plugin_file
from harness.call.settings import SETTINGS, Setting
from harness.errors import UsageError
from harness.files import write_whole
from harness.parameters import did_you_mean
from harness.plain import plain_line

if TYPE_CHECKING:
    from harness.registry import Registry

OF_THE_COMMAND = ("study", "save_study", "fresh", "yes", "dry_run", "cells", "store", "format", "output", "quiet")
"""Options that are no part of a study: how it is shown, where it is kept."""

_LARGEST = 1_000_000  # bytes of a file
_LONGEST = 600  # characters of a sentence
_MOST_TOLD = 20  # mistakes of one list
_MOST_CELLS = 10_000  # of a grid in brackets that is looked at one by one
_PLACE = re.compile(r"\s*\(at (?:line (\d+), column \d+|end of document)\)$")
_BARE = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)


@dataclass(frozen=True)
class StudyFile:
    """What a file, or a call, says.

    source : what messages call it
    folder : from which its relative paths lead
    values : key -> what TOML makes of it
    text : of the file; empty: there is none
    """

    source: str
    folder: Path
    values: Mapping[str, Any]
    text: str = ""

    def line(self, key: str, element: Any = None) -> int:
        """Return the line of a key, or of an element of its value; 0 if it is not known."""
        head = rf"^\s*[\"']?{re.escape(key)}\b[\"']?\s*[.=]"
        if isinstance(self.values.get(key), Mapping):
            head += rf"|^\s*\[+\s*[\"']?{re.escape(key)}\b"
        found = re.search(head, self.text, re.MULTILINE)
        if found is None:
            return 0
        inside = self.text.find(str(element), found.end()) if element is not None else -1
        return self.text.count("\n", 0, max(found.end(), inside)) + 1


class _Mistake(Exception):
    """What is wrong with a value: sentences, each with the element of a list that it is about, None: it is none."""

    def __init__(self, *told: tuple[str, Any]) -> None:
        super().__init__()
        self.told = told


# -- reading ---------------------------------------------------------------------------------------------


def parsed(path: str | Path) -> StudyFile:
    """Return what a file holds, not yet checked.

    Raises
    ------
    UsageError : it cannot be read, or is no TOML: with the line.
    """
    path = Path(path)
    try:
        with path.open("rb") as file:
            content = file.read(_LARGEST + 1)
        if len(content) > _LARGEST:
            raise UsageError(f"{path} is longer than {_LARGEST:,} bytes; a study is some lines of options.")
        text = content.decode("utf-8").replace("\r\n", "\n")
        return StudyFile(str(path), path.resolve().parent, tomllib.loads(text), text)
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise UsageError(
            f"{path}, line {line}: the byte {error.object[error.start]:#04x} is no UTF-8; write the study as UTF-8 text."
        ) from None
    except tomllib.TOMLDecodeError as error:
        place = _PLACE.search(str(error))
        where = f", line {place[1] or text.rstrip().count(chr(10)) + 1}" if place else ""
        what = plain_line(_PLACE.sub("", str(error)).rstrip("."))
        what = "a key is given twice" if what == "Cannot overwrite a value" else what[:1].lower() + what[1:]
        raise UsageError(f"{path}{where}: {what}; write key = value, as in C = [1, 10].") from None
    except (OSError, ValueError, RecursionError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(f"the study {plain_line(str(path), 200)} cannot be read: {plain_line(reason)}.") from None


def plugin_paths(file: StudyFile) -> list[str]:
    """Return the plugin files that a study names, from where it lies; they bring what else it names, so they come first.

    Raises
    ------
    UsageError : each that is no plugin's file in a sentence of its own, with its line.
    """
    given = file.values.get("plugin_path", file.values.get("plugin-path", []))
    found, mistakes = [], []
    for text in given if isinstance(given, list) else [given]:
        if isinstance(text, str):  # else it is told where all keys are
            found.append(str(file.folder / text))
            try:
                plugin_file(found[-1])
            except UsageError as error:
                mistakes.append((file.line("plugin_path", text), f"plugin_path: {_clipped(str(error))}"))
    if mistakes:
        raise UsageError(_told(file.source, mistakes))
    return found


def read(file: StudyFile, registry: Registry) -> dict[str, Any]:
    """Return the settings that a study gives, by name, as their readers have them.

    Raises
    ------
    UsageError : every mistake in a sentence of its own, with its line.
    """
    found, mistakes = dict[str, Any](), list[tuple[int, str]]()
    for key, value in file.values.items():
        name = key.replace("-", "_")
        try:
            if name not in SETTINGS:
                raise _Mistake((_unknown(key, name, value, registry), None))
            if name in found:
                raise _Mistake((f"{_shown(key)} is given twice, the other time as {name}.", None))
            found[name] = _taken(SETTINGS[name], value, file.folder, registry)
        except _Mistake as error:
            mistakes += [(file.line(key, element), sentence) for sentence, element in error.told]
            continue
        mistakes += [
            (file.line(key, part), f"{name}: {sentence}") for part, sentence in _of_names(name, found[name], registry)
        ]
    if mistakes:
        raise UsageError(_told(file.source, mistakes))
    return found


def _unknown(key: str, name: str, value: Any, registry: Registry) -> str:
    """Return why a key is none."""
    if isinstance(value, Mapping):
        return f"[{_shown(key)[1:-1]}] is a section; the keys of a study stand above any, by themselves."
    if name in OF_THE_COMMAND:
        return f"{_shown(key)} is no part of a study; give --{key.replace('_', '-')} with the command."
    near = did_you_mean(key, SETTINGS) if len(key) < 100 else ""
    return f"there is no option {_shown(key)}{near}{in_brackets(name, registry)}; `harness compare --help` shows all."


def in_brackets(name: str, registry: Registry) -> str:
    """Return how a parameter of a formulation or a kernel is written: the end of a sentence on an option that is none."""
    own = registry.problem_parameters().get(name, {})
    for formulation in own:
        return f"; write --formulation '{formulation}[{name}=...]', as it is a parameter of {', '.join(own)}"
    kernels = [
        kernel for kernel, cls in registry.kernels.items() if any(p.name == name for p in parameters.parameters_of(cls))
    ]
    return (
        f"; write --kernel '{kernels[0]}[{name}=...]', as it is a parameter of {', '.join(kernels)}" if kernels else ""
    )


def _told(source: str, mistakes: Sequence[tuple[int, str]]) -> str:
    lines = [f"line {line}: {sentence}" if line else sentence for line, sentence in mistakes]
    if len(lines) == 1:
        return f"{source}{',' if mistakes[0][0] else ':'} {lines[0]}"
    return "\n  ".join([f"{source} has {len(lines)} mistakes:", *lines])


def _clipped(sentence: str) -> str:
    """Return a sentence on one line, its middle left out where it shows a long value."""
    line = plain_line(sentence)
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST // 2]} ... {line[-_LONGEST // 2 :]}"


def _shown(value: Any) -> str:
    """Return a value as a sentence can show it, not too long."""
    text = repr(value) if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)
    return plain_line(text if len(text) <= 80 else f"{text[:77]}...")


def _taken(setting: Setting, value: Any, folder: Path, registry: Registry) -> Any:
    """Return a value as the setting's reader has it."""
    name = setting.name
    if setting.reader is None:
        if not isinstance(value, bool):
            raise _Mistake((f"{name}: {_shown(value)} is not true or false.", None))
        return value
    if setting.several:
        texts = [_text(name, each) for each in (value if isinstance(value, list) else [value])]
        if name == "plugin_path":
            return [str(folder / text) for text in texts]
        return [moved(text, folder, None, registry) for text in texts] if name == "datasets" else texts
    text = _grid(value) if isinstance(value, dict) and name == "path" else _text(name, value, listed=True)
    each_of = [(_refused(setting, _text(name, each)), each) for each in value] if isinstance(value, list) else []
    told = [(f"{name}: {wrong}", each) for wrong, each in each_of if wrong][:_MOST_TOLD]
    if not told and (wrong := _refused(setting, text)):
        told = [(f"{name}: {wrong}", None)]
    if told:
        raise _Mistake(*told)
    return setting.reader(text)


def _refused(setting: Setting, text: str) -> str:
    """Return why a setting does not take a text, in a sentence; empty: it does."""
    assert setting.reader is not None
    try:
        setting.reader(text)
    except UsageError as error:
        return _clipped(str(error))
    return ""


def _text(name: str, value: Any, *, listed: bool = False) -> str:
    """Return a value as the command line would have it; ``listed``: a list is one too."""
    if isinstance(value, list) and listed:
        return ",".join(_text(name, each) for each in value)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str | int | float):
        return str(value)
    expected = "a text, a number or a list of these" if listed else "a text or a number"
    raise _Mistake((f"{name}: {_shown(value)} is not {expected}.", value))


def _grid(value: Mapping[str, Any]) -> str:
    """Return a table of axes as --path has it: ``C=[1,10],gamma=[0.1]``."""
    texts = {axis: _text(f"path.{axis}", values, listed=True) for axis, values in value.items()}
    return ",".join(
        f"{axis}=[{text}]" if isinstance(value[axis], list) else f"{axis}={text}" for axis, text in texts.items()
    )


def _of_names(name: str, value: Any, registry: Registry) -> list[tuple[str, str]]:
    """Return a sentence for each name of a selection that nothing has, or parameter that it does not take."""
    looks: dict[str, Callable[[str], Any]] = {
        "plugins": registry.select_solvers,
        "datasets": registry.select_datasets,
        "kernel": registry.select_kernels,
        "formulation": registry.select_formulations,
        "metrics": lambda text: parameters.check_known("metric", text, registry.metrics),
        "core_set_oracle": registry.solver,
    }
    found = []
    for text in value if isinstance(value, list) else [value]:
        try:
            parts = parts_of(text, folder=None) if name in looks else []
        except UsageError as error:
            found.append((text, _clipped(str(error))))
            continue
        for part in parts:
            try:
                if sum(item.size for item in selection.parse(part)) <= _MOST_CELLS:
                    looks[name](part)
            except UsageError as error:
                found.append((part, _clipped(str(error))))
    return found


# -- writing ---------------------------------------------------------------------------------------------


def kept(given: Mapping[str, Any], registry: Registry) -> dict[str, Any]:
    """Return settings as a file has them: text, numbers, truth values, lists of these; paths are absolute."""
    found: dict[str, Any] = {}
    for name in SETTINGS:
        value = given.get(name)
        if value in (None, [], False):
            continue
        if name == "plugin_path":
            found[name] = [_led(each, None) for each in value]
        elif name == "datasets":
            parts = [part for text in value for part in parts_of(text, folder=Path.cwd())]
            found[name] = [moved(part, Path.cwd(), None, registry) for part in parts]
        elif name == "plugins":
            found[name] = [part for text in value for part in parts_of(text, folder=None)]
        elif isinstance(value, range):
            found[name] = value.start if len(value) == 1 else f"{value.start}-{value.stop - 1}"
        else:
            found[name] = value[0] if isinstance(value, list) and len(value) == 1 else value
    return found


def save(settings: Mapping[str, Any], target: Path, registry: Registry | None, comment: str = "") -> None:
    """Write settings, as `kept` has them, to a file, in one step; paths in its folder become relative to it.

    Raises
    ------
    UsageError : the file cannot be written.
    """
    found, folder = dict(settings), target.resolve().parent
    if "plugin_path" in found:
        found["plugin_path"] = [_led(path, folder) for path in found["plugin_path"]]
    if "datasets" in found:
        found["datasets"] = [moved(text, Path.cwd(), folder, registry) for text in found["datasets"]]
    text = written(found, comment)
    try:
        if not folder.is_dir():
            raise UsageError(f"the study cannot be written to {target}: the folder {target.parent} does not exist.")
        write_whole(target, text.encode())
    except UnicodeEncodeError:
        raise UsageError("a name in the study is no UTF-8 text, so no file can hold it; rename it.") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"the study cannot be written to {target}: {reason}.") from None


def written(settings: Mapping[str, Any], comment: str = "") -> str:
    """Return the text of a study of settings as `kept` has them, ``comment`` above them."""
    lines = [f"# {plain_line(line, 1000)}".rstrip() for line in comment.splitlines()]
    tables = {name: value for name, value in settings.items() if isinstance(value, Mapping)}
    lines += [f"{_key(name)} = {_toml(value)}" for name, value in settings.items() if name not in tables]
    for name, table in tables.items():
        lines += ["", f"[{_key(name)}]", *(f"{_key(key)} = {_toml(value)}" for key, value in table.items())]
    return "\n".join(lines) + "\n"


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


# -- selections and the paths in them ---------------------------------------------------------------------


def parts_of(text: str, folder: Path | None) -> list[str]:
    """Return the items of a selection, each as text; with a ``folder``, a path of a file there is one as a whole."""
    if folder is not None and selection.is_file(folder / text):
        return [text]
    return [part.strip() for part in selection.split(text) if part.strip()]


def moved(text: str, base: Path, target: Path | None, registry: Registry | None) -> str:
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
