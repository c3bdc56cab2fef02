"""What is done about imbalance without active learning, and nothing: the methods that the paper compares with.

``batch`` trains on all points as they are, ``undersampling`` on all positives and a random part of the negatives,
``smote`` on all points and synthetic positives between neighbouring ones, ``different-costs`` on all points with the
positives' price of a margin violation raised. Positives are the smaller class, whatever its label; of two equal classes,
+1. Each changes the problem and leaves its solution to an oracle of the registry, ``lasvm`` in random order by default, as
in the paper; the kernel values and the time of the preparation count to the run.

Source: Ertekin, Huang, Bottou, Giles, Learning on the Border: Active Learning in Imbalanced Data Classification, CIKM
2007, section 6 (experiments; Tables 3 and 4, Figure 9) for all four and the ratios; SMOTE is Chawla, Bowyer, Hall,
Kegelmeyer, JAIR 16 (2002), as imbalanced-learn has it.
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

_ACTIVE = "active-small-pool[stop=support]"  # whose support-vector ratio undersampling takes where none is given


@dataclass(frozen=True)
class Sides:
    """The points of the smaller class, (n_+,), and of the other one, (n_-,); ``label`` is that of the smaller class."""

    positives: Index
    negatives: Index
    label: float

    @classmethod
    def of(cls, problem: Problem) -> Sides:
        """Return the classes of a problem, the smaller one as positives; of two equal ones, +1."""
        upper, lower = np.flatnonzero(problem.targets > 0), np.flatnonzero(problem.targets < 0)
        return cls(upper, lower, 1.0) if len(upper) <= len(lower) else cls(lower, upper, -1.0)


@dataclass(frozen=True)
class Baseline(OverOracle, ABC):
    """An oracle that solves a problem made from the stated one."""

    solves: ClassVar[tuple[type[Problem], ...]] = (CSVC,)
    exact: ClassVar[bool] = False  # the oracle's default is online; and where the problem is another, so is its optimum

    oracle: str = parameter("lasvm", "solver that trains, by name or selection: lasvm[epochs=2], smo-block, libsvm ...")
    gap: float | None = parameter(None, "relative target gap of the oracle; none: the oracle's default", gt=0, lt=1)

    def warm_ups(self) -> tuple[Solver, ...]:
        """Return this solver, and the variants of the oracle."""
        try:
            return (self, *Oracle(self.oracle).solver.warm_ups())
        except UsageError:  # skip() reports it
            return (self,)

    def skip(self, problem: ProblemSummary) -> str | None:
        """Refuse a class without points, and an oracle that is not there or does not give coefficients of c-svc."""
        if problem.one_class:
            return f"{self.name}: all {problem.n} points are of one class; expected points of both."

        def judged(oracle: Solver) -> str | None:
            if isinstance(oracle, (Smote, DifferentCosts)):
                return "gives a model that is no solution of c-svc; name a solver that gives dual coefficients."
            return takes(CSVC)(oracle)

        return oracle_refusal(self.name, self.oracle, judged) or self.refuses(problem)

    def refuses(self, problem: ProblemSummary) -> str | None:
        """Return why the method cannot be applied to these points, a sentence; None if it can."""
        return None

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        """Yield as the oracle yields, its model as one of the problem stated."""
        sides = Sides.of(problem)
        sizes = {"positives": len(sides.positives), "negatives": len(sides.negatives)}
        for iterate in self.trained(cast("CSVC", problem), sides, rng):
            yield replace(iterate, info={**iterate.info, "smaller_class": int(sides.label), **sizes})

    @abstractmethod
    def trained(self, problem: CSVC, sides: Sides, rng: np.random.Generator) -> Iterator[Iterate]:
        """Make the problem that the oracle solves, and yield its models as those of ``problem``."""

    def solved_by_oracle(self, problem: CSVC, rng: np.random.Generator, **info: Any) -> Iterator[Iterate]:
        """Yield the models of the oracle on ``problem``, with ``info`` added to its claims."""
        oracle = Oracle(self.oracle)
        for model in oracle.models(problem, self.name, gap=self.gap, rng=rng):
            yield replace(model, info={**model.info, "oracle": oracle.name, **info})


@dataclass(frozen=True)
class Batch(Baseline):
    """The oracle on all points as they are: the baseline of the paper's Tables 3 and 4.

    Take it as the baseline of methods for imbalance. Paper: Ertekin, Huang, Bottou and Giles 2007.

    ``info`` is the oracle's, with its name, the smaller class and how many points both have.
    """

    name: ClassVar[str] = "batch"
    conformance: ClassVar[Conformance] = Conformance({"oracle": "smo-block"}, gap=1e-3)

    def trained(self, problem: CSVC, sides: Sides, rng: np.random.Generator) -> Iterator[Iterate]:
        return self.solved_by_oracle(problem, rng)


@dataclass(frozen=True)
class Undersampling(Baseline):
    """The oracle on all positives and ``ratio`` times as many random negatives; the coefficients of the others are 0.

    Take it where one class is rare and training on all of the other one takes too long. Paper: Ertekin, Huang,
    Bottou and Giles 2007.

    The paper undersamples to the support-vector ratio that active learning reaches (its section 6), so without a
    ``ratio`` an active learner is run first on the same points as a pool, its labels and kernel values counted to this
    run; until it is done the model is w = 0. ``info``: ratio, kept_positives, kept_negatives (points of the problem that the
    oracle solves), and of the active learner active_labels, active_seconds, active_kernel_evaluations. The certificate is
    that of c-svc over all points, of which the model is feasible and not the optimum.
    """

    name: ClassVar[str] = "undersampling"
    conformance: ClassVar[Conformance] = Conformance({"ratio": 1.0, "oracle": "smo-block"}, ({"oracle": "smo-block"},))

    ratio: float | None = parameter(
        None, "negatives per positive, to the nearest whole number of negatives; none: as active learning has it", gt=0
    )

    def trained(self, problem: CSVC, sides: Sides, rng: np.random.Generator) -> Iterator[Iterate]:
        info = (yield from self._active(problem, sides, rng)) if self.ratio is None else {"ratio": self.ratio}
        count = min(len(sides.negatives), max(1, round(info["ratio"] * len(sides.positives))))
        chosen = rng.choice(sides.negatives, count, replace=False)
        subset, coef = np.sort(np.concatenate([sides.positives, chosen])), np.zeros(problem.n)
        info |= {"kept_positives": len(sides.positives), "kept_negatives": count}
        for model in self.solved_by_oracle(cast("CSVC", problem.restrict(subset)), rng, **info):
            coef[subset] = model.dual_coef
            yield replace(model, dual_coef=coef)

    def _active(
        self, problem: CSVC, sides: Sides, rng: np.random.Generator
    ) -> Generator[Iterate, None, dict[str, Any]]:
        """Run the active learner on the points as a pool; yield w = 0 with its progress, return the ratio and the costs."""
        active = Oracle(_ACTIVE)
        pool = PoolSVC.build(problem.kernel, problem.targets.__getitem__, {"C": problem.C})
        for model in active.models(pool, self.name, rng=rng):
            coef = cast("Any", model.dual_coef)
            yield Iterate(np.zeros(problem.n), info={"phase": "active", "active_labels": len(pool.queried)})
        few, many = (int(np.count_nonzero(coef[points])) for points in (sides.positives, sides.negatives))
        if not few or not many:
            raise UsageError(
                f"{self.name}: the active learner '{_ACTIVE}' ended with {few} support vectors of the smaller class and "
                f"{many} of the other; expected some of each, to undersample to their ratio. Give ratio."
            )
        costs = {"active_seconds": active.seconds, "active_kernel_evaluations": active.evaluations}
        return {"ratio": many / few, "active_labels": len(pool.queried), **costs}


@dataclass(frozen=True)
class DifferentCosts(Baseline):
    """The oracle on all points, C_+ = C n_- / n_+ for the smaller class, C_- = C for the other (the paper's section 6).

    Take it where one class is rare and every point is to be used. Paper: Ertekin, Huang, Bottou and Giles 2007.

    With 19 negatives for a positive the price of a positive is 19 C, where ``class_weight=balanced`` would have 10 C and
    0.53 C. The coefficients are no solution of the stated problem, whose bound they exceed: the model is scored, not
    certified. ``info``: factor, and smaller_class, the class whose cost is raised.
    """

    name: ClassVar[str] = "different-costs"
    conformance: ClassVar[Conformance] = Conformance({"oracle": "smo-block"})
    model_form: ClassVar[Literal["free_coef"]] = "free_coef"

    def refuses(self, problem: ProblemSummary) -> str | None:
        weights = problem.settings.class_weight
        reason = f"class_weight={weights} sets the costs of the classes already, as this solver does; leave it out."
        return None if weights == "none" else f"{self.name}: {reason}"

    def trained(self, problem: CSVC, sides: Sides, rng: np.random.Generator) -> Iterator[Iterate]:
        factor = len(sides.negatives) / len(sides.positives)
        upper = np.array(problem.upper)
        upper[sides.positives] *= factor
        costly = CSVC(problem.kernel, problem.targets, problem.settings, upper)
        for model in self.solved_by_oracle(costly, rng, factor=factor):
            yield replace(model, dual_coef=None, free_coef=model.dual_coef)


@dataclass(frozen=True)
class Smote(Baseline):
    """The oracle on all points and synthetic positives, each between a positive and one of its nearest positives.

    Take it where one class is rare, to try synthetic points; the model is scored, not certified. Paper: Chawla,
    Bowyer, Hall and Kegelmeyer 2002.

    The synthetic points are imbalanced-learn's, of dense or sparse features; with fewer positives than neighbours + 1 there
    are fewer neighbours. The model rests on points that are not of the problem: it is scored, not certified. Its search for
    neighbours reads the features, so that with a kernel that is not linear the count is a lower bound. ``info``: synthetic
    (points made), neighbours (used), preprocessing_seconds (all before the oracle begins), and the classes.
    """

    name: ClassVar[str] = "smote"
    conformance: ClassVar[Conformance] = Conformance(
        {"ratio": 0.5, "oracle": "smo-block"},
        excused={"every_kernel_value_is_counted": "its search for neighbours looks at the points"},
    )
    model_form: ClassVar[Literal["free_coef"]] = "free_coef"

    ratio: float = parameter(1.0, "negatives per positive, the synthetic ones among them; 1: as many of each", gt=0)
    neighbours: int = parameter(5, "nearest positives that a synthetic point may lie towards", ge=1)

    def warm_ups(self) -> tuple[Solver, ...]:
        """Add it with twice as many positives as negatives: a few points of each class would need no synthetic ones."""
        return (*super().warm_ups(), self.replace(ratio=0.5))

    def refuses(self, problem: ProblemSummary) -> str | None:
        if problem.kernel.name == "precomputed":
            return f"{self.name}: synthetic points lie between features, and kernel values that were given have none; name a kernel."
        if min(problem.class_counts) < 2:
            return f"{self.name}: the smaller class has a single point; expected 2 or more. Choose different-costs or undersampling."
        if importlib.util.find_spec("imblearn") is None:
            return f"{self.name}: imbalanced-learn is not installed; pip install 'svm-harness[imbalance]', or choose different-costs."
        return None

    def trained(self, problem: CSVC, sides: Sides, rng: np.random.Generator) -> Iterator[Iterate]:
        began, neighbours = fit_clock(), min(self.neighbours, len(sides.positives) - 1)
        points = self._synthetic(problem, sides, neighbours, rng)
        count, larger = 0 if points is None else int(points.shape[0]), problem
        if points is not None:
            labels = np.concatenate([problem.targets, np.full(count, sides.label)])
            upper = np.concatenate([problem.upper, np.full(count, problem.upper[sides.positives[0]])])
            larger = CSVC(problem.kernel.replace(extra_points=points), labels, problem.settings, upper)
        info = {"synthetic": count, "neighbours": neighbours, "preprocessing_seconds": fit_clock() - began}
        for model in self.solved_by_oracle(larger, rng, **info):
            yield replace(model, dual_coef=None, free_coef=model.dual_coef, extra_points=points)

    def _synthetic(self, problem: CSVC, sides: Sides, neighbours: int, rng: np.random.Generator) -> Any:
        """Return the synthetic points, dense or CSR as the others; None if there are positives enough."""
        size, seed = round(len(sides.negatives) / self.ratio), int(rng.integers(2**31))
        if size <= len(sides.positives):
            return None
        from imblearn.over_sampling import SMOTE
        from threadpoolctl import threadpool_limits

        sampler = SMOTE(sampling_strategy={1: size}, k_neighbors=neighbours, random_state=seed)
        # the sampler reads only the labels of the negatives, so that one of them is enough and the others are not copied
        rows = np.append(sides.positives, sides.negatives[0])
        labels = np.append(np.ones(len(sides.positives), dtype=np.intp), 0)
        with threadpool_limits(problem.kernel.threads):  # its libraries were loaded after the host set theirs
            resampled, _ = sampler.fit_resample(problem.kernel.points[rows], labels)
        return resampled[len(rows) :]
