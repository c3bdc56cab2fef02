"""The command ``harness dashboard``: measure commits, compare two commits, and make pages of the results."""

from __future__ import annotations

import functools
import os
import re
import shlex
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from harness import CommandGroup, UsageError

EXIT_REGRESSION = 1
CONFIG = click.option(
    "--config", metavar="FILE", type=click.Path(), help="asv's configuration file, or its folder.  [default: asv.conf.json]"
)  # fmt: skip
MACHINE = click.option("--machine", metavar="NAME", help="This machine's name in the history.  [default: its host's]")
SECONDS_PER_COMMIT = 8.0  # [s] to install a commit and to start asv
SECONDS_PER_CELL = 3.0  # [s] for a cell with compilation, if the grid was never measured
NOT_MEASURED = "some files have edits that are not committed; only commits are measured"


def _configured(config: str | None) -> Any:
    from harness_dashboard import configuration

    return configuration.load(config or configuration.FILE_NAME)


def _note(sentence: str) -> None:
    click.echo(f"note: {sentence}", err=True)


_progress = functools.partial(click.echo, err=True)


@click.group(cls=CommandGroup, short_help="The history of every solver, as a web site.")
def dashboard() -> None:
    """Show a result store as a web page, or measure every solver over the commits of a repository.

    \b
      harness dashboard export --single-file page.html
      harness dashboard run HEAD~5..HEAD

    The single file needs no other files. The history needs asv (airspeed velocity): pip
    install 'svm-harness[asv]'.
    """


@dashboard.command(short_help="Write the files for a history in a plugin's repository.")
@click.argument("file", required=False)
def init(file: str | None) -> None:
    """Write the files for a history over commits: asv.conf.json, a grid, a folder of benchmarks and a gate for CI.

    \b
      harness dashboard init
      harness dashboard init my_solver.py

    The grid has the solvers of the plugin in this folder, which must be installed (pip install -e .), and one to compare
    with. FILE is a solver without a project, for which a pyproject.toml is written. No file is overwritten.
    """
    from harness_dashboard.init import project

    files = project(Path.cwd(), file)
    if existing := [os.path.relpath(path) for path in files if path.exists()]:
        raise UsageError(f"nothing was written, as {', '.join(existing)} exist; remove the files to replace.")
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        click.echo(f"wrote {os.path.relpath(path)}")
    folder = next(path.parent for path in files if path.name == "asv.conf.json")
    move = "" if folder == Path.cwd() else f"  cd {shlex.quote(str(folder))}\n"
    click.echo(
        f"Next:\n{move}  git add --all && git commit -m 'A history of the solvers'\n  harness dashboard run HEAD\n"
        "  harness dashboard build"
    )


@dashboard.command(short_help="Measure commits of this repository.")
@click.argument("commits", metavar="[RANGE]", default="HEAD")
@click.option("--again", is_flag=True, help="Also measure commits that were measured before.")
@MACHINE
@CONFIG
def run(commits: str, again: bool, machine: str | None, config: str | None) -> None:
    """Measure the newest commit, or those of RANGE (HEAD~5..HEAD, or one revision), on the pinned grid.

    \b
      harness dashboard run HEAD~5..HEAD

    Each commit is installed over the libraries of this Python, fits every cell of benchmarks/grid.json, and is saved
    when it is finished. Cells that differ from the previous commit are measured again, both commits in turns, and listed if
    they differ again. Commits that were measured on this machine are skipped. A solver that fails is listed as failed.

    Then make the site: harness dashboard build
    """
    from harness_dashboard.check import check_history, markdown
    from harness_dashboard.measuring import Bench, grid, summary

    bench = Bench.of(_configured(config), machine)
    requested = bench.repository.range(commits)
    if bench.repository.has_edits():
        _note(NOT_MEASURED)
    todo = [commit for commit in requested if again or not bench.is_measured(commit)]
    if len(todo) < len(requested):
        click.echo(
            f"{len(requested) - len(todo)} of {len(requested)} commits were measured before; --again measures them again"
        )
    if not todo:
        return
    cells, expected = len(grid(bench.configuration)), bench.expected_seconds()
    seconds = len(todo) * (SECONDS_PER_COMMIT + (expected or cells * SECONDS_PER_CELL))
    why = "as the last commit did" if expected else f"at {SECONDS_PER_CELL:g} s a cell, on an idle machine"
    _progress(
        f"commits: {len(todo)}, cells: {cells}; they take at least {seconds:.0f} s, {why}, and longer if cells differ, as these "
        "are measured again"
    )
    for number, commit in enumerate(todo, start=1):
        _progress(f"[{number}/{len(todo)}] {commit[:8]} {bench.repository.title(commit)}")
        began = time.monotonic()
        bench.measure(commit)
        line, reasons = summary(bench.measured(commit))
        click.echo(f"{commit[:8]}: {line} in {time.monotonic() - began:.0f} s")
        for reason in reasons:
            _note(reason)
        if (older := bench.measured_ancestor(commit)) is not None:
            report = check_history(bench, older, commit, notify=_progress)
            bench.save_changes(commit, older, [vars(change) for change in report.changes])
            click.echo(markdown(report), nl=False)


