"""Small valid data files of every format, and mutants of them: what a reader may meet, and has to refuse in a sentence.

    python reports/robustness/trials/mutated_files.py --seconds 60 --seed 1

reads mutants for that long, prints what was not a sentence, a read of more than 5 s or one that took 1 GB, and ends
with 1 if there was any.
"""

from __future__ import annotations

import argparse
import bz2
import gzip
import io
import lzma
import resource
import struct
import sys
import tempfile
import time
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np

ROWS = 40
SLOWEST = 5.0  # seconds of one read
LARGEST = 1 << 30  # bytes that a read may take beyond what the process had before

_PACKED: dict[bytes, tuple[Callable[[bytes], bytes], Callable[[bytes], bytes]]] = {
    b"\x1f\x8b": (gzip.decompress, gzip.compress),
    b"BZh": (bz2.decompress, bz2.compress),
    b"\xfd7zXZ": (lzma.decompress, lzma.compress),
}
_CELLS = (
    "", "?", "nan", "NA", "inf", "-inf", "1e999", "1e-400", "0x10", "1_0", "\u0661", "red", "'", '"', "1.O", "-", "#",
    "%", ":", "1:1", "0:1", "-1:1", "3:x", ":3", "3:", "1099511627776:1", "18446744073709551616:1", "2147483648:1",
    "qid:1", "qid:x", "2:1 1:1", "1:1 1:2", "{0 1}", "@data", "@attribute", "@attribute a date", "@relation", "\0",
    "\ufeff", "\r", "\n", "\r\n", "\n\n", ",", ";", "\t", " ", "9" * 400, "1" * 70000, "\u2028", "\x1b[31m", "\\",
)  # fmt: skip
_DESCRS = (
    "'<f8'", "'>f8'", "'<f4'", "'<f2'", "'<f16'", "'<c16'", "'<i8'", "'>i4'", "'|b1'", "'|u1'", "'|O'", "'<U3'",
    "'|S3'", "'<M8[s]'", "'<m8[D]'", "'|V8'", "'<U0'", "'|S0'", "'|V0'", "'<M8'", "[('a', '<f8')]",
    "[('a', '<f8'), ('b', '|O')]", "[('a', '<f8', (2, 2))]", "[('', '')]", "'f'", "'?'", "''", "None", "8", "'<q9'",
    "('<f8', (2,))",
)  # fmt: skip
_SHAPES = (
    "()", "(0,)", "(3,)", "(40, 4)", "(4, 40)", "(0, 4)", "(40, 0)", "(40, 1)", "(2, 2, 40)", "(-1, 4)", "(40, -4)",
    "(1000000000000, 10)", "(40, 1000000000000)", "(1000000000000000000000, 4)", "(9223372036854775807, 2)",
    "(4294967296, 4294967296)", "(40.0, 4)", "('40', 4)", "40", "None", "(True, 4)", "[40, 4]", "(40, 4",
    "(100000000, 1)", "(1,) * 10**9",
)  # fmt: skip


def valid_files(folder: Path | str) -> dict[str, Path]:
    """Write a small good file of each format, and some compressed; return format -> path."""
    folder = Path(folder)
    rng = np.random.default_rng(0)
    x = np.round(rng.normal(size=(ROWS, 3)), 3) + 5.0
    y = np.where(np.arange(ROWS) % 2, 1.0, -1.0)
    rows = x.tolist()
    text = "".join(f"{int(label)} 1:{a} 2:{b} 3:{c}\n" for label, (a, b, c) in zip(y, rows, strict=True)).encode()
    table = "a,b,c,label\n" + "".join(
        f"{a},{b},{c},{'spam' if label > 0 else 'ham'}\n" for label, (a, b, c) in zip(y, rows, strict=True)
    )
    attributes = "".join(f"@attribute {name} numeric\n" for name in "abc")
    body = table.partition("\n")[2]
    arff = f"@relation points\n{attributes}@attribute label {{ham,spam}}\n@data\n{body}"
    array, archive = io.BytesIO(), io.BytesIO()
    np.save(array, np.column_stack([x, y]))
    np.savez(archive, x=x, y=y)
    contents = {
        "libsvm": text,
        "csv": table.encode(),
        "npy": array.getvalue(),
        "npz": archive.getvalue(),
        "parquet": _parquet(x, y),
        "arff": arff.encode(),
        "libsvm.gz": gzip.compress(text),
        "csv.xz": lzma.compress(table.encode()),
        "npy.bz2": bz2.compress(array.getvalue()),
        "npz.gz": gzip.compress(archive.getvalue()),
    }
    paths = {kind: folder / f"good.{kind}" for kind in contents}
    for kind, path in paths.items():
        path.write_bytes(contents[kind])
    return paths


