"""Compare solvers on generated data, write the page of the result, and take the pictures of this folder.

    pip install -e '.[test,report]'                   # selenium, Pillow; and chromium with its driver from the system
    python reports/dashboard/run.py                   # on one free core: at most the minutes of MINUTES, and the pictures
    python reports/dashboard/run.py --folder kept     # store and page stay there, and the same command goes on
    python reports/dashboard/run.py --tiny            # small sets, one run each: to try it; --pictures says where they go

No result store of the user's is read or written.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from PIL import Image

FOLDER = Path(__file__).resolve().parent
if str(FOLDER.parents[1]) not in sys.path:
    sys.path.insert(0, str(FOLDER.parents[1]))

from benchmarks.browser import Browser, chromium, missing  # noqa: E402

MINUTES = 12
"""After so many no run is started and what is left out is named."""
GAP, SECONDS, REPEAT = "1e-3", 20, 3
SIZES = (1000, 3000, 10000)
SOLVERS = "smo-block,smo,libsvm,lasvm"
CORE_SETS = "fw,cvm,fw-newton,smo-block"
SWEEP_C, SWEEP_CHI = "0.1,1,10,100", "0.1,1,10"
SHAPED = ("clouds[n={n}]", "sphere[n={n}]", "heavy-tails[n={n}]", "twonorm[n={n}]", "ringnorm[n={n}]",
          "waveform-breiman[n={n}]")  # fmt: skip
"""Generated sets: three of 50 features, three of about 20."""
ASKED = {"n": SIZES[-1], "d": 50, "gap": 1}
"""What the landing page is asked; the gap by its place among those it offers: 1e-3."""
WIDE, PHONE = (1400, 900), (390, 844)
TALLEST = 1800  # pixels of a picture


@dataclass(frozen=True)
class Part:
    """One command of the comparison; the question's own sets come first, in case the time ends."""

    name: str
    datasets: str
    solvers: str
    options: tuple[str, ...] = ()


def sizes(tiny: bool) -> tuple[int, int, int]:
    return (200, 300, 400) if tiny else SIZES


def of_size(n: int, shaped: tuple[str, ...]) -> str:
    return ",".join(each.format(n=n) for each in shaped)


def parts(tiny: bool) -> list[Part]:
    """Return what is measured; tiny: the same of few points."""
    small, middle, _ = sizes(tiny)
    shaped = SHAPED[:2] if tiny else SHAPED
    return [
        *(Part(f"{n} points", of_size(n, shaped), SOLVERS) for n in reversed(sizes(tiny))),
        Part("embedded sets and a board", f"digits,breast-cancer,checkerboard[n={middle}]", SOLVERS),
        Part("C", f"twonorm[n={middle}]", SOLVERS, ("--C", SWEEP_C)),
        Part("core sets", f"breast-cancer,twonorm[n={small}],clouds[n={small}]", CORE_SETS,
             ("--formulation", "l2-svc", "--C", SWEEP_CHI)),
    ]  # fmt: skip


def pictures(tiny: bool) -> dict[str, dict[str, Any]]:
    """Return page -> what its address says; a solver or a data set is told by how its name begins."""
    _, middle, large = sizes(tiny)
    return {
        "which": ASKED | {"n": large},
        "table": {},
        "pareto": {"dataset": f"twonorm[n={middle}]"},
        "profiles": {},
        "scaling": {},
        "anytime": {"dataset": f"sphere[n={middle}]"},
        "two": {"a": "smo-block", "b": "libsvm"},
    }


def harness(*arguments: str, seconds: float | None = None) -> bool:
    """Run the command; a run that fails (exit code 1) is part of the picture. Return whether it ended within the time."""
    given = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, [str(FOLDER.parents[1]), os.environ.get("PYTHONPATH")])),
    }
    process = subprocess.Popen([sys.executable, "-m", "harness.cli.main", *arguments], env=given)
    try:
        process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)  # finished runs are in the store
        process.wait()
        return False
    if process.returncode > 1:
        sys.exit(f"harness {' '.join(arguments)} ended with {process.returncode}")
    return True


