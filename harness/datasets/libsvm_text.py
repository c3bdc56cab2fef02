"""LIBSVM text, read by scikit-learn, with checks of the first index, the number of columns and faulty lines."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal

import scipy.sparse

from harness.datasets.bounds import bound, given_limit, megabytes
from harness.support.arrays import Array
from harness.support.errors import DataError

Csr = scipy.sparse.csr_array
IndexBase = Literal["auto", "0", "1"]

_COLUMN_BYTES = 16  # bytes for each column of arrays over all columns: a count and a share
_LIKELY_BYTES = 1 << 30  # bytes of such arrays above which the greatest index may be a mistake
_LIKELY_RATIO = 100  # bytes of such arrays, as a multiple of those of the values, above which it may be one too


def read_libsvm(lines: Iterable[bytes], above: int = 0) -> tuple[Csr, Array]:
    """Return (n, most index + 1) points in which column j is index j, and (n,) labels.

    Parameters
    ----------
    lines : a binary file, or some of its lines
    above : number of lines before them, for messages

    Raises
    ------
    ValueError : a line is not LIBSVM text; the message has its number.
    """
    from sklearn.datasets import load_svmlight_file

    text = _Lines(lines, above)
    try:
        x, labels = load_svmlight_file(text, zero_based=True)
    except (ValueError, OverflowError) as error:
        raise ValueError(f"line {text.number}: {error}") from None
    return Csr(x), labels


class _Lines:
    """A file for scikit-learn without byte-order marks; ``number`` is the number of the last line read."""

    def __init__(self, lines: Iterable[bytes], above: int) -> None:
        self.lines, self.number = lines, above

    def __iter__(self) -> Iterator[bytes]:
        for line in self.lines:
            self.number += 1
            yield line.removeprefix(codecs.BOM_UTF8)

    def read(self) -> bytes:  # scikit-learn requires the method, but iterates
        return b"".join(self)


def index_range(x: Csr) -> tuple[int, int] | None:
    """Return the least and the greatest index of points read from a file; None if there are no values."""
    return (int(x.indices.min()), int(x.indices.max())) if x.nnz else None


def base_of(ranges: Sequence[tuple[int, int] | None], chosen: str, places: Sequence[str]) -> int:
    """Return the index of the first feature of all files: the ``chosen`` one, else 0 if the first file has it, else 1.

    Parameters
    ----------
    ranges : :func:`index_range` of each file, the training file first
    chosen : ``auto``, ``0`` or ``1``

    Raises
    ------
    DataError : an index is 0 although indices begin with 1; or, with ``auto``, files seem to begin with different indices.
    """
    used = [(indices, place) for indices, place in zip(ranges, places, strict=True) if indices]
    first, first_place = used[0] if used else ((1, 0), "")
    base = int(chosen) if chosen != "auto" else int(first[0] > 0)
    for (least, most), place in used:
        if chosen == "1" and least == 0:
            raise DataError(f"'{place}' has the index 0, which index_base=1 excludes. Give index_base=0.")
        if chosen == "auto" and (least < base or (least > base == 0 and most == first[1] + 1)):
            differing = f"indices {least} to {most}, '{first_place}' {first[0]} to {first[1]}: do both begin with 0?"
            raise DataError(f"'{place}' has {differing} Give index_base=0 if they do; else write one of them again.")
    return base


def based(x: Csr, base: int, width: int, where: Path | str) -> Csr:
    """Return (n, width) points in which column 0 is the index ``base``.

    Raises
    ------
    DataError : an index is beyond these columns, for example as the file has changed since they were counted.
    """
    indices = index_range(x)
    if indices is not None and not base <= indices[0] <= indices[1] < base + width:
        what = f"indices from {indices[0]} to {indices[1]}; expected {base} to {base + width - 1}"
        raise DataError(f"'{where}' has {what}. Fetch or write it again.")
    return Csr((x.data, x.indices - base, x.indptr), shape=(x.shape[0], width))


def refuse_too_wide(n: int, d: int, values: int, where: str) -> None:
    """Raise if d columns take more memory than reading may, or are implausible for so few ``values``.

    Raises
    ------
    DataError : there are too many columns; with a memory limit, plausibility is not checked.
    """
    needed = _COLUMN_BYTES * d
    likely = max(_LIKELY_BYTES, 12 * _LIKELY_RATIO * values) if given_limit() is None else needed
    if needed > min(likely, bound()):
        what = f"{n:,} points with {values:,} values; by its greatest index {d:,} columns, whose counts take {megabytes(needed)}"
        raise DataError(f"'{where}' has {what}. Correct that index, or give a --memory-limit above that.")
