"""``harness list`` and ``harness describe``: what is there, a line each, and one thing in full."""

from __future__ import annotations

import itertools
import sys
import textwrap
from dataclasses import MISSING
from typing import TYPE_CHECKING, Any

import click

from harness.cli import catalogue, commands, options
from harness.cli.catalogue import Entry, docstring, solvers_of, unmarked
from harness.report.output import results_alone

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from harness.registry.discovery import Registry

_INDENT = "  "
_READABLE_BYTES = 20_000_000  # raw files up to this size are read for a description


@click.command("list", short_help="List solvers, plugins, data sets, kernels ...")
@click.argument("kind", type=click.Choice(list(catalogue.LISTED)), default="solvers", metavar="[KIND]")
@click.option("--format", "format_", type=click.Choice(["table", "json"]), default="table", help="How to show it.")
@click.option("--plugin-path", **options.PLUGIN_PATH)
@results_alone()
def listing(kind: str, format_: str, plugin_path: Sequence[str]) -> None:
    """List what the harness and its plugins offer.

    \b
      harness list
      harness list datasets

    KIND is solvers (the default), plugins, datasets, kernels, formulations,
    metrics, formats, executors, observers or commands. A plugin that cannot be
    loaded is listed with its reason. A name that several plugins have is
    listed as plugin/name, and selected so; those of the harness are not renamed.
    """
    from harness.call import request

    registry = request.loaded(plugin_path, allow_broken=True)
    show_listing(catalogue.entries(registry, kind), format_)
    if kind == "commands":
        registry.broken.update(commands.of(registry).broken)  # why some are missing
    if kind != "plugins":
        request.warn_of_broken(registry)


def show_listing(entries: Sequence[Entry], format_: str) -> None:
    """Print entries as a ``table`` or as ``json``."""
    from harness.report import files, output

    if format_ == "json":
        output.show(files.content("json", [entry.as_dict() for entry in entries]).decode())
    elif not entries:
        output.say("there are none.")
    else:
        output.show("".join(f"{line}\n" for line in _lines(entries, output.width(), styled=output.styled())))


def _lines(entries: Sequence[Entry], width: int, *, styled: bool) -> Iterator[str]:
    """Yield a heading for each plugin, and below it its entries: names on the left, descriptions and facts on the right."""
    from harness.report.layout import in_style
    from harness.report.output import BOLD

    room = max(len(entry.name) for entry in entries) + 2 * len(_INDENT)
    for plugin, group in itertools.groupby(entries, lambda entry: entry.plugin):
        if plugin and entries[0].kind != "plugin":
            yield from [""] * (plugin != entries[0].plugin)
            yield in_style(plugin, BOLD * styled)
        for entry in group:
            facts = "; ".join(f"{title}: {_plain(value)}" for title, value in entry.facts.items() if value)
            texts = [wrapped(text, width, " " * room) for text in (entry.summary, facts) if text]
            yield f"{_INDENT}{entry.name}".ljust(room) + "\n".join(texts).lstrip()


def _plain(value: Any) -> str:
    return " ".join(value) if isinstance(value, list | tuple) else str(value)


@click.command("describe", short_help="Describe one of them, with its parameters.")
@click.argument("name")
@click.option("--plugin-path", **options.PLUGIN_PATH)
@results_alone()
def command(name: str, plugin_path: Sequence[str]) -> None:
    """Describe one thing that is listed, with its parameters and their ranges.

    \b
      harness describe lasvm
      harness describe c-svc

    NAME is that of a solver, plugin, data set, kernel, formulation, metric, format, executor or observer.
    """
    from harness.call import request
    from harness.report import output

    registry = request.loaded(plugin_path)
    texts = [described(entry, registry, output.width()) for entry in catalogue.find(registry, name)]
    output.show("\n\n".join(texts) + "\n")


def described(entry: Entry, registry: Registry, width: int) -> str:
    """Return the description of one thing."""
    heading = f"{entry.kind} {entry.name}"
    parts = [heading + (f" (plugin {entry.plugin})" if entry.kind != "plugin" and entry.plugin else "")]
    subject = entry.subject
    text = docstring(subject.module if entry.kind == "plugin" and entry.name in registry.plugins else subject)
    parts.append(_set(text or "(no description)", width) if entry.name not in registry.broken else "")
    if entry.kind == "formulation":  # its mathematics
        parts.append(_set(docstring(sys.modules[subject.__module__]), width))
    facts = {"solver": _solver, "data set": _dataset, "formulation": _formulation, "plugin": _plugin}.get(entry.kind)
    pairs = [(title, value) for title, value in facts(entry, registry) if value] if facts else []
    parts.append("\n".join(wrapped(f"{title}: {value}", width, _INDENT, _INDENT) for title, value in pairs))
    if entry.kind in ("solver", "data set", "kernel", "formulation"):
        parts.append(_parameters(subject.parameter_class if entry.kind == "formulation" else subject, width))
    return "\n\n".join(part for part in parts if part)


