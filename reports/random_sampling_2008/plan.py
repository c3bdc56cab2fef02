"""Balcazar, Dai, Tanaka, Watanabe 2008: the problems of the study, whole and in small."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from reports.kit.grids import Grid
from reports.kit.results import Results

ORACLE = "smo-block"
LADDER = "smo-block[D="  # begins the solver of a k in the choice of k
THEOREM = "bound"  # the solver's word for the paper's k (n + 1)


def _bracket(name: str, **values: object) -> str:
    return f"{name}[{','.join(f'{key}={value}' for key, value in values.items())}]"


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
        """k (n + 1), the bound of the combinatorial dimension: Lemma 4.2, and for k = 1 section 2.1."""
        return min(self.m, self.k * (self.d + 1))

    @property
    def counted(self) -> int:
        """n + 2 k - 1, what counting the free weights of a vertex of the optimal face gives."""
        return self.d + 2 * self.k - 1

    def rounds_bound(self) -> float:
        """Return 6 delta ln m, the bound of the expected rounds: Theorems 2.2 and 4.3."""
        return 6.0 * self.bound * math.log(self.m)

    def sampling(self, **values: object) -> str:
        """Return OptMargin, or OptSoftMargin where k > 1, with parameters and the oracle."""
        cap = {} if self.k == 1 else {"D": f"{1.0 / self.k:.12g}"}
        return _bracket(
            "optmargin" if self.k == 1 else "optsoftmargin", **cap, **values, gap="1e-6", oracle=ORACLE
        )  # fmt: skip

    def whole(self) -> str:
        """Return the exact solver of all points, for the support of the optimum."""
        return _bracket("smo-block", **({} if self.k == 1 else {"D": f"{1.0 / self.k:.12g}"}), gap="1e-6")

    def grid(self, solvers: Sequence[str], seeds: Sequence[int] = (0,), limit: float = 120.0) -> Grid:
        """Return the runs of ``solvers`` on these points."""
        formulation = "hard-margin" if self.k == 1 else "reduced-hull"
        return Grid(
            self.name, (self.selection,), tuple(solvers), tuple(seeds), (formulation,), kernel="linear", limit=limit
        )

    def sample_size(self, share: float) -> int:
        """Return share delta^2, no less than the points that a solution rests on."""
        return max(round(share * self.bound**2), self.d + 1 + 2 * self.k)

    @property
    def theorem(self) -> str:
        """The solver with the theorems' own delta and r."""
        return self.sampling(delta=THEOREM)

    @property
    def smaller(self) -> str:
        """The solver with n + 2 k - 1 in the place of the theorems' delta."""
        return self.sampling(delta=self.counted)

    @property
    def adaptive(self) -> str:
        """The solver that starts with delta = 4 and doubles it."""
        return self.sampling(delta="adaptive")

    @property
    def first_round(self) -> str:
        """One round on a sample of half of the points: its violators tell the mean number of extremes."""
        return self.sampling(delta=1, r=self.m // 2, max_rounds=1)


@dataclass(frozen=True)
class Tube:
    """Points in a tube of half width 0.5, asked for one of 1; with outliers a soft one, k = 1 / D.

    m : points, each of them two examples; d : n, the attributes without the target
    """

    m: int
    d: int
    outliers: int = 0
    k: int = 1

    @property
    def name(self) -> str:
        """What tables call it."""
        return f"tube, m={self.m}, n={self.d}, outliers={self.outliers}, k={self.k}"

    @property
    def selection(self) -> str:
        """The data, as ``harness compare`` takes it."""
        return f"tube-clouds[n={self.m},d={self.d},outliers={self.outliers}]"

    @property
    def delta(self) -> int:
        """The combinatorial dimension of Theorem 5.1, n + 2, or of Theorem 5.2, n + 2 + 2 k."""
        return self.d + 2 + (0 if self.k == 1 else 2 * self.k)

    @property
    def counted(self) -> int:
        """n + 2 k, the same count as of clouds with the target as one more attribute."""
        return self.d + 2 * self.k

    def rounds_bound(self) -> float:
        """Return 6 delta ln m, the bound of the expected rounds: Theorems 5.1 and 5.2."""
        return 6.0 * self.delta * math.log(self.m)

    @property
    def theorem(self) -> str:
        """OptSoftMargin with the theorem's delta, and its r = 6 delta^2."""
        return _bracket(
            "optsoftmargin", epsilon=1, D=f"{1.0 / self.k:.12g}", delta=self.delta, gap="1e-6", oracle=ORACLE
        )  # fmt: skip

    @property
    def whole(self) -> str:
        """The exact solver of all points."""
        return _bracket("smo-block", epsilon=1, D=f"{1.0 / self.k:.12g}", gap="1e-6")

    def grid(self, solvers: Sequence[str], seeds: Sequence[int] = (0,), limit: float = 120.0) -> Grid:
        """Return the runs of ``solvers`` on these points."""
        return Grid(
            self.name, (self.selection,), tuple(solvers), tuple(seeds), ("tube-svr",), kernel="linear", limit=limit
        )


@dataclass(frozen=True)
class Small:
    """A few examples, all subsets of which are solved, drawn ``draws`` times.

    kind : 'clouds', 'tube', 'corners' or 'figure-4', the last two as they are
    m : points; of a tube each is two examples
    """

    kind: str
    d: int
    k: int
    m: int = 0
    draws: int = 1

    @property
    def name(self) -> str:
        """What tables call it."""
        return f"{self.kind}, n={self.d}, k={self.k}"

    @property
    def counted(self) -> int:
        """n + 2 k - 1, n with the target of a tube."""
        return self.attributes + 2 * self.k - 1

    @property
    def attributes(self) -> int:
        """n; of a tube with the target."""
        return self.d + (self.kind == "tube")

    def grid(self, limit: float = 120.0) -> Grid:
        """Return the runs over the draws."""
        sources = {
            "clouds": f"gap-clouds[n={self.m},n_test=10,d={self.d},gap=1,seed={{seed}}]",
            "tube": f"tube-clouds[n={self.m},n_test=10,d={self.d},seed={{seed}}]",
            "corners": f"corners[d={self.d},k={self.k}]",
            "figure-4": "figure-4",
        }
        datasets = tuple(sources[self.kind].format(seed=seed) for seed in range(self.draws))
        cap = f"{1.0 / self.k:.17g}"
        solver = f"largest-basis[epsilon=1,D={cap}]" if self.kind == "tube" else f"largest-basis[D={cap}]"
        formulation = "tube-svr" if self.kind == "tube" else "reduced-hull"
        return Grid(self.name, datasets, (solver,), (0,), (formulation,), kernel="linear", limit=limit)


@dataclass(frozen=True)
class Choosing:
    """A set that a k is chosen for, linear; ``outliers``, of both classes together, where they are planted."""

    name: str
    selection: str
    outliers: int | None = None

    def ladder(self, least: int, most: int, step: float) -> dict[int, str]:
        """Return the exact solver of each k, from the least that separates to the examples of the smaller class."""
        count = math.ceil(math.log(max(1.0, most / least)) / math.log(step) - 1e-9)
        every = sorted({min(most, round(least * step**at)) for at in range(count + 1)})
        return {k: f"{LADDER}{1.0 / k:.17g},gap=1e-3]" for k in every}


@dataclass(frozen=True)
class KernelSet:
    """Real points in an RBF kernel's space, whose dimension is m; the catalogue's gamma.

    shares : of the points in a sample, which must have k points of each class
    """

    name: str
    selection: str
    k: int
    shares: tuple[float, ...] = (0.5, 0.75)

    @property
    def called(self) -> str:
        """What the journal calls it."""
        return f"{self.name}, rbf, k={self.k}"

    def sampling(self, **values: object) -> str:
        """Return OptSoftMargin with parameters."""
        return _bracket("optsoftmargin", D=f"{1.0 / self.k:.12g}", **values, gap="1e-4", oracle=ORACLE)

    @property
    def whole(self) -> str:
        """The exact solver of all points."""
        return _bracket("smo-block", D=f"{1.0 / self.k:.12g}", gap="1e-4")

    @property
    def adaptive(self) -> str:
        """The solver that starts with delta = 4 and doubles it."""
        return self.sampling(delta="adaptive")

    def one_round(self, m: int, share: float) -> str:
        """Return one round on a share of the m points."""
        return self.sampling(delta=1, r=round(share * m), max_rounds=1)


@dataclass(frozen=True)
class Plan:
    """What is measured.

    hard, soft : rounds of OptMargin and OptSoftMargin over m and n
    swept, shares : r as a multiple of delta^2; the theorems have 6
    sized : the support of the optimum and the extremes of samples over n
    samples : first rounds, for the mean number of extremes; kernel_samples : the same of real data
    step : from one k to the next, in the choice of k
    repetitions, few : solver seeds of rounds, and where r is varied
    """

    hard: tuple[Clouds, ...]
    soft: tuple[Clouds, ...]
    swept: tuple[Clouds, ...]
    shares: tuple[float, ...]
    sized: tuple[Clouds, ...]
    tubes: tuple[Tube, ...]
    small: tuple[Small, ...]
    choosing: tuple[Choosing, ...]
    kernels: tuple[KernelSet, ...]
    repetitions: int = 5
    few: int = 3
    samples: int = 10
    kernel_samples: int = 5
    step: float = math.sqrt(2.0)
    limit: float = 120.0

    def sweep(self, clouds: Clouds) -> dict[int, str]:
        """Return the solvers of the sweep by their r, each r once, the smallest first; stopped at the theorem's rounds."""
        return {
            (r := clouds.sample_size(share)): clouds.sampling(
                delta=THEOREM, r=r, max_rounds=math.ceil(clouds.rounds_bound())
            )
            for share in self.shares
        }


_CLOUDS = tuple(
    Choosing(f"clouds, {count} outliers", f"gap-clouds[n=2000,d=5,gap=2,outliers={count}]", count)
    for count in (2, 10, 40, 160)
)

PLAN = Plan(
    hard=tuple(Clouds(m, d) for d in (2, 5, 10) for m in (1_000, 10_000, 100_000)),
    soft=tuple(Clouds(m, d, 2, 10) for d in (2, 5) for m in (1_000, 10_000, 100_000)),
    swept=(Clouds(100_000, 5), Clouds(100_000, 10), Clouds(100_000, 2, 2, 10)),
    shares=(0.02, 0.05, 0.1, 0.2, 0.5, 0.75, 1.0, 2.0, 3.0, 6.0),
    sized=tuple(
        Clouds(10_000, d, outliers, k) for outliers, k in ((0, 1), (20, 60), (100, 300)) for d in (2, 4, 8, 16, 32)
    ),
    tubes=(
        *(Tube(m, d) for d in (2, 5, 10) for m in (1_000, 10_000, 100_000)),
        *(Tube(m, d, 4, 10) for d in (2, 5) for m in (10_000, 100_000)),
    ),
    small=(
        *(Small("clouds", d, k, 10, draws=5) for d in (1, 2, 3) for k in (1, 2, 3)),
        *(Small("tube", d, k, 5, draws=3) for d in (1, 2) for k in (1, 2)),
        *(Small("corners", d, k) for d, k in ((2, 2), (2, 3), (3, 2), (3, 3), (4, 3))),
        Small("figure-4", 3, 3),
    ),
    choosing=(
        *_CLOUDS,
        Choosing("twonorm", "twonorm[n=1000]"),
        Choosing("ringnorm", "ringnorm[n=1000]"),
        Choosing("breast-cancer", "breast-cancer"),
        Choosing("spambase", "spambase"),
        Choosing("german.numer", "german.numer"),
    ),
    kernels=(
        KernelSet("digits", "digits", 1),
        KernelSet("digits", "digits", 20),
        KernelSet("banana", "banana", 800),
        KernelSet("covtype", "covtype[n=3000,n_test=3000]", 1),
        KernelSet("covtype", "covtype[n=3000,n_test=3000]", 300),
        KernelSet("adult", "adult-split[n=5000]", 800, shares=(0.75,)),
    ),
)

QUICK = Plan(
    hard=tuple(Clouds(m, d) for d in (2, 5) for m in (1_000, 10_000)),
    soft=(Clouds(10_000, 2, 2, 10),),
    swept=(Clouds(10_000, 5),),
    shares=(1.0, 2.0, 6.0),
    sized=tuple(Clouds(2_000, d, outliers, k) for outliers, k in ((0, 1), (20, 60)) for d in (2, 8)),
    tubes=(Tube(1_000, 2), Tube(10_000, 2), Tube(10_000, 2, 4, 10)),
    small=(Small("clouds", 2, 2, 9, draws=2), Small("tube", 1, 1, 4), Small("figure-4", 3, 3)),
    choosing=(_CLOUDS[1], Choosing("breast-cancer", "breast-cancer")),
    kernels=(KernelSet("digits", "digits", 1),),
    repetitions=2,
    few=1,
    samples=3,
    kernel_samples=2,
    limit=60.0,
)


def plan_of(results: Results) -> Plan:
    """Return the plan that the rows are looked at with."""
    assert isinstance(results.plan, Plan)
    return results.plan
