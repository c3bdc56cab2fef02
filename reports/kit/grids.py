"""What a study of a paper asks for: grids of runs, and the command line that all studies share."""

from __future__ import annotations

import argparse
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
    """

    name: str
    selection: str
    cache_mb: float = 256.0
    C: float | None = None
    gamma: float | None = None
    default: bool = True
    seeds: int = 1

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


@dataclass(frozen=True)
class Request:
    """A command line, read."""

    parts: tuple[str, ...]
    options: Options
    out: Path
    store: Path | None
    keep: bool
    fresh: bool


def read(
    arguments: Sequence[str] | None, parts: Mapping[str, Part], sets: Sequence[str], out: Path, doc: str | None
) -> Request:
    """Read the command line of a study; a mistake ends the program with a sentence."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", default="all", help=f"separated by commas: {', '.join(parts)}; or all")
    parser.add_argument("--sets", help=f"separated by commas: {', '.join(sets)}; default: those of each part")
    parser.add_argument("--seeds", type=int, help="repetitions of what depends on chance; default: as the part has it")
    parser.add_argument("--digits", default="0,1,2,3,4,5,6,7,8,9", help="of the MNIST parts over all digits")
    parser.add_argument("--n", type=int, help="MNIST, adult-split: only N training points; scaling: at most N")
    parser.add_argument("--cache-mb", type=float, help="memory for kernel rows, instead of the paper's")
    parser.add_argument("--limit", type=float, help="seconds inside a solver after which a run is stopped")
    parser.add_argument("--source", type=Path, help="folder of the source of a program that a part compares with")
    parser.add_argument("--out", type=Path, default=out, help="folder of results.jsonl")
    parser.add_argument("--store", type=Path, help="the harness's result store; default: the user's")
    parser.add_argument(
        "--keep", action="store_true", help="keep every run in OUT/results.jsonl, whatever code made it"
    )
    parser.add_argument("--fresh", action="store_true", help="measure again what the store holds")
    given = parser.parse_args(arguments)
    chosen = tuple(parts) if given.part == "all" else tuple(given.part.split(","))
    named = None if given.sets is None else tuple(given.sets.split(","))
    for kind, names, known in (("part", chosen, parts), ("set", named or (), sets)):
        unknown = [name for name in names if name not in known]
        if unknown:
            parser.error(f"there is no {kind} {', '.join(unknown)}; there are {', '.join(known)}.")
    if given.seeds is not None and given.seeds < 1:
        parser.error(f"--seeds takes a number of repetitions from 1 on, not {given.seeds}.")
    try:
        digits = tuple(int(text) for text in given.digits.split(","))
    except ValueError:
        digits = (-1,)
    if not all(0 <= digit <= 9 for digit in digits):
        parser.error(f"--digits takes digits separated by commas, not {given.digits!r}.")
    options = Options(named, given.seeds, digits, given.n, given.cache_mb, given.limit, source=given.source)
    return Request(chosen, options, given.out, given.store, given.keep, given.fresh)
