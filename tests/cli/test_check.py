"""``harness check`` and the tests that pytest makes of it, on a sound plugin and on ones with a fault."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from harness.cli.main import cli

ROOT = Path(__file__).parents[2]
ASCENT = ROOT / "tests" / "strangers" / "ascent.py"
WRONG = """
import harness
from harness import hookimpl
from tests.conformance.bad_solvers import OneCost, RefusesAll

class Wrong(OneCost):
    '''Bounds every coefficient by C.'''
    name = "wrong"

    def with_target_gap(self, gap):
        self.replace()

class Excused(OneCost):
    '''The same, and says so.'''
    name = "excused"
    conformance = harness.Conformance(excused={"certified_to_the_claimed_gap": "one C for both classes"})

@hookimpl
def harness_solvers():
    return [Wrong, Excused]
"""


@pytest.fixture
def check(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(ROOT))

    def run(*arguments: str):
        return CliRunner().invoke(cli, ["check", *arguments])

    return run


def test_a_sound_plugin_passes_and_each_check_is_a_line_if_that_is_wanted(check):
    given = (str(ASCENT), "--only", "feasible,counted", "--only", "test_says_what")
    done = check(*given, "-v")
    assert done.exit_code == 0, done.output
    names = [line.split()[:3] for line in done.stdout.splitlines() if not line.startswith(" ")]
    checks = ("says_what_it_is.", "every_iterate_is_feasible.", "every_kernel_value_is_counted.")
    assert sorted(names) == sorted(["passed", "matrix-ascent:", check] for check in checks)
    short = check(*given)
    assert (short.stdout, re.sub(r"[\d.]+ s", "S", short.stderr)) == ("", "3 checks in S: 3 passed\n")


def test_a_fault_is_told_in_words_with_its_place_and_its_smallest_problem(check, tmp_path):
    (tmp_path / "wrong.py").write_text(WRONG)
    done = check("./wrong.py", "--only", "claimed_gap", "--format", "json")
    assert done.exit_code == 1
    wrong, excused = json.loads(done.stdout)
    assert (wrong["status"], excused["status"]) == ("failed", "excused")
    assert "violates the constraints of c-svc-nobias by" in wrong["message"]
    assert "wrong.py:" in wrong["where"]
    assert excused["message"].startswith("excused: one C for both classes")
    problem = json.loads((tmp_path / wrong["file"]).read_text())
    assert problem["case"] == "class-weights"
    assert len(problem["y"]) < 10, "it was made smaller"
    again = check("--reproduce", wrong["file"])
    assert again.exit_code == 1
    assert "failed: certified_to_the_claimed_gap of wrong on c-svc-nobias:class-weights" in again.stdout
    assert "bad_solvers.py" in again.stderr or "conformance.py" in again.stderr, "a traceback"


def test_a_solver_that_is_none_once_it_has_a_target_fails_one_check(check, tmp_path):
    (tmp_path / "wrong.py").write_text(WRONG)
    done = check("./wrong.py", "--only", "target_gap,says_what")
    assert "with_target_gap returned NoneType; it must return Wrong: return self.replace(...)." in done.stdout
    assert done.stdout.count("FAILED") == 1


def test_a_file_that_is_no_problem_is_refused(check, tmp_path):
    (tmp_path / "other.json").write_text("[]")
    done = check("--reproduce", "other.json")
    assert done.exit_code == 2
    assert "other.json was not written by `harness check`" in done.stderr


def test_a_line_makes_every_check_a_test_of_pytest(tmp_path):
    (tmp_path / "wrong.py").write_text(WRONG)
    (tmp_path / "test_wrong.py").write_text("from harness.testing import checks_of\nchecks = checks_of('./wrong.py')\n")
    quietly = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-rA"]
    asked = [*quietly, "-k", "claimed_gap or says_what", "."]
    done = subprocess.run(
        asked, cwd=tmp_path, env={**_surroundings(), "COLUMNS": "200"}, capture_output=True, text=True, check=False
    )
    assert "FAILED test_wrong.py::solver-wrong::certified_to_the_claimed_gap" in done.stdout, done.stdout + done.stderr
    assert "XFAIL test_wrong.py::solver-excused::certified_to_the_claimed_gap" in done.stdout
    assert "PASSED test_wrong.py::solver-wrong::says_what_it_is" in done.stdout


def _surroundings() -> dict[str, str]:
    import os

    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)])}