def mutated(data: bytes, rng: np.random.Generator) -> bytes:
    """Return a mutant of a file of :func:`valid_files`: of its bytes, or of what is packed in it, packed again.

    A mutant can be mutated again; one that cannot be unpacked any more is changed as bytes are.
    """
    try:
        return _mutated(data, rng)
    except (OSError, EOFError, ValueError, NotImplementedError, lzma.LZMAError, zlib.error, zipfile.BadZipFile):
        return _bytes(data, rng)


def _mutated(data: bytes, rng: np.random.Generator) -> bytes:
    for magic, (unpack, pack) in _PACKED.items():
        if data.startswith(magic) and rng.random() < 0.6:
            return pack(mutated(unpack(data), rng))
    if data.startswith(b"PK") and rng.random() < 0.6:
        return _archive(data, rng)
    if data.startswith(b"\x93NUMPY") and rng.random() < 0.6:
        return _array(data, rng)
    if data.startswith(b"PAR1") and rng.random() < 0.4:
        return _odd_parquet(rng)
    text = b"\0" not in data
    for _ in range(int(rng.integers(1, 4))):
        data = (_text if text and rng.random() < 0.7 else _bytes)(data, rng)
    return data


def _bytes(data: bytes, rng: np.random.Generator) -> bytes:
    """Flip, cut, insert, repeat, splice or swap."""
    at, length = int(rng.integers(0, len(data) + 1)), int(rng.integers(1, 64))
    other = int(rng.integers(0, len(data) + 1))
    match int(rng.integers(0, 7)):
        case 0:
            content = bytearray(data or b"\0")
            content[at % len(content)] ^= 1 << int(rng.integers(0, 8))
            return bytes(content)
        case 1:
            return data[:at]
        case 2:
            return data[:at] + rng.bytes(length) + data[at:]
        case 3:
            return data[:at] + data[at + length :]
        case 4:
            return data[:at] + data[other : other + length] + data[at + length :]
        case 5:
            extreme = (b"\0" * 8, b"\xff" * 8, b"\xff" * 7 + b"\x7f", struct.pack("<Q", 1 << 40))[int(rng.integers(4))]
            return data[:at] + extreme[: int(rng.integers(1, 9))] + data[at + 8 :]
        case _:
            return data[at:] + data[:at]


def _text(data: bytes, rng: np.random.Generator) -> bytes:
    """Put an odd cell in the place of one, or work on lines."""
    lines = data.split(b"\n")
    at = int(rng.integers(0, len(lines)))
    odd = _CELLS[int(rng.integers(0, len(_CELLS)))].encode()
    mark = b"," if b"," in lines[at] else b" "
    cells = lines[at].split(mark)
    place = int(rng.integers(0, len(cells)))
    match int(rng.integers(0, 8)):
        case 0 | 1 | 2:
            cells[place] = odd
        case 3:
            cells.insert(place, odd)
        case 4:
            del cells[place]
        case 5:
            lines.insert(at, odd)
        case 6:
            return b"\n".join(mark.join((*line.split(mark)[:place], odd)) for line in lines)
        case _:
            return data.replace(b"\n", (b"\r", b"\r\n", b"\n\n", b" \n", b"\0\n", b"#\n")[int(rng.integers(6))])
    lines[at] = mark.join(cells)
    return b"\n".join(lines)


