"""Solvers whose requirements the host does not meet: their environments, made of local wheels, and the runs in them."""

import json
import os
import subprocess
import threading
import zipfile
from dataclasses import replace
from importlib import metadata
from pathlib import Path

import pytest

from harness.measure.outcome import Status
from harness.run.environments import environment_of, installed, lacking, own_versions
from harness.run.pool import ProcessPool
from tests.run.conftest import ALONE, HARNESS, SPEC, check_end, compared

REQUIRES = {"old": "tiny-svm==1.0", "new": "tiny-svm==2.*", "nowhere": "tiny-svm>=3", "older": "tiny-svm==0.1"}
PLUGIN = f"""
import sys
from dataclasses import dataclass
import numpy as np
from harness import CSVC, Iterate, Solver, hookimpl

@dataclass(frozen=True)
class Tiny(Solver):
    solves = (CSVC,)

    def iterates(self, problem, rng):
        import tiny_svm
        info = dict(library=tiny_svm.VERSION, prefix=sys.prefix)
        yield Iterate(dual_coef=np.zeros(problem.n), done=True, info=info)

@hookimpl
def harness_solvers():
    return [type(name, (Tiny,), dict(name=name, requires=(each,))) for name, each in {REQUIRES}.items()]
"""
GIVEN = ("--datasets", "checkerboard[n=40,n_test=10]")


def wheel(folder: Path, version: str, *needs: str) -> None:
    """Write a wheel of a package with one module."""
    about = f"tiny_svm-{version}.dist-info"
    requirements = "".join(f"Requires-Dist: {need}\n" for need in needs)
    with zipfile.ZipFile(folder / f"tiny_svm-{version}-py3-none-any.whl", "w") as archive:
        archive.writestr("tiny_svm.py", f"VERSION = '{version}'\n")
        archive.writestr(
            f"{about}/METADATA", f"Metadata-Version: 2.1\nName: tiny-svm\nVersion: {version}\n{requirements}"
        )
        archive.writestr(
            f"{about}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{about}/RECORD", "")


@pytest.fixture(scope="module")
def there(tmp_path_factory):
    """A folder with a plugin and the wheels that it requires, no package index, and a host that has another version."""
    folder = tmp_path_factory.mktemp("environments")
    for version, *needs in (("0.1", "numpy<1.0"), ("0.5",), ("1.0",), ("2.0", "numpy")):
        wheel(folder, version, *needs)
    (folder / "tiny.py").write_text(PLUGIN)
    zipfile.ZipFile(folder / "tiny_svm-0.5-py3-none-any.whl").extractall(folder / "host")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(folder / "host"), prepend=os.pathsep)
        patch.syspath_prepend(folder / "host")
        environment = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(folder), "HARNESS_CACHE": str(folder)}
        for name, value in {**environment, **ALONE}.items():
            patch.setenv(name, value)
        yield folder


def peers(folder, *arguments):
    command = [*HARNESS, "peers", *arguments, "--plugin-path", str(folder / "tiny.py")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=280, check=False)
    assert "Traceback" not in done.stderr
    return done.returncode, done.stdout, done.stderr


@pytest.fixture(scope="module")
def made(there):
    """The same, with the environments of two solvers that exclude each other."""
    code, output, errors = peers(there, "install", "old", "new")
    assert code == 0, errors
    assert [line.partition(" in ")[0] for line in output.splitlines()] == ["old: tiny-svm 1.0", "new: tiny-svm 2.0"]
    return there


@pytest.mark.slow
def test_two_that_exclude_each_other_are_compared_at_once(made):
    given = (made / "rows.sqlite", made / "tiny.py", "old,new,nowhere", *GIVEN)
    code, records, errors = compared(*given)
    assert code == 0, errors
    *records, nowhere = records
    check_end(nowhere, "skipped", "`harness peers install now")
    for record, version in zip(records, ("1.0", "2.0"), strict=True):
        environment = environment_of((REQUIRES[record["solver"]],))
        assert record["status"] == "ok", record["reason"]
        assert record["info"] == {"library": version, "prefix": str(environment.folder)}
        assert record["versions"]["tiny-svm"] == version
        assert not list(environment.packages.glob("numpy*")), "the host's own serves, and is not there twice"
    # another version in an environment is another run
    (metadata_file,) = environment.packages.glob("*.dist-info/METADATA")
    metadata_file.write_text(metadata_file.read_text().replace("Version: 2.0", "Version: 2.1"))
    assert own_versions(environment.requires) == {"tiny-svm": "2.1"}
    again = {record["solver"]: record for record in compared(*given)[1]}
    assert (again["old"]["reused"], again["new"]["reused"]) == (True, False)
    assert again["new"]["versions"]["tiny-svm"] == "2.1"


@pytest.mark.slow
def test_an_environment_that_is_broken_is_told_of_made_anew_and_removed(made, tmp_path):
    environment = environment_of((REQUIRES["old"],))
    Path(environment.python).unlink()
    lost = f"its environment {environment.folder} has lost its interpreter"
    code, (record,), _ = compared(tmp_path / "rows.sqlite", made / "tiny.py", "old", *GIVEN)
    assert code == 1
    check_end(record, "skipped", lost)
    pool = ProcessPool(None, tmp_path, threading.Event(), {})
    met = pool.run(replace(SPEC, requires=environment.requires))  # it was whole when the comparison was planned
    assert (met.status, lost in met["reason"]) == (Status.CRASHED, True)
    assert peers(made, "install", "old")[0] == 0
    assert environment.fault() == ""
    rows = {row["name"]: row for row in json.loads(peers(made, "list", "--format", "json")[1])}
    assert (rows["old"]["where"], rows["old"]["versions"]) == (str(environment.folder), "tiny-svm 1.0")
    assert rows["nowhere"]["versions"] == ""
    assert peers(made, "remove", "old")[1] == "old: its environment is removed.\n"
    assert environment.folder.name not in installed()
    assert peers(made, "remove", "old")[1] == "old: has no environment.\n"


@pytest.mark.parametrize(
    ("names", "cache", "code", "words"),
    [
        (["nowhere", "older"], "", 1, ["Could not find a version", "harness: Cannot install"]),
        (["old"], "tiny.py", 1, ["tiny.py/environments cannot be written"]),
        (["odl"], "", 2, ["did you mean 'old'?"]),
    ],
)
def test_what_cannot_be_installed_is_a_sentence_and_leaves_nothing(there, monkeypatch, names, cache, code, words):
    monkeypatch.setenv("HARNESS_CACHE", str(there / cache))
    before = set(installed())
    found, _, errors = peers(there, "install", *names)
    assert (found, [each in " ".join(errors.split()) for each in words]) == (code, [True] * len(words)), errors
    assert set(installed()) == before


def test_what_the_host_has_needs_no_environment():
    assert environment_of(("numpy>=1", "Scikit_Learn")) is None
    assert own_versions(("numpy",)) == {"numpy": metadata.version("numpy")}
    needed = ("numpy>=1", "numpy<1", "no-such-svm", "no-such-svm; python_version<'3'")
    assert lacking(needed) == ["numpy<1", "no-such-svm"]
    first, second = environment_of(("numpy<1", "no-such-svm")), environment_of(("no-such-svm", "numpy <1"))
    assert first.folder.name.removeprefix("numpy") == second.folder.name.removeprefix("no-such-svm")
