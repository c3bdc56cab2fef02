"""Ertekin, Huang, Bottou, Giles 2007: the sets of Table 2, the solvers, and the runs behind each table and figure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import mean
from typing import Any

from harness import Status
from reports.border_2007.plan import LARGE, Plan
from reports.kit import study
from reports.kit.grids import Grid, Options, PaperSet

OWN_PLUGINS = ("imbalanced_plugin.py", "anchor_plugin.py")
PLUGINS = (*study.PLUGINS, *(str(study.ROOT / "border_2007" / name) for name in OWN_PLUGINS))
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


def chosen(options: Options, sets: Iterable[PaperSet]) -> list[PaperSet]:
    """Return those of ``sets`` that the command line names; else all but the large ones."""
    return [each for each in sets if (each.default if options.sets is None else each.name in options.sets)]


def some(plan: Plan, names: Iterable[str]) -> list[PaperSet]:
    """Return sets of Table 1 by their names."""
    return [plan.sets[name] for name in names]


def grids(
    plan: Plan, options: Options, data: PaperSet, solvers: Sequence[str], seeds: int, **changes: Any
) -> Iterator[Grid]:
    """Yield the runs of a set, a seed after another: solvers in turns."""
    count = options.repetitions or seeds
    grid = replace(data.grid(solvers, range(count)), formulations=BOTH, metrics=METRICS, limit=plan.limit)
    yield options.adjusted(replace(grid, **changes))


def tuning(plan: Plan, options: Options) -> Iterator[Grid]:
    """The stopping rule's window and tolerance, on sets that are in no table."""
    solvers = [stopped(window, tolerance) for window in WINDOWS for tolerance in TOLERANCES]
    for data in chosen(options, plan.tuned):
        yield from grids(plan, options, data, (BATCH, MARGIN, *solvers), 2)


def table1(plan: Plan, options: Options) -> Iterator[Grid]:
    """AL at its early stops, and the others on the whole training set: Tables 1 and 3, in turns."""
    for data in chosen(options, plan.paper):
        if data.name in LARGE:
            yield from grids(plan, options, data, (BATCH, AL), plan.few)
            yield from grids(plan, options, data, (COSTS, SMOTE), 1)
        else:
            yield from grids(plan, options, data, (BATCH, AL, SMOTE, COSTS, MARGIN), plan.seeds)


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


def undersampling(plan: Plan, options: Options) -> Iterator[Grid]:
    """Undersampling to the ratio of support vectors that AL reached at its early stops (section 6), in their mean."""
    for data in chosen(options, plan.paper):
        ratios = [ratio for row in runs_of_al(options, data.name) if (ratio := ratio_of(row)) is not None]
        if ratios:
            solver = f"{UNDER}[ratio={mean(ratios):.2f}]"
            yield from grids(plan, options, data, (solver,), plan.few if data.name in LARGE else plan.seeds)


def figure2(plan: Plan, options: Options) -> Iterator[Grid]:
    """The search through the whole pool against the small pool, both to their early stops, in turns."""
    for data in chosen(options, some(plan, plan.figure2)):
        yield from grids(plan, options, renamed(data, SATURATION), (FULL, AL), plan.few, traced=True)


def renamed(data: PaperSet, suffix: str) -> PaperSet:
    """Return the set under another name."""
    return replace(data, name=f"{data.name}{suffix}")


def curves(plan: Plan, options: Options) -> Iterator[Grid]:
    """AL and random sampling to the end of the pool: Figures 2, 8 and 9."""
    for data in chosen(options, some(plan, plan.figure9)):
        yield from grids(plan, options, renamed(data, TO_THE_END), (ENDLESS, RANDOM), plan.few, traced=True)


def figure5(plan: Plan, options: Options) -> Iterator[Grid]:
    """Waveform with fewer and fewer positives: AL and random sampling to the end, AL to its early stop."""
    for data in chosen(options, (each for _, each in plan.waveform)):
        yield from grids(plan, options, data, (ENDLESS, RANDOM, AL), plan.seeds, traced=True)


def figure6(plan: Plan, options: Options) -> Iterator[Grid]:
    """Adult with fewer and fewer positives: random sampling to the end, AL for so many labels, and to its early stop."""
    for data in chosen(options, (each for _, each in plan.adult)):
        yield from grids(plan, options, data, (bounded(ENDLESS, plan.bought_of_adult), RANDOM, AL), 1, traced=True)


def bounded(solver: str, labels: int) -> str:
    """Return a solver with a budget of labels."""
    return f"{solver[:-1]},budget={labels}]" if solver.endswith("]") else f"{solver}[budget={labels}]"


def labels_of_al(options: Options, name: str) -> int | None:
    """Return the mean number of labels at AL's early stops on a set."""
    found = [row["labels_used"] for row in runs_of_al(options, name)]
    return round(mean(found)) if found else None


def figure7(plan: Plan, options: Options) -> Iterator[Grid]:
    """ROC curves of AL, of random sampling with as many labels, and with all of them."""
    for data in chosen(options, (*some(plan, plan.figure7), *(each for _, each in plan.adult[:1]))):
        labels = labels_of_al(options, data.name)
        if labels is not None:
            solvers = (AL, bounded(RANDOM, labels), RANDOM)
            yield from grids(plan, options, renamed(data, AS_ROC), solvers, plan.few, metrics=(*METRICS, CURVE))


def exact(plan: Plan, options: Options) -> Iterator[Grid]:
    """The optimum of c-svc over all labels: batch is one epoch of lasvm, which stops short of it."""
    for data in chosen(options, plan.paper):
        yield from grids(plan, options, data, (EXACT,), plan.seeds if data.drawn else 1)


def rings(plan: Plan, options: Options) -> Iterator[Grid]:
    """Abalone with its label among the features: batch and AL."""
    for data in chosen(options, (plan.rings,) if plan.rings else ()):
        yield from grids(plan, options, data, (BATCH, AL, SMOTE, COSTS), plan.few)


def table2(plan: Plan, options: Options) -> Iterator[Grid]:
    """The three topics for which Table 2 prints another C and gamma than those that give its numbers."""
    for data in chosen(options, plan.printed):
        yield from grids(plan, options, data, (BATCH, AL), 2)


PARTS: tuple[Callable[[Plan, Options], Iterator[Grid]], ...] = (
    tuning, table2, table1, undersampling, exact, rings, figure2, curves, figure5, figure6, figure7,
)  # fmt: skip
