"""A plugin for this study alone: solvers that record what the paper proves, peers, and data whose core sets are known.

``ladder``       a solver from scratch to one accuracy after another, each with what it took
``core-sets``    the same, with the optimal margin of each core set alone
``decrease``     fw, and the gain of each iteration relative to what Lemma 3.1 promises
``smo-uncapped``  smo on problems of hulls
``linear-svc``   scikit-learn's LinearSVC with the squared hinge
``mushrooms-like``  one-hot attributes of mushrooms that a line divides, made up
``simplices``    two regular simplices that face each other: the least core set of every accuracy is known
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from harness_fw import delta_of
from harness_fw.bounds import decrease_bound

from harness import Dataset, DataSource, Iterate, Problem, ProblemSummary, Solver, get_solver, hookimpl, parameter
from harness.problems import CSVC, L2SVC, HardMargin
from reports.kit.plugin_tools import dataset, uncounted


@dataclass(frozen=True)
class Ladder(Solver):
    """``oracle`` from scratch to epsilon = 10^-1 and on down to ``least``, one accuracy after another, with empty caches.

    info: ``levels``, for each accuracy reached a dict of ``epsilon``, ``iterations``, ``core_set`` (points with a
    coefficient), ``evaluations`` (kernel values) and ``cpu`` (seconds); of what was going on at the end ``last_epsilon``
    (epsilon_+; absent where the solver does not say), ``last_iterations`` and ``last_cpu``; ``delta`` of Kumar &
    Yildirim, (19); ``ended``, why a level was not reached, where that was not the time.
    """

    name = "ladder"
    solves = (L2SVC, HardMargin)
    exact = False
    oracle: str = parameter("fw", "a solver of the hull formulations that takes a target gap")
    least: float = parameter(1e-8, "the smallest epsilon", gt=0, le=0.1)
    per_decade: int = parameter(2, "accuracies a factor of ten", ge=1)
    seconds: float = parameter(6.0, "CPU time for all accuracies together", gt=0)

    @property
    def accuracies(self) -> list[float]:
        """The epsilons, the largest first."""
        count = round(self.per_decade * np.log10(0.1 / self.least))
        return [float(10.0 ** (-1.0 - k / self.per_decade)) for k in range(count + 1)]

    def warm_ups(self) -> tuple[Solver, ...]:
        """Return those of the solver on the ladder."""
        return get_solver(self.oracle).warm_ups()

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        delta = delta_of(uncounted(problem).kernel, problem.targets > 0)
        info: dict[str, Any] = {"levels": [], "delta": delta}
        accuracies, left = self.accuracies, self.seconds
        for epsilon in accuracies:
            kernel = problem.kernel.replace(cache_mb=problem.kernel.cache_mb)
            again = type(problem)(kernel, problem.targets, problem.settings)
            before, seconds = kernel.counter.evaluations, 0.0
            iterates = get_solver(self.oracle).with_target_gap(2.0 * epsilon).iterates(again, rng.spawn(1)[0])
            done = False
            while not done:
                began = time.process_time()
                last = next(iterates, None)
                spent = time.process_time() - began
                seconds, left = seconds + spent, left - spent
                if last is None:
                    break
                done = last.done
                info.update(last_iterations=last.step, last_cpu=seconds)
                if last.info.get("epsilon_plus") is not None:
                    info["last_epsilon"] = last.info["epsilon_plus"]
                if done:
                    costs = {"evaluations": kernel.counter.evaluations - before, "cpu": seconds}
                    core = int(np.count_nonzero(last.dual_coef))
                    level = {"epsilon": epsilon, "iterations": last.step, "core_set": core, **costs}
                    level |= self.extra_info(problem, last.dual_coef)
                    info["levels"] = [*info["levels"], level]
                elif last.info.get("status"):
                    info["ended"] = str(last.info["status"])
                over = done and epsilon == accuracies[-1]
                if left <= 0.0 and not over:
                    info["ended"] = f"its {self.seconds:g} s of CPU time are over"
                yield replace(last, done=over, info=dict(info))
                if left <= 0.0:
                    return
            if not done:
                return

    def extra_info(self, problem: Problem, dual_coef: Any) -> dict[str, Any]:
        """Return further entries of a level."""
        return {}


@dataclass(frozen=True)
class CoreSets(Ladder):
    """The ladder, and of each level's core set the margin that is optimal for it alone, off the clock and not counted.

    X is an epsilon-core set where (1 - epsilon) margin(X) <= margin(all) (Kumar & Yildirim, section 1 and Theorem 3.3).

    info : in addition to that of the ladder ``margin`` of all points, [lower, upper], and in each level ``margin_low`` and
        ``margin_high`` of its core set: the bounds that a model of gap 1e-9 certifies
    """

    name = "core-sets"

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        """Yield as the ladder does."""
        whole = optimal_margin(problem)
        for iterate in super().iterates(problem, rng):
            yield replace(iterate, info={**iterate.info, "margin": whole})

    def extra_info(self, problem: Problem, dual_coef: Any) -> dict[str, Any]:
        """Return the margin of the core set."""
        low, high = optimal_margin(problem.restrict(np.flatnonzero(dual_coef)))
        return {"margin_low": low, "margin_high": high}


def optimal_margin(problem: Problem) -> list[float]:
    """Return bounds of the optimal margin, [lower, upper], no more than 1e-9 of it apart or as near as a model comes."""
    free = uncounted(problem)
    exact = get_solver("fw-fully-corrective").with_target_gap(1e-9)
    *_, last = exact.iterates(free.counted(), np.random.default_rng(0))
    certificate = free.certify(last.dual_coef, last.intercept)
    return [float(certificate.margin_lower), float(certificate.margin_upper)]


@dataclass(frozen=True)
class Decrease(Solver):
    """``fw``, an iteration a time, and the gain of each in Psi = 1/2 |w|^2 over that of (21), Lemma 3.1 of Kumar & Yildirim.

    Psi of the last iterate stands for the optimum: what is promised is then no less than with Psi* itself.

    info : the target ``epsilon``, ``steps`` (add- and decrease-iterations), ``drops``, ``least`` and ``median`` of gain over
        promise among the steps, ``worst_drop``, the largest Psi after a drop-iteration over that before, ``delta``, (19)
    """

    name = "decrease"
    solves = (L2SVC, HardMargin)
    exact = False
    epsilon: float = parameter(1e-3, "accuracy at which fw stops", gt=0, lt=1)

    def warm_ups(self) -> tuple[Solver, ...]:
        """Return those of fw."""
        return get_solver("fw").warm_ups()

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        """Yield as fw does; what was measured with the last one."""
        delta = delta_of(uncounted(problem).kernel, problem.targets > 0)
        course: list[tuple[float, float, str]] = []
        last = None
        for iterate in get_solver("fw", epsilon=self.epsilon, stride=1).iterates(problem, rng):
            if last is None or iterate.step > last.step:
                course.append((0.5 * iterate.info["norm"] ** 2, iterate.info["epsilon"], iterate.info["kind"]))
            last = iterate
            if not iterate.done:
                yield iterate
        assert last is not None
        optimum = course[-1][0]
        pairs = list(itertools.pairwise(course))
        gains = [
            (psi - after) / (psi - decrease_bound(psi, epsilon, delta, optimum))
            for (psi, epsilon, _), (after, _, kind) in pairs
            if kind != "drop"
        ]
        drops = [after / psi for (psi, _, _), (after, _, kind) in pairs if kind == "drop"]
        median = float(np.median(gains)) if gains else None
        figures = {"least": min(gains, default=None), "median": median, "worst_drop": max(drops, default=None)}
        yield replace(
            last, info={"epsilon": self.epsilon, "steps": len(gains), "drops": len(drops), **figures, "delta": delta}
        )


_UNCAPPED = 1e9  # of a coefficient; the sum over a class is 2 / margin^2


@dataclass(frozen=True)
class UncappedSMO(Solver):
    """``smo``, which solves no problem of whole hulls, on c-svc with the same kernel, ridge included, and no cap.

    Its coefficients over their sum in each class are those of the hulls. Where no pair violates by more than tau,
    epsilon_+ is tau at most: f differs by no more than tau from 1 below and -1 above.
    """

    name = "smo-uncapped"
    solves = (L2SVC, HardMargin)
    tau: float = parameter(1e-3, "smo's own: the largest violation at the end", gt=0)

    def with_target_gap(self, gap: float) -> UncappedSMO:
        """Return this solver with tau = gap / 2: the relative gap is 1 - (1 - epsilon)^2."""
        return replace(self, tau=0.5 * gap)

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        """Yield the iterates of smo that have a coefficient in each class."""
        positive = problem.targets > 0
        uncapped = CSVC.build(problem.kernel, problem.targets, {"C": _UNCAPPED})
        for iterate in get_solver("smo", tau=self.tau).iterates(uncapped, rng):
            weights = np.abs(iterate.dual_coef)
            sums = np.where(positive, weights[positive].sum(), weights[~positive].sum())
            if (sums > 0.0).all():
                intercept = iterate.intercept / float(sums.mean())
                yield replace(iterate, dual_coef=iterate.dual_coef / sums, intercept=intercept)


@dataclass(frozen=True)
class LinearSVCPeer(Solver):
    """scikit-learn's LinearSVC with the squared hinge: l2-svc with chi = 2 C, but for a bias that is penalised.

    The coefficients of the hulls are the slacks of its model, over their sum in each class; what takes their computation
    is conversion, not training.
    """

    name = "linear-svc"
    solves = (L2SVC,)
    observable = False
    exact = False
    tol: float = parameter(1e-4, "LinearSVC's own", gt=0)
    dual: bool = parameter(False, "solve the dual, one coefficient at a time; else the primal, Newton's method")
    scaling: float = parameter(10.0, "intercept_scaling: the penalty of the bias is divided by its square", gt=0)

    def skip(self, problem: ProblemSummary) -> str | None:
        """Refuse other kernels."""
        return None if problem.is_linear else "linear-svc needs a linear kernel."

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        """Yield the library's model, once."""
        from sklearn.svm import LinearSVC

        x, y = problem.kernel.points, problem.targets
        given = {"dual": self.dual, "tol": self.tol, "intercept_scaling": self.scaling}
        model = LinearSVC(C=0.5 / problem.kernel.ridge, **given, max_iter=100_000, random_state=0).fit(x, y)
        wall, cpu = time.perf_counter(), time.process_time()
        slack = np.maximum(0.0, 1.0 - y * (x @ model.coef_[0] + model.intercept_[0]))
        sums = np.where(y > 0, slack[y > 0].sum(), slack[y < 0].sum())
        taken = {"conversion_seconds": time.perf_counter() - wall, "conversion_cpu_seconds": time.process_time() - cpu}
        yield Iterate(y * slack / sums, intercept=0.0, step=int(np.max(model.n_iter_)), info=taken)


