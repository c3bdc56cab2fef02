"""``harness list`` and ``harness describe``: what is there, a line each, and one thing in full."""

from __future__ import annotations

import sys
import textwrap
from dataclasses import MISSING
from typing import TYPE_CHECKING, Any

import click

from harness.cli import options
from harness.report.output import results_alone

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from harness.cli.catalogue import Entry
    from harness.registry.discovery import Registry

_WRAPPED = ("solves", "solvers", "needs", "where", "versions", "description")
_INDENT = "  "
_READABLE_BYTES = 20_000_000  # raw files up to this size are read for a description


@click.command("list", short_help="List solvers, plugins, data sets, kernels ...")
@click.argument("kind", type=click.Choice(options.LISTED_KINDS), default="solvers", metavar="[KIND]")
@click.option("--format", "format_", type=click.Choice(["table", "json"]), default="table", help="How to show it.")
@click.option("--plugin-path", **options.PLUGIN_PATH)
@results_alone()
def listing(kind: str, format_: str, plugin_path: Sequence[str]) -> None:
    """List what the harness and its plugins offer.

    \b
      harness list
      harness list datasets

    KIND is solvers (the default), plugins, datasets, kernels, formulations,
    metrics, formats, observers or commands. A plugin that cannot be loaded is
    listed with its reason.
    """
    from harness.call import request
    from harness.cli import catalogue, commands

    registry = request.loaded(plugin_path)
    show_listing(catalogue.entries(registry, kind), format_)
    if kind == "commands":
        registry.broken.update(commands.of(registry).broken)  # why some are missing
    if kind != "plugins":
        request.warn_of_broken(registry)


def show_listing(found: Sequence[Entry], format_: str) -> None:
    """Print entries as a ``table`` or as ``json``."""
    from harness.report import files, output

    if format_ == "json":
        output.show(files.content("json", [entry.as_dict() for entry in found]).decode())
    else:
        output.show(f"{_table(found, output.width(), styled=output.styled())}\n")


def _table(found: Sequence[Entry], width: int, *, styled: bool = False) -> str:
    """Return the entries as aligned columns, descriptions wrapped."""
    from harness.report.layout import Column, table

    kinds, owners = {entry.kind for entry in found}, {entry.plugin for entry in found}
    with_plugin = "plugin" not in kinds and (len(owners) > 1 or "observer" in kinds)
    titles = [
        "name",
        *(["plugin"] if with_plugin else []),
        *dict.fromkeys(name for entry in found for name in entry.facts),
        *(["description"] if any(entry.summary for entry in found) else []),
    ]
    rows = []
    for entry in found:
        told = {"name": entry.name, "plugin": entry.plugin, "description": entry.summary, **entry.facts}
        values = [told.get(title, "") for title in titles]
        rows.append([" ".join(value) if isinstance(value, (list, tuple)) else str(value) for value in values])
    columns = [Column(title, wrap="words" if title in _WRAPPED else None) for title in titles]
    return table(columns, rows, width, styled=styled)


@click.command("describe", short_help="Describe one of them, with its parameters.")
@click.argument("name")
@click.option("--plugin-path", **options.PLUGIN_PATH)
@results_alone()
def command(name: str, plugin_path: Sequence[str]) -> None:
    """Describe one thing that is listed, with its parameters and their ranges.

    \b
      harness describe lasvm
      harness describe c-svc

    NAME is that of a solver, plugin, data set, kernel, formulation, metric, format or observer.
    """
    from harness.call import request
    from harness.cli import catalogue
    from harness.report import output

    registry = request.loaded(plugin_path)
    texts = [described(entry, registry, output.width()) for entry in catalogue.find(registry, name)]
    output.show("\n\n".join(texts) + "\n")


def described(entry: Entry, registry: Registry, width: int) -> str:
    """Return the description of one thing."""
    from harness.cli.catalogue import docstring

    heading = f"{entry.kind} {entry.name}"
    parts = [heading + (f" (plugin {entry.plugin})" if entry.kind != "plugin" and entry.plugin else "")]
    subject = entry.subject
    text = docstring(subject.module if entry.kind == "plugin" and entry.name in registry.plugins else subject)
    parts.append(_set(text or "(no description)", width) if entry.name not in registry.broken else "")
    if entry.kind == "formulation":  # its mathematics
        parts.append(_set(docstring(sys.modules[subject.__module__]), width))
    told = {"solver": _solver, "data set": _dataset, "formulation": _formulation, "plugin": _plugin}.get(entry.kind)
    if told is not None:
        pairs = [(title, value) for title, value in told(entry, registry) if value]
        parts.append("\n".join(_wrapped(f"{title}: {value}", width, _INDENT, _INDENT) for title, value in pairs))
    if entry.kind == "data set":
        parts.append("\n".join(_raw_file(*file) for file in _files(subject).items()))
    if entry.kind in ("solver", "data set", "kernel", "formulation"):
        parts.append(_parameters(subject.parameter_class if entry.kind == "formulation" else subject, width))
    return "\n\n".join(part for part in parts if part)


def _set(text: str, width: int) -> str:
    """Return a docstring within a width; lines that are set in, as lists and formulas are, stay as they were written."""
    paragraphs = []
    for paragraph in text.split("\n\n"):
        own = paragraph.split("\n")
        as_written = any(line.startswith((" ", "* ", "- ")) or " : " in line for line in own)
        paragraphs.append(
            "\n".join(_INDENT + line for line in own) if as_written else _wrapped(" ".join(own), width, _INDENT)
        )
    return "\n\n".join(paragraphs)


