"""LASVM as the learner of another solver, which requests scores of examples and chooses those to learn."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from harness import CSVC, Iterate, KernelOracle, Learner, UsageError
from harness.support.arrays import Array, Vector
from harness_lasvm.candidate_set import CandidateSet
from harness_lasvm.compiled.cached_scores import NEED_POINT, Cached, learn, update
from harness_lasvm.compiled.members import add_scores
from harness_lasvm.compiled.state import DONE
from harness_lasvm.finishing import finish
from harness_lasvm.online import Online
from harness_lasvm.options import LASVMOptions

_FULL = 0.9  # most members, as a fraction of the rows that fit into memory: of more, rows would be computed repeatedly
_RELEASE = 32  # rows computed between two searches for rows that are not needed any more: each reads all points
_RECENT = 64  # examples over which the fraction that enters S is averaged
_Choose = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_double, ctypes.c_int64, ctypes.c_double)


class LASVMLearner(Learner):
    """PROCESS and REPROCESS, once each, for every example to learn; the first ones bring the seeds.

    Learning a problem in one call takes the steps of the solver's first epoch over the same order. The kernel values
    that :meth:`scores` computed last serve the PROCESS of those that are learned next.

    While it has learned one class only, its model is w = 0 with that label as intercept, and its margin is infinite.
    """

    def __init__(self, problem: CSVC, options: LASVMOptions, rng: np.random.Generator) -> None:
        self._problem, self._options = problem, options
        self._expansion = CandidateSet(problem, cache_mb=options.cache_mb, block=options.block, dtype=options.dtype)
        self._online = Online(self._expansion, options, rng)
        self._scored: tuple[Array, Array] | None = None  # examples, and their values against the slots of now
        self._cached: CachedScores | None = None
        self._entering = 1.0  # fraction of the last examples that entered S
        kernel, records = self._expansion.kernel, self._expansion.members.examples
        records["lower"], records["upper"] = -problem.upper, problem.upper  # while targets are not known
        # |S| from which on the rows that cached scores need do not fit into memory
        self._most_members = _FULL * kernel.cache_mb * 2**20 / (kernel.n * kernel.dtype.itemsize)

    def learn(self, indices: Any) -> None:
        examples = np.array(indices, dtype=np.int64).reshape(-1)
        targets: Vector = self._problem.targets[examples]
        if (unknown := np.isnan(targets)).any():
            raise UsageError(
                f"point {examples[unknown][0]} was to be learned and its label is not known; query it before, with problem.query."
            )
        self._expansion.readmit()
        scored, self._scored = self._scored, None
        expansion, online = self._expansion, self._online
        if self._cached is not None:
            following = iter(examples.tolist())
            self._cached.learn(online, len(examples), lambda *_: next(following))
            return
        records = expansion.members.examples
        records["target"][examples] = targets
        records["lower"][examples[targets > 0.0]], records["upper"][examples[targets < 0.0]] = 0.0, 0.0
        if not online.visited:
            online.seed(examples)
        filled = int(expansion.now["clock"])
        work = None
        if scored is not None and len(examples) and (equal := scored[0] == examples[:, None]).any(axis=1).all():
            values = scored[1][equal.argmax(axis=1)]
            work = expansion.offered(examples, np.arange(len(examples)), values, expansion.between(examples))
        online.learn(examples, work)
        self._entering *= (1.0 - 1.0 / _RECENT) ** len(examples)
        self._entering += (int(expansion.now["clock"]) - filled) / _RECENT

    def scores(self, indices: Any, *, keep: bool | None = False) -> Vector:
        """Return f of the points ``indices``, (m,) float64.

        Without cached scores that costs m |S| kernel values, none while w = 0. Of more points than are fetched together only the
        support vectors' values are computed; those of all n points if m is more than half of them, as picking points takes as
        long. Cached scores cost n for each example that enters S, see :class:`CachedScores`.
        """
        examples = np.array(indices, dtype=np.int64).reshape(-1)
        self._expansion.readmit()
        expansion, self._scored = self._expansion, None
        scores, support = np.full(len(examples), expansion.intercept), expansion.support()
        if keep is False or (keep is None and expansion.size >= self._most_members):
            self._cached = None
        elif self._cached is None and support and (keep or len(examples) * support > expansion.n * self._entering):
            self._cached = CachedScores(expansion.kernel, self._problem.targets)
        if self._cached is not None:
            self._cached.update(expansion)
            return np.asarray(scores + self._cached.arrays.scores[examples])
        if not len(examples) or not support:
            return scores
        if len(examples) > expansion.block:
            coef = expansion.write()
            if 2 * len(examples) > expansion.n:
                return scores + expansion.kernel.expand(coef)[examples]
            return scores + expansion.kernel.expand(coef, examples)
        expansion.make_room(len(examples))  # for those that are learned: later it would move the slots
        values = expansion.values(examples)
        add_scores(values, expansion.members.alpha[: values.shape[1]], scores)
        self._scored = examples, values
        return scores

    def finish(self) -> None:
        self._scored = None
        for _ in finish(self._expansion, self._options):
            pass
        if self._cached is not None:
            self._cached.arrays.sizes[1] = 1  # out of date

    def iterate(self, *, done: bool = False, **info: Any) -> Iterate:
        coef = current.coef if (current := self._current()) is not None else None
        return self._expansion.iterate(coef, done=done, visited=self._online.visited, **info)

    def learn_chosen(self, count: int, choose: Callable[..., int]) -> int:
        count, cached = min(count, math.ceil(self._most_members - self._expansion.size)), self._cached
        if cached is None or cached.arrays.sizes[1] or count <= 0:
            return 0
        self._expansion.readmit()
        return cached.learn(self._online, count, choose)

    @property
    def support(self) -> int:
        """Number of support vectors."""
        if (current := self._current()) is not None:
            return int(current.sizes[0])
        return self._expansion.support() + sum(len(group.members) for group in self._expansion.aside)

    @property
    def margin(self) -> float:
        """1 + delta / 2; infinite while one class was learned."""
        delta = self._expansion.delta
        return 1.0 + 0.5 * delta if math.isfinite(delta) else math.inf

    # -- inside ---------------------------------------------------------------------------------------

    def _current(self) -> Cached | None:
        """Return the arrays of the cached scores if these belong to the model of now."""
        return self._cached.arrays if self._cached is not None and not self._cached.arrays.sizes[1] else None


class CachedScores:
    """K coef at all points, updated by the kernel rows of the coefficients that change.

    Scoring m points without it costs m |S| kernel values. With it, an example costs none if it does not enter S, else a row of n
    values, which serves its PROCESS and the scores of all points.

    Parameters
    ----------
    kernel : of the learner's dtype; the rows take its ``cache_mb`` at most, in addition to those of S

    Attributes
    ----------
    arrays : those of the compiled loops; up to date after each method
    """

    def __init__(self, kernel: KernelOracle, targets: Vector) -> None:
        self._rows = rows = kernel.row_cache()
        (scores, coef), (support, missing) = np.zeros((2, kernel.n)), np.zeros((2, kernel.n), dtype=np.int64)
        sizes = np.array([0, 1, 0, 0, 0, 0])  # out of date
        self.arrays = Cached(scores, coef, rows.rows, rows.slot_of, rows.last_used, targets, support, missing, sizes)
        self._release_at = 0

    def learn(self, online: Online, count: int, choose: Callable[..., int]) -> int:
        """PROCESS and REPROCESS, once each, up to ``count`` examples, see `Learner.learn_chosen`; return their number."""
        expansion, (scores, *_, sizes), errors = online.expansion, self.arrays, list[BaseException]()

        def next_example(*model: float) -> int:
            try:
                return choose(scores, *model)
            except BaseException as error:  # compiled loops do not pass it on
                errors.append(error)
                return -1

        self.update(expansion)
        sizes[3:], pointer = (count, -1, 0), _Choose(next_example)
        while (code := expansion.run(learn, self.arrays, pointer, online.rule, pause=online.pause)) != DONE:
            if code == NEED_POINT:
                expansion.make_room(1)
                self._fetch(expansion, sizes[4:5].copy())
                sizes[5] = 1
            self.update(expansion)
        online.visited += (learned := count - int(sizes[3]))
        if errors:
            raise errors[0]
        return learned

    def update(self, expansion: CandidateSet) -> None:
        """Compute the rows of changed coefficients that are not cached, n kernel values each, and update the scores."""
        while self.arrays.sizes[1]:
            update(expansion.members, self.arrays)
            if missing := int(self.arrays.sizes[1]):
                self._fetch(expansion, self.arrays.missing[: min(missing, self._rows.capacity)].copy())

    def _fetch(self, expansion: CandidateSet, points: Array) -> None:
        """Compute the rows of ``points`` that are not cached."""
        rows, sizes = self._rows, self.arrays.sizes
        rows.clock = expansion.operations
        if rows.fetched >= self._release_at:  # the rows of points that left S go first
            rows.at_rest(np.flatnonzero((expansion.members.examples["slot"] < 0) & (self.arrays.coef == 0.0)))
            self._release_at = rows.fetched + _RELEASE
        rows.read(int(sizes[2]))
        sizes[2] = 0
        rows.fetch(points)
