"""Problems nobody tuned for: families of points, their parameters and their noise drawn from a seed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from harness.arrays import Matrix, Vector

_CENTRES = 12
_SPARSE = 0.1  # share of the binary features that are 1
_HEAVY = 3.0  # degrees of freedom of the heavy tails


@dataclass(frozen=True)
class DrawnSet:
    """Training points with their labels and parameters.

    x_train : (n, d) float64
    y_train : (n,) -1 or +1, about as many of each before the noise
    defaults : C and gamma
    label : family, n, d, C, gamma and the share of labels flipped, in words
    """

    label: str
    x_train: Matrix
    y_train: Vector
    defaults: dict[str, float]


def _log_uniform(rng: np.random.Generator, low: float, high: float) -> float:
    return float(math.exp(rng.uniform(math.log(low), math.log(high))))


def _taught(x: Matrix, rng: np.random.Generator) -> Vector:
    """Label points by the median of a sum of wide Gaussians of either sign."""
    centres, weights = x[rng.choice(len(x), _CENTRES, replace=False)], rng.normal(size=_CENTRES)
    squares = np.sum(x**2, axis=1)[:, None] + np.sum(centres**2, axis=1) - 2.0 * x @ centres.T
    values = np.exp(-squares / np.median(squares)) @ weights
    return np.where(values > np.median(values), 1.0, -1.0)


def _teacher(n: int, d: int, rng: np.random.Generator) -> tuple[Matrix, Vector]:
    x = rng.normal(size=(n, d))
    return x, _taught(x, rng)


def _heavy(n: int, d: int, rng: np.random.Generator) -> tuple[Matrix, Vector]:
    x = rng.standard_t(_HEAVY, size=(n, d))
    return x, _taught(x, rng)


def _binary(n: int, d: int, rng: np.random.Generator) -> tuple[Matrix, Vector]:
    x = (rng.random((n, d)) < _SPARSE).astype(np.float64)
    values = x @ rng.normal(size=d) + 1e-6 * rng.normal(size=n)  # the rest breaks ties
    return x, np.where(values > np.median(values), 1.0, -1.0)


def _mixture(n: int, d: int, rng: np.random.Generator) -> tuple[Matrix, Vector]:
    centres, of = rng.normal(scale=1.5, size=(_CENTRES, d)), rng.integers(_CENTRES, size=n)
    return centres[of] + rng.normal(size=(n, d)), np.where(of % 2, 1.0, -1.0)


FAMILIES: dict[str, Callable[[int, int, np.random.Generator], tuple[Any, Any]]] = {
    "teacher": _teacher,
    "mixture": _mixture,
    "heavy": _heavy,
    "binary": _binary,
}


def draw(seed: int, count: int = 10) -> list[DrawnSet]:
    """Return ``count`` sets: n 2,000 to 10,000, d 2 to 100, C 1 to 1000, gamma 0.2/d to 2/d, 0 to 20 % of labels flipped.

    All but the noise are log-uniform, and the families take turns; the same seed gives the same bits.
    """
    rng = np.random.default_rng(seed)
    names = list(FAMILIES)
    return [_one(names[k % len(names)], rng) for k in range(count)]


def _one(family: str, rng: np.random.Generator) -> DrawnSet:
    n, d = round(_log_uniform(rng, 2_000, 10_000)), round(_log_uniform(rng, 2, 100))
    C, gamma, noise = _log_uniform(rng, 1.0, 1000.0), _log_uniform(rng, 0.2, 2.0) / d, float(rng.uniform(0.0, 0.2))
    x, y = FAMILIES[family](n, d, rng)
    y[rng.random(n) < noise] *= -1.0
    label = f"{family} n={n} d={d} C={C:.3g} gamma={gamma:.3g} noise={noise:.2f}"
    return DrawnSet(label, np.ascontiguousarray(x), y, {"C": C, "gamma": gamma})
