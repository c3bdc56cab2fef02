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
import scipy.sparse

from harness.datasets.compression import regular
from harness.datasets.dataset import content_sha256, is_csr, pieces
from harness.errors import DataError
from harness.files import user_cache, write_whole

if TYPE_CHECKING:
    from harness.datasets.dataset import Points

PARSER_VERSION = 5
"""Increase it when a parser's output changes: entries of other versions are then no longer found."""

_PARTS = {"dense": ("",), "csr": (".data", ".indices", ".indptr")}
_CORRUPT = (OSError, ValueError, KeyError, TypeError, EOFError)


@dataclass(frozen=True)
class Entry:
    """Named arrays and a few JSON values that belong to them."""

    arrays: Mapping[str, Points]
    notes: Mapping[str, Any] = field(default_factory=dict)
    sha256: str = ""  # content_sha256 of the arrays, in the order of their names as given


def cache_root() -> Path:
    """Return ``HARNESS_CACHE``, else the user's cache folder of ``svm-harness``."""
    return user_cache("HARNESS_CACHE")


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
    sources : the files that ``build`` reads, with the SHA-256 that ``key`` has of them

    Raises
    ------
    DataError : a source has changed while it was read; nothing is stored then.
    """
    text = json.dumps({"parser": PARSER_VERSION, "name": name, **key}, sort_keys=True, default=str)
    folder = cache_root() / "parsed" / f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:24]}"
    entry = _load(folder)
    if entry is not None:
        return entry
    built = build()
    try:
        _store(folder, built, sources or {})
    except OSError as error:
        warnings.warn(f"the parsed data of '{name}' could not be cached in {folder} ({error}).", stacklevel=2)
        arrays = {key: x if is_csr(x) else np.ascontiguousarray(x) for key, x in built.arrays.items()}
        _refuse_changed(sources or {})
        return Entry(arrays, built.notes, content_sha256(*arrays.values()))
    stored = _load(folder)
    if stored is None:
        raise RuntimeError(f"the cache entry {folder} was written but cannot be read back; delete that folder.")
    return stored


def file_sha256(path: Path) -> str:
    """Return a file's SHA-256. It is computed each time (1 to 2 GB a second): size and times do not tell the content."""
    with regular(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _refuse_changed(sources: Mapping[Path, str]) -> None:
    for path, sha256 in sources.items():
        if not path.is_file() or file_sha256(path) != sha256:
            raise DataError(f"'{path}' has changed while it was read. Let whatever writes it finish, then start again.")


def _store(folder: Path, built: Entry, sources: Mapping[Path, str]) -> None:
    """Write an entry under a temporary name and rename it; keep a sound one that another process put there first."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    _remove_remains(folder.parent)
    temporary = folder.parent / f".building-{uuid.uuid4().hex}"
    temporary.mkdir()  # not mkdtemp: that would close a shared cache to all other users
    try:
        described = {name: _write_array(temporary, name, array) for name, array in built.arrays.items()}
        _refuse_changed(sources)  # only now: an array may be a map of a source
        # Hash what lies on disk, through the map: a column slice of a huge memory-mapped file is never copied whole.
        stored = {name: _read_array(temporary, name, facts) for name, facts in described.items()}
        manifest = {
            "sha256": content_sha256(*stored.values()),
            "arrays": described,
            "notes": dict(built.notes),
            "files": {file.name: _stamp(file) for file in sorted(temporary.glob("*.npy"))},
        }
        (temporary / "manifest.json").write_text(json.dumps(manifest, indent=1))
        for _ in range(3):
            with suppress(OSError):  # something is there already
                temporary.rename(folder)
                return
            if _load(folder) is not None:
                return
            # It is unsound. Renaming it before deleting it keeps the moment without an entry short.
            aside = folder.parent / f".damaged-{uuid.uuid4().hex}"
            with suppress(OSError):
                folder.rename(aside)
            shutil.rmtree(aside, ignore_errors=True)
        temporary.rename(folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _remove_remains(parsed: Path) -> None:
    """Delete what processes that were killed while they built an entry have left, once it is a day old."""
    for remains in parsed.glob(".*-*"):
        with suppress(OSError):
            if remains.stat().st_mtime < time.time() - 86_400:
                shutil.rmtree(remains, ignore_errors=True)


def _load(folder: Path) -> Entry | None:
    """Return the entry, or None if it is absent or not as its manifest says."""
    try:
        manifest = json.loads((folder / "manifest.json").read_text())
        stamps = {name: _stamp(folder / name) for name in manifest["files"]}
        if any(stamps[name]["bytes"] != facts["bytes"] for name, facts in manifest["files"].items()):
            return None
        arrays = {name: _read_array(folder, name, facts) for name, facts in manifest["arrays"].items()}
        entry = Entry(arrays, manifest["notes"], manifest["sha256"])
    except _CORRUPT:
        return None
    # Files that were touched after they were written (edited, linked or copied) are worth a second look, others are not.
    if stamps != manifest["files"]:
        if content_sha256(*arrays.values()) != entry.sha256:
            return None
        with suppress(OSError):  # a cache that one may only read costs this look each time
            write_whole(folder / "manifest.json", json.dumps({**manifest, "files": stamps}, indent=1).encode())
    return entry


def _stamp(file: Path) -> dict[str, int]:
    facts = file.stat()  # a program can set the modification time, it cannot set the time of the last change
    return {"bytes": facts.st_size, "mtime_ns": facts.st_mtime_ns, "ctime_ns": facts.st_ctime_ns}


def _write_array(folder: Path, name: str, array: Points) -> dict[str, Any]:
    if isinstance(array, scipy.sparse.csr_array):
        array.sum_duplicates()
        # LIBSVM's wrapper takes 32-bit indices only, and they halve the memory
        index = np.int32 if max(*array.shape, array.nnz) < np.iinfo(np.int32).max else np.int64
        vectors = (array.data, array.indices.astype(index), array.indptr.astype(index))
        for part, values in zip(_PARTS["csr"], vectors, strict=True):
            np.save(folder / f"{name}{part}.npy", values)
        return {"kind": "csr", "shape": list(array.shape), "nnz": int(array.nnz), "dtype": array.dtype.str}
    target = folder / f"{name}.npy"
    if not _link(array, target):
        # A slice or a Fortran-ordered array is written piece by piece in C order; np.save keeps the latter's order.
        header = {"descr": np.lib.format.dtype_to_descr(array.dtype), "fortran_order": False, "shape": array.shape}
        with target.open("wb") as file:
            np.lib.format.write_array_header_1_0(file, header)
            for _, piece in pieces(array):
                file.write(np.ascontiguousarray(piece).data)
    return {"kind": "dense", "shape": list(array.shape), "dtype": array.dtype.str}


def _link(array: np.ndarray[Any, Any], target: Path) -> bool:
    """Link instead of copying where the array is the whole of another entry's file (MNIST's pixels, for ten digits)."""
    if not isinstance(array, np.memmap) or not array.flags.c_contiguous or array.filename is None:
        return False
    source = Path(str(array.filename))
    if source.suffix != ".npy" or cache_root().resolve() not in source.resolve().parents:
        return False
    if array.offset + array.nbytes != source.stat().st_size or np.load(source, mmap_mode="r").shape != array.shape:
        return False
    with suppress(OSError):  # a file system without hard links: copy
        os.link(source, target)
        return True
    return False


def _read_array(folder: Path, name: str, facts: Mapping[str, Any]) -> Points:
    shape, dtype = tuple(facts["shape"]), np.dtype(facts["dtype"])
    parts = [_open(folder / f"{name}{part}.npy") for part in _PARTS[facts["kind"]]]
    if facts["kind"] == "dense":
        (array,) = parts
        if array.shape != shape or array.dtype != dtype:
            raise ValueError(f"{folder / name} is {array.dtype} {array.shape}, its manifest says {dtype} {shape}.")
        return array
    data, indices, indptr = parts
    if data.shape != (facts["nnz"],) or len(indptr) != shape[0] + 1 or data.dtype != dtype:
        raise ValueError(f"{folder / name} is not the sparse matrix of its manifest.")
    matrix = scipy.sparse.csr_array((data, indices, indptr), shape=shape)
    matrix.has_canonical_format = True  # ensured when it was written; spares a pass over all indices
    return matrix


def _open(path: Path) -> np.ndarray[Any, Any]:
    """Map the file; labels and other vectors, and empty arrays (which cannot be mapped), are read."""
    mapped: np.ndarray[Any, Any] = np.load(path, mmap_mode="r")
    return mapped if mapped.ndim > 1 and mapped.size else np.array(mapped)
