"""asv's own tabs over a real history: graphs, and a list of regressions that names what was planted."""

from __future__ import annotations

import re

import pytest

from tests.browser.conftest import Browser, Site
from tests.dashboard.history import DATASETS

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]  # the first test measures the history

KERNEL = "solvers.Record.track_kernel_evaluations"
TIME = "solvers.Fit.time_fit"
THERE = DATASETS[:2]  # no commit here renames one to the third

SERIES = """
const plot = window.jQuery && $('#main-graph').data('plot');
return plot && plot.getData().map(each => [each.label || '', each.data.filter(point => point[1] !== null).length]);
"""


def test_the_tiles_are_there_and_a_click_opens_the_graph(browser: Browser, site: Site) -> None:
    browser.open(site.address)
    browser.wait("return document.querySelectorAll('#summarygrid-display .benchmark-container').length > 3")
    browser.wait(
        "const tile = [...document.querySelectorAll('#summarygrid-display .benchmark-container')]"
        ".find(each => each.textContent.includes('track_kernel_evaluations'));"
        "if (!tile) return false; (tile.closest('a') || tile.querySelector('a') || tile).click(); return true;"
    )
    series = browser.wait(f"const found = (() => {{ {SERIES} }})(); return found && found.length ? found : null;")
    assert KERNEL in browser.ask("return location.hash")
    assert sum(points for _, points in series) > 0
    assert browser.complaints() == []


@pytest.mark.parametrize("solver", ["fw", "smo", "kernel-perceptron"])
def test_a_series_has_a_point_for_each_commit(browser: Browser, site: Site, solver: str) -> None:
    browser.open(f"{site.address}#{KERNEL}?p-solver='{solver}'&p-dataset='{THERE[0]}'")
    series = browser.wait(f"const found = (() => {{ {SERIES} }})(); return found && found.length ? found : null;")
    assert [points for _, points in series if points] == [len(site.history.commits)]


def test_a_solver_that_no_commit_has_is_an_empty_series(browser: Browser, site: Site) -> None:
    browser.open(f"{site.address}#{KERNEL}?p-solver='newcomer'&p-dataset='{THERE[0]}'")
    browser.wait("return window.jQuery && $('#main-graph').data('plot') ? true : null")
    assert sum(points for _, points in browser.ask(SERIES)) == 0


def test_the_list_of_regressions_names_what_was_planted_and_no_other_count(browser: Browser, site: Site) -> None:
    browser.open(f"{site.address}#regressions")
    browser.wait("return document.querySelectorAll('#regressions-display table tbody tr').length > 0")
    rows = [row.text for row in browser.find("#regressions-display table tbody tr")]

    def cells(benchmark: str) -> set[tuple[str, str]]:
        found = (re.search(r"\('?([\w-]+)'?, '?([\w-]+)'?\)", row) for row in rows if benchmark in row)
        return {match.groups() for match in found if match}  # type: ignore[misc]

    assert cells("track_kernel_evaluations") == {("smo", dataset) for dataset in THERE}
    assert cells("time_fit") >= {("fw", dataset) for dataset in THERE}
    others = [row for row in rows if ".track_" in row and "track_kernel_evaluations" not in row]
    assert [row for row in others if "track_harness_overhead" not in row] == []


def test_nothing_is_asked_of_another_machine(browser: Browser, site: Site) -> None:
    for tab in ("", "#summarylist", "#regressions", f"#{TIME}"):
        browser.open(site.address + tab)
        browser.wait("return document.readyState === 'complete' && window.jQuery && jQuery.active === 0")
    asked = browser.requests()
    assert len(asked) > 10
    assert [url for url in asked if not url.startswith(site.address)] == []
    assert browser.complaints() == []
