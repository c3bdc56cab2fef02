"""Solution paths: one training problem for many values of its parameters, with or without the folds of a cross-validation.

The problems of a path are its cells. Cells that differ only in C have the same kernel values and similar solutions. Cells
of different gamma have the same distances. Cells of different folds have most points in common. A solver solves the cells
in :meth:`harness.Solver.solve_path`. A :class:`SolutionPath` shares kernel values and distances between the kernels of its
cells.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from harness.kernels.counter import Counter
from harness.kernels.distances import Distances
from harness.kernels.engine import Engine
from harness.kernels.functions import Exponential, GivenValues, Kernel
from harness.kernels.oracle import KernelOracle
from harness.kernels.points import is_mapped, sum_of_words
from harness.kernels.row_cache import SharedRows
from harness.support.clocks import fit_clock, fit_cpu_clock
from harness.support.errors import InvalidModel

if TYPE_CHECKING:
    from harness.problems.dual import DualForm
    from harness.problems.problem import Problem
    from harness.support.arrays import Block, Vector

T = TypeVar("T")

_DISTANCE_SHARE = 0.5  # largest fraction of the cache for distances; the rest is for kernel rows
_SHARED_ROW_SHARE = 0.5  # fraction of the memory for rows that problems with the same kernel share; the rest is private


@dataclass(frozen=True)
class GridPoint:
    """One problem of a path.

    index : position in the recommended order, in which cells with the same kernel values are adjacent
    values : parameter -> value of the cell, e.g. ``{"C": 8.0, "gamma": 0.5}``
    fold : the fold excluded from the training points; None for all training points
    before : index of the cell with the next smaller value on the first axis and all else equal; None for the first
    """

    index: int
    values: Mapping[str, float]
    fold: int | None = None
    before: int | None = None


@dataclass(frozen=True)
class Grid:
    """The values and folds of a path.

    problem_axes, kernel_axes : parameter of the formulation, and of the kernel -> its values, ascending
    folds : number of folds of the cross-validation; 0 to train every cell on all points
    cold : solve every cell separately, without a starting point
    """

    problem_axes: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    kernel_axes: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    folds: int = 0
    cold: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Return the grid in the format of a record."""
        axes = {"costs": dict(self.problem_axes), "widths": dict(self.kernel_axes)}
        return {**axes, "folds": self.folds, "start": "cold" if self.cold else "warm"}

    @property
    def axes(self) -> dict[str, tuple[float, ...]]:
        """Parameter -> values, those of the formulation first."""
        return {**self.problem_axes, **self.kernel_axes}

    def cells(self) -> tuple[GridPoint, ...]:
        """Return the cells; kernel parameters vary slowest, then folds, then problem parameters, the first one fastest."""
        outer, inner = list(self.kernel_axes), list(self.problem_axes)[::-1]
        fast = (inner or outer)[-1]
        cells: list[GridPoint] = []
        latest: dict[Any, int] = {}
        for kernel_values in itertools.product(*(self.axes[name] for name in outer)):
            for fold in range(self.folds) if self.folds else (None,):
                for problem_values in itertools.product(*(self.axes[name] for name in inner)):
                    values = dict(zip((*outer, *inner), (*kernel_values, *problem_values), strict=True))
                    line = (fold, *(value for name, value in values.items() if name != fast))
                    cells.append(GridPoint(len(cells), values, fold, latest.get(line)))
                    latest[line] = cells[-1].index
        return tuple(cells)

    @property
    def size(self) -> int:
        """Number of cells."""
        return math.prod(map(len, self.axes.values())) * max(1, self.folds)


def fold_of(targets: Vector, folds: int, seed: int, *, stratified: bool) -> Block:
    """Return the fold of each point, (n,); sizes differ by at most one, also within each class if ``stratified``."""
    rng = np.random.default_rng([seed, folds])
    fold: Block = np.empty(len(targets), dtype=np.int64)
    groups = [targets == label for label in np.unique(targets)] if stratified else [np.ones(len(targets), dtype=bool)]
    first = 0
    for members in groups:
        count = int(members.sum())
        # continues after the last fold of the previous class
        fold[members] = rng.permutation((first + np.arange(count)) % folds)
        first += count
    return fold


@dataclass
class Shared:
    """Wall and CPU seconds of computations that several cells share."""

    seconds: float = 0.0
    cpu_seconds: float = 0.0