def _array(data: bytes, rng: np.random.Generator) -> bytes:
    """Return an array with an odd header, or one of an odd type that is sound."""
    if rng.random() < 0.4:
        return _sound_array(rng)
    descr, shape, order = "'<f8'", f"({ROWS}, 4)", "False"
    if rng.random() < 0.6:
        descr = _DESCRS[int(rng.integers(0, len(_DESCRS)))]
    if rng.random() < 0.6:
        shape = _SHAPES[int(rng.integers(0, len(_SHAPES)))]
    if rng.random() < 0.3:
        order = ("True", "1", "None", "'yes'")[int(rng.integers(0, 4))]
    header = f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}".encode()
    if rng.random() < 0.3:
        header = _text(header, rng) if rng.random() < 0.5 else _bytes(header, rng)
    version = (b"\1\0", b"\2\0", b"\3\0", b"\4\0", b"\0\0")[int(rng.choice(5, p=[0.7, 0.1, 0.1, 0.05, 0.05]))]
    length = len(header) + 1 if rng.random() < 0.9 else int(rng.integers(0, 1 << 16))
    size = struct.pack("<H" if version == b"\1\0" else "<I", length % (1 << 16))
    return b"\x93NUMPY" + version + size + header + b"\n" + data[-ROWS * 4 * 8 :]


