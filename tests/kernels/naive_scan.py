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


def panel_of(x: np.ndarray, chunk: int) -> np.ndarray:
    """(panels, features, chunk): the points in groups of ``chunk``, feature after feature, zeros at the end."""
    panels = np.zeros((-(-len(x) // chunk), x.shape[1], chunk))
    for i, point in enumerate(x):
        for f, number in enumerate(point):
            panels[i // chunk, f, i % chunk] = number
    return panels


def rare_by_feature(x: np.ndarray, block: int) -> list[list[list[tuple[int, float]]]]:
    """[block][feature] -> (place within the block, value) of the points in which the feature is not zero."""
    blocks = [[[] for _ in range(x.shape[1])] for _ in range(-(-len(x) // block))]
    for i, point in enumerate(x):
        for f, number in enumerate(point):
            if number != 0.0:
                blocks[i // block][f].append((i % block, float(number)))
    return blocks


def power(products: np.ndarray, gamma: float, coef0: float, degree: int) -> np.ndarray:
    result = np.ones_like(products)
    for _ in range(degree):
        result = result * (gamma * products + coef0)
    return result
