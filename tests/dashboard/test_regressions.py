"""asv's list of regressions has what the samples bear out: a planted one, and no median that jumped."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("asv", reason="the dashboard needs asv: pip install 'svm-harness[asv]'")

from harness_dashboard import configuration, export, site

from .stored import record, store

QUIET = [0.0100, 0.0101, 0.0102, 0.0103, 0.0104, 0.0105]


def listed(folder, *samples, counts=None):
    """Return what a site's list names, and its feed, of the samples of `smo` at one state of the code after the other."""
    runs = [
        record(
            seed=seed, fit_seconds=time, code_sha256=f"state {state}", kernel_evaluations=(counts or [1000] * 99)[state]
        )
        for state, times in enumerate(samples)
        for seed, time in enumerate(times)
    ]
    export.standalone([store(folder / "s.sqlite", *runs)], folder / "d")
    conf = configuration.load(folder / "d")
    site.build(conf)
    entries = json.loads((conf.html_dir / "regressions.json").read_text())["regressions"]
    feed = (conf.html_dir / "regressions.xml").read_text()
    assert feed.count("<entry>") == len([step for entry in entries for step in entry[-1]])
    (summary,) = conf.html_dir.rglob("summary.json")
    changed = [row["name"] for row in json.loads(summary.read_text()) if row["change_rev"]]
    assert changed == [entry[0].partition("(")[0] for entry in entries]
    return [entry[0].partition("(")[0] for entry in entries]


def test_a_median_that_jumped_within_its_samples_is_no_regression(tmp_path):
    """At the commit before, 1.34 times the median with samples from 8 to 35 ms was listed."""
    noisy = [0.0080, 0.0090, 0.0134, 0.0135, 0.0300, 0.0350]
    assert listed(tmp_path, QUIET, QUIET, QUIET, noisy) == []


def test_a_true_regression_is_listed(tmp_path):
    slower = [1.4 * time for time in QUIET]
    assert listed(tmp_path, QUIET, QUIET, QUIET, slower) == ["grid.time_fit"]


def test_single_runs_are_known_to_a_factor(tmp_path):
    assert listed(tmp_path, [0.01], [0.01], [0.01], [0.02]) == []
    assert listed(tmp_path / "more", [0.01], [0.01], [0.01], [0.03]) == ["grid.time_fit"]


def test_counts_are_told_whatever_the_times_are(tmp_path):
    assert listed(tmp_path, QUIET, QUIET, QUIET, QUIET, counts=[1000, 1000, 1000, 1050]) == [
        "grid.track_kernel_evaluations"
    ]
