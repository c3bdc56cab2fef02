"""A small git history of this repository's own code, with faults planted in some commits, and its measurement.

Used by the tests of `harness dashboard run` and `check`::

    history = make_history(folder)
    measure(history, ["clean", "planted"])

Its grid is small: three solvers that the plugins have and one that a commit adds, on two data sets, one of which a
commit renames.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

import harness
from harness.run.host_process import numba_cache_folder

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "plugins/harness_dashboard"
MACHINE = "test-machine"
MACHINE_CODE = str(numba_cache_folder())
"""The commits share the machine code of this checkout: they have the same plugins."""
SOLVERS = ("kernel-perceptron", "fw", "smo", "newcomer")
DATASETS = ("twonorm", "banana", "half-moons")
_TWO_COMMITS_APART = 86_400  # seconds

GRID = {
    "version": "1",
    "timeout_seconds": 20,
    "memory_bytes": 2**32,
    "solvers": [
        {"name": "kernel-perceptron", "plugin": "perceptron", "select": "kernel-perceptron[epochs=3]",
         "formulation": "mistake-driven"},
        {"name": "fw", "plugin": "fw", "select": "fw", "formulation": "l2-svc"},
        {"name": "smo", "plugin": "smo", "select": "smo", "formulation": "c-svc"},
        {"name": "newcomer", "plugin": "newcomer", "select": "newcomer", "formulation": "c-svc-nobias"},
    ],
    "datasets": [
        {"name": name, "select": f"{source}[n=200,n_test=200]", "kernel": "rbf", "kernel_parameters": {"gamma": gamma},
         "problem_parameters": {"C": 10.0, "chi": 10.0}}
        for name, source, gamma in (("twonorm", "twonorm", 0.05), ("banana", "banana-like", 0.5),
                                    ("half-moons", "half-moons", 0.5))
    ],
}  # fmt: skip

_NEWCOMER = '''
"""A solver that one commit adds: the model that is zero."""

from dataclasses import dataclass

import numpy as np

from harness import CSVCNoBias, Iterate, Solver, hookimpl


@dataclass(frozen=True)
class Newcomer(Solver):
    """The zero model, after one row."""

    name = "newcomer"
    solves = (CSVCNoBias,)

    def iterates(self, problem, rng):
        problem.kernel.row(0)
        yield Iterate(dual_coef=np.zeros(problem.n), done=True)


@hookimpl
def harness_solvers():
    return [Newcomer]
'''


def _edited(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert text.count(old) == 1, f"{path}: what is planted replaces {old!r}, found {text.count(old)} times"
    path.write_text(text.replace(old, new))


_DRIVE = "        iterates = self.solver.iterates(problem, rng)\n"
"""Where faults of a solver are planted: nothing is compiled of this file, so the machine code of its plugin stays."""


def slow_fw(tree: Path) -> None:
    """Let fw do all its work five times, of which one is counted: other work on the machine hides a factor of two."""
    _edited(
        tree / "harness/measure/drive.py",
        _DRIVE,
        '        if self.solver.name == "fw":\n            from harness import KernelOracle\n\n'
        "            def again(each):\n"
        "                return KernelOracle(each.kernel, None, part=each._part, ridge=each.ridge)\n\n"
        "            for _ in range(4):\n                for _ in self.solver.iterates(problem._over(again), rng):\n"
        f"                    pass\n{_DRIVE}",
    )


def sleeping_smo(tree: Path) -> None:
    """Let smo sleep 20 ms at each of its iterates."""
    _edited(
        tree / "harness/measure/drive.py",
        _DRIVE,
        f'{_DRIVE}        if self.solver.name == "smo":\n            import time\n\n'
        "            iterates = (iterate for iterate in iterates if time.sleep(0.02) is None)\n",
    )


def uncached_smo(tree: Path) -> None:
    """Let smo hold two kernel rows only: most of them are computed again and again."""
    _edited(
        tree / "harness/measure/drive.py",
        _DRIVE,
        '        if self.solver.name == "smo":\n            own = problem.kernel\n'
        f"            own.row_cache = lambda cache_mb=None, make=own.row_cache, **given: make(0.0, **given)\n{_DRIVE}",
    )


def failing_perceptron(tree: Path) -> None:
    """Let kernel-perceptron raise in the measured run."""
    _edited(
        tree / "plugins/harness_perceptron/solvers.py",
        '    name: ClassVar[str] = "kernel-perceptron"\n',
        '    name: ClassVar[str] = "kernel-perceptron"\n\n    def iterates(self, problem, rng):\n'
        '        raise RuntimeError("planted")\n        yield\n',
    )


def renamed_dataset(tree: Path) -> None:
    """Call banana-like half-moons."""
    _edited(tree / "harness/datasets/generators.py", 'name = "banana-like"', 'name = "half-moons"')


def newcomer(tree: Path) -> None:
    """Add a plugin with a solver."""
    package = tree / "plugins/harness_newcomer"
    package.mkdir()
    (package / "__init__.py").write_text(_NEWCOMER.lstrip())
    entry = "[project.entry-points.harness]\n"
    _edited(tree / "pyproject.toml", entry, f'{entry}newcomer = "harness_newcomer"\n')


def without_smo(tree: Path) -> None:
    """Remove a plugin and its entry point."""
    shutil.rmtree(tree / "plugins/harness_smo")
    _edited(tree / "pyproject.toml", 'smo = "harness_smo"\n', "")


def documented(tree: Path) -> None:
    """Change nothing that runs."""
    (tree / "README.md").write_text((tree / "README.md").read_text() + "\nOne more line.\n")


def broken_build(tree: Path) -> None:
    """Make a tree that cannot be installed."""
    _edited(tree / "pyproject.toml", f'version = "{harness.__version__}"', "version = 1")


COMMITS: Mapping[str, Sequence[Callable[[Path], None]]] = {
    "early": (without_smo, failing_perceptron),
    "clean": (),
    "documented": (documented,),
    "planted": (slow_fw, uncached_smo),
    "sleeping": (sleeping_smo,),
    "renamed": (renamed_dataset, newcomer),
    "broken": (broken_build,),
}
"""Commit -> what distinguishes its tree from this repository's."""


