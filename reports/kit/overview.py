"""The table on top of reports/README.md: every table and figure of the papers; written by ``harness reproduce --overview``."""

from __future__ import annotations

import re
from pathlib import Path

from reports.kit.covered import IN_PART, MISSING, NO_RESULT, WHOLE, Covered
from reports.kit.markdown import filled, table
from reports.kit.page import Page, results_of
from reports.kit.study import ROOT, study_named, study_names


def write() -> Path:
    """Write the table into reports/README.md; return the page."""
    page = ROOT / "README.md"
    page.write_text(filled(page.read_text(), sections()))
    return page


def sections() -> dict[str, str]:
    """Return the text of each section of the page: the count, and a table for each paper."""
    found: dict[str, str] = {}
    states: list[str] = []
    cells = [0, 0]
    for name in study_names():
        study = study_named(name)
        if study.covers:
            results = results_of(study)
            texts, page = study.sections(results), (study.folder / "README.md").read_text()
            rows = []
            for each in study.covers:
                state = each.state(texts, results.published)
                link = (
                    f"[{each.figure}]({study.folder.name}/README.md{_anchor(page, each)})"
                    if each.sections
                    else each.figure
                )
                remarks = "; ".join(filter(None, (each.smaller, each.reason)))
                rows.append([link, each.what, state, each.agreement(results.published), remarks])
                states.append(state)
                if each.sections:
                    pairs = each.beside(results.published).values()
                    cells = [cells[0] + sum(ours is not None for ours, _ in pairs), cells[1] + len(pairs)]
            found[name] = table(["", "what it shows", "there", "agreement", "what is smaller, and why"], rows)
    measured = [state for state in states if state != NO_RESULT]
    counted = ", ".join(f"{measured.count(state)} {state}" for state in (WHOLE, IN_PART, MISSING) if state in measured)
    return {
        "counted": f"Of {len(measured)} tables, figures and theorems with results: {counted}; {states.count(NO_RESULT)} more have "
        f"no result to measure. {cells[0]} of {cells[1]} printed numbers, times left out, have ours beside them.",
        **found,
    }


def _anchor(page: str, covered: Covered) -> str:
    """Return the anchor of the heading over the first section, as GitHub makes it."""
    before = page.partition(f"<!-- begin {covered.sections[0]} -->")[0]
    headings = re.findall(r"(?m)^##+ (.*)$", before)
    if not headings:
        return ""
    return "#" + re.sub(r"[^\w\- ]", "", headings[-1].lower()).replace(" ", "-")


PAGE = Page(ROOT, sections)
