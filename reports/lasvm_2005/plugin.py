"""A plugin for this study alone: MNIST with wrong labels, features scaled in another way, and scores as a metric."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from harness import Dataset, DataSource, hookimpl, parameter
from harness.datasets.dataset import flipped
from harness.datasets.splitting import rescaled
from reports.kit.plugin_tools import dataset, load, load_dense


@dataclass(frozen=True)
class MnistNoise(DataSource):
    """MNIST, one digit against the rest, with exactly ``noise`` of the training labels negated; clean test labels."""

    name = "mnist-noise"
    description = "MNIST with flipped training labels (Bordes et al. 2005, section 4.4, figures 14 and 15)."
    digit: int = parameter(8, "the digit that is +1", ge=0, le=9)
    n: int = parameter(60_000, "the first n training images", ge=2, le=60_000)
    noise: float = parameter(0.1, "share of the training labels that are flipped", ge=0, lt=0.5)
    noise_seed: int = parameter(0, "seed of the choice of flipped labels", ge=0)

    def load(self) -> Dataset:
        clean = load(f"mnist[digit={self.digit}]" if self.n == 60_000 else f"mnist[digit={self.digit},n={self.n}]")
        y = flipped(clean.y_train, self.noise, self.noise_seed)
        return dataset(self, clean.x_train, y, clean.x_test, clean.y_test, like=clean)


@dataclass(frozen=True)
class Rescaled(DataSource):
    """A set of dense points whose features are scaled in another way, by what the training part shows.

    ``standard``: each column has mean 0 and standard deviation 1. ``numeric``: so do those with more than two values, the
    others stay 0 and 1. ``unit``: each point is divided by its length, a point at the origin stays there.
    """

    name = "rescaled"
    description = "A set of dense points with its features scaled in another way; +1 is as in that set."
    of: str = parameter("wdbc", "the set, as ``harness compare`` takes it")
    how: Literal["standard", "numeric", "unit"] = parameter("standard", "what becomes of the features")

    def load(self) -> Dataset:
        whole = load_dense(self, self.of)
        x_train, x_test = np.asarray(whole.x_train), np.asarray(whole.x_test)
        if self.how == "unit":
            x_train, x_test = (
                x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-300) for x in (x_train, x_test)
            )
        else:
            scaled = rescaled(x_train, x_test, "standard")
            two = np.array([self.how == "numeric" and len(np.unique(column)) <= 2 for column in x_train.T])
            x_train, x_test = np.where(two, x_train, scaled[0]), np.where(two, x_test, scaled[1])
        return dataset(self, x_train, whole.y_train, x_test, whole.y_test, like=whole, planted=whole.planted)


def listed(targets: Any, scores: Any) -> list[float]:
    """Return the (n_test,) scores of the test points, to nine digits; a record stores lists, but neither arrays nor long texts."""
    return [float(f"{score:.9g}") for score in scores]


@hookimpl
def harness_datasets() -> list[type[DataSource]]:
    """Return the data sources of the study."""
    return [MnistNoise, Rescaled]


@hookimpl
def harness_metrics() -> Mapping[str, Callable[[Any, Any], Any]]:
    """Return the scores of the test points themselves, for what several classifiers decide together."""
    return {"test-scores": listed}
