"""Parsed data on disk: text is parsed once, afterwards a run maps the binary arrays into memory.

An entry is a folder of ``.npy`` files and a ``manifest.json`` that is written last. It is built under a temporary name
and renamed, so that a reader sees a whole entry or none, and of two processes that build the same one the first wins.
The folder's name is the SHA-256 of everything the content depends on: raw checksums, source, parameters,
:data:`PARSER_VERSION`. Arrays are never updated in place; the whole cache may be deleted at any time.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
import uuid
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.datasets.compression import compression_of, streamed
from harness.datasets.dataset import Dataset, content_sha256, is_csr, pieces
from harness.errors import DataError
from harness.files import user_cache, write_whole

if TYPE_CHECKING:
    from harness.datasets.dataset import Points

PARSER_VERSION = 6
"""Increase it when a parser's output changes: entries of other versions are then no longer found."""

_CORRUPT = (OSError, ValueError, KeyError, TypeError, EOFError)
_PARTS = ("x_train", "y_train", "x_test", "y_test")  # of a data set, in the order of its checksum


@dataclass(frozen=True)
class Entry:
    """Named arrays and a few JSON values that belong to them."""

    arrays: Mapping[str, Points]
    notes: Mapping[str, Any] = field(default_factory=dict)
    sha256: str = ""  # content_sha256 of the arrays, in the order of their names as given


def cache_root() -> Path:
    """Return ``HARNESS_CACHE``, else the user's cache folder of ``svm-harness``."""
    return user_cache("HARNESS_CACHE")


def dataset(
    label: str, name: str, key: Mapping[str, Any], parse: Callable[[], Dataset], sources: Mapping[Path, str]
) -> Dataset:
    """Return a parsed data set, called ``label``; the other parameters are those of :func:`fetch`."""

    def build() -> Entry:
        data = parse()
        return Entry(
            {part: getattr(data, part) for part in _PARTS},
            {"task": data.task, "defaults": dict(data.defaults), "notes": dict(data.notes)},
        )

    entry = fetch(name, key, build, sources)
    fields: dict[str, Any] = {**entry.arrays, **entry.notes}
    return Dataset(name=label, sha256=entry.sha256, **fields)


def fetch(
    name: str, key: Mapping[str, Any], build: Callable[[], Entry], sources: Mapping[Path, str] | None = None
) -> Entry:
    """Return the entry for ``key``; built, stored and loaded again if there is no sound one.

    Large arrays come back memory-mapped and read-only, whether they were in the cache or not.
    A cache that cannot be written costs a warning and the time to parse again, nothing else.

    Parameters
    ----------
    name : prefix of the folder's name, for the reader of a listing
    key : JSON-able; everything the content depends on
    build : called at most once; what it raises is passed on
    sources : the files that ``build`` reads, with the SHA-256 that ``key`` has of them or of what they unpack to

    Raises
    ------
    DataError : a source has changed while it was read; nothing is stored then.
    """
    text = json.dumps({"parser": PARSER_VERSION, "name": name, **key}, sort_keys=True, default=str)
    folder = cache_root() / "parsed" / f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:24]}"
    entry = _load(folder)
    if entry is not None:
        return entry
    if folder.exists():
        warnings.warn(f"the parsed data in {folder} are not what was stored there; they are read again.", stacklevel=2)
    built = build()
    try:
        _store(folder, built, sources or {})
        if (stored := _load(folder)) is None:
            raise OSError("it cannot be read back")
        return stored
    except OSError as error:
        warnings.warn(f"the parsed data of '{name}' could not be cached in {folder} ({error}).", stacklevel=2)
        arrays = {key: x if is_csr(x) else np.ascontiguousarray(x) for key, x in built.arrays.items()}
        _refuse_changed(sources or {})
        return Entry(arrays, built.notes, content_sha256(*arrays.values()))


