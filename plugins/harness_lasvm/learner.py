"""LASVM as the learner of another solver, which chooses the examples."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from harness import CSVC, Iterate, KernelOracle, Learner, UsageError
from harness.support.arrays import Array, Vector
from harness_lasvm.candidate_set import CandidateSet
from harness_lasvm.compiled.members import add_scores
from harness_lasvm.compiled.state import DONE, Candidates
from harness_lasvm.finishing import finish
from harness_lasvm.online import Online
from harness_lasvm.options import LASVMOptions

_FULL = 0.9  # largest |S| as a fraction of the rows that memory holds: more rows would be computed again and again
_ROUNDING = 1e-9  # by which scores must be beyond a threshold, as they are compared with their intercept added
_RELEASE = 32  # rows that are fetched before rows that are needed no more are looked for: each search reads all owners
_RECENT = 64  # examples over which the share that enters S is averaged


class LASVMLearner(Learner):
    """PROCESS and REPROCESS, once each, for every example to be learned; the first ones bring the seeds.

    Learning a problem in one call takes the steps of the solver's first epoch over the same order. The kernel values
    that :meth:`scores` computed last serve the PROCESS of those that are learned next.

    While it has seen one class only its model is w = 0 with that label as intercept, and its margin is infinite.
    """

    def __init__(self, problem: CSVC, options: LASVMOptions, rng: np.random.Generator) -> None:
        self._problem, self._options = problem, options
        self._expansion = CandidateSet(problem, cache_mb=options.cache_mb, block=options.block, dtype=options.dtype)
        self._online = Online(self._expansion, options, rng)
        self._scored: tuple[Array, Array] | None = None  # examples, and their values against the slots of now
        self._cached: CachedScores | None = None
        self._finished = False
        kernel = self._expansion.kernel
        # |S| from which on memory does not hold the rows that cached scores need
        self._most_members = _FULL * kernel.cache_mb * 2**20 / (kernel.n * kernel.dtype.itemsize)
        self._entering = 1.0  # share of the last examples that entered S

    def learn(self, indices: Any) -> None:
        examples = np.array(indices, dtype=np.int64).reshape(-1)
        targets = self._targets(examples)
        self._resume()
        scored, self._scored = self._scored, None
        if self._cached is not None:
            passed = 0
            if len(examples) > 1 and (steady := self.steady()):
                scores, b, low, high = steady
                f = np.append(scores[examples] + b, np.nan)
                passed = int(np.argmin(np.where(np.append(targets, 1.0) > 0.0, f >= high, f <= low)))
                self._online.pass_by(passed)
            rest = slice(passed, None)
            self._cached.learn(self._online, examples[rest], targets[rest], self._problem.upper[examples[rest]])
            return
        self._enter(examples, targets)
        if not self._online.visited:
            self._online.seed(examples)
        filled = int(self._expansion.now["clock"])
        self._online.learn(examples, self._with_values(examples, scored))
        self._entering *= (1.0 - 1.0 / _RECENT) ** len(examples)
        self._entering += (int(self._expansion.now["clock"]) - filled) / _RECENT

    def scores(self, indices: Any, *, keep: bool | None = False) -> Vector:
        """Return f of the points ``indices``, (m,) float64.

        Without cached scores that costs m |S| kernel values, none while w = 0. Of more points than are fetched together only the
        support vectors' values are computed; those of all n points if m is more than half of them, as picking points takes as
        long. Cached scores cost n for each example that enters S, see :class:`CachedScores`.
        """
        examples = np.array(indices, dtype=np.int64).reshape(-1)
        self._resume()
        expansion, cached = self._expansion, self._cached
        if cached is None or not keep:
            cached = self._cached = self._choose(keep, len(examples))
        if cached is not None:
            return cached.scores(expansion, examples) + expansion.intercept
        found = np.full(len(examples), expansion.intercept)
        self._scored = None
        if not len(examples) or not expansion.support():
            return found
        if len(examples) > expansion.block:
            coef = expansion.members.coef  # as support() has written it
            if 2 * len(examples) > expansion.n:
                return found + expansion.kernel.expand(coef)[examples]
            return found + expansion.kernel.expand(coef, examples)
        expansion.make_room(len(examples))  # for those that are learned: later it would move the slots
        values = expansion.values(examples)
        add_scores(values, expansion.members.alpha[: values.shape[1]], found)
        self._scored = examples, values
        return found

    def finish(self) -> None:
        self._scored = None
        for _ in finish(self._expansion, self._options):
            pass
        self._finished = True
        if self._cached is not None:
            self._cached.outdate()

    def iterate(self, *, done: bool = False, **info: Any) -> Iterate:
        coef = None if self._cached is None or self._finished else self._cached.arrays.coef
        return self._expansion.iterate(coef, done=done, visited=self._online.visited, **info)

    def steady(self) -> tuple[Vector, float, float, float] | None:
        expansion, cached = self._expansion, self._cached
        if cached is None or self._finished or expansion.size >= self._most_members:
            return None
        b, low, high = expansion.intercept, -math.inf, math.inf
        if expansion.delta <= self._options.tau:
            # PROCESS would let no such point in, see the compiled `learn`, and REPROCESS bails out
            ends = float(expansion.now["g_min"]), float(expansion.now["g_max"])
            low, high = b - 1.0 - max(ends) - _ROUNDING, b + 1.0 - min(ends) + _ROUNDING
        return cached.arrays.scores, b, low, high

    @property
    def support(self) -> int:
        """Number of support vectors."""
        if self._cached is not None and not self._finished:
            return int(self._cached.arrays.sizes[0])
        return self._expansion.support() + sum(len(group.members) for group in self._expansion.aside)

    @property
    def margin(self) -> float:
        """1 + delta / 2; infinite while one class was seen."""
        delta = self._expansion.delta
        return 1.0 + 0.5 * delta if math.isfinite(delta) else math.inf

    # -- inside ---------------------------------------------------------------------------------------

    def _targets(self, examples: Array) -> Vector:
        """Return the targets of examples, (m,), all of them queried."""
        targets: Vector = self._problem.targets[examples]
        unknown = np.isnan(targets)
        if unknown.any():
            raise UsageError(
                f"point {examples[unknown][0]} was to be learned and its label is not known; query it before, with problem.query."
            )
        return targets

    def _enter(self, examples: Array, targets: Vector) -> None:
        """Enter the targets and the bounds of what is to be learned."""
        known, reach = self._expansion.members.examples, self._problem.upper[examples] * targets
        known["target"][examples] = targets
        known["lower"][examples], known["upper"][examples] = np.minimum(0.0, reach), np.maximum(0.0, reach)

    def _resume(self) -> None:
        """Take back what the finishing step has changed for itself."""
        if self._finished:
            self._expansion.readmit()
            self._expansion.now["sweep"] = 1
            self._finished = False

    def _choose(self, keep: bool | None, count: int) -> CachedScores | None:
        """Return the cache of all scores if it is to serve the scores of ``count`` points, and from now on; else None."""
        expansion, cached = self._expansion, self._cached
        if keep is False or (keep is None and expansion.size >= self._most_members):
            return None
        support = expansion.support() if cached is None else 0
        pays = bool(keep) or count * support > expansion.n * self._entering
        return CachedScores(expansion.kernel) if support and pays else cached

    def _with_values(self, examples: Array, scored: tuple[Array, Array] | None) -> Candidates | None:
        """Return the examples with the kernel values of their scores; None if there are none.

        scored : examples whose scores were computed last, and their values
        """
        expansion = self._expansion
        strange = (expansion.members.examples["slot"][examples] >= 0).any()
        if scored is None or not len(examples) or strange or len(set(examples.tolist())) < len(examples):
            return None
        found = scored[0] == examples[:, None]
        if not found.any(axis=1).all():
            return None
        among = np.zeros((1, 1), dtype=expansion.kernel.dtype)  # one candidate has no others
        if len(examples) > 1:
            among = expansion.kernel.block(examples, examples)
        return expansion.offered(examples, np.arange(len(examples)), scored[1][found.argmax(axis=1)], among)


class CachedScores:
    """K coef at all points, updated by the kernel rows of the coefficients that change.

    Scoring m points without it costs m |S| kernel values. With it, an example costs none if it does not enter S, else a row of n
    values, which serves its PROCESS and the scores of all points.

    Parameters
    ----------
    kernel : of the learner's dtype; the rows take its ``cache_mb`` at most, in addition to those of S

    Attributes
    ----------
    arrays : those of the compiled loops; ``scores``, ``coef`` and the size of ``support`` are current after each method
    """

    def __init__(self, kernel: KernelOracle) -> None:
        from harness_lasvm.compiled.cached_scores import Cached

        self._rows = rows = kernel.row_cache()
        rows.at_rest(np.empty(0, dtype=np.intp))  # the compiled loop marks rows that are needed no more
        (scores, coef, weights), stacks = np.zeros((3, kernel.n)), np.zeros((3, kernel.n), dtype=np.int64)
        values, sizes = np.zeros(kernel.n, dtype=kernel.dtype), np.array([0, 1, 0])
        cache = rows.rows, rows.slot_of, rows.owner, rows.last_used
        self.arrays = Cached(scores, coef, *cache, stacks[0], stacks[1], stacks[2], weights, values, sizes)
        self._release_at = 0

    def scores(self, expansion: CandidateSet, examples: Array) -> Vector:
        """Return K coef at ``examples``, (m,); n kernel values for each changed coefficient without a cached row."""
        if self.arrays.sizes[1]:
            self._update(expansion)
        return np.asarray(self.arrays.scores[examples])

    def learn(self, online: Online, examples: Array, targets: Vector, upper: Vector) -> None:
        """PROCESS and REPROCESS, once each, for examples with their targets and bounds, all (m,)."""
        from harness_lasvm.compiled.cached_scores import NEED_POINT, learn

        expansion, sizes = online.expansion, self.arrays.sizes
        if sizes[1]:
            self._update(expansion)
        for k, target, bound in zip(examples.tolist(), targets.tolist(), upper.tolist(), strict=True):
            work, fetched = (self.arrays, k, target, bound), False
            while (code := expansion.run(learn, *work, fetched, *online.rule, pause=online.pause)) != DONE:
                if code == NEED_POINT:
                    expansion.make_room(1)
                    self._fetch(expansion, np.array([k]))
                    fetched = True
            if sizes[1]:
                self._update(expansion)
        online.visited += len(examples)

    def _update(self, expansion: CandidateSet) -> None:
        from harness_lasvm.compiled.cached_scores import update

        update(expansion.members, self.arrays)
        while missing := int(self.arrays.sizes[1]):
            self._fetch(expansion, self.arrays.missing[: min(missing, self._rows.capacity)].copy())
            update(expansion.members, self.arrays)

    def outdate(self) -> None:
        """Note that the coefficients have changed elsewhere."""
        self.arrays.sizes[1] = 1

    def _fetch(self, expansion: CandidateSet, points: Array) -> None:
        """Compute the rows of ``points`` that are not cached."""
        from harness_lasvm.compiled.cached_scores import release

        if self._rows.fetched >= self._release_at:
            release(expansion.members, self.arrays)
            self._release_at = self._rows.fetched + _RELEASE
        self._rows.clock = expansion.operations
        self._rows.read(int(self.arrays.sizes[2]))
        self.arrays.sizes[2] = 0
        self._rows.fetch(points)
