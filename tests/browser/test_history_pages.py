"""asv's pages as the site has them: beside ours, offline, on a wide screen and on a phone. The site is of made-up runs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from benchmarks.browser import Browser, served
from tests.browser.made import redrawn, too_wide
from tests.dashboard.stored import record, repository

pytest.importorskip("asv", reason="the dashboard needs asv: pip install 'svm-harness[asv]'")

from harness_dashboard import configuration, measuring
from harness_dashboard.records import RecordFile

pytestmark = pytest.mark.slow

NAME = "solvers.Record.track_kernel_evaluations"
TABS = {
    "": "#summarygrid-display .benchmark-container",
    "#summarylist": "#summarylist-body table",
    f"#{NAME}": "#main-graph canvas",
}
ATTACK = "<img src=x onerror=window.x=1>"
SLOWER = {"cell": ["smo", "digits"], "metric": "wall time", "before": 0.5, "after": 2.0, "verdict": "worse", "regression": True,
          "reason": ""}  # fmt: skip
FEWER = [
    {"cell": ["smo", "digits"], "metric": metric, "before": 10_000.0, "after": 1000.0, "verdict": "better", "regression": False,
     "reason": ""} for metric in ("kernel evaluations", "core set", "support vectors", "peak memory")
]  # fmt: skip
LARGER = {"cell": ["smo", "digits"], "metric": "peak memory", "before": 1e8, "after": 2e8, "verdict": "worse", "regression": True,
          "reason": ""}  # fmt: skip


def asv_results(conf: Any, commit: str, value: float) -> None:
    """Write a number of two cells as asv stores it."""
    params = [[repr("smo"), repr(ATTACK)], [repr("digits")]]
    about = dict.fromkeys(("os", "arch", "cpu", "num_cpu", "ram"), "") | {"machine": "box"}
    benchmark = {"name": NAME, "params": params, "param_names": ["solver", "dataset"], "type": "track", "unit": "",
                 "version": "1", "code": "", "timeout": 60}  # fmt: skip
    results = {"commit_hash": commit, "env_name": "e", "date": 1, "params": {**about, "python": "3.11"}, "python": "3.11",
               "requirements": {}, "env_vars": {}, "result_columns": ["result", "params", "version"],
               "results": {NAME: [[value, value], params, "1"]}, "durations": {}, "version": 2}  # fmt: skip
    files = {"benchmarks.json": {NAME: benchmark, "version": 2}, "box/machine.json": {**about, "version": 1},
             f"box/{commit[:8]}-e.json": results}  # fmt: skip
    for name, content in files.items():
        (conf.results_dir / name).parent.mkdir(parents=True, exist_ok=True)
        (conf.results_dir / name).write_text(json.dumps(content))


@pytest.fixture(scope="module")
def site(window: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a site of four commits; at the last one smo is slower by wall time and needs fewer evaluations."""
    folder = tmp_path_factory.mktemp("history")
    commits = repository(folder / "code", commits=4)
    conf = configuration.load(folder / "code")
    for i, commit in enumerate(commits):
        last = i == len(commits) - 1
        asv_results(conf, commit, 1000.0 * (i + 1))
        runs = [record("smo", fit_seconds=2.0 if last else 0.5, kernel_evaluations=1000 if last else 10_000),
                record(ATTACK)]  # fmt: skip
        changes = [None, [LARGER], [], [*FEWER, SLOWER]][i]
        RecordFile(commit, i, "box", "e", f"2026-01-0{i + 1}", runs, changes=changes, against=commits[i - 1]).write(
            conf.records_dir
        )
    with served(measuring.publish(conf)) as address:
        yield address


def test_the_history_names_what_changed_worse_and_better_with_the_figures_before_and_after(
    browser: Browser, site: str
) -> None:
    browser.open(f"{site}#/history")
    for width in (1400, 390):
        browser.size(width, 900)
        assert redrawn(browser, "history") == 4
        lines = browser.ask(
            "return [...document.querySelectorAll('#answer tbody tr')].map(row => [...row.cells].map(each => each.innerText))"
        )
        earlier = "return [...document.querySelectorAll('#below tbody tr')].map(row => [...row.cells].map(each => each.innerText))"
        assert [line[1:] for line in browser.ask(earlier)] == [
            ["smo", "digits", "worse: peak memory 2\N{MULTIPLICATION SIGN}"]
        ]
        assert [line[:3] for line in lines] == [
            ["smo", "digits", "worse: wall time 4\N{MULTIPLICATION SIGN}"],
            [
                "smo",
                "digits",
                "better: kernel evaluations 0.1*, core set 0.1*, support vectors 0.1*, peak memory 0.1*".replace(
                    "*", "\N{MULTIPLICATION SIGN}"
                ),
            ],
        ]
        assert lines[0][3:6] == ["500 ms → 2.00 s", "500 ms → 500 ms", "10.0 k → 1000"]
        assert too_wide(browser) == 0
        frame = "const frame = document.querySelector('#answer .scroll'); return frame.scrollWidth - frame.clientWidth"
        assert width < 1000 or browser.ask(frame) <= 0, "the table needs no scrolling on a wide screen"
    points = "return [...document.querySelectorAll('#figure .point')].map(({ dataset }) => +dataset.y)"
    assert browser.ask(points) == [0.5, 0.5, 0.5, 2.0], (
        "wall time, the figure that is worse, of the solver that changed"
    )
    assert browser.complaints() == []


@pytest.mark.parametrize("tab", TABS)
def test_asvs_pages_fit_the_screen_load_nothing_from_elsewhere_and_carry_out_no_name(
    browser: Browser, site: str, tab: str
) -> None:
    for width, height in ((1400, 900), (390, 844)):
        browser.size(width, height)
        browser.open(f"{site}history.html{tab}")
        browser.wait("return document.querySelector(arguments[0])", TABS[tab])
        below = browser.ask(
            "const bar = document.getElementById('nav').getBoundingClientRect();"
            "return document.querySelector(arguments[0]).getBoundingClientRect().top - bar.bottom",
            TABS[tab],
        )
        assert below >= 0
        assert browser.ask("return document.documentElement.scrollWidth") <= width
    assert [url for url in browser.requests() if not url.startswith(site)] == []
    assert browser.ask("return window.x ?? null") is None
    assert browser.complaints() == []


def test_our_page_is_in_front_the_two_lead_to_each_other_and_are_dark_alike(browser: Browser, site: str) -> None:
    browser.open(site)
    redrawn(browser, "landing")
    note = browser.ask("return document.getElementById('note').innerText")
    assert ("Shaded" in note) == bool(browser.find("#figure td.best"))
    browser.find("#theme")[0].click()
    browser.find("#pages a[href='history.html']")[0].click()
    browser.wait("return document.querySelector('#nav-li-solvers a')")
    try:
        assert browser.ask("return getComputedStyle(document.body).backgroundColor") == "rgb(18, 22, 28)"
        browser.find("#nav-li-solvers a")[0].click()
        redrawn(browser, "landing")
        assert browser.ask("return document.documentElement.dataset.theme") == "dark"
    finally:
        browser.ask("localStorage.clear()")
