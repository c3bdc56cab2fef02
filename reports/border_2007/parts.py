"""Ertekin, Huang, Bottou, Giles 2007: the sets of Table 2, the solvers, and the runs behind each table and figure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import mean
from typing import Any

from harness.run.record import Status
from reports.kit import study
from reports.kit.grids import Grid, Options, PaperSet, Part

OWN_PLUGINS = ("imbalanced_plugin.py", "anchor_plugin.py")
PLUGINS = (*study.PLUGINS, *(str(study.ROOT / "border_2007" / name) for name in OWN_PLUGINS))
REUTERS = ("corn", "crude", "grain", "interest", "money-fx", "ship", "trade", "wheat")
ABSENT = ("citeseer-ai", "citeseer-comm", "citeseer-crypt", "citeseer-db", "citeseer-os")

# C and gamma: Table 2's, at the scale of the sources' features, where they are not the source's own; of all topics of Reuters
# C = 1 and gamma = 0.5: with them Table 1's numbers are got, and not with the others that Table 2 has for three of them
SETS = {
    each.name: each
    for each in (
        *(PaperSet(name, f"reuters-category[category={name}]", C=1.0, gamma=0.5) for name in REUTERS),
        PaperSet("abalone-7", "abalone[split_seed={k}]"),
        PaperSet("letter-a", "letter[n=18000,split_seed={k}]"),
        PaperSet("satimage", "satimage"),
        PaperSet("usps", "usps[split_seed={k},smooth=0.75]"),
        PaperSet("mnist-8", "mnist", C=1000.0, gamma=0.02, default=False),
    )
}
LARGE = ("mnist-8",)
AS_PRINTED = ", as Table 2 prints"
PRINTED = {
    each.name: each
    for each in (
        PaperSet(f"crude{AS_PRINTED}", "reuters-category[category=crude]", C=2.0, gamma=1.0),
        PaperSet(f"grain{AS_PRINTED}", "reuters-category[category=grain]", C=2.0, gamma=1.0),
        PaperSet(f"interest{AS_PRINTED}", "reuters-category[category=interest]", C=1.0, gamma=2.0),
    )
}
RINGS = PaperSet("abalone-7 with its rings", "abalone-rings[split_seed={k}]")
_OWN = "waveform[split_seed={k}]"  # has 2.04 negatives for a positive, adult 3.15
WAVEFORM = {2: PaperSet("waveform 1:2", _OWN)} | {
    ratio: PaperSet(f"waveform 1:{ratio}", f"{_OWN[:-1]},imbalance={ratio},imbalance_seed={{k}}]")
    for ratio in (4, 8, 16, 32)
}
ADULT = {3: PaperSet("adult 1:3", "adult")} | {
    ratio: PaperSet(f"adult 1:{ratio}", f"adult[imbalance={ratio}]") for ratio in (10, 20, 30)
}
# none of them stands in a table: the stopping rule is chosen on them
TUNED = {
    each.name: each
    for each in (
        PaperSet("usps-3", "usps[digit=3]"),
        PaperSet("usps-8", "usps[digit=8]"),
        PaperSet("letter-g", "letter[letter=G]"),
        PaperSet("satimage-3", "satimage[positive=3]"),
        PaperSet("banana 1:8", "banana[imbalance=8]"),
        PaperSet("spambase 1:8", "spambase[imbalance=8]"),
        PaperSet("twonorm 1:8", "twonorm[imbalance=8]"),
    )
}

EVERY = {
    each.name: each
    for each in (*SETS.values(), RINGS, *PRINTED.values(), *WAVEFORM.values(), *ADULT.values(), *TUNED.values())
}
"""All sets by name, as the command line takes them."""

CHOSEN: tuple[int | None, float] = (None, 0.01)
"""Window in labels (none: a fortieth of the points) and tolerance of the early stop, chosen by the part 'tuning'."""
WINDOWS: tuple[int | None, ...] = (50, 100, 200, None)  # none: a fortieth of the points
TOLERANCES = (0.01, 0.02, 0.05)


def stopped(window: int | None, tolerance: float, solver: str = "active-small-pool") -> str:
    """Return active learning that stops when the number of its support vectors is stable."""
    over = "" if window is None else f"stop_window={window},"
    return f"{solver}[stop=support,{over}stop_tolerance={tolerance:g}]"


AL = stopped(*CHOSEN)
FULL = stopped(*CHOSEN, "active-full-search")
MARGIN = "active-small-pool[stop=margin]"
ENDLESS, RANDOM = "active-small-pool", "random-sampling"
BATCH, SMOTE, COSTS = "batch", "smote", "different-costs"
UNDER = "undersampling"
EXACT = "smo-block"
METHODS = {"batch": BATCH, "us": UNDER, "smote": SMOTE, "dc": COSTS, "al": AL}
"""The columns of Tables 3 and 4; of undersampling the beginning of its name, whose ratio is another one on each set."""

METRICS = ("g-means", "roc-auc", "prbep")
CURVE = "roc-curve"
SATURATION, TO_THE_END, AS_ROC = ", saturation", ", to the end", ", ROC"
"""What is added to the name of a set whose runs are for a figure, so that Tables 1 and 3 do not take them in."""
BOTH = ("pool-svc", "c-svc")  # each solver is run on the one of them that it solves
SEEDS = 10
LIMIT = 900.0  # seconds inside a solver
BOUGHT_OF_ADULT = 6000  # labels, where AL does not go to the end of the pool


def chosen(options: Options, sets: Iterable[PaperSet] | None = None) -> list[PaperSet]:
    """Return those of ``sets``, Table 1's by default, that the command line names; else all but the large ones."""
    return [
        each
        for each in (SETS.values() if sets is None else sets)
        if (each.default if options.sets is None else each.name in options.sets)
    ]


