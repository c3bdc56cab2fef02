"""``harness dashboard init``: what the history over commits needs in the repository of a plugin."""

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
REFERENCE = "smo"
"""The solver to compare with; where it does not solve the formulation, the first one of another plugin that does."""


def project(start: Path, file: str | None = None) -> dict[Path, str]:
    """Return what the repository of a plugin needs, path -> text.

    start : a folder of the project
    file : the module of a solver that is no project yet

    Raises
    ------
    UsageError : no repository, no plugin, one that is not installed, or no solver.
    """
    root = next((each for each in (start, *start.parents) if (each / ".git").exists()), None)
    if root is None:
        raise UsageError(f"{start} is in no git repository, so there are no commits to measure; run `git init` first.")
    if file is not None:
        module = Path(file).stem
        if not (start / f"{module}.py").is_file() or not module.isidentifier():
            raise UsageError(f"FILE: {start} has no module '{file}'; name a file of this folder, as in my_solver.py.")
        folder, text = start, _filled("pyproject.toml.txt", module=module)
    else:
        above = [each for each in (start, *start.parents) if each.is_relative_to(root)]
        folder = next((each for each in above if (each / "pyproject.toml").is_file()), start)
        text = (folder / "pyproject.toml").read_text() if (folder / "pyproject.toml").is_file() else ""
    try:
        read = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{folder / 'pyproject.toml'} cannot be read: {error}.") from None
    plugins = read.get("project", {}).get("entry-points", {}).get("harness", {})
    if not plugins:
        raise UsageError(
            f"there is no plugin in {folder}: no pyproject.toml has [project.entry-points.harness]. Go to a plugin's folder, "
            "name a solver's file (harness dashboard init my_solver.py), or begin with `harness new`."
        )
    inside = folder.relative_to(root)
    repo, subfolder = "/".join(".." for _ in inside.parts) or ".", "/".join(inside.parts)
    settings = {"project": read["project"]["name"], "repo": repo, "subfolder": subfolder}
    requires = " ".join(f"'{each}'" for each in read.get("build-system", {}).get("requires", ["setuptools"]))
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
    """Return the grid: the solvers of these plugins, one to compare with for each of their problems, and data sets."""
    listed: list[Any] = json.loads(processes.harness("list", "--format", "json", *options))
    theirs = [entry for entry in listed if entry["plugin"] in plugins]
    if not theirs:
        raise UsageError(
            f"`harness list` has no solver of the plugin {', '.join(plugins)}; install it (pip install -e .), or see "
            "`harness list plugins` for the reason."
        )
    chosen = {entry["name"]: (entry["name"], entry["solves"][0]) for entry in theirs}
    others = sorted((entry for entry in listed if entry not in theirs), key=lambda entry: entry["name"] != REFERENCE)
    for problem in dict.fromkeys(problem for _, problem in chosen.values()):
        for name in [entry["name"] for entry in others if problem in entry["solves"]][:1]:
            chosen[f"{name}-{problem}" if name in chosen else name] = (name, problem)
    solvers = [{"name": name, "select": of, "formulation": problem} for name, (of, problem) in chosen.items()]
    regression = any(problem.endswith("svr") for _, problem in chosen.values())
    return _filled(f"grid{'-regression' if regression else ''}.json", solvers=",\n    ".join(map(json.dumps, solvers)))
