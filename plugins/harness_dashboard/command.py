"""``harness dashboard``: measure commits, compare two, and make pages of what was measured."""

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
SECONDS_PER_CELL = 3.0  # [s] of a grid that was never measured, with compilation
NOT_MEASURED = "some files have edits that are not committed: they are not measured"


def _configured(config: str | None) -> Any:
    from harness_dashboard import configuration

    return configuration.load(config or configuration.FILE_NAME)


def _note(sentence: str) -> None:
    click.echo(f"note: {sentence}", err=True)


_progress = functools.partial(click.echo, err=True)


@click.group(cls=CommandGroup, short_help="The history of every solver, as a web site.")
def dashboard() -> None:
    """Show a result store as a web page, or watch every solver over the commits of a repository.

    \b
      harness dashboard export --single-file page.html
      harness dashboard run HEAD~5..HEAD

    The single file needs nothing else. The history is kept by asv (airspeed velocity): pip
    install 'svm-harness[asv]'.
    """


@dashboard.command(short_help="Write what the history needs in a plugin's repository.")
@click.argument("file", required=False)
def init(file: str | None) -> None:
    """Write what the history over commits needs: asv.conf.json, a grid, a folder of benchmarks and a gate for CI.

    \b
      harness dashboard init
      harness dashboard init my_solver.py

    The grid has the solvers of the plugin in this folder, which must be installed (pip install -e .), and one to compare
    with. FILE is a solver that is no project yet: it gets a pyproject.toml. No file is overwritten.
    """
    from harness_dashboard.init import project

    files = project(Path.cwd(), file)
    if there := [os.path.relpath(path) for path in files if path.exists()]:
        raise UsageError(f"nothing was written: {', '.join(there)} exist; remove what is to be written anew.")
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
@click.option("--again", is_flag=True, help="Measure commits anew that were measured before.")
@MACHINE
@CONFIG
def run(commits: str, again: bool, machine: str | None, config: str | None) -> None:
    """Measure the newest commit, or those of RANGE (HEAD~5..HEAD, or one revision), on the pinned grid.

    \b
      harness dashboard run HEAD~5..HEAD

    Each commit is installed over the libraries of this Python, fits every cell of benchmarks/grid.json, and is saved
    when it is finished. What looks changed since the commit before is measured again, both in turns, and listed if it
    looks changed again. Commits that were measured on this machine are skipped. A solver that fails is listed as failed.

    Then make the site: harness dashboard build
    """
    from harness_dashboard.check import judge, markdown
    from harness_dashboard.measuring import Bench, grid, summary

    bench = Bench.of(_configured(config), machine)
    wanted = bench.repository.range(commits)
    if bench.repository.edited():
        _note(NOT_MEASURED)
    todo = [commit for commit in wanted if again or not bench.is_measured(commit)]
    if len(todo) < len(wanted):
        click.echo(f"{len(wanted) - len(todo)} of {len(wanted)} commits were measured before; --again measures anew")
    if not todo:
        return
    cells, expected = len(grid(bench.configuration)), bench.expected_seconds()
    seconds = len(todo) * (SECONDS_PER_COMMIT + (expected or cells * SECONDS_PER_CELL))
    why = "as the last commit did" if expected else f"at {SECONDS_PER_CELL:g} s a cell, on an idle machine"
    _progress(
        f"commits: {len(todo)}, cells: {cells}; they take at least {seconds:.0f} s, {why}, and longer where something looks "
        "changed: that is measured again"
    )
    for number, commit in enumerate(todo, start=1):
        _progress(f"[{number}/{len(todo)}] {commit[:8]} {bench.repository.title(commit)}")
        began = time.monotonic()
        bench.measure(commit)
        line, reasons = summary(bench.measured(commit))
        click.echo(f"{commit[:8]}: {line} in {time.monotonic() - began:.0f} s")
        for reason in reasons:
            _note(reason)
        if (older := bench.before(commit)) is not None:
            report = judge(bench, older, commit, notify=_progress)
            bench.note_changes(commit, older, [vars(change) for change in report.changes])
            click.echo(markdown(report), nl=False)


@dashboard.command(short_help="Make the web site.")
@CONFIG
def build(config: str | None) -> None:
    """Make the web site: asv's history of every number, and a page that compares the solvers.

    \b
      harness dashboard build

    It loads nothing over the network, so any web server can show it.
    """
    from harness_dashboard.measuring import publish

    folder = publish(_configured(config))
    click.echo(f"the site is {folder}")
    click.echo(f"look at it: python -m http.server --bind 127.0.0.1 --directory {folder}")


@dashboard.command(short_help="Add the results of comparisons to the dashboard.")
@CONFIG
@click.option(
    "--store", "stores", multiple=True, metavar="FILE", type=click.Path(dir_okay=False),
    help="The result store.  [default: the user's own] Repeatable.",
)  # fmt: skip
@click.option("--commit", metavar="REV", help="The commit of runs that name none, or one the repository does not have.")
@click.option(
    "--single-file", metavar="FILE", type=click.Path(),
    help="Write the pages of the stores alone as one HTML file: no asv, no server needed.",
)  # fmt: skip
def export(config: str | None, stores: Sequence[str], commit: str | None, single_file: str | None) -> None:
    """Write what `harness compare` has stored as results of the dashboard, each run at the commit it was measured at.

    \b
      harness dashboard export --single-file page.html

    Whatever was exported before stays; the same run twice counts once, as it was measured last. Then make the site:
    harness dashboard build.

    With --single-file the pages of ours, their scripts and the data are one file, to be opened from a disk or a mail.
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
            raise UsageError("--single-file: it is made of the stores alone; give it without --config and --commit.")
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

    Kernel evaluations, core sets, support vectors, test errors and gaps are counts: the same in every run, so any change
    beyond the threshold is real. What looks slower is measured again, and reported if it is slower again. A solver that
    is gone or fails is a regression; a new one is not, nor is what costs more where the model got better. The numbers do
    not enter the history.

    Exit codes: 0 nothing is worse, 1 something is, 2 the check could not be made.
    """
    from harness_dashboard.check import Thresholds, markdown
    from harness_dashboard.check import check as compare
    from harness_dashboard.measuring import Bench

    bench = Bench.of(_configured(given["config"]), given["machine"])
    for name, revision in (("BASE", base), ("HEAD", head)):
        if ".." in revision:
            ends = " ".join(end or "HEAD" for end in re.split(r"\.{2,3}", revision, maxsplit=1))
            raise UsageError(
                f"{name}: '{revision}' is a range; name two commits in two words, as in `harness dashboard check {ends}`."
            )
    older, newer = bench.repository.named(base, "BASE").name, bench.repository.named(head, "HEAD").name
    if older == newer:
        raise UsageError(
            f"BASE and HEAD are one commit: '{base}' and '{head}' both name {older[:8]}; name two, the older one first, "
            "as in `harness dashboard check HEAD~1 HEAD`."
        )
    if bench.repository.edited():
        _note(NOT_MEASURED)
    thresholds = Thresholds(given["count_threshold"], given["time_factor"], given["memory_factor"])
    only = [name.strip() for name in given["only"].split(",")] if given["only"] else ()
    report = compare(bench, older, newer, thresholds=thresholds, only=only, notify=_progress)
    click.echo(markdown(report), nl=False)
    if report.regressions:
        ctx.exit(EXIT_REGRESSION)
