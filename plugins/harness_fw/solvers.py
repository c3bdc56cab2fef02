"""The solvers on kept scores: what a user sets, and when they yield.

One generator serves them all; a solver is the rule that chooses vertices and step (``rule``).
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Self, final

from harness import L2SVC, HardMargin, Iterate, Solver, parameter
from harness_fw.bounds import delta_bound, iteration_bound

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np

    from harness import Problem

_CHUNK_VALUES = 4_000_000  # scores updated between two yields, about: some milliseconds


@dataclass(frozen=True)
class HullDescent(Solver):
    """What both solvers share: everything but whether there are away steps."""

    solves = (L2SVC, HardMargin)
    away: ClassVar[bool]

    epsilon: float = parameter(1e-3, "relative accuracy of the margin at which it stops", gt=0, lt=1)
    refresh: int = parameter(5000, "iterations after which the kept scores are recomputed from scratch", ge=1)
    cache_mb: float | None = parameter(None, "memory for kernel rows, MB; none: the problem's", gt=0)
    max_iterations: int | None = parameter(None, "iterations after which it gives up; none: no limit", ge=1)

    def with_target_gap(self, gap: float) -> Self:
        """Return this solver with epsilon = gap / 2: the relative gap is 1 - (1 - epsilon)^2 <= 2 epsilon."""
        return replace(self, epsilon=min(gap / 2.0, 0.5))

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        """Yield at iterations 0, 1, 2, 4 ..., then every few milliseconds of work; deterministic.

        Where the hulls meet, w goes to zero: the last iterate is then not ``done``, and its info says so.
        """
        from harness_fw.descent import Descent

        cache_mb = problem.kernel.cache_mb if self.cache_mb is None else self.cache_mb
        descent = Descent(problem, epsilon=self.epsilon, away=self.away, cache_mb=cache_mb, refresh=self.refresh)
        delta = delta_bound(problem.kernel.diagonal(), problem.targets > 0)
        limit = sys.maxsize if self.max_iterations is None else self.max_iterations
        longest = max(64, min(4096, _CHUNK_VALUES // problem.n))
        until = 0
        while True:
            status = descent.advance(min(until, limit))
            taken, info = descent.taken, descent.info
            if not status and taken >= limit:
                status = "max_iterations"
            if status == "done":
                info["iteration_bound"] = iteration_bound(delta, 0.5 * descent.margin_lower**2, self.epsilon)
            elif status:
                info.update(status=status, evidence=f"|w| = {info['norm']:.3g} after {taken} iterations")
            yield Iterate(
                dual_coef=descent.dual_coef,
                intercept=-descent.threshold,
                done=status == "done",
                step=taken,
                core_set=descent.core_set,
                info=info,
            )
            if status:
                return
            until = taken + min(max(1, taken), longest)


@final
@dataclass(frozen=True)
class FrankWolfe(HullDescent):
    """Algorithm 1 of Kumar & Yildirim: Frank-Wolfe with away steps, linearly convergent."""

    name = "fw"
    away = True


@final
@dataclass(frozen=True)
class Gilbert(HullDescent):
    """Gilbert's algorithm: Frank-Wolfe without away steps; epsilon is epsilon_+ alone, which falls like 1 / k."""

    name = "gilbert"
    away = False