def _wrapped(text: str, width: int, indent: str, hang: str = "") -> str:
    """Return the lines of a text, further ones set in by ``hang``; no word is broken, a name with hyphens neither."""
    return textwrap.fill(
        text,
        width,
        initial_indent=indent,
        subsequent_indent=indent + hang,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _solver(entry: Entry, registry: Registry) -> list[tuple[str, str]]:
    from harness.cli.catalogue import unmarked
    from harness.run.environments import missing
    from harness.solver.protocol import formulation_names, why_target_ignored

    cls = entry.subject
    return [
        ("solves", ", ".join(formulation_names(registry.solved_by(cls)))),
        ("not installed", ", ".join(registry.not_installed(cls))),
        (
            "kernel evaluations",
            "counted by the harness" if cls.observable else "not observable (it computes kernel values by itself)",
        ),
        ("converges to the optimum", "yes" if cls.exact else "no"),
        ("target gap", why_target_ignored(cls)),
        ("requires", ", ".join(cls.requires)),
        ("does not run yet", unmarked(missing(cls.name, cls.requires))),
        ("version", registry.plugins[entry.plugin].release),
    ]


def _formulation(entry: Entry, registry: Registry) -> list[tuple[str, str]]:
    from harness.cli.catalogue import solvers_of

    cls = entry.subject
    solvers = ", ".join(solvers_of(registry, cls)) or "no installed solver"
    columns = [
        (f"column {each.name}{f' [{each.unit}]' if each.unit else ''}", each.meaning.rstrip("."))
        for each in cls.columns
    ]
    return [("task", cls.task), ("constraints", cls.constraints), ("solved by", solvers), *columns]


def _plugin(entry: Entry, registry: Registry) -> list[tuple[str, str]]:
    from harness.cli import catalogue

    if entry.facts["status"] == "broken":
        return [("could not be loaded", entry.summary)]
    plugin = entry.subject
    facts = [("version", plugin.release), ("file", plugin.module.__file__)]
    for kind in options.LISTED_KINDS:
        own = [other.name for other in catalogue.entries(registry, kind) if other.plugin == entry.name]
        facts += [(kind, ", ".join(own))] if kind != "plugins" else []
    return facts


def _dataset(entry: Entry, _registry: Registry) -> list[tuple[str, str]]:
    """Return what is said of a data set; size and defaults are known once the data are read."""
    from harness.datasets import raw_files
    from harness.report import figures
    from harness.support.errors import DataError

    files = _files(entry.subject)
    there = [copies[0] for name in files if (copies := raw_files.copies(name))]
    where = f"all there, under {' and '.join(map(str, raw_files.roots()))}" if files else "none needed"
    if len(there) < len(files):
        where = (
            f"{len(files) - len(there)} of {len(files)} missing; fetch with `harness data fetch {entry.name}`, or set HARNESS_DATA "
            "to the folder that holds them"
        )
    facts = [("description", entry.summary), ("raw files", where)]
    if sum(path.stat().st_size for path in there) > _READABLE_BYTES:
        return [*facts, ("size and defaults", "not read for a description, the files are large")]
    try:
        data = entry.subject().load()
    except (OSError, DataError):
        return facts
    (n, d), n_test = data.x_train.shape, data.x_test.shape[0]
    size = f"{n} x {d}, {n_test} test points"
    return [*facts, ("task", data.task), ("size", size), ("defaults", figures.assignments(data.defaults))]


def _files(cls: Any) -> Mapping[str, str]:
    """Return the raw files of a set, with their checksums."""
    from harness.datasets.catalogue import RawSource

    return cls.files if issubclass(cls, RawSource) else {}


def _raw_file(name: str, sha256: str) -> str:
    """Return a raw file's lines: its name and state, its checksum."""
    from harness.datasets import raw_files

    found, wrong = raw_files.look(name, sha256)
    state = "ok" if found else "wrong checksum, or it cannot be read" if wrong else "missing"
    return f"{_INDENT * 2}{name}: {state}\n{_INDENT * 3}SHA-256 {sha256}"


def _parameters(cls: type, width: int) -> str:
    from harness.cli.catalogue import unmarked
    from harness.support import parameters

    lines: list[str] = []
    for known in parameters.parameters_of(cls):
        bounds = f" in {known.range}" if known.range else ""
        default = "required" if known.default is MISSING else f"default {as_typed(known.default)}"
        lines.append(_wrapped(f"{known.name}: {known.type_name}{bounds}, {default}", width, _INDENT * 2, _INDENT))
        lines += [_wrapped(unmarked(known.doc), width, _INDENT * 4)] if known.doc else []
    return "\n".join([f"{_INDENT}parameters:", *lines] if lines else [f"{_INDENT}no parameters"])


def as_typed(value: Any) -> str:
    """Return a default as a user would type it: ``none``, ``true``, ``(1,2)``."""
    from harness.report import figures
    from harness.support import parameters

    if value is None or isinstance(value, bool):
        return str(value).lower()
    return figures.setting(value) if isinstance(value, float) else parameters.as_text(value)
