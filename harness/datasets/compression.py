"""Opening a data file, compressed or not, with every way this can fail put into a sentence."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, cast

from harness.errors import DataError
from harness.parameters import did_you_mean

_MAGIC = {".gz": b"\x1f\x8b", ".bz2": b"BZh", ".xz": b"\xfd7zXZ\x00"}
_DAMAGED = (EOFError, OSError, ValueError, lzma.LZMAError, zlib.error)
_BLOCK = 1 << 20  # bytes read, and unpacked, at a time


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
    file = streamed(path)
    if _kind(path) is None:
        return file
    with file:
        content = file.read()
    if not content:
        raise DataError(f"'{path}' is empty after decompression; expected a data file. Fetch or write it again.")
    return io.BytesIO(content)


def streamed(path: Path) -> BinaryIO:
    """Return the file's (decompressed) content as it is unpacked, some MB at a time; it cannot go back.

    Raises
    ------
    DataError : the file is not of the compression its name says; when read, it is truncated or damaged.
    """
    kind = _kind(path)
    if kind is None:
        suffix = path.suffix.lower()
        if suffix in _MAGIC:
            raise DataError(f"'{path}' is named {suffix} but is not compressed that way. Rename it, or fetch it again.")
        return path.open("rb")
    source: Any  # gzip's own reader refuses what follows a stream and is none; the other two of the library ignore it
    if kind == ".gz":
        source = gzip.GzipFile(path)
    else:
        source = _Streams(path, bz2.BZ2Decompressor if kind == ".bz2" else lzma.LZMADecompressor)
    return cast("BinaryIO", io.BufferedReader(_Told(source, path, kind), _BLOCK))


class _Streams(io.RawIOBase):
    """The content of the bzip2 or xz streams of a file, one after the other; zeros between them are padding."""

    def __init__(self, path: Path, new: Callable[[], Any]) -> None:
        self._file, self._new = path.open("rb"), new
        self._stream = new()

    def readinto(self, buffer: Any) -> int:
        while True:
            data = b""
            if self._stream.eof:
                data = self._next_stream(self._stream.unused_data)
                if not data:
                    return 0
                self._stream = self._new()
            elif self._stream.needs_input:
                data = self._file.read(_BLOCK)
                if not data:
                    raise EOFError("it ends before its last stream does")
            content = self._stream.decompress(data, len(buffer))
            if content:
                buffer[: len(content)] = content
                return len(content)

    def _next_stream(self, data: bytes) -> bytes:
        """Return what follows a stream and its padding: the beginning of another, or nothing at the file's end."""
        data = data.lstrip(b"\0")
        while not data:
            block = self._file.read(_BLOCK)
            if not block:
                break
            data = block.lstrip(b"\0")
        return data

    def close(self) -> None:
        self._file.close()
        super().close()


class _Told(io.RawIOBase):
    """A decompressing stream whose failures are sentences."""

    def __init__(self, source: Any, path: Path, kind: str) -> None:
        self._source, self._path, self._kind = source, path, kind

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            return int(self._source.readinto(buffer))
        except _DAMAGED as error:
            # The libraries call a truncated stream by different names; to the user they are one case.
            raise DataError(
                f"'{self._path}' cannot be decompressed: {self._kind} data truncated or damaged ({error}). "
                "Fetch it again."
            ) from None

    def close(self) -> None:
        self._source.close()
        super().close()


def _kind(path: Path) -> str | None:
    with path.open("rb") as file:
        start = file.read(6)
    return next((kind for kind, magic in _MAGIC.items() if start.startswith(magic)), None)


def _example(folder: Path) -> str:
    files = sorted(entry.name for entry in folder.iterdir() if entry.is_file())
    return f"'{folder / files[0]}'" if files else f"'{folder / 'train.csv'}'"