@dashboard.command(short_help="Make the web site.")
@CONFIG
def build(config: str | None) -> None:
    """Make the web site: asv's history of every number, and a page that compares the solvers.

    \b
      harness dashboard build

    It loads nothing over the network and works with any web server.
    """
    from harness_dashboard.measuring import publish

    folder = publish(_configured(config))
    click.echo(f"the site is {folder}")
    click.echo(f"to open it, run: python -m http.server --bind 127.0.0.1 --directory {folder}")


@dashboard.command(short_help="Add the results of comparisons to the dashboard.")
@CONFIG
@click.option(
    "--store", "stores", multiple=True, metavar="FILE", type=click.Path(dir_okay=False),
    help="The result store.  [default: the user's] Repeatable.",
)  # fmt: skip
@click.option("--commit", metavar="REV", help="The commit of runs without one, or with one that the repository lacks.")
@click.option(
    "--single-file", metavar="FILE", type=click.Path(),
    help="Write only the pages of the stores, as one HTML file that needs no asv and no server.",
)  # fmt: skip
def export(config: str | None, stores: Sequence[str], commit: str | None, single_file: str | None) -> None:
    """Add the stored results of `harness compare` to the dashboard, each run at the commit at which it was measured.

    \b
      harness dashboard export --single-file page.html

    Earlier exports remain; of a run that was repeated only the last result counts. Then make the site:
    harness dashboard build.

    With --single-file the pages, their scripts and the data are one file, which opens from a disk or a mail.
    """
    from harness import default_store
    from harness.report.output import checked_output, deliver

    paths = [Path(store) for store in stores] or [default_store()]
    if single_file is None:
        from harness_dashboard.export import export as add

        summary = add(paths, _configured(config), commit)
        then = f"make the site: harness dashboard build{f' --config {config}' if config else ''}"
    else:
        if (config, commit) != (None, None):
            raise UsageError("--single-file cannot be combined with --config and --commit; leave these out.")
        from harness_dashboard.page import of_stores

        target = checked_output(single_file, option="--single-file")
        named = "".join(f" --store {store}" for store in stores)
        text, summary = of_stores(paths, command=f"harness dashboard export --single-file {single_file}{named}")
        deliver(text, target, quiet=True)
        then = f"open it in a browser: {single_file} ({len(text.encode()) / 1e6:.1f} MB)"
    click.echo(f"exported {summary.what()}")
    for sentence in summary.notes():
        _note(sentence)
    click.echo(then)


@dashboard.command(short_help="Compare two commits: is the newer one slower?")
@click.argument("base")
@click.argument("head", default="HEAD")
@click.option(
    "--only", metavar="NAMES", default="", help="Only these solvers, data sets or cells (solver:dataset), * and ? too."
)
@click.option(
    "--time-factor", type=click.FloatRange(min=1.0, min_open=True), default=1.3, show_default=True,
    help="A CPU time is worse beyond this factor.",
)  # fmt: skip
@click.option(
    "--count-threshold", type=click.FloatRange(min=0.0), default=0.01, show_default=True,
    help="A count is worse beyond this relative change.",
)  # fmt: skip
@click.option(
    "--memory-factor", type=click.FloatRange(min=1.0, min_open=True), default=1.1, show_default=True,
    help="The peak memory of a run is worse beyond this factor.",
)  # fmt: skip
@MACHINE
@CONFIG
@click.pass_context
def check(ctx: click.Context, /, base: str, head: str, **given: Any) -> None:
    """Measure the commits BASE and HEAD in turns and print what is worse as a Markdown table.

    \b
      harness dashboard check HEAD~1 HEAD

    Kernel evaluations, core sets, support vectors, test errors and gaps are the same in every run, so any change
    beyond the threshold is real. A cell that is slower is measured again, and reported if it is slower again. A solver that
    is gone or fails is a regression; a new one is not, and neither are higher costs of a better model. The results do
    not enter the history.

    Exit codes: 0 no regressions, 1 regressions, 2 the check failed.
    """
    from harness_dashboard.check import Thresholds, markdown
    from harness_dashboard.check import check as compare
    from harness_dashboard.measuring import Bench

    bench = Bench.of(_configured(given["config"]), given["machine"])
    for name, revision in (("BASE", base), ("HEAD", head)):
        if ".." in revision:
            ends = " ".join(end or "HEAD" for end in re.split(r"\.{2,3}", revision, maxsplit=1))
            raise UsageError(
                f"{name}: '{revision}' is a range; name two commits, as in `harness dashboard check {ends}`."
            )
    older, newer = bench.repository.find(base, "BASE").name, bench.repository.find(head, "HEAD").name
    if older == newer:
        raise UsageError(
            f"BASE and HEAD are the same commit: '{base}' and '{head}' both name {older[:8]}; name two, the older one first, "
            "as in `harness dashboard check HEAD~1 HEAD`."
        )
    if bench.repository.has_edits():
        _note(NOT_MEASURED)
    thresholds = Thresholds(given["count_threshold"], given["time_factor"], given["memory_factor"])
    only = [name.strip() for name in given["only"].split(",")] if given["only"] else ()
    report = compare(bench, older, newer, thresholds=thresholds, only=only, notify=_progress)
    click.echo(markdown(report), nl=False)
    if report.regressions:
        ctx.exit(EXIT_REGRESSION)
