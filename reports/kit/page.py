"""The page of a study: tables between the markers, and pictures, from the rows of a folder."""

from __future__ import annotations

import re
from itertools import takewhile
from pathlib import Path
from typing import Any

from harness.errors import UsageError
from reports.kit.journal import read_rows
from reports.kit.listing import stand_ins
from reports.kit.markdown import NOT_MEASURED, filled
from reports.kit.results import Published, Results
from reports.kit.study import ROOT, Study

_SECTION = re.compile(r"<!-- begin (\S+) -->\n(.*?)<!-- end \1 -->", re.DOTALL)
_PICTURE = re.compile(r"!\[[^\]]*\]\(([^)]+)\.png\)")


def results_of(study: Study, out: Path | None = None, plan: Any = None) -> Results:
    """Return the rows of a folder, the study's own by default, with the published numbers."""
    published = study.folder / "published.csv"
    known = Published.read(published) if published.exists() else Published({})
    rows = read_rows((study.folder if out is None else out) / "results.jsonl")
    return Results(rows, known, study.plan if plan is None else plan)


def make(study: Study, out: Path, plan: Any = None, *, quick: bool = False) -> Path:
    """Write README.md and the pictures of what OUT/results.jsonl holds; return the page.

    In the study's own folder the prose between the markers stays. Elsewhere it is left out: it tells of other runs.

    Raises
    ------
    UsageError : nothing was measured, or the study's page has no place for a section.
    """
    plan = study.plan if plan is None else plan
    results = results_of(study, out, plan)
    if not results.runs:
        raise UsageError(
            f"{out / 'results.jsonl'} holds no measurement; measure first: harness reproduce {study.name} --full."
        )
    own = study.folder / "README.md"
    text = filled(own.read_text(), study.sections(results))
    drawn = {name for name, draw in study.pictures.items() if draw(results, out / f"{name}.png")}
    for name in set(study.pictures) - drawn:
        (out / f"{name}.png").unlink(missing_ok=True)  # nothing of it was measured
    page = out / "README.md"
    page.write_text(text if page.resolve() == own else bare(text, drawn, _note(study, plan, quick=quick)))
    return page


def _note(study: Study, plan: Any, *, quick: bool) -> str:
    """Return what a reader of a page outside of the repository has to know."""
    lines = []
    if quick:
        lines.append(
            "A quick run: few repetitions of small problems that need no download. Its figures are no test of the paper's claims; "
            "published numbers, where they stand beside, are of the paper's own sets."
        )
        lines += [f"* `{selection}` stands for {name}" for name, selection in sorted(stand_ins(plan).items())]
    told = (study.folder / "README.md").relative_to(ROOT.parent)
    lines += [
        "",
        f"What the columns mean, and what the repository's own runs say: {told}. Empty parts were not measured here.",
    ]
    return "\n".join(lines)


def bare(text: str, drawn: set[str], note: str) -> str:
    """Return a page with its headings, tables and pictures alone, without what has nothing measured in it.

    drawn : names of the pictures that there are
    """
    kept: list[tuple[int, str]] = []  # the level of a heading, 0 of a text
    at = 0
    for section in _SECTION.finditer(text):
        kept += _between(text[at : section.start()], drawn)
        if section[2].strip() not in ("", NOT_MEASURED):
            kept.append((0, section[0]))
        at = section.end()
    kept += _between(text[at:], drawn)
    lines: list[str] = []
    for place, (level, line) in enumerate(kept):
        below = takewhile(lambda each, level=level: each[0] == 0 or each[0] > level, kept[place + 1 :])
        if level <= 1 or any(other == 0 for other, _ in below):
            lines += [line, *([note] if level == 1 else [])]
    return "\n\n".join(lines) + "\n"


def _between(text: str, drawn: set[str]) -> list[tuple[int, str]]:
    """Return the headings and the pictures of a text."""
    found = []
    for line in re.sub(r"```.*?```", "", text, flags=re.DOTALL).splitlines():
        if line.startswith("#"):
            found.append((len(line) - len(line.lstrip("#")), line))
        elif (picture := _PICTURE.fullmatch(line.strip())) and picture[1] in drawn:
            found.append((0, line))
    return found
