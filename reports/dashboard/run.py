"""Compare solvers on small data, publish the result, and take the pictures of this folder.

    pip install -e '.[test]'                 # asv and selenium; and chromium with its driver from the system
    python reports/dashboard/run.py

Everything is made in a temporary folder: no result store of the user's is read or written. A few minutes.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent
SOLVERS = (
    "kernel-perceptron,lasvm,lasvm[epochs=5],smo,smo-block,libsvm,fw,fw-pairwise,fw-newton,cvm,"
    "randsvm-1[oracle=smo],gilbert"
)
DATASETS = "digits,breast-cancer,twonorm[n=2000],checkerboard[n=2000]"
WIDE, PHONE = (1280, 760), (360, 740)
PICTURES = (
    ("table", "table", "", WIDE, "light"),
    ("pareto", "pareto", "checkerboard", WIDE, "light"),
    ("profiles", "profiles", "", WIDE, "light"),
    ("anytime", "anytime", "checkerboard", WIDE, "light"),
    ("coresets", "coresets", "twonorm", WIDE, "light"),
    ("pareto-dark", "pareto", "checkerboard", WIDE, "dark"),
    ("anytime-phone", "anytime", "checkerboard", PHONE, "light"),
)
"""Picture, page, how the data set that is chosen on it begins, screen, colours."""


def harness(*arguments: str) -> None:
    """Run the command; a run that fails (exit code 1) is part of the picture."""
    done = subprocess.run([sys.executable, "-m", "harness.cli.main", *arguments], check=False)
    if done.returncode > 1:
        sys.exit(f"harness {' '.join(arguments)} ended with {done.returncode}")


@contextmanager
def served(site: Path) -> Iterator[str]:
    """Serve the site of a standalone dashboard; give its address."""
    command = [sys.executable, "-m", "harness.cli.main", "dashboard", "serve", "--config", str(site), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield server.stdout.readline().split()[0]
        finally:
            server.terminate()


def chromium() -> Any:
    """Start the browser without a window."""
    from selenium import webdriver

    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    driver = shutil.which("chromedriver")
    if found is None or driver is None:
        sys.exit("no chromium with its driver was found: apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = found
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--hide-scrollbars"):
        options.add_argument(argument)
    return webdriver.Chrome(options=options, service=webdriver.ChromeService(executable_path=driver))


def picture(
    browser: Any, address: str, name: str, page: str, dataset: str, screen: tuple[int, int], scheme: str
) -> None:
    """Take one picture of a page at its own height."""
    from selenium.webdriver.support.ui import WebDriverWait

    def size(height: int) -> None:
        figures = {"width": screen[0], "height": height, "deviceScaleFactor": 1, "mobile": False}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", figures)

    scheme_feature = {"name": "prefers-color-scheme", "value": scheme}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme_feature]})
    size(screen[1])
    browser.get("about:blank")
    browser.get(f"{address}solvers.html#{page}")
    ready = "return window.harnessDashboard && window.harnessDashboard.page === arguments[0]"
    WebDriverWait(browser, 30).until(lambda driver: driver.execute_script(ready, page))
    if dataset:
        choose = (
            "const select = document.querySelector('select[name=dataset]');"
            "select.value = [...select.options].find(option => option.value.startsWith(arguments[0])).value;"
            "window.harnessDashboard.page = null; select.dispatchEvent(new Event('change'));"
        )
        browser.execute_script(choose, dataset)
        WebDriverWait(browser, 30).until(lambda driver: driver.execute_script(ready, page))
    size(min(1800, browser.execute_script("return document.documentElement.scrollHeight")))
    errors = browser.execute_script("return window.harnessDashboard.errors")
    if errors:
        sys.exit(f"{name}: the page says {errors}")
    browser.save_screenshot(str(FOLDER / f"{name}.png"))
    print(f"{name}.png: {browser.execute_script('return window.harnessDashboard.drawn')} marks", flush=True)


def main() -> None:
    """Compare, publish, photograph."""
    reader = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    reader.add_argument("--time-limit", default="20", help="seconds inside a solver")
    given = reader.parse_args()
    with tempfile.TemporaryDirectory(prefix="harness-dashboard-") as folder:
        store, site = str(Path(folder) / "results.sqlite"), Path(folder) / "site"
        harness(
            "compare", "--plugins", SOLVERS, "--datasets", DATASETS, "--store", store, "--target-gap", "1e-4",
            "--time-limit", given.time_limit,
        )  # fmt: skip
        harness("dashboard", "export", "--store", store, "--standalone", str(site))
        harness("dashboard", "build", "--config", str(site))
        with served(site) as address:
            browser = chromium()
            try:
                for each in PICTURES:
                    picture(browser, address, *each)
            finally:
                browser.quit()


if __name__ == "__main__":
    main()
