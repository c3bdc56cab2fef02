"""Parsed data on disk: a source is parsed once, afterwards each process maps the binary arrays into memory.

An entry is a folder with a file for each array and a ``manifest.json``. It is written to a scratch folder and renamed,
so that it is complete or absent. Its name is the SHA-256 of everything the content depends on: raw checksums, source,
parameters, :data:`PARSER_VERSION`. Loaded data are hashed and compared with the manifest. The cache may be deleted at any
time.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from harness.datasets.compression import compression_of, streamed
from harness.datasets.dataset import Dataset, is_csr, named
from harness.kernels.points import is_mapped
from harness.support.errors import DataError, UsageError
from harness.support.files import file_sha256, locked_scratch, user_cache, write_whole

__all__ = ["PARSER_VERSION", "cache_root", "dataset", "file_sha256", "unpacked_sha256"]

PARSER_VERSION = 10
"""Version of the entries, to be increased when a parser's output or the format changes; other entries are ignored."""
_ARRAYS = ("x_train", "y_train", "x_test", "y_test")


def cache_root() -> Path:
    """Return ``HARNESS_CACHE``, else the user's cache folder of ``svm-harness``."""
    return user_cache("HARNESS_CACHE")


def dataset(
    label: str, name: str, key: Mapping[str, Any], parse: Callable[[], Dataset], sources: Mapping[Path, str]
) -> Dataset:
    """Return the data set stored for ``key``; parsed and stored if there is none whose content is that of its manifest.

    Dense points come back memory-mapped and read-only. An entry that was changed costs a warning and the time to parse
    again.

    Parameters
    ----------
    label : name of the data set
    name : prefix of the folder's name, for the reader of a listing
    key : JSON-able; everything the content depends on
    parse : called at most once; what it raises is passed on
    sources : the files that ``parse`` reads, with the SHA-256 that ``key`` has of them or of what they unpack to

    Raises
    ------
    DataError : a source has changed while it was read; nothing is stored then.
    UsageError : the entry cannot be written.
    """
    text = json.dumps({"parser": PARSER_VERSION, "name": name, **key}, sort_keys=True, default=str)
    folder = cache_root() / "parsed" / f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:24]}"
    data = _load(folder, text)
    if data is None:
        if folder.exists():
            warnings.warn(
                f"the parsed data in {folder} are not what was stored there; they are read again.", stacklevel=2
            )
        data = _stored(folder, text, parse(), sources)
    return replace(data, name=label)


def _stored(folder: Path, key: str, parsed: Dataset, sources: Mapping[Path, str]) -> Dataset:
    """Return a parsed data set as it is stored, by this process or meanwhile by another."""
    try:
        with locked_scratch(folder) as scratch:
            if (data := _load(folder, key)) is None:
                for name in _ARRAYS:
                    _write(scratch / name, getattr(parsed, name))
                _refuse_changed(sources)  # only now: an array may be a map of a source
                # hash what lies on disk, through the map: a slice of a huge file is never copied whole
                facts = {"task": parsed.task, "defaults": dict(parsed.defaults), "notes": dict(parsed.notes)}
                data = _mapped(scratch, facts)
                (scratch / "manifest.json").write_text(json.dumps(_manifest(key, facts, data.sha256), indent=1))
                shutil.rmtree(folder, ignore_errors=True)
                scratch.rename(folder)
                # a map names the file it opened, and joblib hands a map to another process by that name
                maps = [name for name in _ARRAYS if is_mapped(getattr(data, name))]
                data = replace(data, **{name: _read(folder / name) for name in maps})
    except OSError as error:
        raise UsageError(f"{folder} cannot be written ({error}); set HARNESS_CACHE to a folder that can.") from None
    return data


def unpacked_sha256(path: Path) -> str:
    """Return the SHA-256 of the content of a file, unpacked if it is compressed.

    The cache stores it under the SHA-256 of the file, which is computed each time, so that a file is unpacked once.
    """
    packed = file_sha256(path)
    if compression_of(path) is None:
        return packed
    note = cache_root() / "unpacked" / packed
    if not note.is_file():
        with streamed(path) as file:
            write_whole(note, hashlib.file_digest(file, "sha256").hexdigest().encode())  # type: ignore[arg-type]
    return note.read_text()


def _refuse_changed(sources: Mapping[Path, str]) -> None:
    for path, sha256 in sources.items():
        if not path.is_file() or (file_sha256(path) != sha256 and unpacked_sha256(path) != sha256):
            raise DataError(f"'{path}' has changed while it was read. Let whatever writes it finish, then start again.")


def _manifest(key: str, facts: Mapping[str, Any], content: str) -> dict[str, Any]:
    """Return the manifest of an entry, with a SHA-256 of the manifest and of the content of the arrays."""
    whole = json.dumps([key, facts, content], sort_keys=True)
    return {"key": key, "facts": facts, "sha256": hashlib.sha256(whole.encode()).hexdigest()}


def _load(folder: Path, key: str) -> Dataset | None:
    """Return the entry; None if it is absent, or if anything in it is not what was stored for ``key``."""
    try:
        manifest = json.loads((folder / "manifest.json").read_text())
        data = _mapped(folder, manifest["facts"])
    except Exception:  # a damaged file makes NumPy, zipfile or json raise various exceptions
        return None
    return data if manifest == _manifest(key, manifest["facts"], data.sha256) else None


def _mapped(folder: Path, facts: Mapping[str, Any]) -> Dataset:
    fields = {**facts, **{name: _read(folder / name) for name in _ARRAYS}}
    return named(Dataset(name="", sha256="", **fields), "")


def _write(path: Path, array: Any) -> None:
    """Write a dense array as a .npy file, a CSR one as an .npz file."""
    if is_csr(array):
        import scipy.sparse

        # LIBSVM's wrapper takes 32-bit indices only, and they halve the memory
        index = np.int32 if max(*array.shape, array.nnz) < np.iinfo(np.int32).max else np.int64
        vectors = (array.data, array.indices.astype(index), array.indptr.astype(index))
        matrix = scipy.sparse.csr_array(vectors, shape=array.shape)
        scipy.sparse.save_npz(path.with_suffix(".npz"), matrix, compressed=False)
    else:  # slices of a map larger than memory are written piece by piece, all in C order
        np.save(path.with_suffix(".npy"), np.ascontiguousarray(array) if array.flags.f_contiguous else array)


def _read(path: Path) -> Any:
    """Map a dense array; vectors, empty arrays (which cannot be mapped) and CSR arrays are read."""
    if not path.with_suffix(".npz").exists():
        mapped: np.ndarray[Any, Any] = np.load(path.with_suffix(".npy"), mmap_mode="r")
        return mapped if mapped.ndim > 1 and mapped.size else np.array(mapped)
    import scipy.sparse

    with path.with_suffix(".npz").open("rb") as file:  # opened here, as SciPy does not close a damaged file
        matrix = scipy.sparse.csr_array(scipy.sparse.load_npz(file))
    matrix.has_canonical_format = True  # stored in canonical format; saves a pass over all indices
    return matrix
