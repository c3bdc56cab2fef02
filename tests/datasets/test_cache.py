"""The parsed cache: hit, damage, races, and raw files that are not what they should be."""

from __future__ import annotations

import gzip
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

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


def entries(parsed):
    """Return the entries; locks are hidden files."""
    return sorted(path for path in parsed.iterdir() if path.name[0] != ".")


def reverse(path):
    np.save(path, np.load(path)[::-1])


def edit(path):
    path.write_text(path.read_text().replace("kept", "lost"))


CHANGES = {
    "x.npy": [Path.unlink, lambda path: os.truncate(path, 200), reverse],
    "y.npy": [reverse],
    "s.npz": [Path.unlink, lambda path: os.truncate(path, 200)],
    "manifest.json": [Path.unlink, lambda path: os.truncate(path, 20), edit],
}


@pytest.mark.parametrize(
    ("file", "change"), [(file, change) for file, changes in CHANGES.items() for change in changes]
)
def test_an_entry_that_is_damaged_or_was_changed_is_built_again_and_said(fresh, arrays, file, change):
    build = Builder(arrays)
    cache.fetch("thing", {}, build)
    (folder,) = entries(fresh)
    change(folder / file)
    with pytest.warns(UserWarning, match=f"{folder} are not what was stored there; they are read again"):
        again = cache.fetch("thing", {}, build)
    for entry in (again, cache.fetch("thing", {}, build)):
        assert_same(entry.arrays, arrays)
        assert (entry.notes, build.calls) == ({"note": "kept"}, 2)
    assert entries(fresh) == [folder], "nothing is left lying about"


def test_an_entry_in_the_place_of_another_is_not_taken_for_it(fresh, arrays):
    builders = [Builder({"x": arrays["x"]}), Builder({"x": -arrays["x"]})]
    for k, build in enumerate(builders):
        cache.fetch("thing", {"k": k}, build)
    one, other = entries(fresh)
    shutil.rmtree(one)
    shutil.copytree(other, one)
    with pytest.warns(UserWarning, match=f"{one} are not what was stored there"):
        found = [cache.fetch("thing", {"k": k}, build).arrays["x"] for k, build in enumerate(builders)]
    np.testing.assert_array_equal(found, [arrays["x"], -arrays["x"]])


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
    assert len(entries(fresh)) == 15


def test_remains_of_a_killed_process_are_removed(fresh, arrays):
    cache.fetch("thing", {}, Builder(arrays))
    (folder,) = entries(fresh)
    folder.rename(fresh / f".{folder.name}.part")
    assert_same(cache.fetch("thing", {}, Builder(arrays)).arrays, arrays)
    assert [path for path in fresh.iterdir() if path.is_dir()] == [folder]


def test_the_content_of_a_compressed_file_is_known_by_its_bytes_not_its_name(tmp_path, fresh, monkeypatch):
    path = tmp_path / "x.gz"
    for content in (b"one", b"two"):
        for level in (0, 9):
            path.write_bytes(gzip.compress(content, level, mtime=0))
            os.utime(path, (1, 1))
            assert cache.unpacked_sha256(path) == hashlib.sha256(content).hexdigest()
    with monkeypatch.context() as patch:
        patch.setattr(cache, "streamed", lambda path: pytest.fail("unpacked again"))
        assert cache.unpacked_sha256(path) == hashlib.sha256(b"two").hexdigest()
    assert len(entries(fresh)) == 4
    for folder in entries(fresh):
        note = folder / "manifest.json"
        note.write_text(
            note.read_text().replace(hashlib.sha256(b"two").hexdigest(), hashlib.sha256(b"six").hexdigest())
        )
    with pytest.warns(UserWarning, match="unpacked-.* are not what was stored"):
        assert cache.unpacked_sha256(path) == hashlib.sha256(b"two").hexdigest()


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
    with pytest.raises(
        DataError, match=r"holds SHA-256 .*, expected 05c98ccd67268c59.* Fetch it: `harness data fetch banana`"
    ):
        Banana().load()


def test_without_a_setting_both_folders_are_in_the_users_cache(monkeypatch):
    import platformdirs

    for variable in ("HARNESS_DATA", "HARNESS_CACHE"):
        monkeypatch.delenv(variable, raising=False)
    assert cache.cache_root() == platformdirs.user_cache_path("svm-harness") == fetched_root().parent
    assert roots() == [fetched_root()]


def test_labels_that_were_changed_in_the_cache_are_those_of_the_file_again(tmp_path, fresh):
    path = tmp_path / "a.csv"
    path.write_text("a,b,label\n" + "".join(f"{i},{i * i},{i % 2}\n" for i in range(40)))
    first = FileSource(path=str(path)).load()
    reverse(entries(fresh)[0] / "y_train.npy")
    with pytest.warns(UserWarning, match="they are read again"):
        again = FileSource(path=str(path)).load()
    assert (again.notes, measured_sha256(again)) == (first.notes, first.sha256)
