"""The online iterations of LASVM over some examples, from a data set in memory or from a chunk of a stream."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator

import numpy as np

from harness.support.arrays import Array
from harness_lasvm.candidate_set import CandidateSet
from harness_lasvm.compiled.members import add_scores
from harness_lasvm.compiled.state import PAUSED, Candidates
from harness_lasvm.compiled.steps import run
from harness_lasvm.options import LASVMOptions

_SEEDS = 5  # of each class
_PAUSE = 1000  # REPROCESS operations between two yields, where delta_max takes many
_ENTERING = 4  # support vectors that one PROCESS and one REPROCESS can add: both ends of two pairs
# example selection with randomised search: the best of a few random examples is PROCESSed next
CANDIDATES = {"gradient": 50, "active": 50, "autoactive": 100}
"""Sample sizes of section 4.4; for autoactive the largest one."""
_ENOUGH = 5  # candidates inside the margin that end the sampling of autoactive
_LOOK = 20  # candidates that autoactive looks at together
_TOGETHER = 512  # candidates drawn together, where a sample is smaller


class Online:
    """Seeds and online iterations on ``expansion``.

    visited : examples given to PROCESS so far
    stopped_by : 'max_support' if that ended the iterations early, else empty
    rule, pause : tau, delta_max and the |S| from which pairs are chosen to second order; operations between two pauses
    """

    def __init__(self, expansion: CandidateSet, options: LASVMOptions, rng: np.random.Generator) -> None:
        self.expansion, self.options, self.rng = expansion, options, rng
        self.visited = 0
        self.stopped_by = ""
        self._to_seed = {1.0: _SEEDS, -1.0: _SEEDS}
        delta_max = math.inf if options.delta_max is None else options.delta_max
        many = sys.maxsize if options.second_order_from is None else options.second_order_from
        self.rule, self.pause = (options.tau, delta_max, many), max(_PAUSE, 2 * options.block)

    def seed(self, examples: Array) -> None:
        """Let the first few ``examples`` of each class into S, with alpha = 0; none of them is a member."""
        expansion = self.expansion
        targets = expansion.targets[examples]
        firsts = [np.flatnonzero(targets == label)[:count] for label, count in self._to_seed.items()]
        self._to_seed = {
            label: count - len(first) for (label, count), first in zip(self._to_seed.items(), firsts, strict=True)
        }
        seeds = examples[np.sort(np.concatenate(firsts))]
        if len(seeds):
            coef = expansion.write()
            # g = y but for a class that a stream brings late, when there is a model already
            scores = expansion.kernel.expand(coef, seeds) if coef.any() else np.zeros(len(seeds))
            expansion.admit(seeds, np.zeros(len(seeds)), expansion.targets[seeds] - scores)

    def learn(self, examples: Array, work: Candidates | None = None) -> None:
        """Visit ``examples`` without a pause; ``work``, if it is given, has their kernel values."""
        if work is None:
            for _ in self.visit(examples):
                pass
            self.stopped_by = ""  # the next visit may go on
            return
        for _ in self._run(work):
            pass
        self.visited += len(examples)

    def visit(self, examples: Array) -> Iterator[None]:
        """PROCESS each of ``examples`` at most once, with its REPROCESS, unless something stops it; pause now and then."""
        return self._in_order(examples) if self.options.selection == "random" else self._selected(examples)

    def _in_order(self, examples: Array) -> Iterator[None]:
        done = paused = 0
        while done < len(examples) and not self.stopped_by:
            work = self.expansion.fetch(examples[done : done + self._allowance()])
            yield from self._run(work)
            done += int(self.expansion.now["at"])
            self.visited += int(self.expansion.now["at"])
            self._check_support()
            if done - paused >= self.options.block:  # saying what the model is costs as much as many an example
                paused = done
                yield

    def _selected(self, examples: Array) -> Iterator[None]:
        search = Search(self.expansion, examples, self.options, self.rng)
        while not self.stopped_by:
            work = search.next_example()
            if work is None:
                return
            yield from self._run(work)
            self.visited += 1
            self._check_support()
            yield

    def _run(self, work: Candidates) -> Iterator[None]:
        """PROCESS and REPROCESS the fetched candidates, all or until one must be fetched anew."""
        while self.expansion.run(run, work, *self.rule, pause=self.pause) == PAUSED:
            yield

    # -- the limit on support vectors ----------------------------------------------------------------

    def _allowance(self) -> int:
        """Return how many examples cannot take the number of support vectors past its limit, at least one."""
        limit = self.options.max_support
        if limit is None:
            return self.options.block
        # an example adds one member; and without delta_max, it adds a few support vectors at most
        room = limit - self.expansion.size
        if self.options.delta_max is None:
            room = max(room, (limit - self.expansion.support()) // _ENTERING)
        return min(self.options.block, max(1, room))

    def _check_support(self) -> None:
        limit = self.options.max_support
        if limit is not None and self.expansion.support() >= limit:
            self.stopped_by = "max_support"


# -- example selection with randomised search: the best of a few random examples is PROCESSed next ---------------------
# Criteria, f the present model with its intercept b = (g_max + g_min) / 2:
#
# * gradient: the most misclassified candidate, smallest y f (eq. 12)
# * active: the one nearest to the decision boundary, smallest |f|, whatever its label (eq. 13)
# * autoactive: as active, but sampling stops as soon as 5 candidates have |f| < 1 + delta / 2
#
# Kernel values of several samples are computed together; what entered S since then is computed when a sample is
# looked at, so each candidate costs one value for each member of S at that time, and the chosen one's values serve
# its PROCESS.
#
# Source: Bordes, Ertekin, Weston, Bottou, JMLR 6 (2005), section 4. Differs in: candidates that were looked at and not
# chosen rest until the samples drawn together with theirs are used up.


class Search:
    """Choices from a pool of examples, each chosen once at most."""

    def __init__(self, expansion: CandidateSet, pool: Array, options: LASVMOptions, rng: np.random.Generator) -> None:
        self.expansion, self.rng = expansion, rng
        self.by_gradient = options.selection == "gradient"
        self.adaptive = options.selection == "autoactive"
        self.size = CANDIDATES[options.selection]
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
        """Choose an example; return it with its kernel values, None if the pool is exhausted."""
        if len(self.drawn) - self.used < self.size:
            self._draw()
        if self.used == len(self.drawn):
            return None
        expansion = self.expansion
        expansion.write()
        members = expansion.examples()
        entered = members[self.place[members] < 0]
        rows, measure, late = self._sample(entered)
        best = int(np.argmin(measure))
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
        together = self.expansion.together(_TOGETHER)
        count = min(max(1, together // self.size) * self.size, len(left) + len(self.pool)) - len(left)
        picked = self.rng.choice(len(self.pool), count, replace=False)
        fresh = self.pool[picked]
        self.pool = np.delete(self.pool, picked)
        kernel = self.expansion.kernel
        members = self.expansion.examples()
        known = self.place[members]
        columns = np.concatenate([members[known >= 0], members[known < 0]])
        values = np.empty((len(left) + count, len(columns)), dtype=kernel.dtype)
        old = int(np.count_nonzero(known >= 0))
        if len(left):
            values[: len(left), :old] = self.values[self.used :][:, known[known >= 0]]
            values[: len(left), old:] = kernel.block(left, columns[old:])
        values[len(left) :] = kernel.block(fresh, columns)
        self.place[self.columns] = -1
        self.place[columns] = np.arange(len(columns))
        self.drawn, self.used, self.columns, self.values = np.concatenate([left, fresh]), 0, columns, values

    def _sample(self, entered: Array) -> tuple[slice, Array, Array]:
        """Look at the next candidates.

        Returns
        -------
        (rows, measure, late) : the sample as rows of ``drawn``, what is to be minimal over it, and K(sample, entered).
        """
        stop = min(self.used + self.size, len(self.drawn))
        measures: list[Array] = []
        entering: list[Array] = []
        delta = self.expansion.delta
        edge = 1.0 + 0.5 * delta if math.isfinite(delta) else 1.0
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
        coef = self.expansion.coef
        scores = np.full(rows.stop - rows.start, self.expansion.intercept)
        add_scores(self.values[rows], coef[self.columns], scores)
        add_scores(late, coef[entered], scores)
        return scores * self.expansion.targets[self.drawn[rows]] if self.by_gradient else np.abs(scores)
