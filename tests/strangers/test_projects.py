"""What `harness new` writes, and the examples: installed by pip, with their own tests, every check, and a comparison."""

import contextlib
import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from harness.cli.main import cli
from harness.cli.new import KINDS, addresses
from harness.registry import discovery as registry

ROOT = Path(__file__).parents[2]
EXAMPLES = ("c_solver", "wrapped_package", "data_kernel_metric")


def new(*arguments: str):
    return CliRunner().invoke(cli, ["new", *arguments])


def test_a_solver_that_was_just_written_is_loaded_checked_and_listed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(registry, "_shared_registry", registry._shared_registry)  # the command shares its own
    done = new("my-solver")
    assert done.exit_code == 0, done.output
    assert "harness check my-solver" in done.stdout
    workflow = (tmp_path / "my-solver/.github/workflows/ci.yml").read_text()
    assert f'HARNESS: "{addresses(ROOT)[1] or "svm-harness @ git+https://HOST/PATH/svm-harness"}"' in workflow
    readme = (tmp_path / "my-solver/README.md").read_text()
    assert f"pip install {shlex.quote(addresses(ROOT)[0])} -e '.[test]'" in readme
    assert '\nrequires_harness = ">=' in (tmp_path / "my-solver/my_solver.py").read_text()
    assert "pip install \"$HARNESS\" -e '.[test]'" in workflow
    assert "python-version: ${{ matrix.python }}" in workflow
    file = str(tmp_path / "my-solver" / "my_solver.py")
    checked = CliRunner().invoke(cli, ["check", file, "--format", "json"])
    assert checked.exit_code == 0, checked.output
    assert {each["status"] for each in json.loads(checked.stdout)} == {"passed"}
    listed = CliRunner().invoke(cli, ["list", "solvers", "--plugin-path", file, "--format", "json"])
    assert "my-solver" in [each["name"] for each in json.loads(listed.stdout)]


@pytest.mark.parametrize(
    ("origin", "address"),
    [
        (
            "https://ada:secret@host.example/ada/svm-harness.git",
            "svm-harness @ git+https://host.example/ada/svm-harness.git",
        ),
        ("git@host.example:ada/svm-harness.git", "svm-harness @ git+ssh://git@host.example/ada/svm-harness.git"),
        ("/mnt/clones/svm-harness", ""),
        ("", ""),
    ],
)
def test_a_project_names_the_address_of_the_clone_and_no_password(origin, address, tmp_path):
    (tmp_path / "pyproject.toml").touch()
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    if origin:
        subprocess.run(["git", "remote", "add", "origin", origin], cwd=tmp_path, check=True)
    assert addresses(tmp_path) == (address or str(tmp_path), address)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("smo", "a solver of that name"),
        ("numpy", "a Python module 'numpy'"),
        ("json", "a Python module 'json'"),
        ("parquet", "a report format of that name"),
        ("my solver", "letters, digits and - _ . only"),
        ("1st", "Python takes no such names"),
        ("full", "full exists and is not empty"),
    ],
)
def test_a_name_that_is_taken_is_refused_in_a_sentence(name, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    done = new(name)
    assert done.exit_code == 2
    assert words in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["full"]


@pytest.fixture(scope="module")
def projects(tmp_path_factory):
    """All projects, and what runs a command where they are installed."""
    folder = tmp_path_factory.mktemp("projects")
    with contextlib.chdir(folder):
        assert [new(f"own-{kind}", "--kind", kind).exit_code for kind in KINDS] == [0] * len(KINDS)
    for example in EXAMPLES:
        shutil.copytree(ROOT / "examples" / example, folder / example)
    paths = [str(folder / "installed"), *filter(None, sys.path)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "HARNESS_STORE": str(folder / "store.sqlite")}

    def run(*command: str) -> subprocess.CompletedProcess[str]:
        options = {"cwd": folder, "env": environment, "capture_output": True, "text": True}
        return subprocess.run([sys.executable, "-m", *command], check=False, **options)

    all_of_them = [str(path) for path in folder.iterdir() if (path / "pyproject.toml").exists()]
    options = ("--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check", "-t", "installed")
    installed = run("pip", "install", "-q", *options, *all_of_them)
    assert installed.returncode == 0, installed.stderr
    return run


@pytest.mark.slow
def test_their_own_tests_and_every_check_pass(projects):
    done = projects("pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--import-mode=importlib", ".")
    assert done.returncode == 0, done.stdout[-3000:]
    assert int(done.stdout.split(" passed")[0].split()[-1]) > 100


@pytest.mark.slow
def test_they_are_compared_beside_ours(projects):
    asked = "own-solver,block-ascent,smo,wrapped-svc"
    done = projects(
        "harness", "compare", "--plugins", asked, "--datasets", "topics,own-dataset[n=200]", "--kernel", "own-kernel,linear",
        "--formulation", "c-svc-nobias,c-svc", "--metrics", "own-metric,first-tenth", "--target-gap", "1e-3", "--format", "json",
    )  # fmt: skip
    records = json.loads(done.stdout)
    assert done.returncode == 0, done.stderr
    ended = {(each["solver"], each["status"]) for each in records}
    assert {("own-solver", "ok"), ("block-ascent", "ok"), ("smo", "ok"), ("wrapped-svc", "ok")} <= ended
    assert {status for _, status in ended} <= {"ok", "skipped"}
    assert all({"own-metric", "first-tenth"} <= {*each["metrics"]} for each in records if each["status"] == "ok")
    shown = projects("harness", "compare", "--plugins", "smo", "--datasets", "topics", "--format", "own-format")
    assert shown.stdout.startswith("\\begin{tabular}")
    assert projects("harness", "own-command").returncode == 0
