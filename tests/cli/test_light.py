"""The help and a completion stay light: nothing numerical, no plugin is imported for them."""

import ast
import json
import os
import shutil
import subprocess
import sys

import pytest

HEAVY = ["numpy", "numba", "pandas", "rich", "sklearn", "scipy", "cvxpy", "pluggy", "pydantic", "importlib.metadata"]
SCRIPT = """
import os, sys
from harness.cli.main import main
errors = os.fdopen(os.dup(2), "w")  # the command's own goes nowhere in the end
try:
    main(sys.argv[1:])
finally:
    heavy = [name for name in {heavy} if name in sys.modules]
    plugins = [name for name in sys.modules if name.startswith("harness_")]
    errors.write("LOADED " + repr(heavy + plugins))
"""


def loaded(*arguments, **environment):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(heavy=HEAVY), *arguments],
        capture_output=True, text=True, timeout=60, check=False, env={**os.environ, **environment},
    )  # fmt: skip
    return done.stdout, done.stderr.partition("LOADED ")[2]


def complete(words, **environment):
    position = str(words.count(" "))
    out, heavy = loaded(_HARNESS_COMPLETE="bash_complete", COMP_WORDS=words, COMP_CWORD=position, **environment)
    return [line.partition(",")[2] for line in out.splitlines() if line], heavy


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """An index of names that is up to date."""
    folder = tmp_path_factory.mktemp("cache")
    loaded("--help", HARNESS_CACHE=str(folder))
    complete("harness compare --plugins fw", HARNESS_CACHE=str(folder))
    (file,) = folder.glob("names-*.json")
    return file


@pytest.fixture
def index(built, tmp_path):
    """An index of names that is up to date, in a cache folder of the test's own."""
    shutil.copytree(built.parent, tmp_path, dirs_exist_ok=True)
    return tmp_path / built.name


@pytest.mark.parametrize(
    "arguments", [(), ("--help",), ("--version",), *[(name, "--help") for name in ("compare", "list", "results")]]
)
def test_help_is_light(index, arguments):
    out, heavy = loaded(*arguments, HARNESS_CACHE=str(index.parent))
    assert heavy == "[]"
    assert out or not arguments


def test_the_help_that_asks_the_plugins_for_commands_asks_those_that_have_any(tmp_path):
    out, heavy = loaded("--help", HARNESS_CACHE=str(tmp_path))
    assert "dashboard" in out
    assert set(ast.literal_eval(heavy)) <= {
        "pluggy",
        "importlib.metadata",
        "harness_dashboard",
        "harness_dashboard.command",
    }


def test_import_is_light():
    code = f"import sys, harness.cli.main; print([name for name in {HEAVY} if name in sys.modules])"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
    )


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("harness co", ["compare", "completion"]),
        ("harness da", ["dashboard"]),
        ("harness compare --plugins gilb", ["gilbert"]),
        ("harness compare --plugins lasvm,gilb", ["lasvm,gilbert"]),
        ("harness compare --plugins fw/g", ["fw/gilbert"]),
        ("harness compare --plugins lasvm[", []),
        ("harness compare --plugins gilbert,gilb", []),
        ("harness compare --datasets digits,bre", ["digits,breast-cancer"]),
        ("harness compare --kernel r", ["rbf"]),
        ("harness compare --formulation c-svc,l", ["c-svc,l2-svc"]),
        ("harness compare --format mark", ["markdown"]),
        ("harness compare --metrics g", ["g-means"]),
        ("harness compare --repe", ["--repeat"]),
        ("harness compare --D-m", ["--D-minus"]),
        ("harness compare --order sh", ["shuffled"]),
        ("harness describe digi", ["digits"]),
        ("harness list da", ["datasets"]),
        ("harness completion z", ["zsh"]),
    ],
)
def test_completion_is_light_and_right(index, words, offered):
    found, heavy = complete(words, HARNESS_CACHE=str(index.parent))
    assert found == offered
    assert heavy == "[]"


def test_a_missing_index_is_written_silently(tmp_path):
    found, _ = complete("harness compare --plugins lasvm,gilb", HARNESS_CACHE=str(tmp_path))
    assert found == ["lasvm,gilbert"]
    assert len(list(tmp_path.glob("names-*.json"))) == 1


@pytest.mark.parametrize("text", ["", "{", "[]", '{"version": 0}', '{"version": 2, "files": 3}'])
def test_a_damaged_index_is_rebuilt(index, text):
    index.write_text(text)
    assert complete("harness compare --plugins gilb", HARNESS_CACHE=str(index.parent))[0] == ["gilbert"]
    assert json.loads(index.read_text())["content"]["plugins"]


def test_a_changed_plugin_makes_the_index_stale(index):
    content = json.loads(index.read_text())
    content["content"]["plugins"].append("forgotten")
    index.write_text(json.dumps(content))
    assert complete("harness compare --plugins forg", HARNESS_CACHE=str(index.parent))[0] == ["forgotten"]
    content["times"][-1] += 1
    index.write_text(json.dumps(content))
    assert complete("harness compare --plugins forg", HARNESS_CACHE=str(index.parent))[0] == []


def test_a_cache_that_cannot_be_written_is_no_error():
    assert complete("harness compare --plugins gilb", HARNESS_CACHE="/proc/nowhere")[0] == ["gilbert"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_script(shell):
    out, _ = loaded("completion", shell)
    assert "_HARNESS_COMPLETE" in out
