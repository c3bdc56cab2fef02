"""asv's pages as the site has them: beside ours, on a wide screen and on a phone. The sites are of made-up runs, and cheap."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.browser import Browser, served
from tests.dashboard.stored import record, store

pytest.importorskip("asv", reason="the dashboard needs asv: pip install 'svm-harness[asv]'")

from harness_dashboard import configuration, export, site

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
