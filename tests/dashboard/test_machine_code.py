"""Where the benchmarks keep machine code, which numba stores as pickles: where nobody else can put any."""

from __future__ import annotations

import importlib.util
import stat
import tempfile

import pytest

from tests.dashboard.history import ROOT


@pytest.mark.parametrize("kind", ["new", "open to all", "open to the group", "another user's", "a link", "a file"])
def test_a_folder_that_others_can_write_to_is_not_adopted(tmp_path, capfd, monkeypatch, kind):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.delenv("ASV_ENV_DIR", raising=False)
    spec = importlib.util.spec_from_file_location("machine_code", ROOT / "benchmarks/history/machine_code.py")
    machine_code = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(machine_code)
    user = machine_code.os.getuid() + (kind == "another user's")
    monkeypatch.setattr(machine_code.os, "getuid", lambda: user)
    path = tmp_path / f"harness-history-numba-{user}"
    if kind == "a file":
        path.write_text("")
    elif kind == "a link":
        (tmp_path / "theirs").mkdir(mode=0o700)
        path.symlink_to(tmp_path / "theirs")
    elif kind != "new":
        path.mkdir()
        path.chmod({"open to all": 0o777, "open to the group": 0o770}.get(kind, 0o700))
    folder = machine_code._root()
    assert (folder == path) == (kind == "new")
    assert folder.parent == tmp_path
    assert (stat.S_IMODE(folder.stat().st_mode), list(folder.iterdir())) == (0o700, [])
    assert ("is not a folder that only this user can write to" in capfd.readouterr().err) == (kind != "new")
    assert machine_code._root() == folder  # one for the whole process
