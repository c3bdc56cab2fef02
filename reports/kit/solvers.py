"""A plugin for the studies of papers alone: solvers that record what no other does, and peers that only they meet.

``admissions``   an online solver with a record of where on the ramp each example lay when its turn came
``ladder``       a solver from scratch to one accuracy after another, each with what it took
``core-sets``    the same, with the optimal margin of each core set alone
``decrease``     fw, and how much each of its iterations gains beside what Lemma 3.1 promises
``smo-uncapped``  smo on problems of hulls
``linear-svc``   scikit-learn's LinearSVC with the squared hinge
``rescaled``     the hyperplane that a solver of another formulation finds, at the scale that the ramp loss likes best
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from harness_rgd.outlier_margin import OutlierMargin

from harness import (
    CSVC,
    CSVCNoBias,
    Iterate,
    Problem,
    ProblemSummary,
    Solver,
    UsageError,
    get_solver,
    hookimpl,
    parameter,
)
from harness.kernels.engine import Engine
from harness.problems import L2SVC, HardMargin


class _Recording(np.random.Generator):
    """A generator that remembers the last permutation it gave."""

    def permutation(self, *arguments: Any, **options: Any) -> Any:
        self.order = super().permutation(*arguments, **options)
        return self.order


@dataclass(frozen=True)
class Admissions(Solver):
    """One epoch of ``oracle``, which is given the examples one by one, each scored just before (Ertekin et al., Table 1).

    info: ``admitted`` (examples), of these ``admitted_left`` (y f < bend at their turn) and ``admitted_right``
    (y f > 1); ``cleaned_left`` and ``cleaned_right``, those of them that are not in S at the end; ``support_vectors``
    and ``non_support``, the members of S with and without a coefficient. Kernel values of the record are not counted.
    """

    name = "admissions"
    solves = (CSVCNoBias,)
    exact = False
    oracle: str = parameter("lasvm-g", "an online solver whose info says how many examples it has visited")
    bend: float = parameter(-1.0, "s of the ramp loss", lt=1)

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        recording = _Recording(rng.bit_generator)
        targets = problem.targets
        z = np.zeros(problem.n)  # y f at the example's turn; before the first one f = 0
        scored = 0
        for last in get_solver(self.oracle, block=1).iterates(problem, recording):
            visited = last.info.get("visited")
            if visited is None:
                raise UsageError(
                    f"solver 'admissions': the info of {self.oracle} has no 'visited', the number of examples so far; "
                    "take an oracle that has it."
                )
            if scored < visited < problem.n:
                scored = visited
                k = recording.order[visited : visited + 1]
                support = np.flatnonzero(last.dual_coef)
                z[k] = targets[k] * (uncounted(problem).kernel.block(k, support) @ last.dual_coef[support])
                yield Iterate(last.dual_coef, step=last.step)
        support = int(np.count_nonzero(last.dual_coef))
        whole = int(last.working_set) == problem.n  # nothing was removed
        gone = np.zeros(problem.n, bool) if whole else np.asarray(last.dual_coef) == 0.0
        left, right = z < self.bend, z > 1.0
        counts = {
            "support_vectors": support,
            "non_support": int(last.working_set) - support,
            "admitted": problem.n,
            "admitted_left": int(left.sum()),
            "admitted_right": int(right.sum()),
            "cleaned_left": int((left & gone).sum()),
            "cleaned_right": int((right & gone).sum()),
        }
        yield Iterate(
            last.dual_coef, last.intercept, done=True, step=last.step, working_set=last.working_set, info=counts
        )


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
        from harness_fw import delta_of

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
                    level |= self.beside(problem, last.dual_coef)
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

    def beside(self, problem: Problem, dual_coef: Any) -> dict[str, Any]:
        """Return what a level says beside its costs."""
        return {}


@dataclass(frozen=True)
class CoreSets(Ladder):
    """The ladder, and of each level's core set the margin that is optimal for it alone, off the clock and not counted.

    X is an epsilon-core set where (1 - epsilon) margin(X) <= margin(all) (Kumar & Yildirim, section 1 and Theorem 3.3).

    info : beside that of the ladder ``margin`` of all points, [lower, upper], and in each level ``margin_low`` and
        ``margin_high`` of its core set: the bounds that a model of gap 1e-9 certifies
    """

    name = "core-sets"

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        """Yield as the ladder does."""
        whole = optimal_margin(problem)
        for found in super().iterates(problem, rng):
            yield replace(found, info={**found.info, "margin": whole})

    def beside(self, problem: Problem, dual_coef: Any) -> dict[str, Any]:
        """Return the margin of the core set."""
        low, high = optimal_margin(problem.restrict(np.flatnonzero(dual_coef)))
        return {"margin_low": low, "margin_high": high}


def uncounted(problem: Problem) -> Problem:
    """Return the problem over the engine of its kernel: what a study computes beside a solver is not the solver's."""

    def engine(kernel: Any) -> Engine:
        settings = {"ridge": kernel.ridge, "z": kernel.z, "threads": kernel.threads}
        return Engine(kernel.kernel, None, part=kernel._part, **settings)  # noqa: SLF001

    return problem._over(engine)  # noqa: SLF001


