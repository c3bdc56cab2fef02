"""One pass over all points in blocks: the scores of a model with few support vectors, never more than a block of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from harness import KernelOracle

    Vector = np.ndarray[Any, np.dtype[np.float64]]

_VALUES = 1 << 26  # kernel values of a block: a fraction of a second
_FEWEST, _MOST = 1 << 14, 1 << 18  # points of a block
_BYTES = 32 << 20  # of points of a block that are mapped from a file


def scores_in_blocks(
    kernel: KernelOracle, coef: Vector, mapped: int | None = None
) -> Iterator[tuple[int, int, Vector]]:
    """Yield (first, last, K[first:last] coef) over all points; n x support kernel evaluations.

    coef : (n,)
    mapped : what :func:`mapped_features` says of the points

    Points mapped from a file are laid out for the kernel block by block: laid out as a whole they would fill the memory.
    """
    support = np.flatnonzero(coef)
    step = min(_MOST, max(_FEWEST, _VALUES // max(1, len(support))))
    if mapped is not None:
        step = min(step, max(1, _BYTES // (8 * mapped)))
    weights = coef[support]
    for first in range(0, kernel.n, step):
        last = min(first + step, kernel.n)
        block = np.arange(first, last)
        if mapped is None:
            yield first, last, kernel.expand(coef, block)
            continue
        part = kernel.restrict(np.concatenate([support, block]))
        own = np.zeros(part.n)
        own[: len(support)] = weights
        yield first, last, part.expand(own, np.arange(len(support), part.n))


def mapped_features(kernel: KernelOracle) -> int | None:
    """Return the number of features of points that are mapped from a file and are not scored by w itself; else None."""
    points = kernel.points
    mapped = isinstance(points, np.memmap) or isinstance(getattr(points, "base", None), np.memmap)
    return int(points.shape[1]) if mapped and not kernel.is_linear else None


class RunningScores:
    """The scores of one model after another, (n,): where few coefficients changed, only these are added up.

    The support vectors that a solution keeps mostly keep their coefficients too, at their bound: a pass then costs n
    kernel evaluations for each that changed, not for each support vector. Rounding adds up as in any sum of as many terms.
    """

    def __init__(self, kernel: KernelOracle) -> None:
        self.kernel, self.mapped = kernel, mapped_features(kernel)
        self.values: Vector = np.zeros(kernel.n)
        self._support = np.empty(0, dtype=np.intp)
        self._weights = np.empty(0)

    def update(self, coef: Vector) -> Iterator[tuple[int, int, Vector]]:
        """Yield (first, last, K[first:last] coef) as :func:`scores_in_blocks` does; to be run to its end."""
        change = coef.copy()
        change[self._support] -= self._weights
        support = np.flatnonzero(coef)
        fresh = np.count_nonzero(change) >= len(support)
        for first, last, scores in scores_in_blocks(self.kernel, coef if fresh else change, self.mapped):
            self.values[first:last] = scores if fresh else self.values[first:last] + scores
            yield first, last, self.values[first:last]
        self._support, self._weights = support, coef[support]
