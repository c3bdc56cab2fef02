"""A plugin for the studies of sampling: point sets of known margin and number of outliers, and a metric of signs.

``gap-clouds``  two halves of a normal cloud, a gap between them, some points of the training part on the wrong side
``same-sign``   share of the test points whose prediction has the target's sign: the accuracy of a regression on +-1
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from harness import Dataset, DataSource, content_sha256, hookimpl, parameter


@dataclass(frozen=True)
class GapClouds(DataSource):
    """Normal points in d dimensions; the first coordinate is drawn away from 0 by gap / 2, and its sign is the class.

    The classes of the first ``outliers`` training points are exchanged: as many of each class, up to one.
    """

    name = "gap-clouds"
    description = (
        "A normal cloud cut in two by a gap; +1 is the side of positive first coordinates, outliers exchanged."
    )
    n: int = parameter(1000, "training points", ge=2)
    n_test: int = parameter(1000, "test points, none of them an outlier", ge=0)
    d: int = parameter(5, "dimensions", ge=1)
    gap: float = parameter(0.5, "distance of the two sides", gt=0)
    outliers: int = parameter(0, "training points with the other class", ge=0)
    seed: int = parameter(0, "seed of the draw", ge=0)

    def load(self) -> Dataset:
        """Return the points; the test points do not change with n."""
        parts: list[Any] = []
        for n, rng in zip((self.n, self.n_test), np.random.default_rng(self.seed).spawn(2), strict=True):
            x, side = rng.standard_normal((n, self.d)), np.where(np.arange(n) % 2, -1.0, 1.0)
            x[:, 0] = side * (np.abs(x[:, 0]) + 0.5 * self.gap)
            parts += [x, side]
        parts[1] = np.where(np.arange(self.n) < self.outliers, -parts[1], parts[1])
        return Dataset(self.label, *parts, content_sha256(*parts), defaults={"kernel": "linear", "C": 1.0})


def same_sign(targets: Any, scores: Any) -> float:
    """Return the share of the points whose score has the sign of its target, 0 counted as positive."""
    return float(np.mean((np.asarray(targets) >= 0.0) == (np.asarray(scores) >= 0.0)))


@hookimpl
def harness_datasets() -> list[type[DataSource]]:
    """Return the data sources of the studies of sampling."""
    return [GapClouds]


@hookimpl
def harness_metrics() -> Mapping[str, Callable[[Any, Any], Any]]:
    """Return the metric of signs."""
    return {"same-sign": same_sign}
