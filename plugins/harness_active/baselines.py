"""Baselines for imbalanced data without active learning: the methods to which the paper compares.

``batch`` trains on all points, ``undersampling`` on all positives and a random subset of the negatives, ``smote`` on all points
and synthetic positives between neighbouring ones, ``different-costs`` on all points with a higher price of margin violations by
positives. Positives are the smaller class, whatever its label; of two equal classes, +1. Each method changes the problem, and an
oracle of the registry solves it, by default ``lasvm`` in random order as in the paper. The kernel values and the time of the
preparation count to the run.

Source: Ertekin, Huang, Bottou, Giles, Learning on the Border: Active Learning in Imbalanced Data Classification, CIKM
2007, section 6 (experiments; Tables 3 and 4, Figure 9) for all four methods and the ratios; SMOTE is that of imbalanced-learn
(Chawla, Bowyer, Hall, Kegelmeyer, JAIR 16, 2002).
"""

from __future__ import annotations

import importlib.util
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, cast

import numpy as np

from harness import CSVC, Conformance, Iterate, Problem, ProblemSummary, Solver, UsageError, fit_clock, parameter
from harness.registry.subproblem_oracle import Oracle, OverOracle, oracle_refusal, takes
from harness.support.arrays import Index
from harness_active.pool_svc import PoolSVC

_ACTIVE = "active-small-pool[stop=support]"  # solver whose ratio of support vectors is the default of undersampling


@dataclass(frozen=True)
class Sides:
    """The points of the smaller class, (n_+,), and of the larger class, (n_-,), and the label of the smaller class."""

    positives: Index
    negatives: Index
    label: float

    @classmethod
    def of(cls, problem: Problem) -> Sides:
        """Return the classes of a problem, with the smaller one as positives; of two equal ones, +1."""
        upper, lower = np.flatnonzero(problem.targets > 0), np.flatnonzero(problem.targets < 0)
        return cls(upper, lower, 1.0) if len(upper) <= len(lower) else cls(lower, upper, -1.0)


@dataclass(frozen=True)
class Baseline(OverOracle, ABC):
    """Base class of the baselines, whose oracle solves a modified problem."""

    solves: ClassVar[tuple[type[Problem], ...]] = (CSVC,)
    exact: ClassVar[bool] = False  # the default oracle is an online solver, and a modified problem has another optimum

    oracle: str = parameter("lasvm", "solver that trains, by name or selection: lasvm[epochs=2], smo-block, libsvm ...")
    gap: float | None = parameter(None, "relative target gap of the oracle; none: the oracle's default", gt=0, lt=1)

    def warm_ups(self) -> tuple[Solver, ...]:
        """Return this solver, and the variants of the oracle."""
        try:
            return (self, *Oracle(self.oracle).solver.warm_ups())
        except UsageError:  # skip() reports it
            return (self,)

    def skip(self, problem: ProblemSummary) -> str | None:
        """Return why a class has no points or the oracle is not available or not a solver of c-svc, or None."""
        if problem.one_class:
            return f"{self.name}: all {problem.n} points are of one class; expected points of both."

        def reason(oracle: Solver) -> str | None:
            if isinstance(oracle, (Smote, DifferentCosts)):
                return "returns a model that is not a solution of c-svc; name a solver that returns dual coefficients."
            return takes(CSVC)(oracle)

        return oracle_refusal(self.name, self.oracle, reason) or self.why_inapplicable(problem)

    def why_inapplicable(self, problem: ProblemSummary) -> str | None:
        """Return a sentence why the method cannot be applied to the problem; None if it can."""
        return None

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        """Yield the models of the oracle as models of the stated problem."""
        sides = Sides.of(problem)
        sizes = {"positives": len(sides.positives), "negatives": len(sides.negatives)}
        for iterate in self.train(cast("CSVC", problem), sides, rng):
            yield replace(iterate, info={**iterate.info, "smaller_class": int(sides.label), **sizes})

    @abstractmethod
    def train(self, problem: CSVC, sides: Sides, rng: np.random.Generator) -> Iterator[Iterate]:
        """Construct the modified problem, and yield the models of the oracle as models of ``problem``."""

    def solve_by_oracle(self, problem: CSVC, rng: np.random.Generator, **info: Any) -> Iterator[Iterate]:
        """Yield the models of the oracle on ``problem``, with ``info`` added to theirs."""
        oracle = Oracle(self.oracle)
        for model in oracle.models(problem, self.name, gap=self.gap, rng=rng):
            yield replace(model, info={**model.info, "oracle": oracle.name, **info})


