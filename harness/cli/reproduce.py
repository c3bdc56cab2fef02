"""``harness reproduce``: the studies of papers, which lie in the repository beside the package."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import click

from harness.call import values
from harness.cli import options
from harness.cli.options import Converted, Option
from harness.support.errors import UsageError

ROOT = Path(__file__).resolve().parents[2]
"""The clone, if the package lies in one."""

_WHAT, _HOW, _RESULT = "What to measure", "How to measure", "The result"


PARAMETERS: list[click.Parameter] = [
    click.Argument(["studies"], nargs=-1, metavar="[STUDY]..."),
    Option(["--quick", "plan"], flag_value="quick", section=_WHAT,
           help="A small honest version: data that need no download, minutes of work."),
    Option(["--full", "plan"], flag_value="full", section=_WHAT, help="All of it, on the paper's data: hours."),
    Option(["--part"], type=Converted(values.NAMES), section=_WHAT, help="Only these parts: figure8,table3.  [default: all]"),
    Option(["--sets"], type=Converted(values.LABELS), section=_WHAT, help="Only these data sets.  [default: those of each part]"),
    Option(["--limit"], type=Converted(values.DURATION), section=_HOW, help="Time in a solver that stops a run: 90s, 1h."),
    Option(["--keep"], is_flag=True, section=_HOW, help="Measure nothing again that is in the folder, whatever code measured it."),
    Option(["--fresh"], is_flag=True, section=_HOW, help="Measure again what is in the store."),
    Option(["--store"], **options.STORE, section=_HOW),
    Option(["--out"], metavar="FOLDER", type=click.Path(file_okay=False), section=_RESULT,
           help="Folder of the results and the page.  [default: reproduced/STUDY-quick, reproduced/STUDY]"),
    Option(["--into-reports"], is_flag=True, section=_RESULT, help="The study's own folder in reports; only with --full."),
    Option(["--page"], is_flag=True, section=_RESULT, help="Measure nothing, only write the page of the results."),
    Option(["--overview"], is_flag=True, section=_RESULT, help="Write reports/README.md and WHAT_WE_LEARNED.md, and nothing else."),
    Option(["--quiet", "-q"], **options.QUIET, section=_RESULT),
]  # fmt: skip

_HELP = """\
Measure the studies of papers again, and write their pages.

Without a study all are listed, with a study alone its parts: what they take, and the data they need. Each run is on
disk before the next one starts; the same command again goes on where it stopped.

\b
harness reproduce
harness reproduce lasvm-2005 --part figure8 --quick
harness reproduce all --quick

Exit codes: 0 every run did what was asked, 1 a run failed, was stopped or could not be measured, 2 bad usage or bad
data, 3 results could not be stored, 130 interrupted.
"""


def kit(name: str) -> Any:
    """Return a module of what the studies share.

    Raises
    ------
    UsageError : the package is not in a clone, or what draws the pictures is not installed.
    """
    if not (ROOT / "reports" / "kit" / f"{name}.py").is_file():
        raise UsageError(
            "the studies are in the repository, not in the package: clone it, install it with pip install -e '.[report]' and "
            "call harness reproduce again."
        )
    if str(ROOT) not in sys.path:
        sys.path.insert(0, str(ROOT))
    try:
        return importlib.import_module(f"reports.kit.{name}")
    except ModuleNotFoundError as error:
        if error.name not in ("jinja2", "matplotlib", "tabulate"):
            raise
        raise UsageError(f"the studies' pages need {error.name}; install it: pip install -e '.[report]'.") from error


def reproduce(ctx: click.Context, /, **given: Any) -> None:
    """List the studies, or measure them, and exit with 1 if a run failed."""
    ctx.exit(kit("command").reproduce(given))


command = options.SectionedCommand(
    "reproduce",
    params=PARAMETERS,
    callback=click.pass_context(reproduce),
    help=_HELP,
    short_help="Measure the studies of papers again.",
)
