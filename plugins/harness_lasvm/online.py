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
_LOOK = 20  # candidates that autoactive looks at before the others of its sample


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
        self.visited += 0 if work is None else len(examples)
        for _ in self.visit(examples) if work is None else self._run(work):
            pass
        self.stopped_by = ""  # the next visit may go on

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
# A candidate costs one kernel value for each slot of S, and the chosen one's values serve its PROCESS.
#
# Source: Bordes, Ertekin, Weston, Bottou, JMLR 6 (2005), section 4.


class Search:
    """Choices from a pool of examples, each chosen once at most."""

    def __init__(self, expansion: CandidateSet, pool: Array, options: LASVMOptions, rng: np.random.Generator) -> None:
        self.expansion, self.rng = expansion, rng
        self.by_gradient = options.selection == "gradient"
        self.size = CANDIDATES[options.selection]
        self.adaptive = options.selection == "autoactive"
        # members need no PROCESS; the examples chosen later are those behind the first ``left``
        self.pool: Array = pool[expansion.members.examples["slot"][pool] < 0]
        self.left = len(self.pool)

    def next_example(self) -> Candidates | None:
        """Choose an example; return it with its kernel values, None if the pool is exhausted."""
        if not self.left:
            return None
        expansion = self.expansion
        expansion.make_room(1)
        places = self.rng.choice(self.left, min(self.size, self.left), replace=False)
        edge = 1.0 + 0.5 * expansion.delta if math.isfinite(expansion.delta) else 1.0
        inside, least = 0, np.inf
        for part in np.split(places, [_LOOK] if self.adaptive and len(places) > _LOOK else []):
            values = expansion.values(self.pool[part])
            measure = self._measure(self.pool[part], values)
            if self.adaptive:
                within = inside + np.cumsum(measure < edge)
                measure = measure[: int(np.searchsorted(within, _ENOUGH)) + 1]
                inside = int(within[len(measure) - 1])
            best = int(np.argmin(measure))
            if measure[best] < least:
                least, chosen, row = measure[best], part[best], values[[best]]
            if inside >= _ENOUGH:
                break
        example = self.pool[[chosen]]
        self.left -= 1
        self.pool[chosen] = self.pool[self.left]
        return expansion.offered(example, np.zeros(1, dtype=np.int64), row, expansion.between(example))

    def _measure(self, examples: Array, values: Array) -> Array:
        """Return y f by the gradient criterion, else |f|, of ``examples`` with their kernel values against the slots."""
        scores = np.full(len(values), self.expansion.intercept)
        add_scores(values, self.expansion.members.alpha[: values.shape[1]], scores)
        return scores * self.expansion.targets[examples] if self.by_gradient else np.abs(scores)
