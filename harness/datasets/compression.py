"""Opening a data file, compressed or not, with every way this can fail put into a sentence."""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import os
import stat
import unicodedata
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, cast

from harness.datasets.bounds import AS_TEXT, bound, refuse_beyond, shown
from harness.errors import DataError
from harness.parameters import did_you_mean
from harness.selection import quoted

_MAGIC = {".gz": b"\x1f\x8b", ".bz2": b"BZh", ".xz": b"\xfd7zXZ\x00"}
_DAMAGED = (EOFError, OSError, ValueError, lzma.LZMAError, zlib.error)
_BLOCK = 1 << 20  # bytes read, and unpacked, at a time
_START = 1 << 16  # bytes by which text is told from what is none
_SPECIAL = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def existing_file(path: str) -> Path:
    """Return the path of a readable, non-empty, regular file. What may never end, or is no file of a disk, is not opened.

    Raises
    ------
    DataError : it is missing (near names in the folder are listed), a folder, a pipe, a device, a file of the system
        (/proc, /sys), empty, or not readable.
    """
    if not path or any(unicodedata.category(character) in ("Cc", "Cs") for character in path):
        raise DataError(f"{path!r} is no name of a data file as read here: give it one without control characters.")
    try:
        found = Path(path).expanduser()
        facts = found.stat()
    except (FileNotFoundError, NotADirectoryError):
        raise _missing(path, found) from None
    except (OSError, RuntimeError) as error:  # RuntimeError: the folder of an unknown user
        raise DataError(f"'{path}' cannot be read ({_why(error)}). Check the path and its permissions.") from None
    if stat.S_ISDIR(facts.st_mode):
        raise DataError(f"'{path}' is a folder; expected a data file. Name a file in it, e.g. {_example(found)}.")
    _refuse_special(path, facts)
    if facts.st_size == 0:
        raise DataError(f"'{path}' is empty (0 bytes); expected a data file. Fetch or write it again.")
    regular(found).close()
    return found


def _missing(path: str, found: Path) -> DataError:
    hint = f" To name a path with brackets or commas, write '{quoted(path)}'." if quoted(path) != path else ""
    if not found.parent.is_dir():
        return DataError(f"there is no file '{path}': its folder {found.parent} does not exist. Check the path.{hint}")
    names = []
    with suppress(OSError):
        names = [entry.name for entry in found.parent.iterdir()]
    return DataError(
        f"there is no file '{found.name}' in {found.parent.resolve()}{did_you_mean(found.name, names)}"
        f". Check the path.{hint}"
    )


def _refuse_special(path: Path | str, facts: os.stat_result) -> None:
    """Raise unless it is a regular file of a disk: what a device or the kernel gives may block, or never end."""
    if not stat.S_ISREG(facts.st_mode):
        what = _SPECIAL.get(stat.S_IFMT(facts.st_mode), "no regular file")
        raise DataError(f"'{path}' is {what}; expected a data file. Write what it gives to a file first.")
    for root in ("/proc", "/sys"):
        with suppress(OSError):
            if facts.st_dev == Path(root).stat().st_dev != Path("/").stat().st_dev:
                raise DataError(
                    f"'{path}' is a file of the system ({root}); expected a data file. Copy its content to a file first."
                )


def regular(path: Path) -> io.BufferedReader:
    """Open a regular file to read; it never waits, whatever stands there by now.

    Raises
    ------
    DataError : it cannot be opened, or is no regular file.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    except OSError as error:
        raise DataError(f"'{path}' cannot be read ({_why(error)}). Check the path and its permissions.") from None
    try:
        _refuse_special(path, os.fstat(descriptor))
    except DataError:
        os.close(descriptor)
        raise
    return os.fdopen(descriptor, "rb")


def _why(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


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


def opened(path: Path, weight: int = 1) -> BinaryIO:
    """Return the file's (decompressed) content to read from the start. A compressed file is unpacked in memory.

    Parameters
    ----------
    weight : bytes of memory that a byte of it takes when it is parsed

    Raises
    ------
    DataError : the file is truncated, damaged, not of the compression its name says, or larger than reading may take
        (:func:`harness.datasets.bounds.bound`); a compressed one is unpacked as far as that.
    """
    file = streamed(path)
    if _kind(path) is None:
        return file
    content, most = io.BytesIO(), bound() // weight
    with file:
        while block := file.read(_BLOCK):
            content.write(block)
            if content.tell() > most:
                what = f"what it unpacks to is more than {shown(content.tell())} and, parsed,"
                refuse_beyond(
                    max(content.tell() * weight, bound() + 1), path, what, "or unpack it and convert it to .npy"
                )
    if not content.tell():
        raise DataError(f"'{path}' is empty after decompression; expected a data file. Fetch or write it again.")
    content.seek(0)
    return content


def opened_text(path: Path, weight: int = AS_TEXT) -> BinaryIO:
    """Return the content of a text file as :func:`opened` does.

    Raises
    ------
    DataError : as there; and it begins as no text in UTF-8 does.
    """
    with streamed(path) as file:
        start = file.read(_START)
    if b"\0" in start:
        coded = start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        raise DataError(
            f"'{path}' is not UTF-8 text (it holds the byte 0"
            + ("; it looks like UTF-16). Convert it first." if coded else "). Fetch or write it again.")
        )
    return opened(path, weight)


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
        return regular(path)
    source: Any  # gzip's own reader refuses what follows a stream and is none; the other two of the library ignore it
    file = regular(path)
    if kind == ".gz":
        source = gzip.GzipFile(fileobj=file)
    else:
        source = _Streams(file, bz2.BZ2Decompressor if kind == ".bz2" else lzma.LZMADecompressor)
    return cast("BinaryIO", io.BufferedReader(_Told(source, file, path, kind), _BLOCK))


class _Streams(io.RawIOBase):
    """The content of the bzip2 or xz streams of a file, one after the other; zeros between them are padding."""

    def __init__(self, file: BinaryIO, new: Callable[[], Any]) -> None:
        self._file, self._new = file, new
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


class _Told(io.RawIOBase):
    """A decompressing stream whose failures are sentences."""

    def __init__(self, source: Any, file: BinaryIO, path: Path, kind: str) -> None:
        self._source, self._file, self._path, self._kind = source, file, path, kind

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
        self._file.close()
        super().close()


def _kind(path: Path) -> str | None:
    with regular(path) as file:
        start = file.read(6)
    return next((kind for kind, magic in _MAGIC.items() if start.startswith(magic)), None)


def _example(folder: Path) -> str:
    files = sorted(entry.name for entry in folder.iterdir() if entry.is_file())
    return f"'{folder / files[0]}'" if files else f"'{folder / 'train.csv'}'"
