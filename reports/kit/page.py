"""The page of a study: tables between the markers, and pictures, from the rows of a folder."""

from __future__ import annotations

import importlib
import re
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any

from harness import UsageError
from reports.kit.journal import read_rows
from reports.kit.listing import stand_ins
from reports.kit.markdown import NOT_MEASURED, SECTION_MARK, filled
from reports.kit.results import Published, Results
from reports.kit.study import ROOT, Study, study_named

_PICTURE = re.compile(r"!\[[^\]]*\]\(([^)]+)\.png\)")


@dataclass(frozen=True)
class Page:
    """A page of reports and all that may stand on it.

    sections, numbers : what the code gives for the markers, and for the numbers of the prose
    sources : name -> text whose numbers may stand in the prose beside those of the sections
    remake : makes the sections and pictures for whoever watches, of the rows, or as if no two of them might be compared
    """

    folder: Path
    sections: Callable[[], dict[str, str]]
    numbers: Callable[[], Mapping[str, str]] = dict
    sources: Callable[[], Mapping[str, str]] = dict
    remake: Callable[[bool], None] = lambda apart: None


def page_of(study: Study) -> Page:
    """Return the page of a study in the repository."""
    from reports.kit.check import numbers_in

    def sources() -> dict[str, str]:
        published = "\n".join(path.read_text() for path in sorted(study.folder.glob("published*.csv")))
        return {"published": published, "plan": numbers_in(study.plan)}

    def remake(apart: bool) -> None:
        results = results_of(study, apart=apart)
        study.sections(results)
        with tempfile.TemporaryDirectory() as folder:
            for name, draw in study.pictures.items():
                draw(results, Path(folder) / f"{name}.png")

    return Page(
        study.folder,
        lambda: study.sections(results_of(study)),
        lambda: study.numbers(results_of(study)),
        sources,
        remake,
    )


PAGES = ("", *sorted(path.parent.name for path in ROOT.glob("*/README.md")))
"""The folders of all pages; the first one is reports itself."""


def page_named(name: str) -> Page:
    """Return the page of a folder of reports.

    Raises
    ------
    UsageError : there is none, or neither a study nor a ``page.py`` with ``PAGE`` makes it.
    """
    folder = ROOT / name
    if name == "":  # reports/README.md itself
        return importlib.import_module("reports.kit.overview").PAGE
    if (folder / "study.py").exists() and name != "kit":
        return page_of(study_named(name.replace("_", "-")))
    if not (folder / "page.py").exists():
        raise UsageError(f"no code makes a page of reports/{name}: it has neither a study.py nor a page.py.")
    found = importlib.import_module(f"reports.{name}.page").PAGE
    assert isinstance(found, Page)
    return found


def results_of(study: Study, out: Path | None = None, plan: Any = None, *, apart: bool = False) -> Results:
    """Return the rows of a folder, the study's own by default, with the published numbers.

    apart : as if each solver had been measured on each set at a commit of its own
    """
    published = study.folder / "published.csv"
    known = Published.read(published) if published.exists() else Published({})
    rows = read_rows((study.folder if out is None else out) / "results.jsonl")
    if apart:
        rows = [{**row, "git_commit": f"{row['set']} {row['solver']}"} if "status" in row else row for row in rows]
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
    if not (results.runs or results.derived):
        raise UsageError(
            f"{out / 'results.jsonl'} holds no measurement; measure first: harness reproduce {study.name} --full."
        )
    own = study.folder / "README.md"
    text = filled(own.read_text(), study.sections(results), study.numbers(results))
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
    for section in SECTION_MARK.finditer(text):
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
