"""``optmargin``, ``optsoftmargin`` (Balcazar et al. 2008), ``randsvm`` and ``randsvm-1`` (RandSVM, Algorithms 1 and 2).

RandSVM is the algorithm of "Randomized Algorithms for Large scale SVMs", arXiv 0909.3609, 2009.

What the rounds of each do is in rounds.py.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np

from harness import (
    CSVC,
    DEFAULT_RELATIVE_GAP,
    Conformance,
    Iterate,
    Problem,
    ProblemSummary,
    Solver,
    UsageError,
    parameter,
)
from harness.problems import EpsSVR, HardMargin, ReducedHull
from harness.problems.hulls import ReducedHullParameters
from harness.registry.subproblem_oracle import OverOracle
from harness_sampling.oracle import refusal
from harness_sampling.rounds import SupportRounds, WeightedRounds
from harness_sampling.scoring import mapped_features
from harness_sampling.tube_svr import TubeSVR

_GAP = "relative duality gap of a solution without violators"
DELTA, DELTA_REGRESSION = 0.9, 0.1
"""delta of the paper's k: 5.1.2 for classification, 5.2 for regression (but for MNIST, 5.2.3: 0.9)."""


def support_bound(n: int, eps: float = 0.2, delta: float = DELTA, *, separable: bool = False) -> int:
    """Return k = 32 ln(4 n / delta) / eps^2, or 16 for a separable set, rounded up (RandSVM, 5.1.2 and 5.2; (7) and (8)).

    Parameters
    ----------
    n : points, eps : distortion of the margin that is let pass, delta : probability that it is larger
    """
    return math.ceil((16.0 if separable else 32.0) * math.log(4.0 * n / delta) / eps**2)


@dataclass(frozen=True)
class Wrapper(OverOracle):
    """What the sampling solvers have in common: an oracle, and kernel evaluations that can be counted if its can."""

    oracle: str = parameter(
        "smo-block", "exact solver of the subproblems, by name: smo-block, qp, fw[epsilon=1e-6], ..."
    )
    gap: float = parameter(1e-6, _GAP, gt=0, lt=1)
    max_rounds: int | None = parameter(None, "give up after so many rounds; none: see the solver", ge=1)

    def skip(self, problem: ProblemSummary) -> str | None:
        """Refuse an oracle that is not there or does not solve the formulation."""
        return refusal(self.name, self.oracle, problem)

    def warm_ups(self) -> tuple[Solver, ...]:
        """Return this solver with samples of a few points, so that the pass over the others is compiled too."""
        return (self, self.replace(**self._small()))

    def _small(self) -> dict[str, Any]:
        return {"r": 4, "max_rounds": 3}


@dataclass(frozen=True)
class WeightedSampling(Wrapper):
    """Sampling by weights that double at violators."""

    delta: int | Literal["adaptive", "bound"] = parameter(
        "adaptive",
        "combinatorial dimension; adaptive: from 4, doubled when it is not borne out; bound: the paper's k (n + 1)",
    )
    r: int | None = parameter(None, "copies in a sample; none: 6 delta^2", ge=1)

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.delta, int) and self.delta < 1:
            raise UsageError(
                f"solver '{self.name}': delta={self.delta}; a solution rests on one example at least: give 1 or more, "
                "adaptive or bound."
            )

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        """Yield after each round, and within rounds where the host may stop the run."""
        yield from WeightedRounds(self, problem, rng, mapped_features(problem.kernel)).iterates()


@dataclass(frozen=True)
class OptMargin(WeightedSampling):
    """OptMargin: the separable case by random sampling, weights doubled at violators (Balcazar et al. 2008, Fig. 1).

    Take it for separable data with many more points than support vectors. Paper: Balcazar, Dai, Tanaka
    and Watanabe 2008.

    It ends when no example violates the local solution, whatever r and the seed. With a given delta it gives up after
    ten times the rounds that Theorem 2.2 expects; the adaptive scheme doubles delta and r until all points are the
    sample.
    """

    name = "optmargin"
    conformance = Conformance({"r": 6}, gap=1e-4)
    solves: ClassVar[tuple[type[Problem], ...]] = (HardMargin,)

    gap: float = parameter(DEFAULT_RELATIVE_GAP, _GAP, gt=0, lt=1)


