"""``harness compare``: from words to settings, through the runner, to a table and an exit code."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import click

from harness.call.settings import SETTINGS
from harness.cli import options
from harness.cli.options import Option
from harness.measure.outcome import FAILED, Status
from harness.report.output import results_alone, say
from harness.support.errors import HarnessError, NotKept, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from harness.registry.discovery import Registry
    from harness.run.plan import Study
    from harness.run.record import Record

_STUDY, _RESULT = "A study as a file", "The result"
_FURTHER = [
    Option(["--study"], metavar="FILE", section=_STUDY,
           help="Take the options from a file: C = [1, 10] in it is --C 1,10. An option of the command replaces one of the file."),
    Option(["--format", "format_"], **options.FORMAT, section=_RESULT, often=True),
    Option(["--output"], **options.OUTPUT, section=_RESULT, often=True),
    Option(["--fresh"], is_flag=True, section=_RESULT,
           help="Measure again what is in the store. Without it, runs of the same code, data and machine are reused."),
    Option(["--yes"], is_flag=True, section=_RESULT, help="Carry out more than a million runs."),
    Option(["--dry-run"], is_flag=True, section=_RESULT,
           help="Measure nothing. Print how many runs there are, how many are in the store, and how long the others may take."),
    Option(["--cells"], is_flag=True, section=_RESULT,
           help="Show a row for each cell of a path. Files other than tables always have them."),
    Option(["--explain"], **options.EXPLAIN, section=_RESULT),
    Option(["--plot"], is_flag=True, section=_RESULT,
           help="Draw relative gap against seconds below the table, of a path the error of each cell."),
    Option(["--store"], **{**options.STORE, "callback": None}, section=_RESULT),
    Option(["--quiet", "-q"], **options.QUIET, section=_RESULT),
]  # fmt: skip

_HELP = """\
Run solvers on data sets, and show a table of what it cost.

\b
  harness compare --plugins lasvm,fw
  harness compare --plugins smo,libsvm --datasets ./my_data.csv --C 1,10
  harness compare --plugins 'lasvm[epochs=[1,2]]' --target-gap 1e-3 --repeat 3

Commas make lists, brackets hold parameters: harness describe lasvm shows
those of a solver. Every run is stored; the same command again reuses it.
"""

_MORE = f"""\
Each run has its own process. The harness counts its kernel evaluations
and certifies its model. A run that fails is a row of the table, and the
others go on.

