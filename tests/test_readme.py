"""Everything the README shows is run."""

import os
import re
import shlex
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
    (path / "dual_ascent.py").write_text(python_block("# dual_ascent.py"))
    rows = [f"{i % 7},{(i * 3) % 5},{'a' if i % 7 + (i * 3) % 5 > 5 else 'b'}" for i in range(120)]
    (path / "my_data.csv").write_text("first,second,kind\n" + "\n".join(rows) + "\n")
    return path


def run(command, folder):
    environment = {**os.environ, "HARNESS_STORE": str(folder / "store.sqlite")}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=280, check=False
    )


@pytest.fixture(scope="module")
def ended(folder):
    """What each command of the README will have given, two of them at a time."""

    def shown(command):
        words = shlex.split(command, comments=True)
        return run([str(BIN / words[0]), *words[1:]], folder)

    with ThreadPoolExecutor(2) as pool:
        yield {command: pool.submit(shown, command) for command in commands()}


@pytest.mark.slow
@pytest.mark.timeout(900)  # all of them are under the first one's clock
@pytest.mark.parametrize("command", commands())
def test_command(command, ended):
    done = ended[command].result()
    _, _, code = command.partition("  # exit code ")
    assert done.returncode == int(code or 0), done.stderr + done.stdout
    assert done.stdout.strip()


@pytest.mark.slow
def test_first_command_shows_both_solvers_certified(folder):
    done = run([str(BIN / "harness"), "compare", "--plugins", "lasvm,fw", "--format", "json"], folder)
    import json

    records = json.loads(done.stdout)
    assert {record["solver"] for record in records} == {"lasvm", "fw"}
    assert all(record["status"] == "ok" and record["relative_gap"] < 0.1 for record in records)


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


def test_the_reports_link_every_study():
    shown = (ROOT / "reports/README.md").read_text()
    assert "(reports/README.md)" in README
    assert [
        path for path in ROOT.glob("reports/*/README.md") if f"({path.relative_to(ROOT / 'reports')})" not in shown
    ] == []


def test_it_is_one_page():
    assert len(README.splitlines()) <= 150
