"""A real Chromium before the site of a real history, as `harness dashboard serve` shows it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.dashboard.history import History, make_history, measure

HARNESS = [sys.executable, "-m", "harness.cli.main"]
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
DRIVER = shutil.which("chromedriver")
ASVS_OWN = re.compile(r"Invalid dimensions for plot, width = 0")  # a tile drawn after its page was left


@dataclass
class Site:
    """A site that is being served, and the history it shows."""

    address: str
    history: History
    folder: Path


class Browser:
    """Chromium, and what it asked the network for and complained about since the last look."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def open(self, address: str) -> None:
        """Load a page anew, also where only the part behind # differs."""
        self.driver.get("about:blank")
        self.driver.get(address)

    def ask(self, script: str, *arguments: Any) -> Any:
        """Return what a script returns."""
        return self.driver.execute_script(script, *arguments)

    def wait(self, script: str, *arguments: Any, seconds: float = 30.0) -> Any:
        """Return what a script returns as soon as that is true."""
        from selenium.webdriver.support.ui import WebDriverWait

        return WebDriverWait(self.driver, seconds, 0.1).until(
            lambda driver: driver.execute_script(script, *arguments), f"never true: {script}"
        )

    def find(self, selector: str) -> list[Any]:
        """Return the elements of a CSS selector."""
        return list(self.driver.find_elements("css selector", selector))

    def requests(self) -> list[str]:
        """Return the addresses that pages asked for since the last look."""
        told = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        sent = [event["params"]["request"]["url"] for event in told if event["method"] == "Network.requestWillBeSent"]
        return [url for url in sent if not url.startswith(("about:", "data:", "blob:"))]

    def complaints(self) -> list[str]:
        """Return what the browser called an error since the last look, but for what is asv's own."""
        found = [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] == "SEVERE"]
        return [message for message in found if not ASVS_OWN.search(message)]

    def size(self, width: int, height: int) -> None:
        """Be a screen of this size; as narrow as a phone too, which a window cannot be."""
        figures = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", figures)

    def prefer(self, scheme: str) -> None:
        """Ask for 'light' or 'dark' as the system's setting does."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """The browser, once for all tests."""
    if CHROMIUM is None or DRIVER is None:
        pytest.skip("no chromium with its driver: apt-get install chromium chromium-driver")
    pytest.importorskip("selenium", reason="the browser is driven by selenium: pip install selenium")
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--hide-scrollbars"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(executable_path=DRIVER))
    try:
        yield Browser(driver)
    finally:
        driver.quit()


@pytest.fixture
def browser(chromium: Browser) -> Browser:
    """The browser, with a desktop's screen, light, and nothing to report yet."""
    chromium.size(1280, 900)
    chromium.prefer("light")
    chromium.open("about:blank")
    chromium.requests()
    chromium.complaints()
    return chromium


@pytest.fixture(scope="session")
def site(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Three commits, measured and published by the command: clean, then fw slower, then smo's rows computed anew."""
    pytest.importorskip("asv", reason="the dashboard needs asv: pip install 'svm-harness[asv]'")
    history = make_history(tmp_path_factory.mktemp("history"), ["clean", "crawling", "crawling-uncached"])
    measure(history)
    yield from served(history)


def served(history: History) -> Iterator[Site]:
    """Publish a history and serve it until the caller is done."""
    given = ["--config", str(history.configuration)]
    built = subprocess.run(
        [*HARNESS, "dashboard", "build", *given], cwd=history.repository, capture_output=True, text=True, check=False
    )
    assert built.returncode == 0, built.stderr
    with subprocess.Popen(
        [*HARNESS, "dashboard", "serve", *given, "--port", "0"],
        cwd=history.repository,
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        try:
            assert server.stdout is not None
            address = re.search(r"http://127\.0\.0\.1:\d+/", server.stdout.readline())
            assert address is not None
            yield Site(address.group(), history, history.repository / ".asv" / "html")
        finally:
            server.terminate()
