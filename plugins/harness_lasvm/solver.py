"""LASVM: an online SVM that inserts examples one by one and drops those that turn out not to support.

S holds the potential support vectors with their signed coefficients alpha and their gradients
g_s = y_s - sum_t alpha_t K_st. PROCESS(k) lets example k into S and searches along the pair of k and the most
violating member; REPROCESS searches along the most violating pair of S and removes blatant non support
vectors. An epoch visits the examples in random order, a PROCESS and a REPROCESS each; the finishing step
repeats REPROCESS until no tau-violating pair is left in S. One epoch need not find all support vectors.

Cost: PROCESS |S| kernel values and two passes over S; REPROCESS no kernel values while the rows it needs are
held, and one pass over S.

Source: Bordes, Ertekin, Weston, Bottou, Fast Kernel Classifiers with Online and Active Learning, JMLR 6 (2005),
section 3.2. Differs in:

* step 4 of REPROCESS is applied to k itself when PROCESS(k) bails out: k leaves at once if y_k = +1 and
  g_k <= min(g_min, g_max), or y_k = -1 and g_k >= max(g_min, g_max). As printed it would stay until the next
  REPROCESS that does not bail out; on an easy problem there is none, and S would grow to all n examples. With the
  second bound, which matters when delta < 0 only, no tau-violating pair is lost at the present alpha, which is
  what case c of the paper's convergence argument needs.
* the seeds are the first five examples of each class in the first epoch's order.
* K_ii + K_jj - 2 K_ij is taken to be at least 1e-12, for equal points.
* the finishing step's active members are packed, not flagged; inactive members come back by their own gradients.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, cast

import numpy as np

from harness import CSVC, Iterate, Problem, Solver, parameter

if TYPE_CHECKING:
    from harness_lasvm.expansion import Expansion

_SEEDS = 5  # of each class
_PAUSE = 1000  # REPROCESS operations between two yields, and between two attempts to shrink
_WORTHWHILE = 0.1  # share of the active members whose removal pays for packing the others


@dataclass(frozen=True)
class LASVM(Solver):
    """Online LASVM with random examples: a number of epochs, then the finishing step.

    A step is one PROCESS or REPROCESS, those that bail out included. ``info`` holds delta (of the most violating
    pair of the active members of S), members (|S|), epoch, phase ('online' or 'finishing') and rows_recomputed
    (kernel rows of members that memory did not hold); once online iterations are over also what they ended
    with: online_support, online_steps and online_kernel_evaluations.
    """

    name: ClassVar[str] = "lasvm"
    solves: ClassVar[tuple[type[Problem], ...]] = (CSVC,)
    exact: ClassVar[bool] = False  # examples dropped in the last epoch are not looked at again

    epochs: int = parameter(1, "passes over the examples, each in a fresh random order", ge=1)
    tau: float = parameter(1e-3, "a pair violates if its gradients differ by more; also ends the finishing step", gt=0)
    finishing: bool = parameter(True, "after the epochs, REPROCESS until delta <= tau")
    shrinking: bool = parameter(True, "set members at their bounds aside during the finishing step")
    delta_max: float | None = parameter(None, "repeat REPROCESS until delta < delta_max; none: once per example", gt=0)
    cache_mb: float | None = parameter(None, "memory for kernel rows, MB of 2^20 bytes; none: the problem's own", gt=0)
    block: int = parameter(256, "most candidates whose kernel rows are computed together", ge=1)
    dtype: Literal["float32", "float64"] = parameter("float32", "of the kernel rows; gradients are float64")

    def with_target_gap(self, gap: float) -> Self:
        """Return this solver with tau at most ``gap``.

        Over S, delta <= tau leaves a gap of at most tau / 2 times the sum of |alpha|, and that sum is at most twice
        the primal value, so the relative gap over S is about tau. Over all examples it also depends on epochs.
        """
        return self.replaced(tau=min(self.tau, gap))

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        from harness_lasvm.expansion import Expansion

        csvc = cast("CSVC", problem)
        cache_mb = problem.kernel.cache_mb if self.cache_mb is None else self.cache_mb
        expansion = Expansion(csvc, cache_mb=cache_mb, block=self.block, dtype=self.dtype)
        evaluations = problem.kernel.counter.evaluations
        last = Iterate(expansion.members.coef)
        for epoch in range(1, self.epochs + 1):
            order = rng.permutation(problem.n)
            if epoch == 1:
                _seed(expansion, csvc, order)
            for _ in self._epoch(expansion, order):
                last = _iterate(expansion, epoch=epoch, phase="online")
                yield last
        online = {
            "online_support": int(np.count_nonzero(last.dual_coef)),
            "online_steps": expansion.operations,
            "online_kernel_evaluations": problem.kernel.counter.evaluations - evaluations,
        }
        if self.finishing:
            for _ in self._finish(expansion):
                yield _iterate(expansion, epoch=self.epochs, phase="finishing", **online)
        yield _iterate(
            expansion, epoch=self.epochs, phase="finishing" if self.finishing else "online", done=True, **online
        )

    def _epoch(self, expansion: Expansion, order: Any) -> Iterator[None]:
        """Run the online iterations over ``order``; pause after every block, and within one after many REPROCESS."""
        from harness_lasvm import hot, state

        counts = expansion.counts
        delta_max = math.inf if self.delta_max is None else self.delta_max
        visited = 0
        while visited < len(order):
            work = expansion.fetch(order[visited:])
            code = None
            while code not in (state.DONE, state.STALE):
                counts[state.PAUSE] = counts[state.OPERATIONS] + max(_PAUSE, 2 * self.block)
                code = hot.online(expansion.members, expansion.box, *work, self.tau, delta_max)
                if code == state.NEED_ROW:
                    expansion.supply()
                elif code == state.PAUSED:
                    yield
            visited += int(counts[state.AT])
            yield

    def _finish(self, expansion: Expansion) -> Iterator[None]:
        """Run the finishing step; pause every so many REPROCESS."""
        from harness_lasvm import hot, state

        counts = expansion.counts
        counts[state.SWEEP] = not self.shrinking
        while True:
            counts[state.PAUSE] = counts[state.OPERATIONS] + _PAUSE
            code = state.NEED_ROW
            while code == state.NEED_ROW:
                code = hot.finish(expansion.members, self.tau)
                if code == state.NEED_ROW:
                    expansion.supply()
            if code == state.DONE:
                if not expansion.inactive:
                    return
                expansion.unshrink(self.tau)
                if expansion.delta <= self.tau:
                    return
            elif self.shrinking:
                expansion.shrink(_WORTHWHILE)
            yield


def _seed(expansion: Expansion, problem: CSVC, order: Any) -> None:
    """Let the first few examples of each class into S, with alpha = 0 and g = y."""
    targets = problem.targets[order]
    firsts = np.concatenate([np.flatnonzero(targets == label)[:_SEEDS] for label in (1.0, -1.0)])
    seeds = order[np.sort(firsts)]
    expansion.admit(seeds, np.zeros(len(seeds)), problem.targets[seeds])


def _iterate(expansion: Expansion, *, done: bool = False, **info: Any) -> Iterate:
    from harness_lasvm import hot

    hot.write(expansion.members)
    members = expansion.size + sum(len(group.members) for group in expansion.inactive)
    claims = {"delta": expansion.delta, "members": members, "rows_recomputed": expansion.rows_recomputed, **info}
    return Iterate(
        dual_coef=expansion.members.coef,
        intercept=expansion.intercept,
        done=done,
        step=expansion.operations,
        core_set=members,
        info=claims,
    )
