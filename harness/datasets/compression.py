"""Opening a data file, compressed or not, and every way in which a library fails on it as one sentence."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

from harness.datasets import fetching
from harness.datasets.bounds import refuse_beyond, too_large
from harness.errors import DataError, UsageError
from harness.parameters import did_you_mean
from harness.plain import plain_line

_MAGIC = {".gz": b"\x1f\x8b", ".bz2": b"BZh", ".xz": b"\xfd7zXZ\x00"}
SUFFIXES = tuple(_MAGIC)
"""Of compressed files."""
_STREAM: Mapping[str | None, Callable[[], Any]] = {".bz2": bz2.BZ2Decompressor, ".xz": lzma.LZMADecompressor}
_BLOCK = 1 << 20  # bytes unpacked at a time
_LONGEST = 2000  # characters of a message


def existing_file(path: str) -> Path:
    """Return the path of a regular file that is not empty; a pipe or a device, which may never end, is not opened.

    What an address of the network has is fetched once.

    Raises
    ------
    DataError : it is missing (near names in the folder are listed), no regular file, empty, or not readable.
    """
    try:
        file = fetching.local(path) if fetching.is_address(path) else Path(path).expanduser()
        size = file.stat().st_size
        if file.is_file() and size:
            file.open("rb").close()
            return file
        what = f"{path!r} is {'empty (0 bytes)' if file.is_file() else 'a folder, a pipe or a device'}"
    except FileNotFoundError:
        what = f"there is no file {path!r}{did_you_mean(file.name, [near.name for near in file.parent.glob('*')])}"
    except (OSError, RuntimeError, ValueError) as error:  # a folder of an unknown user, the character 0 in a name
        what = f"{path!r} cannot be read ({getattr(error, 'strerror', None) or error})"
    raise DataError(f"{what}; expected a data file. Check the path and its permissions.")


def compression_of(path: Path) -> str | None:
    """Return ``.gz``, ``.bz2`` or ``.xz`` where a file starts like that, whatever its name."""
    with path.open("rb") as file:
        start = file.read(6)
    return next((kind for kind, magic in _MAGIC.items() if start.startswith(magic)), None)


def format_suffix(path: Path) -> str:
    """Return the suffix that names the format, without a compression suffix: ``a.csv.gz`` -> ``.csv``."""
    return (Path(path.stem) if path.suffix.lower() in _MAGIC else path).suffix.lower()


def streamed(path: Path) -> BinaryIO:
    """Return the file's (decompressed) content as it is unpacked, some MB at a time."""
    kind = compression_of(path)
    if kind in _STREAM:
        return io.BufferedReader(_Streams(path, _STREAM[kind]), _BLOCK)
    return cast("BinaryIO", gzip.open(path)) if kind else path.open("rb")


class _Streams(io.RawIOBase):
    """What streams of bzip2 or xz unpack to, one after the other.

    The library's own readers end without a word where bytes follow that begin no stream. Zeros, which pad, are left out.
    """

    def __init__(self, path: Path, new: Callable[[], Any]) -> None:
        self._file, self._new, self._stream = path.open("rb"), new, new()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        content = b""
        while not content:
            packed = b""
            if self._stream.eof:
                if not (packed := self._stream.unused_data.lstrip(b"\0") or self._file.read(_BLOCK)):
                    return 0
                self._stream = self._new()
            elif self._stream.needs_input and not (packed := self._file.read(_BLOCK)):
                raise EOFError("it ends within a stream")
            content = self._stream.decompress(packed, len(buffer))
        buffer[: len(content)] = content
        return len(content)

    def close(self) -> None:
        self._file.close()
        super().close()


def opened(path: Path, weight: int = 1) -> BinaryIO:
    """Return the file's (decompressed) content to read from the start. A compressed file is unpacked in memory.

    Parameters
    ----------
    weight : bytes of memory that a byte of it takes when it is parsed

    Raises
    ------
    DataError : it is larger than reading may take (:func:`harness.datasets.bounds.bound`); a compressed one is unpacked
        as far as that.
    """
    if compression_of(path) is None:
        size = path.stat().st_size
        refuse_beyond(size * weight, path, "its content, parsed,", "or convert it to .npy, which is mapped")
        return path.open("rb")
    content, remedy = io.BytesIO(), "or unpack it and convert it to .npy"
    with streamed(path) as file:
        while block := file.read(_BLOCK):
            content.write(block)
            refuse_beyond(content.tell() * weight, path, "the beginning of what it unpacks to, parsed,", remedy)
    content.seek(0)
    return content


@contextmanager
def in_a_sentence(path: str | Path) -> Iterator[None]:
    """Turn whatever a file makes the libraries raise into a sentence on it.

    Raises
    ------
    DataError : on one line; in the place of every other exception.
    """
    try:
        yield
    except DataError as error:
        raise DataError(plain_line(str(error), _LONGEST)) from error
    except UsageError:
        raise
    except MemoryError:
        raise too_large(path, "reading it takes too much memory", "or convert it to .npy") from None
    except Exception as error:
        why = plain_line(str(error), 200) or type(error).__name__
        raise DataError(
            f"'{path}' cannot be read ({why}): it is damaged, or not as this format is read here. Fetch or write it "
            "again, or convert it to .csv."
        ) from error
