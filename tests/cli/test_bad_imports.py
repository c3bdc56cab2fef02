"""Plugins that hang, end or change the command where they are imported or configured: a row each, and the others run."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from importlib.metadata import entry_points
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from harness.registry import load_registry
from tests.cli.conftest import COMMAND

SOLVER = '''
from dataclasses import dataclass
import numpy as np
from harness import CSVC, Iterate, Solver, hookimpl

@dataclass(frozen=True)
class Own(Solver):
    """A solver that does nothing."""

    name = "of-{name}"
    solves = (CSVC,)

    def __post_init__(self):
        {configured}

    def iterates(self, problem, rng):
        yield Iterate(dual_coef=np.zeros(problem.n), intercept=0.0, done=True)

@hookimpl
def harness_solvers():
    return [Own]
'''

AT_IMPORT = {
    "goes": "import os; os.chdir('/')",
    "prints": "import os; print('pri\\x1b]0;title\\x07nted'); os.write(1, b' twice')",
    "closes": "import os; os.close(1); os.close(2)",
    "shuts": "import sys; sys.stdout.close(); sys.__stdout__.close()",
    "signals": "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN); signal.alarm(1)",
    "forks": "import os; os.fork()",
    "last_word": "import atexit, os; atexit.register(os._exit, 0)",
    "raises": "class Odd(BaseException): pass\nraise Odd('\\x1b[31mred\\x9b31m')",
    "interrupts": "raise KeyboardInterrupt",
    "ends": "import os; os._exit(0)",
    "crashes": "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)",
    "becomes": "import os; os.execv('/bin/sleep', ['sleep', '4243'])",
    "daemon": "import os, time\nif os.fork(): os._exit(0)\ntime.sleep(4243)",
    "closes_all": "import os; os.closerange(3, 4096)",
    "sleeps": "import subprocess, time; subprocess.Popen(['sleep', '4243']); time.sleep(4243)",
}
REASONS = {
    "raises": "Odd: \N{REPLACEMENT CHARACTER}[31mred\N{REPLACEMENT CHARACTER}31m",
    "interrupts": "KeyboardInterrupt",
    "ends": "its import ended the process (exit code 0)",
    "crashes": "its import crashed the process (SIGSEGV)",
    "becomes": "its import replaced the process",
    "daemon": "its import ended the process (exit code 0)",
    "closes_all": "its import replaced the process, or closed files that are not its own",
    "sleeps": "its import was still running after 3 s",
}
GOOD = [name for name in AT_IMPORT if name not in REASONS]


def write(folder, name, text, configured="pass"):
    (folder / f"{name}.py").write_text(f"{text}\n{textwrap.dedent(SOLVER).format(name=name, configured=configured)}")
    return f"{name}.py"


def alone(**more):
    """The environment of a command that finds no installed plugin."""
    installed = ",".join(entry.name for entry in entry_points(group="harness"))
    return {**os.environ, "HARNESS_DISABLE_PLUGINS": installed, **more}


def sleepers():
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if "4243" in process.cmdline() or process.environ().get("HARNESS_TEST_OF") == __name__:
                found.append(process)
    return found


@pytest.fixture(scope="module")
def drive(tmp_path_factory):
    """A comparison of all of them, the paths relative, each named by the solver it has or, if it is broken, by itself."""
    folder = tmp_path_factory.mktemp("bad")
    paths = [write(folder, name, text) for name, text in AT_IMPORT.items()]
    paths.append(write(folder, "slow_to_configure", "import time", "time.sleep(4243)"))
    names = [name if name in REASONS else f"of-{name}" for name in [*AT_IMPORT, "slow_to_configure"]]
    done = subprocess.run(
        [*COMMAND, "compare", *[word for path in paths for word in ("--plugin-path", path)], "--plugins", ",".join(names),
         "--formulation", "c-svc", "--datasets", "twonorm[n=60]", "--time-limit", "3", "--store", "x.sqlite",
         "--format", "json", "--jobs", "2"],
        capture_output=True, text=True, cwd=folder, check=False, timeout=240, env=alone(HARNESS_TEST_OF=__name__),
    )  # fmt: skip
    return SimpleNamespace(code=done.returncode, out=done.stdout, err=done.stderr, names=names)


def rows(drive):
    return {row["solver"]: row for row in json.loads(drive.out)}


@pytest.mark.slow
def test_each_has_its_row_and_the_others_run(drive):
    assert set(rows(drive)) == set(drive.names)
    assert drive.code == 1, "rows that failed; neither the code of a plugin that ended the process nor of its last word"
    told = {name: rows(drive)[name]["reason"] for name in REASONS}
    assert {name: reason for name, reason in told.items() if REASONS[name] not in reason} == {}
    assert {name: rows(drive)[f"of-{name}"]["status"] for name in GOOD} == dict.fromkeys(GOOD, "ok")


@pytest.mark.slow
def test_a_solver_that_hangs_where_it_is_configured_has_its_row(drive):
    row = rows(drive)["of-slow_to_configure"]
    assert row["status"] == "error"
    assert (
        "'of-slow_to_configure' could not be configured: its configuration was still running after 3 s" in row["reason"]
    )


@pytest.mark.slow
def test_what_is_printed_at_import_is_a_note_on_standard_error(drive):
    notes = [
        line for line in drive.err.splitlines() if line.startswith("note: plugin 'prints' printed at its import: ")
    ]
    assert len(notes) == 1, "once, however often the command was started anew"
    assert "twice" in notes[0]
    assert "nted" in notes[0]
    assert not {"\x1b", "\x07", "\x9b"} & set(drive.err + drive.out)


@pytest.mark.slow
def test_nothing_is_left_of_them(drive):
    until = time.monotonic() + 20
    while (left := sleepers()) and time.monotonic() < until:
        time.sleep(0.2)
    assert not left


@pytest.mark.usefixtures("heeds_interrupts")
@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -signal.SIGKILL)]
)
def test_a_signal_to_the_command_ends_it_while_a_plugin_hangs(tmp_path, number, code):
    path = write(tmp_path, "waits", "import os, time; open('pid', 'w').write(f'{os.getpid()} '); time.sleep(4243)")
    command = subprocess.Popen(
        [*COMMAND, "list", "--plugin-path", path], cwd=tmp_path, env=alone(), stderr=subprocess.PIPE
    )
    until = time.monotonic() + 30
    while not ((tmp_path / "pid").exists() and (tmp_path / "pid").read_text().endswith(" ")):
        assert time.monotonic() < until
        time.sleep(0.02)
    driver = psutil.Process(int((tmp_path / "pid").read_text()))
    command.send_signal(number)
    _, said = command.communicate(timeout=30)
    assert command.returncode == code
    assert said.strip() == (b"harness: interrupted." if number == signal.SIGINT else b"")
    assert driver.wait(10) is None or not driver.is_running()


def test_one_that_ends_the_process_is_listed_as_broken(tmp_path):
    paths = [write(tmp_path, name, AT_IMPORT[name]) for name in ("ends", "prints")]
    words = [word for path in paths for word in ("--plugin-path", path)]
    done = subprocess.run(
        [*COMMAND, "list", "plugins", "--format", "json", *words],
        capture_output=True, text=True, cwd=tmp_path, check=False, timeout=60, env=alone(),
    )  # fmt: skip
    found = {item["name"]: item for item in json.loads(done.stdout)}
    assert done.returncode == 0
    assert (found["ends"]["status"], found["ends"]["description"]) == ("broken", REASONS["ends"])
    assert found["prints"]["status"] == "ok"


def test_in_a_callers_own_process_what_an_import_does_is_undone(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before, handler = Path.cwd(), signal.getsignal(signal.SIGTERM)
    harmful = "import os, signal, sys; os.chdir('/'); signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    harmful += "os.environ['HARNESS_STORE'] = '/nowhere'; raise KeyboardInterrupt"
    paths = [write(tmp_path, "harmful", harmful), write(tmp_path, "harmless", "")]
    stored = os.environ.get("HARNESS_STORE")
    registry = load_registry(paths)
    assert "KeyboardInterrupt" in registry.broken["harmful"].reason
    assert "harmless" in registry.solvers
    assert (Path.cwd(), signal.getsignal(signal.SIGTERM)) == (before, handler)
    assert os.environ.get("HARNESS_STORE") == stored


def test_an_interrupt_of_the_users_is_not_a_plugins_fault(tmp_path):
    path = write(
        tmp_path, "swallows", "import os, signal\ntry: os.kill(os.getpid(), signal.SIGINT)\nexcept BaseException: pass"
    )
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            load_registry([tmp_path / path])
    finally:
        signal.signal(signal.SIGINT, before)
    sys.modules.pop("swallows", None)