Exit codes: 0 every run finished, or used up a limit that was set (budget);
1 a run failed ({", ".join(status for status in Status if status in FAILED)}),
ended without being done (unfinished, also after the default time limit) or
without the target gap certified (missed), or every run was skipped;
2 bad usage or bad data; 3 the results could not be stored: they are in the
output alone.
"""


@results_alone()
def compare(ctx: click.Context, /, **given: Any) -> None:
    """Run a comparison, show its table, and exit with 1 if a run failed or missed its target."""
    from harness.call import request, study_file
    from harness.report import formats, output
    from harness.report.progress import reporter

    mistakes, quiet = study_file.Mistakes(), given["quiet"]
    words = {name: given[name] for name in SETTINGS if given[name] not in (None, (), False)}
    words |= {name: list(value) for name, value in words.items() if isinstance(value, tuple)}
    sources = [study_file.parsed(given["study"])] if given["study"] else []
    for file in sources:
        words.setdefault("plugin_path", file.plugin_paths)
    registry = request.loaded(words.get("plugin_path", []), allow_broken=True)
    target = mistakes.collect("", output.checked_output, given["output"])
    form = mistakes.collect("", formats.chosen, given["format_"], given["output"], registry)
    store = given["store"] and mistakes.collect("", output.checked_file, given["store"], "--store", "results.sqlite")
    sources.append(study_file.StudyFile("", None, words))
    further = {"fresh": given["fresh"], "many": given["yes"], "store": store}
    study = request.build_study(sources, registry, mistakes=mistakes, **further)
    assert form is not None, "else it was refused"
    if given["plot"]:
        _check_plot(form, paths=bool(study.path))
    if given["dry_run"]:
        output.deliver(_dry_run(study, registry), target, quiet=quiet)
        ctx.exit(0)

    def deliver(records: Sequence[Record]) -> None:
        _deliver(records, form, target, registry, ctx.meta[_TYPED], given)

    try:
        records = request.run_study(study, registry, reporter(quiet=quiet), quiet=quiet)
    except KeyboardInterrupt:
        ctx.exit(130)
    except NotKept as error:
        _deliver_somewhere(deliver, error.records)
        raise
    try:
        deliver(records)
    except BrokenPipeError:  # nobody reads on
        pass
    except OSError as error:
        stored = "Every run is stored; `harness results` shows them."
        raise UsageError(f"{error.filename}: {error.strerror}. {stored}") from None
    ctx.exit(request.exit_code(records))


def _dry_run(study: Study, registry: Registry) -> str:
    """Return as text what a study would do; nothing is measured and nothing written.

    Raises
    ------
    UsageError, DataError : the request or its data make no runs; the store cannot be read.
    """
    from harness.call.request import notes
    from harness.report.output import MESSAGE_WIDTH, folded
    from harness.run.driver import Driver
    from harness.run.plan import factors
    from harness.run.repeats import MOST
    from harness.run.store import default_store

    driver = Driver(study, registry)
    every, todo = driver.specs, driver.to_do()
    product = " x ".join(f"{count:,} {noun}" for count, noun in factors(study, registry) if count != 1)
    limit = study.limits.time_limit
    most = "" if limit is None or not todo else f", at most {limit * len(todo) / study.jobs / 3600:,.3g} h"
    without = sum(bool(spec.skip_reason or spec.broken_reason) for spec in every)
    if study.part != (1, 1):
        product = f"part {'/'.join(map(str, study.part))} of {product or '1 run'}"
    text = (
        f"{len(every):,} run{'s' * (len(every) != 1)}{f': {product}' if product else ''}; nothing is carried out\n"
        f"{len(every) - len(todo) - without:,} of them in the store {study.store or default_store()}\n"
        + (f"{without:,} of them a row without a run: skipped, or of a broken plugin\n" if without else "")
        + f"{len(todo):,} to carry out{most}\n"
        + (f"each up to {MOST} times, until the fastest solvers are known\n" if study.repeat is None else "")
        + "".join(f"{note}\n" for note in notes(study, every, registry))
    )
    return folded(text, MESSAGE_WIDTH)


def _deliver(
    records: Sequence[Record], form: str, target: Path | None, registry: Registry, typed: str, given: Mapping[str, Any]
) -> None:
    """Print the result, or write it to a file and say what the verdict is."""
    from harness.call import request
    from harness.report import curves, formats, output
    from harness.report.verdict import of_records

    every = request.with_cells(records)
    if given["cells"] or form not in formats.OF_RUNS:
        records = every
    styled, width = target is None and output.styled(), output.width()
    picture = curves.text(every, width=width, styled=styled) if given["plot"] else ""
    shown = {"width": width, "styled": styled, "explain": given["explain"], "picture": picture}
    content = formats.render(form, records, added=registry.report_formats, command=typed, **shown)
    output.deliver(content, target, quiet=given["quiet"])
    if target is not None and not given["quiet"] and (answer := of_records(records)).sentences:
        for line in [*answer.sentences, *answer.further(typed)]:
            say(line.replace("  ", "    ", 1) if line.startswith("  ") else line)  # a line to copy is not broken


def _check_plot(form: str, *, paths: bool) -> None:
    """Refuse to draw where nothing can be drawn, before anything is measured."""
    from harness.report import curves

    if form != "table":
        raise UsageError(f"--plot draws below a table, not in {form}; leave --plot or the other format out.")
    if not paths:
        curves.check("plotext")


def _deliver_somewhere(deliver: Callable[[Sequence[Record]], None], records: Sequence[Record]) -> None:
    """Deliver records that could not be stored: to standard output if the requested file cannot be written either."""
    from harness.report import formats, output

    try:
        deliver(records)
    except HarnessError as error:
        say(f"harness: {error} The records go to standard output, as JSON.")
        output.show(formats.render("json", records))


_TYPED = f"{__name__}.typed"


class Comparison(options.SectionedCommand):
    """The command, which stores its words for the pages that show them."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Store the words, then read them."""
        ctx.meta[_TYPED] = shlex.join([*ctx.command_path.split(), *args])
        return super().parse_args(ctx, args)


command = Comparison(
    "compare",
    params=[*map(options.of_setting, SETTINGS.values()), *_FURTHER],
    callback=click.pass_context(compare),
    help=_HELP,
    epilog=_MORE,
    short_help="Run solvers on data sets and show what it cost.",
)
