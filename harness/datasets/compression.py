"""Opening a data file, compressed or not, and every way in which a library fails on it as one sentence."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, cast

from harness.datasets.bounds import bound, refuse_beyond, shown, too_large
from harness.datasets.labels import clipped
from harness.errors import DataError, UsageError
from harness.parameters import did_you_mean
from harness.selection import quoted

_MAGIC = {".gz": b"\x1f\x8b", ".bz2": b"BZh", ".xz": b"\xfd7zXZ\x00"}
_STREAM: Mapping[str, Callable[[], Any]] = {".bz2": bz2.BZ2Decompressor, ".xz": lzma.LZMADecompressor}
_DAMAGED = (EOFError, OSError, lzma.LZMAError, zlib.error)
_BLOCK = 1 << 20  # bytes unpacked at a time
_LONGEST = 2000  # characters of a message
_LONG_WORD = re.compile(r"([^\s/]{150})[^\s/]{150,}([^\s/]{20})")


def existing_file(path: str) -> Path:
    """Return the path of a regular file that is not empty; a pipe or a device, which may never end, is not opened.

    Raises
    ------
    DataError : it is missing (near names in the folder are listed), a folder, no regular file, empty, or not readable.
    """
    try:
        found = Path(path).expanduser()
        if not found.exists():
            raise _missing(path, found)
        if not found.is_file():
            what = "a folder" if found.is_dir() else "a pipe, a device or a socket"
            raise DataError(f"{path!r} is {what}; expected a data file. Name a file, e.g. '{found / 'train.csv'}'.")
        if not found.stat().st_size:  # so are files of the system
            raise DataError(f"'{path}' is empty (0 bytes); expected a data file. Fetch or write it again.")
        found.open("rb").close()
    except (OSError, RuntimeError, ValueError) as error:  # a folder of an unknown user, the character 0 in a name
        why = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise DataError(f"{path!r} cannot be read ({why}). Check the path and its permissions.") from None
    return found


def _missing(path: str, found: Path) -> DataError:
    hint = f" To name a path with brackets or commas, write '{quoted(path)}'." if quoted(path) != path else ""
    if not found.parent.is_dir():
        return DataError(f"there is no file {path!r}: its folder {found.parent} does not exist. Check the path.{hint}")
    names: list[str] = []
    with suppress(OSError):
        names = [entry.name for entry in found.parent.iterdir()]
    near = did_you_mean(found.name, names)
    return DataError(f"there is no file {found.name!r} in {found.parent.resolve()}{near}. Check the path.{hint}")


def bare_name(path: Path) -> tuple[str, str]:
    """Return the stem and the format suffix, without a compression suffix: ``a.csv.gz`` -> ``('a', '.csv')``."""
    name = path.stem if path.suffix.lower() in _MAGIC else path.name
    inner = Path(name)
    return inner.stem or name, inner.suffix.lower()


def compression_of(path: Path) -> str | None:
    """Return ``.gz``, ``.bz2`` or ``.xz`` where a file starts like that.

    Raises
    ------
    DataError : it is named like one and does not start like it.
    """
    with path.open("rb") as file:
        start = file.read(6)
    kind = next((kind for kind, magic in _MAGIC.items() if start.startswith(magic)), None)
    suffix = path.suffix.lower()
    if kind is None and suffix in _MAGIC:
        raise DataError(f"'{path}' is named {suffix} but is not compressed that way. Rename it, or fetch it again.")
    return kind


def streamed(path: Path) -> BinaryIO:
    """Return the file's (decompressed) content as it is unpacked, some MB at a time."""
    kind = compression_of(path)
    if kind is None:
        return path.open("rb")
    return (
        cast("BinaryIO", gzip.open(path)) if kind == ".gz" else io.BufferedReader(_Streams(path, _STREAM[kind]), _BLOCK)
    )


class _Streams(io.RawIOBase):
    """What streams of bzip2 or xz unpack to, one after the other.

    The library's own readers end without a word where bytes follow that begin no stream. Zeros, which pad, are left out.
    """

    def __init__(self, path: Path, stream: Callable[[], Any]) -> None:
        self._file, self._new, self._stream = path.open("rb"), stream, stream()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        content = b""
        while not content:
            packed = b""
            if self._stream.eof:
                packed = self._stream.unused_data.lstrip(b"\0")
                while not packed and (block := self._file.read(_BLOCK)):
                    packed = block.lstrip(b"\0")
                if not packed:
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
    kind = compression_of(path)
    if kind is None:
        refuse_beyond(
            path.stat().st_size * weight, path, "its content, parsed,", "or convert it to .npy, which is mapped"
        )
        return path.open("rb")
    content, most = io.BytesIO(), bound() // weight
    with streamed(path) as file:
        while block := file.read(_BLOCK):
            content.write(block)
            if content.tell() > most:
                why = f"what it unpacks to is more than {shown(most)} and, parsed, takes {weight} times that"
                raise too_large(path, why, "or unpack it and convert it to .npy")
    if not content.tell():
        raise DataError(f"'{path}' is empty after decompression; expected a data file. Fetch or write it again.")
    content.seek(0)
    return content


@contextmanager
def in_a_sentence(path: str | Path, kind: str = "") -> Iterator[None]:
    """Turn whatever a file makes the libraries raise into a sentence on it.

    Parameters
    ----------
    kind : the format as which it is read, for the message

    Raises
    ------
    DataError : on one line; in the place of every other exception.
    """
    try:
        yield
    except DataError as error:
        raise DataError(_LONG_WORD.sub(r"\1...\2", clipped(str(error), _LONGEST))) from error
    except UsageError:
        raise
    except MemoryError:
        raise too_large(path, "reading it takes too much memory", "or convert it to .npy") from None
    except Exception as error:
        why = clipped(str(error), 200) or type(error).__name__
        if isinstance(error, _DAMAGED) and (packed := compression_of(Path(path).expanduser())):
            raise DataError(
                f"'{path}' cannot be decompressed: {packed} data truncated or damaged ({why}). Fetch it again."
            ) from error
        as_kind = f" as {kind}" if kind else ""
        raise DataError(
            f"'{path}' cannot be read{as_kind} ({why}): it is damaged, or not as this format is read here. Write it again, "
            "or convert it to .csv."
        ) from error
