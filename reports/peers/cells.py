"""The cells of the map: what is drawn, under which C and gamma, by what name, and which cells are compared.

A draw is one set of points and labels; its cells differ in C or gamma alone. Half of the draws are a *line* (C = 1, 100,
1e4 and 1e6 at one gamma), half a *corner* (both gammas at one C, and the next C at one of them), so that every cell has a
neighbour, and C = 1e6 stands beside C = 100 on the same data. The levels of each factor follow one another in random
permutations: any first part of a design has them about equally often.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from reports.peers.families import FAMILIES
from reports.peers.suite import DataSet

SIZES = (2000, 10_000, 30_000)
FEATURES = (3, 20, 100)
NOISES = (0.0, 0.1)
COSTS = (1.0, 100.0, 1e4)  # equally often; EXTREME is beside them on the lines
EXTREME = 1e6
WIDTHS = (0.2, 2.0)
COMPARED = (100.0, EXTREME)  # of the verdict on large C
# C of both gammas, C of one of them; two lines and both corners have each C equally often
_CORNERS = ((1.0, 100.0), (1e4, 100.0))
FACTORS = ("family", "n", "d", "noise", "C", "width")

_NAME = re.compile(
    r"(?P<family>[a-z]+)-n(?P<n>\d+)-d(?P<d>\d+)-e(?P<noise>[\d.]+)-C(?P<C>[\d.e-]+)-g(?P<width>[\d.e-]+)"
    r"-s(?P<seed>\d+)\.(?P<draw>\d+)"
)


@dataclass(frozen=True)
class Cell:
    """One problem: the data are told by all but C and width.

    noise : share of wrong labels, or of variance; in the name per cent
    width : gamma times the sum of the features' variances: 0.2 is gamma = 0.2 / d for features of unit variance
    """

    family: str
    n: int
    d: int
    noise: float
    C: float
    width: float
    seed: int
    draw: int

    @property
    def name(self) -> str:
        """What the cell is called, and drawn again by: ``teacher-n2000-d20-e10-C1e4-g0.2-s7.12``."""
        return (
            f"{self.family}-n{self.n}-d{self.d}-e{short(100 * self.noise)}-C{short(self.C)}-g{short(self.width)}"
            f"-s{self.seed}.{self.draw}"
        )

    @classmethod
    def named(cls, name: str) -> Self:
        """Return the cell of a name.

        Raises
        ------
        ValueError : it is none's.
        """
        found = _NAME.fullmatch(name)
        if found is None or found["family"] not in FAMILIES:
            raise ValueError(
                f"there is no cell '{name}'; a cell is called like teacher-n2000-d20-e10-C1e4-g0.2-s7.12: family "
                f"({', '.join(FAMILIES)}), n, d, noise in per cent, C, width, seed.draw"
            )
        n, d, seed, draw = (int(found[each]) for each in ("n", "d", "seed", "draw"))
        noise, cost, width = (float(found[each]) for each in ("noise", "C", "width"))
        return cls(found["family"], n, d, noise / 100, cost, width, seed, draw)

    @property
    def dataset(self) -> DataSet:
        """The cell as the rounds measure it."""
        values = {
            "family": self.family, "n": self.n, "d": self.d, "noise": self.noise, "cost": self.C, "width": self.width,
            "seed": self.seed, "draw": self.draw,
        }  # fmt: skip
        return DataSet(self.name, f"drawn[{','.join(f'{name}={value}' for name, value in values.items())}]")

    @property
    def data(self) -> tuple[Any, ...]:
        """What cells of the same points and labels have in common."""
        return (self.family, self.n, self.d, self.noise, self.seed, self.draw)


def short(value: float) -> str:
    """Return a number without what a name need not have: 1e4, not 10000.0 or 1e+04."""
    if value < 1e4:
        return f"{value:.10g}"
    mantissa, exponent = f"{value:.10e}".split("e")
    return f"{mantissa.rstrip('0').rstrip('.')}e{int(exponent)}"


def _levels(values: Sequence[Any], rng: np.random.Generator) -> Iterator[Any]:
    """Yield the values for ever, one random permutation after another."""
    while True:
        yield from (values[k] for k in rng.permutation(len(values)))


def design(
    seed: int, families: Sequence[str] = FAMILIES, sizes: Sequence[int] = SIZES, features: Sequence[int] = FEATURES
) -> Iterator[Cell]:
    """Yield the cells of the map with this seed, without end, those of a draw one after another."""
    # data are drawn from [seed, draw] with draw >= 1: this stream is none of theirs
    *chance, of_kinds = np.random.default_rng([seed, 0]).spawn(5)
    axes = (families, sizes, features, NOISES)
    factors = zip(
        *(_levels(values, rng) for values, rng in zip(axes, chance, strict=True)), _kinds(of_kinds), strict=True
    )
    for draw, (family, n, d, noise, (corner, width)) in enumerate(factors, 1):
        first = Cell(family, n, d, noise, COSTS[0], width, seed, draw)
        if corner is None:
            yield from (replace(first, C=cost) for cost in (*COSTS, EXTREME))
        else:
            cost, other = corner
            yield from (replace(first, C=cost, width=each) for each in WIDTHS)
            yield replace(first, C=other)


def _kinds(rng: np.random.Generator) -> Iterator[tuple[tuple[float, float] | None, float]]:
    """Yield (corner, width) for ever, corner None for a line: of four, both lines and both corners are at different widths."""
    while True:
        widths = rng.permutation(WIDTHS).tolist()
        kinds = [*((None, width) for width in WIDTHS), *zip(_CORNERS, widths, strict=True)]
        yield from (kinds[k] for k in rng.permutation(len(kinds)))


def neighbours(cells: Sequence[Cell]) -> list[tuple[Cell, Cell]]:
    """Return the pairs of the same data that are one step of C or gamma apart, the smaller value first."""
    ladders = {"C": (*COSTS, EXTREME), "width": WIDTHS}
    found = []
    for one, other in itertools.permutations(cells, 2):
        if one.data != other.data:
            continue
        apart = [name for name in ladders if getattr(one, name) != getattr(other, name)]
        if len(apart) == 1 and (getattr(one, apart[0]), getattr(other, apart[0])) in itertools.pairwise(
            ladders[apart[0]]
        ):
            found.append((one, other))
    return found


def extremes(cells: Sequence[Cell]) -> list[tuple[Cell, Cell]]:
    """Return the pairs that differ in C alone, 100 and 1e6."""
    known = set(cells)
    low, high = COMPARED
    pairs = [(each, replace(each, C=high)) for each in cells if each.C == low]  # noqa: SIM300
    return [pair for pair in pairs if pair[1] in known]


def relatives(seed: int, count: int) -> list[Cell]:
    """Return cells like the hole: few features, no noise, a large C, a teacher; drawn log-uniformly around it."""
    rng = np.random.default_rng([seed, 0])
    found = []
    for draw in range(1, count + 1):
        n, cost, width = (float(f"{np.exp(rng.uniform(*np.log(ends))):.2g}") for ends in _AROUND)
        found.append(Cell("teacher", int(n), int(rng.integers(2, 7)), 0.0, cost, width, seed, draw))
    return found


HOLE = Cell("teacher", 10_000, 3, 0.0, 1e4, 0.2, 0, 0)  # the very points that took smo-block 80 s at 929e25f
_AROUND = ((2000, 16_000), (1e3, 1e6), (0.05, 1.0))  # n, C, width
