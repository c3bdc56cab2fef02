"""A real Chromium before the made-up results of `tests.browser.made`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from benchmarks.browser import Browser, chromium, missing
from tests.browser.made import made_page


@pytest.fixture(scope="session")
def window() -> Iterator[Browser]:
    """The browser, once for all tests."""
    if missing():
        pytest.skip(missing())
    with chromium() as browser:
        yield browser


@pytest.fixture
def browser(window: Browser) -> Browser:
    """The browser, with a desktop's screen, light, and nothing to report yet."""
    window.size(1280, 900)
    window.prefer("light")
    window.open("about:blank")
    window.requests()
    window.complaints()
    return window


@pytest.fixture(scope="session")
def made(window: Browser, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of the page of the made-up store."""
    return made_page(tmp_path_factory.mktemp("made"))
