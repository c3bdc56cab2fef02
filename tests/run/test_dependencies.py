"""Code that a solver uses and no package brings: what it declares is part of the key, what it did not declare is named."""

import hashlib
import os
import shutil
from pathlib import Path

import pytest

from harness import CSVC
from harness.run.dependencies import code_of, declared, look_up
from harness.solver.protocol import Solver
from harness.support.errors import PluginError
from tests.run.conftest import ALONE, PLUGINS, check_end, compared, grid

PROGRAM = """#!/bin/sh
case "$1" in
--version) echo "fit-svm 1.0"; echo "of nobody" ;;
slowly) sleep 0.3 ;;
for*) sleep 60 ;;
esac
"""
SEEN = {
    "nothing": (),
    **dict.fromkeys(("program", "path", "shell", "system", "waits"), ("SH", "fit-svm")),
    "script": ("code_beside.py",),
    "module": ("code_beside.py",),
    "library": ("libfit.so",),
    "library-of-its-own": (),  # it was made in the run
    "hangs": ("SH", "fit-svm"),
}
SH = os.path.realpath("/bin/sh")


@pytest.fixture
def there(tmp_path, monkeypatch):
    """A folder on PATH with a program, a module and a library."""
    folder = tmp_path / "programs of mine"
    folder.mkdir()
    (folder / "fit-svm").write_text(PROGRAM)
    (folder / "fit-svm").chmod(0o755)
    (folder / "code_beside.py").write_text("x = 1\n")
    import _ctypes

    shutil.copy(_ctypes.__file__, folder / "libfit.so")
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PROGRAMS", str(folder))
    for name, value in ALONE.items():
        monkeypatch.setenv(name, value)
    return folder


def run(folder, **values):
    """Compare the solver with one declaration; return its record."""
    options = ",".join(f"{name}={value}" for name, value in values.items())
    _, (record,), _ = compared(folder.parent / "store.sqlite", PLUGINS / "programs.py", f"programs[{options}]")
    return record


@pytest.mark.slow
def test_code_that_nobody_declared_is_named_however_it_is_used(there):
    records = grid(there.parent, PLUGINS / "programs.py", "uses", SEEN, "--time-limit", "0.7")
    for uses, names in SEEN.items():
        check_end(records[uses], "timeout" if uses == "hangs" else "ok", "")
        seen = {file for file in records[uses]["undeclared"] or () if Path(file).name != "sleep"}
        assert seen == {SH if name == "SH" else str(there / name) for name in names}, uses


@pytest.mark.slow
def test_what_is_declared_is_in_the_record_and_a_change_of_it_is_measured_anew(there):
    first = run(there, uses="program", declares="version")
    facts = first["depends_on"]["fit-svm --version"]
    content = hashlib.sha256(PROGRAM.encode()).hexdigest()
    assert facts == {"path": str(there / "fit-svm"), "sha256": content, "version": "fit-svm 1.0"}
    assert first["undeclared"] is None
    assert run(there, uses="program", declares="version")["reused"]
    (there / "fit-svm").write_text(f"{PROGRAM}# other\n")
    other = run(there, uses="program", declares="version")
    assert (other["reused"], other["key"] == first["key"]) == (False, False)
    undeclared = run(there, uses="program")
    (there / "fit-svm").write_text(PROGRAM)
    again = run(there, uses="program")
    assert (undeclared["reused"], again["reused"]) == (False, True), "nobody declared it"
    assert again["undeclared"] == sorted([SH, str(there / "fit-svm")])


def test_what_is_missing_is_a_skipped_row_and_what_is_no_declaration_an_error(there):
    record = run(there, declares="missing")
    check_end(record, "skipped", "programs needs ")
    assert "no-such-svm, '" in record["reason"]
    assert "no such library.so': not on PATH, or no such file" in record["reason"]
    for wrong in ("text", "quotes"):
        check_end(run(there, declares=wrong), "error", "it must be a tuple of programs' names and files' paths")


def test_a_program_is_not_run_for_its_version_unless_the_solver_says_how(there):
    assert [each["version"] for each in look_up(["fit-svm", "fit-svm --version"]).values()] == ["", "fit-svm 1.0"]
    (there / "fit-svm").write_text("#!/bin/sh\nexit 3\n")
    assert look_up(["fit-svm --version"])["fit-svm --version"]["version"] == ""
    assert look_up(["code_beside.py", "no-such-svm", str(there)]) == {}


def test_a_declaration_that_fails_is_the_plugins_fault():
    class Failing(Solver):
        name = "failing"
        solves = (CSVC,)

        @property
        def depends_on(self):
            raise KeyError("PROGRAMS")

        def iterates(self, problem, rng):
            return iter(())

    with pytest.raises(PluginError, match="solver 'failing' failed in depends_on: KeyError: 'PROGRAMS'"):
        declared(Failing())


def test_of_a_command_the_program_and_the_files_that_it_is_given_are_named(there):
    """A script may have any suffix: nobody can tell it from data, and the row depends on both."""
    program, script, data = (str(there / name) for name in ("fit-svm", "code_beside.py", "train.awk"))
    (there / "train.awk").write_text("{ print }\n")
    assert code_of(["fit-svm", "-t", "no-file", "1"], there)[1:] == [program]
    assert code_of([b"cat", "-v", Path("code_beside.py")], there)[1:] == [script]
    assert code_of(["cat", "-f", "train.awk", "--read=code_beside.py", "/proc/stat"], there)[1:] == [data, script]
    assert code_of(["sh", "-c", "fit-svm 'a b' | cat"], there)[2:] == [program]
    (there / "fit-svm").write_text("#!/usr/bin/env cat\n")
    assert [Path(file).name for file in code_of(["fit-svm"])] == ["cat", "fit-svm"]
    assert code_of([], there) == []
