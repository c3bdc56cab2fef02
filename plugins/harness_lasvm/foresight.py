"""The next candidates: who is fetched, who will enter S, and whose kernel values with the others are computed.

Candidates among themselves cost values that a row at a time would not. As few are fetched that this adds less than a
tenth to the values against S, or costs less than fetching once more would. Where many enter nothing is to be foreseen;
else only those likely to enter count: the others' columns are computed if they enter after all. Of points with few features
all are computed at once.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from harness_lasvm.compiled import members as loops

if TYPE_CHECKING:
    from harness import KernelOracle
    from harness.arrays import Array
    from harness_lasvm.compiled.state import Candidates
    from harness_lasvm.expansion import Expansion

_FEWEST = 48
_AMONG = 0.07  # of the kernel values may be between candidates, rather than with S
_AMONG_VALUES = 32768  # between candidates cost less than fetching once more: measured, 8192 and 131072 take longer
_FEW_FEATURES = 100  # with so many, values cost less than finding out which are wanted
_FORESEEN = 0.03  # of S: fewer are computed among themselves without looking who will enter
_LEAST_SHARE = 0.02  # of the candidates is taken to enter
_NEAR = 0.15  # a gradient is expected to move before a candidate's turn, at first
_NEARER = 0.7  # times so much, after all who entered were foreseen


class Foresight:
    """Fetches candidates, and learns from each time how many will enter."""

    def __init__(self, kernel: KernelOracle) -> None:
        self.kernel = kernel
        self.share = 1.0  # of the last candidates that were likely to enter
        self.near = _NEAR
        self._columns = kernel.columns()  # candidates that are likely to enter
        # fresh pages cost as much as the values
        self._mixed, self._between = np.empty((2, 0), dtype=kernel.dtype)

    def fetch(self, expansion: Expansion, upcoming: Array, *, foresee: bool = True) -> Candidates:
        """Compute the kernel values of the next candidates of ``upcoming``, one at least."""
        examples = np.array(upcoming[: self._ahead(expansion, foresee)], dtype=np.int64)
        expansion.make_room(len(examples))
        x = expansion.members
        is_fresh = x.examples["slot"][examples] < 0
        self._fresh = fresh = examples[is_fresh]
        places, count = np.where(is_fresh, np.cumsum(is_fresh) - 1, -1), len(fresh)
        values = expansion.values(fresh)
        self._distances = np.full(count, -np.inf)
        entering = np.arange(count)
        if foresee and self.kernel.n_features > _FEW_FEATURES and count > _FORESEEN * expansion.size:
            loops.foresee(x, fresh, values, self._distances)
            entering = np.flatnonzero(self._distances < self.near)
            self.share = len(entering) / count
            self.near *= _NEARER
        if len(self._between) < count**2:
            room = min(expansion.block, 2 * count) ** 2
            self._mixed, self._between = np.empty((2, room), dtype=values.dtype)
        self._among = self._between[: count**2].reshape(count, count)
        np.fill_diagonal(self._among, np.nan)
        self._mix(entering)
        return expansion.offered(examples, places, values, self._among)

    def _ahead(self, expansion: Expansion, foresee: bool) -> int:
        """Return how many candidates to fetch."""
        size = _AMONG * expansion.size
        if foresee:
            share = max(_LEAST_SHARE, self.share)
            size = max(size / share, math.sqrt(_AMONG_VALUES / share))
        return min(expansion.block, max(_FEWEST, int(size)))

    def _mix(self, entering: Array) -> None:
        """Compute K(fresh, fresh[entering]), columns of ``among``: for all rows, as these are at hand, prepared."""
        fresh, count = self._fresh, len(entering)
        if count:
            self._columns.put(np.arange(count), fresh[entering], count)
            values = self._mixed[: len(fresh) * count].reshape(len(fresh), count)
            self.kernel.fill(fresh, values, columns=self._columns)
            loops.spread(values, entering, self._among)

    def mix_unforeseen(self, place: int) -> None:
        """Compute the column of a candidate that enters unforeseen, and of those after it that are as near."""
        distances = self._distances
        near = (distances <= distances[place]) & np.isnan(self._among.diagonal())
        near[:place] = False
        self.near = max(self.near, float(distances[place]))
        self._mix(np.flatnonzero(near))