@dataclass(frozen=True)
class Batch(Baseline):
    """The oracle on all points: the baseline of the paper's Tables 3 and 4.

    Use it as the baseline for methods for imbalanced data. Paper: Ertekin, Huang, Bottou and Giles 2007.

    ``info`` is the oracle's, with its name, the smaller class and the size of both classes.
    """

    name: ClassVar[str] = "batch"
    conformance: ClassVar[Conformance] = Conformance({"oracle": "smo-block"}, gap=1e-3)

    def train(self, problem: CSVC, sides: Sides, rng: np.random.Generator) -> Iterator[Iterate]:
        return self.solve_by_oracle(problem, rng)


@dataclass(frozen=True)
class Undersampling(Baseline):
    """The oracle on all positives and ``ratio`` times as many random negatives; the coefficients of the others are 0.

    Use it if one class is rare and training on all points of the other takes too long. Paper: Ertekin, Huang,
    Bottou and Giles 2007.

    The paper undersamples to the ratio of support vectors that active learning reaches (its section 6). So without ``ratio`` an
    active learner first runs with the points as its pool; its kernel values count to this run, and the model is w = 0 until it
    ends. ``info``: ratio, kept_positives, kept_negatives (points of the oracle's problem), and of the active learner
    active_labels, active_seconds, active_kernel_evaluations. The certificate is that of c-svc over all points, for which the model
    is feasible but not optimal.
    """

    name: ClassVar[str] = "undersampling"
    conformance: ClassVar[Conformance] = Conformance({"ratio": 1.0, "oracle": "smo-block"}, ({"oracle": "smo-block"},))

    ratio: float | None = parameter(
        None, "negatives per positive, to the nearest whole number of negatives; none: that of active learning", gt=0
    )

    def train(self, problem: CSVC, sides: Sides, rng: np.random.Generator) -> Iterator[Iterate]:
        info = (yield from self._active(problem, sides, rng)) if self.ratio is None else {"ratio": self.ratio}
        count = min(len(sides.negatives), max(1, round(info["ratio"] * len(sides.positives))))
        chosen = rng.choice(sides.negatives, count, replace=False)
        subset, coef = np.sort(np.concatenate([sides.positives, chosen])), np.zeros(problem.n)
        info |= {"kept_positives": len(sides.positives), "kept_negatives": count}
        for model in self.solve_by_oracle(cast("CSVC", problem.restrict(subset)), rng, **info):
            coef[subset] = model.dual_coef
            yield replace(model, dual_coef=coef)

    def _active(
        self, problem: CSVC, sides: Sides, rng: np.random.Generator
    ) -> Generator[Iterate, None, dict[str, Any]]:
        """Run the active learner with the points as its pool; yield w = 0 with its progress, return the ratio and the costs."""
        active = Oracle(_ACTIVE)
        pool = PoolSVC.build(problem.kernel, problem.targets.__getitem__, {"C": problem.C})
        for model in active.models(pool, self.name, rng=rng):
            coef = cast("Any", model.dual_coef)
            yield Iterate(np.zeros(problem.n), info={"phase": "active", "active_labels": len(pool.queried)})
        few, many = (int(np.count_nonzero(coef[points])) for points in (sides.positives, sides.negatives))
        if not few or not many:
            raise UsageError(
                f"{self.name}: the active learner '{_ACTIVE}' ended with {few} support vectors of the smaller class and "
                f"{many} of the other; undersampling to their ratio needs some of each. Give ratio."
            )
        costs = {"active_seconds": active.seconds, "active_kernel_evaluations": active.evaluations}
        return {"ratio": many / few, "active_labels": len(pool.queried), **costs}


@dataclass(frozen=True)
class DifferentCosts(Baseline):
    """The oracle on all points, C_+ = C n_- / n_+ for the smaller class, C_- = C for the other (the paper's section 6).

    Use it if one class is rare and all points must be used. Paper: Ertekin, Huang, Bottou and Giles 2007.

    With 19 negatives for a positive the price of a positive is 19 C; ``class_weight=balanced`` has 10 C and 0.53 C. The
    coefficients exceed the bound of the stated problem, so the model is scored, but not certified. ``info``: factor, and
    smaller_class, the class with the higher cost.
    """

    name: ClassVar[str] = "different-costs"
    conformance: ClassVar[Conformance] = Conformance({"oracle": "smo-block"})
    model_form: ClassVar[Literal["free_coef"]] = "free_coef"

    def why_inapplicable(self, problem: ProblemSummary) -> str | None:
        weights = problem.settings.class_weight
        reason = f"class_weight={weights} sets the costs of the classes, which this solver sets too; leave it out."
        return None if weights == "none" else f"{self.name}: {reason}"

    def train(self, problem: CSVC, sides: Sides, rng: np.random.Generator) -> Iterator[Iterate]:
        factor = len(sides.negatives) / len(sides.positives)
        upper = np.array(problem.upper)
        upper[sides.positives] *= factor
        weighted = CSVC(problem.kernel, problem.targets, problem.settings, upper)
        for model in self.solve_by_oracle(weighted, rng, factor=factor):
            yield replace(model, dual_coef=None, free_coef=model.dual_coef)


