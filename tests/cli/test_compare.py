"""The command as a user runs it: a process, its output, its exit code."""

import csv
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


def test_quick_comparison_in_every_format(invoke, slow):
    arguments = ("compare", "--plugin-path", slow, "--plugins", "quick[shift=[0,0.5]]", *DATA, "--repeat", "2")
    first = invoke(*arguments)
    assert first.exit_code == 0, first.stderr
    assert "twonorm[n=200]: 200 x 20" in first.stdout
    assert "\x1b" not in first.stdout + first.stderr
    *table, command = first.stdout.splitlines()
    assert max(map(len, table)) <= 100
    assert command.endswith(" --repeat 2 --target-gap 1e-3"), "a line to copy, which is not broken"
    assert "4 runs, 0 of them reused from the store\n" in first.stderr
    lines = [line for line in first.stderr.splitlines() if line.startswith("[")]
    assert re.match(r"\[4/4, elapsed 0:\d\d, left 0:00\] ok \S+ s: quick\[shift=0.5\] on", lines[-1])
    assert len(lines) == 4, "a line a run"
    again = invoke(*arguments, "--format", "json")
    records = json.loads(again.stdout)
    assert [(record["reused"], record["status"]) for record in records] == [(True, "ok")] * 4
    text = invoke(*arguments, "--format", "csv", "--quiet")
    assert text.stderr == ""
    assert [row["reused"] for row in csv.DictReader(io.StringIO(text.stdout))] == ["true"] * 4
    assert invoke(*arguments, "--format", "lines").stdout.split() == ["quick", "quick[shift=0.5]"] * 2
    shown = invoke("results", "--plugins", "quick", "--limit", "3", "--explain")
    assert (shown.exit_code, "--explain" in shown.stdout) == (0, False)
    assert re.search(r"measured +status\n.*20\d\d-\d\d-\d\d +ok", shown.stdout)
    selected = invoke("results", "--plugins", "quick[shift=0.5]", "--where", "status=ok", "--format", "json")
    newest, older = json.loads(selected.stdout)
    assert newest["label"] == older["label"] == "quick[shift=0.5]"
    assert newest["measured_at"] >= older["measured_at"]
    assert json.loads(invoke("results", "--datasets", "digits*", "--format", "json").stdout) == []


def test_the_table_ends_with_the_command_that_ranks_and_the_picture_stands_below(invoke, slow, tmp_path):
    given = ("compare", "--plugin-path", slow, "--plugins", "quick[shift=[0,0.5]]", *DATA, "-q")
    words = shlex.split(invoke(*given).stdout.splitlines()[-1])
    assert words[-2:] == ["--target-gap", "1e-3"]
    assert invoke(*words[1:]).exit_code == 1, "no solver reaches the gap"
    target = tmp_path / "drawn.txt"
    written = invoke(*given[:-1], "--repeat", "2", "--target-gap", "2", "--plot", "--output", str(target))
    assert written.exit_code == 0
    assert "at a certified gap of 2" in " ".join(written.stderr.partition("written to")[2].split()), (
        "the verdict is printed too"
    )
    table, _, picture = target.read_text().partition("\ntwonorm[n=200], rbf gamma=")
    assert table.startswith("twonorm[n=200]: 200 x 20")
    assert re.search(r"^\S quick   \S quick\[shift=0.5\]$", picture, flags=re.MULTILINE)


def test_what_was_not_done_or_not_reached_is_a_row_and_the_exit_code(invoke, slow):
    """A solver that ends without being done, and one that claims to be done far from the requested target."""
    arguments = ("compare", "--plugin-path", slow, "--plugins", "quitter,quick", *DATA, "-q")
    done = invoke(*arguments)
    assert (done.exit_code, done.stderr) == (1, "")
    assert re.search(r"^quitter .* unfinished \[1\]$", done.stdout, flags=re.MULTILINE)
    assert re.search(r"^\[1\] quitter: unfinished: .*out of ideas", done.stdout, flags=re.MULTILINE)
    missed = invoke(*arguments, "--target-gap", "1e-3")
    assert missed.exit_code == 1
    assert len(re.findall(r" missed \[\d\]$", missed.stdout, flags=re.MULTILINE)) == 2
    assert "*" not in missed.stdout
    rows = json.loads(invoke("results", "--where", "status=missed,unf*", "--format", "json").stdout)
    statuses = sorted((row["label"], row["status"]) for row in rows)
    assert statuses == [("quick", "missed"), ("quitter", "missed"), ("quitter", "unfinished")]


def test_a_time_limit_that_is_set_is_a_budget_and_the_default_one_is_none(invoke, slow, monkeypatch):
    given = ("compare", "--plugin-path", slow, "--plugins", "sleeper[seconds=30]", *DATA, "-q", "--format", "json")
    asked = invoke(*given, "--time-limit", "0.3")
    (record,) = json.loads(asked.stdout)
    assert (asked.exit_code, record["status"], record["stopped_by"]) == (0, "budget", "time")
    monkeypatch.setitem(request.DEFAULTS.values, "time_limit", "0.3")
    by_default = invoke(*given)
    (record,) = json.loads(by_default.stdout)
    assert (by_default.exit_code, record["status"], record["stopped_by"]) == (1, "unfinished", "time")
    assert not record["reused"]


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
    assert listed.split() == ["harness_run_finished", "Note", "it."]
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
    seen = list(itertools.takewhile(lambda line: not line.startswith("[1/2"), process.stderr))
    assert seen, "it says where rows are kept first"
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    out, error = process.communicate(timeout=30)
    assert process.returncode == 130
    assert out == ""
    assert f"interrupted; 1 of 2 runs are finished and stored in {store}" in " ".join(error.split())
    assert "Traceback" not in error
    kept = subprocess.run(
        [*COMMAND, "results", "--store", str(store), "--format", "json"], capture_output=True, text=True, check=True
    )
    assert [record["solver"] for record in json.loads(kept.stdout)] == ["quick"]


def test_only_regression_asked_for_takes_the_numbers_of_a_set_that_has_both():
    registry = load_registry()

    def asked(formulation):
        words = {"plugins": ["smo"], "datasets": ["abalone,digits"], "formulation": formulation}
        study = request.build_study([StudyFile("", None, words)], registry)
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


def test_a_row_cache_that_is_too_small_is_reported_below_the_table_with_what_would_do(invoke):
    study = shlex.split("compare --plugins smo --datasets checkerboard[n=400] --quiet")
    small = " ".join(invoke(*study, "--cache-mb", "0.1").stdout.split())
    needed = re.search(r"the row cache of 0.1 MB was too small; --cache-mb (\d+) holds", small)
    assert needed
    assert "computed again" not in invoke(*study, "--cache-mb", needed[1]).stdout
    of_the_solver = invoke(*(word.replace("smo", "smo[cache_mb=0.1]") for word in study)).stdout
    assert "0.1 MB was too small; smo[cache_mb=" in " ".join(of_the_solver.split())
