"""Kumar & Yildirim 2009: the problems of the study, its solvers, and what each of them is given of time and memory."""

from __future__ import annotations

from dataclasses import dataclass, replace

from reports.kit.grids import Grid

SOLVERS = ("fw", "gilbert", "fw-pairwise", "mdm", "nearest-point", "fw-fully-corrective", "cvm")
"""Each is of a paper; fw is Algorithm 1 of this one."""
CORE_SETS = ("fw", "gilbert", "fw-fully-corrective", "cvm")
"""Those whose papers speak of core sets."""
VERTEX = ("fw", "gilbert", "fw-pairwise", "mdm", "nearest-point")
"""Those that move one or two weights an iteration."""
LINEAR_RATE = ("fw", "fw-pairwise", "mdm", "nearest-point")
NEWTON = "fw-newton"  # of no paper
SMO, BLOCK = PEERS = ("smo-uncapped", "smo-block")
LINEAR_PEERS = tuple(
    f"linear-svc[tol={tol},scaling={scaling}]" for scaling in (10, 100) for tol in ("1e-4", "1e-6", "1e-8")
)  # fmt: skip
"""LinearSVC does not know the gap: the fastest of these that has it counts."""
LARGE_SOLVERS = ("fw", "fw-fully-corrective", NEWTON)
LEMMA = "decrease"


@dataclass(frozen=True)
class Hulls:
    """A pair of hulls.

    selection : of the data, as ``harness compare`` takes it
    least : the smallest epsilon that is asked for
    seconds : of CPU time for a solver's whole ladder; 0: there is none
    rates : part of the table and the picture of convergence rates
    peers : runs of each peer, SMO on kernel problems and LinearSVC on linear ones; 0: none
    lemma : part of the table of Lemma 3.1
    margins : part of the table of the margins of core sets
    cache_mb : memory for kernel rows: those of the core set should fit
    stands_for : in a quick plan, the data of the whole one that cannot be had without a download
    """

    name: str
    selection: str
    formulation: str = "l2-svc"
    kernel: str = "rbf"
    C: float | None = None
    least: float = 1e-4
    per_decade: int = 1
    seconds: float = 6.0
    rates: bool = False
    peers: int = 0
    lemma: bool = False
    margins: bool = False
    cache_mb: float = 256.0
    stands_for: str = ""

    def grid(self, solvers: tuple[str, ...], limit: float, name: str = "") -> Grid:
        """Return the runs of ``solvers``, each with ``limit`` seconds of wall time.

        name : what tables call them; as the problem unless given
        """
        return Grid(
            name or self.name,
            (self.selection,),
            solvers,
            formulations=(self.formulation,),
            kernel=self.kernel,
            C=self.C,
            limit=limit,
            cache_mb=self.cache_mb,
        )


@dataclass(frozen=True)
class Plan:
    """What is measured.

    gap : relative gap that the peers are asked for
    limit : seconds of wall time of any run; a ladder ends by its CPU time long before, unless the machine is busy
    peers_limit : the same on kernel problems beside SMO
    vertex_limit : the same of the seven on linear problems, where the core set is too large for them
    large : points of the checkerboards
    large_epsilon, large_limit : what is asked for there, and the wall time
    peers : beside the seven on kernel problems
    must : fw is to reach epsilon = 1e-8 on these, gilbert is not
    products : sets of the part ``iterations``, by name their selections
    rounds : of product and iteration, in turns
    """

    problems: tuple[Hulls, ...]
    solvers: tuple[str, ...] = SOLVERS
    peers: tuple[str, ...] = PEERS
    gap: float = 1e-3
    limit: float = 200.0
    peers_limit: float = 60.0
    vertex_limit: float = 20.0
    large: tuple[int, ...] = (10_000, 100_000, 500_000)
    large_epsilon: float = 1e-3
    large_limit: float = 120.0
    must: tuple[str, ...] = ("wdbc", "usps")
    products: tuple[tuple[str, str], ...] = ()
    rounds: int = 25

    @property
    def sets(self) -> dict[str, Hulls]:
        """The problems by their names."""
        return {each.name: each for each in self.problems}

    def ladder_of(self, solver: str, name: str) -> str:
        """Return the selection that brings ``solver`` to one accuracy after another."""
        each = self.sets[name]
        seconds = "" if each.seconds == Hulls.seconds else f",seconds={each.seconds:g}"
        return f"ladder[oracle={solver},least={each.least:g},per_decade={each.per_decade}{seconds}]"

    def margins_by(self, solver: str, name: str) -> str:
        """Return the selection that measures the margins of the core sets of ``solver``."""
        return f"core-sets[oracle={solver},least=0.0001,per_decade=2,seconds={self.sets[name].seconds:g}]"

    def turns_of(self, solver: str) -> str:
        """Return the selection that times an iteration of ``solver`` and a product in turns."""
        return f"beside-product[oracle={solver},rounds={self.rounds}]"

    def peers_of(self, name: str) -> str:
        """Return what the runs of the peers are called."""
        return f"{name}, gap {self.gap:g}"


