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
* online while S has ``second_order_from`` members, and in the finishing step where that gains more for the time it takes,
  the partner of PROCESS's k, and of one of REPROCESS's pair, is the member with which the objective gains most to second
  order (Fan, Chen, Lin, JMLR 6, 2005), as in the LIBSVM that the paper compares with. With one most violating pair an
  example and large C, the model lags far behind its optimum and S fills with examples that the finishing step drops
  again: on the paper's banana set it grows to four times as many members as there are support vectors. While S is small
  this costs nothing, and the finishing step profits by more examples.
* where memory does not hold the rows of all members, a pair whose rows are held is taken instead of the most violating
  one if it violates at least 0.3 times as much, online and in the finishing step, and missing rows are computed
  several together (:mod:`harness_lasvm.compiled.steps`). It ends at the same tau.
* a finishing step that is long is handed to an exact solver, over S and from the coefficients of then
  (:class:`Finisher`). It ends at the same tau; ``finisher=none`` is the paper's.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, cast

import numpy as np

from harness import CSVC, Iterate, Problem, Solver, UsageError, get_solver, parameter
from harness.oracle import Oracle, is_observable, oracle_refusal
from harness.problems import PoolSVC

if TYPE_CHECKING:
    from harness import Learner
    from harness.arrays import Vector
    from harness_lasvm.candidate_set import CandidateSet

_PAUSE = 1000  # REPROCESS operations between two yields of the finishing step, and between two attempts to shrink
_ROWS_TOGETHER = 64  # are computed anew at a time in the finishing step, where no row is new
_WORTHWHILE = 0.1  # share of the active members whose removal pays for packing the others
# an exact solver that takes over a finishing step which is long: on all of S, from LASVM's coefficients
LONG = 30  # REPROCESS operations for each member that S began with: measured, 10 and 100 take longer
_MANY = 2500  # members: exact solvers do not compute the matrix of more at once, and take longer for it
_LONGER = 2  # times as many operations with more
_BYTES = 16  # of memory for each pair of members: the oracle's kernel matrix in float64, and what it works in
_SURE = 0.9  # of tau: scores that are computed anew round otherwise