@dataclass(frozen=True)
class MushroomsLike(DataSource):
    """22 attributes of up to 9 values, one-hot; a hidden rule of a few of them is +1 where it is above a margin."""

    name = "mushrooms-like"
    description = (
        "Generated in the style of UCI Mushroom: 22 attributes, one-hot, separable by a line; +1 is poisonous."
    )
    n: int = parameter(2000, "training points; as many for testing", ge=2)
    seed: int = parameter(0, "seed of the draw", ge=0)

    def load(self) -> Dataset:
        rng = np.random.default_rng(self.seed)
        sizes = rng.integers(2, 10, 22)
        chances = [rng.dirichlet(np.ones(size)) for size in sizes]
        rule = rng.normal(size=int(sizes[:8].sum()))  # of the first attributes; the others are noise
        points: list[Any] = []
        while len(points) < 2 * self.n:
            drawn = [rng.choice(size, 4 * self.n, p=chance) for size, chance in zip(sizes, chances, strict=True)]
            x = np.hstack([np.eye(size)[column] for size, column in zip(sizes, drawn, strict=True)])
            values = x[:, : len(rule)] @ rule
            far = np.abs(values - np.median(values)) > 0.25
            points += list(zip(x[far], np.where(values[far] > np.median(values), 1.0, -1.0), strict=True))
        x, y = np.array([point for point, _ in points]), np.array([label for _, label in points])
        parts = (x[: self.n], y[: self.n], x[self.n : 2 * self.n], y[self.n : 2 * self.n])
        return dataset(self, *parts, defaults={"kernel": "linear", "C": 1.0})


