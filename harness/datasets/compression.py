"""Opening a data file, compressed or not, and every way in which a library fails on it as one sentence."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from harness.datasets import fetching
from harness.datasets.bounds import refuse_beyond, too_large
from harness.support.errors import DataError, UsageError
from harness.support.parameters import did_you_mean
from harness.support.printable import plain_line

_MAGIC = {".gz": b"\x1f\x8b", ".bz2": b"BZh", ".xz": b"\xfd7zXZ\x00"}
SUFFIXES = tuple(_MAGIC)
"""Of compressed files."""
_OPEN: Mapping[str, Callable[[Any], Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
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
    """Return ``.gz``, ``.bz2`` or ``.xz`` by the first bytes of a file; None for other files."""
    with path.open("rb") as file:
        start = file.read(6)
    return next((kind for kind, magic in _MAGIC.items() if start.startswith(magic)), None)


def format_suffix(path: Path) -> str:
    """Return the suffix that names the format, without a compression suffix: ``a.csv.gz`` -> ``.csv``."""
    return (Path(path.stem) if path.suffix.lower() in _MAGIC else path).suffix.lower()


class _Packed(io.FileIO):
    """A compressed file, which knows whether it was read to its end."""

    ended = False

    def read(self, size: int | None = -1) -> bytes:
        block = super().read(size)
        self.ended = not block
        return block


@contextmanager
def streamed(path: Path) -> Iterator[BinaryIO]:
    """Open the file's (decompressed) content, which is unpacked as it is read.

    Raises
    ------
    DataError : bytes follow that begin no stream. The libraries end there without a word, and read no further.
    """
    kind = compression_of(path)
    if kind is None:
        with path.open("rb") as file:
            yield file
        return
    with _Packed(path) as packed, _OPEN[kind](packed) as content:
        yield content
        if not content.read(1) and not packed.ended:
            raise DataError(f"'{path}': it is damaged, other bytes follow its content. Fetch or write it again.")


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
        refuse_beyond(
            path.stat().st_size * weight, path, "its content, parsed,", "or convert it to .npy, which is mapped"
        )
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
