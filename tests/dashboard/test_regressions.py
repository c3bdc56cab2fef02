"""asv's list of regressions has what the samples bear out: a planted one, and no median that jumped."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("asv", reason="the dashboard needs asv: pip install 'svm-harness[asv]'")

from harness_dashboard import configuration, export, measuring

from .stored import record, repository, store

QUIET = [0.0100, 0.0101, 0.0102, 0.0103, 0.0104, 0.0105]
SAMPLES = {
    "noisy": [QUIET, QUIET, QUIET, [0.0080, 0.0090, 0.0134, 0.0135, 0.0300, 0.0350]],
    "slower": [QUIET, QUIET, QUIET, [1.4 * time for time in QUIET]],
    "once": [[0.01], [0.01], [0.01], [0.02]],  # one run is known to a factor
    "once, slower": [[0.01], [0.01], [0.01], [0.03]],
    "counts": [QUIET] * 4,
}


def test_what_the_samples_bear_out_is_listed_and_no_median_that_jumped_within_them(tmp_path):
    """1.34 times the median with samples from 8 to 35 ms was listed once; the list, its feed and the summary agree."""
    commits = repository(tmp_path / "code", commits=4)
    runs = [
        record(
            solver, seed=seed, fit_seconds=time, git_commit=commits[place],
            kernel_evaluations=1050 if (solver, place) == ("counts", 3) else 1000,
        )
        for solver, states in SAMPLES.items() for place, times in enumerate(states) for seed, time in enumerate(times)
    ]  # fmt: skip
    conf = configuration.load(tmp_path / "code")
    export.export([store(tmp_path / "s.sqlite", *runs)], conf)
    html = measuring.publish(conf)
    entries = json.loads((html / "regressions.json").read_text())["regressions"]
    found = {(entry[0].partition("(")[0], entry[0].partition("'")[2].partition("'")[0]) for entry in entries}
    assert found == {
        ("grid.time_fit", "slower"), ("grid.time_fit", "once, slower"), ("grid.track_kernel_evaluations", "counts")
    }  # fmt: skip
    feed = (html / "regressions.xml").read_text()
    assert feed.count("<entry>") == len([step for entry in entries for step in entry[-1]])
    assert 'href="history.html#' in feed.replace("&quot;", '"')
    (summary,) = html.rglob("summary.json")
    changed = {row["name"] for row in json.loads(summary.read_text()) if row["change_rev"]}
    assert changed <= {"grid.time_fit", "grid.track_kernel_evaluations"}
