"""The rules that keep the parts apart: imports, printing, processes, sizes."""

import ast
import functools
import graphlib
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from harness import Status
from harness.registry.discovery import load_registry

ROOT = Path(__file__).resolve().parents[1]
MODULES = sorted(
    path.relative_to(ROOT).as_posix() for folder in ("harness", "plugins") for path in (ROOT / folder).rglob("*.py")
)
PRINTING = ("harness/cli/", "harness/report/")
STARTING = ("harness/run/", "harness/testing/apart.py", "plugins/harness_dashboard/processes.py")
READING_THE_MACHINE = (("harness/support/machine.py", "subprocess"),)  # asks git for the commit
LONGEST_FUNCTION = 80


@functools.cache
def nodes(module: str) -> list[ast.AST]:
    return list(ast.walk(ast.parse((ROOT / module).read_text())))


@functools.cache
def imported(module: str) -> set[str]:
    names = {alias.name for node in nodes(module) if isinstance(node, ast.Import) for alias in node.names}
    for node in nodes(module):
        if isinstance(node, ast.ImportFrom):
            names |= {node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)}
    return names


def name_of(node: ast.AST) -> str:
    """Return the dotted name of an expression, such as ``sys.stdout.write``; the part before a call is left out."""
    if isinstance(node, ast.Attribute):
        return f"{name_of(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def test_the_import_contracts_hold() -> None:
    """The host knows no plugin, plugins know neither each other nor anything below the front door."""
    command = Path(sys.executable).parent / "lint-imports"
    found = str(command) if command.exists() else shutil.which("lint-imports")
    if found is None:
        pytest.skip("import-linter is not installed")
    done = subprocess.run([found, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:]


def imports_within(folder: str) -> dict[str, set[str]]:
    """Return the modules in a folder, each with those of them that it imports, within functions and for types too."""
    modules = [module for module in MODULES if module.startswith(folder) and not module.endswith("__init__.py")]
    names = {module.removesuffix(".py").replace("/", "."): module for module in modules}
    return {name: set(imported(module)) & names.keys() - {name} for name, module in names.items()}


def test_the_host_has_no_circle_of_imports() -> None:
    graph = imports_within("harness/")
    order = list(graphlib.TopologicalSorter(graph).static_order())  # raises CycleError, with the circle
    assert set(order) == graph.keys()
    assert "harness.run.driver" in order


def test_the_modules_of_runs_are_on_six_floors() -> None:
    """A module is a floor above the highest one that it imports."""
    graph, chains = imports_within("harness/run/"), dict[str, list[str]]()
    for name in graphlib.TopologicalSorter(graph).static_order():
        chains[name] = [name, *max((chains[below] for below in graph[name]), key=len, default=[])]
    longest = max(chains.values(), key=len)
    assert len(longest) <= 6, f"shorten the longest chain of imports: {' -> '.join(longest)}"


def test_every_host_module_is_behind_the_front_door() -> None:
    """The third contract lists the host's modules by name: a new one must be on the list."""
    import tomllib

    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    listed = next(set(c["forbidden_modules"]) for c in contracts if c["name"] == "plugins see only the front door")
    public = {
        "problems",
        "report",
        "testing",
        "support.arrays",
        "support.jit",
        "registry.subproblem_oracle",
        "kernels.loops",
    }
    modules = {path.relative_to(ROOT / "harness").with_suffix("") for path in (ROOT / "harness").rglob("*.py")}
    names = {".".join(module.parts).removesuffix(".__init__") for module in modules} - {"__init__", "__main__"}
    open_rooms = {"support", "registry", "kernels"}  # some of their modules are public
    hidden = {each for each in names - public - open_rooms if each.partition(".")[0] in open_rooms or "." not in each}
    hidden = {f"harness.{name}" for name in hidden}
    assert hidden <= listed, f"add {sorted(hidden - listed)} to the contract in pyproject.toml"


def test_the_host_names_no_formulation_of_a_plugin() -> None:
    """A formulation of a plugin is known to the host by the hook alone."""
    registry = load_registry()
    foreign = [name for name in registry.formulations if registry.owner("formulation", name) != "harness"]
    assert {"ramp-svc", "tube-svr", "mistake-driven", "outlier-margin", "pool-svc"} <= set(foreign)
    files = [file for file in (ROOT / "harness").rglob("*") if file.is_file() and "__pycache__" not in file.parts]
    named = [f"{file}: {name}" for file in files for name in foreign if name.encode() in file.read_bytes()]
    assert not named, f"these name a formulation of a plugin: {named}"


def test_only_the_command_and_the_reports_print() -> None:
    def prints(name: str) -> bool:
        return name == "print" or (name.startswith(("sys.stdout.", "sys.__stdout__.")) and not name.endswith("flush"))

    found = [
        f"{module}:{node.lineno}"
        for module in MODULES
        if not module.startswith(PRINTING)
        for node in nodes(module)
        if isinstance(node, ast.Call) and prints(name_of(node.func))
    ]
    assert not found, f"these print, which only {' and '.join(PRINTING)} may: {found}"


def test_only_runs_start_processes() -> None:
    libraries = {"subprocess", "multiprocessing", "concurrent.futures.ProcessPoolExecutor", "pexpect"}
    calls = {"os.fork", "os.system", "os.popen", "os.posix_spawn"}
    found = [
        f"{module} {name}"
        for module in MODULES
        if not module.startswith(STARTING)
        for name in (*imported(module), *(calls & set(map(name_of, nodes(module)))))
        if name in calls or any(name == each or name.startswith(f"{each}.") for each in libraries)
        if (module, name) not in READING_THE_MACHINE
    ]
    assert not found, f"these could start processes, which only {' and '.join(STARTING)} may: {found}"


def test_functions_are_short_enough_to_read() -> None:
    functions = [
        f"{module}:{node.lineno} {node.name} has {length} lines"
        for module in MODULES
        for node in nodes(module)
        if isinstance(node, ast.FunctionDef) and node.end_lineno is not None
        if (length := node.end_lineno - node.lineno + 1) > LONGEST_FUNCTION
    ]
    assert not functions, f"split these: {functions}"


# -- one room for how a run ended --------------------------------------------------------------------------

ENDINGS = frozenset(Status)
PROGRAMS = sorted(
    path.relative_to(ROOT).as_posix()
    for folder in ("harness", "plugins", "benchmarks", "reports")
    for path in (ROOT / folder).rglob("*.py")
)


TYPED = re.compile(  # compared with, given to or found in a status
    rf"""status\w*["')\]]*\s*(?:==|!=|=|:|\(|\bin\b)\s*[(\[{{]*["'](?:{"|".join(ENDINGS)})["']""", re.IGNORECASE
)


def test_compiled_loops_copy_entry_by_entry() -> None:
    """An assignment of an array to a slice compiles the message for arrays of different shapes: 3 s of CPU time."""
    decorators = {"compiled", "inner", "inlined", "summing", "fast"}
    loops = [
        (module, loop)
        for module in MODULES
        for loop in nodes(module)
        if isinstance(loop, ast.FunctionDef) and decorators & {name_of(each) for each in loop.decorator_list}
    ]
    assert loops
    copies = [
        f"{module}:{node.lineno}"
        for module, loop in loops
        for node in ast.walk(loop)
        if isinstance(node, ast.Assign) and any(has_slice(target) for target in node.targets)
        for value in (node.value.elts if isinstance(node.value, ast.Tuple) else [node.value])
        if isinstance(value, ast.Name | ast.Attribute) or has_slice(value)
    ]
    assert not copies


def has_slice(node: ast.AST) -> bool:
    return any(isinstance(part, ast.Slice) for part in ast.walk(node))


def test_only_the_record_spells_a_status_out() -> None:
    for seen in ('row["status"] == "ok"', 'status in ("ok", "budget")', '{"status": "ok"}', 'run(status="error")'):
        assert TYPED.search(seen), seen
    for unseen in ('row["error"]', 'info["skipped"]', 'row["status"] == Status.OK', 'statuses = ("fit", "cpu")'):
        assert not TYPED.search(unseen), unseen
    assert [module for module in PROGRAMS if TYPED.search((ROOT / module).read_text())] == []
    assert 'OK = "ok"' in (ROOT / "harness/measure/outcome.py").read_text()


def test_at_the_top_stands_only_what_belongs_there():
    """What a trial wrote is easily committed with the rest."""
    asked = ["git", "-C", str(ROOT), "ls-files"]
    if not (ROOT / ".git").exists():
        pytest.skip("no checkout")
    listed = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.splitlines()
    top = {name.partition("/")[0] for name in listed}
    assert {name for name in top if not name.startswith(".")} == {
        "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "README.md", "asv.conf.json", "benchmarks", "docs", "examples",
        "harness", "plugins", "pyproject.toml", "reports", "tests",
    }  # fmt: skip