@dataclass(frozen=True)
class LASVM(Solver):
    """Online LASVM: a number of epochs over random or selected examples, then the finishing step.

    A step is one PROCESS or REPROCESS, those that bail out included. ``info`` holds delta (of the most violating
    pair of the active members of S; of the finisher's models, of the last one, over all S), members (|S|), epoch, phase
    ('online', 'finishing', or 'finisher' once that is at work), visited (examples given to PROCESS), rows_recomputed (kernel
    rows of members that memory did not hold) and finisher_steps, which are no steps of LASVM. The last iterate of phase
    'online' is the model before the finishing step; it and all later ones say what the online iterations ended
    with: online_support, online_members, online_delta, online_steps, online_kernel_evaluations, and stopped_by:
    '' after the last epoch, or 'max_support'.
    """

    name: ClassVar[str] = "lasvm"
    solves: ClassVar[tuple[type[Problem], ...]] = (CSVC,)
    exact: ClassVar[bool] = False  # examples dropped in the last epoch are not looked at again

    epochs: int = parameter(1, "passes over the examples, each in a fresh random order", ge=1)
    tau: float = parameter(1e-3, "a pair violates if its gradients differ by more; also ends the finishing step", gt=0)
    finishing: bool = parameter(True, "after the epochs, REPROCESS until delta <= tau")
    finisher: str | None = parameter(
        "smo-block",
        "exact solver, by name, that a long finishing step is handed to; none, and where it learns for others: REPROCESS",
    )
    shrinking: bool = parameter(True, "set members at their bounds aside during the finishing step")
    delta_max: float | None = parameter(None, "repeat REPROCESS until delta < delta_max; none: once per example", gt=0)
    second_order_from: int | None = parameter(
        1000, "members of S from which on pairs are chosen to second order online; none: never, as printed", ge=0
    )
    cache_mb: float | None = parameter(None, "memory for kernel rows, MB of 2^20 bytes; none: the problem's own", gt=0)
    selection: Literal["random", "gradient", "active", "autoactive"] = parameter(
        "random",
        "the next example: gradient, the sampled one of smallest y f; active, of smallest |f|; autoactive, the same of "
        "a sample that ends when 5 have |f| < 1 + delta / 2",
    )
    candidates: int | None = parameter(
        None, "examples sampled to select one, at most so many for autoactive; none: 50, for autoactive 100", ge=1
    )
    max_support: int | None = parameter(None, "end the online iterations at so many support vectors; none: no", ge=1)
    block: int = parameter(256, "most candidates whose kernel rows are computed together", ge=1)
    dtype: Literal["float32", "float64"] = parameter("float32", "of the kernel rows; gradients are float64")

    def __post_init__(self) -> None:
        Solver.__post_init__(self)
        if self.selection == "random" and self.candidates is not None:
            raise UsageError(
                f"solver 'lasvm': candidates={self.candidates} has no meaning with selection=random, where no sample is compared; "
                "leave it out or choose selection=gradient, active or autoactive."
            )

    def with_target_gap(self, gap: float) -> Self:
        """Return this solver with tau at most ``gap``.

        Over S, delta <= tau leaves a gap of at most tau / 2 times the sum of |alpha|, and that sum is at most twice
        the primal value, so the relative gap over S is about tau. Over all examples it also depends on epochs.
        """
        return self.replaced(tau=min(self.tau, gap))

    @property
    def observable(self) -> bool:  # type: ignore[override]
        """False over a black box: what it evaluates is part of the run and cannot be counted."""
        return self.finisher is None or is_observable(self.finisher)

    def skip(self, problem: Problem) -> str | None:
        """Refuse a finisher that is not there or does not solve c-svc."""
        return None if self.finisher is None or not self.finishing else refusal(self.name, self.finisher)

    def warm_ups(self) -> tuple[Solver, ...]:
        """Return this solver, and the finisher's: few points never take that long."""
        if self.finisher is None or not self.finishing:
            return (self,)
        return (self, *named(self.finisher, self.tau).warm_ups())

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        from harness_lasvm.candidate_set import CandidateSet
        from harness_lasvm.online import Online

        csvc = cast("CSVC", problem)
        counter = problem.kernel.counter
        evaluations = counter.evaluations
        cache_mb = problem.kernel.cache_mb if self.cache_mb is None else self.cache_mb
        expansion = CandidateSet(csvc, cache_mb=cache_mb, block=self.block, dtype=self.dtype)
        online = Online(expansion, self, rng)
        for epoch in range(1, self.epochs + 1):
            order = rng.permutation(problem.n)
            if epoch == 1:
                online.seed(order)
            for _ in online.visit(order):
                yield iterate_of(expansion, epoch=epoch, phase="online", visited=online.visited)
            if online.stopped_by:
                break
        before = iterate_of(expansion, epoch=epoch, phase="online", visited=online.visited)
        ended: dict[str, Any] = {
            "online_support": int(np.count_nonzero(expansion.members.coef)),
            "online_members": expansion.size,
            "online_delta": expansion.delta,
            "online_steps": expansion.operations,
            "online_kernel_evaluations": counter.evaluations - evaluations,
            "stopped_by": online.stopped_by,
        }
        yield replace(before, done=not self.finishing, info={**before.info, **ended})
        if not self.finishing:
            return
        closing: dict[str, Any] = {"epoch": epoch, "phase": "finishing", "visited": online.visited, **ended}
        began, before_finishing, asking = expansion.all_members, expansion.operations, self.finisher is not None
        for _ in self.finish(expansion):
            yield iterate_of(expansion, **closing)
            members, taken = expansion.all_members, expansion.operations - before_finishing
            if asking and is_due(taken, began, members) and fits(members, cache_mb):
                found = yield from self._hand_over(problem, expansion, closing)
                if found is not None:
                    yield found
                    return
                asking = False
        yield iterate_of(expansion, done=True, **closing)

    def _hand_over(
        self, problem: Problem, expansion: CandidateSet, closing: dict[str, Any]
    ) -> Generator[Iterate, None, Iterate | None]:
        """Let the finisher work on S; return its last model, None if a pair of S violates by more than tau still."""
        assert self.finisher is not None
        members = expansion.every_member()
        closing = {
            **closing,
            "phase": "finisher",
            "rows_recomputed": expansion.rows_recomputed,
            "members": len(members),
        }
        finisher = Finisher(named(self.finisher, self.tau), problem, members, expansion.write())

        def iterate(done: bool, **claims: float) -> Iterate:
            info = {**closing, "finisher_steps": finisher.steps, **claims}
            return Iterate(
                dual_coef=finisher.coef,
                intercept=finisher.intercept,
                done=done,
                step=expansion.operations,
                working_set=len(members),
                info=info,
            )

        for _ in finisher.run():
            yield iterate(done=False)
        return iterate(done=True, delta=finisher.delta) if finisher.delta <= self.tau else None

    def learner(self, problem: Problem, rng: np.random.Generator) -> Learner:
        """Return it as what another solver teaches, on c-svc or pool-svc; see :mod:`harness_lasvm.learner`.

        Raises
        ------
        UsageError : another formulation, or a parameter that says which examples are visited: that is the other's choice.
        """
        from harness_lasvm.learner import LASVMLearner

        if problem.name not in (CSVC.name, PoolSVC.name):
            raise UsageError(f"{self.label} can be taught on c-svc and on pool-svc, not on {problem.name}.")
        if self.epochs != 1 or self.max_support is not None or self.selection != "random":
            raise UsageError(
                f"{self.label}: who teaches it says which examples it visits and when it ends; leave out epochs, max_support "
                "and selection."
            )
        return LASVMLearner(cast("CSVC | PoolSVC", problem), self, rng)

    def finish(self, expansion: CandidateSet) -> Iterator[None]:
        """Run the finishing step on ``expansion``; pause every so many REPROCESS."""
        from harness_lasvm.compiled.state import DONE, NEED_ROW
        from harness_lasvm.compiled.steps import finish

        expansion.now["sweep"] = not self.shrinking
        expansion.catch_up()
        while True:
            until, code = expansion.operations + _PAUSE, NEED_ROW
            while code == NEED_ROW:
                code = expansion.run(finish, self.tau, until=until, together=_ROWS_TOGETHER)
            if code == DONE:
                if not expansion.aside:
                    return
                expansion.unshrink(self.tau)
                if expansion.delta <= self.tau:
                    return
            elif self.shrinking:
                expansion.shrink(_WORTHWHILE)
            yield


