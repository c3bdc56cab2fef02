"""Everything the README shows is run."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text()
BIN = Path(sys.executable).parent


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def commands():
    shown = [line for block in blocks("sh") for line in block.splitlines() if line.startswith("harness ")]
    first = re.search(r"&& \.venv/bin/(harness compare --plugins lasvm,fw)$", README, flags=re.MULTILINE)
    assert first is not None
    return [first.group(1), *shown]


def python_block(first_line):
    (found,) = [block for block in blocks("python") if block.startswith(first_line)]
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder as the README's reader would have it: the plugin's file and a CSV of their own."""
    path = tmp_path_factory.mktemp("readme")
    (path / "perceptron_plugin.py").write_text(python_block("# perceptron_plugin.py"))
    (path / "test_perceptron_plugin.py").write_text(python_block("# test_perceptron_plugin.py"))
    (path / "study.toml").write_text("".join(block for block in blocks("toml") if block.startswith("# study.toml")))
    rows = [f"{i % 7},{(i * 3) % 5},{'a' if i % 7 + (i * 3) % 5 > 5 else 'b'}" for i in range(120)]
    (path / "my_data.csv").write_text("first,second,kind\n" + "\n".join(rows) + "\n")
    first = shlex.split(commands()[0])  # as the reader has done, so that there are results to look at
    assert run([str(BIN / first[0]), *first[1:]], path).returncode == 0
    (path / "as_after_the_first").mkdir()
    shutil.copy(path / "store.sqlite", path / "as_after_the_first")
    return path


def run(command, folder):
    environment = {**os.environ, "HARNESS_STORE": str(folder / "store.sqlite")}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=280, check=False
    )


@pytest.fixture(scope="module")
def ended(folder):
    """What each command of the README will have given, two of them at a time; the dashboard's one after another."""

    def shown(command):
        words = shlex.split(command)
        return run([str(BIN / words[0]), *words[1:]], folder)

    with ThreadPoolExecutor(2) as pool, ThreadPoolExecutor(1) as in_order:
        yield {
            command: (in_order if command.startswith("harness dashboard") else pool).submit(shown, command)
            for command in commands()
        }


@pytest.mark.slow
@pytest.mark.timeout(900)  # all of them are under the first one's clock
@pytest.mark.parametrize("command", commands())
def test_command(command, ended):
    if command.startswith("harness dashboard"):
        pytest.importorskip("asv", reason="the dashboard needs asv: pip install 'svm-harness[asv]'")
    done = ended[command].result()
    assert done.returncode == 0, done.stderr + done.stdout
    assert done.stdout.strip()


@pytest.mark.slow
def test_first_command_shows_both_solvers_certified(folder):
    done = run([str(BIN / "harness"), "compare", "--plugins", "lasvm,fw", "--format", "json"], folder)
    import json

    records = json.loads(done.stdout)
    assert {record["solver"] for record in records} == {"lasvm", "fw"}
    assert all(record["status"] == "ok" and record["relative_gap"] < 0.1 for record in records)


@pytest.mark.slow
def test_reading_results_in_python(folder):  # the other commands may still write to the folder's store
    reading = python_block("from harness.run.store import read_results")
    done = run([sys.executable, "-c", reading], folder / "as_after_the_first")
    assert done.returncode == 0, done.stderr
    assert "lasvm" in done.stdout


@pytest.mark.slow
def test_the_stream_learns(folder):
    done = run([sys.executable, "-c", python_block("import numpy as np\n\nfrom harness import RBF")], folder)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[-1].startswith("20000 ")
    assert len(lines) == 20


@pytest.mark.slow
def test_the_shown_solver_passes_the_conformance_suite(folder):
    done = run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_perceptron_plugin.py"], folder)
    assert done.returncode == 0, done.stdout[-3000:]


def test_linked_files_exist():
    links = re.findall(r"\]\(([^)]+)\)", README)
    assert links
    assert [link for link in links if not link.startswith("https://") and not (ROOT / link).exists()] == []


def test_the_map_shows_what_is_there():
    (tree,) = [block for block in blocks("text") if block.startswith("harness/")]
    shown, folder = set(), ""
    for line in tree.splitlines():
        name = line.split()[0]
        folder = folder if line.startswith(" ") else name
        shown.add(name if name == folder else f"{folder}{name}")
    assert [name for name in shown if not (ROOT / name).exists()] == []
    folders = [
        path for top in ("harness", "plugins") for path in (ROOT / top).iterdir() if (path / "__init__.py").exists()
    ]
    assert [path for path in folders if not {str(path.relative_to(ROOT)), f"{path.relative_to(ROOT)}/"} & shown] == []


def test_every_study_is_linked():
    assert [path.name for path in ROOT.glob("reports/*/README.md") if f"({path.relative_to(ROOT)})" not in README] == []
