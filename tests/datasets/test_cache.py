"""The parsed cache: hit, damage, races, and raw files that are not what they should be."""

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

from harness import DataError, UsageError, content_sha256
from harness.datasets import cache
from harness.datasets.catalogue import Banana
from harness.datasets.raw_files import fetched_root, roots

DENSE = np.random.default_rng(0).standard_normal((50, 4))
ARRAYS = {
    "x": DENSE, "s": scipy.sparse.csr_array(np.where(DENSE > 1, DENSE, 0)), "y": np.arange(50), "e": DENSE[:0],
    "cut": DENSE[::2, 1:3], "turned": np.asfortranarray(DENSE),
}  # fmt: skip


@pytest.fixture
def fresh(tmp_path, monkeypatch):
    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "parsed"


class Builder:
    """Builds an entry, and counts how often."""

    def __init__(self, arrays=ARRAYS):
        self.entry, self.calls = cache.Entry(arrays, {"note": "kept"}), 0

    def __call__(self):
        self.calls += 1
        return self.entry


def is_whole(entry):
    """Return whether an entry has the arrays, of the same shapes, types and values, and its note."""
    sums = {entry.sha256, content_sha256(*entry.arrays.values()), content_sha256(*ARRAYS.values())}
    return (len(sums), entry.notes, list(entry.arrays)) == (1, {"note": "kept"}, list(ARRAYS))


def test_the_second_load_is_from_the_cache_and_equal(fresh):
    build = Builder()
    first, second = (cache.fetch("thing", {"a": 1}, build) for _ in range(2))
    assert (build.calls, is_whole(first), is_whole(second)) == (1, True, True)
    x, s = second.arrays["x"], second.arrays["s"]
    assert isinstance(x, np.memmap)
    assert second.arrays["turned"].flags.c_contiguous
    assert (x.flags.writeable, s.has_canonical_format) == (False, True)
    cache.fetch("thing", {"a": 2}, build)
    assert build.calls == 2


def entries(parsed):
    """Return the entries; locks are hidden files."""
    return sorted(path for path in parsed.iterdir() if path.name[0] != ".")


DAMAGE = {
    "cut": lambda path: os.truncate(path, 200),
    "gone": Path.unlink,
    "reversed": lambda path: np.save(path, np.load(path)[::-1]),
    "edited": lambda path: path.write_text(path.read_text().replace("kept", "lost")),
}
DAMAGED = "x gone,s gone,manifest gone,x cut,s cut,manifest cut,x reversed,y reversed,manifest edited"


@pytest.mark.parametrize("damaged", DAMAGED.split(","))
def test_an_entry_that_is_damaged_or_was_changed_is_built_again_and_said(fresh, damaged):
    part, damage = damaged.split()
    build = Builder()
    cache.fetch("thing", {}, build)
    (folder,) = entries(fresh)
    DAMAGE[damage](next(folder.glob(f"{part}.*")))
    with pytest.warns(UserWarning, match=f"{folder} are not what was stored there; they are read again"):
        assert is_whole(cache.fetch("thing", {}, build))
    assert is_whole(cache.fetch("thing", {}, build))
    assert (build.calls, entries(fresh)) == (2, [folder]), "nothing is left lying about"


def test_an_entry_in_the_place_of_another_is_not_taken_for_it(fresh):
    builders = [Builder({"x": DENSE}), Builder({"x": -DENSE})]
    for k, build in enumerate(builders):
        cache.fetch("thing", {"k": k}, build)
    one, other = entries(fresh)
    shutil.rmtree(one)
    shutil.copytree(other, one)
    with pytest.warns(UserWarning, match=f"{one} are not what was stored there"):
        found = [cache.fetch("thing", {"k": k}, build).arrays["x"] for k, build in enumerate(builders)]
    np.testing.assert_array_equal(found, [DENSE, -DENSE])


def test_an_unwritable_cache_is_refused(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path / "file"))
    with pytest.raises(UsageError, match=r"file/parsed/thing-.* cannot be written \(.*; set HARNESS_CACHE"):
        cache.fetch("thing", {}, Builder())


def test_a_whole_array_of_another_entry_is_linked_not_copied(fresh):
    first = cache.fetch("one", {}, Builder({"x": DENSE})).arrays["x"]
    second = cache.fetch("two", {}, Builder({"x": first, "part": first[:10]})).arrays
    for part, array in (("x", DENSE), ("part", DENSE[:10])):
        np.testing.assert_array_equal(second[part], array)
        assert second[part].filename.samefile(first.filename) == (part == "x")


def test_processes_that_build_the_same_entry_at_once_all_succeed(fresh):
    code = """import numpy as np
from harness.datasets import cache
x = np.arange(200_000.0).reshape(-1, 4)
for k in range(15):
    assert (cache.fetch('race', {'k': k}, lambda: cache.Entry({'x': x + k})).arrays['x'] == x + k).all()
"""
    running = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(3)]
    assert [process.wait(60) for process in running] == [0, 0, 0]
    assert len(entries(fresh)) == 15


def test_remains_of_a_killed_process_are_removed(fresh):
    cache.fetch("thing", {}, Builder())
    (folder,) = entries(fresh)
    folder.rename(fresh / f".{folder.name}.part")
    assert is_whole(cache.fetch("thing", {}, Builder()))
    assert [path for path in fresh.iterdir() if path.is_dir()] == [folder]


def test_a_compressed_file_is_unpacked_once_and_known_by_its_bytes(tmp_path, fresh, monkeypatch):
    path = tmp_path / "x.gz"
    one, two = (hashlib.sha256(content).hexdigest() for content in (b"one", b"two"))
    for content, sha256 in ((b"one", one), (b"two", two)):
        path.write_bytes(gzip.compress(content, mtime=0))
        os.utime(path, (1, 1))
        assert cache.unpacked_sha256(path) == sha256
    with monkeypatch.context() as patch:
        patch.setattr(cache, "streamed", lambda path: pytest.fail("unpacked again"))
        assert cache.unpacked_sha256(path) == two
    for note in fresh.glob("*/manifest.json"):
        note.write_text(note.read_text().replace(two, one))
    with pytest.warns(UserWarning, match="unpacked-.* are not what was stored"):
        assert cache.unpacked_sha256(path) == two


def test_a_raw_file_that_is_missing_or_another_is_refused_cached_or_not(tmp_path, fresh, raw_data, monkeypatch):
    Banana().load()
    monkeypatch.setenv("HARNESS_DATA", str(tmp_path))
    with pytest.raises(DataError, match=r"'banana' needs the raw file 'raetsch/banana\.mat', which is not under"):
        Banana().load()
    copy = tmp_path / "raetsch" / "banana.mat"
    shutil.copytree(raw_data / "raetsch", copy.parent)
    Banana().load()
    copy.unlink()
    copy.write_bytes(b"another")
    with pytest.raises(DataError, match=r"holds SHA-256 .*, expected 05c98ccd67268c59.*`harness data fetch banana`"):
        Banana().load()


def test_without_a_setting_both_folders_are_in_the_users_cache(monkeypatch):
    import platformdirs

    for variable in ("HARNESS_DATA", "HARNESS_CACHE"):
        monkeypatch.delenv(variable, raising=False)
    assert cache.cache_root() == platformdirs.user_cache_path("svm-harness") == fetched_root().parent
    assert roots() == [fetched_root()]