def measure(store: Path, tiny: bool) -> None:
    """Compare, part after part, within the time."""
    began = time.monotonic()
    planned = parts(tiny)
    for number, part in enumerate(planned, start=1):
        spent = time.monotonic() - began
        left = 60 * MINUTES - spent
        print(f"[part {number}/{len(planned)}] {part.name}; {spent / 60:.1f} of {MINUTES} min spent", flush=True)
        ended = left > 0 and harness(
            "compare", "--plugin-path", str(FOLDER / "sources.py"), "--plugins", part.solvers, "--datasets", part.datasets,
            "--store", str(store), "--target-gap", GAP, "--time-limit", str(SECONDS), "--repeat", "1" if tiny else str(REPEAT),
            *part.options,
            seconds=left,
        )  # fmt: skip
        if not ended:
            print(f"not whole for want of time: {', '.join(each.name for each in planned[number - 1 :])}", flush=True)
            return
    print(f"measured in {(time.monotonic() - began) / 60:.1f} min", flush=True)


def take(browser: Browser, address: str, file: Path, screen: tuple[int, int], scheme: str) -> None:
    """Take one picture of a page at its own height."""
    width, height = screen
    browser.prefer(scheme)
    browser.size(width, height)
    browser.open(address)
    browser.wait("return window.harnessDashboard && window.harnessDashboard.page")
    if errors := browser.ask("return window.harnessDashboard.errors"):
        sys.exit(f"{file.name}: the page says {errors}")
    if (wider := browser.ask("return document.documentElement.scrollWidth") - width) > 0:
        sys.exit(f"{file.name}: the page is {wider} pixels wider than its screen")
    browser.size(width, min(TALLEST, browser.ask("return document.documentElement.scrollHeight")))
    drawn = Image.open(io.BytesIO(browser.driver.get_screenshot_as_png())).convert("RGB")
    drawn.quantize(256, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(file, optimize=True)
    print(f"{file.name}: {browser.ask('return window.harnessDashboard.drawn')} marks", flush=True)


def whole(values: dict[str, Any], table: dict[str, list[str]]) -> dict[str, Any]:
    """Return what an address says with the whole names of solvers and data sets, of which only the beginning is given."""
    names = [*table["solvers"], *table["datasets"]]
    asked = {
        name: [each for each in names if str(value) and each.startswith(str(value))] for name, value in values.items()
    }
    return {
        name: found[0] if (found := asked[name]) and value not in names else value for name, value in values.items()
    }


def photograph(store: Path, folder: Path, into: Path, tiny: bool) -> None:
    """Make the page, and take every view: on a desktop's screen in light, on a phone's in dark."""
    page = folder / "comparison.html"
    harness("dashboard", "export", "--store", str(store), "--single-file", str(page))
    into.mkdir(parents=True, exist_ok=True)
    with chromium() as browser:
        browser.open(page.as_uri())
        table = json.loads(browser.ask("return document.querySelector('script[data-name=\"0-table\"]').textContent"))
        for name, values in pictures(tiny).items():
            address = f"{page.as_uri()}#/{name}?{urlencode(whole(values, table))}"
            take(browser, address, into / f"{name}.png", WIDE, "light")
            take(browser, address, into / f"{name}-phone.png", PHONE, "dark")


def main() -> None:
    """Compare, write, photograph."""
    reader = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    reader.add_argument("--folder", type=Path, help="where store and page are, and stay; new or of an earlier call")
    reader.add_argument("--pictures", type=Path, default=FOLDER, help="where the pictures go; this folder if not given")
    reader.add_argument("--tiny", action="store_true", help="small sets, one run each")
    given = reader.parse_args()
    if missing():
        sys.exit(missing())
    with tempfile.TemporaryDirectory(prefix="harness-dashboard-") as scratch:
        folder = (given.folder or Path(scratch)).absolute()
        folder.mkdir(parents=True, exist_ok=True)
        store = folder / "results.sqlite"
        measure(store, given.tiny)
        photograph(store, folder, given.pictures.absolute(), given.tiny)


if __name__ == "__main__":
    main()
