"""A real Chromium before a site or a page of the dashboard, for pictures and for tests."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from typing import Any

ASVS_OWN = re.compile(r"Invalid dimensions for plot, width = 0")  # a tile drawn after its page was left
_CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
_DRIVER = shutil.which("chromedriver")
_ARGUMENTS = ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--hide-scrollbars")


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


def missing() -> str:
    """Return what is not installed and how to install it; nothing if `chromium` will start."""
    if _CHROMIUM is None or _DRIVER is None:
        return "no chromium with its driver: apt-get install chromium chromium-driver"
    return "" if find_spec("selenium") else "the browser is driven by selenium: pip install selenium"


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start the browser without a window."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = _CHROMIUM
    for argument in _ARGUMENTS:
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(executable_path=_DRIVER))
    try:
        yield Browser(driver)
    finally:
        driver.quit()


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve a site to this machine alone; give its address."""
    handler = partial(_Quiet, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (its name in the library)
        """Say nothing: every request a line would bury what a test says."""
