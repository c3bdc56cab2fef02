"""Options in sections, and those that several sub-commands share."""

from __future__ import annotations

from typing import Any

import click

from harness.cli import names


class Option(click.Option):
    """An option that belongs to a section of the help."""

    def __init__(self, *args: Any, section: str = "Options", **extra: Any) -> None:
        super().__init__(*args, **extra)
        self.section = section


class SectionedCommand(click.Command):
    """A command whose help lists its options by section."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write one list of options a section, in the order in which the sections first occur."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            shown = parameter.get_help_record(ctx)
            if shown is not None:
                sections.setdefault(getattr(parameter, "section", "Other"), []).append(shown)
        for title, shown_options in sections.items():
            with formatter.section(title):
                formatter.write_dl(shown_options)


def _after_those_of_the_program(
    ctx: click.Context, _option: click.Parameter, given: tuple[str, ...]
) -> tuple[str, ...]:
    """Return what a command was given after what stands before it: ``harness --plugin-path a.py list``."""
    return (*ctx.find_root().params.get("plugin_path", ()), *given)


def _in_a_folder_that_is_there(_ctx: click.Context, option: click.Parameter, given: str | None) -> str | None:
    """Refuse a folder, and a file in a folder that is not there."""
    if given is not None:
        from harness.cli.output import checked_file

        checked_file(given, option.opts[0], "results.sqlite")
    return given


PLUGIN_PATH: dict[str, Any] = {
    "multiple": True,
    "callback": _after_those_of_the_program,
    "metavar": "FILE",
    "type": click.Path(),
    "help": "A plugin that is not installed: a .py file or a package folder. Repeatable.",
}
STORE: dict[str, Any] = {
    "metavar": "FILE",
    "callback": _in_a_folder_that_is_there,
    "help": "The result store, a file.  [default: the user's own: harness results --path]",
}
OUTPUT: dict[str, Any] = {
    "metavar": "FILE",
    "type": click.Path(),
    "help": "Write to a file, in one step, instead of to the terminal.",
}
FORMAT: dict[str, Any] = {
    "metavar": "FORMAT",
    "shell_complete": names.single("formats"),
    "help": "table, json, csv, markdown, parquet (a file), or a plugin's.  [default: by the output file's suffix, else table]",
}
LISTING_FORMAT: dict[str, Any] = {
    "type": click.Choice(["table", "json"]),
    "default": "table",
    "show_default": True,
    "help": "How to show it.",
}
