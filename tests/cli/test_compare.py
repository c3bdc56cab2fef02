"""The command as a user runs it: a process, its output, its exit code."""

import csv
import html
import io
import itertools
import json
import os
import re
import shlex
import signal
import subprocess
import time

import pytest

from harness import Record, Status, StoppedBy
from harness.call import request
from harness.call.study_file import StudyFile
from harness.measure.outcome import FAILED
from harness.registry.discovery import load_registry
from tests.cli.conftest import COMMAND

pytestmark = pytest.mark.usefixtures("warm_sessions")
DATA = ("--datasets", "twonorm[n=200]")  # generated: no library is loaded for it


def test_quick_comparison_in_every_format(harness, invoke, slow):
    arguments = ("compare", "--plugin-path", slow, "--plugins", "quick[shift=[0,0.5]]", *DATA, "--repeat", "2")
    first = harness(*arguments)
    assert first.returncode == 0, first.stderr
    assert "twonorm[n=200]: 200 x 20" in first.stdout
    assert "quick[shift=0.5]" in first.stdout
    assert "\x1b" not in first.stdout + first.stderr
    *shown, command = first.stdout.splitlines()
    assert max(map(len, shown)) <= 100
    assert command.endswith(" --repeat 2 --target-gap 1e-3"), "a line to copy, which is not broken"
    lines = first.stderr.splitlines()
    assert "4 runs, 0 of them reused from the store" in lines
    assert re.match(r"\[4/4, elapsed 0:\d\d, left 0:00\] ok \S+ s: quick\[shift=0.5\] on", lines[-1])
    assert len([line for line in lines if line.startswith("[")]) == 4, "a line a run"
    assert max(len(line) for line in lines if line.startswith("[")) <= 80

    # What follows is reused from the store: no workers, so no process of its own is needed.
    again = invoke(*arguments, "--format", "json")
    assert "4 of them reused" in again.stderr
    records = json.loads(again.stdout)
    assert len(records) == 4
    assert all(record["reused"] and record["status"] == "ok" for record in records)

    text = invoke(*arguments, "--format", "csv", "--quiet")
    assert text.stderr == ""
    assert [row["reused"] for row in csv.DictReader(io.StringIO(text.stdout))] == ["true"] * 4
    assert invoke(*arguments, "--format", "lines").stdout.split() == ["quick", "quick[shift=0.5]"] * 2
    assert "All runs are from the store, measured" in invoke(*arguments).stdout

    shown = invoke("results", "--plugins", "quick", "--limit", "3", "--explain")
    assert shown.exit_code == 0, shown.stderr
    assert "Rows with a failed run are not ranked." in shown.stdout
    assert "--explain" not in shown.stdout
    assert re.search(r"measured +status\n.*20\d\d-\d\d-\d\d +ok", shown.stdout)
    filtered = json.loads(
        invoke("results", "--plugins", "quick[shift=0.5]", "--where", "status=ok", "--format", "json").stdout
    )
    assert [record["label"] for record in filtered] == ["quick[shift=0.5]"] * 2
    assert isinstance(filtered[0]["iterations"], int)
    assert filtered[0]["measured_at"] >= filtered[1]["measured_at"]
    assert json.loads(invoke("results", "--datasets", "digits*", "--format", "json").stdout) == []


def test_the_table_ends_with_the_command_that_ranks_and_the_picture_stands_below(invoke, slow, tmp_path):
    given = ("compare", "--plugin-path", slow, "--plugins", "quick[shift=[0,0.5]]", *DATA, "-q")
    lines = invoke(*given).stdout.splitlines()
    assert lines[-2] == "To rank by a certified target:"
    shown = shlex.split(lines[-1])
    assert shown[-2:] == ["--target-gap", "1e-3"]
    ranked = invoke(*shown[1:])
    assert re.search(
        r"^No winner: no solver reached a certified gap of 1e-3 on twonorm\[n=200\]\.$", ranked.stdout, re.MULTILINE
    )
    target = tmp_path / "drawn.txt"
    written = invoke(*given[:-1], "--repeat", "2", "--target-gap", "2", "--plot", "--output", str(target))
    assert written.exit_code == 0
    assert "could not be distinguished at a certified gap of 2" in " ".join(
        written.stderr.partition("written to")[2].split()
    )
    table, _, picture = target.read_text().partition("\ntwonorm[n=200], rbf gamma=")
    told = "their CPU times could not be distinguished at a certified gap of 2 on twonorm[n=200], 2 runs each."
    assert " ".join(picture.split()).endswith(told)
    assert table.startswith("twonorm[n=200]: 200 x 20")
    assert "o quick   x quick[shift=0.5]" in picture
    assert "--plot draws no paths" in invoke(*given, "--plot", "--path", "C=[1,2]").stderr
    assert invoke(*given, "--plot", "--format", "json").stderr.startswith(
        "harness: --plot draws below a table, not in json"
    )


