"""Kumar & Yildirim 2009: the problems of the study, and the runs that it asks for."""

from __future__ import annotations

from dataclasses import dataclass, replace

from reports.kit.grids import Grid, Options, Part

SOLVERS = ("fw", "gilbert", "fw-pairwise", "mdm", "nearest-point", "fw-fully-corrective", "cvm")
LIMIT = 200.0  # of wall time; a ladder ends by its CPU time long before, unless the machine is busy
GAP = 1e-3  # of the peers
EPSILON = 1e-3  # on many points


@dataclass(frozen=True)
class Hulls:
    """A pair of hulls.

    selection : of the data, as ``harness compare`` takes it
    least : the smallest epsilon that is asked for
    seconds : of CPU time for a solver's whole ladder; 0: there is none
    rates : part of the table and the picture of convergence rates
    peers : part of a table of peers: with SMO on kernel problems, with LinearSVC on linear ones
    lemma : part of the table of Lemma 3.1
    cache_mb : memory for kernel rows: those of the core set should fit
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
    peers: bool = False
    lemma: bool = False
    cache_mb: float = 256.0

    def grid(self, solvers: tuple[str, ...]) -> Grid:
        """Return the runs of ``solvers``."""
        formulations = (self.formulation,)
        return Grid(
            self.name,
            (self.selection,),
            solvers,
            formulations=formulations,
            kernel=self.kernel,
            C=self.C,
            limit=LIMIT,
            cache_mb=self.cache_mb,
        )


SETS = {
    each.name: each
    for each in (
        Hulls("wdbc", "wdbc", least=1e-10, per_decade=2, rates=True, peers=True, lemma=True),
        Hulls("australian", "australian", least=1e-10, per_decade=2, rates=True, peers=True, lemma=True),
        Hulls(
            "mushrooms-like",
            "mushrooms-like",
            "hard-margin",
            "linear",
            least=1e-10,
            per_decade=2,
            rates=True,
            lemma=True,
        ),
        Hulls(
            "wdbc-linear", "wdbc", kernel="linear", C=1.0, least=1e-10, per_decade=2, rates=True, peers=True, lemma=True
        ),
        Hulls("simplices", "simplices", "hard-margin", "linear", least=1e-4, per_decade=2, lemma=True),
        Hulls("usps", "usps", least=1e-8, seconds=15.0, rates=True, peers=True, lemma=True),
        Hulls("usps-separable", "usps", "hard-margin", least=1e-6, seconds=15.0, peers=True, lemma=True),
        Hulls("mnist-8", "mnist[digit=8,n=10000]", seconds=40.0, peers=True, lemma=True),
        Hulls("adult-linear", "adult-split[n=10000]", kernel="linear", C=1.0, seconds=20.0, peers=True),
        Hulls("adult", "adult-split[n=10000]", seconds=60.0, cache_mb=1024.0),
        Hulls("covtype-linear", "covtype[n=20000,n_test=1000]", kernel="linear", C=1.0, seconds=20.0, peers=True),
        Hulls("covtype", "covtype[n=5000,n_test=1000]", seconds=40.0),
        Hulls("covtype-whole", "covtype[n=580012,n_test=1000]", kernel="linear", C=1.0, seconds=0.0, peers=True),
    )
}


def chosen(options: Options) -> list[Hulls]:
    """Return the problems that the command line names, else all."""
    return [SETS[name] for name in (SETS if options.sets is None else options.sets)]


def on_the_ladder(solver: str, problem: Hulls) -> str:
    """Return the selection that brings ``solver`` to one accuracy after another."""
    seconds = "" if problem.seconds == Hulls.seconds else f",seconds={problem.seconds:g}"
    return f"ladder[oracle={solver},least={problem.least:g},per_decade={problem.per_decade}{seconds}]"


def ladder(options: Options) -> list[Grid]:
    """The seven solvers to epsilon = 0.1 and down: rates, growth against 1 / epsilon, and core sets."""
    return [
        options.adjusted(each.grid(tuple(on_the_ladder(solver, each) for solver in SOLVERS)))
        for each in chosen(options)
        if each.seconds > 0.0
    ]


LEMMA = "decrease"


def lemma(options: Options) -> list[Grid]:
    """What fw gains in each iteration, to epsilon = 1e-3."""
    return [
        replace(options.adjusted(each.grid((LEMMA,))), set=lemma_of(each.name))
        for each in chosen(options)
        if each.lemma
    ]


def lemma_of(name: str) -> str:
    """Return what the runs of Lemma 3.1 are called."""
    return f"{name}, Lemma 3.1"


PEERS = ("smo-uncapped", "smo-block")
NEWTON = "fw-newton"
LINEAR_PEERS = tuple(
    f"linear-svc[tol={tol},scaling={scaling}]" for scaling in (10, 100) for tol in ("1e-4", "1e-6", "1e-8")
)  # fmt: skip
"""LinearSVC does not know the gap: the fastest of these that has it counts."""
PEERS_LIMIT = 60.0  # of wall time
VERTEX_LIMIT = 20.0  # for the seven on linear problems, where the core set is too large for them


def peers(options: Options) -> list[Grid]:
    """The seven solvers and the peers to the same relative gap: SMO on kernel problems, LinearSVC on linear ones."""
    grids = []
    for each in chosen(options):
        if not each.peers:
            continue
        shares = [((*SOLVERS, *PEERS), PEERS_LIMIT)]
        if each.kernel == "linear":
            shares = [((NEWTON, *LINEAR_PEERS), LIMIT), (SOLVERS, VERTEX_LIMIT)]
        grids += [
            options.adjusted(replace(each.grid(solvers), set=peers_of(each.name), target_gap=GAP, limit=limit))
            for solvers, limit in shares
        ]
    return grids


def peers_of(name: str) -> str:
    """Return what the runs of the peers are called."""
    return f"{name}, gap {GAP:g}"


LARGE = (10_000, 100_000, 500_000)
LARGE_LIMIT = 120.0  # of wall time
LARGE_SOLVERS = ("fw", "fw-fully-corrective", NEWTON)


def large(options: Options) -> list[Grid]:
    """Points on a checkerboard, many more than rows of theirs fit into memory, to epsilon = 1e-3."""
    return [
        options.adjusted(
            Grid(
                large_of(n),
                (f"checkerboard[n={n},n_test=1000]",),
                LARGE_SOLVERS,
                formulations=("l2-svc",),
                target_gap=2.0 * EPSILON,
                limit=LARGE_LIMIT,
            )
        )
        for n in LARGE
        if n <= (options.n or n)
    ]


def large_of(n: int) -> str:
    """Return what the runs on ``n`` points of a checkerboard are called."""
    return f"checkerboard, {n:,}"


PARTS: dict[str, Part] = {"ladder": ladder, "lemma": lemma, "peers": peers, "large": large}
