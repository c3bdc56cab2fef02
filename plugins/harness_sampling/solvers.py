"""Solvers ``optmargin``, ``optsoftmargin`` (Balcazar et al. 2008), ``randsvm`` and ``randsvm-1`` (RandSVM, Algorithms 1 and 2).

RandSVM is from "Randomized Algorithms for Large scale SVMs", arXiv 0909.3609, 2009. rounds.py contains the algorithms.
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
"""Delta in the paper's k: 5.1.2 for classification, 5.2 for regression (5.2.3 has 0.9 for MNIST)."""


def support_bound(n: int, eps: float = 0.2, delta: float = DELTA, *, separable: bool = False) -> int:
    """Return k = 32 ln(4 n / delta) / eps^2, or 16 for a separable set, rounded up (RandSVM, 5.1.2 and 5.2; (7) and (8)).

    Parameters
    ----------
    n : number of points
    eps : accepted distortion of the margin
    delta : probability of a larger distortion
    """
    return math.ceil((16.0 if separable else 32.0) * math.log(4.0 * n / delta) / eps**2)


@dataclass(frozen=True)
class Wrapper(OverOracle):
    """Base class of the sampling solvers, which use an oracle."""

    oracle: str = parameter(
        "smo-block", "exact solver of the subproblems, by name: smo-block, qp, fw[epsilon=1e-6], ..."
    )
    gap: float = parameter(1e-6, _GAP, gt=0, lt=1)
    max_rounds: int | None = parameter(None, "largest number of rounds; none: see the solver", ge=1)

    def skip(self, problem: ProblemSummary) -> str | None:
        """Return why the oracle is not available or does not solve the formulation, or None."""
        return refusal(self.name, self.oracle, problem)

    def warm_ups(self) -> tuple[Solver, ...]:
        """Return this solver, and one with samples of a few points so that the pass over the other points is compiled too."""
        return (self, self.replace(**self._small()))

    def _small(self) -> dict[str, Any]:
        return {"r": 4, "max_rounds": 3}


@dataclass(frozen=True)
class WeightedSampling(Wrapper):
    """Base class of the solvers that sample by weights, which double at violators."""

    delta: int | Literal["adaptive", "bound"] = parameter(
        "adaptive",
        "combinatorial dimension; adaptive: from 4, doubled while too small; bound: the paper's k (n + 1)",
    )
    r: int | None = parameter(None, "copies in a sample; none: 6 delta^2", ge=1)

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.delta, int) and self.delta < 1:
            raise UsageError(
                f"solver '{self.name}': delta={self.delta}; a solution depends on at least one example: give 1 or more, "
                "adaptive or bound."
            )

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        """Yield an iterate after each round, and within rounds where the host may stop the run."""
        yield from WeightedRounds(self, problem, rng, mapped_features(problem.kernel)).iterates()


@dataclass(frozen=True)
class OptMargin(WeightedSampling):
    """OptMargin: the separable case by random sampling, weights doubled at violators (Balcazar et al. 2008, Fig. 1).

    Use it for separable data with many more points than support vectors. Paper: Balcazar, Dai, Tanaka
    and Watanabe 2008.

    The run ends when no example violates the solution of the sample. With a fixed delta it gives up after ten times the
    expected number of rounds of Theorem 2.2; the adaptive scheme doubles delta and r until the sample is all points.
    """

    name = "optmargin"
    conformance = Conformance({"r": 6}, gap=1e-4)
    solves: ClassVar[tuple[type[Problem], ...]] = (HardMargin,)

    gap: float = parameter(DEFAULT_RELATIVE_GAP, _GAP, gt=0, lt=1)


