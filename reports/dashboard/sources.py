"""A plugin for the pictures alone: classes of which n and d can be chosen, with test points drawn like the training points.

``harness compare --plugin-path reports/dashboard/sources.py --datasets 'clouds[n=1000,d=50]' --plugins smo,libsvm``

Source: none; they are ours. gamma is, to two digits, that at which the mean pair of points has a kernel value of 1/e.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from harness import Dataset, DataSource, content_sha256, hookimpl, parameter

CLOUDS = 8  # of a class
WRONG = 0.05  # share of the labels outside or inside the sphere that are wrong


@dataclass(frozen=True)
class _Shaped(DataSource):
    """Points of a rule of its own: the same parameters give the same bits."""

    n: int = parameter(1000, "training points", ge=2)
    d: int = parameter(50, "features", ge=1)
    n_test: int = parameter(2000, "test points", ge=0)
    seed: int = parameter(0, "seed of the draw", ge=0)

    @abstractmethod
    def drawn(self, m: int, rng: np.random.Generator) -> tuple[Any, Any]:
        """Return m points (m, d) and their labels -1 and +1 (m,)."""

    def load(self) -> Dataset:
        x, y = self.drawn(self.n + self.n_test, np.random.default_rng([self.seed, self.d]))
        parts = x[: self.n], y[: self.n], x[self.n :], y[self.n :]
        defaults = {"kernel": "rbf", "gamma": float(f"{0.5 / x.var(axis=0).sum():.2g}"), "C": 1.0}
        return Dataset(self.label, *parts, content_sha256(*parts), "classification", defaults)


@dataclass(frozen=True)
class Clouds(_Shaped):
    """Eight normal clouds for each class, around centres that are normal with a third of their variance."""

    name = "clouds"
    description = "Eight normal clouds for each class, drawn for these pictures; +1 has every other point."

    def drawn(self, m: int, rng: np.random.Generator) -> tuple[Any, Any]:
        label = rng.permutation(np.arange(m) % 2)
        centres = rng.normal(scale=1 / np.sqrt(3.0), size=(2, CLOUDS, self.d))
        x = centres[label, rng.integers(CLOUDS, size=m)] + rng.normal(size=(m, self.d))
        return x, 2.0 * label - 1.0


@dataclass(frozen=True)
class Sphere(_Shaped):
    """Normal points; +1 are those farther from the origin than the median, but for a few wrong labels."""

    name = "sphere"
    description = "Normal points, drawn for these pictures; +1 lies outside a sphere that holds half of them."

    def drawn(self, m: int, rng: np.random.Generator) -> tuple[Any, Any]:
        x = rng.normal(size=(m, self.d))
        squared = (x * x).sum(axis=1)
        y = np.where(squared > np.median(squared), 1.0, -1.0)
        return x, np.where(rng.random(m) < WRONG, -y, y)


@dataclass(frozen=True)
class HeavyTails(_Shaped):
    """Student's t with three degrees of freedom, on both sides of a plane through the origin."""

    name = "heavy-tails"
    description = "Points with heavy tails, drawn for these pictures; +1 is one side of a plane."

    def drawn(self, m: int, rng: np.random.Generator) -> tuple[Any, Any]:
        x = rng.standard_t(3.0, size=(m, self.d)) / np.sqrt(3.0)
        side = (x * rng.normal(size=self.d)).sum(axis=1)  # no BLAS: its bits may depend on the number of threads
        return x, np.where(side > 0.0, 1.0, -1.0)


@hookimpl
def harness_datasets() -> list[type[DataSource]]:
    """Add them."""
    return [Clouds, Sphere, HeavyTails]
