"""A path: one training problem under many values of its parameters, with and without the folds of a cross-validation.

The problems of a path are its cells. They have much in common that need not be computed twice. Cells that differ in C
alone have the same kernel values and nearly the same solution. Cells of different gamma have the same distances. Cells of
different folds have most points in common. A solver goes through them in :meth:`harness.Solver.solve_path`. What a
:class:`SolutionPath` shares between cells, a solver gets through each cell's ``kernel``.
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

_OF_DISTANCES = 0.5  # of the cache: what distances may take; the rest is for kernel rows
_OF_ROWS = 0.5  # of that: rows that problems with the same kernel share; the other half is the solver's own


@dataclass(frozen=True)
class GridPoint:
    """One problem of a path.

    index : its place in the order in which cells are best solved: cells with the same kernel values follow each other
    values : the parameters of the path and the cell's values, e.g. ``{"C": 8.0, "gamma": 0.5}``
    fold : the fold that is left out of its training points; None: it has all of them
    before : index of the cell before it on the first axis (the next smaller C) with all else the same; None: it is the first
    """

    index: int
    values: Mapping[str, float]
    fold: int | None = None
    before: int | None = None


@dataclass(frozen=True)
class Grid:
    """What a path goes through.

    problem_axes, kernel_axes : parameter of the formulation, and of the kernel -> its values, ascending
    folds : of the cross-validation; 0: every cell has all training points
    cold : every cell is solved by itself, from nothing
    """

    problem_axes: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    kernel_axes: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    folds: int = 0
    cold: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Return the grid as a record has it."""
        axes = {"costs": dict(self.problem_axes), "widths": dict(self.kernel_axes)}
        return {**axes, "folds": self.folds, "start": "cold" if self.cold else "warm"}

    @property
    def axes(self) -> dict[str, tuple[float, ...]]:
        """All parameters and their values, the formulation's first."""
        return {**self.problem_axes, **self.kernel_axes}

    def cells(self) -> tuple[GridPoint, ...]:
        """Return the cells: the kernel's parameters vary slowest, then the folds, then the others, the first one fastest."""
        outer, inner = list(self.kernel_axes), list(self.problem_axes)[::-1]
        fast = (inner or outer)[-1]
        found: list[GridPoint] = []
        latest: dict[Any, int] = {}
        for widths in itertools.product(*(self.axes[name] for name in outer)):
            for fold in range(self.folds) if self.folds else (None,):
                for costs in itertools.product(*(self.axes[name] for name in inner)):
                    values = dict(zip((*outer, *inner), (*widths, *costs), strict=True))
                    line = (fold, *(value for name, value in values.items() if name != fast))
                    found.append(GridPoint(len(found), values, fold, latest.get(line)))
                    latest[line] = found[-1].index
        return tuple(found)

    @property
    def size(self) -> int:
        """How many cells there are."""
        return math.prod(map(len, self.axes.values())) * max(1, self.folds)


def fold_of(targets: Vector, folds: int, seed: int, *, stratified: bool) -> Block:
    """Return the fold of each point, (n,); sizes differ by at most one, of each class too if ``stratified``."""
    rng = np.random.default_rng([seed, folds])
    found: Block = np.empty(len(targets), dtype=np.int64)
    groups = [targets == label for label in np.unique(targets)] if stratified else [np.ones(len(targets), dtype=bool)]
    first = 0
    for members in groups:
        count = int(members.sum())
        found[members] = rng.permutation((first + np.arange(count)) % folds)  # goes on where the last class ended
        first += count
    return found


@dataclass
class Shared:
    """Seconds that went into what several cells share, wall and CPU."""

    seconds: float = 0.0
    cpu_seconds: float = 0.0


