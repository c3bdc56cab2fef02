"""Parsed data on disk: a source is parsed once, afterwards each process maps the binary arrays into memory.

An entry is a folder with a file for each array and a ``manifest.json``. It is made beside its place and renamed, so that
a reader sees a whole entry or none. Its name is the SHA-256 of everything the content depends on: raw checksums, source,
parameters, :data:`PARSER_VERSION`. Whatever is loaded is hashed and compared with the manifest. The whole cache may be
deleted at any time.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.datasets.compression import compression_of, streamed
from harness.datasets.dataset import Dataset, content_sha256, pieces
from harness.errors import DataError, UsageError
from harness.files import file_sha256, locked_scratch, user_cache

if TYPE_CHECKING:
    from harness.datasets.dataset import Points

__all__ = ["PARSER_VERSION", "Entry", "cache_root", "dataset", "fetch", "file_sha256", "unpacked_sha256"]

PARSER_VERSION = 7
"""Increase it when a parser's output or the form of an entry changes: entries of other versions are then not looked for."""


@dataclass(frozen=True)
class Entry:
    """Named arrays and a few JSON values that belong to them."""

    arrays: Mapping[str, Points]
    notes: Mapping[str, Any] = field(default_factory=dict)
    sha256: str = ""  # content_sha256 of the arrays in their order


def cache_root() -> Path:
    """Return ``HARNESS_CACHE``, else the user's cache folder of ``svm-harness``."""
    return user_cache("HARNESS_CACHE")


def dataset(
    label: str, name: str, key: Mapping[str, Any], parse: Callable[[], Dataset], sources: Mapping[Path, str]
) -> Dataset:
    """Return a parsed data set, called ``label``; the other parameters are those of :func:`fetch`."""

    def build() -> Entry:
        data = parse()
        arrays = {part: getattr(data, part) for part in ("x_train", "y_train", "x_test", "y_test")}
        return Entry(arrays, {"task": data.task, "defaults": dict(data.defaults), "notes": dict(data.notes)})

    entry = fetch(name, key, build, sources)
    fields: dict[str, Any] = {**entry.arrays, **entry.notes}
    return Dataset(name=label, sha256=entry.sha256, **fields)


def fetch(
    name: str, key: Mapping[str, Any], build: Callable[[], Entry], sources: Mapping[Path, str] | None = None
) -> Entry:
    """Return the entry for ``key``; built, stored and loaded again if there is none whose content is that of its manifest.

    Large dense arrays come back memory-mapped and read-only. An entry that was changed costs a warning and the time to
    parse again.

    Parameters
    ----------
    name : prefix of the folder's name, for the reader of a listing
    key : JSON-able; everything the content depends on
    build : called at most once; what it raises is passed on
    sources : the files that ``build`` reads, with the SHA-256 that ``key`` has of them or of what they unpack to

    Raises
    ------
    DataError : a source has changed while it was read; nothing is stored then.
    UsageError : the entry cannot be written, or not be read back.
    """
    text = json.dumps({"parser": PARSER_VERSION, "name": name, **key}, sort_keys=True, default=str)
    folder = cache_root() / "parsed" / f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:24]}"
    if (entry := _load(folder, text)) is not None:
        return entry
    if folder.exists():
        warnings.warn(f"the parsed data in {folder} are not what was stored there; they are read again.", stacklevel=2)
    built = build()
    try:
        with locked_scratch(folder) as scratch:
            if (entry := _load(folder, text)) is None:  # no other process has stored it meanwhile
                for part, array in built.arrays.items():
                    _write(scratch / part, array)
                _refuse_changed(sources or {})  # only now: an array may be a map of a source
                # hash what lies on disk, through the map: a slice of a huge file is never copied whole
                arrays = {part: _read(scratch / part) for part in built.arrays}
                stored = _manifest(text, Entry(arrays, built.notes, content_sha256(*arrays.values())))
                (scratch / "manifest.json").write_text(json.dumps(stored, indent=1))
                shutil.rmtree(folder, ignore_errors=True)
                scratch.rename(folder)
                entry = _load(folder, text)
        if entry is None:
            raise OSError("it cannot be read back")
    except OSError as error:
        raise UsageError(f"{folder} cannot be written ({error}); set HARNESS_CACHE to a folder that can.") from None
    return entry


