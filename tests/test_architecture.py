"""The rules that keep the parts apart: imports, printing, processes, sizes."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
MODULES = sorted(
    path.relative_to(ROOT).as_posix() for folder in ("harness", "plugins") for path in (ROOT / folder).rglob("*.py")
)
PRINTING = ("harness/cli/", "harness/report/")
STARTING = ("harness/run/", "harness/dashboard/")
READING_THE_MACHINE = ("harness/measure/machine.py",)  # asks git for the commit
LONGEST_MODULE, LONGEST_FUNCTION = 400, 80


def tree(module: str) -> ast.Module:
    return ast.parse((ROOT / module).read_text())


def imported(module: str) -> Iterator[str]:
    for node in ast.walk(tree(module)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def attributes(module: str) -> Iterator[str]:
    for node in ast.walk(tree(module)):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            yield f"{node.value.id}.{node.attr}"


def test_the_import_contracts_hold() -> None:
    """The host knows no plugin, plugins know neither each other nor anything below the front door."""
    command = Path(sys.executable).parent / "lint-imports"
    found = str(command) if command.exists() else shutil.which("lint-imports")
    if found is None:
        pytest.skip("import-linter is not installed")
    done = subprocess.run([found, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:]


def test_every_host_module_is_behind_the_front_door() -> None:
    """The third contract lists the host's modules by name: a new one must be on the list."""
    import tomllib

    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    listed = next(set(c["forbidden_modules"]) for c in contracts if c["name"] == "plugins see only the front door")
    top = {path.stem for path in (ROOT / "harness").glob("*.py")} | {
        p.parent.name for p in (ROOT / "harness").glob("*/__init__.py")
    }
    hidden = {f"harness.{name}" for name in top - {"__init__", "testing"}}
    assert hidden <= listed, f"add {sorted(hidden - listed)} to the contract in pyproject.toml"


@pytest.mark.parametrize("module", [module for module in MODULES if not module.startswith(PRINTING)])
def test_only_the_command_and_the_reports_print(module: str) -> None:
    for node in ast.walk(tree(module)):
        if isinstance(node, ast.Call):
            call = ast.unparse(node.func)
            writes = call == "print" or (
                call.startswith(("sys.stdout.", "sys.__stdout__.")) and not call.endswith("flush")
            )
            assert not writes, f"{module}:{node.lineno} prints"


@pytest.mark.parametrize("module", [module for module in MODULES if not module.startswith(STARTING)])
def test_only_runs_start_processes(module: str) -> None:
    starts = {"subprocess", "multiprocessing", "concurrent.futures", "pexpect"} - (
        {"subprocess"} if module in READING_THE_MACHINE else set()
    )
    found = {name for name in imported(module) if any(name == each or name.startswith(f"{each}.") for each in starts)}
    assert not found, f"{module} imports {sorted(found)}"
    assert not {"os.fork", "os.system", "os.popen", "os.posix_spawn"} & set(attributes(module)), module


@pytest.mark.parametrize("module", MODULES)
def test_modules_and_functions_are_short_enough_to_read(module: str) -> None:
    lines = len((ROOT / module).read_text().splitlines())
    assert lines <= LONGEST_MODULE, f"{module} has {lines} lines; split it"
    for node in ast.walk(tree(module)):
        if isinstance(node, ast.FunctionDef) and node.end_lineno is not None:
            length = node.end_lineno - node.lineno + 1
            assert length <= LONGEST_FUNCTION, f"{module}:{node.lineno} {node.name} has {length} lines; split it"
