"""What a level's nodes keep of each side, and their samples among the worst points, by threads that share the nodes."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from harness import KernelOracle
    from harness.arrays import Array, Index, Matrix, Vector

_SIGNS = (1.0, -1.0)  # the first side wants large scores, the second one small ones


class Trimming:
    """Selections in the scores of q nodes.

    Parameters
    ----------
    points : of each side, ascending; the second one may be empty
    drops : of each side, (G,) how many are given up, by guess
    draws : of each side, (q, G, S) places in its pool of worst points; S may be 0

    Attributes
    ----------
    cuts : of each side, (q, G) the worst score that is kept
    chosen : of each side, (q, G, S) the points drawn
    """

    def __init__(self, points: tuple[Index, Index], drops: tuple[Index, Index], draws: tuple[Array, Array]) -> None:
        self.points, self.drops, self.draws = points, drops, draws
        self.cuts = [np.zeros(drawn.shape[:2]) for drawn in draws]
        self.chosen = [np.zeros(drawn.shape, dtype=np.int64) for drawn in draws]

    @classmethod
    def without_draws(cls, points: tuple[Index, Index], drops: tuple[Index, Index], q: int) -> Trimming:
        """Return selections for the cuts alone."""
        nothing = np.empty((q, drops[0].size, 0), dtype=np.int64)
        return cls(points, drops, (nothing, nothing))

    def select(self, scores: Matrix, begin: int, kernel: KernelOracle) -> None:
        """Take in the scores, (b, n), of the nodes from ``begin`` on; the kernel's threads share them."""
        size = -(-len(scores) // kernel.threads)
        spans = [(first, min(first + size, len(scores))) for first in range(0, len(scores), size)]
        kernel.share([partial(self._share, scores, begin, *span) for span in spans])

    def _share(self, scores: Matrix, begin: int, first: int, last: int) -> None:
        from harness_rgd import hot

        rows = slice(begin + first, begin + last)
        for side, sign in enumerate(_SIGNS):
            if self.points[side].size:
                found = self.cuts[side][rows], self.chosen[side][rows]
                hot.worst(scores[first:last], self.points[side], sign, self.drops[side], self.draws[side][rows], *found)

    def widths(self, squares: Vector, part: slice) -> Vector:
        """Return the widest slab's width of some nodes whose |x|^2 are ``squares``; -inf for one at the origin."""
        widest = (self.cuts[0][part] - self.cuts[1][part]).max(axis=1)  # the origin's own score is 0
        lengths = np.sqrt(np.maximum(squares, np.finfo(np.float64).tiny))
        return np.where(squares > 0.0, widest / lengths, -np.inf)

    def differences(self, scores: Matrix, part: slice) -> Array:
        """Return <x, s> of the samples of some nodes with these scores, (b, G, S)."""
        row = np.arange(len(scores))[:, None, None]
        values: Array = scores[row, self.chosen[0][part]]
        return values - scores[row, self.chosen[1][part]] if self.points[1].size else values
