"""``harness check``: every check of a plugin, a line each; what fails in words, with its place and its smallest problem."""

from __future__ import annotations

import collections
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

import click

from harness.call import values
from harness.cli import options
from harness.report.output import results_alone

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.registry.discovery import Registry
    from harness.testing.checks import Checks, Result

_NAME_WIDTH = 44


@click.command("check", short_help="Check a plugin: is what it returns right, counted, repeatable?")
@click.argument("targets", nargs=-1, metavar="PLUGIN|FILE|NAME...")
@click.option(
    "--only",
    multiple=True,
    type=options.Converted(values.LABELS),
    help="Only the checks whose name contains one of these.",
)
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text", help="How to show it.")
@click.option(
    "--failures",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("harness-failures"),
    help="The folder of the smallest failing problems.  [default: harness-failures]",
)
@click.option(
    "--reproduce",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Make the check of a file in that folder again, on its problem, with a traceback.",
)
@click.option("--plugin-path", **options.PLUGIN_PATH)
@click.pass_context
@results_alone()
def command(
    ctx: click.Context,
    targets: Sequence[str],
    only: Sequence[list[str]],
    format_: str,
    failures: Path,
    reproduce: Path | None,
    plugin_path: Sequence[str],
) -> None:
    """Check whether what a plugin returns is right, counted and repeatable.

    \b
      harness check ./my_solver.py
      harness check 'lasvm[epochs=5]'

    A failure says what is wrong, where in the plugin, and on which smallest problem. What a thing is excused from, its
    class says (conformance), with the reason. Exit codes: 0 nothing failed, 1 a check failed, 2 bad usage.
    """
    from harness.call import request
    from harness.report import files, output
    from harness.support.errors import UsageError
    from harness.testing.plugin import suites_of

    registry = request.loaded(plugin_path)
    if reproduce is not None:
        ctx.exit(_reproduced(reproduce, registry))
    if not targets:
        raise UsageError(
            "nothing to check is named; name a plugin, a file or a thing, as in `harness check ./my_solver.py`."
        )
    wanted = [text.removeprefix("test_") for texts in only for text in texts] or [""]
    began, found = monotonic(), list[dict[str, Any]]()
    for target in targets:
        for suite in suites_of(target, registry):
            found += _made(suite, target, wanted, failures, shown=format_ == "text")
    if format_ == "json":
        output.show(files.content("json", found).decode())
    counts = collections.Counter(each["status"] for each in found)
    told = ", ".join(
        f"{counts[status]} {status}" for status in ("passed", "failed", "excused", "skipped") if counts[status]
    )
    output.say(f"{len(found)} checks in {monotonic() - began:.1f} s: {told or 'none has a name like that'}")
    ctx.exit(int(counts["failed"] > 0 or not found))


def _made(suite: type[Checks], target: str, wanted: list[str], failures: Path, *, shown: bool) -> list[dict[str, Any]]:
    """Make the checks of one thing, show a line each, and return one entry each."""
    from harness.report import layout, output
    from harness.testing.apart import made_apart

    names = [name for name in suite.checks() if any(text in name for text in wanted)]
    if shown and names:
        output.show(f"{layout.bold(f'{suite.kind} {suite.label()}', styled=output.styled())}\n")
    entries: list[dict[str, Any]] = []
    for name, found in made_apart(suite, names, target, failures):
        entry = _entry(suite, name, found)
        same = [
            each["check"]
            for each in entries
            if each["message"] == entry["message"] != "" and each["status"] == "failed"
        ]
        entries.append(entry)
        if shown:
            output.show(_line({**entry, "message": f"as {same[0]}", "where": "", "file": ""} if same else entry))
    return entries


def _entry(suite: type[Checks], name: str, results: Sequence[Result]) -> dict[str, Any]:
    """Return what is said of one check."""
    from harness.testing.checks import summed

    made = getattr(suite, name)
    status, deciding = summed(results)
    told = [] if status == "passed" else deciding
    return {
        "thing": suite.label(), "kind": suite.kind, "check": name.removeprefix("test_"), "asks": made.__doc__.partition("\n")[0],
        "since": made.since, "status": status, "problems": sum(bool(result.case) for result in results),
        "failing": sum(result.status == "failed" for result in results), "message": told[0].message if told else "",
        "where": told[0].where if told else "", "file": next((each.file for each in told if each.file), ""),
    }  # fmt: skip


def _line(entry: dict[str, Any]) -> str:
    """Return an entry as its line, and beneath it what is wrong."""
    from harness.support.printable import plain

    sign = "FAILED" if entry["status"] == "failed" else entry["status"]
    lines = [f"  {sign:8} {entry['check']:{_NAME_WIDTH}} {entry['asks']} (since {entry['since']})"]
    if entry["message"]:
        on = f" ({entry['failing']} of {entry['problems']} problems)" if entry["failing"] and entry["problems"] else ""
        lines.append(f"           {plain(entry['message'])}{on}")
    if entry["status"] == "failed":
        lines += [f"           at {entry['where']}"] if entry["where"] else []
        lines += [f"           smallest problem: harness check --reproduce {entry['file']}"] if entry["file"] else []
    return "".join(f"{line}\n" for line in lines)


def _reproduced(file: Path, registry: Registry) -> int:
    """Make the check of a file again on its problem; return the exit code."""
    import traceback

    from harness.report import output
    from harness.testing.failing import again
    from harness.testing.plugin import suites_of

    suite, result, case = again(file, registry, suites_of)
    if result.error is not None:
        output.say("".join(traceback.format_exception(result.error)).rstrip())
    told = f"{result.status}: {result.check.removeprefix('test_')} of {suite.label()} on {case}, {len(case.y)} points"
    output.show(f"{told}{'. ' * bool(result.message)}{result.message}\n")
    return int(result.status == "failed")
