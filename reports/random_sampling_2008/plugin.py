"""A plugin for this study alone: tubes, the points of the paper's counterexample, and solvers that measure its claims.

``gap-clouds``     two halves of a normal cloud, a gap between them, some of the training labels exchanged
``tube-clouds``    points around a hyperplane in a tube of known width, some of them outside
``corners``        the nearest points of two reduced hulls rest on n + 2 k - 1 points, by construction
``figure-4``       the points of Figures 4 and 5
``largest-basis``  every subset of a few examples solved: the combinatorial dimension, by its definition
``chosen-k``       section 6's two ways to find a k
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from harness_sampling import smallest_separating_k
from harness_sampling.tube_svr import TubeSVR

from harness import Dataset, DataSource, Iterate, Problem, ProblemSummary, Solver, get_solver, hookimpl, parameter
from harness.problems import HardMargin, ReducedHull
from reports.kit.plugin_tools import dataset

_MOST = 14  # examples of which every subset is solved
_EXACT = 1e-10  # relative gap of each
_BETTER = 1e-7  # |w|^2 of a subset is larger by this part, or it is the same
_PIECE = 64  # subsets between two looks at the clock


@dataclass(frozen=True)
class GapClouds(DataSource):
    """Normal points in d dimensions; the first coordinate is drawn away from 0 by gap / 2, and its sign is the class.

    The classes of the first ``outliers`` training points are exchanged: as many of each class, up to one.
    """

    name = "gap-clouds"
    description = (
        "A normal cloud cut in two by a gap; +1 is the side of positive first coordinates, outliers exchanged."
    )
    n: int = parameter(1000, "training points", ge=2)
    n_test: int = parameter(1000, "test points, none of them an outlier", ge=0)
    d: int = parameter(5, "dimensions", ge=1)
    gap: float = parameter(0.5, "distance of the two sides", gt=0)
    outliers: int = parameter(0, "training points with the other class", ge=0)
    seed: int = parameter(0, "seed of the draw", ge=0)

    def load(self) -> Dataset:
        """Return the points; the test points do not change with n."""

        def cut(x: Any, rng: np.random.Generator) -> Any:
            side = np.where(np.arange(len(x)) % 2, -1.0, 1.0)
            x[:, 0] = side * (np.abs(x[:, 0]) + 0.5 * self.gap)
            return side

        return _cloud(self, cut, lambda y: -y)


@dataclass(frozen=True)
class TubeClouds(DataSource):
    """Normal x in d dimensions, y = sum x / sqrt d + noise that is uniform on [-half, half].

    The first ``outliers`` training points are moved by ``reach``, up and down in turns.
    """

    name = "tube-clouds"
    description = "Points in a tube around a hyperplane, outliers above and below; regression."
    n: int = parameter(1000, "training points", ge=2)
    n_test: int = parameter(1000, "test points, none of them an outlier", ge=0)
    d: int = parameter(5, "dimensions", ge=1)
    half: float = parameter(0.5, "half the width of the tube", gt=0)
    outliers: int = parameter(0, "training points outside of it", ge=0)
    reach: float = parameter(3.0, "how far these are moved", gt=0)
    seed: int = parameter(0, "seed of the draw", ge=0)

    def load(self) -> Dataset:
        """Return the points; the test points do not change with n."""

        def target(x: Any, rng: np.random.Generator) -> Any:
            return x.sum(axis=1) / np.sqrt(self.d) + rng.uniform(-self.half, self.half, len(x))

        return _cloud(
            self, target, lambda y: y + np.where(np.arange(len(y)) % 2, -self.reach, self.reach), "regression"
        )


def _cloud(source: GapClouds | TubeClouds, label: Any, spoil: Any, task: Any = "classification") -> Dataset:
    """Return normal points with the targets that ``label`` gives them, those of the first ``outliers`` training points spoilt."""
    parts: list[Any] = []
    for n, rng in zip((source.n, source.n_test), np.random.default_rng(source.seed).spawn(2), strict=True):
        x = rng.standard_normal((n, source.d))
        parts += [x, label(x, rng)]
    parts[1] = np.where(np.arange(source.n) < source.outliers, spoil(parts[1]), parts[1])
    return dataset(source, *parts, task=task, defaults={"kernel": "linear", "C": 1.0})


@dataclass(frozen=True)
class Corners(DataSource):
    """Positives at the corners of a simplex of n - 1 dimensions, negatives around a point above it, k of them.

    The nearest point below has barycentric weights whose k-folds are no whole numbers and have parts that sum to 1: with
    caps of 1 / k it needs n + k - 1 positives, some corners several times, and the negatives' centre needs them all.
    """

    name = "corners"
    description = "Points whose reduced hulls' nearest points rest on n + 2 k - 1 of them; +1 is the simplex."
    d: int = parameter(3, "n, dimensions", ge=1, le=6)
    k: int = parameter(3, "1 / D", ge=1)

    def load(self) -> Dataset:
        """Return n + 2 k - 1 points, which are the test points too."""
        weights = np.full(self.d, 1.0 / self.d)
        weights[0] += self.k - 1  # the first corner takes all whole parts
        corners = np.column_stack([np.eye(self.d)[:, 1:], np.zeros(self.d)])
        positive = np.repeat(corners, np.ceil(weights - 1e-9).astype(int), axis=0)
        middle = weights @ corners / self.k
        return _around(self, positive, middle, self.k)


@dataclass(frozen=True)
class Figure4(DataSource):
    """Figures 4 and 5: two positives at each of a, b and c, one at d nearer to the three negatives; n = 3, k = 3.

    The composed examples of d and of both points at a (b, c) are the corners of a triangle. Where the paper draws a cone
    of negatives there are three around its tip, above a point of the triangle near to its first corner.
    """

    name = "figure-4"
    description = "The counterexample of Balcazar et al. 2008, Figures 4 and 5, coordinates chosen here."

    def load(self) -> Dataset:
        """Return ten points, which are the test points too."""
        a, b, c, d = np.array([[0.0, 0.0, -1.0], [3.0, 0.0, -1.0], [0.0, 3.0, -1.0], [1.0, 1.0, 2.0]])
        corners = np.array([(2.0 * corner + d) / 3.0 for corner in (a, b, c)])
        return _around(self, np.array([a, a, b, b, c, c, d]), np.array([0.6, 0.2, 0.2]) @ corners, 3)


def _around(source: DataSource, positive: Any, middle: Any, k: int) -> Dataset:
    """Return the positives with k negatives whose centre is 1 above ``middle``, along the last coordinate."""
    steps = 0.3 * (np.arange(k) - 0.5 * (k - 1))
    negative = np.tile(middle, (k, 1))
    negative[:, -1] += 1.0 + steps
    x = np.concatenate([positive, negative])
    y = np.repeat([1.0, -1.0], [len(positive), k])
    return dataset(source, x, y, x, y, defaults={"kernel": "linear", "C": 1.0})


@dataclass(frozen=True)
class LargestBasis(Solver):
    """The combinatorial dimension of (D_2, phi_2), section 4, by its definition: all subsets of the examples are solved.

    A basis is a set of examples of which none can be left out without another solution. Of a tube the examples are the
    points shifted up and those shifted down.

    info: ``largest``, the examples in the largest basis; ``subsets``, how many were solved; ``distance``, for each number
    of examples the least |w| of subsets of so many, 0: none has a solution; ``indices``, for each a subset that has it
    """

    name = "largest-basis"
    solves = (HardMargin, ReducedHull, TubeSVR)
    exact = False
    oracle: str = parameter("smo-block", "exact solver of the subsets")

    def skip(self, problem: ProblemSummary) -> str | None:
        """Refuse more examples than can be done."""
        examples = problem.n * (2 if issubclass(problem.formulation, TubeSVR) else 1)
        return f"largest-basis solves all subsets of at most {_MOST} examples." if examples > _MOST else None

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        """Yield the solution of all examples, its info that of the class; before it now and then that of a subset, for the clock."""
        whole = problem.composed() if isinstance(problem, TubeSVR) else problem
        assert isinstance(whole, HardMargin)
        n = whole.n
        kernel = np.asarray(whole.kernel.block(np.arange(n), np.arange(n)))
        needed = [round(1.0 / cap) for cap in whole.caps]
        squared: dict[int, float] = {}
        oracle = get_solver(self.oracle, gap=_EXACT)
        for count, subset in enumerate(range(1, 1 << n)):
            members = np.array([i for i in range(n) if subset >> i & 1])
            positive = int((whole.targets[members] > 0).sum())
            if positive < needed[0] or len(members) - positive < needed[1]:
                continue
            coef = np.zeros(n)
            coef[members] = oracle.solve(whole.restrict(members)).dual_coef
            squared[subset] = float(coef @ kernel @ coef)
            if count % _PIECE == 0:
                yield Iterate(_of_problem(problem, coef), step=count)
        distance, indices = _nearest(squared, n)
        info = {"largest": largest_basis(squared, n), "subsets": len(squared), "distance": distance, "indices": indices}
        last = oracle.solve(problem)
        yield Iterate(last.dual_coef, last.intercept, done=True, info=info)


def _of_problem(problem: Problem, coef: Any) -> Any:
    return problem.of_composed(coef) if isinstance(problem, TubeSVR) else coef


def largest_basis(squared: dict[int, float], n: int) -> int:
    """Return the size of the largest basis.

    squared : |w|^2 of each subset that has a solution, a subset as a number whose bits are its members
    """

    def is_basis(subset: int) -> bool:
        smaller = (squared.get(subset & ~(1 << i)) for i in range(n) if subset >> i & 1)
        return all(value is None or value > squared[subset] * (1.0 + _BETTER) for value in smaller)

    return max((subset.bit_count() for subset in squared if is_basis(subset)), default=0)


def _nearest(squared: dict[int, float], n: int) -> tuple[list[float], list[list[int]]]:
    """Return for 1 .. n examples the least |w| of a subset of so many, and the subset."""
    distance, indices = [0.0] * n, [[] for _ in range(n)]  # type: tuple[list[float], list[list[int]]]
    for subset, value in squared.items():
        at = subset.bit_count() - 1
        if not indices[at] or np.sqrt(value) < distance[at]:
            distance[at], indices[at] = float(np.sqrt(value)), [i for i in range(n) if subset >> i & 1]
    return distance, indices


@dataclass(frozen=True)
class ChosenK(Solver):
    """Section 6: a k with which the reduced hulls are apart, and the solution of that k; the stated problem has k = 1.

    bisection : the least such k, one problem over all points a step
    doubling : OptSoftMargin from k = 1, k doubled as soon as a local solution has w = 0; needs no pass for each k

    info: ``k``; ``most``, the examples of the smaller class, beyond which no k makes sense; of ``doubling`` ``rounds``,
    ``k_doublings`` and ``r``, the last sample's copies
    """

    name = "chosen-k"
    solves = (HardMargin,)
    exact = False
    how: Literal["bisection", "doubling"] = parameter("bisection", "bisection or doubling")
    oracle: str = parameter("smo-block", "exact solver of reduced-hull")
    gap: float = parameter(1e-3, "relative gap of a subproblem", gt=0, lt=1)

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        """Yield the solution of the chosen k; with doubling, solutions of samples before it."""
        assert isinstance(problem, HardMargin)
        most = min(int((problem.targets > 0).sum()), int((problem.targets < 0).sum()))
        if self.how == "doubling":
            yield from (replace(each, info={**each.info, "most": most}) for each in self._doubled(problem, rng))
            return
        smallest = smallest_separating_k(problem, self.oracle)
        k = None if smallest is None else smallest[0]
        last = get_solver(self.oracle, gap=self.gap).solve(_with_k(problem, k or 1))
        yield Iterate(last.dual_coef, last.intercept, done=k is not None, info={"k": k, "most": most})

    def _doubled(self, problem: HardMargin, rng: np.random.Generator) -> Iterator[Iterate]:
        solver = get_solver("optsoftmargin", doubles_k=True, gap=self.gap, oracle=self.oracle)
        for last in solver.iterates(_with_k(problem, 1), rng):
            if not last.info.get("status"):
                yield last
        info = {name: last.info.get(name) for name in ("rounds", "k_doublings", "r")}
        succeeded = last.info["status"] in ("done", "k doubled")
        k = round(last.info.get("k_plus", 1.0)) if succeeded else None
        yield Iterate(last.dual_coef, last.intercept, done=succeeded, step=last.step, info={**info, "k": k})


def _with_k(problem: HardMargin, k: int) -> ReducedHull:
    return ReducedHull(problem.kernel, problem.targets, ReducedHull.parameter_class(D=1.0 / k))


@hookimpl
def harness_datasets() -> list[type[DataSource]]:
    """Return the data sources of the study."""
    return [Corners, Figure4, GapClouds, TubeClouds]


@hookimpl
def harness_solvers() -> list[type[Solver]]:
    """Return the solvers of the study."""
    return [ChosenK, LargestBasis]
