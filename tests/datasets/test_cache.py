"""The parsed cache: hit, damage, races, and raw files that are not what they should be."""

from __future__ import annotations

import gzip
import hashlib
import os
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse

from harness import DataError, content_sha256
from harness.datasets import FileSource, cache, measured_sha256
from harness.datasets.catalogue import Banana
from harness.datasets.raw_files import fetched_root, roots


@pytest.fixture
def fresh(tmp_path, monkeypatch):
    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "parsed"


@pytest.fixture
def arrays():
    dense = np.random.default_rng(0).standard_normal((50, 4))
    return {
        "x": dense, "s": scipy.sparse.csr_array(np.where(dense > 1, dense, 0)), "y": np.arange(50), "e": dense[:0],
        "cut": dense[::2, 1:3], "turned": np.asfortranarray(dense),
    }  # fmt: skip


class Builder:
    """Builds an entry, and counts how often."""

    def __init__(self, arrays):
        self.entry, self.calls = cache.Entry(arrays, {"note": "kept"}), 0

    def __call__(self):
        self.calls += 1
        return self.entry


def assert_same(found, expected):
    assert set(found) == set(expected)
    for name, array in expected.items():
        assert found[name].shape == array.shape
        assert found[name].dtype == array.dtype
        left, right = (a.toarray() if scipy.sparse.issparse(a) else a for a in (found[name], array))
        np.testing.assert_array_equal(left, right)


def test_the_second_load_is_from_the_cache_and_equal(fresh, arrays):
    build = Builder(arrays)
    first, second = (cache.fetch("thing", {"a": 1}, build) for _ in range(2))
    assert build.calls == 1
    for entry in (first, second):
        assert_same(entry.arrays, arrays)
        assert (entry.notes, entry.sha256) == ({"note": "kept"}, content_sha256(*arrays.values()))
    assert isinstance(second.arrays["x"], np.memmap)
    assert second.arrays["turned"].flags.c_contiguous
    assert not second.arrays["x"].flags.writeable
    assert second.arrays["s"].has_canonical_format
    cache.fetch("thing", {"a": 2}, build)
    assert build.calls == 2


@pytest.mark.parametrize(
    ("file", "content"), [("x.npy", None), ("x.npy", 200), ("s.indices.npy", 200), ("manifest.json", 20)]
)
def test_an_entry_without_a_file_or_with_half_of_one_is_rebuilt(fresh, arrays, file, content):
    build = Builder(arrays)
    cache.fetch("thing", {}, build)
    (folder,) = fresh.iterdir()
    (folder / file).write_bytes((folder / file).read_bytes()[:content]) if content else (folder / file).unlink()
    with pytest.warns(UserWarning, match="are not what was stored there"):
        assert_same(cache.fetch("thing", {}, build).arrays, arrays)
    assert_same(cache.fetch("thing", {}, build).arrays, arrays)
    assert build.calls == 2
    assert list(fresh.iterdir()) == [folder], "nothing is left lying about"


def test_an_unwritable_cache_costs_a_warning_only(tmp_path, monkeypatch, arrays):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path / "file"))
    with pytest.warns(UserWarning, match="could not be cached"):
        entry = cache.fetch("thing", {}, Builder(arrays))
    assert_same(entry.arrays, arrays)
    assert entry.sha256 == content_sha256(*arrays.values())


def test_a_whole_array_of_another_entry_is_linked_not_copied(fresh, arrays):
    first = cache.fetch("one", {}, lambda: cache.Entry({"x": arrays["x"]})).arrays["x"]
    second = cache.fetch("two", {}, lambda: cache.Entry({"x": first, "part": first[:10]})).arrays
    np.testing.assert_array_equal(second["x"], first)
    np.testing.assert_array_equal(second["part"], first[:10])
    assert second["x"].filename.samefile(first.filename)
    assert not second["part"].filename.samefile(first.filename)


