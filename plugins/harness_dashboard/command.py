"""``harness dashboard``: measure commits, make the web site of what was measured, and show it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from harness import CommandGroup, UsageError

EXIT_REGRESSION = 1
CONFIG = click.option(
    "--config",
    metavar="FILE",
    type=click.Path(),
    help="asv's configuration file, or its folder.  [default: asv.conf.json]",
)
MACHINE = click.option(
    "--machine", metavar="NAME", help="This machine's name in the history.  [default: its host name]"
)
VERBOSE = click.option("--verbose", is_flag=True, help="Show asv's own progress.")


def _configured(config: str | None) -> Any:
    from harness_dashboard import configuration

    return configuration.load(config or configuration.FILE_NAME)


def _note(sentence: str) -> None:
    if sentence:
        click.echo(f"note: {sentence}", err=True)


@click.group(cls=CommandGroup, short_help="The history of every solver, as a web site.")
def dashboard() -> None:
    """Watch every solver over the commits of a repository, or show a result store as a web site.

    The numbers are kept by asv (airspeed velocity): pip install 'svm-harness[asv]'.
    """


@dashboard.command(short_help="Measure commits of this repository.")
@click.argument("commits", metavar="[RANGE]", default="HEAD")
@click.option("--again", is_flag=True, help="Measure commits anew that were measured before.")
@MACHINE
@CONFIG
@VERBOSE
def run(commits: str, again: bool, machine: str | None, config: str | None, verbose: bool) -> None:
    """Measure the newest commit, or those of RANGE (HEAD~5..HEAD, or one revision), on the pinned grid.

    Each commit is installed beside the libraries of this Python, fits every cell of benchmarks/grid.json, and is saved
    when it is finished. Commits that were measured on this machine are skipped. A solver that fails is no fault of the
    measurement: it is shown as failed.

    Then make the site: harness dashboard build
    """
    from harness_dashboard.measuring import Bench

    bench = Bench.of(_configured(config), machine, verbose=verbose)
    wanted = bench.repository.range(commits)
    _note(bench.repository.edited())
    todo = [commit for commit in wanted if again or not bench.is_measured(commit)]
    if len(todo) < len(wanted):
        click.echo(f"{len(wanted) - len(todo)} of {len(wanted)} commits were measured before; --again measures anew")
    for number, commit in enumerate(todo, start=1):
        click.echo(f"[{number}/{len(todo)}] {commit[:8]} {bench.repository.title(commit)}", err=True)
        began = time.monotonic()
        bench.measure([commit])
        click.echo(f"{commit[:8]}: {bench.measured(commit).summary} in {time.monotonic() - began:.0f} s")


@dashboard.command(short_help="Make the web site.")
@CONFIG
def build(config: str | None) -> None:
    """Make the web site: asv's history of every number, and pages that compare the solvers of a commit.

    It loads nothing over the network, so any web server, or harness dashboard serve, can show it.
    """
    from harness_dashboard import site

    made = site.build(_configured(config))
    click.echo(f"the site is {made.folder} ({made.files} files, {made.bytes / 1e6:.1f} MB)")
    click.echo(f"look at it: harness dashboard serve{f' --config {config}' if config else ''}")


@dashboard.command(short_help="Show the web site on this machine.")
@CONFIG
@click.option("--port", type=click.IntRange(0, 65535), default=8080, show_default=True, help="0: any free one.")
def serve(config: str | None, port: int) -> None:
    """Serve the site that `harness dashboard build` made, to this machine alone, until Ctrl-C."""
    from harness_dashboard.serving import Server

    folder = _configured(config).html_dir
    if not (folder / "index.html").exists():
        raise UsageError(f"there is no site in {folder}; make it first: harness dashboard build.")
    try:
        server = Server(folder, port)
    except OSError as error:
        raise UsageError(
            f"--port: {port} cannot be used ({error.strerror}); name another, or 0 for any free one."
        ) from None
    with server:
        click.echo(f"{server.address} shows {folder}; Ctrl-C stops it")
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            click.echo("stopped")


@dashboard.command(short_help="Add the results of comparisons to the dashboard.")
@CONFIG
@click.option(
    "--store", "stores", multiple=True, metavar="FILE", type=click.Path(dir_okay=False),
    help="The result store.  [default: the user's own] Repeatable.",
)  # fmt: skip
@click.option("--commit", metavar="REV", help="The commit of runs that name none, or one the repository does not have.")
@click.option(
    "--standalone",
    metavar="FOLDER",
    type=click.Path(file_okay=False),
    help="Make a dashboard of the stores alone: no repository needed.",
)
@click.option(
    "--single-file",
    metavar="FILE",
    type=click.Path(),
    help="Write the pages of the stores alone as one HTML file: no asv, no server needed.",
)
def export(
    config: str | None, stores: Sequence[str], commit: str | None, standalone: str | None, single_file: str | None
) -> None:
    """Write what `harness compare` has stored as results of the dashboard, each run at the commit it was measured at.

    Whatever was exported before stays; the same run twice counts once, as it was measured last. Then make the site:
    harness dashboard build.

    With --standalone the folder gets a configuration, a repository with one commit for each state of the code that was
    measured, and the results: harness dashboard build --config FOLDER. The folder is new or empty, or one that this
    made before: it then reads the stores of before anew beside the named ones, and touches no file of another's.

    With --single-file the pages of ours, their scripts and the data are one file, to be opened from a disk or a mail.
    """
    if single_file is not None and (config, commit, standalone) != (None, None, None):
        raise UsageError(
            "--single-file: it is made of the stores alone; give it without --config, --commit, --standalone."
        )
    if standalone is not None and (commit is not None or config is not None):
        raise UsageError(
            "--standalone: it makes its own configuration and commits; give it without --config and --commit."
        )
    from harness import default_store
    from harness_dashboard import export as exporting

    paths = [Path(store) for store in stores] or [default_store()]
    if single_file is not None:
        _write_single(paths, single_file)
        return
    if standalone is not None:
        summary = exporting.standalone(paths, Path(standalone).absolute())
    else:
        summary = exporting.export(paths, _configured(config), commit)
    for line in summary.told():
        click.echo(line)
    for sentence in summary.unread:
        _note(sentence)
    chosen = f" --config {standalone}" if standalone else f" --config {config}" if config else ""
    click.echo(f"make the site: harness dashboard build{chosen}")


def _write_single(stores: Sequence[Path], file: str) -> None:
    from harness import checked_output, deliver
    from harness_dashboard.single import of_stores

    target = checked_output(file, option="--single-file")
    text, summary = of_stores(stores)
    deliver(text, target, quiet=True)
    for line in summary.told(f"{file} ({len(text.encode()) / 1e6:.1f} MB)"):
        click.echo(line)
    for sentence in summary.unread:
        click.echo(f"note: {sentence}", err=True)
    click.echo(f"open it in a browser: {file}")


@dashboard.command(short_help="Compare two commits: is the newer one slower?")
@click.argument("base")
@click.argument("head", default="HEAD")
@click.option(
    "--only", metavar="NAMES", default="", help="Only these solvers, data sets or cells (solver:dataset), * and ? too."
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
@click.option(
    "--output", metavar="FILE", type=click.Path(), help="Write to a file, in one step, instead of to the terminal."
)
@click.option("--keep", is_flag=True, help="Let the numbers enter the history.")
@MACHINE
@CONFIG
@VERBOSE
@click.pass_context
def check(ctx: click.Context, /, base: str, head: str, **given: Any) -> None:
    """Measure the commits BASE and HEAD in turns and print what is worse as a Markdown table.

    Kernel evaluations, core sets, support vectors, test errors and gaps are counts: the same in every run, so any change
    beyond the threshold is real. What looks slower is measured again, and reported if it is slower again. A solver that
    is gone or fails is a regression; a new one is not.

    Exit codes: 0 nothing is worse, 1 something is, 2 the check could not be made.
    """
    from harness import checked_output, deliver
    from harness_dashboard.check import Thresholds
    from harness_dashboard.check import check as compare
    from harness_dashboard.markdown import markdown
    from harness_dashboard.measuring import Bench

    target = checked_output(given["output"])
    bench = Bench.of(_configured(given["config"]), given["machine"], verbose=given["verbose"])
    older, newer = bench.repository.named(base, "BASE").name, bench.repository.named(head, "HEAD").name
    if older == newer:
        raise UsageError(
            f"BASE and HEAD are one commit: '{base}' and '{head}' both name {older[:8]}; name two, the older one first, "
            "as in `harness dashboard check HEAD~1 HEAD`."
        )
    _note(bench.repository.edited())
    report = compare(
        bench,
        older,
        newer,
        thresholds=Thresholds(given["count_threshold"], given["time_factor"], given["memory_factor"]),
        only=[name.strip() for name in given["only"].split(",")] if given["only"] else (),
        keep=given["keep"],
        tell=lambda line: click.echo(line, err=True),
    )
    deliver(markdown(report), target)
    if report.regressions:
        ctx.exit(EXIT_REGRESSION)
