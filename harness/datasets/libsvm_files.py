"""LIBSVM text. Whether its indices begin at 0 or at 1 is not said in a file; it is settled once for all files of a set."""

from __future__ import annotations

import codecs
import io
import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import scipy.sparse

from harness.datasets.labels import clipped
from harness.errors import DataError

if TYPE_CHECKING:
    Csr = scipy.sparse.csr_array

MOST_INDEX = 2**31 - 2
"""The greatest index that is read: numbers of columns have 32 bits in the libraries of this field."""
DENSE_FROM = 0.25
"""Share of non-zeros from which LIBSVM text becomes a dense array: CSR (12 bytes a value) then gains little."""
_START = 1 << 16  # bytes by which the ends of lines are told
_LINES = 5_000  # that are parsed at a time in search of the one that cannot be


def read_libsvm(file: BinaryIO, path: Path | str, first: int = 1) -> tuple[Csr, np.ndarray[Any, Any]]:
    """Return (n, most index + 1) points in which column j holds index j, and (n,) labels.

    Parameters
    ----------
    file : can go back
    first : the number of its first line in the whole file, for the message

    Raises
    ------
    DataError : not LIBSVM text; it names the first line that is none, and why.
    """
    from sklearn.datasets import load_svmlight_file

    file = _from_the_first_line(file)
    begin = file.tell()
    try:
        x, labels = load_svmlight_file(file, zero_based=True)
    except (ValueError, OverflowError) as error:
        file.seek(begin)
        raise DataError(
            f"'{path}' is not LIBSVM text: {_fault(file, first) or clipped(str(error), 120)}. Expected lines 'label "
            "index:value ...' with ascending indices; a table needs the suffix .csv."
        ) from None
    return scipy.sparse.csr_array(x), labels


def _from_the_first_line(file: BinaryIO) -> BinaryIO:
    """Return the text after a byte-order mark, its lines ending in line feeds."""
    begin = file.tell()
    start = file.read(_START)
    file.seek(begin)
    if b"\r" in start and b"\n" not in start:
        content = file.read()
        file = io.BytesIO(content.replace(b"\r\n", b"\n").replace(b"\r", b"\n"))
    if start.startswith(codecs.BOM_UTF8):
        file.seek(len(codecs.BOM_UTF8), io.SEEK_CUR)
    return file


def _fault(file: BinaryIO, first: int) -> str:
    """Return which line the parser refuses, and why; empty if it takes each alone."""
    from sklearn.datasets import load_svmlight_file

    def refused(lines: list[bytes]) -> bool:
        try:
            load_svmlight_file(io.BytesIO(b"".join(lines)), zero_based=True)
        except (ValueError, OverflowError):
            return any(line.split(b"#")[0].strip() for line in lines)  # it refuses text without points too
        return False

    while lines := list(itertools.islice(file, _LINES)):
        if not refused(lines):
            first += len(lines)
            continue
        while len(lines) > 1:  # a line is refused whatever stands before it
            half = len(lines) // 2
            if refused(lines[:half]):
                lines = lines[:half]
            else:
                lines, first = lines[half:], first + half
        return f"line {first}: {_reason(lines[0])}"
    return ""


def _reason(line: bytes) -> str:
    """Return what is wrong with a line that the parser refuses."""
    label, *cells = line.split(b"#")[0].split()
    if not _is(float, label):
        return f"'{_shown(label)}' is no label, which is a number"
    if cells and cells[0].startswith(b"qid"):
        query = cells.pop(0)
        if b":" not in query:
            return f"'{_shown(query)}' is no qid:number"
    before = -1
    for cell in cells:
        index, colon, value = cell.partition(b":")
        if not colon or not _is(int, index) or not _is(float, value):
            return f"'{_shown(cell)}' is no index:value"
        number = int(index)
        if not 0 <= number <= MOST_INDEX:
            return f"the index {_shown(index)} is not in 0..{MOST_INDEX}: {'negative' if number < 0 else 'too wide a matrix'}"
        if number <= before:
            return f"the index {number} comes {'twice' if number == before else f'after {before}'}"
        before = number
    return f"'{_shown(line.strip())}' cannot be read"


def _is(kind: type[int | float], text: bytes) -> bool:
    try:
        kind(text)
    except (ValueError, OverflowError):
        return False
    return True


def _shown(text: bytes) -> str:
    return clipped(text[:200].decode(errors="replace"))


def index_range(x: Csr) -> tuple[int, int] | None:
    """Return the least and the greatest index of points as they were read; None if there are no values."""
    return (int(x.indices.min()), int(x.indices.max())) if x.nnz else None


def base_of(ranges: Sequence[tuple[int, int] | None], chosen: str, paths: Sequence[Path | str]) -> int:
    """Return the index of the first feature in all files: 0 if any of them has an index 0, else 1.

    Parameters
    ----------
    ranges : :func:`index_range` of each file
    chosen : what the user says about it, ``auto``, ``0`` or ``1``

    Raises
    ------
    DataError : there is an index 0 and ``chosen`` is 1.
    """
    zero = [path for path, found in zip(paths, ranges, strict=True) if found is not None and found[0] == 0]
    if zero and chosen == "1":
        raise DataError(
            f"'{zero[0]}' has the index 0, which index_base=1 excludes; expected indices from 1. "
            "Leave the parameter out, or give index_base=0."
        )
    return 0 if zero or chosen == "0" else 1


def based(x: Csr, base: int, width: int) -> Csr:
    """Return (n, width) points of which column 0 holds the index ``base``."""
    return scipy.sparse.csr_array((x.data, x.indices - base, x.indptr), shape=(x.shape[0], width))
