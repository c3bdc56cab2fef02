"""asv's pages as the site has them: beside ours, offline, on a wide screen and on a phone. The site is of made-up runs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from benchmarks.browser import Browser, served
from tests.browser.made import redrawn
from tests.dashboard.stored import record, repository, store

pytest.importorskip("asv", reason="the dashboard needs asv: pip install 'svm-harness[asv]'")

from harness_dashboard import configuration, export, measuring

pytestmark = pytest.mark.slow

TABS = {
    "": "#summarygrid-display .benchmark-container",
    "#summarylist": "#summarylist-body table",
    "#regressions": "#regressions-body table",
    "#grid.track_kernel_evaluations": "#main-graph canvas",
}
ATTACK = "<img src=x onerror=window.x=1>"


@pytest.fixture(scope="module")
def site(window: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a site of four commits, the last of which needs ten times the kernel evaluations."""
    folder = tmp_path_factory.mktemp("history")
    commits = repository(folder / "code", commits=4)
    runs = [
        record(solver, kernel_evaluations=count, git_commit=commit)
        for solver in ("smo", ATTACK)
        for count, commit in zip((1000, 1000, 1000, 10_000), commits, strict=True)
    ]
    conf = configuration.load(folder / "code")
    export.export([store(folder / "s.sqlite", *runs)], conf)
    with served(measuring.publish(conf)) as address:
        yield address


@pytest.mark.parametrize("tab", TABS)
def test_asvs_pages_fit_the_screen_load_nothing_from_elsewhere_and_carry_out_no_name(
    browser: Browser, site: str, tab: str
) -> None:
    for width, height in ((1400, 900), (390, 844)):
        browser.size(width, height)
        browser.open(f"{site}history.html{tab}")
        browser.wait("return document.querySelector(arguments[0])", TABS[tab])
        below = browser.ask(
            "const bar = document.getElementById('nav').getBoundingClientRect();"
            "return document.querySelector(arguments[0]).getBoundingClientRect().top - bar.bottom",
            TABS[tab],
        )
        assert below >= 0
        assert browser.ask("return document.documentElement.scrollWidth") <= width
    assert [url for url in browser.requests() if not url.startswith(site)] == []
    assert browser.ask("return window.x ?? null") is None
    assert browser.complaints() == []


def test_the_list_of_regressions_names_what_was_planted_and_a_commit_without_a_page_is_no_link(
    browser: Browser, site: str
) -> None:
    browser.open(f"{site}history.html#regressions")
    browser.wait("return document.querySelector('#regressions-body tbody tr')")
    cells = "[...document.querySelectorAll('#regressions-body tbody tr')].map(row => row.cells[0].textContent)"
    names = browser.ask(f"return {cells}")
    assert len(names) == 2
    assert all("track_kernel_evaluations" in name for name in names)
    links = "[...document.querySelectorAll('#regressions-body td:nth-child(3) a')]"
    assert set(browser.ask(f"return {links}.map(each => each.getAttribute('href'))")) == {None}


def test_our_page_is_in_front_the_two_lead_to_each_other_and_are_dark_alike(browser: Browser, site: str) -> None:
    browser.open(site)
    redrawn(browser, "landing")
    browser.find("#theme")[0].click()
    browser.find("#pages a[href='history.html']")[0].click()
    browser.wait("return document.querySelector('#nav-li-solvers a')")
    try:
        assert browser.ask("return getComputedStyle(document.body).backgroundColor") == "rgb(18, 22, 28)"
        browser.find("#nav-li-solvers a")[0].click()
        redrawn(browser, "landing")
        assert browser.ask("return document.documentElement.dataset.theme") == "dark"
    finally:
        browser.ask("localStorage.clear()")
