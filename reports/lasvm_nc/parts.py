"""Ertekin, Bottou, Giles, Ignorance is Bliss: the runs behind Tables 1 and 3 and figures 1 and 5 to 7."""

from __future__ import annotations

from dataclasses import replace

from reports.kit.grids import Grid, Options, PaperSet, Part

FULL, G, NC, I = SOLVERS = ("full-svm", "lasvm-g", "lasvm-nc", "lasvm-i")  # noqa: E741  the paper's letters
FORMULATIONS = ("c-svc-nobias", "ramp-svc")
METRICS = ("prbep", "roc-auc", "g-means")

# Table 2; usps: gamma = 2 is for smoothed images divided by 16, see the catalogue
SETS = {
    each.name: each
    for each in (
        PaperSet("adult", "adult", C=100.0, gamma=0.005),
        PaperSet("mnist-8", "mnist[digit=8]", C=100.0, gamma=0.001),
        PaperSet("banana", "banana[split_seed={k}]", C=10.0, gamma=1.0),
        PaperSet("reuters", "reuters", C=1.0, gamma=0.5),
        PaperSet("usps", "usps[split_seed={k},smooth=0.75]", C=1.0, gamma=2 / 256),
        PaperSet("usps-n", "usps[split_seed={k},smooth=0.75,noise=0.1,noise_seed={k}]", C=1.0, gamma=2 / 256),
    )
}
NOISY = ("adult", "banana", "usps-n")
BENDS = (-3.0, -2.0, -1.5, -1.0, -0.75, -0.5, -0.25, 0.0, 0.25, 0.5, 0.75)


def chosen(options: Options) -> list[PaperSet]:
    """Return the sets that the command line names, else all; with ``--n`` MNIST has that many images."""
    names = SETS if options.sets is None else options.sets
    return [_part(SETS[name], options.n) for name in names]


def _part(each: PaperSet, n: int | None) -> PaperSet:
    if n is None or not each.selection.startswith("mnist["):
        return each
    return replace(each, name=f"{each.name}-of-{n}", selection=f"{each.selection[:-1]},n={n}]")


def _grids(options: Options, solvers: tuple[str, ...], repetitions: int) -> list[Grid]:
    return [
        options.adjusted(replace(grid, formulations=FORMULATIONS, metrics=METRICS))
        for each in chosen(options)
        for grid in each.grids(solvers, (), options.repetitions or repetitions)
    ]


def table3(options: Options) -> list[Grid]:
    """The four solvers after one epoch, s = -1; the traces of the same runs are figures 1, 6 and 7."""
    return [replace(grid, traced=True) for grid in _grids(options, SOLVERS, 10)]


def with_bend(solver: str, s: float) -> str:
    """Return a ramp solver with another s; the paper's -1 is the run of Table 3."""
    return solver if s == -1.0 else f"{solver}[s={s:g}]"


def figure5(options: Options) -> list[Grid]:
    """The ramp solvers for several s."""
    return _grids(options, (*SOLVERS, *(with_bend(solver, s) for solver in (NC, I) for s in BENDS if s != -1.0)), 3)


def bookkeeping(solver: str) -> str:
    """Return ``solver`` with a record of where each example lay on the ramp when its turn came."""
    return f"admissions[oracle={solver}]"


def table1(options: Options) -> list[Grid]:
    """Where on the ramp the examples of adult lay when they came, and which of them CLEAN removed."""
    named = replace(options, sets=options.sets or ("adult",))
    return _grids(named, (bookkeeping(FULL), bookkeeping(G)), 1)


PARTS: dict[str, Part] = {"table3": table3, "figure5": figure5, "table1": table1}
