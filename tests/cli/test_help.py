"""The help, and options that are none; all of it stays light."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

from harness.cli.main import VARIABLES

ROOT = Path(__file__).resolve().parents[2]
HEAVY = ["numpy", "numba", "pandas", "rich", "sklearn", "scipy", "cvxpy", "pydantic"]
SCRIPT = f"""
import json, sys
from click.testing import CliRunner
from harness.cli.main import cli
for words in json.loads(sys.argv[1]):
    assert CliRunner().invoke(cli, words).output
    print(json.dumps([name for name in sys.modules if name in {HEAVY} or name.startswith("harness_")]))
"""


def test_the_help_is_light():
    asked = [["compare", "--help"], ["list", "--help"], ["results", "--help"], ["--version"], ["--help"]]
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, json.dumps(asked)], capture_output=True, text=True, check=False, timeout=100
    )
    *light, of_all = map(json.loads, done.stdout.splitlines())
    assert light == [[]] * 4
    assert set(of_all) <= {"harness_dashboard", "harness_dashboard.command"}, "asked for commands, those that have any"


def test_every_variable_that_is_heeded_is_in_the_list_of_the_help(invoke):
    heeded = {
        name
        for folder in ("harness", "plugins")
        for path in (ROOT / folder).rglob("*.py")
        for name in re.findall(r"\bHARNESS_[A-Z_]+", path.read_text())
        if not name.startswith("HARNESS_HISTORY")  # of the files of a history, which set them themselves
    }
    assert heeded == {name for name in VARIABLES if name.startswith("HARNESS_")}
    told = " ".join(invoke("--help").stdout.split())
    for name, meaning in VARIABLES.items():
        assert f"{name} {meaning}" in told


def test_python_m_harness_is_the_command_and_a_full_device_is_a_sentence():
    with Path("/dev/full").open("w") as full:
        buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
        done = subprocess.run([sys.executable, "-m", "harness", "list", "kernels"], stdout=full, stderr=subprocess.PIPE, text=True,
                              check=False, env=buffered)  # fmt: skip
    assert (done.returncode, done.stderr) == (2, "harness: standard output: No space left on device.\n")
