"""Slow, obvious twins of the compiled loops in harness.kernels.compiled."""

import numpy as np


def value(x: np.ndarray, z: np.ndarray, gamma: float, *, kind: str) -> float:
    """One kernel value of two dense points, feature by feature."""
    if kind == "differences":
        return float(np.exp(-gamma * sum((a - b) ** 2 for a, b in zip(x, z, strict=True))))
    product = sum(a * b for a, b in zip(x, z, strict=True))
    if kind == "products":
        return float(product)
    return float(np.exp(min(0.0, gamma * (2.0 * product - sum(a * a for a in x) - sum(b * b for b in z)))))


def power(products: np.ndarray, gamma: float, coef0: float, degree: int) -> np.ndarray:
    result = np.ones_like(products)
    for _ in range(degree):
        result = result * (gamma * products + coef0)
    return result
