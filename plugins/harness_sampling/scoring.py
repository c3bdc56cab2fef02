"""One pass over all points in pieces: the scores of a model with few support vectors, never more than a piece of them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from harness import KernelOracle, Precomputed
from harness.support.arrays import Vector

_VALUES = 1 << 26  # kernel values of a piece: a fraction of a second
_FEWEST, _MOST = 1 << 14, 1 << 18  # points of a piece
TRIED = 256  # points on which float32 is tried
_BYTES = 32 << 20  # of points of a piece that are mapped from a file


def scores_in_pieces(
    kernel: KernelOracle, coef: Vector, mapped: int | None = None
) -> Iterator[tuple[int, int, Vector]]:
    """Yield (first, last, K[first:last] coef) over all points; n x support kernel evaluations.

    coef : (n,)
    mapped : what :func:`mapped_features` says of the points

    Points mapped from a file are laid out for the kernel piece by piece: laid out as a whole they would fill the memory.
    """
    support = np.flatnonzero(coef)
    step = min(_MOST, max(_FEWEST, _VALUES // max(1, len(support))))
    if mapped is not None:
        step = min(step, max(1, _BYTES // (8 * mapped)))
    weights = coef[support]
    for first in range(0, kernel.n, step):
        last = min(first + step, kernel.n)
        piece = np.arange(first, last)
        if mapped is None:
            yield first, last, kernel.expand(coef, piece)
            continue
        part = kernel.restrict(np.concatenate([support, piece]))
        own = np.zeros(part.n)
        own[: len(support)] = weights
        yield first, last, part.expand(own, np.arange(len(support), part.n))


def mapped_features(kernel: KernelOracle) -> int | None:
    """Return the number of features of points that are mapped from a file and are not scored by w itself; else None."""
    return kernel.n_features if kernel.is_mapped and not kernel.is_linear else None


class RunningScores:
    """The scores of one model after another, (n,): where few coefficients changed, only these are added up.

    The support vectors that a solution keeps mostly keep their coefficients too, at their bound: a pass then costs n
    kernel evaluations for each that changed, not for each support vector. Rounding adds up as in any sum of as many terms.

    error : of a score, below it float64 is not needed; each pass is tried on a few points both ways, and from the first
        one that float32 is not enough for, all are in float64. None: float64 throughout
    """

    def __init__(self, kernel: KernelOracle, error: float | None = None) -> None:
        self.kernel, self.mapped, self.error = kernel, mapped_features(kernel), error
        given = isinstance(kernel.kernel, Precomputed)  # to copy all its values would gain nothing
        tried = error is not None and self.mapped is None and not kernel.is_linear and not given
        self.single = kernel.replace(dtype=np.float32) if tried else None
        self.values: Vector = np.zeros(kernel.n)
        self._support = np.empty(0, dtype=np.intp)
        self._weights = np.empty(0)

    def update(self, coef: Vector) -> Iterator[tuple[int, int, Vector]]:
        """Yield (first, last, K[first:last] coef) as :func:`scores_in_pieces` does; to be run to its end."""
        change = coef.copy()
        change[self._support] -= self._weights
        support = np.flatnonzero(coef)
        fresh = np.count_nonzero(change) >= len(support)
        added = coef if fresh else change
        for first, last, scores in scores_in_pieces(self._kernel(added), added, self.mapped):
            self.values[first:last] = scores if fresh else self.values[first:last] + scores
            yield first, last, self.values[first:last]
        self._support, self._weights = support, coef[support]

    def _kernel(self, coef: Vector) -> KernelOracle:
        """Return the kernel in float32 if that is enough for these coefficients, else in float64."""
        if self.single is not None and self.error is not None:
            tried = np.unique(np.linspace(0, self.kernel.n - 1, TRIED).astype(np.intp))
            off = np.abs(self.single.expand(coef, tried) - self.kernel.expand(coef, tried)).max()
            if off > self.error:
                self.single = None
        return self.kernel if self.single is None else self.single
