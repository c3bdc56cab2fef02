"""reports/WHAT_WE_LEARNED.md: estimates, intervals and verdicts against what is written out, and the page is what is computed."""

import math
import re

import numpy as np
import pytest
from scipy import stats

from reports import what_we_learned
from reports.kit import judged
from reports.kit.judged import DEPENDS, FAILS, HOLDS, UNTESTED, Estimate
from reports.kit.results import Published, Results
from reports.kit.study import ROOT
from reports.what_we_learned import CLAIMS, PAGE, estimates
from tests.reports.fabricated import row


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda each: each.says)
def test_every_claim_has_estimates_and_a_place(claim):
    assert estimates(claim)
    path, _, heading = claim.address.partition("#")
    titles = [line.lstrip("# ") for line in (ROOT / path).read_text().splitlines() if line[:1] == "#"]
    anchors = {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}
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


def of_runs(*runs):
    rows = [row("a", solver, dataset=f"a[seed={draw}]", seed=seed, **values) for solver, draw, seed, values in runs]
    return Results(rows, Published({}))


def test_runs_are_paired_by_data_and_seed_and_intervals_are_students():
    ours, theirs = [3.0, 5.0, 4.5, 9.0], [2.0, 4.4, 4.0, 7.0]
    results = of_runs(
        *(("one", draw, draw, {"error": value, "cpu": value}) for draw, value in enumerate(ours)),
        *(("other", draw, draw, {"error": theirs[draw], "cpu": theirs[draw]}) for draw in (2, 0, 3, 1)),
        ("one", 7, 7, {"error": 90.0}),  # has no partner
    )
    both = judged.pairs(results, "a", "one", "other")
    assert [(a["error"], b["error"]) for a, b in both] == list(zip(ours, theirs, strict=True))
    found = judged.difference("a", both, "error")
    apart = np.subtract(ours, theirs)
    expected = stats.ttest_1samp(apart, 0.0).confidence_interval(0.95)
    assert (found.value, found.low, found.high) == pytest.approx((apart.mean(), *expected))
    found = judged.times("a", both, "cpu")
    expected = stats.ttest_1samp(np.log(np.divide(ours, theirs)), 0.0).confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx(tuple(np.exp(expected)))


def test_one_run_of_the_other_stands_for_all_seeds_on_its_data():
    results = of_runs(*(("one", 0, seed, {"error": 2.0 + seed}) for seed in range(3)), ("other", 0, 0, {"error": 1.0}))
    assert judged.difference("a", judged.pairs(results, "a", "one", "other"), "error").value == 2.0


def test_times_of_two_commits_are_not_divided():
    results = of_runs(("one", 0, 0, {"cpu": 2.0, "git_commit": "a"}), ("other", 0, 0, {"cpu": 1.0, "git_commit": "b"}))
    assert judged.times("a", judged.pairs(results, "a", "one", "other"), "cpu") is None


def test_a_single_pair_decides_nothing_but_a_time_that_is_far_off():
    alone = judged.mean_of("a", [0.5])
    assert math.isnan(alone.low)
    assert alone.at_most(1.0).held is alone.at_most(0.0).held is None
    assert [judged.geometric("a", [value]).at_most(1.0).held for value in (0.6, 0.9, 1.2, 1.7)] == [
        True,
        None,
        None,
        False,
    ]


def test_a_share_has_the_interval_of_clopper_and_pearson():
    found = judged.share("a", 45, 45)
    assert found.low == pytest.approx(0.025 ** (1 / 45))
    assert (found.at_least(0.9).held, found.at_least(0.95).held) == (True, None)


def held(*words, aspect=""):
    return [Estimate("a", 1.0, 1.0, 1.0, 2, held=word, aspect=aspect) for word in words]


@pytest.mark.parametrize(
    ("found", "word"),
    [
        (held(True, True, None), HOLDS),
        (held(True, None, None), UNTESTED),
        (held(True, True, False), DEPENDS),
        (held(None, False), FAILS),
        ([], UNTESTED),
        (held(True, aspect="time") + held(False, None, aspect="error"), FAILS),
        (held(True, aspect="time") + held(None, aspect="error"), UNTESTED),
    ],
)
def test_a_verdict_is_no_better_than_its_worst_aspect(found, word):
    assert judged.verdict(found) == word


def test_as_accurate_is_neither_worse_beyond_the_noise_nor_unknown():
    def of(low, high):
        return judged.as_accurate(Estimate("a", 0.0, low, high, 5), error=10.0).held

    assert (of(-0.1, 0.4), of(0.01, 0.02), of(-1.0, 0.6), of(math.nan, math.nan)) == (True, False, None, None)
