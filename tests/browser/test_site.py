"""The site of a real history: asv's own tabs, and our pages for mouse and keyboard, light and dark, wide and narrow.

One file, as one process measures the history for all of its tests.
"""

from __future__ import annotations

import json
import re
from statistics import median

import pytest

from benchmarks.browser import Browser
from tests.browser.conftest import Site
from tests.dashboard.history import DATASETS

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]  # the first test measures the history

KERNEL = "solvers.Record.track_kernel_evaluations"
TIME = "solvers.Fit.time_fit"
THERE = DATASETS[:2]  # no commit here renames one to the third

SERIES = """
const plot = window.jQuery && $('#main-graph').data('plot');
return plot && plot.getData().map(each => [each.label || '', each.data.filter(point => point[1] !== null).length]);
"""

PAGES = ("table", "pareto", "profiles", "anytime", "coresets")
CHARTS = PAGES[1:]
OVERLAPS = """
const boxes = [...document.querySelectorAll('#figure text.label')].map(each => [each.textContent, each.getBoundingClientRect()]);
const found = [];
boxes.forEach(([name, a], i) => boxes.slice(i + 1).forEach(([other, b]) => {
  if (a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 3 && b.top < a.bottom - 3) found.push(`${name} / ${other}`);
}));
return found;
"""


# -- asv's tabs -----------------------------------------------------------------------------------------


def test_the_tiles_are_there_and_a_click_opens_the_graph(browser: Browser, site: Site) -> None:
    browser.open(f"{site.address}history.html")
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
    browser.open(f"{site.address}history.html#{KERNEL}?p-solver='{solver}'&p-dataset='{THERE[0]}'")
    series = browser.wait(f"const found = (() => {{ {SERIES} }})(); return found && found.length ? found : null;")
    assert [points for _, points in series if points] == [len(site.history.commits)]


def test_a_solver_that_no_commit_has_is_an_empty_series(browser: Browser, site: Site) -> None:
    browser.open(f"{site.address}history.html#{KERNEL}?p-solver='newcomer'&p-dataset='{THERE[0]}'")
    browser.wait("return window.jQuery && $('#main-graph').data('plot') ? true : null")
    assert sum(points for _, points in browser.ask(SERIES)) == 0


def test_the_list_of_regressions_names_what_was_planted_and_nothing_else(browser: Browser, site: Site) -> None:
    browser.open(f"{site.address}history.html#regressions")
    browser.wait("return document.querySelectorAll('#regressions-display table tbody tr').length > 0")
    rows = [row.text for row in browser.find("#regressions-display table tbody tr")]

    def cells(benchmark: str) -> set[tuple[str, str]]:
        found = (re.search(r"\('?([\w-]+)'?, '?([\w-]+)'?\)", row) for row in rows if benchmark in row)
        return {match.groups() for match in found if match}  # type: ignore[misc]

    assert cells("track_kernel_evaluations") == {("smo", dataset) for dataset in THERE}
    assert cells("time_fit") == {("fw", dataset) for dataset in THERE}
    others = [row for row in rows if ".track_" in row and "track_kernel_evaluations" not in row]
    assert [row for row in others if "track_harness_overhead" not in row] == []


def test_nothing_is_asked_of_another_machine(browser: Browser, site: Site) -> None:
    for tab in ("", "#summarylist", "#regressions", f"#{TIME}"):
        browser.open(f"{site.address}history.html{tab}")
        browser.wait("return document.readyState === 'complete' && window.jQuery && jQuery.active === 0")
    asked = browser.requests()
    assert len(asked) > 10
    assert [url for url in asked if not url.startswith(site.address)] == []
    assert browser.complaints() == []


# -- which page is where ---------------------------------------------------------------------------------


def test_our_page_is_in_front_and_the_two_lead_to_each_other(browser: Browser, site: Site) -> None:
    drawn(browser, site, "table")
    browser.find("#pages a[href='history.html']")[0].click()
    browser.wait("return document.querySelectorAll('#summarygrid-display .benchmark-container').length > 3")
    for tab in ("summarylist", "regressions", ""):
        browser.find(f"nav a[href='#/{tab}']")[0].click()
        browser.wait("return document.querySelector('nav li.active').id === arguments[0]", f"nav-li-{tab}")
        assert browser.ask("return location.pathname").endswith("/history.html")
    browser.find("#nav-li-solvers a")[0].click()
    browser.wait("return window.harnessDashboard && window.harnessDashboard.page")
    assert browser.ask("return location.pathname").endswith("/index.html")
    assert browser.complaints() == []


@pytest.mark.parametrize("place", ["", "#pareto", "#/table?off=fw"])
def test_links_to_where_our_page_was_lead_to_the_same_place_in_it(browser: Browser, site: Site, place: str) -> None:
    browser.open(f"{site.address}solvers.html{place}")
    browser.wait("return location.pathname.endsWith('/index.html') && window.harnessDashboard?.page")
    assert browser.ask("return location.hash") == place
    if place == "#/table?off=fw":
        assert browser.find("td[data-solver='fw']") == []
    assert browser.complaints() == []


