"""A kernel, metrics and a data source of one plugin, all of which tests change or break."""

import os
from dataclasses import dataclass

import numpy as np

from harness import Dataset, DataSource, Kernel, Metric, hookimpl, parameter

RATE = 1.0


@dataclass(frozen=True)
class Laplace(Kernel):
    """exp(-RATE gamma |x - z|_1)."""

    name = "laplace"
    gamma: float = parameter(1.0, "width", gt=0)

    def block(self, x, z):
        return np.exp(-RATE * self.gamma * np.abs(x[:, None, :] - z[None, :, :]).sum(axis=2)).astype(x.dtype)

    def diagonal(self, x):
        return np.ones(len(x))


@dataclass(frozen=True)
class Claims(DataSource):
    """Two clouds; says of its content what it likes."""

    name = "claims"
    description = "two clouds"
    shift: float = parameter(0.0, "of all points")

    def load(self):
        rng = np.random.default_rng(0)
        y = np.where(np.arange(60) % 2, 1.0, -1.0)
        x = rng.normal(size=(60, 2)) + y[:, None] + self.shift * (os.getpid() if os.environ.get("UNSTEADY") else 0)
        return Dataset("claims", x[:40], y[:40], x[40:], y[40:], sha256=os.environ.get("CLAIMED_SHA256", ""))


@hookimpl
def harness_kernels():
    return [Laplace]


@hookimpl
def harness_datasets():
    return [Claims]


@hookimpl
def harness_metrics():
    return {
        "raises": lambda y, f: 1 / 0,
        "ends-all": lambda y, f: os._exit(3),
        "share-right": lambda y, f: float(np.mean(y * f > 0)),
        "share-wrong": Metric(lambda y, f: float(np.mean(y != f)), better="low", low=0.0, high=1.0, takes="labels"),
        "too-much": Metric(lambda y, f: 2.0, better="high", low=0.0, high=1.0),
    }
