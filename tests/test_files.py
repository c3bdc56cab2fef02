"""Files that are written whole or not at all."""

import os
from pathlib import Path

import pytest

from harness.support.files import write_whole


def test_a_new_file_takes_the_place_of_the_old_one(tmp_path: Path) -> None:
    target = tmp_path / "a" / "b" / "results.json"
    write_whole(target, b"old")
    before = target.open("rb")
    write_whole(target, b"new")
    assert target.read_bytes() == b"new"
    with before:
        assert before.read() == b"old", "who reads keeps what he opened"
    assert [file.name for file in target.parent.iterdir()] == ["results.json"]


def test_what_fails_leaves_the_old_file_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "results.json"
    write_whole(target, b"old")

    def full(self: Path, target: Path) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="no space left"):
        write_whole(target, b"new")
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == {"results.json": b"old"}


@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_others_may_read_what_the_user_lets_them_read(tmp_path: Path, mask: int, mode: int) -> None:
    before = os.umask(mask)
    try:
        write_whole(tmp_path / "results.json", b"")
    finally:
        os.umask(before)
    assert (tmp_path / "results.json").stat().st_mode & 0o777 == mode


def test_the_longest_names_can_be_written(tmp_path: Path) -> None:
    for name in ("x" * 255, "\N{GRINNING FACE}" * 63):
        write_whole(tmp_path / name, b"")
    assert len(list(tmp_path.iterdir())) == 2


def test_a_pipe_is_written_to_and_a_link_stays(tmp_path: Path) -> None:
    pipe, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_whole(pipe, b"content")
    assert os.read(reading, 100) == b"content"
    os.close(reading)
    assert pipe.is_fifo()
    link.symlink_to("file")
    write_whole(link, b"content")
    assert link.is_symlink()
    assert (tmp_path / "file").read_bytes() == b"content"