@dataclass(frozen=True)
class OptSoftMargin(WeightedSampling):
    """OptSoftMargin: reduced hulls by random sampling, weights doubled at violators (Balcazar et al. 2008, Fig. 3).

    Use it for reduced hulls with many more points than support vectors. Paper: Balcazar, Dai, Tanaka
    and Watanabe 2008.

    The run ends as with OptMargin. If a sample's solution has w = 0, k = 1 / D is too small for all points (Theorem 6.1).
    ``doubles_k`` then doubles k and continues (section 6; hard-margin starts from k = 1), and the result solves the problem of
    the last k, which is the stated problem only if k never doubled. A tube, hard or soft, is the reduced-hull problem of the
    points shifted up and down, and these are sampled (section 5).
    """

    name = "optsoftmargin"
    conformance = Conformance({"r": 12}, gap=1e-4)
    solves: ClassVar[tuple[type[Problem], ...]] = (ReducedHull, HardMargin, TubeSVR)

    gap: float = parameter(DEFAULT_RELATIVE_GAP, _GAP, gt=0, lt=1)
    doubles_k: bool = parameter(
        False,
        "if a sample's solution has w = 0, double k = 1 / D and continue until k separates; such a run is unfinished, names "
        "the D to state and returns the model of that D",
    )

    def skip(self, problem: ProblemSummary) -> str | None:
        """Return why the oracle is not available or does not solve reduced hulls, or None."""
        if issubclass(problem.formulation, TubeSVR):
            caps = ReducedHullParameters(D=problem.settings.D, D_minus=problem.settings.D_minus)
            problem = replace(problem, formulation=ReducedHull, settings=caps, n=2 * problem.n)
        return super().skip(problem)

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        """Yield iterates as OptMargin does; for a tube, a point's coefficient is the sum over its two shifted points."""
        if not isinstance(problem, TubeSVR):
            yield from super().iterates(problem, rng)
            return
        rounds = WeightedRounds(self, problem.composed(), rng, mapped_features(problem.kernel))
        for iterate in rounds.iterates():
            yield replace(iterate, dual_coef=problem.of_composed(iterate.dual_coef))


@dataclass(frozen=True)
class RandSVM(WeightedSampling):
    """RandSVM, Algorithm 1: OptSoftMargin's loop for c-svc and eps-svr, violators by the optimality conditions.

    Use it for many more points than support vectors. Paper: Randomized Algorithms for
    Large scale SVMs, arXiv 0909.3609, 2009.

    The combinatorial dimension is the number of support vectors: if a set has many of them, the last sample is all points.
    ``randsvm-1`` is the algorithm for such sets.
    """

    name = "randsvm"
    conformance = Conformance({"r": 12})
    solves: ClassVar[tuple[type[Problem], ...]] = (CSVC, EpsSVR)


@dataclass(frozen=True)
class RandSVM1(Wrapper):
    """RandSVM-1: support vectors and r - |SV| random violators make the next sample, until none violates or |SV| >= k.

    Use it if solving over all points at once takes too long. Paper: Randomized Algorithms for
    Large scale SVMs, arXiv 0909.3609, 2009.

    The run also ends if the losses of the violators are within the gap. The paper does not give c: with c = 1 there are k
    support vectors only if every point of the sample is one. With gap and tau of 1e-4 or more the passes over all points are in
    float32 while its rounding error, measured on a few points before each pass, is below half of the smaller of the two.
    """

    name = "randsvm-1"
    conformance = Conformance({"k": 20, "c": 1.0})  # with k support vectors the run may end far from the optimum
    solves: ClassVar[tuple[type[Problem], ...]] = (CSVC, EpsSVR)
    exact = False

    oracle: str = parameter("smo", "exact solver of the subproblems, by name: smo, smo-block, qp, libsvm, ...")
    gap: float = parameter(
        1e-3,
        "relative duality gap over all points at which the run ends; subproblems are solved to half of it",
        gt=0,
        lt=1,
    )
    tau: float | None = parameter(
        1e-3, "slack of a violator, in units of f(x); none: the slack that follows from the gap", gt=0
    )
    k: int | None = parameter(None, "number of support vectors at which the run ends; none: from eps and delta", ge=1)
    eps: float = parameter(0.2, "distortion of the margin, for k", gt=0, lt=1)
    delta: float | None = parameter(
        None, "probability of a larger distortion, for k; none: the paper's, 0.9, in regression 0.1", gt=0, lt=1
    )
    separable: bool = parameter(False, "the set is separable: k is half as large")
    c: float = parameter(2.0, "sample size r over k", ge=1)

    def with_target_gap(self, gap: float) -> Self:
        """Return this solver with this gap and the slack of a violator that follows from it."""
        return self.replace(gap=min(gap, 0.5), tau=None)

    def most_support(self, problem: Problem) -> int:
        """Return k; the default of delta is the paper's for the task."""
        delta = self.delta or (DELTA_REGRESSION if problem.task == "regression" else DELTA)
        return self.k or support_bound(problem.n, self.eps, delta, separable=self.separable)

    def _small(self) -> dict[str, Any]:
        return {"k": 4, "c": 1.0, "max_rounds": 3}

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        """Yield an iterate after each round, and within rounds where the host may stop the run."""
        yield from SupportRounds(self, problem, rng).iterates()
