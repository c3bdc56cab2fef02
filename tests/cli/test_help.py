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


def test_the_help_of_compare(invoke):
    text = invoke("compare", "--help-all").stdout
    for section in ("What to compare", "The problem", "Limits of a run", "How to measure", "The result"):
        assert f"{section}:" in text
    assert "\n    harness compare --plugins lasvm,fw\n" in text
    assert "1 a run failed (timeout, memory, crashed, error, invalid, environment)" in " ".join(text.split())


def test_the_short_help_of_compare_has_the_twelve_options_of_the_first_day_and_every_format(invoke):
    from harness.registry.hookspecs import FORMATS

    text, whole = (invoke("compare", given).stdout for given in ("--help", "--help-all"))
    twelve = {"plugins", "datasets", "formulation", "kernel", "C", "gamma", "target-gap", "time-limit", "repeat", "threads", "format",
              "output"}  # fmt: skip
    options = set(re.findall(r"^  (?:-\S, )?--([\w-]+)", text, re.MULTILINE))
    assert options == twelve | {"help", "help-all"}
    assert len(text.splitlines()) < 60
    assert len(set(re.findall(r"^  (?:-\S, )?--([\w-]+)", whole, re.MULTILINE))) > 30
    listed = text.split("--format")[1].partition("[default")[0]
    assert [name for name in (*FORMATS, "html") if name not in listed] == []


def test_no_command_is_the_help_as_it_is(invoke):
    done = invoke()
    assert done.exit_code == 2
    assert done.stderr == invoke("--help").stdout


def test_python_m_harness_is_the_command_and_a_full_device_is_a_sentence():
    with Path("/dev/full").open("w") as full:
        buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
        done = subprocess.run([sys.executable, "-m", "harness", "list", "kernels"], stdout=full, stderr=subprocess.PIPE, text=True,
                              check=False, env=buffered)  # fmt: skip
    assert (done.returncode, done.stderr) == (2, "harness: standard output: No space left on device.\n")
