"""What a newcomer stumbles over: where things lie, narrow terminals, near names, cores that are not there."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from harness.cli import effects
from harness.cli.environment import VARIABLES

ROOT = Path(__file__).resolve().parents[2]
INTERNAL = {"HARNESS_COMPLETE"}  # click's own


def test_python_m_harness_is_the_command():
    done = subprocess.run(
        [sys.executable, "-m", "harness", "--version"], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.startswith("svm-harness, version")


def test_every_variable_that_is_heeded_is_in_the_one_list():
    heeded = {
        name
        for folder in ("harness", "plugins")
        for path in (ROOT / folder).rglob("*.py")
        for name in re.findall(r"\bHARNESS_[A-Z_]+", path.read_text())
        if not name.startswith("HARNESS_HISTORY")  # of the files of a history, which set them themselves
    }
    assert heeded - INTERNAL == {name for name in VARIABLES if name.startswith("HARNESS_")}


def test_the_help_and_the_readme_have_the_list(invoke):
    told, readme = " ".join(invoke("--help").stdout.split()), (ROOT / "README.md").read_text()
    for name, meaning in VARIABLES.items():
        assert f"{name} {meaning}" in told
        assert f"| `{name}` | {meaning} |" in readme
    assert "`harness results --path`" in readme


def test_the_help_and_the_readme_agree_on_completion(invoke):
    told, readme = invoke("completion", "--help").stdout, (ROOT / "README.md").read_text()
    (line,) = [line.strip() for line in told.splitlines() if "bashrc" in line]
    assert line.partition(": ")[2] in readme
    assert ">> ~/.bashrc" not in readme


@pytest.mark.parametrize(
    ("given", "offered"),
    [("--plot", ""), ("--dataset", "'--datasets'"), ("--targetgap", "'--target-gap'"), ("--seed", "'--seeds'")],
)
def test_an_option_is_only_offered_for_one_that_is_like_it(harness, given, offered):
    done = harness("compare", given, "3")
    assert done.returncode == 2
    assert f"No such option '{given}'." in done.stderr
    assert (f"Did you mean {offered}" in done.stderr) if offered else ("mean" not in done.stderr)


@pytest.mark.parametrize("option", ["--store", "--output"])
def test_no_folder_is_made_in_silence(invoke, tmp_path, option):
    result = invoke("compare", "--plugins", "fw", option, f"{tmp_path}/mistyped/file")
    assert result.exit_code == 2
    assert f"{option}: the folder {tmp_path}/mistyped of" in result.stderr + str(result.exception)
    assert not (tmp_path / "mistyped").exists()


@pytest.mark.usefixtures("warm_sessions")
def test_a_new_store_is_named_once(invoke, slow, tmp_path):
    common = ("compare", "--plugin-path", slow, "--plugins", "quick", "--datasets", "checkerboard[n=60]")
    assert f"note: the result store {tmp_path}/default.sqlite is new; every run is kept in it" in invoke(*common).stderr
    assert "is new" not in invoke(*common).stderr


@pytest.mark.parametrize(
    ("threads", "jobs", "runs", "said"),
    [
        (99, 1, 5, "--threads 99 is more than the 2 cores here"),
        (1, 4, 5, "4 runs at a time share 2 cores here"),
        (2, 2, 5, "2 runs at a time of 2 threads each share 2 cores here"),
        (1, 4, 2, ""),
        (2, 1, 5, ""),
        (1, 2, 5, ""),
    ],
)
def test_cores_that_are_not_there_are_said(monkeypatch, threads, jobs, runs, said):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    notes = effects._scarce(threads, min(jobs, runs))
    assert len(notes) == bool(said)
    assert said in " ".join(notes)


def test_too_many_threads_are_said_by_the_command(harness, slow):
    done = harness(
        "compare", "--plugin-path", slow, "--plugins", "quick", "--datasets", "checkerboard[n=60]", "--threads", "99"
    )
    assert "note: --threads 99 is more than the" in done.stderr


@pytest.mark.parametrize("columns", [60, 80])
def test_the_progress_shows_the_whole_run_on_a_narrow_terminal(monkeypatch, columns):
    """Rendered as rich would, at that width: nothing of the run is cut off."""
    import io

    from rich.console import Console

    from harness.cli import progress

    shown = io.StringIO()
    live = progress.Live()
    live._progress.update(live._task, total=48, completed=12, failed="3 failed")
    live._run.plain = run = "smo-block[newton=never] l2-svc C=10 rbf gamma=0.005 breast-cancer seed 12 rep 3"
    Console(file=shown, width=columns, force_terminal=False).print(live._display.renderable)
    text = " ".join(shown.getvalue().split())
    assert run in text
    assert "3 failed" in text
    assert "…" not in text
