"""Balcazar, Dai, Tanaka, Watanabe 2008: the problems of the study, and the runs that it asks for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from reports.kit.grids import Grid, Options, Part

ORACLE = "smo-block"
LIMIT = 120.0  # of wall time, a run
REPETITIONS = 5
SAMPLES = 10  # first rounds, for the mean number of extremes


@dataclass(frozen=True)
class Clouds:
    """A set of points on both sides of a gap, of 0.5 without outliers and of 2 with some.

    m : points, d : dimensions, outliers : of both classes together, k : 1 / D; 1: the hard margin
    """

    m: int
    d: int
    outliers: int = 0
    k: int = 1

    @property
    def name(self) -> str:
        """What tables call it."""
        return f"m={self.m}, n={self.d}, outliers={self.outliers}, k={self.k}"

    @property
    def selection(self) -> str:
        """The data, as ``harness compare`` takes it."""
        gap = 0.5 if self.outliers == 0 else 2.0
        return f"gap-clouds[n={self.m},d={self.d},gap={gap:g},outliers={self.outliers}]"

    @property
    def bound(self) -> int:
        """K (n + 1), the bound of the combinatorial dimension: Lemma 4.2, and for k = 1 section 2.1."""
        return min(self.m, self.k * (self.d + 1))

    def rounds_bound(self, delta: int | None = None) -> float:
        """Return 6 delta ln m, the bound of the expected rounds: Theorems 2.2 and 4.3."""
        return 6.0 * (self.bound if delta is None else delta) * math.log(self.m)

    def sampling(self, **values: object) -> str:
        """Return OptMargin, or OptSoftMargin where k > 1, with parameters and the oracle."""
        shown = {**({} if self.k == 1 else {"D": f"{1.0 / self.k:.12g}"}), **values, "gap": "1e-6", "oracle": ORACLE}
        name = "optmargin" if self.k == 1 else "optsoftmargin"
        return f"{name}[{','.join(f'{key}={value}' for key, value in shown.items())}]"

    def whole(self) -> str:
        """Return the exact solver of all points, for the support of the optimum."""
        return f"smo-block[{'' if self.k == 1 else f'D={1.0 / self.k:.12g},'}gap=1e-6]"

    def grid(self, solvers: Sequence[str], seeds: Sequence[int] = (0,)) -> Grid:
        """Return the runs of ``solvers`` on these points."""
        formulation = "hard-margin" if self.k == 1 else "reduced-hull"
        return Grid(
            self.name, (self.selection,), tuple(solvers), tuple(seeds), (formulation,), kernel="linear", limit=LIMIT
        )


HARD = tuple(Clouds(m, d) for d in (2, 5, 10) for m in (1_000, 10_000, 100_000))
SOFT = tuple(Clouds(m, d, 2, 10) for d in (2, 5) for m in (1_000, 10_000, 100_000))
THEOREM = "bound"

SWEPT = (Clouds(100_000, 5), Clouds(100_000, 10), Clouds(100_000, 2, 2, 10))
SHARES = (0.02, 0.05, 0.1, 0.2, 0.5, 0.75, 1.0, 2.0, 3.0, 6.0)
"""r over delta^2; the theorems have 6."""

DIMENSIONS = (2, 4, 8, 16, 32)
WITH_OUTLIERS = ((0, 1), (20, 60), (100, 300))
"""Outliers, and a k that the reduced hulls of so many are apart with."""
SIZED = tuple(Clouds(10_000, d, outliers, k) for outliers, k in WITH_OUTLIERS for d in DIMENSIONS)


def theorem(clouds: Clouds) -> str:
    """Return the solver with the theorems' own delta and r."""
    return clouds.sampling(delta=THEOREM)


def adaptive(clouds: Clouds) -> str:
    """Return the solver that starts with delta = 4 and doubles it."""
    return clouds.sampling(delta="adaptive")


def with_r(clouds: Clouds, share: float) -> str:
    """Return the theorems' delta with r = share delta^2, stopped at the rounds that the theorems expect."""
    return clouds.sampling(
        delta=THEOREM, r=sample_size(clouds, share), max_rounds=math.ceil(clouds.rounds_bound())
    )  # fmt: skip


def sample_size(clouds: Clouds, share: float) -> int:
    """Return share delta^2, no less than the points that a solution rests on."""
    return max(round(share * clouds.bound**2), clouds.d + 1 + 2 * clouds.k)


def swept(clouds: Clouds) -> dict[int, str]:
    """Return the solvers of the sweep by their r, each r once, the smallest first."""
    return {sample_size(clouds, share): with_r(clouds, share) for share in SHARES}


def first_round(clouds: Clouds) -> str:
    """Return one round on a sample of a tenth of the points: its violators tell the mean number of extremes."""
    return clouds.sampling(delta=1, r=clouds.m // 2, max_rounds=1)


def _seeds(options: Options, count: int = REPETITIONS) -> range:
    return range(options.repetitions or count)


def rounds(options: Options) -> list[Grid]:
    """Rounds with the theorems' delta and r over m and n, and of the adaptive scheme."""
    return [
        options.adjusted(each.grid((theorem(each), adaptive(each)), _seeds(options)))
        for each in (*HARD, *SOFT)
        if each.m <= (options.n or each.m)
    ]


def small(options: Options) -> list[Grid]:
    """The theorems' delta with a smaller r."""
    return [options.adjusted(each.grid(tuple(swept(each).values()), _seeds(options, 3))) for each in SWEPT]


def dimension(options: Options) -> list[Grid]:
    """The support of the optimum, and violators of samples, over n and the number of outliers."""
    grids = []
    for each in SIZED:
        grids.append(options.adjusted(each.grid((each.whole(),))))
        grids.append(options.adjusted(each.grid((first_round(each),), _seeds(options, SAMPLES))))
    return grids


PARTS: dict[str, Part] = {"rounds": rounds, "small": small, "dimension": dimension}
