"""LASVM as the learner of another solver, which requests scores of examples and chooses those to learn."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from harness import CSVC, Iterate, KernelOracle, Learner, UsageError
from harness.support.arrays import Array, Vector
from harness_lasvm.candidate_set import CandidateSet
from harness_lasvm.compiled.members import add_scores
from harness_lasvm.compiled.state import Candidates
from harness_lasvm.finishing import finish
from harness_lasvm.online import Online
from harness_lasvm.options import LASVMOptions

_ROW_COST = 2.0  # time of a kernel value in a row over all points, over that in a block: 1.6 (sparse) to 2.8 (dense)
_FULL = 0.9  # most members, as a fraction of the rows that fit into memory: of more, rows would be computed repeatedly


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
        self._stored: StoredScores | None = None
        self._learned = 0  # number of examples learned since scores were requested

    def learn(self, indices: Any) -> None:
        examples = np.array(indices, dtype=np.int64).reshape(-1)
        self._set_targets(examples)
        scored, self._scored = self._scored, None
        if not self._online.visited:
            self._online.seed(examples)
        self._resume()
        self._learned += len(examples)
        self._online.learn(examples, self._with_values(examples, scored))

    def scores(self, indices: Any, *, keep: bool | None = False) -> Vector:
        """Return f of the points ``indices``, (m,) float64.

        Afresh that costs m |S| kernel values, none while w = 0. Of more points than are fetched together only the support vectors'
        values are computed; those of all n points if m is more than half of them, as picking points takes as long. Kept
        scores cost n for each example that is learned, see :mod:`harness_lasvm.learner`.
        """
        examples = np.array(indices, dtype=np.int64).reshape(-1)
        self._resume()
        expansion = self._expansion
        scores = np.full(len(examples), expansion.intercept)
        self._scored, support = None, expansion.support()
        if not len(examples) or not support:
            return scores
        self._choose(keep, len(examples) * support)
        if self._stored is not None:
            return scores + self._stored.scores(examples, expansion.write())
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

    def iterate(self, *, done: bool = False, **info: Any) -> Iterate:
        return self._expansion.iterate(done=done, visited=self._online.visited, **info)

    @property
    def support(self) -> int:
        """Number of support vectors."""
        return self._expansion.support() + sum(len(group.members) for group in self._expansion.aside)

    @property
    def margin(self) -> float:
        """1 + delta / 2; infinite while one class was learned."""
        delta = self._expansion.delta
        return 1.0 + 0.5 * delta if math.isfinite(delta) else math.inf

    # -- inside ---------------------------------------------------------------------------------------

    def _set_targets(self, examples: Array) -> None:
        """Set the targets and the bounds of examples to be learned."""
        targets = self._problem.targets[examples]
        unknown = np.flatnonzero(np.isnan(targets))
        if len(unknown):
            raise UsageError(
                f"point {examples[unknown[0]]} was to be learned and its label is not known; query it before, with problem.query."
            )
        records, reach = self._expansion.members.examples, self._problem.upper[examples] * targets
        records["target"][examples] = targets
        records["lower"][examples], records["upper"][examples] = np.minimum(0.0, reach), np.maximum(0.0, reach)

    def _resume(self) -> None:
        """Undo what the finishing step has changed for itself."""
        if self._expansion.aside:
            self._expansion.readmit()
        self._expansion.now["sweep"] = 1

    def _choose(self, keep: bool | None, values: int) -> None:
        """Decide whether scores are stored from now on; ``values`` : the kernel values of a query without stored scores."""
        expansion, learned, self._learned = self._expansion, self._learned, 0
        if keep is None:
            pays = self._stored is not None or values > _ROW_COST * expansion.n * max(1, learned)
            keep = pays and StoredScores.fits(expansion.kernel, expansion.size)
        if not keep:
            self._stored = None
        elif self._stored is None:
            self._stored = StoredScores(expansion.kernel)

    def _with_values(self, examples: Array, scored: tuple[Array, Array] | None) -> Candidates | None:
        """Return the examples with kernel values from the last scores, or from stored rows; None if there are none.

        scored : examples whose scores were not stored, and their values
        """
        expansion = self._expansion
        has_members = (expansion.members.examples["slot"][examples] >= 0).any()
        if not len(examples) or has_members or len(set(examples.tolist())) < len(examples):
            return None
        if self._stored is not None:
            return self._stored.candidates(expansion, examples)
        if scored is None:
            return None
        equal = scored[0] == examples[:, None]
        if not equal.any(axis=1).all():
            return None
        among = np.zeros((1, 1), dtype=expansion.kernel.dtype)  # one candidate has no others
        if len(examples) > 1:
            among = expansion.between(examples)
        return expansion.offered(examples, np.arange(len(examples)), scored[1][equal.argmax(axis=1)], among)


# -- scores of all points, stored while one example after another is learned -------------------------------------------
# A query of q candidates costs q |S| kernel values. Where that is more than n, the row of each new example over all points
# costs less: it serves its own PROCESS, and brings the scores of all points up to date whenever its coefficient changes.


class StoredScores:
    """K coef at all points, (n,) float64, with kernel rows over all points as far as memory goes.

    Parameters
    ----------
    kernel : of the learner's dtype; the rows take its ``cache_mb`` at most, in addition to those of S
    """

    def __init__(self, kernel: KernelOracle) -> None:
        self._rows = kernel.row_cache()
        self._coef, self._scores = np.zeros((2, kernel.n))

    @staticmethod
    def fits(kernel: KernelOracle, members: int) -> bool:
        """Return whether the rows of so many members of S fit into memory."""
        return bool(members < _FULL * kernel.cache_mb * 2**20 / (kernel.n * kernel.dtype.itemsize))

    def scores(self, examples: Array, coef: Vector) -> Vector:
        """Return K coef at ``examples``, (m,); n kernel values for each coefficient that changed and has no row here."""
        change: Any = coef - self._coef
        changed, rows = np.flatnonzero(change), self._rows
        for start in range(0, len(changed), rows.capacity):
            points = changed[start : start + rows.capacity]
            rows.clock += 1
            rows.fetch(points)
            rows.add(self._scores, points, change[points])
        self._coef[changed] = coef[changed]
        return np.asarray(self._scores[examples])

    def candidates(self, expansion: CandidateSet, examples: Array) -> Candidates | None:
        """Return ``examples``, none of them members, with the kernel values of their rows; None if memory is too small."""
        rows = self._rows
        if len(examples) > rows.capacity:
            return None
        expansion.make_room(len(examples))
        rows.clock += 1
        rows.fetch(examples)
        places = rows.slot_of[examples]
        # a hole's value is read and never used: alpha is 0 there
        standing = np.maximum(expansion.members.slots["member"][: int(expansion.now["top"])], 0)
        values, among = (rows.rows[places[:, None], points] for points in (standing, examples))
        return expansion.offered(examples, np.arange(len(examples)), values, among)