def optimal_margin(problem: Problem) -> list[float]:
    """Return bounds of the optimal margin, [lower, upper], no more than 1e-9 of it apart or as near as a model comes."""
    stated = uncounted(problem)
    exact = get_solver("fw-fully-corrective").with_target_gap(1e-9)
    *_, last = exact.iterates(stated.counted(), np.random.default_rng(0))
    found = stated.certify(last.dual_coef, last.intercept)
    return [float(found.margin_lower), float(found.margin_upper)]


@dataclass(frozen=True)
class Decrease(Solver):
    """``fw``, an iteration a time, and what each gains of Psi = 1/2 |w|^2 beside (21), Lemma 3.1 of Kumar & Yildirim.

    Psi of the last iterate stands for the optimum: what is promised is then no less than with Psi* itself.

    info : ``epsilon`` asked for, ``steps`` (add- and decrease-iterations), ``drops``, ``least`` and ``median`` of gain over
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
        from harness_fw import delta_of
        from harness_fw.bounds import decrease_bound

        delta = delta_of(uncounted(problem).kernel, problem.targets > 0)
        course: list[tuple[float, float, str]] = []
        last = None
        for found in get_solver("fw", epsilon=self.epsilon, stride=1).iterates(problem, rng):
            if last is None or found.step > last.step:
                course.append((0.5 * found.info["norm"] ** 2, found.info["epsilon"], found.info["kind"]))
            last = found
            if not found.done:
                yield found
        assert last is not None
        optimum = course[-1][0]
        pairs = list(itertools.pairwise(course))
        gains = [
            (psi - after) / (psi - decrease_bound(psi, epsilon, delta, optimum))
            for (psi, epsilon, _), (after, _, kind) in pairs
            if kind != "drop"
        ]
        drops = [after / psi for (psi, _, _), (after, _, kind) in pairs if kind == "drop"]
        figures = {
            "epsilon": self.epsilon,
            "steps": len(gains),
            "drops": len(drops),
            "least": min(gains, default=None),
            "median": float(np.median(gains)) if gains else None,
            "worst_drop": max(drops, default=None),
            "delta": delta,
        }
        yield replace(last, info=figures)


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
        for found in get_solver("smo", tau=self.tau).iterates(uncapped, rng):
            weights = np.abs(found.dual_coef)
            sums = np.where(positive, weights[positive].sum(), weights[~positive].sum())
            if (sums > 0.0).all():
                yield replace(found, dual_coef=found.dual_coef / sums, intercept=found.intercept / float(sums.mean()))


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
        model = LinearSVC(
            C=0.5 / problem.kernel.ridge,
            dual=self.dual,
            tol=self.tol,
            intercept_scaling=self.scaling,
            max_iter=100_000,
            random_state=0,
        ).fit(x, y)
        wall, cpu = time.perf_counter(), time.process_time()
        slack = np.maximum(0.0, 1.0 - y * (x @ model.coef_[0] + model.intercept_[0]))
        sums = np.where(y > 0, slack[y > 0].sum(), slack[y < 0].sum())
        taken = {"conversion_seconds": time.perf_counter() - wall, "conversion_cpu_seconds": time.process_time() - cpu}
        yield Iterate(y * slack / sums, intercept=0.0, step=int(np.max(model.n_iter_)), info=taken)


@dataclass(frozen=True)
class Rescaled(Solver):
    """The direction that ``oracle`` finds, at the scale t >= 0 where J_s(t w) is least: how good is it for the ramp loss?

    The oracle solves ``outlier-margin`` with the share ``outliers``, or the hinge's c-svc-nobias with the problem's C.
    J_s(t w) is quadratic between the scales where a y f meets 1 or s, so the best t is found exactly. The points end in a
    constant column; an oracle with a bias b makes that column's weight b, which ramp-svc then charges for, as it does
    for every other weight.

    info : ``objective``, J_s at the best scale; ``scale``, t; ``given_up``, points beyond s; J_s(0) is an upper bound
    """

    name = "rescaled"
    solves = ("ramp-svc",)
    exact = False
    oracle: str = parameter("rgd-tree", "a solver of outlier-margin or of c-svc-nobias, parameters in brackets")
    outliers: float = parameter(0.15, "share that a solver of outlier-margin may give up", ge=0, lt=1)
    delta: float = parameter(0.5, "(1 + delta) times the share", ge=0, le=1)

    def skip(self, problem: ProblemSummary) -> str | None:
        """Refuse other kernels."""
        return None if problem.is_linear else "rescaled needs a linear kernel: it works on weights."

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        """Yield the weights, once."""
        oracle, x = get_solver(self.oracle), np.asarray(problem.kernel.points)
        if np.ptp(x[:, -1]) or x[0, -1] == 0.0:  # it takes the place of the bias
            raise UsageError("rescaled needs a constant last column of the points.")
        formulation = OutlierMargin if oracle.takes(OutlierMargin) else CSVCNoBias
        values = {"outliers": self.outliers, "delta": self.delta, "C": problem.settings.C}
        *_, found = oracle.iterates(formulation.build(problem.kernel, problem.targets, values), rng)
        weights = np.array(x.T @ found.dual_coef if found.weights is None else found.weights)
        weights[-1] += found.intercept / x[0, -1]
        scale, objective = best_scale(problem, problem.targets * (x @ weights), float(weights @ weights))
        given_up = int(np.sum(scale * problem.targets * (x @ weights) < problem.settings.s))
        info = {"objective": objective, "scale": scale, "given_up": given_up}
        yield Iterate(weights=scale * weights, done=True, info=info)


def best_scale(problem: Problem, z: Any, squared: float) -> tuple[float, float]:
    """Return t >= 0 and J_s(t w), the least of all t.

    z : (n,) y f of w; squared : |w|^2
    """
    upper, s = problem.upper, problem.settings.s
    with np.errstate(divide="ignore", invalid="ignore"):
        bends = np.concatenate([1.0 / z, s / z])
    bends = np.unique(np.concatenate([[0.0], bends[np.isfinite(bends) & (bends > 0.0)]]))
    ends = np.append(bends[1:], bends[-1] + 1.0 + np.abs(upper @ z) / max(squared, np.finfo(float).tiny))
    middle = 0.5 * (bends + ends)
    sloping = (z[:, None] * middle < 1.0) & (z[:, None] * middle > s)  # where R_s falls with y f
    turning = (upper * z) @ sloping / max(squared, np.finfo(float).tiny)
    scales = np.concatenate([bends, np.clip(turning, bends, ends)])
    losses = upper @ np.clip(1.0 - z[:, None] * scales, 0.0, 1.0 - s)
    values = 0.5 * squared * scales**2 + losses
    best = int(np.argmin(values))
    return float(scales[best]), float(values[best])


@hookimpl
def harness_solvers() -> list[type[Solver]]:
    """Return the solvers of the studies."""
    return [Admissions, CoreSets, Decrease, Ladder, LinearSVCPeer, Rescaled, UncappedSMO]