@dataclass
class SolutionPath:
    """The cells of a path over one training set, in the recommended order.

    Parameters
    ----------
    grid : parameters, values and folds
    formulation, parameters : formulation of the problems, and its parameters that are not in the grid
    kernel, kernel_parameters : kernel of the problems, and its parameters that are not in the grid
    points, targets : all training points, (n, d) or (n, n) for ``precomputed``, and (n,)
    seed : seed of the folds
    cache_mb : memory for kernel rows and distances, in MB; distances are shared if they take at most half of it
    threads : number of threads of compiled loops and BLAS
    clocks : wall and CPU clock, functions that return seconds
    cold : give every cell a copy of its points; nothing is shared, and no cell has a starting point

    Attributes
    ----------
    cells : the cells, in order
    order : (n,) order of the points, fold by fold, so that the points of a cell are two contiguous ranges
    counter : counter of the kernel values of all cells
    shared : seconds of computations that several cells share

    ``problem(cell)`` returns the problem of a cell. Arrays of a solver over the points of a cell have the order of that problem.
    """

    grid: Grid
    formulation: type[Problem]
    kernel: type[Kernel]
    points: Any
    targets: Any
    parameters: Mapping[str, Any] = field(default_factory=dict)
    kernel_parameters: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    cache_mb: float = 256.0
    threads: int = 1
    cold: bool = False
    clocks: Any = (fit_clock, fit_cpu_clock)

    def __post_init__(self) -> None:
        self.cells = self.grid.cells()
        self.counter, self.shared = Counter(), Shared()
        targets = np.asarray(self.targets, dtype=np.float64)
        self.order: Block = np.arange(len(targets))
        self._folds: Block = np.full(len(targets), -1)
        if self.grid.folds:
            stratified = self.formulation.task == "classification"
            self._folds = fold_of(targets, self.grid.folds, self.seed, stratified=stratified)
        if self._moves:
            self.order = np.argsort(self._folds, kind="stable")
            self.points, self._folds = self.points[self.order], self._folds[self.order]
        self.targets = targets[self.order]
        self._followed = {cell.before for cell in self.cells}
        self._solutions: dict[int, tuple[Vector, DualForm | None]] = {}
        self._settings: dict[Any, Any] = {}  # values of a cell -> validated parameters of the formulation
        self._latest: dict[str, tuple[Any, Any]] = {}  # "engine", "points" or "problem" -> (key, object)

    @property
    def n(self) -> int:
        """Number of training points."""
        return len(self.order)

    @property
    def _moves(self) -> bool:
        """Whether to sort the points by fold, which pays if distances are read and the points are in memory."""
        return self.grid.folds > 1 and not is_mapped(self.points) and self._uses_distances

    @property
    def _uses_distances(self) -> bool:
        return isinstance(self.kernel(**self.kernel_parameters).form, Exponential)

    @cached_property
    def distances(self) -> Distances:
        """Squared distances between all points, computed when first requested."""
        most = 0.0 if self.cold else self.cache_mb * 2**20 * _DISTANCE_SHARE
        return Distances(self.points, most, self._shared_work)

    @contextmanager
    def _shared_work(self) -> Iterator[None]:
        clock, cpu_clock = self.clocks
        began, cpu_began = clock(), cpu_clock()
        yield
        self.shared.seconds += clock() - began
        self.shared.cpu_seconds += cpu_clock() - cpu_began

    def members(self, cell: GridPoint) -> Block:
        """Return the indices of the training points of a cell, ascending."""
        return np.arange(self.n) if cell.fold is None else np.flatnonzero(self._folds != cell.fold)

    def left_out(self, cell: GridPoint) -> Block:
        """Return the indices of the points of the fold that a cell excludes; empty without folds."""
        return np.empty(0, dtype=np.int64) if cell.fold is None else np.flatnonzero(self._folds == cell.fold)

    def _cached(self, kind: str, key: Any, make: Callable[[], T]) -> T:
        """Return the cached object of a kind if its key is ``key``, else a new one, made after the old one is freed."""
        if kind not in self._latest or self._latest[kind][0] != key:
            self._latest.pop(kind, None)
            self._latest[kind] = key, make()
        cached: T = self._latest[kind][1]
        return cached

    def engine(self, cell: GridPoint) -> Engine:
        """Return the kernel of a cell over all points of the path, whatever its fold, without a counter."""
        values = self._values(cell, of_kernel=True)

        def make() -> Engine:
            return Engine(self.kernel(**values), self.points, threads=self.threads, distances=self.distances)

        return self._cached("engine", values, make)

    def problem(self, cell: GridPoint) -> Problem:
        """Return the problem of a cell; its kernel shares stored values with that of the previous cell if possible."""

        def make() -> Problem:
            key = tuple(value for name, value in cell.values.items() if name not in self.grid.kernel_axes)
            if key not in self._settings:
                self._settings[key] = self.formulation.settings_of(self._values(cell, of_kernel=False))
            kernel, targets = self._points_of(cell)
            return self.formulation(kernel, targets, self._settings[key])

        return self._cached("problem", cell.index, make)

    def _points_of(self, cell: GridPoint) -> tuple[KernelOracle, Vector]:
        """Return kernel and targets of a cell; those of the previous cell if its fold and kernel values are the same."""

        def make() -> tuple[KernelOracle, Vector]:
            members = self.members(cell)
            return self._kernel(cell, members), self.targets[members]

        return make() if self.cold else self._cached("points", (cell.fold, self._values(cell, of_kernel=True)), make)

    def _kernel(self, cell: GridPoint, members: Block) -> KernelOracle:
        if self.cold:
            points = self.points if cell.fold is None else self.rows(members, members)
            kernel = self.kernel(**self._values(cell, of_kernel=True))
            return KernelOracle(kernel, points, counter=self.counter, cache_mb=self.cache_mb, threads=self.threads)
        engine = self.engine(cell)
        part = engine if cell.fold is None else engine.restrict(members)
        cache_mb = self.cache_mb - self.distances.bytes / 2**20
        shared = SharedRows(_SHARED_ROW_SHARE * cache_mb * 2**20)
        return KernelOracle(engine.kernel, None, engine=part, counter=self.counter, cache_mb=cache_mb, shared=shared)

    def rows(self, index: Block, members: Block) -> Any:
        """Return the points ``index`` as new points for a problem over ``members``, or their given values with ``members``."""
        given = isinstance(self.kernel(**self.kernel_parameters).form, GivenValues)
        return self.points[np.ix_(index, members)] if given else self.points[index]

    def _values(self, cell: GridPoint, *, of_kernel: bool) -> dict[str, Any]:
        selected = {name: value for name, value in cell.values.items() if (name in self.grid.kernel_axes) == of_kernel}
        return {**(self.kernel_parameters if of_kernel else self.parameters), **selected}

    def keep(self, cell: GridPoint, dual_coef: Vector) -> None:
        """Store the signed coefficients of a cell, as the starting point of the next cell."""
        self._solutions.pop(-1 if cell.before is None else cell.before, None)
        if cell.index in self._followed and not self.cold:
            problem = self.problem(cell)
            form = problem.dual_form() if problem.has_dual_form() else None
            self._solutions[cell.index] = np.array(dual_coef, dtype=np.float64), form

    def start(self, cell: GridPoint) -> Vector | None:
        """Return feasible coefficients for a cell from the stored solution of the cell before it; None if there is none.

        Variables at a bound move to the bound of the cell; the others change as little as the constraints allow.
        """
        stored = None if self.cold or cell.before is None else self._solutions.get(cell.before)
        if stored is None:
            return None
        (coef, form), problem = stored, self.problem(cell)
        if form is not None:
            return _moved(coef, form, problem.dual_form())
        try:
            return problem.checked(coef, 0.0)[0]
        except InvalidModel:
            return None

    def checksum(self) -> str:
        """Return a checksum that detects changes of the points; empty for mapped points."""
        return "" if is_mapped(self.points) else sum_of_words(self.points)

    def small(self, points: int) -> SolutionPath:
        """Return a path over some points of each class and a few cells, for the warm-up."""
        some = np.arange(min(points, self.n))
        if self.formulation.task == "classification":
            labels = np.unique(self.targets)[:2]
            parts = [np.flatnonzero(self.targets == label)[: (points + 1) // 2] for label in labels]
            some = np.sort(np.concatenate(parts))
        axes = [
            {name: values[:2] for name, values in axis.items()}
            for axis in (self.grid.problem_axes, self.grid.kernel_axes)
        ]
        grid = Grid(axes[0], axes[1], folds=2 if self.grid.folds else 0)
        return SolutionPath(
            grid, self.formulation, self.kernel, self.rows(some, some), self.targets[some], self.parameters,
            self.kernel_parameters, self.seed, self.cache_mb, self.threads, self.cold,
        )  # fmt: skip


def _moved(coef: Vector, old: DualForm, new: DualForm) -> Vector:
    """Return a solution of ``old`` with its bounded variables at the bounds of ``new``, feasible there."""
    variables = old.split(coef)
    moved = np.where(variables >= old.upper, new.upper, np.where(variables <= old.lower, new.lower, variables))
    return new.coef(new.feasible(moved))