@dataclass(frozen=True)
class OptSoftMargin(WeightedSampling):
    """OptSoftMargin: reduced hulls by random sampling, weights doubled at violators (Balcazar et al. 2008, Fig. 3).

    Take it for reduced hulls with many more points than support vectors. Paper: Balcazar, Dai, Tanaka
    and Watanabe 2008.

    Ends as OptMargin does. A local solution with w = 0 shows that k = 1 / D is too small for all points (Theorem 6.1). With
    ``doubles_k`` the search for a k goes on in the same rounds (section 6: hard-margin is its start, k = 1); what it ends
    with solves the problem of the last k, which is the one that was stated only if no doubling was needed.
    A tube, hard or soft, is the reduced-hull problem of the points shifted up and down, and these are sampled (section 5).
    """

    name = "optsoftmargin"
    conformance = Conformance({"r": 12}, gap=1e-4)
    solves: ClassVar[tuple[type[Problem], ...]] = (ReducedHull, HardMargin, TubeSVR)

    gap: float = parameter(DEFAULT_RELATIVE_GAP, _GAP, gt=0, lt=1)
    doubles_k: bool = parameter(
        False,
        "where a local solution has w = 0, double k = 1 / D and go on, to find a k that separates: a run that had to is "
        "unfinished, says which D to state, and gives the model of that D",
    )

    def skip(self, problem: ProblemSummary) -> str | None:
        """Refuse an oracle that is not there or does not solve reduced hulls."""
        if issubclass(problem.formulation, TubeSVR):
            caps = ReducedHullParameters(D=problem.settings.D, D_minus=problem.settings.D_minus)
            problem = replace(problem, formulation=ReducedHull, settings=caps, n=2 * problem.n)
        return super().skip(problem)

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        """Yield as OptMargin does; of a tube the coefficients of both shifts of a point are one."""
        if not isinstance(problem, TubeSVR):
            yield from super().iterates(problem, rng)
            return
        rounds = WeightedRounds(self, problem.composed(), rng, mapped_features(problem.kernel))
        for found in rounds.iterates():
            yield replace(found, dual_coef=problem.of_composed(found.dual_coef))


@dataclass(frozen=True)
class RandSVM(WeightedSampling):
    """RandSVM, Algorithm 1: OptSoftMargin's loop for c-svc and eps-svr, violators by the optimality conditions.

    Take it for many more points than support vectors. Paper: Randomized Algorithms for
    Large scale SVMs, arXiv 0909.3609, 2009.

    The combinatorial dimension is the number of support vectors: a set with many of them ends with all points as the
    sample. ``randsvm-1`` is the algorithm for such sets.
    """

    name = "randsvm"
    conformance = Conformance({"r": 12})
    solves: ClassVar[tuple[type[Problem], ...]] = (CSVC, EpsSVR)


@dataclass(frozen=True)
class RandSVM1(Wrapper):
    """RandSVM-1: support vectors and r - |SV| random violators make the next sample, until none violates or |SV| >= k.

    Take it where solving over all points at once takes too long. Paper: Randomized Algorithms for
    Large scale SVMs, arXiv 0909.3609, 2009.

    It ends too where the violators that are left cost no more than the gap. The paper says c > 0 and no number: with c = 1 the
    support vectors reach k only if all of the sample are. With gap and tau of 1e-4 or more the passes over all points are in
    float32 as long as its rounding stays below half of the smaller one, which is tried on a few points before each pass.
    """

    name = "randsvm-1"
    conformance = Conformance({"k": 20, "c": 1.0})  # with k support vectors it may end anywhere
    solves: ClassVar[tuple[type[Problem], ...]] = (CSVC, EpsSVR)
    exact = False

    oracle: str = parameter("smo", "exact solver of the subproblems, by name: smo, smo-block, qp, libsvm, ...")
    gap: float = parameter(
        1e-3, "relative duality gap over all points at which it ends; a subproblem is solved to half of it", gt=0, lt=1
    )
    tau: float | None = parameter(
        1e-3, "a point violates if it is off by more, in units of f(x); none: so much that the gap holds for all", gt=0
    )
    k: int | None = parameter(None, "support vectors at which it stops; none: from eps and delta", ge=1)
    eps: float = parameter(0.2, "distortion of the margin, for k", gt=0, lt=1)
    delta: float | None = parameter(
        None, "probability of a larger distortion, for k; none: the paper's, 0.9, in regression 0.1", gt=0, lt=1
    )
    separable: bool = parameter(False, "the set is separable: k is half as large")
    c: float = parameter(2.0, "sample size r over k; a round adds one violator at least", gt=0)

    def with_target_gap(self, gap: float) -> Self:
        """Return this solver with this gap, and points violating where it would not hold for all."""
        return self.replace(gap=min(gap, 0.5), tau=None)

    def most_support(self, problem: Problem) -> int:
        """Return k, with the paper's delta for the task where none is given."""
        own = DELTA_REGRESSION if problem.task == "regression" else DELTA
        return self.k or support_bound(problem.n, self.eps, self.delta or own, separable=self.separable)

    def _small(self) -> dict[str, Any]:
        return {"k": 4, "c": 1.0, "max_rounds": 3}

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        """Yield after each round, and within rounds where the host may stop the run."""
        yield from SupportRounds(self, problem, rng).iterates()
