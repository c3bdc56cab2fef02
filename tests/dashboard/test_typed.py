"""asv's own commands as somebody types them, in an account that is new: the machine, quick runs, the site."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("asv", reason="the dashboard needs asv: pip install 'svm-harness[asv]'")

from harness_dashboard import configuration, export, processes, progress, site

from .stored import command, git, record, repository, store

BENCHMARKS = """
import os

class Suite:
    repeat, rounds, number, warmup_time = 5, 2, 1, 0

    def time_nothing(self):
        pass

def track_folder():
    with open(os.path.join(os.environ["ASV_CONF_DIR"], "told"), "w") as file:
        file.write(os.environ.get("HARNESS_HISTORY_MACHINE", "?") + " " + os.environ.get("HARNESS_HISTORY_RECORDS", "?"))
    return 1
"""


def asv(folder: Path, *arguments: str, home: Path) -> subprocess.CompletedProcess[str]:
    """Type ``asv ...`` in a folder; nobody is there to answer a question."""
    environment = {**os.environ, "HOME": str(home), "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    return subprocess.run(
        [sys.executable, "-m", "asv", *arguments], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with two small benchmarks."""
    folder = tmp_path_factory.mktemp("typed") / "project"
    repository(folder)
    conf = {"version": 1, "project": "typed", "repo": ".", "branches": ["main"], "dvcs": "git", "results_dir": ".asv/results",
            "env_dir": ".asv/env", "html_dir": ".asv/html", "environment_type": "overlay", "launch_method": "spawn",
            "plugins": [".harness_dashboard.inside_asv"]}  # fmt: skip
    (folder / "asv.conf.json").write_text(json.dumps(conf))
    (folder / "pyproject.toml").write_text(
        '[project]\nname = "typed"\nversion = "1"\n[tool.setuptools]\npy-modules = []\n'
    )
    (folder / "benchmarks").mkdir()
    (folder / "benchmarks" / "__init__.py").write_text("")
    (folder / "benchmarks" / "suite.py").write_text(BENCHMARKS)
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "benchmarks")
    return folder


@pytest.mark.slow
def test_a_run_needs_no_questions_and_a_quick_one_replaces_nothing(project: Path, tmp_path: Path) -> None:
    """At the commit before, the first run ended with 'No information stored', and the second took the place of its samples."""
    done = asv(project, "run", home=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "No information stored" not in done.stdout + done.stderr
    assert list(tmp_path.glob(".asv*")) == []
    (machine,) = set(json.loads((project / ".asv/machine.json").read_text())) - {"version"}
    (results,) = (project / ".asv/results" / machine).glob("*-overlay-*.json")
    first = results.read_text()
    assert len(samples(results)) == 10
    assert (project / "told").read_text() == f"{machine} {project / '.asv/records'}"

    done = asv(project, "run", "--quick", home=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "--quick takes one sample each: these numbers stay out of the history" in done.stdout + done.stderr
    assert results.read_text() == first
    (quick,) = (project / ".asv/quick/results" / machine).glob("*-overlay-*.json")
    assert len(samples(quick)) == 1
    assert (project / "told").read_text() == f"{machine} {project / '.asv/quick/records'}"

    done = asv(project, "run", "--dry-run", "--machine", "other", home=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (project / "told").read_text() == "other "  # nothing is saved: no records either
    assert set(json.loads((project / ".asv/machine.json").read_text())) == {"version", machine, "other"}


@pytest.mark.slow
def test_a_measurement_tells_how_far_it_is(project: Path, tmp_path: Path, capfd: Any, monkeypatch: Any) -> None:
    """At the commit before, five to eight minutes passed without a word."""
    monkeypatch.setattr(progress, "EVERY", 0.0)
    monkeypatch.setattr(processes, "_LOOK", 0.02)
    monkeypatch.setenv("HOME", str(tmp_path))
    (project / "grid.json").write_text(json.dumps({"solvers": [], "datasets": []}))
    code, out, err = command(capfd, "run", "--machine", "told", "--config", project)
    assert (code, "0 cells" in out) == (0, True), err
    shown = err.splitlines()
    assert shown[0].startswith("[1/1] ")
    assert [line for line in shown if line.startswith("[3/3] ")] != []  # two rounds of a time, and a count
    assert all(len(line) < 100 for line in shown)


def samples(file: Path) -> list[float]:
    """Return the samples of the timed benchmark."""
    content = json.loads(file.read_text())
    found = dict(zip(content["result_columns"], content["results"]["suite.Suite.time_nothing"], strict=False))
    return list(found["samples"][0])


def test_a_site_that_asv_publishes_is_the_one_that_we_make(tmp_path: Path) -> None:
    commits = repository(tmp_path / "code")
    conf = configuration.load(tmp_path / "code")
    runs = [record(git_commit=commits[0]), record("<b>", git_commit=commits[1])]
    export.export([store(tmp_path / "s.sqlite", *runs)], conf)
    site.build(conf)
    ours = contents(conf.html_dir)
    (conf.results_dir / "benchmarks.json").unlink()  # asv run writes one without the exported results
    done = asv(tmp_path / "code", "publish", home=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    theirs = contents(conf.html_dir)
    assert set(ours) == set(theirs)
    assert {name for name, content in ours.items() if theirs[name] != content} <= {"info.json", "regressions.xml"}


def contents(folder: Path) -> dict[str, bytes | dict[str, object]]:
    """Return the files of a site, without the time when ours was made."""
    found: dict[str, bytes | dict[str, object]] = {
        str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }
    name = "solvers/data/index.json"
    found[name] = {**json.loads(found[name]), "made": None}  # type: ignore[arg-type, dict-item]
    return found


def test_what_cannot_be_published_is_a_sentence(tmp_path: Path) -> None:
    commits = repository(tmp_path / "code")
    conf = configuration.load(tmp_path / "code")
    export.export([store(tmp_path / "s.sqlite", record(git_commit=commits[0]))], conf)
    next(conf.records_dir.iterdir()).write_text("{")
    done = asv(tmp_path / "code", "publish", home=tmp_path)
    assert done.returncode == 1
    assert "is no file of records" in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr
