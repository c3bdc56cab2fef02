"""Our pages before a made-up store: what they say, what they keep in the address, and what they give away as files.

The site lies at a sub-path, as it does on a project's own page of a host.
"""

from __future__ import annotations

import csv
import functools
import http.server
import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest

from benchmarks.browser import Browser
from tests.browser.made import CORE, EPSILONS, FASTEST, STOPS_EARLY, Made

SUB_PATH = "some/path"


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def pages(made: Made, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the pages, up to the name behind ``#/``."""
    root = tmp_path_factory.mktemp("host")
    (root / SUB_PATH).parent.mkdir(parents=True)
    (root / SUB_PATH).symlink_to(made.folder)
    handler = functools.partial(_Quiet, directory=str(root))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/{SUB_PATH}/#/"
        server.shutdown()


def drawn(browser: Browser, pages: str, page: str = "") -> None:
    """Open a page and wait until it is drawn, without an error."""
    browser.open(pages + page)
    settled(browser)


def settled(browser: Browser) -> None:
    browser.wait("return window.harnessDashboard && window.harnessDashboard.page")
    assert browser.ask("return window.harnessDashboard.errors") == []


def hash_of(browser: Browser) -> str:
    return str(browser.ask("return decodeURIComponent(location.hash.replaceAll('+', ' '))"))


def saved(browser: Browser, selector: str, folder: Path) -> Path:
    """Press a button of a download; return the file."""
    before = set(folder.iterdir())
    browser.driver.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(folder)})
    browser.find(selector)[0].click()
    for _ in range(100):
        found = [path for path in folder.iterdir() if path not in before and path.suffix != ".crdownload"]
        if found and found[0].stat().st_size:
            return found[0]
        time.sleep(0.1)
    raise AssertionError(f"nothing was saved: {browser.complaints()}")


def first_column(browser: Browser, within: str = "#figure") -> list[str]:
    return list(
        browser.ask(f"return [...document.querySelectorAll('{within} tbody tr')].map(r => r.cells[0].textContent)")
    )


# -- the address and the browser's history -------------------------------------------------------------


def test_the_skip_link_leads_to_the_content_and_leaves_the_view(browser: Browser, pages: str) -> None:
    drawn(browser, pages, "pareto")
    browser.ask("document.querySelector('.skip').focus(); document.querySelector('.skip').click()")
    settled(browser)
    assert hash_of(browser) == "#/pareto"
    assert browser.ask("return document.activeElement.id") == "content"
    assert browser.ask("return window.harnessDashboard.page") == "pareto"


@pytest.mark.parametrize("name", ["constructor", "toString", "nowhere"])
def test_an_address_of_no_page_is_the_first_page(browser: Browser, pages: str, name: str) -> None:
    drawn(browser, pages, name)
    assert browser.find("nav a[aria-current]")


def test_back_undoes_a_filter(browser: Browser, pages: str) -> None:
    drawn(browser, pages, "pareto")
    browser.find("#legend input[data-solver^='lasvm']")[0].click()
    settled(browser)
    assert browser.find("#figure .point[data-solver^='lasvm']") == []
    browser.driver.back()
    browser.wait("return document.querySelector('#figure .point[data-solver^=\"lasvm\"]')")
    assert hash_of(browser) == "#/pareto"


def test_the_order_and_the_columns_of_a_table_are_in_the_address(browser: Browser, pages: str) -> None:
    drawn(browser, pages, "table")
    browser.find("#figure thead button")[0].click()
    browser.find("#figure thead button")[0].click()
    assert browser.ask("return document.activeElement.textContent") == "Solver"
    assert "sort=-Solver" in hash_of(browser)
    names = first_column(browser)
    assert [name for name in names if name.startswith(CORE)] == [f"{CORE}[epsilon={each:g}]" for each in EPSILONS]
    assert names.index(FASTEST) < names.index(STOPS_EARLY) < names.index(f"{CORE}[epsilon=0.01]")
    before = len(browser.find("#figure thead th"))
    browser.ask("document.querySelector('#figure .menu summary').click()")
    browser.find("#figure .menu input")[0].click()
    assert len(browser.find("#figure thead th")) == before - 1
    browser.driver.refresh()
    settled(browser)
    assert first_column(browser) == names
    assert browser.find("#figure thead th")[0].get_attribute("aria-sort") == "descending"
    assert len(browser.find("#figure thead th")) == before - 1
    browser.driver.back()
    browser.wait("return document.querySelectorAll('#figure thead th').length === arguments[0]", before)


# -- downloads -----------------------------------------------------------------------------------------


def test_a_table_is_saved_as_it_is_shown(browser: Browser, pages: str, tmp_path: Path) -> None:
    drawn(browser, pages, "table?sort=-Solver")
    file = saved(browser, "#figure [data-download=csv]", tmp_path)
    with file.open(newline="", encoding="utf-8") as opened:
        head, *lines = list(csv.reader(opened))
    assert (file.suffix, head[0]) == (".csv", "Solver")
    assert [line[0] for line in lines] == first_column(browser)
    rows = json.loads(saved(browser, "#figure [data-download=json]", tmp_path).read_bytes())
    assert len(rows) == len(lines)
    assert any(isinstance(value, float) for value in rows[0].values())


def test_a_chart_is_saved_with_its_colours_and_its_legend(browser: Browser, pages: str, tmp_path: Path) -> None:
    browser.prefer("dark")
    drawn(browser, pages, "pareto")
    text = saved(browser, "#figure [data-download=svg]", tmp_path).read_text()
    assert "var(" not in text
    assert "class=" not in text
    root, space = ElementTree.fromstring(text), "{http://www.w3.org/2000/svg}"
    back = root.find(f"{space}rect")
    assert back is not None
    assert back.get("fill") == browser.ask("return getComputedStyle(document.body).backgroundColor")
    words = [each.text for each in root.iter(f"{space}text")]
    assert {FASTEST, STOPS_EARLY} <= set(words)
    assert len(browser.find("#figure svg text")) < len(words)  # the page's own chart has no legend left in it
    picture = saved(browser, "#figure [data-download=png]", tmp_path)
    assert (picture.suffix, picture.read_bytes()[:8]) == (".png", b"\x89PNG\r\n\x1a\n")
    assert browser.complaints() == []


# -- how it looks --------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1400])
@pytest.mark.parametrize("page", ["table", "pareto", "profiles", "anytime", "coresets"])
def test_no_page_is_wider_than_the_screen(browser: Browser, pages: str, page: str, width: int, scheme: str) -> None:
    browser.size(width, 844 if width < 600 else 900)
    browser.prefer(scheme)
    drawn(browser, pages, page)
    assert browser.ask("return document.documentElement.scrollWidth") <= width
    assert browser.complaints() == []


def test_on_a_phone_the_pages_wait_behind_a_button(browser: Browser, pages: str) -> None:
    browser.size(390, 844)
    drawn(browser, pages, "table")
    (link,) = browser.find("nav a[data-page=pareto]")
    assert not link.is_displayed()
    browser.find("#menu")[0].click()
    assert link.is_displayed()
    link.click()
    browser.wait("return window.harnessDashboard.page === 'pareto'")
    assert not browser.find("nav a[data-page=table]")[0].is_displayed()