def _set(text: str, width: int) -> str:
    """Return a docstring within a width; lines that are set in, as lists and formulas are, stay as they were written."""
    paragraphs = []
    for paragraph in text.split("\n\n"):
        lines = paragraph.split("\n")
        as_written = any(line.startswith((" ", "* ", "- ")) or " : " in line for line in lines)
        written = "\n".join(_INDENT + line for line in lines)
        paragraphs.append(written if as_written else wrapped(" ".join(lines), width, _INDENT))
    return "\n\n".join(paragraphs)


def wrapped(text: str, width: int, indent: str, hang: str = "") -> str:
    """Return the lines of a text, further ones set in by ``hang``; no word is broken, a name with hyphens neither."""
    whole: dict[str, Any] = {"break_long_words": False, "break_on_hyphens": False}
    return textwrap.fill(text, width, initial_indent=indent, subsequent_indent=indent + hang, **whole)


def _solver(entry: Entry, registry: Registry) -> list[tuple[str, str]]:
    from harness.run.environments import missing
    from harness.solver.protocol import why_target_ignored

    cls = entry.subject
    counted = "counted by the harness" if cls.observable else "not observable (it computes kernel values by itself)"
    return [
        ("solves", ", ".join(registry.name_of("formulation", solved) for solved in registry.solved_by(cls))),
        ("not installed", ", ".join(registry.not_installed(cls))),
        ("kernel evaluations", counted),
        ("converges to the optimum", "yes" if cls.exact else "no"),
        ("target gap", why_target_ignored(cls)),
        ("requires", ", ".join(cls.requires)),
        ("depends on", _depends_on(cls)),
        ("does not run yet", unmarked(missing(cls.name, cls.requires))),
        ("version", registry.plugins[entry.plugin].release),
    ]


def _depends_on(cls: Any) -> str:
    """Return the programs and files that a solver with its default parameters declares in ``depends_on``."""
    from harness.run.dependencies import declared

    try:
        return ", ".join(declared(cls()))
    except Exception as error:  # the plugin's code; or a parameter has no default
        return f"unknown ({' '.join(str(error).split())})"


def _formulation(entry: Entry, registry: Registry) -> list[tuple[str, str]]:
    cls = entry.subject
    solvers = ", ".join(solvers_of(registry, cls)) or "no installed solver"
    units = {each.name: f" [{each.unit}]" * bool(each.unit) for each in cls.columns}
    columns = [(f"column {each.name}{units[each.name]}", each.meaning.rstrip(".")) for each in cls.columns]
    return [("task", cls.task), ("constraints", cls.constraints), ("solved by", solvers), *columns]


def _plugin(entry: Entry, registry: Registry) -> list[tuple[str, str]]:
    if entry.facts["status"] == "broken":
        return [("could not be loaded", entry.summary)]
    plugin = entry.subject
    facts = [("version", plugin.release), ("file", plugin.module.__file__)]
    for listed in (listed for listed, kind in catalogue.LISTED.items() if kind != "plugin"):
        names = [other.name for other in catalogue.entries(registry, listed) if other.plugin == entry.name]
        facts.append((listed, ", ".join(names)))
    return facts


def _dataset(entry: Entry, _registry: Registry) -> list[tuple[str, str]]:
    """Return description, raw files, size and defaults of a data set; the last two are known once the data are read."""
    from harness.datasets import raw_files
    from harness.datasets.catalogue import RawSource
    from harness.report import figures
    from harness.support.errors import DataError

    files = entry.subject.files if issubclass(entry.subject, RawSource) else {}
    there = [copies[0] for name in files if (copies := raw_files.copies(name))]
    where = f"all there; `harness data verify {entry.name}` checks them" if files else "none needed"
    if len(there) < len(files):
        where = f"{len(files) - len(there)} of {len(files)} missing; fetch with `harness data fetch {entry.name}`"
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


def _parameters(cls: type, width: int) -> str:
    from harness.support import parameters

    lines: list[str] = []
    for known in parameters.parameters_of(cls):
        bounds = f" in {known.range}" if known.range else ""
        default = "required" if known.default is MISSING else f"default {as_typed(known.default)}"
        lines.append(wrapped(f"{known.name}: {known.type_name}{bounds}, {default}", width, _INDENT * 2, _INDENT))
        lines += [wrapped(unmarked(known.doc), width, _INDENT * 4)] if known.doc else []
    return "\n".join([f"{_INDENT}parameters:", *lines] if lines else [f"{_INDENT}no parameters"])


def as_typed(value: Any) -> str:
    """Return a default as a user would type it: ``none``, ``true``, ``(1,2)``."""
    from harness.report import figures
    from harness.support import parameters

    if value is None or isinstance(value, bool):
        return str(value).lower()
    return figures.setting(value) if isinstance(value, float) else parameters.as_text(value)
