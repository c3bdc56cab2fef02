"""A real Chromium before the site of a real history, as `harness dashboard serve` shows it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from benchmarks.browser import Browser, chromium, missing, served
from tests.browser.made import Made, made_site
from tests.dashboard.history import History, make_history, measure, settle_times


@dataclass
class Site:
    """A site that is being served, and the history it shows."""

    address: str
    history: History
    folder: Path


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
def site(window: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Three commits, measured and published by the command: clean, then smo's rows computed anew, then fw slower too."""
    pytest.importorskip("asv", reason="the dashboard needs asv: pip install 'svm-harness[asv]'")
    history = make_history(tmp_path_factory.mktemp("history"), ["clean", "uncached", "planted"])
    measure(history)
    settle_times(history, slow={"planted": "fw"})
    built = subprocess.run(
        [sys.executable, "-m", "harness.cli.main", "dashboard", "build", "--config", str(history.configuration)],
        cwd=history.repository, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert built.returncode == 0, built.stderr
    with served(history.configuration) as address:
        yield Site(address, history, history.repository / ".asv" / "html")


@pytest.fixture(scope="session")
def made(window: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Made]:
    """The site of a made-up store that tests of our pages share; `tests.browser.made` says what is planted in it."""
    pytest.importorskip("asv", reason="the dashboard needs asv: pip install 'svm-harness[asv]'")
    with made_site(tmp_path_factory.mktemp("made")) as site:
        yield site