def _sound_array(rng: np.random.Generator) -> bytes:
    values = np.column_stack([rng.normal(size=(ROWS, 3)) * 9, np.arange(ROWS) % 2])
    kinds = (">f8", "<f4", "<f2", "c16", "i8", ">i4", "u1", "?", "U5", "S5", "M8[s]", "m8[D]", "g")
    kind = kinds[int(rng.integers(0, len(kinds)))]
    array = values.astype("i8").astype(kind) if kind[0] in "Mm" else values.astype(kind)
    if rng.random() < 0.3:
        array = np.asfortranarray(array)
    if rng.random() < 0.3 and array.dtype.kind in "fc":
        array[int(rng.integers(ROWS)), int(rng.integers(4))] = (np.nan, np.inf, -np.inf)[int(rng.integers(3))]
    if rng.random() < 0.3:
        array = (array[0, 0], array[0], array.reshape(2, -1, 4), array[:0], array[:, :1], array[:, :0])[
            int(rng.integers(6))
        ]
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def _archive(data: bytes, rng: np.random.Generator) -> bytes:
    """Return the archive with one of its arrays changed, renamed, doubled or left out; its checksums are right."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = [(name, archive.read(name)) for name in archive.namelist()]
    at = int(rng.integers(0, len(members)))
    name, content = members[at]
    match int(rng.integers(0, 6)):
        case 0 | 1:
            members[at] = (name, mutated(content, rng))
        case 2:
            members[at] = (name, _sound_array(rng))
        case 3:
            new = ("X.npy", "x_train.npy", "y_test.npy", "../x.npy", "x", ".npy", "x.npy/", "\x1b]0;x\x07.npy")
            members[at] = (new[int(rng.integers(0, len(new)))], content)
        case 4:
            del members[at]
        case _:
            members += [("x_test.npy", content), ("y_test.npy", members[-1][1])]
    file = io.BytesIO()
    how = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)[int(rng.integers(0, 4))]
    with zipfile.ZipFile(file, "w", how) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return file.getvalue()


def _parquet(x: np.ndarray, y: np.ndarray) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet

    file = io.BytesIO()
    columns = {name: x[:, index] for index, name in enumerate("abc")}
    pyarrow.parquet.write_table(pa.table({**columns, "label": y}), file)
    return file.getvalue()


def _odd_parquet(rng: np.random.Generator) -> bytes:
    """Return a sound file with a column of an odd type."""
    import datetime
    import decimal

    import pyarrow as pa
    import pyarrow.parquet

    day = datetime.datetime(2026, 1, 1)
    odd = [
        pa.array([[1.0, 2.0]] * ROWS),
        pa.array([{"u": 1}] * ROWS),
        pa.array([[("k", 1)]] * ROWS, pa.map_(pa.string(), pa.int64())),
        pa.array([b"\xff"] * ROWS),
        pa.array(["red", "blue"] * (ROWS // 2)),
        pa.array(["red", "blue"] * (ROWS // 2)).dictionary_encode(),
        pa.array([True, None] * (ROWS // 2)),
        pa.array([1, None] * (ROWS // 2)),
        pa.array([1 << 62] * ROWS),
        pa.array([None] * ROWS, pa.null()),
        pa.array([day] * ROWS),
        pa.array([day.date()] * ROWS),
        pa.array([day.time()] * ROWS),
        pa.array([day - day] * ROWS),
        pa.array([decimal.Decimal("1.5")] * ROWS),
        pa.array(np.ones(ROWS, np.float16)),
        pa.array([float("nan")] * ROWS),
        pa.array([float("inf"), 1.0] * (ROWS // 2)),
    ][int(rng.integers(0, 18))]
    columns = {"a": pa.array(rng.normal(size=ROWS)), "label": pa.array(np.arange(ROWS) % 2)}
    columns[("a", "label", "b", "")[int(rng.integers(0, 4))]] = odd
    table = pa.table(columns)
    if rng.random() < 0.2:
        table = pa.table([table.column(0), odd], names=["label", "label"])
    if rng.random() < 0.2:
        table = table.slice(0, int(rng.integers(0, 2)))
    file = io.BytesIO()
    codec = ("none", "snappy", "gzip", "zstd")[int(rng.integers(0, 4))]
    pyarrow.parquet.write_table(table, file, compression=codec)
    return file.getvalue()


# -- reading mutants -------------------------------------------------------------------------------------


def fault_of(path: Path) -> str:
    """Return what is wrong with how a file is read: empty if it is read, or refused with a sentence that says which."""
    from harness.datasets import FileSource, validate
    from harness.errors import DataError

    before, began = _peak(), time.monotonic()
    try:
        validate(FileSource(path=str(path)).load())
        fault = ""
    except DataError as error:
        fault = _unlike_a_sentence(str(error), path)
    except Exception as error:
        fault = f"{type(error).__name__}: {error}"
    seconds, taken = time.monotonic() - began, _peak() - before
    if seconds > SLOWEST:
        fault = f"took {seconds:.1f} s. {fault}"
    return f"took {taken / 2**20:.0f} MB. {fault}" if taken > LARGEST else fault


def _unlike_a_sentence(text: str, path: Path) -> str:
    """Return why a message is no sentence that names the file and ends with what to do; empty if it is one."""
    if "\n" in text or not text.isprintable():
        return f"not one printable line: {text!r}"
    if len(text) > 1000:
        return f"{len(text)} characters: {text[:200]!r}"
    return "" if text.endswith((".", "?")) and path.name in text else f"no sentence on the file: {text!r}"


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main() -> int:
    arguments = argparse.ArgumentParser(description="Read mutated data files for a while.")
    arguments.add_argument("--seconds", type=float, default=60.0)
    arguments.add_argument("--seed", type=int, default=zlib.crc32(str(time.time_ns()).encode()))
    arguments.add_argument("--formats", default="", help="of them only: csv,npz")
    given = arguments.parse_args()
    rng, end = np.random.default_rng(given.seed), time.monotonic() + given.seconds
    read: Counter[str] = Counter()
    faults: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        good = {kind: path.read_bytes() for kind, path in valid_files(folder).items()}
        kinds = [kind for kind in good if not given.formats or kind in given.formats.split(",")]
        while time.monotonic() < end:
            kind = kinds[sum(read.values()) % len(kinds)]
            path = Path(folder, f"mutant.{kind}")
            path.write_bytes(mutated(good[kind], rng))
            read[kind] += 1
            if fault := fault_of(path):
                faults.setdefault(f"{kind}: {fault[:60]}", f"{kind} number {read[kind]}: {fault[:300]}")
    print(f"seed {given.seed}: {sum(read.values())} mutants read, {len(faults)} kinds of fault", dict(read))
    print("\n".join(faults.values()))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
