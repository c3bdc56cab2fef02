"""``harness check`` and the tests that pytest makes of it, on a sound plugin and on ones with a fault."""

import ast
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


HALF = """
import harness

class Half(harness.CSVCNoBias):
    '''c-svc-nobias by another name.'''
    name = "half"

@harness.hookimpl
def harness_formulations():
    return [Half]
"""
SOLVES_HALF = """
import harness
from tests.conformance.bad_solvers import Coordinate

class OfHalf(Coordinate):
    '''Solves the formulation of another file.'''
    name = "of-half"
    solves = ("half",)

def half_errors(targets, scores):
    return float((targets * scores < 0.0).mean())

@harness.hookimpl
def harness_solvers():
    return [OfHalf]

@harness.hookimpl
def harness_metrics():
    return {"half-errors": half_errors}
"""


def test_a_solver_is_checked_on_the_formulation_of_another_file_and_a_metric_has_its_place(check, tmp_path):
    (tmp_path / "half.py").write_text(HALF)
    (tmp_path / "solver.py").write_text(SOLVES_HALF)
    done = check("solver.py", "half.py", "--only", "takes_problems,says_what", "--format", "json")
    entries = {(entry["thing"], entry["check"]): entry for entry in json.loads(done.stdout)}
    assert entries["of-half", "takes_problems_of_all_that_it_solves"]["status"] == "passed"
    metric = entries["half-errors", "says_what_it_is"]
    assert metric["status"] == "failed"
    assert metric["where"].endswith(f"solver.py:{SOLVES_HALF.partition('def half')[0].count(chr(10)) + 1}")


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


CONFIGURED = """
from dataclasses import dataclass
import harness
from harness import hookimpl
from tests.conformance.bad_solvers import Sound, LoopsOnThree

@dataclass(frozen=True)
class Configured(Sound):
    '''Is checked with a value.'''
    name = "configured"
    conformance = harness.Conformance(values={"epsilon": 1e-5})

@dataclass(frozen=True)
class Lacking(Sound):
    '''Needs a package.'''
    name = "lacking"
    requires = ("there-is-no-such-package>=1", "nor-such")

@hookimpl
def harness_solvers():
    return [Configured, Lacking, LoopsOnThree]
"""


@pytest.mark.parametrize("name", ["configured", "several/configured", "configured[epsilon=1e-05]"])
def test_a_solver_is_found_by_its_name_whatever_its_conformance_sets(check, tmp_path, name):
    (tmp_path / "several.py").write_text(CONFIGURED)
    done = check(name, "--plugin-path", "several.py", "--only", "says_what", "-v")
    assert (done.exit_code, done.stdout.split()[:2]) == (0, ["passed", "configured[epsilon=1e-05]:"])


def test_a_solver_that_cannot_run_here_is_skipped_counted_and_not_passed(check, tmp_path):
    (tmp_path / "several.py").write_text(CONFIGURED)
    given = ("--plugin-path", "several.py", "--only", "says_what,feasible")
    alone = check("lacking", *given)
    assert (alone.exit_code, " ".join(alone.stdout.split())) == (
        1,
        "skipped lacking: 2 checks. lacking needs what is not installed here: pip install 'there-is-no-such-package>=1' 'nor-such'",
    )
    assert re.search("^2 checks in .* s: 2 skipped$", alone.stderr)
    beside = check("configured", "several/lacking", *given)
    assert beside.exit_code == 1, "of one target nothing was checked"
    assert beside.stderr.endswith(": 2 passed, 2 skipped\n")


def test_a_slow_problem_does_not_silence_the_others(check, tmp_path, monkeypatch):
    from harness.testing import SolverConformance

    (tmp_path / "several.py").write_text(CONFIGURED)
    monkeypatch.setattr("harness.testing.apart._GRACE", 0.5)
    for name in ("yields_a_model_in_time", "every_iterate_is_feasible", "ends_by_itself"):
        monkeypatch.setattr(getattr(SolverConformance, f"test_{name}"), "seconds", 1.0)
    done = check("loops-on-three", "--plugin-path", "several.py", "--only", "feasible,ends_by", "--format", "json")
    feasible, ends = json.loads(done.stdout)
    slow = "hard-margin:three-points", "l2-svc:three-points"
    assert (feasible["failing"], feasible["skipped"]) == (2, 0)
    assert feasible["message"] == f"{slow[0]}: killed after 1.5 s, as it neither yielded nor ended."
    assert (ends["status"], ends["failing"], ends["skipped"], ends["problems"]) == (
        "passed",
        0,
        2,
        feasible["problems"],
    )
    how = "every_iterate_is_feasible was killed after 1.5 s, as it neither yielded nor ended."
    assert ends["reasons"] == [f"{case} is left out: {how}" for case in slow]
    assert feasible["problems"] > 10
    assert done.stderr.endswith("1 passed, 1 failed, 2 problems left out\n")


@pytest.mark.slow
def test_an_optimised_interpreter_finds_the_same_faults(tmp_path):
    (tmp_path / "wrong.py").write_text(WRONG)
    command = [sys.executable, "-O", "-m", "harness", "check", "./wrong.py", "--only", "claimed_gap,target_gap"]
    done = subprocess.run(command, cwd=tmp_path, env=_surroundings(), capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    assert re.search(r": 1 passed, 2 failed, 1 excused$", done.stderr)


def test_no_check_is_an_assert_statement():
    for file in (ROOT / "harness" / "testing").glob("*.py"):
        tree = ast.parse(file.read_text())
        assert not [node.lineno for node in ast.walk(tree) if isinstance(node, ast.Assert)], file


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