def some(names: Iterable[str]) -> list[PaperSet]:
    """Return sets of Table 1 by their names."""
    return [SETS[name] for name in names]


def grids(options: Options, data: PaperSet, solvers: Sequence[str], seeds: int, **changes: Any) -> Iterator[Grid]:
    """Yield the runs of a set, a seed after another: solvers in turns."""
    count = options.repetitions or seeds
    grid = replace(data.grid(solvers, range(count)), formulations=BOTH, metrics=METRICS, limit=LIMIT)
    yield options.adjusted(replace(grid, **changes))


def tuning(options: Options) -> Iterator[Grid]:
    """The stopping rule's window and tolerance, on sets that are in no table."""
    solvers = [stopped(window, tolerance) for window in WINDOWS for tolerance in TOLERANCES]
    for data in chosen(options, TUNED.values()):
        yield from grids(options, data, (BATCH, MARGIN, *solvers), 2)


def table1(options: Options) -> Iterator[Grid]:
    """AL at its early stops, and the others on the whole training set: Tables 1 and 3, in turns."""
    for data in chosen(options):
        if data.name in LARGE:
            yield from grids(options, data, (BATCH, AL), 3)
            yield from grids(options, data, (COSTS, SMOTE), 1)
        else:
            yield from grids(options, data, (BATCH, AL, SMOTE, COSTS, MARGIN), SEEDS)


def runs_of_al(options: Options, name: str) -> list[Mapping[str, Any]]:
    """Return the finished runs of AL on a set that are measured already."""
    return [
        row
        for row in options.measured
        if row.get("set") == name and row.get("solver") == AL and row.get("status") == Status.OK
    ]


def ratio_of(row: Mapping[str, Any]) -> float | None:
    """Return SV- / SV+ of a run, None without a support vector of the positives."""
    positive = row.get("positive_support_vectors")
    return (row["support_vectors"] - positive) / positive if positive else None


