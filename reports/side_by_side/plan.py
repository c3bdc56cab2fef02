"""What the five lines of work are compared on: one solver or two of each, on the same data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from reports.kit.grids import Grid, Options, PaperSet, Part

EXACT = "smo-block"
"""What the others are held against: it solves the C-SVM to the gap that the harness certifies."""


@dataclass(frozen=True)
class Entry:
    """A solver and the problem that it solves.

    line : of work; of several papers
    solver : as ``harness compare`` takes it; ``{cap}`` stands for the set's, see :class:`Plan`
    """

    line: str
    solver: str
    formulation: str = "c-svc"

    @property
    def name(self) -> str:
        """The solver without what a set changes."""
        return self.solver.replace("[D={cap}]", "")


ENTRIES = (
    Entry("today", EXACT),
    Entry("today", "libsvm"),
    Entry("LASVM 2005", "lasvm"),
    Entry("LASVM 2005", "lasvm[epochs=2]"),
    Entry("LASVM-NC", "lasvm-nc", "ramp-svc"),
    Entry("Frank-Wolfe 2009", "fw", "l2-svc"),
    Entry("Frank-Wolfe 2009", "fw-fully-corrective", "l2-svc"),
    Entry("random sampling 2008", "optsoftmargin[D={cap}]", "reduced-hull"),
    Entry("RandSVM", "randsvm-1[oracle=smo-block]"),
    Entry("RGD-tree 2015", "rgd-tree", "outlier-margin"),
)


@dataclass(frozen=True)
class Plan:
    """The sets, how often, and how long a solver may take.

    caps : D of the reduced hulls whose nearest points are those of the C-SVM with the set's C, to two digits, of the
        first draw: C over the sum of the positives' weights. Without a C-SVM to read it from it would have to be searched
    repetitions : draws of the data, or seeds of the solver
    limit : seconds inside a solver
    """

    sets: tuple[PaperSet, ...]
    caps: tuple[float, ...]
    entries: tuple[Entry, ...] = ENTRIES
    repetitions: int = 3
    limit: float = 120.0

    @property
    def by_name(self) -> dict[str, PaperSet]:
        """The sets by the names that tables call them."""
        return {each.name: each for each in self.sets}

    def solver(self, entry: Entry, name: str) -> str:
        """Return the solver of an entry as it runs on a set."""
        caps = {each.name: cap for each, cap in zip(self.sets, self.caps, strict=True)}
        return entry.solver.format(cap=f"{caps[name]:g}")


PLAN = Plan(
    (
        PaperSet("waveform", "waveform[split_seed={k}]"),
        PaperSet("banana", "banana[split_seed={k}]"),
        PaperSet("usps-n", "usps[split_seed={k},noise=0.1,noise_seed={k}]"),
        PaperSet("twonorm-n", "twonorm[n=10000,n_test=5000,noise=0.1,noise_seed={k},seed={k}]"),
        PaperSet("adult-10k", "adult-split[n=10000,seed={k}]"),
        PaperSet("mnist-8-10k", "mnist[digit=8,n=10000]"),
        PaperSet("covtype-20k", "covtype[n=20000,n_test=20000]"),
        PaperSet("checkerboard-50k", "checkerboard[n=50000,n_test=10000,seed={k}]"),
    ),
    caps=(0.0022, 0.0023, 0.0012, 0.00066, 0.00059, 0.27, 0.00021, 0.0015),
)

QUICK = Plan(
    (
        PaperSet("twonorm-1k", "twonorm[n=1000,n_test=2000,seed={k}]"),
        PaperSet("checkerboard-1k", "checkerboard[n=1000,n_test=2000,seed={k}]"),
        PaperSet("breast-cancer", "breast-cancer"),
    ),
    caps=(0.014, 0.033, 0.086),
    repetitions=2,
    limit=20.0,
)


def _grids(plan: Plan, options: Options) -> Iterable[Grid]:
    names = [each.name for each in plan.sets] if options.sets is None else options.sets
    repetitions = options.repetitions or plan.repetitions
    for name in names:
        for formulation in dict.fromkeys(each.formulation for each in plan.entries):
            solvers = [plan.solver(each, name) for each in plan.entries if each.formulation == formulation]
            for grid in plan.by_name[name].grids(solvers, (), repetitions):
                yield options.adjusted(replace(grid, formulations=(formulation,), limit=plan.limit))


def parts(plan: Plan) -> dict[str, Part]:
    """Return the one part: every solver on every set."""
    return {"table": lambda options: _grids(plan, options)}
