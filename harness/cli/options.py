"""Options in sections, and those that several sub-commands share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from harness.errors import UsageError

if TYPE_CHECKING:
    from harness.call.settings import Setting
    from harness.call.values import Reader

    _Base = click.ParamType[Any]
else:
    _Base = click.ParamType  # takes a type argument in new versions of click only


class Converted(_Base):
    """An option's type from a reader of text."""

    def __init__(self, reader: Reader) -> None:
        self.name, self._reader = reader.name, reader

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the value; a default that is no text passes as it is."""
        if not isinstance(value, str):
            return value
        try:
            return self._reader(value)
        except UsageError as error:
            self.fail(str(error), param, ctx)


class Option(click.Option):
    """An option that belongs to a section of the help."""

    def __init__(self, *args: Any, section: str = "Options", **extra: Any) -> None:
        super().__init__(*args, **extra)
        self.section = section


def of_setting(setting: Setting) -> Option:
    """Return the option of a setting; without it nothing is given."""
    usual = f"  [default: {setting.default}]" if setting.default else ""
    words: dict[str, Any] = {"section": setting.section, "help": setting.help + usual}
    if setting.reader is None:
        words["is_flag"] = True
    else:
        words |= {"type": Converted(setting.reader), "multiple": setting.several, "metavar": setting.reader.name}
    if setting.name == "plugin_path":
        words["callback"] = _after_those_of_the_program
    return Option([f"--{setting.name.replace('_', '-')}", setting.name], **words)


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
        from harness.report.output import checked_file

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
    "help": "table, json, csv, markdown, parquet (a file), or a plugin's.  [default: by the output file's suffix, else table]",
}
EXPLAIN: dict[str, Any] = {"is_flag": True, "help": "Say under the table what its columns and marks mean."}
QUIET: dict[str, Any] = {"is_flag": True, "help": "No progress."}
