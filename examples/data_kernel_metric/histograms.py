"""Word counts of two topics, the kernel of histograms, and a metric of their ranking: three things in one plugin."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from harness import Dataset, DataSource, Kernel, Metric, content_sha256, hookimpl, parameter


@dataclass(frozen=True)
class Topics(DataSource):
    """Texts as shares of their words, drawn from one of two topics."""

    name = "topics"
    description = "Texts as shares of their words, each from one of two random topics; +1 is the rarer one, a fifth."
    n: int = parameter(400, "training texts", ge=10)
    words: int = parameter(50, "words of the vocabulary, the features", ge=2)
    length: int = parameter(60, "words of a text", ge=1)
    seed: int = parameter(0, "of the draw", ge=0)

    def load(self) -> Dataset:
        of_topics, for_training, for_test = np.random.default_rng(self.seed).spawn(3)
        topics = of_topics.dirichlet(np.full(self.words, 0.5), size=2)
        arrays = (*self._drawn(topics, self.n, for_training), *self._drawn(topics, 1000, for_test))
        defaults = {"kernel": "intersection", "C": 10.0}
        return Dataset(self.label, *arrays, sha256=content_sha256(*arrays), defaults=defaults)

    def _drawn(self, topics: Any, n: int, rng: np.random.Generator) -> tuple[Any, Any]:
        """Return (n, words) shares that sum to 1 and (n,) labels; a text is a mixture, mostly of its own topic."""
        y = np.where(np.arange(n) % 5 == 0, 1.0, -1.0)
        share = rng.beta(2.0, 1.0, size=n)
        positive = np.where(y > 0, share, 1.0 - share)[:, None]
        counts = rng.multinomial(self.length, positive * topics[0] + (1.0 - positive) * topics[1])
        return counts / self.length, y


@dataclass(frozen=True)
class Intersection(Kernel):
    """k(x, z) = sum_j min(|x_j|, |z_j|), the generalised histogram intersection (Boughorbel et al. 2005)."""

    name = "intersection"

    def block(self, x: Any, z: Any) -> Any:
        """Return k(x_i, z_j), (len(x), len(z)), a feature at a time."""
        x, z = (np.abs(points if isinstance(points, np.ndarray) else points.toarray()) for points in (x, z))
        values = np.zeros((len(x), len(z)), dtype=x.dtype)
        for of_x, of_z in zip(x.T, z.T, strict=True):
            values += np.minimum.outer(of_x, of_z)
        return values

    def diagonal(self, x: Any) -> Any:
        """Return k(x_i, x_i) = sum_j |x_ij|, (len(x),)."""
        return np.asarray(abs(x).sum(axis=1), dtype=np.float64).ravel()


def precision_of_the_first_tenth(targets: Any, scores: Any) -> float:
    """Share of positives among the tenth of the points with the highest scores."""
    first = np.argsort(-np.asarray(scores), kind="stable")[: max(1, len(scores) // 10)]
    return float(np.mean(np.asarray(targets)[first] > 0))


@hookimpl
def harness_datasets() -> list[type[DataSource]]:
    """Return the data sets of this plugin."""
    return [Topics]


@hookimpl
def harness_kernels() -> list[type[Kernel]]:
    """Return the kernels of this plugin."""
    return [Intersection]


@hookimpl
def harness_metrics() -> Mapping[str, Metric]:
    """Return the metrics of this plugin, with what their numbers mean."""
    return {
        "first-tenth": Metric(precision_of_the_first_tenth, better="high", low=0.0, high=1.0, task="classification")
    }
