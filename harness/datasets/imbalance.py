"""Classes of unlike size: positives left out of the training part of any data set, the test part left as it is.

Negatives are never left out, so that what a smaller share of positives costs is measured beside the same negatives. A
validation part that is cut from the training part later is as imbalanced as that.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.errors import DataError

if TYPE_CHECKING:
    from harness.arrays import Index, Vector
    from harness.datasets.dataset import Dataset, Points


def nearest_count(negatives: int, ratio: float) -> int:
    """Return the number of positives, at least 1, with which negatives / positives is nearest to ``ratio``.

    Of two that are equally near, the greater. It may be more than there are.
    """
    fewer = max(1, int(min(negatives / ratio, 2.0**53)))  # a tiny ratio gives infinity
    return min(fewer + 1, fewer, key=lambda count: abs(negatives / count - ratio))


def kept(y: Vector, positives: int, seed: int) -> Index:
    """Return the rows, ascending, of all negatives and of ``positives`` of the positives, drawn at random.

    With the same seed fewer positives are among more of them.

    Parameters
    ----------
    y : (n,), +1 or -1
    positives : at most as many as there are
    """
    # a stream of its own, for the reason that noise has one
    rng = np.random.default_rng([seed, 2])
    stays = y <= 0
    stays[rng.permutation(np.flatnonzero(y > 0))[:positives]] = True
    return np.flatnonzero(stays)


def with_imbalance(whole: Dataset, ratio: float, seed: int, label: str) -> Dataset:
    """Return the data set with ``ratio`` negatives per positive in training, or as near to it as whole points come.

    The points that stay keep their order and their mark in ``planted``. They are copied, once, unless all of them stay;
    name and checksum are still those of the whole set.

    Parameters
    ----------
    label : what a message calls the data set

    Raises
    ------
    DataError : the data are for regression; there are fewer positives than that, or it would leave none; the points
        that stay take more than half of the memory that is available.
    """
    asked = f"data set '{label}': imbalance={ratio:g}"
    if whole.task == "regression":
        raise DataError(
            f"{asked} is a ratio of two classes, and these data are for regression; expected imbalance=none. "
            "Leave the parameter out."
        )
    present = int((whole.y_train > 0).sum())
    negatives = len(whole.y_train) - present
    if present == 0:
        raise DataError(f"{asked} thins the positives, of which there are none. Leave the parameter out.")
    if ratio > negatives:
        raise DataError(
            f"{asked} leaves less than one positive beside {negatives} negatives; expected at most {negatives}. "
            "Choose a smaller imbalance."
        )
    positives = nearest_count(negatives, ratio)
    if positives > present:
        raise DataError(
            f"{asked} is below the {negatives / present:.6g} of the data as they are, {negatives} negatives to {present} "
            "positives; to reach it negatives would have to be left out, and only positives are. Choose a greater "
            "imbalance, or none."
        )
    if positives == present:
        return whole
    rows = kept(whole.y_train, positives, seed)
    _refuse_more_than_memory(whole.x_train, len(rows), asked)
    # the rows of a map are read from the disk in order, into an array; those of sparse points are sparse
    x: Any = whole.x_train[rows]
    planted = None if whole.planted is None else whole.planted[rows]
    return replace(whole, x_train=x, y_train=whole.y_train[rows], planted=planted)


def _refuse_more_than_memory(x: Points, rows: int, asked: str) -> None:
    """Raise DataError if a copy of so many of the points takes more than half of the memory that is available."""
    import psutil

    from harness.datasets.dataset import is_csr

    stored: Any = x
    size = stored.data.nbytes + stored.indices.nbytes if is_csr(x) else stored.nbytes
    needed, available = size * rows // x.shape[0], psutil.virtual_memory().available
    if needed > available // 2:
        raise DataError(
            f"{asked} copies the {rows} points that stay, {needed / 1e9:.1f} GB; expected at most half of the "
            f"{available / 1e9:.1f} GB that are available. Choose a smaller set."
        )
