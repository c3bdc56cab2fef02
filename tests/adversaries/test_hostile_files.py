"""Files that would fill memory, never end or break a parser: refused in a sentence, at once."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import random
import socket
import sys
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest

from harness.datasets import FileSource, validate
from harness.datasets.bounds import available_memory, bound, reading_within
from harness.datasets.chunks import ChunkedFile
from harness.errors import DataError, UsageError
from harness.registry import load_registry
from harness.selection import parse, quoted
from reports.robustness.campaign import spoilt, valid_files

LIMIT = 1 << 20
COMPRESS = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path / "cache"))


def refusal(path, limit=None, **parameters):
    began = time.monotonic()
    with reading_within(limit), pytest.raises(DataError) as caught:
        FileSource(path=str(path), **parameters).load()
    assert time.monotonic() - began < 20  # none waits for what never comes
    assert str(caught.value).endswith(".")
    assert str(caught.value).isprintable()
    return str(caught.value)


def archive(content):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
        for name in ("x.npy", "y.npy"):
            packed.writestr(name, content)
    return file.getvalue()


def array(shape, values=b""):
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\1\0" + len(header).to_bytes(2, "little") + header + values


# -- what fills memory -----------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", COMPRESS)
@pytest.mark.parametrize("line", [b"1 1:2\n", b"1,2,3\n", b"\0"])
def test_what_unpacks_to_more_than_the_limit(tmp_path, suffix, line):
    path = tmp_path / f"bomb.{'csv' if b',' in line else 'libsvm'}{suffix}"
    path.write_bytes(COMPRESS[suffix](line * (LIMIT // len(line) + 1)))
    message = refusal(path, LIMIT)
    if line != b"\0":
        assert "reading may take 1 MB (--memory-limit). Give a greater --memory-limit, or unpack it" in message
        assert "and convert it to .npy" in message


@pytest.mark.parametrize("shape", ["(1000000000000, 10)", "(10, 1000000000000)", "(4294967296, 4294967296)"])
def test_what_a_header_claims(tmp_path, shape):
    content = array(shape, bytes(800))
    for name, packed in {"a.npy": content, "a.npy.gz": gzip.compress(content), "a.npz": archive(content)}.items():
        (tmp_path / name).write_bytes(packed)
        assert "bytes, by its header" in refusal(tmp_path / name) or "--memory-limit" in refusal(tmp_path / name)
    if shape.startswith("(10, "):
        with pytest.raises(DataError, match="memory-limit"):
            ChunkedFile(str(tmp_path / "a.npy"))


def test_an_archive_whose_member_is_large_or_lies(tmp_path):
    (tmp_path / "a.npz").write_bytes(archive(array("(40000, 10)", bytes(3_200_000))))
    assert "its array x, float64 of shape (40000, 10), takes 3.05 MB" in refusal(tmp_path / "a.npz", LIMIT)
    (tmp_path / "b.npz").write_bytes(archive(array("(4, 2)", bytes(3_200_000))))
    assert "but more than these follow it" in refusal(tmp_path / "b.npz", LIMIT)


def test_a_table_that_claims_more_rows_than_memory_holds(tmp_path):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet

    columns = {"a": np.zeros(100_000), "label": np.arange(100_000) % 2}
    pyarrow.parquet.write_table(pa.table(columns), tmp_path / "a.parquet")
    assert "its 100000 x 2 table takes 1.53 MB" in refusal(tmp_path / "a.parquet", LIMIT)


def test_a_large_file_with_holes(tmp_path):
    for name in ("a.csv", "a.npy"):
        with (tmp_path / name).open("wb") as file:
            file.write(array("(12500000000, 10)") if name == "a.npy" else b"1,2\n")
            file.truncate(10**12)
    assert "its content takes 931 GB" in refusal(tmp_path / "a.csv")
    assert "it is mostly holes" in refusal(tmp_path / "a.npy")


def test_the_bound_is_the_users_or_half_of_what_is_there():
    with reading_within(12345):
        assert bound() == 12345
        with reading_within(None):
            assert bound() == 12345
    assert 0.8 < 2 * bound() / available_memory() < 1.25


def test_the_bound_of_the_process_is_lifted_again(tmp_path):
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_DATA)
    with reading_within(LIMIT):
        within = resource.getrlimit(resource.RLIMIT_DATA)
        with pytest.raises(MemoryError):
            np.ones(1 << 34, dtype=np.uint8)
    assert within[0] != before[0] == resource.getrlimit(resource.RLIMIT_DATA)[0]


# -- what never ends -------------------------------------------------------------------------------------


def test_only_regular_files_are_read(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    with socket.socket(socket.AF_UNIX) as bound_to:
        bound_to.bind(str(tmp_path / "s"))
        assert "is a socket; expected a data file" in refusal(tmp_path / "s")
    assert "is a pipe; expected a data file" in refusal(tmp_path / "pipe.csv")
    for device in ("/dev/zero", "/dev/null", "/dev/tty"):
        if Path(device).exists():
            assert "is a device; expected a data file" in refusal(device)


@pytest.mark.skipif(sys.platform != "linux", reason="files of the Linux kernel")
@pytest.mark.parametrize("path", ["/proc/self/maps", "/proc/kmsg", "/proc/self/mem", "/sys/kernel/mm/ksm/run"])
def test_files_of_the_system(path):
    if Path(path).exists():
        assert "is a file of the system" in refusal(path)


def test_odd_names(tmp_path):
    (tmp_path / "loop.csv").symlink_to(tmp_path / "loop.csv")
    assert "cannot be read (Too many levels" in refusal(tmp_path / "loop.csv")
    assert "is a folder" in refusal("~")
    assert "name too long" in refusal(tmp_path / ("x" * 300 + ".csv"))
    for name in ("", "a\nb.csv", "a\udcff.csv", "a\0b.csv"):
        assert "is no name of a data file" in refusal(name)
    refusal("~nobody-of-that-name/a.csv")


# -- names in selections ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a,b[1].csv", "]x[.csv", 'say "hi",.csv', " blank.csv", '"', "plain.csv"])
def test_a_path_with_brackets_or_commas_can_be_named(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_text("x,label\n1,0\n2,1\n3,0\n4,1\n")
    path = f"./{name}"
    (item,) = parse(f"{quoted(path)}[positive=1]")
    assert (item.name, item.values) == (path, {"positive": ["1"]})
    assert [each.name for each in parse(f"digits,{quoted(path)},lasvm[a=[1,2]]")] == ["digits", path, "lasvm"]
    registry = load_registry(only=())
    (whole,) = registry.select_datasets(path)
    (source,) = registry.select_datasets(f"{quoted(path)}[test_fraction=0]")
    assert (whole.path, source.path) == (path, path)
    assert registry.select_datasets(source.label) == [source]
    assert source.load().x_train.shape == (4, 1)


def test_a_path_with_brackets_that_is_not_there_says_how_it_is_written():
    for text in ("./my[1],data.csv", "./my[1.csv", "./my]1.csv"):
        with pytest.raises(UsageError, match="in double quotes"):
            parse(text, paths=True)
    with pytest.raises(UsageError, match="without its second"):
        parse('"./a.csv')
    assert "write '\"./gone[1].csv\"'" in refusal("./gone[1].csv")


# -- LIBSVM text -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("1 3:x", "'3:x' is no index:value"),
        ("1 3", "'3' is no index:value"),
        ("x 1:1", "'x' is no label, which is a number"),
        ("1 2:1 1:1", "the index 1 comes after 2"),
        ("1 2:1 2:1", "the index 2 comes twice"),
        ("1 -2:1", "the index -2 is not in 0..2147483646: negative"),
        ("1 1099511627776:1", "too wide a matrix"),
        ("1 qid 1:1", "'qid' is no qid:number"),
    ],
)
def test_the_line_that_is_no_libsvm_text(tmp_path, line, reason):
    lines = [f"{i % 2} 1:{i}" for i in range(7000)]
    lines[3], lines[10], lines[6016] = "", "# a comment", line
    path = tmp_path / "a.libsvm"
    path.write_text("\n".join(lines))
    message = refusal(path)
    assert "is not LIBSVM text: line 6017: " in message
    assert reason in message


@pytest.mark.parametrize("change", [(b"\n", b"\r"), (b"\n", b"\r\n"), (b"1 1:0", b"\xef\xbb\xbf1 1:0")])
def test_ends_of_lines_and_a_byte_order_mark(tmp_path, change):
    path = tmp_path / "a.libsvm"
    path.write_bytes(b"1 1:0 2:5\n-1 1:6 2:7 # c\n\n1 qid:3 1:4 2:2\n".replace(*change))
    data = FileSource(path=str(path), test_fraction=0).load()
    np.testing.assert_array_equal(data.x_train, [[0, 5], [6, 7], [4, 2]])


# -- mutants ---------------------------------------------------------------------------------------------


def test_a_mutant_of_each_format_is_read_or_refused_in_a_sentence(tmp_path):
    rng = random.Random(0)
    for path in valid_files(tmp_path):
        FileSource(path=str(path)).load()
        for number in range(12):
            mutant = tmp_path / f"mutant{number}{path.suffix}"
            mutant.write_bytes(spoilt(path.read_bytes(), rng))
            try:
                validate(FileSource(path=str(mutant)).load())
            except DataError as error:
                text = str(error)
                assert text.isprintable(), mutant
                assert len(text) < 1000, mutant
                assert mutant.name in text, text
                assert text.endswith((".", "?")), text