def iterate_of(expansion: CandidateSet, *, done: bool = False, **info: Any) -> Iterate:
    """Return the model of now and what there is to say about it, with ``info``."""
    members = expansion.all_members
    claims = {"delta": expansion.delta, "members": members, "rows_recomputed": expansion.rows_recomputed, **info}
    return Iterate(
        dual_coef=expansion.write(),
        intercept=expansion.intercept,
        done=done,
        step=expansion.operations,
        working_set=members,
        info=claims,
    )


# -- an exact solver that takes over a finishing step which is long: on all of S, from LASVM's coefficients ------------
# Where many members have coefficients between 0 and a large C, REPROCESS takes hundreds of steps a member: each pair it
# improves puts others wrong. A solver that minimises over all free variables together takes as long as a few dozen. It
# computes its kernel values anew, and from the online coefficients it would take longer than REPROCESS does as a rule:
# whoever ends within :data:`LONG` steps a member is never handed over, and the others are nearly sorted by then.


def named(name: str, tau: float) -> Solver:
    """Return the solver called ``name``, ending at ``tau`` if that is a parameter of it, else at as small a relative gap.

    Raises
    ------
    UsageError : there is no such solver.
    """
    solver = get_solver(name)
    own: float | None = getattr(solver, "tau", None)
    # over S, delta <= tau leaves a relative gap of about tau
    return solver.with_target_gap(_SURE * tau) if own is None else solver.replaced(tau=min(own, _SURE * tau))


def refusal(owner: str, name: str) -> str | None:
    """Return why the solver called ``name`` cannot finish for ``owner``, in a sentence; None if it can."""

    def judged(oracle: Solver) -> str | None:
        if not oracle.takes(CSVC):
            return f"solves {oracle.solved()}, not {CSVC.name}; name smo-block, or none."
        return None if oracle.exact else "is not exact: it may end above tau; name smo-block, or none."

    return oracle_refusal(owner, name, judged)


def is_due(operations: int, began: int, members: int) -> bool:
    """Return whether so many operations, on S that ``began`` with as many members, are more than an exact solver costs."""
    return operations >= LONG * began * (1 if members <= _MANY else _LONGER)


def fits(members: int, cache_mb: float) -> bool:
    """Return whether the kernel matrix of so many members leaves the memory for kernel rows as it is said to be."""
    return _BYTES * members**2 <= cache_mb * 2**20


class Finisher:
    """One finishing step by an exact solver, and what came of it.

    Parameters
    ----------
    problem : over all examples
    members : (m,) of S, ascending: those set aside included
    start : (n,) coefficients, 0 but for members

    Attributes
    ----------
    coef : (n,) the latest model
    intercept : of it
    steps : of the solver, as it counts them
    delta : gradient difference of the most violating pair of S, computed from the last model; infinity before, and if the
        solver ended without being done
    """

    def __init__(self, solver: Solver, problem: Problem, members: Any, start: Vector) -> None:
        self.oracle, self.sub = Oracle(solver), problem.restrict(members)
        self.members, self.coef = members, start.copy()
        self.intercept, self.steps, self.delta = 0.0, 0, np.inf

    def run(self) -> Iterator[None]:
        """Drive the solver to its end; pause where it does.

        Raises
        ------
        OracleFailure : it failed; the sentence names it.
        """
        with self.oracle.failing_in("the finishing step of lasvm"):
            last: Any = None
            for last in self.oracle.iterates(self.sub, start=self.coef[self.members]):
                self.coef[self.members] = last.dual_coef
                self.intercept, self.steps = float(last.intercept), last.step or self.steps + 1
                yield
            if last is not None and last.done:
                coef, _ = self.sub.checked(self.coef[self.members], self.intercept)
                self.delta = self.sub.kkt_violation(coef, self.sub.kernel.expand(coef))