def unpacked_sha256(path: Path) -> str:
    """Return the SHA-256 of what a file holds, unpacked where it is compressed: the same whatever wraps it.

    It is an entry of the cache under the file's own SHA-256, which is computed each time, so that a file is unpacked once.
    """
    packed = file_sha256(path)
    if compression_of(path) is None:
        return packed

    def unpack() -> Entry:
        with streamed(path) as file:
            return Entry({}, {"sha256": hashlib.file_digest(file, "sha256").hexdigest()})  # type: ignore[arg-type]

    return str(fetch("unpacked", {"sha256": packed}, unpack, {path: packed}).notes["sha256"])


def _refuse_changed(sources: Mapping[Path, str]) -> None:
    for path, sha256 in sources.items():
        if not path.is_file() or (file_sha256(path) != sha256 and unpacked_sha256(path) != sha256):
            raise DataError(f"'{path}' has changed while it was read. Let whatever writes it finish, then start again.")


def _manifest(key: str, entry: Entry) -> dict[str, Any]:
    """Return what is written of an entry beside its arrays, with a SHA-256 of all of it."""
    facts = {"key": key, "arrays": list(entry.arrays), "sha256": entry.sha256, "notes": dict(entry.notes)}
    return {**facts, "manifest_sha256": hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()}


def _load(folder: Path, key: str) -> Entry | None:
    """Return the entry; None if it is absent, or if anything in it is not what was stored for ``key``."""
    try:
        manifest = json.loads((folder / "manifest.json").read_text())
        arrays = {name: _read(folder / name) for name in manifest["arrays"]}
        entry = Entry(arrays, manifest["notes"], content_sha256(*arrays.values()))
    except Exception:  # whatever a damaged file makes NumPy, zipfile or json raise
        return None
    return entry if manifest == _manifest(key, entry) else None


def _write(target: Path, array: Points) -> None:
    """Write a dense array as a .npy file, a CSR one as an .npz file."""
    if not isinstance(array, np.ndarray):
        import scipy.sparse

        array.sum_duplicates()
        # LIBSVM's wrapper takes 32-bit indices only, and they halve the memory
        index = np.int32 if max(*array.shape, array.nnz) < np.iinfo(np.int32).max else np.int64
        vectors = (array.data, array.indices.astype(index), array.indptr.astype(index))
        written = scipy.sparse.csr_array(vectors, shape=array.shape)
        scipy.sparse.save_npz(target.with_suffix(".npz"), written, compressed=False)
        return
    source = getattr(array, "filename", None)
    if source and array.flags.c_contiguous and np.load(source, mmap_mode="r").shape == array.shape:
        with suppress(OSError):  # a file system without hard links
            os.link(source, target.with_suffix(".npy"))  # MNIST's pixels are the same for ten digits
            return
    # piece by piece and in C order, whatever the order of a slice or of a map larger than memory
    mapped = np.lib.format.open_memmap(target.with_suffix(".npy"), "w+", array.dtype, array.shape)
    for start, piece in pieces(array):
        mapped[start : start + len(piece)] = piece


def _read(path: Path) -> Points:
    """Map a dense array; vectors, empty arrays (which cannot be mapped) and CSR arrays are read."""
    if not path.with_suffix(".npz").exists():
        mapped: np.ndarray[Any, Any] = np.load(path.with_suffix(".npy"), mmap_mode="r")
        return mapped if mapped.ndim > 1 and mapped.size else np.array(mapped)
    import scipy.sparse

    with path.with_suffix(".npz").open("rb") as file:
        matrix = scipy.sparse.csr_array(scipy.sparse.load_npz(file))
    matrix.has_canonical_format = True  # as it was written; spares a pass over all indices
    return matrix
