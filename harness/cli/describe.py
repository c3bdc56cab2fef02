"""``harness describe``: one thing in full: what it is, its parameters with type, range and default."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import click

from harness.cli import options

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from harness.cli.catalogue import Entry
    from harness.registry import Registry

_INDENT = "  "
_READABLE_BYTES = 20_000_000  # raw files up to this size are read for a description


@click.command("describe", short_help="Describe one of them, with its parameters.")
@click.argument("name")
@click.option("--plugin-path", **options.PLUGIN_PATH)
def command(name: str, plugin_path: Sequence[str]) -> None:
    """Describe the solver, plugin, data set, kernel, formulation or metric called NAME."""
    from harness.call import request
    from harness.cli import catalogue
    from harness.report import output

    registry = request.loaded(plugin_path)
    texts = [described(entry, registry, output.width()) for entry in catalogue.find(registry, name)]
    output.show("\n\n".join(texts) + "\n")


def described(entry: Entry, registry: Registry, width: int) -> str:
    """Return the description of one thing."""
    heading = f"{entry.kind} {entry.name}"
    parts = [heading + (f" (plugin {entry.plugin})" if entry.kind != "plugin" and entry.plugin else "")]
    sections = {"solver": _solver, "data set": _dataset, "formulation": _formulation, "plugin": _plugin}
    parts += (
        sections[entry.kind](entry, registry, width) if entry.kind in sections else _documented(entry.subject, width)
    )
    if entry.kind in ("solver", "data set", "kernel"):
        parts.append(_parameters(entry.subject, width))
    return "\n\n".join(part for part in parts if part)


def _documented(subject: Any, width: int) -> list[str]:
    from harness.cli.catalogue import docstring

    return [_set(docstring(subject) or "(no description)", width)]


def _set(text: str, width: int) -> str:
    """Return a docstring within a width; lines that are set in, as lists and formulas are, stay as they were written."""
    lines: list[str] = []
    for paragraph in text.split("\n\n"):
        own = paragraph.split("\n")
        written = any(line.startswith((" ", "* ", "- ")) for line in own) or any(" : " in line for line in own)
        lines += [_INDENT + line for line in own] if written else _wrapped(" ".join(own), width, _INDENT)
        lines.append("")
    return "\n".join(lines[:-1])


def _wrapped(text: str, width: int, indent: str, hang: str = "") -> list[str]:
    """Return the lines of a text, further ones set in by ``hang``; no word is broken, a name with hyphens neither."""
    return textwrap.wrap(
        text,
        width,
        initial_indent=indent,
        subsequent_indent=indent + hang,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _facts(pairs: Sequence[tuple[str, Any]], width: int) -> str:
    return "\n".join(
        line for title, value in pairs if value for line in _wrapped(f"{title}: {value}", width, _INDENT, _INDENT)
    )


def _solver(entry: Entry, registry: Registry, width: int) -> list[str]:
    cls, plugin = entry.subject, registry.plugins[entry.plugin]
    counted = "counted by the harness" if cls.observable else "not observable (it computes kernel values by itself)"
    facts = [
        ("solves", ", ".join(problem.name for problem in registry.solved_by(cls))),
        ("kernel evaluations", counted),
        ("converges to the optimum", "yes" if cls.exact else "no"),
        ("version", " ".join(part for part in (plugin.distribution, plugin.version) if part)),
    ]
    return [*_documented(cls, width), _facts(facts, width)]


def _dataset(entry: Entry, _registry: Registry, width: int) -> list[str]:
    from harness.cli.catalogue import docstring

    files = _files(entry.subject)
    facts = [("description", entry.summary), ("raw files", _raw_files(files)), *_contents(entry.subject, files)]
    parts = [_set(docstring(entry.subject), width), _facts(facts, width)]
    return [*parts, "\n".join(line for file in files.items() for line in _raw_file(*file))]


def _contents(cls: Any, files: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the size and the default kernel, C and gamma: they are known once the data are read."""
    from harness.datasets.raw import raw_root
    from harness.errors import DataError
    from harness.report import figures

    try:
        weight = sum((raw_root() / name).stat().st_size for name in files)
        if weight > _READABLE_BYTES:
            return [("size and defaults", f"not read for a description, the files have {weight / 1e6:.0f} MB")]
        data = cls().load()
    except (OSError, DataError):
        return []
    (n, d), n_test = data.x_train.shape, data.x_test.shape[0]
    return [
        ("task", data.task),
        ("size", f"{n} x {d}, {n_test} test points"),
        ("defaults", figures.assignments(data.defaults)),
    ]


def _files(cls: Any) -> Mapping[str, str]:
    """Return the raw files that a set reads with its default parameters, with their checksums."""
    from harness.datasets.raw import RawSource

    return cls().raw_files() if issubclass(cls, RawSource) else {}


def _raw_files(files: Mapping[str, str]) -> str:
    """Say where a set's raw files are, or have to be."""
    if not files:
        return "none needed"
    from harness.datasets.raw import raw_root

    root = raw_root()
    missing = sum(not (root / name).is_file() for name in files)
    if not missing:
        return f"all there, under {root}"
    return f"{missing} of {len(files)} missing under {root}; set HARNESS_DATA to the folder that holds them"


def _raw_file(name: str, sha256: str) -> list[str]:
    """Return a raw file's lines: its path under the raw folder and its state, its checksum."""
    from harness.datasets import raw
    from harness.errors import DataError

    state = "missing"
    if (raw.raw_root() / name).is_file():
        try:
            raw.verified(name, sha256, wanted_by=name)
            state = "ok"
        except DataError:
            state = "wrong checksum"
        except OSError as error:
            state = f"cannot be read ({error.strerror})"
    return [f"{_INDENT * 2}{name}: {state}", f"{_INDENT * 3}SHA-256 {sha256}"]


def _formulation(entry: Entry, registry: Registry, width: int) -> list[str]:
    import sys

    from harness.cli.catalogue import docstring, solvers_of

    cls = entry.subject
    facts = [
        ("task", cls.task),
        ("constraints", cls.constraints),
        ("solved by", ", ".join(solvers_of(registry, cls)) or "no installed solver"),
    ]
    mathematics = docstring(sys.modules[cls.__module__])
    return [
        *_documented(cls, width),
        _set(mathematics, width),
        _facts(facts, width),
        _parameters(cls.parameter_class, width),
    ]


def _plugin(entry: Entry, registry: Registry, width: int) -> list[str]:
    from harness.cli import catalogue

    if entry.facts["status"] == "broken":
        return [_facts([("could not be loaded", entry.summary)], width)]
    plugin = entry.subject
    facts = [
        ("version", " ".join(part for part in (plugin.distribution, plugin.version) if part)),
        ("file", plugin.module.__file__),
    ]
    for kind in ("solvers", "datasets", "kernels", "formulations", "metrics", "commands"):
        own = [other.name for other in catalogue.entries(registry, kind) if other.plugin == entry.name]
        facts.append((kind, ", ".join(own)))
    return [*_documented(plugin.module, width), _facts(facts, width)]


def _parameters(cls: type, width: int) -> str:
    from harness.cli.about import parameters_told

    lines: list[str] = []
    for told in parameters_told(cls):
        bounds = f" in {told['range']}" if told["range"] else ""
        default = told["default"] if told["default"] == "required" else f"default {told['default']}"
        lines += _wrapped(f"{told['name']}: {told['type']}{bounds}, {default}", width, _INDENT * 2, _INDENT)
        lines += _wrapped(told["meaning"], width, _INDENT * 4)
    return "\n".join([f"{_INDENT}parameters:", *lines] if lines else [f"{_INDENT}no parameters"])
