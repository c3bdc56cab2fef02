"""reports/WHAT_WE_LEARNED.md: every claim has its figures, an answer is what the marks say, and the page is what is computed."""

import re

import pytest

from reports import what_we_learned
from reports.kit.study import ROOT
from reports.what_we_learned import CLAIMS, PAGE, answer


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda each: each.says)
def test_every_claim_has_its_figures(claim):
    assert answer(claim).told
    heading = claim.address.partition("#")[2]
    page = (ROOT / claim.address.partition("#")[0]).read_text()
    anchors = {
        re.sub(r"[^\w\- ]", "", line.lstrip("# ").lower()).replace(" ", "-")
        for line in page.splitlines()
        if line[:1] == "#"
    }
    assert not heading or heading in anchors


def test_the_page_is_what_the_studies_compute():
    text = PAGE.read_text()
    for name, section in what_we_learned.sections().items():
        assert f"<!-- begin {name} -->\n{section}\n<!-- end {name} -->" in text, (
            f"harness reproduce --overview: {name} is stale"
        )


def test_the_links_of_the_page_lead_somewhere():
    found = re.findall(r"\]\(([^)#]+)(#[^)]*)?\)", PAGE.read_text())
    assert found
    assert [file for file, _ in found if not (ROOT / file).is_file()] == []
