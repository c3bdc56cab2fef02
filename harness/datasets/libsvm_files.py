"""LIBSVM text. Whether its indices begin at 0 or at 1 is not said in a file; it is settled once for all files of a set."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

import numpy as np
import scipy.sparse

from harness.errors import DataError

if TYPE_CHECKING:
    Csr = scipy.sparse.csr_array

IndexBase = Literal["auto", "0", "1"]

DENSE_FROM = 0.25
"""Share of non-zeros from which LIBSVM text becomes a dense array: CSR (12 bytes a value) then gains little."""


def read_libsvm(file: BinaryIO, path: Path | str, lines: str = "") -> tuple[Csr, np.ndarray[Any, Any]]:
    """Return (n, most index + 1) points in which column j holds index j, and (n,) labels.

    Parameters
    ----------
    lines : which part of the file this is, for the message

    Raises
    ------
    DataError : not LIBSVM text.
    """
    from sklearn.datasets import load_svmlight_file

    try:
        x, labels = load_svmlight_file(file, zero_based=True)
    except (ValueError, OverflowError) as error:
        raise DataError(
            f"'{path}' is not LIBSVM text{lines} ({error}). Expected lines 'label index:value ...' with ascending "
            "indices; a table needs the suffix .csv."
        ) from None
    return scipy.sparse.csr_array(x), labels


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
