"""Options in sections, and those that several sub-commands share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from harness.support.errors import UsageError

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
    """An option that belongs to a section of the help.

    often : it is one of the few that the short help shows
    """

    def __init__(self, *args: Any, section: str = "Options", often: bool = False, **extra: Any) -> None:
        super().__init__(*args, **extra)
        self.section, self.often = section, often


def of_setting(setting: Setting) -> Option:
    """Return the option of a setting: its text, read with all others; without it nothing is given."""
    usual = f"  [default: {setting.default}]" if setting.default else ""
    words: dict[str, Any] = {"section": setting.section, "often": setting.often, "help": setting.help + usual}
    if setting.reader is None:
        words["is_flag"] = True
    else:
        words |= {"multiple": setting.several, "metavar": setting.reader.name}
    if setting.name == "plugin_path":
        words["callback"] = _after_those_of_the_program
    names = [f"--{setting.name.replace('_', '-')}", *(["--solvers"] if setting.name == "plugins" else [])]
    return Option([*names, setting.name], **words)


class SectionedCommand(click.Command):
    """A command whose help lists its options by section, and first the short list of those that are used often, if any."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the parameters, ``--help-all`` among them where the help is a short one."""
        params = super().get_params(ctx)
        return [*params, _help_all()] if self._often else params

    @property
    def _often(self) -> list[click.Parameter]:
        return [each for each in self.params if getattr(each, "often", False)]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write one list of options a section, in the order in which the sections first occur; a short help has some alone."""
        params = self.get_params(ctx)
        if self._often and _ALL not in ctx.meta:
            params = [*self._often, *params[len(self.params) :]]
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in params:
            if (line := parameter.get_help_record(ctx)) is not None:
                sections.setdefault(getattr(parameter, "section", "Help"), []).append(line)
        for title, lines in sections.items():
            with formatter.section(title):
                formatter.write_dl(lines)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write what comes after the options; nothing in a short help."""
        if _ALL in ctx.meta or not self._often:
            super().format_epilog(ctx, formatter)


_ALL = f"{__name__}.all"


def _help_all() -> click.Option:
    def show(ctx: click.Context, _option: click.Parameter, given: bool) -> None:
        if given:
            ctx.meta[_ALL] = True
            click.echo(ctx.get_help())
            ctx.exit()

    return click.Option(["--help-all"], is_flag=True, is_eager=True, expose_value=False, callback=show,
                        help="Show all options, by what they are about.")  # fmt: skip


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
    "help": "The file of the result store.  [default: `harness results --path` prints it]",
}
OUTPUT: dict[str, Any] = {"metavar": "FILE", "type": click.Path(), "help": "Write to a file, not to the terminal."}
FORMAT: dict[str, Any] = {
    "metavar": "FORMAT",
    "help": "table, markdown, latex, html (a page with charts), csv, json, parquet (a file), or a plugin's own.  [default: by the "
    "suffix of --output, else table]",
}
EXPLAIN: dict[str, Any] = {"is_flag": True, "help": "Explain the columns and marks under the table."}
QUIET: dict[str, Any] = {"is_flag": True, "help": "Show no progress."}
