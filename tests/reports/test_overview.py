"""The table of every figure and table of the papers: what it names is there, what it says of agreement is computed."""

import re

import pytest

from harness.cli.reproduce import ROOT
from reports.kit import overview
from reports.kit.covered import Covered, beside
from reports.kit.markdown import NOT_MEASURED, SECTION_MARK
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


TABLE = """\
| set | error % | SV | CPU s | time / LIBSVM's |
|:--|--:|--:|--:|--:|
| a | 10.5 (10.00) | **1,234** (1000) | 3 (4) | 0.50 (met) |
| b | 9.3 ± 0.2 (-9.00) | 5 | 6 (7) | 2 (**missed**) |
"""


def test_agreement_is_computed_without_times():
    assert beside(TABLE) == [(10.5, 10.0), (1234.0, 1000.0), (9.3, -9.0)]
    each = Covered("Table 1", "all", "table1", ("one", "two"))
    texts = {"one": TABLE, "two": "* met by hand (met)."}
    assert (
        each.agreement(texts) == "1 of 3 numbers within 10 %, the median 23.4 % off; 2 of 3 that are asked for are met"
    )
    assert each.state(texts) == "yes"
    assert each.state({**texts, "two": NOT_MEASURED}) == "in part"
    assert each.state(dict.fromkeys(texts, NOT_MEASURED)) == "not measured yet"
    assert Covered("Figure 1", "a drawing", reason="a drawing").state(texts) == "no"
    assert Covered("Table 1", "all", "x", ("one",), partly=True).state(texts) == "in part"


def test_an_anchor_is_that_of_the_heading_before():
    page = "# T\n\n## Delta < 2: `a_b`\n\n<!-- begin x -->\n"
    assert overview._anchor(page, Covered("F", "", "p", ("x",))) == "#delta--2-a_b"
