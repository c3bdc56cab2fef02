"""``harness dashboard check``: whether one commit is worse than another."""

from __future__ import annotations

from typing import Any

import click

from harness.cli import options, values
from harness.cli.dashboard.shared import CONFIG

EXIT_REGRESSION = 1


@click.command("check", short_help="Compare two commits: is the newer one slower?")
@click.argument("base")
@click.argument("head", default="HEAD")
@click.option(
    "--only", type=values.LABELS, help="Only these solvers, data sets or cells (solver:dataset), * and ? too."
)
@click.option(
    "--time-factor",
    type=click.FloatRange(min=1.0, min_open=True),
    default=1.3,
    show_default=True,
    help="A CPU time is worse beyond this factor.",
)
@click.option(
    "--count-threshold",
    type=click.FloatRange(min=0.0),
    default=0.01,
    show_default=True,
    help="A count is worse beyond this relative change.",
)
@click.option(
    "--memory-factor",
    type=click.FloatRange(min=1.0, min_open=True),
    default=1.5,
    show_default=True,
    help="The memory of a fit is worse beyond this factor.",
)
@click.option("--output", **options.OUTPUT)
@click.option("--keep", is_flag=True, help="Let the numbers enter the history.")
@click.option("--machine", metavar="NAME", help="This machine's name in the history.  [default: its host name]")
@click.option("--config", **CONFIG)
@click.option("--verbose", is_flag=True, help="Show asv's own progress.")
@click.pass_context
def command(ctx: click.Context, /, base: str, head: str, **given: Any) -> None:
    """Measure the commits BASE and HEAD in turns and print what is worse as a Markdown table.

    Kernel evaluations, core sets, support vectors, test errors and gaps are counts: the same in every run, so any change
    beyond the threshold is real. What looks slower is measured again, and reported if it is slower again. A solver that
    is gone or fails is a regression; a new one is not.

    Exit codes: 0 nothing is worse, 1 something is, 2 the check could not be made.
    """
    from harness.cli import output
    from harness.dashboard import configuration
    from harness.dashboard.check import Thresholds, check
    from harness.dashboard.markdown import markdown
    from harness.dashboard.measuring import Bench, commit_of

    target = output.checked(given["output"])
    configured = configuration.load(given["config"] or configuration.FILE_NAME)
    report = check(
        Bench.of(configured, given["machine"], verbose=given["verbose"]),
        commit_of(configured, base, "BASE"),
        commit_of(configured, head, "HEAD"),
        thresholds=Thresholds(given["count_threshold"], given["time_factor"], given["memory_factor"]),
        only=given["only"] or (),
        keep=given["keep"],
        tell=lambda line: click.echo(line, err=True),
    )
    output.deliver(markdown(report), target)
    if report.regressions:
        ctx.exit(EXIT_REGRESSION)
