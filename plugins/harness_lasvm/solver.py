"""LASVM: an online SVM that inserts examples one by one and drops those that turn out not to support.

S is the set of potential support vectors, with their signed coefficients alpha and their gradients
g_s = y_s - sum_t alpha_t K_st. PROCESS(k) lets example k into S and searches along the pair of k and the most
violating member; REPROCESS searches along the most violating pair of S and removes blatant non support
vectors. An epoch visits the examples in random order, a PROCESS and a REPROCESS each; the finishing step
repeats REPROCESS until no tau-violating pair is left in S. One epoch need not find all support vectors.

Cost: PROCESS |S| kernel values and two passes over S; REPROCESS no kernel values while the rows it needs are
stored, and one pass over S.

Source: Bordes, Ertekin, Weston, Bottou, Fast Kernel Classifiers with Online and Active Learning, JMLR 6 (2005),
section 3.2. Differs in:

* step 4 of REPROCESS is applied to k itself when PROCESS(k) bails out: k leaves at once if y_k = +1 and
  g_k <= min(g_min, g_max), or y_k = -1 and g_k >= max(g_min, g_max). As printed it would stay until the next
  REPROCESS that does not bail out; on an easy problem there is none, and S would grow to all n examples. With the
  second bound, which matters when delta < 0 only, no tau-violating pair is lost at the present alpha, which is
  what case c of the paper's convergence argument needs.
* the seeds are the first five examples of each class in the first epoch's order.
* K_ii + K_jj - 2 K_ij is taken to be at least 1e-12, for equal points.
* the finishing step's active members are packed, not flagged; inactive members come back by their gradients.
* online while S has ``second_order_from`` members, and in the finishing step where that gains more for the time it takes,
  the partner of PROCESS's k, and of one of REPROCESS's pair, is the member with which the objective gains most to second
  order (Fan, Chen, Lin, JMLR 6, 2005), as in the LIBSVM that the paper compares with. With one most violating pair an
  example and large C, the model lags far behind its optimum and S fills with examples that the finishing step drops
  again: on the paper's banana set it grows to four times as many members as there are support vectors. While S is small
  this costs nothing, and the finishing step profits by more examples.
* where the rows of all members do not fit into memory, a pair whose rows are stored is taken instead of the most violating
  one if it violates at least 0.3 times as much, online and in the finishing step, and missing rows are computed
  several together (:mod:`harness_lasvm.compiled.steps`). It ends at the same tau.
* a finishing step that is long is handed to an exact solver, over S and from the coefficients of then
  (:mod:`harness_lasvm.finishing`). It ends at the same tau; ``finisher=none`` is the paper's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from harness import CSVC, Iterate, Learner, Problem, ProblemSummary, Solver, UsageError
from harness.registry.subproblem_oracle import is_observable
from harness_lasvm.finishing import finish, hand_over, named, refusal, takes_long, warm_ups
from harness_lasvm.options import LASVMOptions


@dataclass(frozen=True)
class LASVM(LASVMOptions):
    """Online LASVM: a number of epochs over random or selected examples, then the finishing step.

    Use it for an accurate model after one pass, where no small certified gap is needed. Paper: Bordes, Ertekin,
    Weston and Bottou 2005.

    A step is one PROCESS or REPROCESS, those that bail out included. ``info`` has delta (of the most violating
    pair of the active members of S; of the finisher's models, of the last one, over all S), members (|S|), epoch, phase
    ('online', 'finishing', or 'finisher' once that is at work), visited (examples given to PROCESS), rows_recomputed (kernel
    rows of members that memory did not hold) and finisher_steps, which are no steps of LASVM. The last iterate of phase
    'online' is the model before the finishing step; it and all later ones say what the online iterations ended
    with: online_support, online_members, online_delta, online_steps, online_kernel_evaluations, and stopped_by:
    '' after the last epoch, or 'max_support'.
    """

    @property
    def observable(self) -> bool:  # type: ignore[override]
        """False over a black box: what it evaluates is part of the run and cannot be counted."""
        return self.finisher is None or is_observable(self.finisher)

    def skip(self, problem: ProblemSummary) -> str | None:
        """Refuse a finisher that is not there or does not solve c-svc."""
        return None if self.finisher is None or not self.finishing else refusal(self.name, self.finisher)

    def warm_ups(self) -> tuple[Solver, ...]:
        """Return this solver, and what loads the finisher: few points never take that long."""
        if self.finisher is None or not self.finishing:
            return (self,)
        return (self, *warm_ups(self.finisher))

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        from harness_lasvm.candidate_set import CandidateSet
        from harness_lasvm.online import Online

        csvc = cast("CSVC", problem)
        counter = problem.kernel.counter
        evaluations = counter.evaluations
        expansion = CandidateSet(csvc, cache_mb=self.cache_mb, block=self.block, dtype=self.dtype)
        online = Online(expansion, self, rng)
        for epoch in range(1, self.epochs + 1):
            order = rng.permutation(problem.n)
            if epoch == 1:
                online.seed(order)
            for _ in online.visit(order):
                yield expansion.iterate(epoch=epoch, phase="online", visited=online.visited)
            if online.stopped_by:
                break
        closing: dict[str, Any] = {
            "epoch": epoch,
            "visited": online.visited,
            "online_support": expansion.support(),
            "online_members": expansion.size,
            "online_delta": expansion.delta,
            "online_steps": expansion.operations,
            "online_kernel_evaluations": counter.evaluations - evaluations,
            "stopped_by": online.stopped_by,
        }
        yield expansion.iterate(done=not self.finishing, phase="online", **closing)
        if not self.finishing:
            return
        began, before, finisher = expansion.size, expansion.operations, self.finisher
        for _ in finish(expansion, self):
            yield expansion.iterate(phase="finishing", **closing)
            operations, members = expansion.operations - before, expansion.all_members
            if finisher is not None and takes_long(operations, began, members, expansion.cache_mb):
                if (yield from hand_over(problem, expansion, named(finisher, self.tau), self.tau, **closing)):
                    return
                finisher = None
        yield expansion.iterate(done=True, phase="finishing", **closing)

    def learner(self, problem: Problem, rng: np.random.Generator) -> Learner:
        """Return it as what another solver teaches, on c-svc, or c-svc whose labels are queried; see :mod:`harness_lasvm.learner`.

        Raises
        ------
        UsageError : a parameter that chooses the examples to visit: the other solver does.
        """
        from harness_lasvm.learner import LASVMLearner

        if self.epochs != 1 or self.max_support is not None or self.selection != "random":
            raise UsageError(
                f"{self.label}: as a learner it chooses neither the examples nor the end; leave out epochs, max_support "
                "and selection."
            )
        return LASVMLearner(cast("CSVC", problem), self, rng)
