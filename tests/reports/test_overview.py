"""The table of every figure and table of the papers: what it names is there, what it says of agreement is computed."""

import re

import pytest

from harness.cli.reproduce import ROOT
from reports.kit.markdown import SECTION_MARK
from reports.kit.study import study_named, study_names

COVERED = [(name, each) for name in study_names() for each in study_named(name).covers]
README = (ROOT / "reports" / "README.md").read_text()


def test_every_paper_has_its_table():
    papers = {name for name, _ in COVERED}
    assert papers == set(study_names()) - {"first-comparison", "side-by-side"}, "those are of no paper alone"
    assert len({(name, each.figure) for name, each in COVERED}) == len(COVERED)


@pytest.mark.parametrize(("name", "each"), COVERED, ids=lambda value: getattr(value, "figure", value))
def test_what_is_named_is_there(name, each):
    study = study_named(name)
    page = (study.folder / "README.md").read_text()
    assert not each.part or each.part in study.parts(study.plan)
    assert set(each.sections) <= {section for section, _ in SECTION_MARK.findall(page)}
    assert each.sections or each.reason, "what is not reproduced has a reason"
    assert bool(each.part) == bool(each.sections)


def test_links_lead_to_headings():
    links = re.findall(r"\]\(([a-z_0-9]+)/README\.md#([^)]+)\)", README)
    assert len(links) > 40
    for folder, anchor in set(links):
        page = (ROOT / "reports" / folder / "README.md").read_text()
        headings = [
            re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-") for each in re.findall(r"(?m)^#+ (.*)$", page)
        ]
        assert anchor in headings


def test_every_page_is_linked():
    pages = {path.parent.name for path in (ROOT / "reports").glob("*/README.md")}
    assert pages == set(re.findall(r"\(([a-z_0-9]+)/README\.md\)", README))
