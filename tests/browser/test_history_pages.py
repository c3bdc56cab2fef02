"""asv's pages as the site has them: beside ours, on a wide screen and on a phone. The sites are of made-up runs, and cheap."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from benchmarks.browser import Browser, served
from tests.dashboard.stored import git, record, repository, store

pytest.importorskip("asv", reason="the dashboard needs asv: pip install 'svm-harness[asv]'")

from harness_dashboard import configuration, export, site

LINKED = "return [...document.querySelectorAll(arguments[0])].map(each => [each.textContent.trim(), each.getAttribute('href')])"
SIZES = [(1400, 900), (390, 844)]


def made(folder: Path, *runs: Any) -> Path:
    """Make a site of runs; return its configuration."""
    export.standalone([store(folder / "s.sqlite", *runs)], folder / "d")
    site.build(configuration.load(folder / "d"))
    return folder / "d"


@pytest.fixture(scope="module")
def single(window: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a comparison's site: one state of the code."""
    with served(made(tmp_path_factory.mktemp("single"), record("smo"), record("fw", "twonorm"))) as address:
        yield address


def changing(commits: Sequence[str | None]) -> list[Any]:
    """Return runs of several states of code, the last of which needs ten times the kernel evaluations."""
    counts = [*[1000] * (len(commits) - 1), 10_000]
    return [
        record(kernel_evaluations=count, git_commit=commit, code_sha256=str(i))  # type: ignore[no-untyped-call]
        for i, (count, commit) in enumerate(zip(counts, commits, strict=True))
    ]


@pytest.fixture(scope="module")
def states(window: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a site of a store over four commits, the last one with a changed tree and a regression."""
    commits = ["a" * 40, "b" * 40, None, "929e25f1" + "0" * 32 + "+"]
    with served(made(tmp_path_factory.mktemp("states"), *changing(commits))) as address:
        yield address


@pytest.fixture(scope="module")
def remote(window: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """The address of a site of a clone of a project on the web, and its newest commit."""
    folder = tmp_path_factory.mktemp("remote") / "clone"
    commits = repository(folder, commits=4)
    git(folder, "remote", "add", "origin", "git@git.example.org:group/project.git")
    export.export([store(folder.parent / "s.sqlite", *changing(commits))], configuration.load(folder))
    site.build(configuration.load(folder))
    with served(folder) as address:
        yield address, commits[-1]


LISTS = [
    ("summarylist", "#summarylist-body td.change-date a"),
    ("regressions", "#regressions-body tbody td:nth-child(3) a"),
]


@pytest.mark.parametrize(("tab", "links"), LISTS)
def test_a_commit_without_a_page_is_no_link_and_has_its_own_name(
    browser: Browser, states: str, tab: str, links: str
) -> None:
    browser.open(f"{states}history.html#{tab}")
    browser.wait("return document.querySelector(arguments[0])", links)
    found = browser.ask(LINKED, links)
    assert ["929e25f1+", None] in found
    assert {href for _, href in found} == {None}
    assert browser.ask("return document.getElementById('project-name').getAttribute('href')") is None


@pytest.mark.parametrize(("tab", "links"), LISTS)
def test_a_commit_of_a_project_on_the_web_is_linked(
    browser: Browser, remote: tuple[str, str], tab: str, links: str
) -> None:
    address, commit = remote
    browser.open(f"{address}history.html#{tab}")
    browser.wait("return document.querySelector(arguments[0])", links)
    assert [commit[:8], f"https://git.example.org/group/project/commit/{commit[:8]}"] in browser.ask(LINKED, links)
    project = browser.ask("return document.getElementById('project-name').getAttribute('href')")
    assert project == "https://git.example.org/group/project"


def test_a_point_of_a_graph_tells_the_commits_own_name_and_opens_no_empty_page(browser: Browser, states: str) -> None:
    browser.open(f"{states}history.html#grid.track_kernel_evaluations")
    browser.wait("return window.jQuery && $('#main-graph').data('plot')?.getData().length")
    tip = browser.ask(
        "const point = $('#main-graph').data('plot').getData().at(-1).data.at(-1);"
        "const item = { datapoint: point, seriesIndex: 0, series: { label: 'x' }, pageX: 300, pageY: 300 };"
        "$('#main-graph').trigger('plothover', [{}, item]).trigger('plotclick', [{}, item]);"
        "return document.querySelector('.tooltip')?.textContent;"
    )
    assert "@ 929e25f1+" in tip
    assert len(browser.driver.window_handles) == 1
    assert browser.complaints() == []


@pytest.mark.parametrize("size", SIZES)
def test_the_site_of_a_comparison_opens_on_our_page_and_leads_to_no_empty_one(
    browser: Browser, single: str, size: tuple[int, int]
) -> None:
    browser.size(*size)
    browser.open(single)
    browser.wait("return window.harnessDashboard && window.harnessDashboard.page")
    assert browser.find("#figure table") != []
    assert browser.ask("return [...document.links].map(each => each.getAttribute('href'))")
    assert browser.find("a[href^='history.html']") == []
    assert browser.complaints() == []


TABS = {
    "": "#summarygrid-display .benchmark-container",
    "#summarylist": "#summarylist-body table",
    "#regressions": "#regressions-body table",
    "#grid.track_kernel_evaluations": "#main-graph canvas",
}


@pytest.mark.parametrize("tab", TABS)
@pytest.mark.parametrize("size", [*SIZES, (768, 900), (1000, 700)])
def test_asvs_bar_covers_nothing_and_nothing_is_wider_than_the_screen(
    browser: Browser, states: str, tab: str, size: tuple[int, int]
) -> None:
    """At the commit before, the bar was five lines high on a phone and lay on the first rows."""
    browser.size(*size)
    browser.open(f"{states}history.html{tab}")
    browser.wait("return document.querySelector(arguments[0])", TABS[tab])
    below, left, right, graph = browser.ask(
        "const bar = document.getElementById('nav').getBoundingClientRect();"
        "const box = document.querySelector(arguments[0]).getBoundingClientRect();"
        "const graph = document.querySelector('#graph').getBoundingClientRect();"
        "return [box.top - bar.bottom, box.left, box.left + Math.min(box.width, 300), graph.width];",
        TABS[tab],
    )
    assert below >= 0
    assert 0 <= left < right <= size[0]
    assert browser.ask("return document.documentElement.scrollWidth") <= size[0]
    assert not tab.startswith("#grid") or graph > 0.6 * size[0]


def test_asvs_pages_are_dark_where_ours_are(browser: Browser, states: str) -> None:
    colour = "return getComputedStyle(document.body).backgroundColor"
    browser.open(f"{states}history.html#regressions")
    browser.wait("return document.querySelector('#regressions-body table')")
    light = browser.ask(colour)
    browser.prefer("dark")
    browser.wait(f"return (() => {{ {colour} }})() !== arguments[0]", light)
    browser.open(states)
    browser.wait("return window.harnessDashboard && window.harnessDashboard.page")
    browser.find("#theme")[0].click()  # light, whatever the system says
    browser.open(f"{states}history.html")
    try:
        assert browser.ask(colour) == light
    finally:
        browser.ask("localStorage.clear()")