def lemma_of(name: str) -> str:
    """Return what the runs of Lemma 3.1 are called."""
    return f"{name}, Lemma 3.1"


def margins_of(name: str) -> str:
    """Return what the runs for the margins of core sets are called."""
    return f"{name}, margins"


def large_of(n: int) -> str:
    """Return what the runs on ``n`` points of a checkerboard are called."""
    return f"checkerboard, {n:,}"


def product_of(name: str) -> str:
    """Return what the runs in turns with a product are called."""
    return f"{name}, X @ w"


_WDBC = Hulls("wdbc", "wdbc", least=1e-10, per_decade=2, rates=True, peers=5, lemma=True, margins=True)
_LINEAR = replace(_WDBC, name="wdbc-linear", kernel="linear", C=1.0)
_MUSHROOMS = replace(
    _WDBC, name="mushrooms-like", selection="mushrooms-like", formulation="hard-margin", kernel="linear", peers=0
)
_SIMPLICES = replace(_MUSHROOMS, name="simplices", selection="simplices", least=1e-4, rates=False)
_USPS = Hulls("usps", "usps", least=1e-8, seconds=15.0, rates=True, peers=1, lemma=True, margins=True)

PLAN = Plan(
    problems=(
        _WDBC,
        replace(_WDBC, name="australian", selection="australian"),
        _MUSHROOMS,
        _LINEAR,
        _SIMPLICES,
        _USPS,
        replace(_USPS, name="usps-separable", formulation="hard-margin", least=1e-6, rates=False),
        Hulls("mnist-8", "mnist[digit=8,n=10000]", seconds=40.0, peers=1, lemma=True, margins=True),
        Hulls("adult-linear", "adult-split[n=10000]", kernel="linear", C=1.0, seconds=20.0, peers=1),
        Hulls("adult", "adult-split[n=10000]", seconds=60.0, cache_mb=1024.0),
        Hulls("covtype-linear", "covtype[n=20000,n_test=1000]", kernel="linear", C=1.0, seconds=20.0, peers=1),
        Hulls("covtype", "covtype[n=5000,n_test=1000]", seconds=40.0),
        Hulls("covtype-whole", "covtype[n=580012,n_test=1000]", kernel="linear", C=1.0, seconds=0.0, peers=1),
    ),
    products=(
        ("covtype", "covtype[n=580012,n_test=1000]"),
        ("generated", "gap-clouds[n=1000000,d=100]"),
    ),
)

QUICK = Plan(
    problems=(
        Hulls("wdbc", "breast-cancer", least=1e-8, seconds=2.0, rates=True, peers=1, lemma=True, stands_for="wdbc"),
        Hulls("wdbc-linear", "breast-cancer", kernel="linear", C=1.0, seconds=0.0, peers=1, stands_for="wdbc"),
        replace(_SIMPLICES, per_decade=1, seconds=2.0),
        replace(_USPS, name="digits", selection="digits", seconds=2.0, stands_for="usps"),
    ),
    peers=(SMO,),  # smo-block compiles for a minute
    limit=60.0,
    peers_limit=20.0,
    vertex_limit=10.0,
    large=(10_000,),
    large_limit=30.0,
    must=("wdbc", "digits"),
    products=(("generated", "gap-clouds[n=100000,d=100]"),),
    rounds=9,
)
"""Sets that come with scikit-learn or are generated: nothing to fetch."""
