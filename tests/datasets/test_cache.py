"""The parsed cache: hit, damage, races, and raw files that are not what they should be."""

from __future__ import annotations

import gzip
import hashlib
import os
import shutil
import subprocess
import sys
from itertools import product
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest
import scipy.sparse

from harness import DataError, Dataset, UsageError, content_sha256
from harness.datasets import cache
from harness.datasets.catalogue import Banana
from harness.datasets.raw_files import fetched_root, roots


@pytest.fixture
def fresh(tmp_path, monkeypatch):
    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "parsed"


PARTS = ("x_train", "y_train", "x_test", "y_test")


def parsed(x, x_test=None):
    """Return a data set as parsing ends with it."""
    x_test, y = x[:0] if x_test is None else x_test, np.arange(float(x.shape[0]))
    return Dataset(
        "", x, y, x_test, np.zeros(x_test.shape[0]), "", "regression", defaults={"C": 2.0}, notes={"note": "kept"}
    )


@pytest.fixture
def points():
    return np.random.default_rng(0).standard_normal((50, 4))


@pytest.fixture
def data(points):
    return parsed(points, scipy.sparse.csr_array(np.where(points > 1, points, 0)))


def parser(data):
    """Return what returns a data set, and counts how often."""
    return Mock(return_value=data)


def stored(parse, name="thing", **key):
    return cache.dataset("label", name, key, parse, {})


def is_whole(found, data):
    """Return whether a data set has these arrays, of the same shapes, types and values, and the rest of it."""
    given, loaded = ([getattr(each, part) for part in PARTS] for each in (data, found))
    same = content_sha256(*given) == content_sha256(*loaded) == found.sha256
    rest = (found.name, found.task, found.defaults, found.notes)
    return same and rest == ("label", "regression", {"C": 2.0}, {"note": "kept"})


def test_the_second_load_is_from_the_cache_and_equal(fresh, data):
    parse = parser(data)
    first, second = (stored(parse, a=1) for _ in range(2))
    assert (parse.call_count, is_whole(first, data), is_whole(second, data)) == (1, True, True)
    for found in (first, second):
        assert (type(found.x_train), found.x_train.flags.writeable) == (np.memmap, False)
        assert found.x_test.has_canonical_format
    stored(parse, a=2)
    assert parse.call_count == 2


def test_slices_and_arrays_in_another_order_are_stored_in_order(fresh, points):
    for k, x in enumerate((points[::2, 1:3], np.asfortranarray(points), points[:, :0])):
        for _ in range(2):
            found = stored(parser(parsed(x)), k=k).x_train
            np.testing.assert_array_equal(found, x)
            assert found.flags.c_contiguous


def entries(parsed):
    """Return the entries; locks are hidden files."""
    return sorted(path for path in parsed.iterdir() if path.name[0] != ".")


CHANGES = {
    "unlink": Path.unlink,
    "cut": lambda path: os.truncate(path, 200),
    "reverse": lambda path: np.save(path, np.load(path)[::-1]),
    "edit": lambda path: path.write_text(path.read_text().replace("kept", "lost")),
}
PLACES = [*product(("x_train.npy", "x_test.npz", "manifest.json"), ("unlink", "cut")), ("manifest.json", "edit")]


@pytest.mark.parametrize(("file", "change"), [*PLACES, ("x_train.npy", "reverse"), ("y_train.npy", "reverse")])
def test_an_entry_that_is_damaged_or_was_changed_is_built_again_and_said(fresh, data, file, change):
    parse = parser(data)
    stored(parse)
    (folder,) = entries(fresh)
    CHANGES[change](folder / file)
    with pytest.warns(UserWarning, match=f"{folder} are not what was stored there; they are read again"):
        again = stored(parse)
    assert is_whole(again, data)
    assert is_whole(stored(parse), data)
    assert (parse.call_count, entries(fresh)) == (2, [folder]), "nothing is left lying about"


def test_an_entry_in_the_place_of_another_is_not_taken_for_it(fresh, points):
    parsers = [parser(parsed(points)), parser(parsed(-points))]
    for k, parse in enumerate(parsers):
        stored(parse, k=k)
    one, other = entries(fresh)
    shutil.rmtree(one)
    shutil.copytree(other, one)
    with pytest.warns(UserWarning, match=f"{one} are not what was stored there"):
        found = [stored(parse, k=k).x_train for k, parse in enumerate(parsers)]
    np.testing.assert_array_equal(found, [points, -points])


def test_an_unwritable_cache_is_refused(tmp_path, monkeypatch, data):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path / "file"))
    with pytest.raises(UsageError, match=r"file/parsed/thing-.* cannot be written \(.*; set HARNESS_CACHE"):
        stored(parser(data))


def test_processes_that_build_the_same_entry_at_once_all_succeed(fresh):
    code = (
        "import numpy as np\n"
        "from harness.datasets import Dataset, cache\n"
        "x = np.arange(200_000.0).reshape(-1, 4)\n"
        "for k in range(15):\n"
        "    parse = lambda: Dataset('', x + k, x[:, 0], x[:0], x[:0, 0], '')\n"
        "    found = cache.dataset('race', 'race', {'k': k}, parse, {})\n"
        "    assert (found.x_train == x + k).all()\n"
    )
    running = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(3)]
    assert ([process.wait(60) for process in running], len(entries(fresh))) == ([0, 0, 0], 15)


def test_remains_of_a_killed_process_are_removed(fresh, data):
    stored(parser(data))
    (folder,) = entries(fresh)
    folder.rename(fresh / f".{folder.name}.part")
    assert is_whole(stored(parser(data)), data)
    assert [path for path in fresh.iterdir() if path.is_dir()] == [folder]


@pytest.mark.usefixtures("fresh")
def test_a_compressed_file_is_unpacked_once_and_known_by_its_content(tmp_path, monkeypatch):
    one, two = (hashlib.sha256(content).hexdigest() for content in (b"one", b"two"))
    path = tmp_path / "x"
    for packed, sha256 in ((b"one", one), (gzip.compress(b"one"), one), (gzip.compress(b"two"), two)):
        path.write_bytes(packed)
        os.utime(path, (1, 1))
        assert cache.unpacked_sha256(path) == sha256
    monkeypatch.setattr(cache, "streamed", lambda path: pytest.fail("unpacked again"))
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
    with pytest.raises(DataError, match=r"has SHA-256 .*, expected 05c98ccd67268c59.*`harness data fetch banana`"):
        Banana().load()


def test_without_a_setting_both_folders_are_in_the_users_cache(monkeypatch):
    import platformdirs

    for variable in ("HARNESS_DATA", "HARNESS_CACHE"):
        monkeypatch.delenv(variable, raising=False)
    assert cache.cache_root() == platformdirs.user_cache_path("svm-harness") == fetched_root().parent
    assert roots() == [fetched_root()]
