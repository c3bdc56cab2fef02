"""Problems with outliers for the tests of the trees."""

from __future__ import annotations

import numpy as np

from harness import RBF, HardMargin, KernelOracle, Linear, OutlierMargin, PolytopeDistance


def clouds(n=40, d=3, apart=4.0, outliers=0.0, seed=0):
    """Two Gaussian clouds ``apart`` along the first axis, a share of whose labels is wrong; and which ones are."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    x = rng.normal(size=(n, d))
    x[:, 0] += 0.5 * apart * y
    planted = rng.permutation(n) < round(outliers * n)
    return x, np.where(planted, -y, y), planted


def outlier_margin(x, y, kernel=None, **values):
    return OutlierMargin.build(KernelOracle(kernel or Linear(), x), y, values)


def hard_margin(x, y, kernel=None):
    return HardMargin.build(KernelOracle(kernel or Linear(), x), y)


def polytope_distance(x, kernel=None):
    return PolytopeDistance.build(KernelOracle(kernel or Linear(), x), np.where(np.arange(len(x)) % 2 == 0, 1.0, -1.0))


def rbf():
    return RBF(gamma=0.3)
