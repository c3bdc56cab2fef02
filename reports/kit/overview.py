"""The table on top of reports/README.md: every table and figure of the papers; written by ``harness reproduce --overview``."""

from __future__ import annotations

import re
from pathlib import Path

from reports.kit.covered import Covered
from reports.kit.markdown import filled, table
from reports.kit.page import Page, results_of
from reports.kit.study import ROOT, Study, study_named, study_names


def write() -> Path:
    """Write the table into reports/README.md; return the page."""
    page = ROOT / "README.md"
    page.write_text(filled(page.read_text(), sections()))
    return page


def sections() -> dict[str, str]:
    """Return the text of each section of the page: the count, and a table for each paper."""
    found: dict[str, str] = {}
    states: list[str] = []
    for name in study_names():
        study = study_named(name)
        if study.covers:
            rows, of = _rows(study)
            states += of
            found[name] = table(["", "what it shows", "reproduced", "agreement", "why not, or how else"], rows)
    counted = [f"{states.count(state)} {told}" for state, told in _STATES.items() if state in states]
    return {"counted": f"Of {len(states)} tables, figures and theorems: {', '.join(counted)}.", **found}


_STATES = {"yes": "reproduced", "in part": "in part", "not measured yet": "not measured yet", "no": "not reproduced"}


def _rows(study: Study) -> tuple[list[list[str]], list[str]]:
    texts = study.sections(results_of(study))
    page = (study.folder / "README.md").read_text()
    rows, states = [], []
    for each in study.covers:
        state = each.state(texts)
        link = f"[{each.figure}]({study.folder.name}/README.md{_anchor(page, each)})" if each.sections else each.figure
        agreement = each.agreement(texts) if state in ("yes", "in part") else ""
        rows.append([link, each.what, state, agreement, each.reason])
        states.append(state)
    return rows, states


def _anchor(page: str, covered: Covered) -> str:
    """Return the anchor of the heading over the first section, as GitHub makes it."""
    before = page.partition(f"<!-- begin {covered.sections[0]} -->")[0]
    headings = re.findall(r"(?m)^##+ (.*)$", before)
    if not headings:
        return ""
    return "#" + re.sub(r"[^\w\- ]", "", headings[-1].lower()).replace(" ", "-")


PAGE = Page(ROOT, sections)
