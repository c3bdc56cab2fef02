"""The finishing step of LASVM: REPROCESS over S, and an exact solver that takes over where that is long.

Where many members have coefficients between 0 and a large C, REPROCESS takes hundreds of steps a member: each pair it
improves puts others wrong. A solver that minimises over all free variables together takes as long as a few dozen. It
computes its kernel values anew, and from the online coefficients it would take longer than REPROCESS does as a rule:
whoever ends within :data:`LONG` steps a member is never handed over, and the others are nearly sorted by then.
The partner that gains most to second order takes a pass over all members more. Where the kernel is narrow most pairs have
much the same curvature and it gains little, so REPROCESS tries both ways to choose a pair after each pause, unless
``second_order_from`` is none.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from harness import CSVC, Iterate, Problem, Solver, get_solver
from harness.registry.subproblem_oracle import Oracle, oracle_refusal, takes

if TYPE_CHECKING:
    from harness_lasvm.candidate_set import CandidateSet
    from harness_lasvm.options import LASVMOptions

_PAUSE = 1000  # REPROCESS operations between two yields, and between two attempts to shrink
_TRIAL = 32  # steps of each of four trials of the ways to choose a pair
_SECOND_ORDER_COST = 1.6  # time of a step whose partner was chosen to second order, over that of another
_ROWS_TOGETHER = 64  # most rows that are computed anew at a time, where no row is new
_WORTHWHILE = 0.1  # least fraction of the active members whose removal pays for packing the others
LONG = 30  # REPROCESS operations for each member at the start before the solver takes over; 10 and 100 take longer
_BYTES = 16  # bytes for each pair of members: the solver's kernel matrix in float64, and its work space
_AT_ONCE = 1e9  # a tau that any start satisfies
_SAFETY = 0.9  # factor of the solver's tau: scores that are computed again round otherwise


def finish(expansion: CandidateSet, options: LASVMOptions) -> Iterator[None]:
    """REPROCESS until no pair of S violates by more than tau; pause every so many."""
    from harness_lasvm.compiled.members import catch_up
    from harness_lasvm.compiled.state import DONE, PAUSED

    expansion.now["sweep"] = not options.shrinking
    is_printed = options.second_order_from is None
    catch_up(expansion.members)
    while True:
        code, gains = PAUSED, [0.0, 0.0]
        # without room for all rows, second order: a row costs more than a look at all members
        second = not is_printed and bool(expansion.now["rows"] <= expansion.now["top"])
        for trial in () if second or is_printed else (False, True, True, False):
            if code == PAUSED:
                before = float(expansion.now["gained"])
                code = _reprocess(expansion, options.tau, trial, _TRIAL)
                gains[trial] += float(expansion.now["gained"]) - before
        if code == PAUSED:
            second = second or (not is_printed and gains[True] >= _SECOND_ORDER_COST * gains[False])
            code = _reprocess(expansion, options.tau, second, _PAUSE)
        if code == DONE:
            if not expansion.aside:
                return
            expansion.unshrink(options.tau)
            if expansion.delta <= options.tau:
                return
        elif options.shrinking:
            expansion.shrink(_WORTHWHILE)
        yield


def _reprocess(expansion: CandidateSet, tau: float, second_order: bool, steps: int) -> int:
    """REPROCESS ``steps`` times at most, along the most violating pair or with a partner chosen to second order."""
    from harness_lasvm.compiled.steps import run

    first = 0 if second_order else expansion.n + 1
    work = expansion.finishing_work()
    return expansion.run(run, work, tau, -np.inf, first, pause=steps, together=_ROWS_TOGETHER)


def named(name: str, tau: float) -> Solver:
    """Return the solver called ``name``, ending at ``tau`` if that is a parameter of it, else at as small a relative gap.

    Raises
    ------
    UsageError : there is no such solver.
    """
    solver = get_solver(name)
    given: float | None = getattr(solver, "tau", None)
    # over S, delta <= tau leaves a relative gap of about tau
    return solver.with_target_gap(_SAFETY * tau) if given is None else solver.replace(tau=min(given, _SAFETY * tau))


def warm_ups(name: str) -> tuple[Solver, ...]:
    """Return what loads the solver called ``name`` and compiles next to nothing, if it has a ``tau``.

    Few finishing steps are long. What those that are ask for is compiled then, off the clock.
    """
    solver = get_solver(name)
    return solver.warm_ups() if getattr(solver, "tau", None) is None else (solver.replace(tau=_AT_ONCE),)


def refusal(owner: str, name: str) -> str | None:
    """Return why the solver called ``name`` cannot finish for ``owner``, in a sentence; None if it can."""

    def judged(oracle: Solver) -> str | None:
        inexact = None if oracle.exact else "is not exact: it may end above tau; name smo-block, or none."
        return takes(CSVC)(oracle) or inexact

    return oracle_refusal(owner, name, judged)


def takes_long(operations: int, began: int, members: int, cache_mb: float) -> bool:
    """Return whether so many operations are more than an exact solver costs, whose kernel matrix memory has room for.

    began, members : |S| before the finishing step, and now
    """
    return operations >= LONG * began and _BYTES * members**2 <= cache_mb * 2**20


def hand_over(
    problem: Problem, expansion: CandidateSet, solver: Solver, tau: float, **closing: Any
) -> Generator[Iterate, None, bool]:
    """Let an exact solver go on with all of S from LASVM's coefficients; yield its models, with ``closing`` in their info.

    Returns whether no pair of S violates by more than tau: the last model was the last one then.

    Raises
    ------
    OracleFailure : the solver failed; the sentence names it.
    """
    members, coef, steps = expansion.every_member(), expansion.write().copy(), 0
    sub, oracle = problem.restrict(members), Oracle(solver)

    def iterate(done: bool, **claims: float) -> Iterate:
        steady = {"phase": "finisher", "rows_recomputed": expansion.rows_recomputed, "members": len(members)}
        info = {**closing, **steady, "finisher_steps": steps, **claims}
        return Iterate(
            coef, float(last.intercept), done=done, step=expansion.operations, working_set=len(members), info=info
        )

    where = "the finishing step of lasvm"
    for last in oracle.models(sub, where, start=coef[members]):
        coef[members] = last.dual_coef
        steps = last.step or steps + 1
        yield iterate(done=False)
    if not last.done:
        return False
    with oracle.failing_in(where):
        feasible, _ = sub.checked(coef[members], last.intercept)
        delta = sub.kkt_violation(feasible, sub.kernel.expand(feasible))
    if delta <= tau:
        yield iterate(done=True, delta=delta)
    return bool(delta <= tau)
