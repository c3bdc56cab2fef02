"""The table of every figure and table of the papers: what it names is there, what it says of agreement is computed."""

import re
from dataclasses import replace

import pytest

from harness.cli.reproduce import ROOT
from reports.kit.covered import Covered
from reports.kit.markdown import NOT_MEASURED, SECTION_MARK, beside
from reports.kit.results import Published
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


def test_cells_are_counted_from_numbers_and_not_from_pages():
    """A published number without ours beside it makes a table one in part; one that is 30 % off agrees not."""
    values = {("figure8", "a", "lasvm", quantity): 10.0 for quantity in ("error", "support_vectors", "seconds")}
    each = Covered("Figure 8", "", part="p", sections=("s",))

    def of(**ours):
        published = Published(values)
        for quantity, value in ours.items():
            beside(value, published.get("figure8", "a", "lasvm", quantity))
        return each.state({"s": "| a |"}, published), each.agreement(published)

    assert of(error=13.0, support_vectors=10.0) == (
        "whole",
        "2 of 2 printed numbers have ours beside them; 1 of 2 within 10 %, the median 15.0 % off",
    )
    assert of(error=None, support_vectors=10.0)[0] == of(support_vectors=10.0)[0] == "in part"
    assert of(error=None, support_vectors=10.0)[1].startswith("1 of 2")
    assert replace(each, smaller="one run").state({"s": "| a |"}, Published({})) == "in part"
    assert each.state({"s": NOT_MEASURED}, Published(values)) == "missing"