@dataclass(frozen=True)
class Smote(Baseline):
    """The oracle on all points and synthetic positives, each between a positive and one of its nearest positives.

    Use it if one class is rare, to try synthetic points. Paper: Chawla, Bowyer, Hall and Kegelmeyer 2002.

    imbalanced-learn computes the synthetic points, for dense or sparse features; with fewer than neighbours + 1 positives
    there are fewer neighbours. The model is an expansion over points outside of the problem, so it is scored, but not certified.
    The search for neighbours reads the features, so with a nonlinear kernel the number of kernel values is a lower bound. ``info``:
    synthetic (number of points), neighbours (number), preprocessing_seconds (before the oracle starts), and the classes.
    """

    name: ClassVar[str] = "smote"
    conformance: ClassVar[Conformance] = Conformance(
        {"ratio": 0.5, "oracle": "smo-block"},
        excused={"every_kernel_value_is_counted": "the search for neighbours reads the points"},
    )
    model_form: ClassVar[Literal["free_coef"]] = "free_coef"

    ratio: float = parameter(1.0, "negatives per positive, including synthetic ones; 1: as many of each", gt=0)
    neighbours: int = parameter(5, "number of nearest positives toward which synthetic points lie", ge=1)

    def warm_ups(self) -> tuple[Solver, ...]:
        """Add this solver with ratio 0.5, as classes of equal size would need no synthetic points."""
        return (*super().warm_ups(), self.replace(ratio=0.5))

    def why_inapplicable(self, problem: ProblemSummary) -> str | None:
        if problem.kernel.name == "precomputed":
            return f"{self.name}: synthetic points need features, and a precomputed kernel has none; name a kernel."
        if min(problem.class_counts) < 2:
            return f"{self.name}: the smaller class has a single point; expected 2 or more. Choose different-costs or undersampling."
        if importlib.util.find_spec("imblearn") is None:
            return f"{self.name}: imbalanced-learn is not installed; pip install 'svm-harness[imbalance]', or choose different-costs."
        return None

    def train(self, problem: CSVC, sides: Sides, rng: np.random.Generator) -> Iterator[Iterate]:
        began, neighbours = fit_clock(), min(self.neighbours, len(sides.positives) - 1)
        points = self._synthetic(problem, sides, neighbours, rng)
        count, oversampled = 0 if points is None else int(points.shape[0]), problem
        if points is not None:
            labels = np.concatenate([problem.targets, np.full(count, sides.label)])
            upper = np.concatenate([problem.upper, np.full(count, problem.upper[sides.positives[0]])])
            oversampled = CSVC(problem.kernel.replace(extra_points=points), labels, problem.settings, upper)
        info = {"synthetic": count, "neighbours": neighbours, "preprocessing_seconds": fit_clock() - began}
        for model in self.solve_by_oracle(oversampled, rng, **info):
            yield replace(model, dual_coef=None, free_coef=model.dual_coef, extra_points=points)

    def _synthetic(self, problem: CSVC, sides: Sides, neighbours: int, rng: np.random.Generator) -> Any:
        """Return the synthetic points, dense or CSR like the others; None if there are enough positives."""
        size, seed = round(len(sides.negatives) / self.ratio), int(rng.integers(2**31))
        if size <= len(sides.positives):
            return None
        from imblearn.over_sampling import SMOTE
        from threadpoolctl import threadpool_limits

        sampler = SMOTE(sampling_strategy={1: size}, k_neighbors=neighbours, random_state=seed)
        # the sampler reads only the labels of the negatives, so one of them suffices, without a copy of the others
        rows = np.append(sides.positives, sides.negatives[0])
        labels = np.append(np.ones(len(sides.positives), dtype=np.intp), 0)
        with threadpool_limits(problem.kernel.threads):  # the host limited threads before these libraries were loaded
            resampled, _ = sampler.fit_resample(problem.kernel.points[rows], labels)
        return resampled[len(rows) :]
