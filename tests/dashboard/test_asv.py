"""asv as the dashboard knows it: what is used beyond its documented side is there, and one module uses it."""

from __future__ import annotations

import ast
import base64
import hashlib
import os
import re
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest

pytest.importorskip("asv", reason="the dashboard needs asv: pip install 'svm-harness[asv]'")

import asv
import harness_dashboard
from harness_dashboard import inside_asv
from harness_dashboard.publishers import LOCAL, localized

from tests.dashboard.stored import repository

FOLDER = Path(harness_dashboard.__file__).parent
ROOT = Path(__file__).resolve().parents[2]


def test_the_versions_are_those_of_the_requirement() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert inside_asv.SUPPORTED_ASV in project["optional-dependencies"]["asv"]


def test_what_runs_under_old_commits_needs_the_standard_library_alone() -> None:
    imported = {
        (node.module or "").partition(".")[0] if isinstance(node, ast.ImportFrom) else alias.name.partition(".")[0]
        for node in ast.walk(ast.parse((FOLDER / "history.py").read_text()))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    assert imported <= sys.stdlib_module_names


# -- the scripts of others: unchanged, licensed, and all that asv's pages load ----------------------------------

INDEX = (Path(asv.__file__).parent / "www" / "index.html").read_text()
VENDOR = FOLDER / "vendor"


def test_no_page_of_asv_loads_anything_from_elsewhere() -> None:
    for page in (Path(asv.__file__).parent / "www").glob("*.html"):
        html, missing = localized(page.read_text())
        assert missing == []
        assert re.findall(r"<(?:script|link|img)[^>]*//[^>]*>", html) == []
    other = '<a href="https://example.org/x.js">x</a><script src="//cdn.example.org/new.js"></script>'
    assert localized(other) == (other, ["//cdn.example.org/new.js"])
    hashed = '<script src="https://c.example.org/a/md5.min.js" integrity="sha512-x" crossorigin="anonymous"></script>'
    assert localized(hashed)[0] == '<script src="vendor/blueimp-md5/md5.min.js"></script>'


@pytest.mark.parametrize(
    "name", ["jquery-3.3.1.min.js", "jquery.flot.orderBars.js", "md5.min.js", "bootstrap.min.js", "bootstrap.min.css"]
)
def test_a_copy_has_the_hash_that_asv_asks_for(name: str) -> None:
    asked = re.search(re.escape(name) + r'"\s+integrity="(sha\d+)-([^"]+)"', INDEX)
    assert asked, f"{name} is not in asv's page"
    content = (VENDOR / LOCAL[name]).read_bytes()
    assert base64.b64encode(hashlib.new(asked[1], content).digest()).decode() == asked[2]


def test_every_copy_is_there_with_its_licence_and_is_packed() -> None:
    readme = (VENDOR / "README.md").read_text()
    folders = {path.name for path in VENDOR.iterdir() if path.is_dir()}
    assert {copy.partition("/")[0] for copy in LOCAL.values()} | {"d3"} == folders
    for folder in folders:
        (licence,) = (VENDOR / folder).glob("LICENSE*")
        assert len(licence.read_text()) > 500
        assert f"| `{folder}` |" in readme
    patterns = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]
    packed = {path for pattern in patterns["harness_dashboard"] for path in FOLDER.glob(pattern)}
    wanted = {path for folder in ("vendor", "pages", "repository") for path in (FOLDER / folder).rglob("*")}
    assert {path for path in wanted if path.is_file()} <= packed


# -- its processes -------------------------------------------------------------------------------------------

_WAITING = """
import os, time
from pathlib import Path



def track_nothing():
    for pid in (os.getpid(), os.getppid()):  # and asv's server
        Path(__file__).with_name(f"{pid}.pid").touch()
    time.sleep(600)
"""


def runs(pid: str) -> bool:
    """Whether a process is there and no zombie, which its new parent has not yet waited for."""
    try:
        return Path("/proc", pid, "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="it looks into /proc")
def test_a_check_that_is_terminated_ends_the_benchmarks_that_asv_started(tmp_path: Path) -> None:
    """asv's benchmarks are process groups of their own, so only asv can end them."""
    repository(tmp_path / "code")
    benchmarks = tmp_path / "code/benchmarks"
    benchmarks.mkdir()
    (benchmarks / "__init__.py").touch()
    (benchmarks / "solvers.py").write_text(_WAITING)
    conf = tmp_path / "code/asv.conf.json"
    conf.write_text(
        conf.read_text().replace(
            '"branches"', '"environment_type": "overlay", "launch_method": "forkserver", "branches"'
        )
    )
    (tmp_path / "code/grid.json").write_text('{"solvers": [{"name": "smo"}], "datasets": [{"name": "a"}]}')
    command = [
        sys.executable,
        "-P",
        "-m",
        "harness",
        "dashboard",
        "check",
        "HEAD~1",
        "HEAD",
        "--config",
        str(tmp_path / "code"),
    ]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (ROOT, ROOT / "plugins")))}
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 120.0
        while (
            len(started := list(benchmarks.glob("*.pid"))) < 2
            and process.poll() is None
            and time.monotonic() < deadline
        ):
            time.sleep(0.1)
        process.terminate()
        error = process.communicate(timeout=60)[1]
    assert len(started) == 2, error
    assert process.returncode == 128 + signal.SIGTERM
    assert not any(runs(path.stem) for path in started), "a benchmark is left"
