"""``harness list``: what is there, a line each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from harness.cli import options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.cli.catalogue import Entry

# The same names as catalogue.KINDS, which is imported when the command runs.
_KINDS = ["solvers", "plugins", "datasets", "kernels", "formulations", "metrics", "commands"]


@click.command("list", short_help="List solvers, plugins, data sets, kernels ...")
@click.argument("kind", type=click.Choice(_KINDS), default="solvers")
@click.option("--format", "format_", **options.LISTING_FORMAT)
@click.option("--plugin-path", **options.PLUGIN_PATH)
def command(kind: str, format_: str, plugin_path: Sequence[str]) -> None:
    """List what the harness and its plugins offer; KIND is `solvers` if not given.

    A plugin that cannot be loaded is listed with its reason.
    """
    from harness.call import request
    from harness.cli import catalogue
    from harness.report import files, output

    registry = request.loaded(plugin_path)
    found = catalogue.entries(registry, kind)
    if format_ == "json":
        output.show(files.content("json", [entry.as_dict() for entry in found]).decode())
    else:
        output.show(f"{table(found, output.width(), styled=output.styled())}\n")
    if kind != "plugins":
        request.warn_of_broken(registry)


def table(found: Sequence[Entry], width: int, *, styled: bool = False) -> str:
    """Return the entries as aligned columns, descriptions wrapped."""
    from harness.report import layout

    facts = list(dict.fromkeys(name for entry in found for name in entry.facts))
    own = [entry.kind == "plugin" for entry in found]
    plugin = [] if all(own) or len({entry.plugin for entry in found}) < 2 else [layout.Column("plugin")]
    columns = [
        layout.Column("name"),
        *plugin,
        *[layout.Column(name, wrap="words" if name in ("solves", "solvers") else None) for name in facts],
        layout.Column("description", wrap="words"),
    ]
    rows = []
    for entry in found:
        values = [entry.facts.get(name, "") for name in facts]
        texts = [" ".join(value) if isinstance(value, list) else str(value) for value in values]
        rows.append([entry.name, *([entry.plugin] if plugin else []), *texts, entry.summary])
    return layout.table(columns, rows, width, styled=styled)
