"""What a study of a paper asks for: grids of runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Grid:
    """Runs that differ in the draw of the data, the solver and the seed, and in nothing else.

    set : what tables call the data
    datasets, solvers : selections as ``harness compare`` takes them
    C, gamma, kernel : None: the data set's own
    target_gap : relative gap that each solver is asked for; None: its own stopping rule
    metrics : of the test scores, beside the accuracy
    limit : seconds inside a solver, then the run is stopped
    traced : the study keeps the runs' traces
    """

    set: str
    datasets: tuple[str, ...]
    solvers: tuple[str, ...]
    seeds: tuple[int, ...] = (0,)
    formulations: tuple[str, ...] = ("c-svc",)
    cache_mb: float = 256.0
    C: float | None = None
    gamma: float | None = None
    metrics: tuple[str, ...] = ()
    limit: float = 7200.0
    traced: bool = False
    kernel: str | None = None
    target_gap: float | None = None

    @property
    def runs(self) -> tuple[tuple[str, str, str, int, float], ...]:
        """What tells a run from another: set, solver, data set, seed, cache; a solver of two formulations has two such runs."""
        places = [(dataset, seed) for dataset in self.datasets for seed in self.seeds]
        return tuple(
            (self.set, solver, dataset, seed, self.cache_mb) for solver in self.solvers for dataset, seed in places
        )

    def __post_init__(self) -> None:
        if len(self.datasets) > 1 and len(self.seeds) > 1:
            raise ValueError(f"{self.set}: draws of the data and seeds together make more runs than a study has.")


@dataclass(frozen=True)
class PaperSet:
    """A data set as a paper uses it.

    selection : as ``harness compare`` takes it; where it holds ``{k}`` or ``{k1}`` each repetition k = 0, 1, ... has
        data of its own (``{k1}`` is k + 1), otherwise repetitions differ in the solver's seed
    cache_mb : memory for kernel rows that the paper gives each solver
    default : part of a study unless sets are named
    seeds : of the solver on each repetition's own data; small sets need several, one epoch on them depends on its order
    stands_for : the paper's set that this one stands for in a quick plan
    """

    name: str
    selection: str
    cache_mb: float = 256.0
    C: float | None = None
    gamma: float | None = None
    default: bool = True
    seeds: int = 1
    stands_for: str = ""

    @property
    def drawn(self) -> bool:
        """Whether each repetition has data of its own."""
        return "{k" in self.selection

    def grid(self, solvers: Sequence[str], repetitions: Sequence[int]) -> Grid:
        """Return the runs of ``solvers`` for these repetitions."""
        datasets, seeds = (self.selection,), tuple(repetitions)
        if self.drawn:
            datasets, seeds = tuple(self.selection.format(k=k, k1=k + 1) for k in repetitions), (0,)
        return Grid(self.name, datasets, tuple(solvers), seeds, cache_mb=self.cache_mb, C=self.C, gamma=self.gamma)

    def grids(self, solvers: Sequence[str], deterministic: Sequence[str], repetitions: int) -> list[Grid]:
        """Return the runs of all repetitions; a solver that uses no chance runs once on data that stay the same."""
        if self.drawn:
            return [
                replace(self.grid(solvers if seed else (*solvers, *deterministic), range(repetitions)), seeds=(seed,))
                for seed in range(self.seeds)
            ]
        if repetitions == 1:
            return [self.grid((*solvers, *deterministic), range(repetitions))]
        return [self.grid((*solvers, *deterministic), (0,)), self.grid(solvers, range(1, repetitions))]


@dataclass(frozen=True)
class Options:
    """What the command line changes of a study; None: as the study has it.

    measured : rows of the journal as it is while a part's grids are made, for a part that goes on from what another found
    source : folder of a program that is not part of this repository
    plan : of the study, for what finishes a part
    """

    sets: tuple[str, ...] | None = None
    repetitions: int | None = None
    digits: tuple[int, ...] = tuple(range(10))
    n: int | None = None
    cache_mb: float | None = None
    limit: float | None = None
    measured: Sequence[Mapping[str, Any]] = ()
    source: Path | None = None
    plan: Any = None

    def adjusted(self, grid: Grid) -> Grid:
        """Return ``grid`` with the limit and the cache that were asked for."""
        changes = {"limit": self.limit, "cache_mb": self.cache_mb}
        return replace(grid, **{name: value for name, value in changes.items() if value is not None})


Part = Callable[[Options], Iterable[Grid]]
