"""The online iterations of LASVM over some examples, from a data set in memory or from a chunk of a stream."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from harness_lasvm.compiled.state import DONE, PAUSED, STALE
from harness_lasvm.compiled.steps import online
from harness_lasvm.selection import Search

if TYPE_CHECKING:
    from harness.arrays import Array
    from harness_lasvm.compiled.state import Candidates
    from harness_lasvm.expansion import Expansion
    from harness_lasvm.solver import LASVM

_SEEDS = 5  # of each class
_PAUSE = 1000  # REPROCESS operations between two yields, where delta_max asks for many
_ENTERING = 4  # support vectors that one PROCESS and one REPROCESS can add: both ends of two pairs


class Online:
    """Seeds and online iterations on ``expansion``.

    visited : examples given to PROCESS so far
    stopped_by : what ended the iterations early, 'max_support' or 'margin'; empty if nothing did
    """

    def __init__(self, expansion: Expansion, options: LASVM, rng: np.random.Generator) -> None:
        self.expansion, self.options, self.rng = expansion, options, rng
        self.visited = 0
        self.stopped_by = ""
        self._to_seed = {1.0: _SEEDS, -1.0: _SEEDS}

    def seed(self, examples: Array) -> None:
        """Let the first few ``examples`` of each class into S, with alpha = 0; none of them is a member."""
        expansion = self.expansion
        targets = expansion.targets[examples]
        firsts = [np.flatnonzero(targets == label)[:wanted] for label, wanted in self._to_seed.items()]
        self._to_seed = {
            label: wanted - len(first) for (label, wanted), first in zip(self._to_seed.items(), firsts, strict=True)
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
            self.stopped_by = ""  # what ended this visit says nothing about the next one
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
                self.stopped_by = "margin" if search.margin_is_exhausted else ""
                return
            yield from self._run(work)
            self.visited += 1
            self._check_support()
            yield

    def _run(self, work: Candidates) -> Iterator[None]:
        """PROCESS and REPROCESS the fetched candidates, all or until one must be fetched anew."""
        expansion, options = self.expansion, self.options
        delta_max = math.inf if options.delta_max is None else options.delta_max
        many = expansion.n + 1 if options.second_order_from is None else options.second_order_from
        code = None
        while code not in (DONE, STALE):
            until = expansion.operations + max(_PAUSE, 2 * options.block)
            code = expansion.run(online, work, options.tau, delta_max, many, until=until)
            if code == PAUSED:
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
