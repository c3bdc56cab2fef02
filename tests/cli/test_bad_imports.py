"""Plugins that raise, exit or hang where they are imported: each is named, and the others run."""

import json
import os
import signal
import subprocess
import textwrap
import time

import pytest

from tests.cli.conftest import COMMAND
from tests.run.conftest import ALONE

SOLVER = '''
from dataclasses import dataclass
import numpy as np
from harness import CSVC, Iterate, Solver, hookimpl

@dataclass(frozen=True)
class Own(Solver):
    """A solver that does nothing."""

    name = "of-{name}"
    solves = (CSVC,)

    def iterates(self, problem, rng):
        yield Iterate(dual_coef=np.zeros(problem.n), intercept=0.0, done=True)

@hookimpl
def harness_solvers():
    return [Own]
'''

AT_IMPORT = {
    "prints": "print('pri\\x1b]0;title\\x07nted')",
    "raises": "class Odd(BaseException): pass\nraise Odd('\\x1b[31mred\\x9b31m')",
    "exits": "import sys; sys.exit(3)",
}
REASONS = {"raises": "Odd: \N{REPLACEMENT CHARACTER}[31mred\N{REPLACEMENT CHARACTER}31m", "exits": "SystemExit: 3"}


def write(folder, name, text):
    (folder / f"{name}.py").write_text(f"{text}\n{textwrap.dedent(SOLVER).format(name=name)}")
    return f"{name}.py"


def test_each_has_its_row_and_the_others_run(tmp_path):
    paths = [write(tmp_path, name, text) for name, text in AT_IMPORT.items()]
    done = subprocess.run(
        [*COMMAND, "compare", *[word for path in paths for word in ("--plugin-path", path)],
         "--plugins", "of-prints,raises,exits", "--formulation", "c-svc", "--datasets", "twonorm[n=60]",
         "--store", "x.sqlite", "--format", "json"],
        capture_output=True, text=True, cwd=tmp_path, check=False, timeout=120, env={**os.environ, **ALONE},
    )  # fmt: skip
    rows = {row["solver"]: row for row in json.loads(done.stdout)}
    assert done.returncode == 1, "rows that failed"
    assert rows["of-prints"]["status"] == "ok"
    assert {name: reason for name, reason in REASONS.items() if reason not in rows[name]["reason"]} == {}
    assert "nted" in done.stderr, "standard output is the table's"


@pytest.mark.slow
@pytest.mark.usefixtures("heeds_interrupts")
@pytest.mark.parametrize(
    ("number", "code", "said"), [(signal.SIGINT, 130, b"interrupted"), (signal.SIGTERM, 143, b"ended by SIGTERM")]
)
def test_a_signal_ends_the_command_and_names_the_plugin_that_hangs(tmp_path, number, code, said):
    path = write(tmp_path, "waits", "import os, time; open('pid', 'w').write(f'{os.getpid()} '); time.sleep(4243)")
    command = subprocess.Popen(
        [*COMMAND, "list", "--plugin-path", path], cwd=tmp_path, env={**os.environ, **ALONE}, stderr=subprocess.PIPE
    )
    until = time.monotonic() + 30
    while not ((tmp_path / "pid").exists() and (tmp_path / "pid").read_text().endswith(" ")):
        assert time.monotonic() < until
        time.sleep(0.02)
    command.send_signal(number)
    _, errors = command.communicate(timeout=30)
    assert command.returncode == code
    assert errors.strip() == b"harness: " + said + b" while plugin 'waits' was at its import."