def test_processes_that_build_the_same_entry_at_once_all_succeed(fresh):
    code = (
        "import numpy as np\n"
        "from harness.datasets import cache\n"
        "x = np.arange(200_000.0).reshape(-1, 4)\n"
        "for k in range(15):\n"
        "    e = cache.fetch('race', {'k': k}, lambda: cache.Entry({'x': x + k}))\n"
        "    assert (e.arrays['x'] == x + k).all()\n"
    )
    running = [subprocess.Popen([sys.executable, "-c", code], env=os.environ.copy()) for _ in range(3)]
    assert [process.wait(60) for process in running] == [0, 0, 0]
    assert len(list(fresh.iterdir())) == 15


def test_remains_of_a_killed_process_go_after_a_day(fresh, arrays):
    for name in (".building-old", ".building-new"):
        (fresh / name).mkdir(parents=True)
    os.utime(fresh / ".building-old", (1, 1))
    cache.fetch("thing", {}, Builder(arrays))
    assert sorted(path.name for path in fresh.iterdir() if path.name.startswith(".")) == [".building-new"]


def test_the_content_of_a_compressed_file_is_known_by_its_bytes_not_its_name(tmp_path, fresh):
    path = tmp_path / "x.gz"
    for content in (b"one", b"two"):
        for level in (0, 9):
            path.write_bytes(gzip.compress(content, level, mtime=0))
            os.utime(path, (1, 1))
            assert [cache.unpacked_sha256(path) for _ in range(2)] == [hashlib.sha256(content).hexdigest()] * 2
    assert len(list((fresh.parent / "unpacked").iterdir())) == 4


def test_a_raw_file_that_is_missing_or_another_is_refused_cached_or_not(tmp_path, fresh, raw_data, monkeypatch):
    Banana().load()
    monkeypatch.setenv("HARNESS_DATA", str(tmp_path / "raw"))
    with pytest.raises(DataError, match=r"'banana' needs the raw file 'raetsch/banana\.mat', .* under .*HARNESS_DATA"):
        Banana().load()
    copy = tmp_path / "raw" / "raetsch" / "banana.mat"
    copy.parent.mkdir(parents=True)
    content = bytearray((raw_data / "raetsch" / "banana.mat").read_bytes())
    copy.write_bytes(content)
    Banana().load()
    content[5000] ^= 1
    copy.write_bytes(content)
    with pytest.raises(DataError, match=r"holds SHA-256 .*, expected 05c98ccd67268c59.* replace it by the original"):
        Banana().load()


def test_without_a_setting_both_folders_are_in_the_users_cache(monkeypatch):
    import platformdirs

    for variable in ("HARNESS_DATA", "HARNESS_CACHE"):
        monkeypatch.delenv(variable, raising=False)
    assert cache.cache_root() == platformdirs.user_cache_path("svm-harness") == fetched_root().parent
    assert roots() == [fetched_root()]


@pytest.mark.parametrize("part", ["y_train.npy", "x_train.npy", "manifest.json"])
def test_an_entry_that_was_changed_is_read_again_and_said(tmp_path, monkeypatch, part):
    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path / "cache"))
    (tmp_path / "a.csv").write_text("a,b,label\n" + "".join(f"{i},{i * i},{i % 2}\n" for i in range(40)))
    first = FileSource(path=str(tmp_path / "a.csv")).load()
    (path,) = (tmp_path / "cache/parsed").glob(f"*/{part}")
    if part == "manifest.json":
        path.write_text(path.read_text().replace('"positive": "1"', '"positive": "0"'))
    else:
        array = np.load(path)
        np.save(path, array[::-1])
    with pytest.warns(UserWarning, match="are not what was stored there; they are read again"):
        again = FileSource(path=str(tmp_path / "a.csv")).load()
    assert (again.sha256, again.notes, measured_sha256(again)) == (first.sha256, first.notes, first.sha256)
