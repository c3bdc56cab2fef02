"""``harness reproduce``: list the studies, measure the chosen parts, and write the page of the results."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
import pandas as pd

from harness import UsageError
from reports.kit import page
from reports.kit.measure import Measuring
from reports.kit.study import Study, study_named, study_names

INTERRUPTED = 130


def reproduce(given: Mapping[str, Any]) -> int:
    """Carry out ``harness reproduce``; return the exit code.

    Raises
    ------
    UsageError : an unknown study, part or set, or options that contradict each other.
    """
    if given["overview"]:
        for path in page.overview():
            click.echo(f"{path} is written.")
        return 0
    names = study_names() if given["studies"] == ("all",) else given["studies"]
    studies = [study_named(name) for name in names]
    if not (given["plan"] or given["page"]):
        if given["part"] or given["sets"]:
            raise UsageError("--part and --sets choose what is measured; give --quick or --full with them.")
        click.echo(format_studies(studies or [study_named(name) for name in study_names()], parts=bool(studies)))
        return 0
    if not studies:
        raise UsageError(f"name a study, or all: {', '.join(study_names())}.")
    jobs = [(study, *_validate(study, given, several=len(studies) > 1)) for study in studies]
    worst = 0
    for study, parts, out in jobs:
        code = 0 if given["page"] else _measure(study, parts, out, given)
        if code == INTERRUPTED:
            return code
        worst = max(worst, code)
        if not study.results(out).table.empty or given["page"]:
            click.echo(f"{page.write(study, out)} and its pictures are written.")
    return worst


def format_studies(studies: list[Study], *, parts: bool) -> str:
    """Return the studies, or their parts, with the runs that their tables hold and the CPU time these took."""
    rows = []
    for study in studies:
        every = study.results().every
        for part in study.parts(quick=False) if parts else [""]:
            runs = every[every["figure"] == part] if part else every
            cpu = runs.get("cpu", pd.Series(dtype=float)).sum() / 60
            rows.append((study.name, part or study.title, f"{len(runs):,}", f"{cpu:.0f}"))
    table = pd.DataFrame(rows, columns=["study", "part" if parts else "of", "runs", "CPU minutes"])
    aligned = ["left", "left", "right", "right"]
    return str(table.to_markdown(index=False, tablefmt="simple", colalign=aligned, disable_numparse=True))


def _validate(study: Study, given: Mapping[str, Any], *, several: bool) -> tuple[list[str], Path]:
    """Return the chosen parts and the folder of the results."""
    quick = given["plan"] == "quick"
    known = study.parts(quick=quick)
    sets = list(dict.fromkeys(str(block["set"]) for block in study.plan(quick)))
    for kind, names, choices in (("part", given["part"], known), ("sets", given["sets"], sets)):
        if unknown := ", ".join(name for name in names or () if name not in choices):
            raise UsageError(f"--{kind}: {study.name} has no {unknown}; it has {', '.join(choices) or 'none'}.")
    if given["into_reports"] and (quick or given["out"]):
        raise UsageError("--into-reports takes the runs of the whole plan, and no --out: leave out --quick and --out.")
    if given["into_reports"]:
        return list(given["part"] or known), study.folder
    name = f"{study.name}{'-quick' if quick else ''}"
    folder = Path(given["out"] or "reproduced")
    out = folder / name if several or not given["out"] else folder
    if quick and out.resolve() == study.folder:
        raise UsageError(f"--out: {out} holds the runs of the whole plan; choose another folder, or --full.")
    return list(given["part"] or known), out


def _measure(study: Study, parts: list[str], out: Path, given: Mapping[str, Any]) -> int:
    """Measure; return the exit code of ``harness compare``. What was measured is on disk whatever happens."""
    store = Path(given["store"]) if given["store"] else None
    how = {name: given[name] for name in ("fresh", "keep", "quiet")}
    measuring = Measuring(study, out, quick=given["plan"] == "quick", store=store, **how)
    try:
        for part in parts:
            measuring.part(part, given["sets"], given["limit"])
    except KeyboardInterrupt:
        click.echo(
            f"interrupted; {len(measuring.results.every)} runs are in {measuring.path}. The same command goes on.",
            err=True,
        )
        return INTERRUPTED
    if measuring.failures:
        click.echo(
            f"{study.name}: runs that failed, were stopped, skipped or could not be measured: {measuring.failures}; see TABLES.md.",
            err=True,
        )
    return int(measuring.failures > 0)