@dataclass
class SolutionPath:
    """The cells of a path over one training set, in the order in which they are best solved.

    Parameters
    ----------
    grid : parameters, values and folds
    formulation, parameters : of the problems, but for the parameters of the grid
    kernel, kernel_parameters : the same of their kernel
    points, targets : all training points, (n, d) or (n, n) for ``precomputed``, and (n,)
    seed : decides the folds
    cache_mb : memory of the run for kernel rows and what is shared; distances are shared where they take half of it
    threads : that compiled loops and BLAS may use
    clocks : wall and CPU clock, each a function that returns seconds
    cold : every cell is stated over a copy of its own points: nothing is shared, and no cell has a start

    Attributes
    ----------
    cells : in order
    order : (n,) the path's points: fold by fold, so that the points of a cell are two runs; of one fold in random order
    counter : of the kernel values of all cells
    shared : what several cells have in common, and what it took so far

    ``problem(cell)`` states a cell's problem. Arrays of a solver over the points of a cell are in the order of that problem.
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
        self._found: dict[int, tuple[Vector, DualForm | None]] = {}
        self._settings: dict[Any, Any] = {}  # values of a cell -> the formulation's parameters: checked once
        self._latest: dict[str, tuple[Any, Any]] = {}  # engine, oracle, problem -> what it is for, and itself

    @property
    def n(self) -> int:
        """Number of training points."""
        return len(self.order)

    @property
    def _moves(self) -> bool:
        """Whether points of a fold are put next to each other: where it is distances that are read, and in memory."""
        return self.grid.folds > 1 and not is_mapped(self.points) and self._is_of_distances

    @property
    def _is_of_distances(self) -> bool:
        return isinstance(self.kernel(**self.kernel_parameters).form, Exponential)

    @cached_property
    def distances(self) -> Distances:
        """Squared distances between all points; none are computed before they are asked for."""
        most = 0.0 if self.cold else self.cache_mb * 2**20 * _OF_DISTANCES
        return Distances(self.points, most, self._shared_work)

    @contextmanager
    def _shared_work(self) -> Iterator[None]:
        clock, cpu_clock = self.clocks
        began, cpu_began = clock(), cpu_clock()
        yield
        self.shared.seconds += clock() - began
        self.shared.cpu_seconds += cpu_clock() - cpu_began

    def members(self, cell: GridPoint) -> Block:
        """Return the training points of a cell, as numbers of the path's points, ascending."""
        return np.arange(self.n) if cell.fold is None else np.flatnonzero(self._folds != cell.fold)

    def left_out(self, cell: GridPoint) -> Block:
        """Return the points of the fold that a cell leaves out; none where it has all."""
        return np.empty(0, dtype=np.int64) if cell.fold is None else np.flatnonzero(self._folds == cell.fold)

    def same_kernel(self, one: GridPoint, other: GridPoint) -> bool:
        """Return whether two cells have the same kernel values, but for the points they leave out."""
        return self._values(one, of_kernel=True) == self._values(other, of_kernel=True)

    def _kept(self, kind: str, key: Any, make: Callable[[], T]) -> T:
        """Return the latest of a kind if it is for ``key``, else a new one; the old one's memory is free before."""
        if kind not in self._latest or self._latest[kind][0] != key:
            self._latest.pop(kind, None)
            self._latest[kind] = key, make()
        found: T = self._latest[kind][1]
        return found

    def engine(self, cell: GridPoint) -> Engine:
        """Return a cell's kernel over all points of the path, which every fold of it is a part of; it counts nothing."""
        values = self._values(cell, of_kernel=True)

        def made() -> Engine:
            return Engine(self.kernel(**values), self.points, threads=self.threads, distances=self.distances)

        return self._kept("engine", values, made)

    def problem(self, cell: GridPoint) -> Problem:
        """Return a cell's problem; its kernel shares what the last cell's had in common with it."""

        def stated() -> Problem:
            members = self.members(cell)
            key = tuple(cell.values.items())
            if key not in self._settings:
                self._settings[key] = self.formulation.settings_of(self._values(cell, of_kernel=False))
            return self.formulation(self._kernel(cell, members), self.targets[members], self._settings[key])

        return self._kept("problem", cell.index, stated)

    def _kernel(self, cell: GridPoint, members: Block) -> KernelOracle:
        values = self._values(cell, of_kernel=True)
        if self.cold:
            points = self.points if cell.fold is None else self.rows(members, members)
            kernel = self.kernel(**values)
            return KernelOracle(kernel, points, counter=self.counter, cache_mb=self.cache_mb, threads=self.threads)

        def sharing() -> KernelOracle:
            engine = self.engine(cell)
            part = engine if cell.fold is None else engine.restrict(members)
            cache_mb = self.cache_mb - self.distances.bytes / 2**20
            shared = SharedRows(_OF_ROWS * cache_mb * 2**20)
            return KernelOracle(
                engine.kernel, None, engine=part, counter=self.counter, cache_mb=cache_mb, shared=shared
            )

        return self._kept("oracle", (cell.fold, values), sharing)

    def rows(self, index: Block, members: Block) -> Any:
        """Return the points ``index`` as new ones to a problem over ``members``: of given kernel values, those with them."""
        given = isinstance(self.kernel(**self.kernel_parameters).form, GivenValues)
        return self.points[np.ix_(index, members)] if given else self.points[index]

    def _values(self, cell: GridPoint, *, of_kernel: bool) -> dict[str, Any]:
        own = {name: value for name, value in cell.values.items() if (name in self.grid.kernel_axes) == of_kernel}
        return {**(self.kernel_parameters if of_kernel else self.parameters), **own}

    def keep(self, cell: GridPoint, dual_coef: Vector) -> None:
        """Keep a cell's solution, (n of the cell,) signed coefficients: the start of the cell after it."""
        self._found.pop(-1 if cell.before is None else cell.before, None)
        if cell.index in self._followed and not self.cold:
            problem = self.problem(cell)
            form = problem.dual_form() if problem.has_dual_form() else None
            self._found[cell.index] = np.array(dual_coef, dtype=np.float64), form

    def start(self, cell: GridPoint) -> Vector | None:
        """Return feasible coefficients for a cell from the solution that was kept of the cell before it; None without one.

        A variable that was at a bound is at the cell's bound; others stay as they are, as far as the constraints allow.
        """
        kept = None if self.cold or cell.before is None else self._found.get(cell.before)
        if kept is None:
            return None
        (coef, form), problem = kept, self.problem(cell)
        if form is not None:
            return _moved(coef, form, problem.dual_form())
        try:
            return problem.checked(coef, 0.0)[0]
        except InvalidModel:
            return None

    def checksum(self) -> str:
        """Return a sum of the points, which shows a change of them; of mapped points there is none."""
        return "" if is_mapped(self.points) else sum_of_words(self.points)

    def small(self, points: int) -> SolutionPath:
        """Return a path over some of the points, of each class, and few cells: what a warm-up goes through."""
        some = np.arange(min(points, self.n))
        if self.formulation.task == "classification":
            labels = np.unique(self.targets)[:2]
            parts = [np.flatnonzero(self.targets == label)[: (points + 1) // 2] for label in labels]
            some = np.sort(np.concatenate(parts))
        axes = [
            {name: values[:2] for name, values in each.items()}
            for each in (self.grid.problem_axes, self.grid.kernel_axes)
        ]
        grid = Grid(axes[0], axes[1], folds=2 if self.grid.folds else 0)
        found = SolutionPath(
            grid, self.formulation, self.kernel, self.rows(some, some), self.targets[some], self.parameters,
            self.kernel_parameters, self.seed, self.cache_mb, self.threads, self.cold,
        )  # fmt: skip
        return found


def _moved(coef: Vector, old: DualForm, new: DualForm) -> Vector:
    """Return a solution of ``old`` with its bounded variables at the bounds of ``new``, feasible there."""
    variables = old.split(coef)
    moved = np.where(variables >= old.upper, new.upper, np.where(variables <= old.lower, new.lower, variables))
    return new.coef(new.feasible(moved))