@pytest.mark.slow
def test_a_page_of_the_comparison(invoke, slow, tmp_path):
    """By the suffix of the file; it says the command that made it, with its table."""
    target = tmp_path / "page.html"
    given = ("--plugin-path", slow, "--plugins", "quick[shift=[0,0.5]]", *DATA)
    done = invoke("compare", *given, "--output", str(target))
    assert done.exit_code == 0, done.stderr
    text = html.unescape(target.read_text())
    assert text.startswith("<!doctype html>")
    assert f"compare --plugin-path {slow} --plugins 'quick[shift=[0,0.5]]' --datasets 'twonorm[n=200]'" in text
    assert re.search(r"^quick\[shift=0\.5\] .* ok$", text, re.MULTILINE)


def test_what_was_not_done_or_not_reached_is_a_row_and_the_exit_code(invoke, slow):
    """A solver that ends without being done, and one that says it is done far from the target that was asked for."""
    arguments = ("compare", "--plugin-path", slow, "--plugins", "quitter,quick", *DATA)
    done = invoke(*arguments, "-q")
    assert (done.exit_code, done.stderr) == (1, "")
    assert re.search(r"^quitter .* unfinished \[1\]$", done.stdout, flags=re.MULTILINE)
    assert re.search(r"^\[1\] quitter: unfinished: .*out of ideas", done.stdout, flags=re.MULTILINE)
    aimed = invoke(*arguments, "-q", "--target-gap", "1e-3")
    assert aimed.exit_code == 1
    assert len(re.findall(r" missed \[\d\]$", aimed.stdout, flags=re.MULTILINE)) == 2
    assert "quick: missed: the certified relative gap is 1.0e0, above 1e-3" in aimed.stdout
    assert "*" not in aimed.stdout
    shown = json.loads(invoke("results", "--where", "status=missed,unf*", "--format", "json").stdout)
    assert sorted((record["label"], record["status"]) for record in shown) == [
        ("quick", "missed"), ("quitter", "missed"), ("quitter", "unfinished"),
    ]  # fmt: skip


@pytest.mark.slow
def test_quiet_silences_no_sentence(invoke, slow, tmp_path):
    broken = tmp_path / "observer.py"
    broken.write_text(
        "import harness\n\n@harness.hookimpl\ndef harness_run_finished(record):\n    raise SystemExit('blind')\n"
    )
    sees = tmp_path / "sees.py"
    told = "print(record['solver'], end='')"
    sees.write_text(broken.read_text().replace("raise SystemExit('blind')", f"'Note it.'\n    {told}"))
    paths = [word for path in (str(sees), slow, str(broken)) for word in ("--plugin-path", path)]
    listed = invoke("list", "observers", *paths[:2]).stdout.splitlines()[1]
    assert listed.split() == ["harness_run_finished", "sees", "Note", "it."]
    done = invoke("compare", *paths, "--plugins", "quick,quick[shift=0.5]", *DATA, "--quiet")
    assert done.exit_code == 0
    assert done.stderr.count("quick") == 2, "the other one observes all the same"
    said = "plugin 'observer', observer.py:5, in harness_run_finished: SystemExit: blind; no run is worse for it\n"
    assert done.stderr.replace("quick", "") == said, "once, whatever the number of runs"


@pytest.mark.parametrize(
    ("statuses", "code"),
    [(["ok", "budget"], 0), (["ok", "skipped"], 0), (["skipped", "skipped"], 1)]
    + [(["ok", status], 1) for status in (*FAILED, Status.UNFINISHED, Status.MISSED)],
)
def test_exit_codes(statuses, code):
    records = [Record(status=status, stopped_by=StoppedBy.ITERATIONS) for status in statuses]
    assert request.exit_code(records) == code