@pytest.mark.parametrize("place", ["#regressions", "#/summarylist", f"#{TIME}?p-solver='fw'"])
def test_links_to_where_asvs_page_was_lead_to_the_same_place_in_it(browser: Browser, site: Site, place: str) -> None:
    browser.open(f"{site.address}{place}")
    browser.wait("return location.pathname.endsWith('/history.html') && window.jQuery && jQuery.asv.main_json")
    assert browser.ask("return decodeURIComponent(location.hash)").startswith(place.replace("#/", "#"))
    assert browser.complaints() == []


# -- our pages --------------------------------------------------------------------------------------------


def drawn(browser: Browser, site: Site, page: str, query: str = "") -> int:
    """Open a page, wait until it is drawn, and return how many marks it says it has."""
    browser.open(f"{site.address}#{page}{query}")
    browser.wait("return window.harnessDashboard && window.harnessDashboard.page === arguments[0]", page)
    assert browser.ask("return window.harnessDashboard.errors") == []
    return int(browser.ask("return window.harnessDashboard.drawn"))


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_each_page_draws_without_an_error_or_a_foreign_request(
    browser: Browser, site: Site, page: str, scheme: str
) -> None:
    browser.prefer(scheme)
    assert drawn(browser, site, page) > 0
    assert browser.ask("return document.documentElement.dataset.theme") == scheme
    assert browser.complaints() == []
    assert [url for url in browser.requests() if not url.startswith(site.address)] == []


def test_the_table_has_the_newest_commits_own_figures(browser: Browser, site: Site) -> None:
    drawn(browser, site, "table", "?figure=fit_seconds")
    newest = site.history.commits["planted"]
    files = list((site.history.repository / ".asv" / "records").rglob(f"{newest}*.json"))
    (records,) = [json.loads(file.read_text())["records"] for file in files]
    ended: dict[tuple[str, str], list[float]] = {}
    for each in records:
        if each["status"] == "ok":
            ended.setdefault((each["solver"], each["dataset"]), []).append(each["fit_seconds"])
    assert len(ended) == 6
    for (solver, dataset), seconds in ended.items():
        (cell,) = browser.find(f"td[data-solver='{solver}'][data-dataset^='{dataset}']")
        assert float(cell.get_attribute("data-value")) == pytest.approx(median(seconds), rel=1e-5)
    assert newest[:8] in browser.find("#note")[0].text


def test_a_click_sorts_the_table(browser: Browser, site: Site) -> None:
    drawn(browser, site, "table", "?figure=fit_seconds")
    heads = browser.find("#figure th[scope=col] button")
    heads[1].click()
    first = browser.ask("return [...document.querySelectorAll('#figure tbody tr')].map(r => r.cells[0].textContent)")
    heads[1].click()
    second = browser.ask("return [...document.querySelectorAll('#figure tbody tr')].map(r => r.cells[0].textContent)")
    measured = [name for name in first if name in ("fw", "smo", "kernel-perceptron")]
    assert [name for name in second if name in measured] == measured[::-1]


@pytest.mark.parametrize("page", CHARTS)
def test_the_keyboard_reaches_every_point(browser: Browser, site: Site, page: str) -> None:
    drawn(browser, site, page)
    points = browser.ask("return document.querySelectorAll('#figure .point').length")
    assert points > 0
    assert browser.ask("return document.querySelectorAll('#figure .point[tabindex=\"0\"]').length") == 1
    named = browser.ask(
        "return [...document.querySelectorAll('#figure .point')].every(p => p.getAttribute('aria-label'))"
    )
    assert named
    browser.ask("document.querySelector('#figure .point[tabindex=\"0\"]').focus()")
    assert browser.ask("return !document.getElementById('tip').hidden")


@pytest.mark.parametrize("page", CHARTS)
@pytest.mark.parametrize("width", [360, 1280])
def test_labels_do_not_lie_on_each_other_and_nothing_is_wider_than_the_screen(
    browser: Browser, site: Site, page: str, width: int
) -> None:
    browser.size(width, 800)
    drawn(browser, site, page)
    assert browser.ask(OVERLAPS) == []
    assert browser.ask("return document.documentElement.scrollWidth") <= width


def test_a_solver_can_be_switched_off(browser: Browser, site: Site) -> None:
    before = drawn(browser, site, "pareto")
    browser.find("#legend input[data-solver='fw']")[0].click()
    browser.wait("return window.harnessDashboard.drawn < arguments[0]", before)
    assert browser.find("#figure .point[data-solver='fw']") == []
    assert browser.find("#figure .point[data-solver='smo']") != []


def test_the_points_of_a_front_are_the_records(browser: Browser, site: Site) -> None:
    drawn(browser, site, "pareto")
    shown = browser.ask(
        "return [...document.querySelectorAll('#figure .point')].map(p => [p.dataset.solver, p.dataset.dataset, Number(p.dataset.x)])"
    )
    assert {solver for solver, _, _ in shown} <= {"fw", "smo", "kernel-perceptron"}
    assert all(dataset.startswith(DATASETS[:2]) and x > 0.0 for _, dataset, x in shown)


def test_the_switch_between_light_and_dark_changes_the_page(browser: Browser, site: Site) -> None:
    drawn(browser, site, "table")
    colour = "return getComputedStyle(document.body).backgroundColor"
    light = browser.ask(colour)
    browser.find("#theme")[0].click()
    assert browser.ask("return document.documentElement.dataset.theme") == "dark"
    assert browser.ask(colour) != light
    browser.find("#theme")[0].click()
    assert browser.ask(colour) == light
