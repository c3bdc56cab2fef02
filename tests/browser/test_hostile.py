"""A site made of a hostile store, in a browser: every page is drawn, and nothing of the store is carried out.

Every markup among the texts sets ``window.__xss``. The machines' buttons, tiles, points and links are hovered over:
asv makes its tips of HTML.
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.browser import Browser, served
from tests.dashboard.hostile import hostile_store, shown_records

TABS = (
    "", "#summarylist", "#regressions", "#grid.time_fit", "#grid.time_fit?x-axis=solver", "#grid.track_failed?x-axis=dataset",
)  # fmt: skip
PAGES = ("which", "table", "pareto", "profiles", "scaling", "anytime", "coresets", "two", "solver", "dataset")
HOVER = """
const wanted = arguments[0];
const found = [...document.querySelectorAll(wanted)].slice(0, 60);
for (const each of found) for (const kind of ['mouseenter', 'mouseover', 'focus']) {
  if (window.jQuery) jQuery(each).trigger(kind);
  each.dispatchEvent(new MouseEvent(kind, { bubbles: true }));
}
return found.length;
"""
CARRIED_OUT = (
    "return [window.__xss ?? null,"
    " document.querySelectorAll('iframe, img[onerror], svg[onload], body script:not([src])').length]"
)
ATTACK = """
document.body.insertAdjacentHTML('beforeend', `<img src=x onerror=window.__xss=1><svg onload=window.__xss=2></svg>
<iframe srcdoc='<script>parent.__xss=3</script>'></iframe><a id=bad href='javascript:window.__xss=4'>x</a>
<img src=${arguments[0]}><form id=send action=${arguments[0]}></form>`);
const own = document.createElement('script');
own.textContent = 'window.__xss=5';
document.body.append(own);
document.getElementById('bad').click();
document.getElementById('send').submit();
"""


@pytest.fixture(scope="module")
def address(window: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A site of the hostile store, exported and built by the functions behind the command; served by the command."""
    pytest.importorskip("asv", reason="the dashboard needs asv: pip install 'svm-harness[asv]'")
    from harness_dashboard import configuration, export, site

    folder: Path = tmp_path_factory.mktemp("hostile")
    export.standalone([hostile_store(folder / "s.sqlite", shown_records())], folder / "d")
    site.build(configuration.load(folder / "d"))
    with served(folder / "d") as found:
        yield found


@pytest.mark.parametrize("tab", TABS)
def test_asvs_pages_carry_out_nothing(browser: Browser, address: str, tab: str) -> None:
    browser.open(f"{address}history.html{tab}")
    browser.wait(
        "return document.readyState === 'complete' && window.jQuery && jQuery.asv.main_json && jQuery.active === 0"
    )
    hovered = browser.ask(HOVER, ".btn, .benchmark-text, .benchmark-plot, .nav-list li, #main-graph, tbody a, td a")
    assert hovered > 0
    browser.wait("return jQuery.active === 0")
    assert browser.ask(CARRIED_OUT) == [None, 0]
    assert browser.complaints() == []
    assert [url for url in browser.requests() if not url.startswith(address)] == []


def test_the_tip_of_a_machine_shows_its_text(browser: Browser, address: str) -> None:
    browser.open(f"{address}history.html#grid.time_fit")
    browser.wait("return document.querySelectorAll('#graphdisplay-state-params .btn').length > 2")
    assert browser.ask(HOVER, "#graphdisplay-state-params .btn") > 2
    tips = browser.wait("const found = [...document.querySelectorAll('.tooltip')].map(each => each.textContent);"
                        "return found.some(each => each.includes('onerror')) && found;")  # fmt: skip
    assert any("img src_x onerror_window.__xss_1" in tip for tip in tips), tips
    assert browser.ask("return [...document.querySelectorAll('.tooltip img')].length") == 0


@pytest.mark.parametrize("page", PAGES)
def test_our_pages_carry_out_nothing(browser: Browser, address: str, page: str) -> None:
    browser.open(f"{address}#{page}")
    browser.wait("return window.harnessDashboard && window.harnessDashboard.page === arguments[0]", page)
    browser.ask(HOVER, "button, .point, td, th, label")
    assert browser.ask("return window.harnessDashboard.errors") == []
    assert browser.ask(CARRIED_OUT) == [None, 0]
    assert browser.complaints() == []


def received(listening: socket.socket) -> bytes:
    """Return what was sent; Chromium may connect to what a page names before it asks whether it may."""
    found = b""
    with contextlib.suppress(BlockingIOError):
        while True:
            connection, _ = listening.accept()
            with connection, contextlib.suppress(BlockingIOError):
                connection.setblocking(False)
                found += connection.recv(1000)
    return found


def test_what_came_in_by_another_road_is_stopped_by_the_policy(browser: Browser, address: str) -> None:
    """Markup that gets into a page in spite of all runs no script, loads nothing from elsewhere, and sends no form."""
    with socket.create_server(("127.0.0.1", 0)) as elsewhere:
        elsewhere.setblocking(False)
        for page in ("", "history.html"):
            browser.open(address + page)
            browser.wait("return document.readyState === 'complete'")
            browser.ask(ATTACK, f"http://127.0.0.1:{elsewhere.getsockname()[1]}/x.png")
            browser.wait("return [...document.querySelectorAll('img')].every(each => each.complete)")
            assert browser.ask("return window.__xss ?? null") is None
            assert browser.complaints() != []
            assert browser.ask("return location.href").startswith(address)
        assert received(elsewhere) == b""


HOLES = {
    "jQuery, CVE-2020-11022": (
        "$('body').append($('<div>').html('<style><style /><img src=x onerror=window.__xss=1>'));"
    ),
    "jQuery, a script among the markup": "try { $('body').append('<script>window.__xss=2<' + '/script>'); } catch { }",
    "Bootstrap, CVE-2019-8331": (
        "const made = '<div class=tooltip><img src=x onerror=window.__xss=3><div class=tooltip-inner></div></div>';"
        "$('<b title=x>').appendTo('body').attr('data-template', made).tooltip('show');"
    ),
    "Bootstrap, CVE-2018-14042": (
        "const made = '<img src=x onerror=window.__xss=4>';"
        "$('<b title=x>').appendTo('body').attr('data-container', made).tooltip('show');"
    ),
}


@pytest.mark.parametrize("hole", HOLES)
def test_the_holes_of_asvs_libraries_run_nothing_under_the_policy(browser: Browser, address: str, hole: str) -> None:
    """asv's jQuery and Bootstrap are old. That the holes are real is seen where the browser ignores the policy."""
    for ignored in (False, True):
        browser.driver.execute_cdp_cmd("Page.setBypassCSP", {"enabled": ignored})
        try:
            browser.open(f"{address}history.html")
            browser.wait("return window.jQuery && jQuery.asv.main_json && jQuery.active === 0")
            browser.ask(HOLES[hole])
            browser.wait("return [...document.images].every(each => each.complete)")
            if ignored:
                browser.wait("return window.__xss", seconds=5.0)
            else:
                assert browser.ask("return window.__xss ?? null") is None
                assert any("Content Security Policy" in message for message in browser.complaints())
        finally:
            browser.driver.execute_cdp_cmd("Page.setBypassCSP", {"enabled": False})
