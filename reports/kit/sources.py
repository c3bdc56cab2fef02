"""A plugin for the studies of papers: draws of data that several of them use, and a metric.

``adult-split``  both parts of adult together, divided anew
``division``     a set divided anew for training and testing
``digits-in-order``  the embedded digits, the same test images for every digit
``same-sign``    share of the test points whose prediction has the target's sign: the accuracy of a regression on +-1
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from harness import Dataset, DataSource, hookimpl, parameter
from harness.datasets.dataset import flipped, is_csr
from harness.datasets.splitting import random_split, rescaled
from reports.kit.plugin_tools import all_rows, dataset, load


@dataclass(frozen=True)
class AdultSplit(DataSource):
    """All 48,842 rows of adult, divided at random into as many for training and testing as the file has."""

    name = "adult-split"
    description = "Adult, both parts divided anew (Bordes et al. 2005, section 4.4: 65 random splits)."
    seed: int = parameter(0, "seed of the division", ge=0)
    n: int = parameter(32_561, "training rows; all others are for testing", ge=2, le=48_840)

    def load(self) -> Dataset:
        whole = load("adult")
        x, y = all_rows(whole)
        order = np.random.default_rng(self.seed).permutation(len(y))
        train, test = np.sort(order[: self.n]), np.sort(order[self.n :])
        return dataset(self, x[train], y[train], x[test], y[test], like=whole)


@dataclass(frozen=True)
class DigitsInOrder(DataSource):
    """The embedded ``digits``, the first 1,198 images for training: several classifiers can decide together on the others."""

    name = "digits-in-order"
    description = "Digits of 8 x 8 pixels (scikit-learn), in the file's order; stands in for MNIST."
    digit: int = parameter(8, "the digit that is +1", ge=0, le=9)
    noise: float = parameter(0.0, "share of the training labels that are flipped", ge=0, lt=0.5)
    noise_seed: int = parameter(0, "seed of the choice of flipped labels", ge=0)

    def load(self) -> Dataset:
        from sklearn.datasets import load_digits

        images, digits = load_digits(return_X_y=True)
        x, y, n = images / 16.0, np.where(digits == self.digit, 1.0, -1.0), 1198
        y_train, defaults = flipped(y[:n], self.noise, self.noise_seed), {"kernel": "rbf", "gamma": 0.05, "C": 10.0}
        return dataset(self, x[:n], y_train, x[n:], y[n:], defaults=defaults)


@dataclass(frozen=True)
class Division(DataSource):
    """All rows of a set, divided anew: n for training, or two thirds where it has fewer, and at most ``n_test`` for testing.

    Dense features are standardised by the training part unless ``scale`` is off, sparse ones stay as they are.
    """

    name = "division"
    description = "All rows of a set divided at random for training and testing, standardised; +1 is as in that set."
    of: str = parameter("wdbc", "the set, as ``harness compare`` takes it")
    n: int = parameter(1000, "training points, at most two thirds of all rows", ge=2)
    n_test: int = parameter(3000, "test points, at most", ge=1)
    scale: bool = parameter(True, "standardise dense features")
    seed: int = parameter(0, "seed of the division", ge=0)

    def load(self) -> Dataset:
        whole = load(self.of)
        x, y = all_rows(whole)
        train, test = random_split(len(y), min(self.n, 2 * len(y) // 3), self.seed)
        test = test[: self.n_test]
        x_train, x_test = x[train], x[test]
        if self.scale and not is_csr(x):
            x_train, x_test = rescaled(x_train, x_test, "standard")
        return dataset(self, x_train, y[train], x_test, y[test], like=whole)


def same_sign(targets: Any, scores: Any) -> float:
    """Return the share of the points whose score has the sign of its target, 0 counted as positive."""
    return float(np.mean((np.asarray(targets) >= 0.0) == (np.asarray(scores) >= 0.0)))


@hookimpl
def harness_datasets() -> list[type[DataSource]]:
    """Return the data sources."""
    return [AdultSplit, DigitsInOrder, Division]


@hookimpl
def harness_metrics() -> Mapping[str, Callable[[Any, Any], Any]]:
    """Return the share of right signs."""
    return {"same-sign": same_sign}
