"""Where the benchmarks keep machine code, which numba stores as pickles: where nobody else can put any."""

from __future__ import annotations

import importlib.util
import stat
import tempfile
from pathlib import Path

import pytest

FILE = Path(__file__).resolve().parents[2] / "benchmarks/history/machine_code.py"


@pytest.fixture
def machine_code(tmp_path, monkeypatch):
    """The module, with a folder for temporary files of its own, outside asv's environments."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.delenv("ASV_ENV_DIR", raising=False)
    spec = importlib.util.spec_from_file_location("machine_code", FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def wanted(machine_code, tmp_path):
    return tmp_path / f"harness-history-numba-{machine_code.os.getuid()}"


def test_a_folder_is_made_for_this_user_alone_and_found_again(machine_code, tmp_path, capfd):
    folder = machine_code._root()
    assert folder == wanted(machine_code, tmp_path)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    machine_code._private.cache_clear()
    assert machine_code._root() == folder
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("kind", ["open to all", "open to the group", "another user's", "a link", "a file"])
def test_a_folder_that_others_can_write_to_is_not_adopted(machine_code, tmp_path, capfd, monkeypatch, kind):
    path = wanted(machine_code, tmp_path)
    if kind == "a file":
        path.write_text("")
    elif kind == "a link":
        (tmp_path / "theirs").mkdir(mode=0o700)
        path.symlink_to(tmp_path / "theirs")
    else:
        path.mkdir(mode=0o700)
        path.chmod({"open to all": 0o777, "open to the group": 0o770}.get(kind, 0o700))
    if kind == "another user's":
        other = path.stat().st_uid + 1
        monkeypatch.setattr(machine_code.os, "getuid", lambda: other)
        path.rename(wanted(machine_code, tmp_path))
    folder = machine_code._root()
    assert folder != wanted(machine_code, tmp_path)
    assert folder.parent == tmp_path
    assert (stat.S_IMODE(folder.stat().st_mode), list(folder.iterdir())) == (0o700, [])
    assert "is not a folder that only this user can write to" in capfd.readouterr().err
    assert machine_code._root() == folder  # one for the whole process
