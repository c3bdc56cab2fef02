"""`harness dashboard init` in the repository of somebody else's plugin, and the history that follows."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("asv", reason="the dashboard needs asv: pip install 'svm-harness[asv]'")

import yaml
from harness_dashboard import measuring
from harness_dashboard.records import RecordFile

from harness import Record
from tests.dashboard.history import ROOT
from tests.dashboard.stored import command, git, repository

_PYPROJECT = """
[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"

[project]
name = "zero-model"
version = "1"

[project.entry-points.harness]
zero-model = "zero_model"

[tool.setuptools]
py-modules = ["zero_model"]
"""
_SOLVER = """
import numpy as np
from harness import CSVC, CSVCNoBias, Iterate, Solver, hookimpl


class Zero(Solver):
    name = "zero"
    solves = (CSVCNoBias, CSVC)

    def iterates(self, problem, rng):
        yield Iterate(dual_coef=np.zeros(problem.n), done=True)


class Needy(Zero):
    name = "needy"
    requires = ("no-such-library",)


@hookimpl
def harness_solvers():
    return [Zero, Needy]
"""
WRITTEN = {
    "asv.conf.json", "benchmarks/grid.json", "benchmarks/history/__init__.py", ".github/workflows/gate.yml", ".asv/.gitignore",
}  # fmt: skip


def dashboard(folder: Path, *arguments: str, site: Path | None = None) -> tuple[int, str, str]:
    """Run the command in a folder with what is installed in ``site``; return exit code, output and errors in one line."""
    path = os.pathsep.join(str(each) for each in (site or folder, ROOT, ROOT / "plugins"))
    command = [sys.executable, "-P", "-m", "harness", "dashboard", *arguments]
    environment = {**os.environ, "PYTHONPATH": path, "COLUMNS": "200"}
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=environment)
    return done.returncode, done.stdout, " ".join(done.stderr.split())


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    """A repository, in a path with a space, with a plugin that is installed where it is."""
    folder = tmp_path / "my work/zero"
    folder.mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    (folder / "pyproject.toml").write_text(_PYPROJECT)
    (folder / "zero_model.py").write_text(_SOLVER)
    installed = folder / "zero_model-1.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: zero-model\nVersion: 1\n")
    (installed / "entry_points.txt").write_text("[harness]\nzero-model = zero_model\n")
    return folder


def test_init_writes_a_history_of_the_plugins_solvers_and_one_to_compare_with(plugin: Path) -> None:
    code, out, err = dashboard(plugin, "init")
    assert code == 0, err
    assert {line.removeprefix("wrote ") for line in out.splitlines() if line.startswith("wrote")} == WRITTEN
    assert "harness dashboard run HEAD" in out
    grid = json.loads((plugin / "benchmarks/grid.json").read_text())
    assert [(entry["name"], entry["formulation"]) for entry in grid["solvers"]] == [
        (name, "c-svc-nobias") for name in ("zero", "needy", "smo")
    ]
    job = yaml.safe_load((plugin / ".github/workflows/gate.yml").read_text())["jobs"]["check"]
    assert job["timeout-minutes"] == 60
    install, check = (step["run"] for step in job["steps"] if "run" in step)
    assert "'setuptools>=77' ./." in install
    assert check.endswith('check --config ./. origin/${{ github.base_ref }} HEAD >> "$GITHUB_STEP_SUMMARY"')
    assert not any("if" in step for step in job["steps"]), (
        "a step that runs after a failed one needs what that one made"
    )

    code, _, err = dashboard(plugin, "init")
    assert (code, "nothing was written, as asv.conf.json, benchmarks/grid.json" in err) == (2, True)


def test_a_clone_ignores_what_is_measured_in_it(plugin: Path, tmp_path: Path) -> None:
    code, _, err = dashboard(plugin, "init")
    assert code == 0, err
    (plugin / ".asv/results").mkdir()
    (plugin / ".asv/results/numbers.json").touch()
    git(plugin, "add", "--all")
    git(plugin, "commit", "-q", "-m", "history")
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", str(plugin), str(clone))
    assert [path.name for path in (clone / ".asv").iterdir()] == [".gitignore"]
    (clone / ".asv/env").mkdir()
    (clone / ".asv/env/python").touch()
    assert git(clone, "status", "--porcelain", "--untracked-files=all") == ""


def test_init_finds_the_project_above_and_the_repository_above_that(plugin: Path) -> None:
    below = plugin / "tests"
    below.mkdir()
    (plugin / ".git").rename(plugin.parent / ".git")
    code, out, err = dashboard(below, "init", site=plugin)
    assert code == 0, err
    assert f"cd '{plugin}'" in out
    text = (plugin / "asv.conf.json").read_text()
    assert '"repo": ".."' in text
    assert '"repo_subdir": "zero"' in text
    assert "--config ./zero origin" in (plugin.parent / ".github/workflows/gate.yml").read_text()


def test_init_of_a_file_makes_it_a_project(plugin: Path) -> None:
    for path in (plugin / "pyproject.toml", *(plugin / "zero_model-1.dist-info").iterdir()):
        path.unlink()
    code, out, err = dashboard(plugin, "init", "zero_model.py", site=ROOT)
    assert code == 0, err
    assert "wrote pyproject.toml" in out
    assert 'zero_model = "zero_model"' in (plugin / "pyproject.toml").read_text()
    assert '"name": "zero"' in (plugin / "benchmarks/grid.json").read_text()


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        ("no repository", "is not in a git repository"),
        ("no plugin", "there is no plugin in"),
        ("broken", "pyproject.toml cannot be read"),
        ("not installed", "has no solver of the plugin zero-model; install it (pip install -e .)"),
        ("no such file", "has no module 'nothing.py'"),
    ],
)
def test_init_says_what_is_missing_and_writes_nothing(plugin: Path, kind: str, sentence: str) -> None:
    if kind == "no repository":
        shutil.rmtree(plugin / ".git")
    elif kind == "no plugin":
        (plugin / "pyproject.toml").write_text('[project]\nname = "x"\n')
    elif kind == "broken":
        (plugin / "pyproject.toml").write_text("not toml")
    before = sorted(plugin.iterdir())
    code, _, err = dashboard(
        plugin,
        "init",
        *(["nothing.py"] if kind == "no such file" else []),
        site=ROOT if kind == "not installed" else None,
    )
    assert (code, sentence in err) == (2, True), err
    assert sorted(plugin.iterdir()) == before


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_history_of_a_solver_in_c_names_the_commit_that_made_it_slower(tmp_path: Path) -> None:
    if shutil.which("cc") is None:
        pytest.skip("examples/c_solver needs a C compiler")
    tree, site = tmp_path / "c solver", tmp_path / "site"
    shutil.copytree(
        ROOT / "examples/c_solver", tree, ignore=shutil.ignore_patterns("build", "*.egg-info", "__pycache__")
    )
    shutil.copytree(tree, tmp_path / "built")
    command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation", "--target", str(site)]
    subprocess.run([*command, str(tmp_path / "built")], check=True)
    git(tree, "init", "-q", "-b", "main")
    code, _, err = dashboard(tree, "init", site=site)
    assert code == 0, err
    grid = tree / "benchmarks/grid.json"
    content = json.loads(grid.read_text())
    grid.write_text(json.dumps({**content, "datasets": content["datasets"][::2]}))  # without the slow one
    module = tree / "block_ascent.py"
    slow = module.read_text().replace("                for _ in range(self.sweeps):", "                for _ in range(8):\n"
        "                    np.exp(np.log(np.maximum(rows, 1e-300)))\n                for _ in range(self.sweeps):")  # fmt: skip
    for title, text in (("first", module.read_text()), ("words", module.read_text() + "# ...\n"), ("slower", slow)):
        module.write_text(text)
        git(tree, "add", "-A")
        git(tree, "commit", "-q", "-m", title)
    for commit in ("HEAD~2", "HEAD~1", "HEAD"):
        code, out, err = dashboard(tree, "run", commit, "--machine", "tests", site=site)
        assert code == 0, err
        assert ": 4 cells, 0 failed, 0 not measured in " in out, err
        assert "commits: 1, cells: 4; they take at least " in err
        named = {line.split("|")[1].strip() for line in out.splitlines() if "**worse**" in line}
        expected = {f"block-ascent on {dataset}" for dataset in ("twonorm-400", "breast-cancer")}
        assert named == (expected if commit == "HEAD" else set()), out
    code, out, err = dashboard(tree, "build", site=site)
    assert code == 0, err
    page = (tree / ".asv/html/index.html").read_text()
    assert git(tree, "rev-parse", "HEAD")[:8] in page
    assert "block-ascent" in page


def test_a_run_says_beforehand_how_long_it_takes_and_afterwards_why_a_cell_was_not_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (commit,) = repository(tmp_path / "code", 1)
    entries = {"solvers": [{"name": "zero"}, {"name": "needy"}], "datasets": [{"name": "a"}, {"name": "b"}]}
    (tmp_path / "code/grid.json").write_text(json.dumps(entries))

    def measure(bench: measuring.Bench, commit: str) -> None:
        assert "commits: 1, cells: 4; they take at least 20 s, at 3 s a cell" in capsys.readouterr().err, "said before"
        outcomes = {"zero": {"status": "ok", "reason": ""}, "needy": {"status": "skipped", "reason": "needs more"}}
        records = [Record(solver=name, dataset=data, **outcomes[name]) for name in outcomes for data in "ab"]
        RecordFile(commit, 0, bench.machine, bench.environment, "2026-01-01", records).write(bench.records)

    monkeypatch.setattr(measuring.Bench, "measure", measure)
    monkeypatch.setattr(measuring.Bench, "environment", "overlay-py3.11")
    code, out, err = command(capsys, "run", "--config", tmp_path / "code")
    assert code == 0, err
    assert f"{commit[:8]}: 2 cells, 0 failed, 2 not measured in 0 s" in out
    assert err.count("note: needy: needs more") == 1
