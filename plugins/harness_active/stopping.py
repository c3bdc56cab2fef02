"""The stopping rules of Ertekin, Huang, Bottou, Giles 2007, section 3.4, and when each of them held first."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field


@dataclass
class Rules:
    """Both rules, looked at whether the run is to end by one of them or not.

    window, tolerance : the number of support vectors is stable if over the last ``window`` labels its range, relative to
        its largest value, is at most ``tolerance``

    Attributes
    ----------
    margin_at : labels bought when the selected example lay no closer than the support vectors on the margin; None: never
    support_at : labels bought when the number of support vectors was stable; None: never
    """

    window: int
    tolerance: float
    margin_at: int | None = None
    support_at: int | None = None
    _seen: deque[tuple[int, int]] = field(default_factory=deque)
    _most: int = 0

    def selected(self, labels: int, distance: float, margin: float) -> None:
        """Note that the nearest of the candidates has |f| = ``distance`` while support vectors reach up to ``margin``."""
        if self.margin_at is None and math.isfinite(margin) and distance >= margin:
            self.margin_at = labels

    def learned(self, labels: int, support: int) -> None:
        """Note the number of support vectors after so many labels."""
        if self.support_at is not None:
            return
        seen, self._most = self._seen, max(self._most, support)
        seen.append((labels, support))
        while len(seen) > 1 and seen[1][0] <= labels - self.window:
            seen.popleft()
        # most often the two ends of the window say that it is not stable
        if seen[0][0] > labels - self.window or abs(support - seen[0][1]) > self.tolerance * self._most:
            return
        counts = [count for _, count in seen]
        most = max(counts)
        if most and most - min(counts) <= self.tolerance * most:
            self.support_at = labels