@dataclass(frozen=True)
class History:
    """A repository and its commits by the names they have in `COMMITS`, oldest first."""

    repository: Path
    configuration: Path
    commits: dict[str, str]


def make_history(folder: Path) -> History:
    """Make a repository with these commits, `COMMITS`, in a new folder; nothing is measured yet."""
    tree = folder / "repository"
    tree.mkdir(parents=True)
    _git(tree, "init", "-q", "-b", "main")
    commits: dict[str, str] = {}
    for number, (name, edits) in enumerate(COMMITS.items()):
        _fill(tree)
        for edit in edits:
            edit(tree)
        _git(tree, "add", "-A")
        moment = f"{1_700_000_000 + number * _TWO_COMMITS_APART} +0000"
        _git(tree, "commit", "-q", "--allow-empty", "-m", name, GIT_AUTHOR_DATE=moment, GIT_COMMITTER_DATE=moment)
        commits[name] = _git(tree, "rev-parse", "HEAD").strip()
    return History(tree, tree / "asv.conf.json", commits)


def measure(history: History, names: Sequence[str]) -> None:
    """Measure commits of a history as `harness dashboard run` does."""
    from harness_dashboard import configuration, measuring

    bench = measuring.Bench.of(configuration.load(history.configuration), MACHINE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NUMBA_CACHE_DIR", MACHINE_CODE)
        for name in names:
            bench.measure(history.commits[name])


def _fill(tree: Path) -> None:
    """Put this repository's code into the tree, in place of what is there."""
    for old in tree.iterdir():
        if old.name not in (".git", ".asv"):
            shutil.rmtree(old) if old.is_dir() else old.unlink()
    rubbish = shutil.ignore_patterns("__pycache__", "*.egg-info", "*.nbi", "*.nbc")
    for name in ("harness", "plugins", "benchmarks/history"):
        shutil.copytree(ROOT / name, tree / name, ignore=rubbish)
    for name in ("pyproject.toml", "README.md", "LICENSE", "asv.conf.json", ".gitignore"):
        shutil.copy(ROOT / name, tree / name)
    (tree / "benchmarks/grid.json").write_text(json.dumps(GRID, indent=1))
    command = tree / "benchmarks/history/command.py"  # nothing is planted there: a few of its samples will do
    _edited(command, "_REPETITIONS = 5_000, 60", "_REPETITIONS = 5_000, 20")
    _edited(
        command, "time_help.warmup_time = (4, 6, 2.0), 2, 1, 1e-9", "time_help.warmup_time = (2, 3, 0.5), 1, 1, 1e-9"
    )


def _git(tree: Path, *arguments: str, **variables: str) -> str:
    who = ["-c", "user.name=A Tester", "-c", "user.email=tester@example.org"]
    own = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    settings = {**own, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, **variables}
    command = ["git", "-C", str(tree), *who, *arguments]
    return subprocess.run(command, env=settings, capture_output=True, text=True, check=True).stdout
