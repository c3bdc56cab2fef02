"""reports/WHAT_WE_LEARNED.md: every claim has its figures, an answer is what the marks say, and the page is what is computed."""

import re

import pytest

from reports import what_we_learned
from reports.kit.study import ROOT
from reports.what_we_learned import CLAIMS, PAGE, Answer, Claim, answer, cells

TABLE = """| set | error, points | time |
|:--|--:|--:|
| **a** | +0.1 (met) | 3 |
| b | +0.9 (**missed**) |  |
| c |  | 5 |"""


def answered(monkeypatch, text, **given):
    monkeypatch.setattr(what_we_learned, "sections_of", lambda study: {"s": text})
    return answer(Claim("It is so.", "a-study", "s", **given))


def test_a_table_answers_for_each_set(monkeypatch):
    assert cells(TABLE, "error") == [("a", "+0.1 (met)"), ("b", "+0.9 (**missed**)"), ("c", "")]
    found = answered(monkeypatch, TABLE, column="error")
    assert found == Answer(1, 1, ("a +0.1, b +0.9 (**missed**)",))
    assert found.verdict == "holds in part"
    assert answered(monkeypatch, TABLE, column="time") == Answer(0, 0, ("a 3, c 5",))
    with pytest.raises(ValueError, match=r"no column 'cost\.\.\.' among set, error, points, time"):
        cells(TABLE, "cost")


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("* 3 of 3 (met).", "holds"),
        ("* 3 of 3 (met).\n* 1 of 3 (**missed**).", "holds in part"),
        ("* 1 of 3 (**missed**).", "does not hold"),
        ("* 1 of 3.", "not judged"),
        ("", "not measured"),
    ],
)
def test_the_verdict_is_that_of_the_marks(monkeypatch, text, verdict):
    assert answered(monkeypatch, text).verdict == verdict


def test_lines_are_chosen(monkeypatch):
    assert answered(monkeypatch, "* fast (met).\n* slow (**missed**).", lines="fast") == Answer(1, 0, ("fast (met).",))


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
