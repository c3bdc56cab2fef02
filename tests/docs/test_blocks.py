"""Every block of code of the documentation and of the README is run.

A page has one empty folder and one Python namespace. Its blocks are run in their order, in a process of their own:

* ``sh`` is one bash script: every command ends with 0, or with what a comment behind it says, ``harness x  # exit code 2``.
  Each block begins in the page's folder. ``HARNESS_STORE`` is a file in it, and there is no ``HARNESS_DATA``.
* ``python`` is run; what it prints is not compared: write ``assert`` where a number matters.
* A block whose first line is a comment with nothing but a file's name, ``# my_solver.py``, is written to this file, not run. So
  is one behind ``<!-- file: my_data.csv -->``, for formats without comments. Files that need not be shown are written by
  ``<!-- invisible-code: python``.
* ``text`` is shown.
* ``<!-- skip: next "why" -->`` before a block: it is not run. The reason is required.

Nothing else is allowed. One page: ``pytest -n 0 -m slow tests/docs/test_blocks.py -k how-to/sparse``.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs import blocks

ROOT = Path(__file__).resolve().parents[2]
FILES = [*(ROOT / name for name in ("README.md", "CONTRIBUTING.md")), *sorted((ROOT / "docs").rglob("*.md"))]
PAGES = {
    str(path.relative_to(ROOT if path.parent == ROOT else ROOT / "docs").with_suffix("")): path
    for path in FILES
    if path.exists() and "_build" not in path.parts
}
RUN = [name for name, page in PAGES.items() if any(blocks.blocks(page, language) for language in ("python", "sh"))]


@pytest.mark.slow
@pytest.mark.timeout(900)  # where nothing is compiled yet
@pytest.mark.parametrize("page", RUN)
def test_the_blocks_run(page: str, tmp_path: Path) -> None:
    done = run_page(PAGES[page], tmp_path)
    assert done.returncode == 0, done.stdout[-6000:]


def run_page(page: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "HARNESS_STORE": str(folder / "store.sqlite"), "PYTHONUNBUFFERED": "1"}
    environment.pop("HARNESS_DATA", None)
    command, output = (
        [sys.executable, blocks.__file__, str(page)],
        {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT},
    )
    return subprocess.run(command, cwd=folder, env=environment, text=True, check=False, **output)


@pytest.mark.parametrize("page", PAGES)
def test_no_block_is_passed_over(page: str) -> None:
    assert passed_over(PAGES[page]) == []


def passed_over(page: Path) -> list[str]:
    """Return the blocks of no use: of other languages without a file, and reasons not to run that say nothing."""
    known = ("python", "sh", "text")
    unknown = [each for each in blocks.examples(page) if each.region.lexemes["arguments"] not in known]
    odd = [each for each in unknown if not blocks.file_of(each)]
    silent = re.findall(r"skip: *\w+ *(?![^\n]{10})[^\n]*", page.read_text())
    return [f"line {each.line}: name its file, or call it text" for each in odd] + silent


PLANTED = {
    "a command that fails": ("```sh\nfalse\n```", "failed: false"),
    "one that should fail": ("```sh\ntrue  # exit code 2\n```", "exit code 1"),
    "one that fails otherwise": ("```sh\nexit 3  # exit code 2\n```", "exit code 3"),
    "a wrong assertion": ("```python\nx = 1\n```\n\n```python\nassert x == 2\n```", "AssertionError"),
    "a later line": ("```sh\ntrue\nls missing\ntrue\n```", "failed: ls missing"),
}


@pytest.mark.parametrize("planted", PLANTED)
def test_a_fault_is_found(planted: str, tmp_path: Path) -> None:
    text, told = PLANTED[planted]
    (tmp_path / "page.md").write_text(f"# Page\n\n{text}\n")
    done = run_page(tmp_path / "page.md", tmp_path)
    assert done.returncode != 0
    assert told in done.stdout


def test_blocks_build_on_each_other(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "```python\n# own.py\nx = 3\n```\n\n<!-- file: a/b.csv -->\n```text\n1,2\n```\n\n```python\nimport own\n```\n\n"
        "```sh\ngrep -c \\\n  1,2 a/b.csv\nls missing  # exit code 2\n```\n\n"
        '<!-- skip: next "needs what is not there" -->\n```sh\nfalse\n```\n\n```python\nprint("x =", own.x)\n```\n'
    )
    done = run_page(page, tmp_path)
    assert done.returncode == 0, done.stdout
    assert "x = 3" in done.stdout
    assert "not run: needs what is not there" in done.stdout
    assert passed_over(page) == []
    page.write_text("```c\nint x;\n```\n\n<!-- skip: next -->\n```sh\nfalse\n```\n\n```\nnothing\n```\n")
    assert len(passed_over(page)) == 3