@pytest.mark.slow
@pytest.mark.usefixtures("heeds_interrupts")
def test_interrupt_keeps_what_was_measured(slow, tmp_path):
    store = tmp_path / "store.sqlite"
    given = ["--plugin-path", slow, "--plugins", "quick,sleeper[seconds=30]", *DATA, "--store", str(store)]
    process = subprocess.Popen([*COMMAND, "compare", *given], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    seen = list(itertools.takewhile(lambda line: not line.startswith("[1/2] quick"), process.stderr))
    assert seen, "it says where rows are kept first"
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    out, error = process.communicate(timeout=30)
    assert process.returncode == 130
    assert out == ""
    assert f"interrupted; 1 of 2 runs are finished and kept in {store}" in " ".join(error.split())
    assert "Traceback" not in error
    kept = subprocess.run(
        [*COMMAND, "results", "--store", str(store), "--format", "json"], capture_output=True, text=True, check=True
    )
    assert [record["solver"] for record in json.loads(kept.stdout)] == ["quick"]


def test_only_regression_asked_for_takes_the_numbers_of_a_set_that_has_both():
    registry = load_registry()

    def asked(formulation):
        words = {"plugins": ["smo"], "datasets": ["abalone,digits"], "formulation": formulation}
        study = request.study_of([StudyFile("", None, words)], registry)
        return [source.label for source in study.datasets], study.formulations, study.formulation_values

    values = {"eps-svr": {"epsilon": [0.0, 0.5]}}
    assert asked("eps-svr[epsilon=[0,0.5]]") == (["abalone[regression=True]", "digits"], ["eps-svr"], values)
    assert asked("eps-svr,c-svc") == (["abalone", "digits"], ["eps-svr", "c-svc"], {})


@pytest.mark.slow
def test_live_progress_on_a_terminal(slow, tmp_path):
    pexpect = pytest.importorskip("pexpect")
    arguments = ["--plugin-path", slow, "--plugins", "raiser,sleeper", *DATA, "--store", str(tmp_path / "store.sqlite")]
    words, environment = [*COMMAND[1:], "compare", *arguments], {**os.environ, "TERM": "xterm", "COLUMNS": "120"}
    terminal = {"dimensions": (30, 120), "timeout": 60, "encoding": "utf-8"}
    child = pexpect.spawn(COMMAND[0], words, env=environment, **terminal)
    child.expect("0/2")
    child.expect(r"error: raiser on twonorm\[n=200\]: plugin 'slow_plugin', slow")
    child.expect("1 failed")
    child.expect("2/2")
    child.expect("\x1b\\[2K")  # the display is taken away ...
    child.expect("\x1b\\[1mtwonorm\\[n=200\\]: 200 x 20")  # ... before the table, whose heading is bold
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 1


def test_where_output_is_no_terminal_an_executors_progress_is_a_line_a_minute(invoke, monkeypatch):
    monkeypatch.setattr("harness.run.node_runner._PROGRESS_SECONDS", 0.01)
    monkeypatch.setattr("harness.report.progress._PREPARING_SECONDS", 0.0)
    asked = ["--plugins", "fw", "--datasets", "twonorm[n=60]", "--seeds", "0-2"]
    result = invoke("compare", *asked, "--executor", "threads://local?workers=1")
    assert result.exit_code == 0, result.output
    progress = [line for line in result.stderr.splitlines() if "1 node; " in line]
    assert len(progress) == 1
    assert re.match(r"\[0/3, elapsed 0:\d\d, left \?\] 1 node; a node compiles the solvers first", progress[0])


def test_a_line_on_what_goes_on_says_how_long_it_may_take(capsys, monkeypatch):
    from harness.report import progress

    # a reporter begins, runs are planned, and for each note: is it time, and how much is elapsed
    clock = iter([99.0, 100.0, 101.0, 101.0, 102.0, 161.0, 161.0, 162.0, 3821.0, 3821.0])
    monkeypatch.setattr(progress, "monotonic", lambda: next(clock))
    lines = progress.Lines()
    lines.planned([None] * 10, 2)
    lines.done = 2
    lines.started(None)
    for _ in range(2):
        lines.working("nodes: a")
    lines.done, lines.failures = 6, 1
    for _ in range(3):
        lines.working("nodes: a")
    assert [line for line in capsys.readouterr().err.splitlines() if "nodes" in line] == [
        "[2/10, elapsed 0:01, left ?] nodes: a",
        "[6/10, elapsed 1:01, left 1:01, 1 failed] nodes: a",
        "[6/10, elapsed 1:02:01, left 1:02:01, 1 failed] nodes: a",
    ]


@pytest.mark.usefixtures("warm_sessions")
def test_a_row_cache_that_is_too_small_is_said_below_the_table(invoke, tmp_path):
    study = (
        "compare",
        "--plugins",
        "smo",
        "--datasets",
        "checkerboard[n=400]",
        "--quiet",
        "--store",
        str(tmp_path / "s"),
    )
    told = " ".join(invoke(*study, "--cache-mb", "0.1").stdout.split())
    found = re.search(
        r"smo on checkerboard\[n=400\]: [\d,]+ kernel rows were computed again, as the row cache of 0.1 MB was too small; "
        r"--cache-mb (\d+) holds them\.",
        told,
    )
    assert found
    assert "computed again" not in invoke(*study, "--cache-mb", found[1]).stdout
    own = " ".join(invoke(*(word.replace("smo", "smo[cache_mb=0.1]") for word in study)).stdout.split())
    assert "as the row cache of 0.1 MB was too small; smo[cache_mb=" in own
