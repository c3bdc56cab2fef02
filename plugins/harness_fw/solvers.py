"""The solvers on stored scores: what a user sets, and when they yield.

One generator serves them all; a solver is the rule that chooses points and step, see rules.py. Each stops when
epsilon = max(epsilon_+, epsilon_-) of Kumar & Yildirim, (10) and (11), is at most its parameter: the margin is then at
least (1 - epsilon) times the optimal one by epsilon_+, and no support vector lies farther than epsilon |w| beyond its
hyperplane by epsilon_-. Gilbert's stops by epsilon_+ alone: the same margin, and no word on the support vectors. On
a reduced hull both are those of composed points and of the face that the hull's point lies in.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from harness import DEFAULT_RELATIVE_GAP, Conformance, Iterate, Problem, ProblemSummary, Solver, parameter
from harness.problems import L2SVC, HardMargin, PolytopeDistance, ReducedHull
from harness.support.arrays import Vector
from harness_fw.bounds import delta_bound, paper_bounds
from harness_fw.hulls import iterate

_CHUNK_VALUES = 4_000_000  # scores updated between two yields, about: some milliseconds


@dataclass(frozen=True)
class HullSolver(Solver):
    """A solver that stops at epsilon = max(epsilon_+, epsilon_-), (10) and (11)."""

    conformance: ClassVar[Conformance] = Conformance(gap=1e-4)

    epsilon: float = parameter(
        0.5 * DEFAULT_RELATIVE_GAP,
        "relative accuracy of the margin at which it stops; the relative gap is then at most twice as large",
        gt=0,
        lt=1,
    )

    def with_target_gap(self, gap: float) -> Self:
        """Return this solver with epsilon = gap / 2: the relative gap is 1 - (1 - epsilon)^2 <= 2 epsilon."""
        return self.replace(epsilon=min(gap / 2.0, 0.5))


@dataclass(frozen=True)
class HullDescent(HullSolver):
    """What the solvers share: everything but the rule.

    rule : of rules.py, by name
    composes : whether the rule's vertices on a reduced hull are composed of many points
    bounded : formulations of Theorem 3.1
    """

    solves = (L2SVC, HardMargin, ReducedHull, PolytopeDistance)
    rule: ClassVar[str]
    composes: ClassVar[bool] = False
    bounded: ClassVar[tuple[type[Problem], ...]] = ()

    stride: int | None = parameter(
        None, "iterations between two yields at most; none: some milliseconds of them, after 1, 2, 4 ...", ge=1
    )

    explicit_w: bool | None = parameter(
        None,
        "linear kernel: store w, and compute all scores by one pass over the points an iteration instead of updating "
        "them from kernel rows; none: where that is quicker",
    )

    def skip(self, problem: ProblemSummary) -> str | None:
        """Refuse an explicit w if the kernel is not linear."""
        if self.explicit_w and not problem.is_linear:
            kernel = problem.kernel.name
            return f"{self.name}: explicit_w=True needs a linear kernel, and this is '{kernel}'; leave it out."
        return super().skip(problem)

    def warm_ups(self) -> tuple[Self, ...]:
        """Return both ways of a linear kernel, as the few points of a warm-up do not take the way of many."""
        return (self,) if self.explicit_w is not None else (self, self.replace(explicit_w=True))

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        """Yield at iterations 0, 1, 2, 4 ..., then every few milliseconds of work or ``stride``; deterministic.

        Where rounding hides whether w is 0, the last iterate is not ``done``, and its info says so.

        info : if the kernel rows of all points do not fit in memory, epsilon, epsilon_plus and epsilon_minus are those of a part
            of ``points`` points (parts.py); those of the last iterate, ``done``, are of all points.
        """
        yield from self.iterates_from(problem, rng, None)

    def iterates_from(self, problem: Problem, rng: np.random.Generator, start: Vector | None) -> Iterator[Iterate]:
        """Start from the feasible coefficients ``start``, (n,); costs n x support kernel evaluations."""
        from harness_fw.composed import ComposedDescent
        from harness_fw.descent import Descent, keeps_w
        from harness_fw.parts import PART, PartDescent

        coef = None if start is None else problem.checked(start, 0.0)[0]
        capped = isinstance(problem, HardMargin) and min(problem.caps) < 1.0
        many = problem.n > max(2 * PART, (problem.kernel.cache_mb * 2**17) ** 0.5) and not capped
        linear = keeps_w(problem.kernel, self.explicit_w)
        kind = ComposedDescent if capped and self.composes else PartDescent if many and not linear else Descent
        descent = kind(problem, self.rule, self.epsilon, linear, coef)
        until = 0
        while True:
            status, taken, info = descent.advance(until), descent.taken, descent.info
            if status == "done" and isinstance(problem, self.bounded):
                info.update(
                    paper_bounds(delta_bound(problem.kernel.diagonal(), problem.targets > 0), info, self.epsilon)
                )
            working_set = descent.working_set
            yield iterate(descent.dual_coef, descent.threshold, status, info, taken, working_set, descent.shape)
            if status:
                return
            longest = max(64, min(4096, _CHUNK_VALUES // len(descent.order))) if self.stride is None else self.stride
            until = taken + min(max(1, taken), longest)


@dataclass(frozen=True)
class FrankWolfe(HullDescent):
    """Algorithm 1 of Kumar & Yildirim: Frank-Wolfe with away steps, linearly convergent.

    Use it for squared-hinge and hull problems where a small core set and few kernel values matter. Paper: Kumar
    and Yildirim 2009.
    """

    name = "fw"
    rule = "FW"
    composes = True
    bounded = (L2SVC, HardMargin, PolytopeDistance)


@dataclass(frozen=True)
class Gilbert(HullDescent):
    """Gilbert's algorithm: Frank-Wolfe without away steps; epsilon is epsilon_+ alone, which falls like 1 / k.

    Use it as the baseline of Frank-Wolfe: ``fw`` converges faster. Paper: Gilbert 1966.
    """

    name = "gilbert"
    conformance = Conformance(gap=2e-2)  # O(1 / epsilon^2) iterations
    rule = "GILBERT"
    composes = True
    bounded = (L2SVC, HardMargin, PolytopeDistance)


@dataclass(frozen=True)
class PairwiseFrankWolfe(HullDescent):
    """Pairwise Frank-Wolfe (Lacoste-Julien & Jaggi 2015): weight moves from the farthest vertex to the nearest.

    Use it to compare rules of the step with ``fw``. Paper: Lacoste-Julien and Jaggi 2015.
    """

    name = "fw-pairwise"
    rule = "PAIRWISE"
    composes = True


@dataclass(frozen=True)
class MDM(HullDescent):
    """Mitchell, Dem'yanov & Malozemov (1974): a pairwise step in one class, that with the larger violation.

    Use it to compare rules of the step with ``fw``. Paper: Mitchell, Dem'yanov and Malozemov 1974.

    In polytope-distance, which has one hull, it is fw-pairwise.
    """

    name = "mdm"
    rule = "MDM"


@dataclass(frozen=True)
class NearestPoint(HullDescent):
    """Keerthi, Shevade, Bhattacharyya & Murthy (2000): Gilbert's segment and MDM's move at once, over a triangle.

    Use it to compare rules of the step with ``fw``. Paper: Keerthi, Shevade, Bhattacharyya and Murthy 2000.

    With caps (reduced-hull), where the segment leaves the hull, the moves of both classes at once.
    """

    name = "nearest-point"
    rule = "NEAREST"


@dataclass(frozen=True)
class FullyCorrective(HullSolver):
    """Frank-Wolfe with the exact optimum over the core set after each round (Clarkson 2010).

    Use it where the core set is small: each round solves it exactly. Paper: Clarkson 2010.
    """

    name = "fw-fully-corrective"
    solves = (L2SVC, HardMargin, ReducedHull, PolytopeDistance)

    vertices: int | None = parameter(
        None, "points of each class that enter a round at most; none: 1 at first, then a third of the core set", ge=1
    )

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        """Yield after every round; deterministic.

        Where rounding hides whether w is 0, the last iterate is not ``done``, and its info says so.
        """
        from harness_fw.corrective import CorrectiveRounds

        yield from CorrectiveRounds(problem, self.epsilon, self.vertices).iterates()


@dataclass(frozen=True)
class CoreVectorMachine(Solver):
    """Core vector machine (Tsang, Kwok, Cheung 2005) for the SVM with a free bias.

    Use it to compare with core vector machines. Paper: Tsang, Kwok and Cheung 2005.
    """

    name = "cvm"
    conformance = Conformance(gap=1e-4)
    solves = (L2SVC, HardMargin, PolytopeDistance)

    gap: float = parameter(DEFAULT_RELATIVE_GAP, "relative duality gap at which to stop", gt=0)
    sample: int = parameter(59, "random points of each class among which the farthest is sought; 0: all points", ge=0)

    def warm_ups(self) -> tuple[Self, ...]:
        """Return the search in samples and the full one."""
        return (self, self.replace(sample=0))

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        """Yield after every iteration; the last one is certified by a search of all points.

        Where rounding hides whether w is 0, the last iterate is not ``done``, and its info says so.
        """
        from harness_fw.cvm import BallRounds

        yield from BallRounds(problem, rng, self.gap, self.sample).iterates()


@dataclass(frozen=True)
class NewtonFrankWolfe(HullSolver):
    """Fully corrective Frank-Wolfe on w for l2-svc: all violating points at once, Newton's method on w.

    Use it for l2-svc with the linear kernel or few features. Paper: Keerthi and DeCoste 2005.

    At its best with the linear kernel, and with those whose points nearly lie in a space of some hundred dimensions (rbf
    with a small gamma or on few features): elsewhere a round solves a system of as many unknowns as there are violators.
    """

    name = "fw-newton"
    solves = (L2SVC,)
    conformance = Conformance(
        gap=1e-4, excused={"every_kernel_value_is_counted": "with the linear kernel its systems are products of points"}
    )

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        """Yield after every round; for the linear kernel deterministic, else up to the choice of a sample.

        info : epsilon, epsilon_plus, epsilon_minus are those of ``points`` points, the part of the first rounds or all, and
            up to ``residual`` where there are ``pivots``; those of the last iterate, ``done``, are exact.
        """
        from harness_fw.newton import NewtonRun

        yield from NewtonRun(problem, rng, self.epsilon).iterates()
