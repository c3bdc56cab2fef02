"""``harness reproduce``: lists the studies, measures the parts that are asked for, and writes the page of the results."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic
from typing import Any

import click

from harness import HarnessError, UsageError
from harness.cli.reproduce import PARAMETERS
from harness.report.output import say
from reports.kit import listing, page
from reports.kit.course import course, earlier, runs_of
from reports.kit.grids import Options
from reports.kit.journal import Journal, Row, header, read_rows
from reports.kit.running import Runner
from reports.kit.study import Study, study_named, study_names

INTERRUPTED = 130


@dataclass(frozen=True)
class Request:
    """What a command line asks of a study.

    plan : the study's whole one, or its quick one
    given : the options that were given, for the journal
    """

    plan: Any
    quick: bool
    parts: tuple[str, ...]
    options: Options
    out: Path
    store: Path | None = None
    keep: bool = False
    fresh: bool = False
    quiet: bool = False
    given: str = ""


def reproduce(given: Mapping[str, Any]) -> int:
    """Carry out ``harness reproduce``; return the exit code.

    Raises
    ------
    UsageError : an unknown study, part or set, options that contradict each other, or no quick plan.
    """
    if given["overview"]:
        from reports import what_we_learned
        from reports.kit import overview

        for page_of in (overview, what_we_learned):
            click.echo(f"{page_of.write()} is written.")
        return 0
    names = tuple(study_names()) if given["studies"] == ("all",) else given["studies"]
    studies = [study_named(name) for name in names]
    if not (given["plan"] or given["page"]):
        click.echo(listing.parts(studies) if studies else listing.studies(study_named(name) for name in study_names()))
        return 0
    if not studies:
        raise UsageError(f"name a study, or all: {', '.join(study_names())}.")
    requests = [(study, request(study, given)) for study in studies]
    worst = 0
    for study, asked in requests:
        code = 0 if given["page"] else _measured(study, asked)
        if code == INTERRUPTED:
            return code
        worst = max(worst, code)
        if not code or any("status" in row for row in read_rows(asked.out / "results.jsonl")):
            click.echo(f"{page.make(study, asked.out, asked.plan, quick=asked.quick)} and its pictures are written.")
    return worst


def parsed(study: Study, words: Sequence[str]) -> dict[str, Any]:
    """Return the options of a command line for one study."""
    return click.Command("reproduce", params=PARAMETERS).make_context("reproduce", [study.name, *words]).params


def request(study: Study, given: Mapping[str, Any]) -> Request:
    """Return what a command line asks of a study; without ``--quick`` the whole plan.

    Raises
    ------
    UsageError : an unknown part, set or digit, a study without a quick plan, or a folder that holds runs of the other plan.
    """
    quick = given["plan"] == "quick"
    if quick and study.quick is None:
        raise UsageError(f"--quick: {study.name} has no quick plan yet; --full is the whole one.")
    if given["into_reports"] and (quick or given["out"]):
        raise UsageError("--into-reports takes the runs of the whole plan, and no --out: leave out --quick and --out.")
    plan = study.quick if quick else study.plan
    parts, sets = study.parts(plan), tuple(study.sets(plan))
    chosen, named = tuple(given["part"] or parts), None if given["sets"] is None else tuple(given["sets"])
    for kind, asked, known in (("part", chosen, tuple(parts)), ("sets", named or (), sets)):
        unknown = [name for name in asked if name not in known]
        if unknown:
            raise UsageError(
                f"--{kind}: {study.name} has no {', '.join(unknown)}; it has {', '.join(known) or 'none'}."
            )
    digits = tuple(range(10)) if given["digits"] is None else tuple(given["digits"])
    if max(digits) > 9:
        raise UsageError(f"--digits: {max(digits)} is no digit; there are 0 to 9.")
    options = Options(named, given["seeds"], digits, given["n"], given["cache_mb"], given["limit"])
    options = replace(options, source=Path(given["source"]) if given["source"] else None)
    if given["into_reports"]:
        out = study.folder
    else:
        out = Path(given["out"] or Path("reproduced") / f"{study.name}{'-quick' if quick else ''}")
    if quick and out.resolve() == study.folder:
        raise UsageError(f"--out: {out} holds the runs of the whole plan; choose another folder, or --full.")
    other = "full" if quick else "quick"
    if any(row.get("plan") == other for row in read_rows(out / "results.jsonl") if row.get("part") == "header"):
        raise UsageError(f"--out: {out} holds runs of the {other} plan; choose another folder, or --{other}.")
    if given["page"] and not (out / "results.jsonl").exists():
        raise UsageError(
            f"--page: {out} holds no results; leave --page out to measure them, or name a folder with --out."
        )
    store = Path(given["store"]) if given["store"] else None
    words = _words({**given, "plan": given["plan"] or "full"})
    return Request(plan, quick, chosen, options, out, store, given["keep"], given["fresh"], given["quiet"], words)


def _words(given: Mapping[str, Any]) -> str:
    """Return the options that decide what is measured, as they are typed; folders of this machine are none of them."""
    words = [f"--{given['plan']}"]
    for name in ("part", "sets", "seeds", "digits", "n", "cache_mb", "limit"):
        value = given[name]
        if value is not None:
            text = ",".join(map(str, value)) if isinstance(value, (list, tuple, range)) else f"{value:g}"
            words += [f"--{name.replace('_', '-')}", shlex.quote(text)]
    return " ".join([*words, *(f"--{name}" for name in ("keep", "fresh") if given[name])])


def _measured(study: Study, asked: Request) -> int:
    """Measure, and return the exit code of ``harness compare``; what was measured is on disk whatever happens."""
    try:
        _, amiss = carry_out(study, asked)
    except KeyboardInterrupt:
        runs = sum("status" in row for row in read_rows(asked.out / "results.jsonl"))
        say(
            f"harness: interrupted; {asked.out / 'results.jsonl'} holds {runs} runs. The same command goes on where it stopped."
        )
        return INTERRUPTED
    if amiss:
        say(
            f"{study.name}: {amiss} runs failed, were stopped at a limit, or could not be measured; the page lists them."
        )
    return int(amiss > 0)


def run(study: Study, words: Sequence[str]) -> Journal:
    """Measure what a command line asks for; return the journal."""
    return carry_out(study, request(study, parsed(study, words)))[0]


def carry_out(study: Study, asked: Request) -> tuple[Journal, int]:
    """Measure what is asked for; return the journal, and how many runs failed or could not be measured.

    Raises
    ------
    NotKept : the store could not be written; what was measured is in the journal.
    """
    parts = study.parts(asked.plan)
    journal = Journal(asked.out / "results.jsonl", resume=True)
    command = f"harness reproduce {study.name} {asked.given}".rstrip()
    journal.append({**header(command), "parts": list(asked.parts), "plan": "quick" if asked.quick else "full"})
    options = replace(asked.options, measured=journal.rows, plan=asked.plan)
    known = {**earlier(read_rows(study.folder / "results.jsonl")), **earlier(journal.rows)}
    with contextlib.ExitStack() as stack:
        shown = stack.enter_context(course(runs_of(parts, asked.parts, options), known, quiet=asked.quiet))
        runner = Runner(
            journal, plugins=study.plugins, store=asked.store, keep=asked.keep, fresh=asked.fresh, course=shown,
            expected=study.expected,
        )  # fmt: skip
        stack.callback(runner.close)
        for name in asked.parts:
            rows: list[Row] = []
            began, reused = monotonic(), shown.reused
            for grid in parts[name](options):
                rows += runner.run(grid)
            together = study.finish.get(name)
            for row in together(rows, options) if together else ():
                journal.append(row)
                shown.say(_told(row))
            if asked.quick and shown.reused == reused:  # for the list of studies: see listing.py
                journal.append({"part": "took", "name": name, "seconds": monotonic() - began})
        try:
            study.complete(journal)
        except HarnessError as error:  # such as a set that is not there: the runs are
            runner.amiss += 1
            shown.say(str(error))
    return journal, runner.amiss


def _told(row: Row) -> str:
    error = "" if row.get("error") is None else f"  error {row['error']:.2f} %"
    return f"{row['set']:32} {row['solver']:44} seed {row['seed']} {row['cpu']:9.3f} CPU s{error}"
