"""Made-up results: records as `harness compare` stores them, small repositories, and what a site says of them."""

from __future__ import annotations

import itertools
import json
import re
import subprocess
from pathlib import Path

from harness import Record
from harness.cli.main import cli
from harness.run.store import Store

MACHINE = {"processor": "Made Up 9000", "cores": 4, "memory_bytes": 2**34, "system": "Linux", "id": "abcdef0123456789"}
PATH = {
    "costs": {"C": [1.0, 10.0]}, "widths": {}, "folds": 0, "start": "warm", "cells": 2, "finished": 2, "certified": 2,
}  # fmt: skip
"""What a record says of a path that was gone through whole."""
MEASURED = (
    "fit_seconds", "cpu_seconds", "kernel_evaluations", "support_vectors", "core_set_size", "relative_gap", "test_accuracy",
)  # fmt: skip
_places = itertools.count()


def record(solver="smo", dataset="digits", **changes):
    """Return one record; its time and counts are its own."""
    place = next(_places)
    made = {
        "plugin": "smo", "solver": solver.partition("[")[0], "label": solver, "parameters": {}, "dataset": dataset,
        "formulation": "c-svc", "problem_parameters": {"C": 10.0, "class_weight": "none"}, "kernel": "rbf",
        "kernel_parameters": {"gamma": 0.05}, "seed": 0, "repetition": 0, "status": "ok", "reason": "",
        "fit_seconds": 0.5, "cpu_seconds": 0.5, "peak_rss_bytes": 10**8, "kernel_evaluations": 1000 + place,
        "support_vectors": 50, "core_set_size": 50, "working_set_size": 60, "relative_gap": 1e-4, "test_accuracy": 0.95,
        "metrics": {}, "n_train": 100, "n_features": 2, "n_test": 50, "threads": 1, "cache_mb": 256.0, "time_limit": 60.0,
        "measured_at": f"2026-01-01T{place // 3600 % 24:02d}:{place // 60 % 60:02d}:{place % 60:02d}.000+00:00",
        "versions": {"python": "3.11.7", "svm-harness": "0.1.0", "numpy": "2.4.6"}, "machine": MACHINE,
        "git_commit": None, "code_sha256": "c0de", "data_sha256": "da7a", "trace": [], "key": f"key {place}",
    }  # fmt: skip
    return Record({**made, **changes})


def failed(solver="smo", dataset="digits", status="timeout", reason="no model within 60 s", **changes):
    return record(solver, dataset, **{**dict.fromkeys(MEASURED), "status": status, "reason": reason, **changes})


def store(path: Path, *records) -> Path:
    with Store(path) as opened:
        for each in records:
            opened.append(each)
    return path


def git(folder: Path, *arguments: str) -> str:
    command = ["git", "-C", str(folder), "-c", "user.name=T", "-c", "user.email=t@example.org", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def repository(folder: Path, commits: int = 2) -> list[str]:
    """Make a repository with a configuration of asv; return its commits, the oldest first."""
    folder.mkdir()
    git(folder, "init", "-q", "--initial-branch=main")
    conf = {"version": 1, "project": "tests", "repo": ".", "branches": ["main"], "results_dir": ".asv/results",
            "html_dir": ".asv/html", "plugins": [".harness_dashboard.inside_asv"]}  # fmt: skip
    (folder / "asv.conf.json").write_text(f"// a comment, as asv allows\n{json.dumps(conf)}")
    for number in range(commits):
        date = f"2026-01-0{number + 1}T00:00:00Z"
        git(folder, "commit", "-q", "--allow-empty", "-m", f"commit {number}", "--date", date)
    return git(folder, "rev-list", "--reverse", "HEAD").split()


def command(capsys, *arguments) -> tuple[int, str, str]:
    """Run `harness dashboard ...` in this process; return its exit code, output and errors."""
    try:
        cli.main(["dashboard", *map(str, arguments)])
    except SystemExit as ended:
        out, err = capsys.readouterr()
        return int(ended.code or 0), out, err
    raise AssertionError("the command returns only by an exit")


def blocks(html: str) -> dict[str, dict]:
    """Return the blocks of data in a page of ours."""
    found = re.findall(r'<script type="application/json" data-name="([^"]+)">(.*?)</script>', html, re.DOTALL)
    return {name: json.loads(text) for name, text in found}


def cells_of(table: dict) -> dict[tuple[str, str], dict]:
    """Return the cells of a table of the pages: (solver, data set) -> figures."""
    rows = [{key: values[i] for key, values in table["columns"].items()} for i in range(table["rows"])]
    return {(table["solvers"][row["solver"]], table["datasets"][row["dataset"]]): row for row in rows}
