"""Example selection with randomised search: the best of a few random examples is PROCESSed next.

Criteria, f the present model with its intercept b = (g_max + g_min) / 2:

* gradient: the most misclassified candidate, smallest y f (eq. 12)
* active: the one nearest to the decision boundary, smallest |f|, whatever its label (eq. 13)
* autoactive: as active, but sampling stops as soon as 5 candidates have |f| < 1 + delta / 2

Kernel values of several samples are computed together; what entered S since then is computed when a sample is
looked at, so each candidate costs one value for each member of S at that time, and the chosen one's values serve
its PROCESS.

Source: Bordes, Ertekin, Weston, Bottou, JMLR 6 (2005), section 4. Differs in: candidates that were looked at and not
chosen rest until the samples drawn together with theirs are used up.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from harness_lasvm.compiled.members import add_scores

if TYPE_CHECKING:
    from harness.arrays import Array
    from harness_lasvm.compiled.state import Candidates
    from harness_lasvm.expansion import Expansion
    from harness_lasvm.solver import LASVM

CANDIDATES = {"gradient": 50, "active": 50, "autoactive": 100}
"""Sample sizes of section 4.4; for autoactive the largest one."""
_ENOUGH = 5  # candidates inside the margin that end the sampling of autoactive
_LOOK = 20  # candidates that autoactive looks at together
_TOGETHER = 512  # candidates drawn together, where a sample is smaller
_CONFIDENCE = 0.95


def sample_size(selection: str, candidates: int | None, quantile: float | None) -> int:
    """Return M, the examples sampled to choose one.

    quantile : in (0, 1); M is such that one of the best share ``quantile`` is sampled with probability 0.95, which
        is 59 for 0.05 (section 4.3: 1 - (1 - quantile)^M >= 0.95)
    """
    if quantile is not None:
        return max(1, math.ceil(math.log(1.0 - _CONFIDENCE) / math.log1p(-quantile)))
    return CANDIDATES[selection] if candidates is None else candidates


class Search:
    """Choices from a pool of examples, each chosen once at most.

    margin_is_exhausted : True once ``stop_at_margin`` held: the best of a sample lay outside the margin
    """

    def __init__(self, expansion: Expansion, pool: Array, options: LASVM, rng: np.random.Generator) -> None:
        self.expansion, self.rng = expansion, rng
        self.by_gradient = options.selection == "gradient"
        self.adaptive = options.selection == "autoactive"
        self.stops = options.stop_at_margin
        self.size = sample_size(options.selection, options.candidates, options.quantile)
        self.margin_is_exhausted = False
        # members need no PROCESS
        self.pool: Array = pool[expansion.members.examples["slot"][pool] < 0]
        self.resting: list[Array] = []
        self.drawn: Array = np.empty(0, dtype=np.int64)
        self.used = 0  # of those drawn
        self.columns: Array = np.empty(0, dtype=np.int64)  # examples, members when ``values`` was computed
        self.values: Array = np.empty((0, 0), dtype=expansion.kernel.dtype)  # K(drawn, columns)
        self.place = np.full(expansion.n, -1, dtype=np.int64)  # of an example among the columns; -1: none
        self.row = np.zeros(expansion.n, dtype=expansion.kernel.dtype)  # K(chosen, .) at the members

    def next_example(self) -> Candidates | None:
        """Choose an example; return it with its kernel values, None if the pool or the margin is exhausted."""
        if len(self.drawn) - self.used < self.size:
            self._draw()
        if self.used == len(self.drawn):
            return None
        expansion = self.expansion
        expansion.write()
        members = expansion.examples()
        entered = members[self.place[members] < 0]
        edge = 1.0 + 0.5 * expansion.delta if math.isfinite(expansion.delta) else 1.0
        rows, measure, late = self._sample(entered, edge)
        best = int(np.argmin(measure))
        if self.stops and measure[best] >= edge:
            self.margin_is_exhausted = True
            return None
        self.resting.append(np.delete(self.drawn[rows], best))
        self.used = rows.stop
        chosen = rows.start + best
        self.row[self.columns] = self.values[chosen]
        self.row[entered] = late[best]
        return self._offered(self.drawn[chosen : chosen + 1])

    def _offered(self, example: Array) -> Candidates:
        """Return the chosen example, (1,), no member, with its values in ``row``."""
        expansion, now = self.expansion, self.expansion.now
        expansion.make_room(1)
        # a hole's value is read and never used: alpha is 0 there
        values = np.zeros((1, int(now["top"])), dtype=self.row.dtype)
        values[0, expansion.live()] = self.row[expansion.examples()]
        # one candidate has no others
        return expansion.offered(example, np.zeros(1, dtype=np.int64), values, np.zeros((1, 1), dtype=self.row.dtype))

    # -- drawing -------------------------------------------------------------------------------------

    def _draw(self) -> None:
        """Draw fresh candidates behind those not looked at yet, and compute their kernel values against S."""
        left = self.drawn[self.used :]
        self.pool = np.concatenate([self.pool, *self.resting])
        self.resting = []
        count = min(max(1, _TOGETHER // self.size) * self.size, len(left) + len(self.pool)) - len(left)
        picked = self.rng.choice(len(self.pool), count, replace=False)
        fresh = self.pool[picked]
        self.pool = np.delete(self.pool, picked)
        kernel = self.expansion.kernel
        members = self.expansion.examples()
        known = self.place[members]
        columns = np.concatenate([members[known >= 0], members[known < 0]])
        values = np.empty((len(left) + count, len(columns)), dtype=kernel.dtype)
        held = int(np.count_nonzero(known >= 0))
        if len(left):
            values[: len(left), :held] = self.values[self.used :][:, known[known >= 0]]
            values[: len(left), held:] = kernel.block(left, columns[held:])
        values[len(left) :] = kernel.block(fresh, columns)
        self.place[self.columns] = -1
        self.place[columns] = np.arange(len(columns))
        self.drawn, self.used, self.columns, self.values = np.concatenate([left, fresh]), 0, columns, values

    def _sample(self, entered: Array, edge: float) -> tuple[slice, Array, Array]:
        """Look at the next candidates.

        Returns
        -------
        (rows, measure, late) : the sample as rows of ``drawn``, what is to be minimal over it, and K(sample, entered).
        """
        stop = min(self.used + self.size, len(self.drawn))
        measures: list[Array] = []
        entering: list[Array] = []
        inside = 0
        at = self.used
        while at < stop and inside < _ENOUGH:
            rows = slice(at, min(at + _LOOK, stop) if self.adaptive else stop)
            late = self.expansion.kernel.block(self.drawn[rows], entered)
            measure = self._measure(rows, entered, late)
            if self.adaptive:
                within = inside + np.cumsum(measure < edge)
                measure = measure[: int(np.searchsorted(within, _ENOUGH)) + 1]
                inside = int(within[len(measure) - 1])
            measures.append(measure)
            entering.append(late[: len(measure)])
            at += len(measure)
        return slice(self.used, at), np.concatenate(measures), np.concatenate(entering)

    def _measure(self, rows: slice, entered: Array, late: Array) -> Array:
        """Return y f by the gradient criterion, else |f|, of the candidates ``rows``."""
        coef = self.expansion.members.coef
        scores = np.full(rows.stop - rows.start, self.expansion.intercept)
        add_scores(self.values[rows], coef[self.columns], scores)
        add_scores(late, coef[entered], scores)
        return scores * self.expansion.targets[self.drawn[rows]] if self.by_gradient else np.abs(scores)