@dataclass(frozen=True)
class Simplices(DataSource):
    """P = (h/2, e_i, 0) and Q = (-h/2, 0, e_j), i, j = 1 .. m: k of each class are h^2 + 2/k apart, squared.

    By symmetry and convexity no choice of so many points is nearer to the optimum h^2 + 2/m: the least epsilon-core set
    is known. All |p - q|^2 are h^2 + 2.
    """

    name = "simplices"
    description = "Two regular simplices that face each other; the least core set of every accuracy is known."
    m: int = parameter(500, "corners of each", ge=2)
    height: float = parameter(0.5, "h, distance of the planes they lie in", gt=0)

    def load(self) -> Dataset:
        side = np.repeat([1.0, -1.0], self.m)
        x = np.column_stack([0.5 * self.height * side, np.eye(2 * self.m)])
        return dataset(self, x, side, x[[0, self.m]], side[[0, self.m]], defaults={"kernel": "linear", "C": 1.0})


def least_core_set(m: int, height: float, epsilon: float) -> int:
    """Return the size of the least epsilon-core set of :class:`Simplices`: (1 - epsilon) margin(X) <= margin(all).

    With k and l points of the classes margin(X)^2 = h^2 + 1/k + 1/l.
    """
    optimum = height**2 + 2.0 / m
    for size in range(2, 2 * m + 1):
        k = size // 2
        if (1.0 - epsilon) ** 2 * (height**2 + 1.0 / k + 1.0 / (size - k)) <= optimum * (1.0 + 1e-12):
            return size
    return 2 * m


@hookimpl
def harness_datasets() -> list[type[DataSource]]:
    """Return the data sources of the study."""
    return [MushroomsLike, Simplices]


@hookimpl
def harness_solvers() -> list[type[Solver]]:
    """Return the solvers of the study."""
    return [CoreSets, Decrease, Ladder, LinearSVCPeer, UncappedSMO]
