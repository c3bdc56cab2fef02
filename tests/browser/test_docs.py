"""The documentation in a real browser, from the disk: every page on a phone and on a desk, and its search."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.browser import Browser
from tests.docs.test_reference import ROOT, build

pytestmark = pytest.mark.slow

WIDE = """
const screen = document.documentElement.clientWidth;
const scrolls = (each) => each && (/auto|scroll|hidden|clip/.test(getComputedStyle(each).overflowX) || scrolls(each.parentElement));
return [...document.querySelectorAll('article *')]
  .filter(each => each.getBoundingClientRect().right > screen + 1 && !scrolls(each.parentElement))
  .map(each => `${each.tagName} ${each.textContent.slice(0, 60)}`);
"""
CUT = """
return [...document.querySelectorAll('article pre')].filter(each => each.scrollWidth > each.clientWidth + 1
    && !(arguments[0] && each.closest('.highlight-text') && getComputedStyle(each).overflowX === 'auto'))
  .map(each => each.textContent.slice(0, 60));
"""


@pytest.fixture(scope="module")
def site(window: Browser, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("docs") / "site"
    done = build(target)
    assert done.returncode == 0, done.stderr
    return target


@pytest.mark.parametrize("width", [390, 1400])
def test_every_page_fits_its_screen(width: int, site: Path, browser: Browser) -> None:
    browser.size(width, 900)
    pages = sorted(set(site.rglob("*.html")) - {site / "search.html"})  # which is empty without a word
    assert len(pages) >= 20
    for page in pages:
        browser.open(page.as_uri())
        assert browser.ask("return document.documentElement.scrollWidth") <= width, page
        assert browser.ask(WIDE) == [], page
        assert browser.ask(CUT, width < 500) == [], page  # on a phone printed text may scroll, code may not
        assert browser.ask("return document.querySelector('article').innerText.trim()"), page
    assert browser.complaints() == []
    assert [url for url in browser.requests() if not url.startswith("file://")] == []


@pytest.mark.parametrize(("word", "page"), [("kernel_evaluations", "record"), ("nu-svc", "formulations")])
def test_the_search_finds_without_a_server(word: str, page: str, site: Path, browser: Browser) -> None:
    browser.open((site / "index.html").as_uri())
    # on a busy machine the driver may say that a page is there while the empty one still is
    browser.wait("return document.querySelector('.sidebar-search-container input[name=q]') !== null")
    (box,) = browser.find(".sidebar-search-container input[name=q]")
    box.send_keys(f"{word}\n")
    found = "return [...document.querySelectorAll('#search-results li a')].map(each => each.getAttribute('href'))"
    browser.wait(f"{found}.some(href => href.startsWith('reference/{page}.html'))")
    browser.wait("return !document.querySelector('#search-progress')?.innerText.includes('...')")
    (first, *_) = browser.ask(found)
    browser.open((site / first).as_uri())
    assert word in browser.ask("return document.querySelector('article').innerText")
    assert browser.complaints() == []


def test_code_is_copied_as_it_was_written(site: Path, browser: Browser) -> None:
    browser.size(390, 900)
    browser.open((site / "how-to/your-own-solver.html").as_uri())
    browser.wait("return document.querySelector('article .highlight-python button.copybtn') !== null")
    copied = browser.ask("return document.querySelector('article .highlight-python pre').cloneNode(true).innerText")
    assert copied.rstrip() in (ROOT / "docs/how-to/your-own-solver.md").read_text()
    assert browser.ask("return document.querySelectorAll('article .highlight-text button.copybtn').length") == 0


def test_the_pictures_are_seen(site: Path, browser: Browser) -> None:
    for page in ("index", "gallery", "start/compare-two-solvers"):
        browser.open((site / f"{page}.html").as_uri())
        browser.wait("return [...document.images].every(each => each.complete)")
        widths = browser.ask("return [...document.querySelectorAll('article img.plot')].map(each => each.naturalWidth)")
        assert len(widths) == (ROOT / f"docs/{page}.md").read_text().count("```{plot}")
        assert min(widths) > 300


def test_a_formula_is_drawn(site: Path, browser: Browser) -> None:
    browser.open((site / "reference/formulations.html").as_uri())
    tops = "return [...document.querySelectorAll('math mfrac')].map(e => [...e.children].map(f => f.getBoundingClientRect().top))"
    boxes = browser.ask(tops)
    assert len(boxes) > 10
    assert all(above < below for above, below in boxes)  # the numerator stands above the denominator
