"""The files of ``harness dashboard init``, which a history over commits needs in the repository of a plugin."""

from __future__ import annotations

import json
import shlex
import tomllib
from pathlib import Path
from string import Template
from typing import Any

from harness import UsageError
from harness_dashboard import processes
from harness_dashboard.configuration import FILE_NAME

TEMPLATES = Path(__file__).with_name("repository")
REFERENCE = "smo"  # solver to compare with; if it does not solve the formulation, the first other solver that does


def project(start: Path, file: str | None = None) -> dict[Path, str]:
    """Return the files for the repository of a plugin, path -> text.

    start : a folder of the project
    file : the module of a solver without a project

    Raises
    ------
    UsageError : there is no repository, no plugin or no solver, or the plugin is not installed.
    """
    root = next((folder for folder in (start, *start.parents) if (folder / ".git").exists()), None)
    if root is None:
        raise UsageError(
            f"{start} is not in a git repository, so there are no commits to measure; run `git init` first."
        )
    if file is not None:
        module = Path(file).stem
        if not (start / f"{module}.py").is_file() or not module.isidentifier():
            raise UsageError(f"FILE: {start} has no module '{file}'; name a file of this folder, as in my_solver.py.")
        folder, text = start, _filled("pyproject.toml.txt", module=module)
    else:
        above = [parent for parent in (start, *start.parents) if parent.is_relative_to(root)]
        folder = next((parent for parent in above if (parent / "pyproject.toml").is_file()), start)
        text = (folder / "pyproject.toml").read_text() if (folder / "pyproject.toml").is_file() else ""
    try:
        pyproject = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{folder / 'pyproject.toml'} cannot be read: {error}.") from None
    plugins = pyproject.get("project", {}).get("entry-points", {}).get("harness", {})
    if not plugins:
        raise UsageError(
            f"there is no plugin in {folder}: no pyproject.toml has [project.entry-points.harness]. Change to a plugin's folder, "
            "name a solver's file (harness dashboard init my_solver.py), or create a plugin by `harness new`."
        )
    inside = folder.relative_to(root)
    repo, subfolder = "/".join(".." for _ in inside.parts) or ".", "/".join(inside.parts)
    settings = {"project": pyproject["project"]["name"], "repo": repo, "subfolder": subfolder}
    requires = " ".join(f"'{name}'" for name in pyproject.get("build-system", {}).get("requires", ["setuptools"]))
    gate = _filled("gate.yml", requires=requires, place=shlex.quote(f"./{inside}"))
    return {
        **({folder / "pyproject.toml": text} if file else {}),
        folder / FILE_NAME: _filled(FILE_NAME, **{name: json.dumps(value) for name, value in settings.items()}),
        folder / "benchmarks/grid.json": _grid(plugins, [] if file is None else ["--plugin-path", file]),
        folder / ".asv/.gitignore": "*\n!.gitignore\n",
        folder / "benchmarks/history/__init__.py": _filled("benchmarks.py.txt"),
        root / ".github/workflows/gate.yml": gate,
    }


def _filled(template: str, **values: str) -> str:
    return Template((TEMPLATES / template).read_text(encoding="utf-8")).substitute(values)


def _grid(plugins: dict[str, str], options: list[str]) -> str:
    """Return the grid: the solvers of these plugins, a solver to compare with for each of their problems, and data sets."""
    listed: list[Any] = json.loads(processes.harness("list", "--format", "json", *options))
    measured = [entry for entry in listed if entry["plugin"] in plugins]
    if not measured:
        raise UsageError(
            f"`harness list` has no solver of the plugin {', '.join(plugins)}; install it (pip install -e .), or see "
            "`harness list plugins` for the reason."
        )
    chosen = {entry["name"]: (entry["name"], entry["solves"][0]) for entry in measured}
    others = sorted((entry for entry in listed if entry not in measured), key=lambda entry: entry["name"] != REFERENCE)
    for problem in dict.fromkeys(problem for _, problem in chosen.values()):
        for name in [entry["name"] for entry in others if problem in entry["solves"]][:1]:
            chosen[f"{name}-{problem}" if name in chosen else name] = (name, problem)
    solvers = [{"name": name, "select": of, "formulation": problem} for name, (of, problem) in chosen.items()]
    regression = any(problem.endswith("svr") for _, problem in chosen.values())
    return _filled(f"grid{'-regression' if regression else ''}.json", solvers=",\n    ".join(map(json.dumps, solvers)))
