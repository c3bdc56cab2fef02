"""``study.toml``: what a comparison measures, as a file.

A key is the name of an option, its value what the option takes: a text, a number, or a list of these.

.. code-block:: toml

    plugins = ["lasvm[epochs=[1,2]]", "smo-block"]
    datasets = ["digits", "./my_data.csv"]  # a relative path is relative to the file
    C = [1, 10]
    time_limit = "5m"

    [path]
    gamma = [0.01, 0.1]

How a comparison is shown and where it is kept is no part of it: such options are given with the command.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness import selection
from harness.cli.study_text import OF_THE_COMMAND, moved, parts_of
from harness.errors import UsageError
from harness.parameters import did_you_mean
from harness.plain import plain_line

if TYPE_CHECKING:
    from harness.registry import Registry

_LARGEST = 1_000_000  # bytes of a file
_LONGEST = 600  # characters of a sentence
_MOST_TOLD = 20  # mistakes of one list
_MOST_CELLS = 10_000  # of a grid in brackets that is looked at one by one
_TOKENS = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'|#[^\n]*|[\[\]{}\n]', re.DOTALL
)
_PLACE = re.compile(r"\s*\(at (?:line (\d+), column (\d+)|end of document)\)$")


@dataclass(frozen=True)
class StudyFile:
    """A file as it was read.

    source : what messages call it
    folder : from which its relative paths lead
    values : key -> what TOML makes of it
    statements : keys from the outermost on -> (first line, text) of where they are given
    """

    source: str
    folder: Path
    values: Mapping[str, Any]
    statements: Mapping[tuple[str, ...], tuple[int, str]] = field(default_factory=dict)

    def line(self, key: str, element: Any = None) -> int:
        """Return the line of a key, or of an element of its value; 0 if it is not known."""
        known = [place for keys, place in self.statements.items() if keys[0] == key]
        if not known:
            return 0
        text = str(element) if element is not None else ""
        for first, statement in known:
            for number, part in enumerate(statement.splitlines()):
                if text and text in part:
                    return first + number
        return known[0][0]


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
    path, text = Path(path), ""
    try:
        with path.open("rb") as file:
            content = file.read(_LARGEST + 1)
        if len(content) > _LARGEST:
            raise UsageError(f"{path} is longer than {_LARGEST:,} bytes; a study is some lines of options.")
        text = content.decode("utf-8").replace("\r\n", "\n")
        values = tomllib.loads(text)
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(_unreadable(path, error, text)) from None
    return StudyFile(str(path), path.resolve().parent, values, _statements(text))


def _unreadable(path: Path, error: Exception, text: str) -> str:
    if isinstance(error, OSError):
        return f"the study {path} cannot be read: {error.strerror or error}."
    if isinstance(error, UnicodeDecodeError):
        line = error.object[: error.start].count(b"\n") + 1
        return f"{path}, line {line}: the byte {error.object[error.start]:#04x} is no UTF-8; write the study as UTF-8 text."
    if isinstance(error, RecursionError):
        return f"{path}: its lists or tables are nested too deep; a study has none within another."
    if "null character" in str(error) or "null byte" in str(error):
        return f"the study {str(path)!r} cannot be read: its name has a null character."
    place = _PLACE.search(str(error))
    last = text.rstrip().count("\n") + 1
    where = f", line {place[1] or last}" if place else ""
    what = _PLACE.sub("", str(error)).rstrip(".")
    if not isinstance(error, tomllib.TOMLDecodeError):
        what = "a number has too many digits"
    if what == "Cannot overwrite a value":
        what = "a key is given twice"
    return f"{path}{where}: {what[:1].lower()}{plain_line(what[1:])}; write key = value, as in C = [1, 10]."


def _statements(text: str) -> dict[tuple[str, ...], tuple[int, str]]:
    """Return where each key of a TOML text is given: its keys from the outermost on -> (line, the statement)."""
    found: dict[tuple[str, ...], tuple[int, str]] = {}
    header: tuple[str, ...] = ()
    start = depth = 0
    for match in [*_TOKENS.finditer(text), None]:
        token = match[0] if match is not None else "\n"
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(token, 0)
        if token != "\n" or depth > 0:
            continue
        end = match.start() if match is not None else len(text)
        statement, line = text[start:end], text.count("\n", 0, start) + 1
        start = end + 1
        if not statement.strip() or statement.lstrip().startswith("#"):
            continue
        keys, value = [], tomllib.loads(statement)
        while isinstance(value, dict | list) and value and (isinstance(value, dict) or isinstance(value[0], dict)):
            value = value[0] if isinstance(value, list) else value
            if not value:
                break
            key = next(iter(value))
            keys.append(key)
            value = value[key]
        if statement.lstrip().startswith("["):
            header = tuple(keys)
        found.setdefault(header if statement.lstrip().startswith("[") else (*header, *keys), (line, statement))
    return found


# -- checking --------------------------------------------------------------------------------------------


def plugin_paths(file: StudyFile) -> list[str]:
    """Return the plugin files that a study names, from where it lies; they bring options, so they come first.

    Raises
    ------
    UsageError : each that is no plugin's file in a sentence of its own, with its line.
    """
    from harness.admission import plugin_file

    key = next((key for key in file.values if key.replace("-", "_") == "plugin_path"), "")
    given = file.values.get(key, [])
    found, mistakes = [], []
    for text in given if isinstance(given, list) else [given]:
        if isinstance(text, str):  # else it is told where all options are
            found.append(str(file.folder / text))
            try:
                plugin_file(found[-1])
            except UsageError as error:
                mistakes.append((file.line(key, text), f"{key}: {_clipped(str(error))}"))
    if mistakes:
        raise UsageError(_told(file.source, mistakes))
    return found


def options(file: StudyFile, parameters: Iterable[click.Parameter], registry: Registry | None) -> dict[str, Any]:
    """Return the options that a study gives: name -> text, or a list of texts, as the command line would have them.

    parameters : of the command, those of formulations too
    registry : knows the names of solvers, data sets and the like; None: they are not looked at

    Raises
    ------
    UsageError : every mistake in a sentence of its own, with its line.
    """
    found, mistakes = dict[str, Any](), list[tuple[int, str]]()
    own = [each for each in parameters if isinstance(each, click.Option) and "--help" not in each.opts]
    known = {str(each.name): each for each in own}
    spelt = {opt.removeprefix("--").replace("-", "_"): name for name, each in known.items() for opt in each.opts}
    for key, value in file.values.items():
        name = key.replace("-", "_") if key.replace("-", "_") in known else spelt.get(key.replace("-", "_"), "")
        try:
            if isinstance(value, Mapping) and (name not in known or name in OF_THE_COMMAND):
                raise _Mistake(
                    (f"[{_shown(key)[1:-1]}] is a section; the keys of a study stand above any, by themselves.", None)
                )
            if name in OF_THE_COMMAND or key == "fresh":
                why = f"{_shown(key)} is no part of a study; give --{key.replace('_', '-')} with the command."
                raise _Mistake((why, None))
            if name not in known:
                names = [each for each in known if each not in OF_THE_COMMAND]
                near = did_you_mean(key, names) if len(key) < 100 else ""
                raise _Mistake((f"there is no option {_shown(key)}{near}; `harness compare --help` shows all.", None))
            if name in found:
                raise _Mistake((f"{_shown(key)} is given twice, the other time as {name}.", None))
            found[name] = _taken(known[name], value, file.folder, registry)
        except _Mistake as error:
            mistakes += [(file.line(key, element), sentence) for sentence, element in error.told]
            continue
        named = _of_names(name, found[name], registry) if registry is not None else []
        mistakes += [(file.line(key, part), f"{name}: {sentence}") for part, sentence in named]
    if mistakes:
        raise UsageError(_told(file.source, mistakes))
    return found


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


def _taken(option: click.Option, value: Any, folder: Path, registry: Registry | None) -> Any:
    """Return a value as the option reads it: text, a list of texts, or the state of a flag."""
    name = option.name or ""
    if option.is_flag:
        if not isinstance(value, bool):
            raise _Mistake((f"{name}: {_shown(value)} is not true or false.", None))
        return value
    if option.multiple:
        texts = [_text(name, each) for each in (value if isinstance(value, list) else [value])]
        if name == "plugin_path":
            return [str(folder / text) for text in texts]
        if name == "datasets":
            return [moved(text, folder, None, registry) for text in texts]
        return texts
    text = _grid(name, value) if isinstance(value, dict) and name == "path" else _text(name, value, listed=True)
    each_of = [(_refused(option, _text(name, each)), each) for each in value] if isinstance(value, list) else []
    told = [(f"{name}: {wrong}", each) for wrong, each in each_of if wrong][:_MOST_TOLD]
    if not told and (wrong := _refused(option, text)):
        told = [(f"{name}: {wrong}", None)]
    if told:
        raise _Mistake(*told)
    return text


def _refused(option: click.Option, text: str) -> str:
    """Return why an option does not take a text, in a sentence; empty: it does."""
    try:
        option.type.convert(text, option, None)
    except click.UsageError as error:
        return _clipped(error.message)
    except UsageError as error:
        return _clipped(str(error).removeprefix("--path: "))
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


def _grid(name: str, value: Mapping[str, Any]) -> str:
    """Return a table of axes as --path has it: ``C=[1,10],gamma=[0.1]``."""
    parts = []
    for axis, values in value.items():
        text = _text(f"{name}.{axis}", values, listed=True)
        parts.append(f"{axis}=[{text}]" if isinstance(values, list) else f"{axis}={text}")
    return ",".join(parts)


def _of_names(name: str, value: Any, registry: Registry) -> list[tuple[str, str]]:
    """Return a sentence for each name of a selection that nothing has, or parameter that it does not take."""
    from harness.parameters import check_known

    looks: dict[str, Any] = {
        "plugins": registry.select_solvers,
        "datasets": registry.select_datasets,
        "kernel": registry.select_kernels,
        "formulation": registry.formulation,
        "metrics": lambda text: check_known("metric", text, registry.metrics),
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
