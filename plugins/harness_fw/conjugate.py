"""Conjugate gradients for the linear systems of Newton's steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness.arrays import Vector

_MOST_STEPS = 1000  # for a right side


def conjugate_gradients(times: Callable[[Vector], Vector], solution: Vector, residual: Vector, enough: float) -> int:
    """Improve ``solution`` of A x = b, in place; return the number of products with A.

    times : v -> A v, A symmetric and positive definite
    residual : (m,) b - A solution; changed in place
    enough : |residual|^2 at which to stop
    """
    direction, squared = residual.copy(), float(residual @ residual)
    for step in range(_MOST_STEPS):
        if squared <= enough:
            return step
        image = times(direction)
        length = squared / float(direction @ image)
        solution += length * direction
        residual -= length * image
        before, squared = squared, float(residual @ residual)
        direction *= squared / before
        direction += residual
    return _MOST_STEPS
