"""Compute the scores of a model with few support vectors over all points, in pieces that bound the memory."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from harness import KernelOracle, Precomputed
from harness.support.arrays import Vector

_PIECE_VALUES = 1 << 26  # kernel values per piece, which take a fraction of a second
_MIN_PIECE = 1 << 14  # points per piece
_MAX_PIECE = 1 << 18  # points per piece
TRIAL_POINTS = 256  # number of points on which float32 is compared with float64
_MAPPED_BYTES = 32 << 20  # bytes per piece of points that are mapped from a file


def scores_in_pieces(
    kernel: KernelOracle, coef: Vector, mapped: int | None = None
) -> Iterator[tuple[int, int, Vector]]:
    """Yield (first, last, K[first:last] coef) over all points; n x support kernel evaluations.

    coef : (n,)
    mapped : the result of :func:`mapped_features`

    Points mapped from a file are copied piece by piece into the kernel's layout: a copy of all would fill the memory.
    """
    support = np.flatnonzero(coef)
    step = min(_MAX_PIECE, max(_MIN_PIECE, _PIECE_VALUES // max(1, len(support))))
    if mapped is not None:
        step = min(step, max(1, _MAPPED_BYTES // (8 * mapped)))
    weights = coef[support]
    for first in range(0, kernel.n, step):
        last = min(first + step, kernel.n)
        piece = np.arange(first, last)
        if mapped is None:
            yield first, last, kernel.expand(coef, piece)
            continue
        part = kernel.restrict(np.concatenate([support, piece]))
        part_coef = np.zeros(part.n)
        part_coef[: len(support)] = weights
        yield first, last, part.expand(part_coef, np.arange(len(support), part.n))


def mapped_features(kernel: KernelOracle) -> int | None:
    """Return the number of features if the points are mapped from a file and the kernel is not linear; else None."""
    return kernel.n_features if kernel.is_mapped and not kernel.is_linear else None


class RunningScores:
    """Scores of a sequence of models, (n,), updated by the coefficients that changed if these are few.

    Most support vectors of one solution are support vectors of the next with the same coefficient, at their bound. A pass
    then costs n kernel evaluations for each coefficient that changed, instead of for each support vector. Rounding errors
    accumulate as in any sum of as many terms.

    error : float32 is used while its error of a score, measured on a few points before each pass, is at most this; after the
        first larger error all passes are in float64. None: float64 throughout
    """

    def __init__(self, kernel: KernelOracle, error: float | None = None) -> None:
        self.kernel, self.mapped, self.error = kernel, mapped_features(kernel), error
        precomputed = isinstance(kernel.kernel, Precomputed)  # a float32 copy of its values would gain nothing
        use_single = error is not None and self.mapped is None and not kernel.is_linear and not precomputed
        self.single = kernel.replace(dtype=np.float32) if use_single else None
        self.values: Vector = np.zeros(kernel.n)
        self._support = np.empty(0, dtype=np.intp)
        self._weights = np.empty(0)

    def update(self, coef: Vector) -> Iterator[tuple[int, int, Vector]]:
        """Yield (first, last, K[first:last] coef) as :func:`scores_in_pieces` does; the caller must exhaust the iterator."""
        change = coef.copy()
        change[self._support] -= self._weights
        support = np.flatnonzero(coef)
        recompute = np.count_nonzero(change) >= len(support)
        added = coef if recompute else change
        for first, last, scores in scores_in_pieces(self._kernel(added), added, self.mapped):
            self.values[first:last] = scores if recompute else self.values[first:last] + scores
            yield first, last, self.values[first:last]
        self._support, self._weights = support, coef[support]

    def _kernel(self, coef: Vector) -> KernelOracle:
        """Return the kernel in float32 if it is accurate enough for these coefficients, else in float64."""
        if self.single is not None and self.error is not None:
            trial = np.unique(np.linspace(0, self.kernel.n - 1, TRIAL_POINTS).astype(np.intp))
            if np.abs(self.single.expand(coef, trial) - self.kernel.expand(coef, trial)).max() > self.error:
                self.single = None
        return self.kernel if self.single is None else self.single