def file_sha256(path: Path) -> str:
    """Return a file's SHA-256. It is computed each time (1 to 2 GB a second): size and times do not tell the content."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def unpacked_sha256(path: Path) -> str:
    """Return the SHA-256 of what a file holds, unpacked where it is compressed: the same whatever wraps it.

    What a file unpacks to is noted under its own SHA-256, which is computed each time, so that it is unpacked once.
    """
    packed = file_sha256(path)
    if compression_of(path) is None:
        return packed
    note = cache_root() / "unpacked" / packed
    with suppress(OSError):
        return note.read_text()
    found = hashlib.sha256()
    with streamed(path) as file:
        while block := file.read(1 << 20):
            found.update(block)
    if file_sha256(path) == packed:  # nobody wrote it meanwhile
        with suppress(OSError):
            write_whole(note, found.hexdigest().encode())
    return found.hexdigest()


def _refuse_changed(sources: Mapping[Path, str]) -> None:
    for path, sha256 in sources.items():
        if not path.is_file() or (file_sha256(path) != sha256 and unpacked_sha256(path) != sha256):
            raise DataError(f"'{path}' has changed while it was read. Let whatever writes it finish, then start again.")


def _store(folder: Path, built: Entry, sources: Mapping[Path, str]) -> None:
    """Write an entry under a temporary name and rename it; keep a sound one that another process put there first."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    for remains in folder.parent.glob(".building-*"):  # of processes that were killed while they built an entry
        with suppress(OSError):
            if remains.stat().st_mtime < time.time() - 86_400:
                shutil.rmtree(remains, ignore_errors=True)
    temporary = folder.parent / f".building-{uuid.uuid4().hex}"
    temporary.mkdir()  # not mkdtemp: that would close a shared cache to all other users
    try:
        shapes = {name: _write_array(temporary, name, array) for name, array in built.arrays.items()}
        _refuse_changed(sources)  # only now: an array may be a map of a source
        # Hash what lies on disk, through the map: a column slice of a huge memory-mapped file is never copied whole.
        sha256 = content_sha256(*(_read_array(temporary, name, shape) for name, shape in shapes.items()))
        manifest = {"sha256": sha256, "arrays": shapes, "notes": dict(built.notes), "entry": folder.name}
        manifest["seal"] = _seal(manifest)
        (temporary / "manifest.json").write_text(json.dumps(manifest, indent=1))
        try:
            temporary.rename(folder)
        except OSError:  # there is one already: another process was first, or it is unsound
            if _load(folder) is None:
                shutil.rmtree(folder, ignore_errors=True)
                temporary.rename(folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _load(folder: Path) -> Entry | None:
    """Return the entry, or None if it is absent or not what was stored: its content is read (1 to 2 GB a second) and compared."""
    try:
        manifest = json.loads((folder / "manifest.json").read_text())
        if manifest.pop("seal") != _seal(manifest) or manifest["entry"] != folder.name:
            return None
        arrays = {name: _read_array(folder, name, shape) for name, shape in manifest["arrays"].items()}
        sha256 = content_sha256(*arrays.values())
        return Entry(arrays, manifest["notes"], sha256) if sha256 == manifest["sha256"] else None
    except _CORRUPT:
        return None


def _seal(manifest: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a manifest, by which one that was damaged or moved is noticed."""
    return hashlib.sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()


def _write_array(folder: Path, name: str, array: Points) -> list[int] | None:
    """Write a dense array as one file, a CSR one as three; return the latter's shape, which none of these tells."""
    if not isinstance(array, np.ndarray):
        array.sum_duplicates()
        # LIBSVM's wrapper takes 32-bit indices only, and they halve the memory
        index = np.int32 if max(*array.shape, array.nnz) < np.iinfo(np.int32).max else np.int64
        vectors = {"data": array.data, "indices": array.indices.astype(index), "indptr": array.indptr.astype(index)}
        for part, values in vectors.items():
            np.save(folder / f"{name}.{part}.npy", values)
        return list(array.shape)
    target = folder / f"{name}.npy"
    if not _link(array, target):
        # Piece by piece and in C order, whatever the order of a slice or of a map larger than memory.
        written = np.lib.format.open_memmap(target, mode="w+", dtype=array.dtype, shape=array.shape)
        for start, piece in pieces(array):
            written[start : start + len(piece)] = piece
    return None


def _link(array: np.ndarray[Any, Any], target: Path) -> bool:
    """Link instead of copying where the array is the whole of another entry's file (MNIST's pixels, for ten digits)."""
    source = getattr(array, "filename", None)
    if source is None or not array.flags.c_contiguous or np.load(source, mmap_mode="r").shape != array.shape:
        return False
    with suppress(OSError):  # a file system without hard links: copy
        os.link(source, target)
        return True
    return False


def _read_array(folder: Path, name: str, shape: list[int] | None) -> Points:
    if shape is None:
        return _open(folder / f"{name}.npy")
    import scipy.sparse

    data, indices, indptr = (_open(folder / f"{name}.{part}.npy") for part in ("data", "indices", "indptr"))
    if len(data) != len(indices) or len(indptr) != shape[0] + 1:
        raise ValueError(f"{folder / name} is not the sparse matrix of its manifest.")
    matrix = scipy.sparse.csr_array((data, indices, indptr), shape=(shape[0], shape[1]))
    matrix.has_canonical_format = True  # ensured when it was written; spares a pass over all indices
    return matrix


def _open(path: Path) -> np.ndarray[Any, Any]:
    """Map the file; labels and other vectors, and empty arrays (which cannot be mapped), are read."""
    mapped: np.ndarray[Any, Any] = np.load(path, mmap_mode="r")
    return mapped if mapped.ndim > 1 and mapped.size else np.array(mapped)
