"""Labels that lie: a share of the training labels of any data set negated, the test part left as it is.

A validation part that is cut from the training part later is as noisy as that.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from harness.errors import DataError

if TYPE_CHECKING:
    from harness.arrays import Mask, Vector
    from harness.datasets.dataset import Dataset


def flipped(y: Vector, share: float, seed: int) -> Vector:
    """Return a copy of (n,) labels with exactly round(share * n) of them, drawn at random, negated."""
    # a stream of its own: default_rng(seed).permutation(n) is also the order in which an online solver with the same
    # seed visits the points, so the first of them would be exactly those with a wrong label
    rng = np.random.default_rng([seed, 1])
    y = np.array(y)
    y[rng.permutation(len(y))[: round(share * len(y))]] *= -1.0
    return y


def with_noise(clean: Dataset, share: float, seed: int, label: str) -> Dataset:
    """Return the data set with a share of the training labels negated; a message calls it ``label``.

    ``planted`` marks these points beside those that the source planted; the points themselves are not copied. Name and
    checksum are still those of the clean set.

    Raises
    ------
    DataError : the data are for regression, or the labels that result are all the same.
    """
    if clean.task == "regression":
        raise DataError(
            f"data set '{label}': noise={share:g} negates labels of classes, and these data are for regression; expected "
            "noise=0. Leave the parameter out."
        )
    y = flipped(clean.y_train, share, seed)
    if (y == y[:1]).all():
        raise DataError(
            f"data set '{label}': with noise={share:g} all {len(y)} training labels are {y[0]:+g}; expected both -1 and "
            "+1. Choose another noise_seed, a smaller noise, or more points."
        )
    planted: Mask = y != clean.y_train
    if clean.planted is not None:
        planted |= clean.planted
    return replace(clean, y_train=y, planted=planted)
