"""``harness check``: the checks of a plugin; what fails in words, with its place and its smallest problem."""

from __future__ import annotations

import collections
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

import click

from harness.call import values
from harness.cli import options
from harness.cli.catalogue import unmarked
from harness.cli.describe import wrapped
from harness.report.output import results_alone, width
from harness.support.printable import plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from harness.registry.discovery import Registry
    from harness.testing.checks import Checks


_INDENT = " " * 9
_FAILURES = Path("harness-failures")  # folder of the smallest failing problems


@click.command("check", short_help="Check a plugin: is what it returns right, counted, repeatable?")
@click.argument("targets", nargs=-1, metavar="PLUGIN|FILE|NAME...")
@click.option("--verbose", "-v", is_flag=True, help="A line for each check, also for those that passed.")
@click.option(
    "--only", multiple=True, type=options.Converted(values.LABELS), help="Only checks with this in their name."
)
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text", help="How to show it.")
@click.option(
    "--reproduce",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Make the check of a file in harness-failures again, on its problem, with a traceback.",
)
@click.option("--plugin-path", **options.PLUGIN_PATH)
@click.pass_context
@results_alone()
def command(ctx: click.Context, /, **given: Any) -> None:
    """Check whether what a plugin returns is right, counted and repeatable.

    \b
      harness check ./my_solver.py
      harness check 'lasvm[epochs=5]' -v

    A failure has a sentence, its place in the plugin, and the smallest problem that shows it, a file in the folder
    harness-failures. Known failures are declared by a class (conformance), with the reason. What could not be checked is
    counted as skipped, with the reason. Exit codes: 0 nothing failed, 1 a check failed, or of a target all checks were
    skipped, 2 bad usage.
    """
    from harness.call import request
    from harness.report import files, output
    from harness.support.errors import UsageError
    from harness.testing.plugin import suites_of_each

    registry = request.loaded(given["plugin_path"])
    if given["reproduce"] is not None:
        ctx.exit(_reproduce(given["reproduce"], registry))
    if not given["targets"]:
        raise UsageError("PLUGIN, FILE or NAME is missing; write for example `harness check ./my_solver.py`.")
    only = [text.removeprefix("test_") for texts in given["only"] for text in texts] or [""]
    began, entries = monotonic(), list[dict[str, Any]]()
    unchecked = False
    for target, suites in suites_of_each(given["targets"], registry).items():
        of_target = list[dict[str, Any]]()
        for suite in suites:
            of_suite = list[dict[str, Any]]()
            for entry in _entries(suite, target, only):
                if given["format_"] == "text" and (given["verbose"] or entry["status"] == "failed"):
                    output.show(_lines(entry, of_suite))
                of_suite.append(entry)
            if given["format_"] == "text" and not given["verbose"]:
                output.show("".join(_left_out(of_suite)))
            of_target += of_suite
        entries += of_target
        things = [entry for entry in of_target if entry["kind"] != "plugin"] or of_target
        unchecked |= collections.Counter(entry["status"] for entry in things)["skipped"] == len(things)
    if given["format_"] == "json":
        output.show(files.content("json", entries).decode())
    statuses = collections.Counter(entry["status"] for entry in entries)
    counts = {status: statuses[status] for status in ("passed", "failed", "excused", "skipped")}
    counts["problems left out"] = sum(entry["skipped"] for entry in entries)
    summary = ", ".join(f"{count} {what}" for what, count in counts.items() if count) or "--only names none of them"
    output.say(f"{len(entries)} checks in {monotonic() - began:.1f} s: {summary}")
    ctx.exit(int(statuses["failed"] > 0 or unchecked))


def _entries(suite: type[Checks], target: str, only: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Run the checks of one thing, and yield an entry each."""
    from harness.testing.apart import made_apart
    from harness.testing.checks import summed

    names = [name for name in suite.checks() if any(text in name for text in only)]
    for name, results in made_apart(suite, names, target, _FAILURES):
        status, deciding = summed(results)
        skipped = summed(results, "skipped")[1]
        first = deciding[0] if deciding and status != "passed" else None
        check = getattr(suite, name)
        yield {
            "thing": suite.label(), "kind": suite.kind, "check": name.removeprefix("test_"),
            "asks": check.__doc__.partition("\n")[0], "since": check.since, "status": status,
            "problems": sum(bool(result.case) for result in results),
            "failing": sum(result.status == "failed" for result in results),
            "skipped": len(skipped) * (len(skipped) < len(results)),
            "reasons": [*dict.fromkeys(result.message for result in skipped)],
            "message": first.message if first else "",
            "where": first.where if first else "", "file": next((result.file for result in deciding if result.file), ""),
        }  # fmt: skip


def _left_out(entries: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yield a line for each reason why checks of a thing were not made, or not on all problems."""
    checks = collections.Counter(reason for entry in entries for reason in entry["reasons"])
    for reason, number in checks.items():
        checks_of = f"{entries[0]['thing']}: {number} check{'s' * (number != 1)}"
        yield _folded(f"skipped  {checks_of}. {plain(reason)}") + "\n"


def _lines(entry: dict[str, Any], before: Sequence[dict[str, Any]]) -> str:
    """Return the lines of an entry; of the same failure as one ``before`` it the name of that alone."""
    sign = "FAILED" if entry["status"] == "failed" else entry["status"]
    lines = [_folded(f"{sign:8} {entry['thing']}: {entry['check']}. {unmarked(entry['asks'])}")]
    same = [other["check"] for other in before if other["message"] == entry["message"] and other["status"] == "failed"]
    if entry["status"] == "failed" and same:
        return f"{lines[0]}\n{_INDENT}as {same[0]}\n"
    if entry["message"]:
        on = f" ({entry['failing']} of {entry['problems']} problems)" if entry["failing"] and entry["problems"] else ""
        lines.append(_folded(f"{plain(entry['message'])}{on}", len(_INDENT)))
    if entry["status"] == "failed":
        lines += [f"at {entry['where']}"] if entry["where"] else []
        lines += [f"smallest problem: harness check --reproduce {entry['file']}"] if entry["file"] else []
    return f"\n{_INDENT}".join(lines) + "\n"


def _folded(text: str, room: int = 0) -> str:
    """Return a text in lines that leave ``room`` on the terminal, the further ones indented."""
    return wrapped(" " * room + text, width(), "", _INDENT)[room:]


def _reproduce(file: Path, registry: Registry) -> int:
    """Make the check of a file again on its problem; return the exit code."""
    import traceback

    from harness.report import output
    from harness.testing.failing import again
    from harness.testing.plugin import suites_of

    suite, result, case = again(file, registry, suites_of)
    if result.error is not None:
        output.say("".join(traceback.format_exception(result.error)).rstrip())
    what = f"{result.check.removeprefix('test_')} of {suite.label()} on {case}, {len(case.y)} points"
    output.show(f"{result.status}: {what}{'. ' * bool(result.message)}{result.message}\n")
    return int(result.status == "failed")
