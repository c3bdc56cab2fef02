"""The pages as one file, opened from the disk: every page is drawn, and nothing is asked of the network."""

from __future__ import annotations

import socket

import pytest
from harness_dashboard import single

from tests.browser.made import Made, overlapping, picture, too_wide
from tests.browser.test_hostile import ATTACK, received
from tests.dashboard.hostile import hostile_store, shown_records
from tests.dashboard.stored import PATH, failed, record

PAGES = "return [...document.querySelectorAll('#pages [data-page]')].map((link) => link.dataset.page)"


def opened(browser, path, page=""):
    """Open a page of a file from the disk, wait until it is drawn; return how many marks it has."""
    browser.open(f"file://{path}{f'#/{page}' if page else ''}")
    browser.wait("return window.harnessDashboard && window.harnessDashboard.page")
    assert browser.ask("return window.harnessDashboard.errors") == []
    return browser.ask("return window.harnessDashboard.drawn")


@pytest.fixture(scope="module")
def alone(made: Made, tmp_path_factory):
    """The made-up store as one file."""
    path = tmp_path_factory.mktemp("single") / "page.html"
    path.write_text(single.of_stores([made.store])[0], encoding="utf-8")
    return path


@pytest.mark.parametrize(("width", "scheme"), [(1400, "light"), (1400, "dark"), (390, "light"), (390, "dark")])
def test_every_page_is_drawn_from_the_file_alone(browser, alone, width, scheme):
    browser.size(width, 900)
    browser.prefer(scheme)
    opened(browser, alone)
    pages = browser.ask(PAGES)
    assert len(pages) >= 5
    for page in pages:
        assert opened(browser, alone, page) > 0, page
        assert too_wide(browser) == 0, page
        assert overlapping(browser) == [], page
        picture(browser, f"single-{page}-{width}-{scheme}")
    assert {url.partition("#")[0] for url in browser.requests()} == {f"file://{alone}"}
    assert browser.complaints() == []


def test_its_links_and_choices_work(browser, alone):
    opened(browser, alone, "table")
    browser.ask("document.querySelector('#pages [data-page=pareto]').click()")
    browser.wait("return window.harnessDashboard.page === 'pareto'")
    browser.ask("document.querySelector('#legend [data-tool=none]').click()")
    browser.wait("return location.hash.includes('off=')")
    assert browser.ask("return getComputedStyle(document.querySelector('#legend li path')).fill") != "rgb(0, 0, 0)"
    assert browser.complaints() == []


def test_the_page_of_a_comparison_says_what_it_is_of(browser, tmp_path):
    runs = [record("smo"), record("fw", fit_seconds=9.0, cpu_seconds=9.0), failed("qp", reason="<b>slow</b>")]
    path = tmp_path / "page.html"
    path.write_text(single.of_records(runs, command="harness compare --plugins smo,fw,qp"), encoding="utf-8")
    for width in (1400, 390):
        browser.size(width, 900)
        assert opened(browser, path, "table") == 3
        assert too_wide(browser) == 0
        assert (
            browser.ask("return document.querySelector('#told pre').textContent")
            == "harness compare --plugins smo,fw,qp"
        )
        assert "<b>slow</b>" in browser.ask("return document.querySelector('#told pre[aria-label=Table]').innerText")
        picture(browser, f"single-comparison-{width}")
        browser.ask("document.querySelector('#pages [data-page=pareto]').click()")
        browser.wait("return window.harnessDashboard.page === 'pareto'")
        assert browser.ask("return document.querySelector('#told').open") is False, (
            "the page that was asked for is in sight"
        )


def test_a_comparison_of_paths_alone_is_its_table(browser, tmp_path):
    page = tmp_path / "page.html"
    page.write_text(single.of_records([record("smo", path=PATH)]), encoding="utf-8")
    assert opened(browser, page) == 0
    assert "path of 2 C" in browser.ask("return document.querySelector('#told').innerText")
    assert "a line of the table above" in browser.ask("return document.querySelector('#figure').innerText")


def test_nothing_of_a_hostile_store_is_carried_out(browser, tmp_path):
    path = tmp_path / "page.html"
    path.write_text(single.of_stores([hostile_store(tmp_path / "s.sqlite", shown_records())])[0], encoding="utf-8")
    opened(browser, path)
    for page in browser.ask(PAGES):
        opened(browser, path, page)
    browser.complaints()
    before = browser.ask(
        "return [window.__xss ?? null, document.querySelectorAll('iframe, img[onerror], svg[onload]').length]"
    )
    assert before == [None, 0]
    with socket.create_server(("127.0.0.1", 0)) as elsewhere:
        elsewhere.setblocking(False)
        browser.ask(ATTACK, f"http://127.0.0.1:{elsewhere.getsockname()[1]}/x.png")
        browser.wait("return [...document.querySelectorAll('img')].every(each => each.complete)")
        assert browser.ask("return window.__xss ?? null") is None
        assert browser.complaints() != []
        assert received(elsewhere) == b""


def test_the_site_says_what_to_do_where_it_was_opened_from_a_file(browser, made):
    browser.open(f"file://{made.folder / 'index.html'}")
    shown = browser.wait("return document.querySelector('#from-file:not([hidden])')?.innerText")
    assert "harness dashboard serve" in shown
    assert "--single-file" in shown
    picture(browser, "from-file")
    browser.open(made.at("table"))
    browser.wait("return window.harnessDashboard && window.harnessDashboard.page")
    assert browser.ask("return document.querySelector('#from-file')?.checkVisibility() ?? false") is False
