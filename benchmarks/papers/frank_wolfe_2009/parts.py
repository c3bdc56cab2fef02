"""Kumar & Yildirim 2009: the problems of the study, and the runs that it asks for."""

from __future__ import annotations

from dataclasses import dataclass, replace

from benchmarks.papers.grids import Grid, Options, Part

SOLVERS = ("fw", "gilbert", "fw-pairwise", "mdm", "nearest-point", "fw-fully-corrective", "cvm")
LIMIT = 200.0  # of wall time; a ladder ends by its CPU time long before, unless the machine is busy
GAP = 1e-3  # of the peers


@dataclass(frozen=True)
class Hulls:
    """A pair of hulls.

    selection : of the data, as ``harness compare`` takes it
    least : the smallest epsilon that is asked for
    seconds : of CPU time for a solver's whole ladder
    rates : part of the table and the picture of convergence rates
    peers : part of the table of peers
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

    def grid(self, solvers: tuple[str, ...]) -> Grid:
        """Return the runs of ``solvers``."""
        formulations = (self.formulation,)
        return Grid(
            self.name, (self.selection,), solvers, formulations=formulations, kernel=self.kernel, C=self.C, limit=LIMIT
        )


SETS = {
    each.name: each
    for each in (
        Hulls("wdbc", "wdbc", least=1e-10, per_decade=2, rates=True, peers=True),
        Hulls("australian", "australian", least=1e-10, per_decade=2, rates=True, peers=True),
        Hulls("mushrooms-like", "mushrooms-like", "hard-margin", "linear", least=1e-10, per_decade=2, rates=True),
        Hulls("wdbc-linear", "wdbc", kernel="linear", C=1.0, least=1e-10, per_decade=2, rates=True),
        Hulls("simplices", "simplices", "hard-margin", "linear", least=1e-4, per_decade=2),
        Hulls("usps", "usps", least=1e-8, seconds=15.0, rates=True, peers=True),
        Hulls("usps-separable", "usps", "hard-margin", least=1e-6, peers=True),
        Hulls("mnist-8", "mnist[digit=8,n=10000]", peers=True),
        Hulls("adult-linear", "adult-split[n=10000]", kernel="linear", C=1.0),
        Hulls("adult", "adult-split[n=10000]"),
        Hulls("covtype-linear", "covtype[n=20000,n_test=1000]", kernel="linear", C=1.0),
        Hulls("covtype", "covtype[n=5000,n_test=1000]"),
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
    ]


PEER = "smo-block"


def peers(options: Options) -> list[Grid]:
    """The seven solvers and the SMO that solves l2-svc to the same relative gap, on kernel problems."""
    return [
        replace(options.adjusted(each.grid((*SOLVERS, PEER))), set=peers_of(each.name), target_gap=GAP)
        for each in chosen(options)
        if each.peers
    ]


def peers_of(name: str) -> str:
    """Return what the runs of the peers are called."""
    return f"{name}, gap {GAP:g}"


PARTS: dict[str, Part] = {"ladder": ladder, "peers": peers}
