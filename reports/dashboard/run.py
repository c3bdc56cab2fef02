"""Compare solvers on small data, publish the result, and take the pictures of this folder.

    pip install -e '.[test]'                 # asv and selenium; and chromium with its driver from the system
    python reports/dashboard/run.py

Everything is made in a temporary folder: no result store of the user's is read or written. A few minutes.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
if str(FOLDER.parents[1]) not in sys.path:
    sys.path.insert(0, str(FOLDER.parents[1]))

from benchmarks.browser import Browser, chromium, missing, served  # noqa: E402

SOLVERS = (
    "kernel-perceptron,lasvm,lasvm[epochs=5],smo,smo-block,libsvm,fw,fw-pairwise,fw-newton,cvm,"
    "randsvm-1[oracle=smo],gilbert"
)
DATASETS = "digits,breast-cancer,twonorm[n=2000],checkerboard[n=2000]"
GAP, SECONDS = "1e-4", 20
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


def picture(
    browser: Browser, address: str, name: str, page: str, dataset: str, screen: tuple[int, int], scheme: str
) -> None:
    """Take one picture of a page at its own height."""
    width, height = screen
    browser.prefer(scheme)
    browser.size(width, height)
    browser.open(f"{address}solvers.html#{page}")
    ready = "return window.harnessDashboard && window.harnessDashboard.page === arguments[0]"
    browser.wait(ready, page)
    if dataset:
        browser.ask(
            "const select = document.querySelector('select[name=dataset]');"
            "select.value = [...select.options].find(option => option.value.startsWith(arguments[0])).value;"
            "window.harnessDashboard.page = null; select.dispatchEvent(new Event('change'));",
            dataset,
        )
        browser.wait(ready, page)
    browser.size(width, min(1800, browser.ask("return document.documentElement.scrollHeight")))
    errors = browser.ask("return window.harnessDashboard.errors")
    if errors:
        sys.exit(f"{name}: the page says {errors}")
    browser.driver.save_screenshot(str(FOLDER / f"{name}.png"))
    print(f"{name}.png: {browser.ask('return window.harnessDashboard.drawn')} marks", flush=True)


def main() -> None:
    """Compare, publish, photograph."""
    reader = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    reader.add_argument("--time-limit", default=str(SECONDS), help="seconds inside a solver")
    given = reader.parse_args()
    if missing():
        sys.exit(missing())
    with tempfile.TemporaryDirectory(prefix="harness-dashboard-") as folder:
        store, site = str(Path(folder) / "results.sqlite"), Path(folder) / "site"
        harness(
            "compare", "--plugins", SOLVERS, "--datasets", DATASETS, "--store", store, "--target-gap", GAP,
            "--time-limit", given.time_limit,
        )  # fmt: skip
        harness("dashboard", "export", "--store", store, "--standalone", str(site))
        harness("dashboard", "build", "--config", str(site))
        with served(site) as address, chromium() as browser:
            for each in PICTURES:
                picture(browser, address, *each)


if __name__ == "__main__":
    main()
