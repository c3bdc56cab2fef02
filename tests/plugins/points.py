"""Training points that several solvers' tests share."""

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits


def overlapping(seed=0, n=60, d=2):
    """Two classes that overlap: free and bounded support vectors."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.45, 1.0, -1.0)
    x = rng.normal(size=(n, d))
    x[:, 0] += 0.8 * y
    return x, y


def cancer(n=569):
    """The first n points of breast cancer, standardised."""
    x, y = load_breast_cancer(return_X_y=True)
    return ((x - x.mean(axis=0)) / x.std(axis=0))[:n], np.where(y == 1, 1.0, -1.0)[:n]


def digits(n=500, digit=8):
    """The first n digits in [0, 1], one against the rest."""
    x, y = load_digits(return_X_y=True)
    return x[:n] / 16.0, np.where(y == digit, 1.0, -1.0)[:n]