def undersampling(options: Options) -> Iterator[Grid]:
    """Undersampling to the ratio of support vectors that AL reached at its early stops (section 6), in their mean."""
    for data in chosen(options):
        ratios = [ratio for row in runs_of_al(options, data.name) if (ratio := ratio_of(row)) is not None]
        if ratios:
            solver = f"{UNDER}[ratio={mean(ratios):.2f}]"
            yield from grids(options, data, (solver,), 3 if data.name in LARGE else SEEDS)


FIGURE2 = ("grain", "ship", "usps")
FIGURE7 = ("interest", "satimage")
FIGURE8 = ("crude", "grain", "interest")
FIGURE9 = ("crude", "grain", "interest", "ship", "letter-a", "satimage", "usps")


def figure2(options: Options) -> Iterator[Grid]:
    """The search through the whole pool against the small pool, both to their early stops, in turns."""
    for data in chosen(options, some(FIGURE2)):
        yield from grids(options, renamed(data, SATURATION), (FULL, AL), 3, traced=True)


def renamed(data: PaperSet, suffix: str) -> PaperSet:
    """Return the set under another name."""
    return replace(data, name=f"{data.name}{suffix}")


def curves(options: Options) -> Iterator[Grid]:
    """AL and random sampling to the end of the pool: Figures 2, 8 and 9."""
    for data in chosen(options, some(FIGURE9)):
        yield from grids(options, renamed(data, TO_THE_END), (ENDLESS, RANDOM), 3, traced=True)


def figure5(options: Options) -> Iterator[Grid]:
    """Waveform with fewer and fewer positives: AL and random sampling to the end, AL to its early stop."""
    for data in chosen(options, WAVEFORM.values()):
        yield from grids(options, data, (ENDLESS, RANDOM, AL), SEEDS, traced=True)


def figure6(options: Options) -> Iterator[Grid]:
    """Adult with fewer and fewer positives: random sampling to the end, AL for so many labels, and to its early stop."""
    for data in chosen(options, ADULT.values()):
        yield from grids(options, data, (bounded(ENDLESS, BOUGHT_OF_ADULT), RANDOM, AL), 1, traced=True)


def bounded(solver: str, labels: int) -> str:
    """Return a solver with a budget of labels."""
    return f"{solver[:-1]},budget={labels}]" if solver.endswith("]") else f"{solver}[budget={labels}]"


def labels_of_al(options: Options, name: str) -> int | None:
    """Return the mean number of labels at AL's early stops on a set."""
    found = [row["labels_used"] for row in runs_of_al(options, name)]
    return round(mean(found)) if found else None


def figure7(options: Options) -> Iterator[Grid]:
    """ROC curves of AL, of random sampling with as many labels, and with all of them."""
    for data in chosen(options, (*some(FIGURE7), ADULT[3])):
        labels = labels_of_al(options, data.name)
        if labels is not None:
            solvers = (AL, bounded(RANDOM, labels), RANDOM)
            yield from grids(options, renamed(data, AS_ROC), solvers, 3, metrics=(*METRICS, CURVE))


def exact(options: Options) -> Iterator[Grid]:
    """The optimum of c-svc over all labels: batch is one epoch of lasvm, which stops short of it."""
    for data in chosen(options):
        yield from grids(options, data, (EXACT,), SEEDS if data.drawn else 1)


def rings(options: Options) -> Iterator[Grid]:
    """Abalone with its label among the features: batch and AL."""
    for data in chosen(options, (RINGS,)):
        yield from grids(options, data, (BATCH, AL, SMOTE, COSTS), 3)


def table2(options: Options) -> Iterator[Grid]:
    """The three topics for which Table 2 prints another C and gamma than those that give its numbers."""
    for data in chosen(options, PRINTED.values()):
        yield from grids(options, data, (BATCH, AL), 2)


PARTS: dict[str, Part] = {
    "tuning": tuning,
    "table2": table2,
    "table1": table1,
    "undersampling": undersampling,
    "exact": exact,
    "rings": rings,
    "figure2": figure2,
    "curves": curves,
    "figure5": figure5,
    "figure6": figure6,
    "figure7": figure7,
}
