"""Opening a data file, compressed or not, with every way this can fail put into a sentence."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zlib
from pathlib import Path
from typing import BinaryIO

from harness.errors import DataError
from harness.parameters import did_you_mean

_MAGIC = {".gz": b"\x1f\x8b", ".bz2": b"BZh", ".xz": b"\xfd7zXZ\x00"}
_READ = {".gz": gzip.decompress, ".bz2": bz2.decompress, ".xz": lzma.decompress}


def existing_file(path: str) -> Path:
    """Return the path of a readable, non-empty file.

    Raises
    ------
    DataError : it is missing (near names in the folder are listed), a folder, empty, or not readable.
    """
    found = Path(path).expanduser()
    if found.is_dir():
        raise DataError(f"'{path}' is a folder; expected a data file. Name a file in it, e.g. {_example(found)}.")
    if not found.exists():
        if not found.parent.is_dir():
            raise DataError(f"there is no file '{path}': its folder {found.parent} does not exist. Check the path.")
        names = [entry.name for entry in found.parent.iterdir()]
        raise DataError(
            f"there is no file '{found.name}' in {found.parent.resolve()}{did_you_mean(found.name, names)}"
            ". Check the path."
        )
    try:
        with found.open("rb") as file:
            if not file.read(1):
                raise DataError(f"'{path}' is empty (0 bytes); expected a data file. Fetch or write it again.")
    except OSError as error:
        raise DataError(f"'{path}' cannot be read ({error.strerror}). Check its permissions.") from None
    return found


def bare_name(path: Path) -> tuple[str, str]:
    """Return the stem and the format suffix, without a compression suffix: ``a.csv.gz`` -> ``('a', '.csv')``."""
    name = path.name
    if path.suffix.lower() in _MAGIC:
        name = path.stem
    inner = Path(name)
    return inner.stem or name, inner.suffix.lower()


def is_compressed(path: Path) -> bool:
    """Return whether the file starts like gzip, bzip2 or xz, or is named like one."""
    return path.suffix.lower() in _MAGIC or _kind(path) is not None


def opened(path: Path) -> BinaryIO:
    """Return the file's (decompressed) content to read from the start. A compressed file is unpacked in memory.

    Raises
    ------
    DataError : the file is truncated, damaged, or not of the compression its name says.
    """
    kind = _kind(path)
    if kind is None:
        suffix = path.suffix.lower()
        if suffix in _MAGIC:
            raise DataError(f"'{path}' is named {suffix} but is not compressed that way. Rename it, or fetch it again.")
        return path.open("rb")
    try:
        content = _READ[kind](path.read_bytes())
    except (EOFError, OSError, ValueError, lzma.LZMAError, zlib.error) as error:
        # bz2 and lzma call a truncated stream by different names; to the user they are one case.
        raise DataError(
            f"'{path}' cannot be decompressed: {kind} data truncated or damaged ({error}). Fetch it again."
        ) from None
    if not content:
        raise DataError(f"'{path}' is empty after decompression; expected a data file. Fetch or write it again.")
    return io.BytesIO(content)


def _kind(path: Path) -> str | None:
    with path.open("rb") as file:
        start = file.read(6)
    return next((kind for kind, magic in _MAGIC.items() if start.startswith(magic)), None)


def _example(folder: Path) -> str:
    files = sorted(entry.name for entry in folder.iterdir() if entry.is_file())
    return f"'{folder / files[0]}'" if files else f"'{folder / 'train.csv'}'"
