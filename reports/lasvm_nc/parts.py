"""Ertekin, Bottou, Giles, Ignorance is Bliss: the runs behind Tables 1 and 3 and figures 1, 2 and 4 to 8."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from reports.kit.grids import Grid, Options, PaperSet, Part
from reports.lasvm_nc.plan import (
    AT_PRINTED,
    FORMULATIONS,
    FULL,
    LASVM,
    METRICS,
    NC,
    ONLINE,
    SOLVERS,
    G,
    I,
    Plan,
    bookkeeping,
    with_bend,
)


def _chosen(plan: Plan, options: Options) -> list[PaperSet]:
    return [plan.sets[name] for name in options.sets or plan.sets]


def _grids(options: Options, data: PaperSet, solvers: Sequence[str], repetitions: int) -> list[Grid]:
    grids = data.grids(solvers, (), options.repetitions or repetitions)
    return [options.adjusted(replace(grid, formulations=FORMULATIONS, metrics=METRICS)) for grid in grids]


def table3(plan: Plan, options: Options) -> list[Grid]:
    """The four solvers after one epoch, s = -1; the traces of the same runs are figures 1, 6 and 7, their times figure 8."""
    return [
        replace(grid, traced=True)
        for data in _chosen(plan, options)
        for grid in _grids(options, data, SOLVERS, plan.times(data.name, plan.repetitions))
    ]


def figure5(plan: Plan, options: Options) -> list[Grid]:
    """The ramp solvers for several s; those of s = -1 are Table 3's runs."""
    solvers = [with_bend(solver, s) for solver in (NC, I) for s in plan.bends if s != AT_PRINTED]
    return [
        grid
        for data in _chosen(plan, options)
        for grid in _grids(options, data, solvers, plan.times(data.name, plan.bend_repetitions))
    ]


def part_of(data: PaperSet, n: int) -> PaperSet:
    """Return ``n`` training points of a set, other ones in each repetition, and all of its test points.

    An online solver's model after these is that of an epoch over more points at this place: it has seen nothing else.
    """
    selection = f"subset[of={data.selection},n={n},seed={{k}}]"
    return replace(data, name=f"{data.name}, {n} examples", selection=selection)


def figure4(plan: Plan, options: Options) -> list[Grid]:
    """The four solvers' models during the epoch, for their PRBEP; the last ones are Table 3's."""
    return [
        grid
        for data in _chosen(plan, options)
        for n in plan.sizes(data.name)
        for grid in _grids(options, part_of(data, n), SOLVERS, plan.times(data.name, plan.share_repetitions))
    ]


def figure2(plan: Plan, options: Options) -> list[Grid]:
    """LASVM before its finishing step and LASVM-G during the epoch, and LASVM after that step."""
    data, repetitions = plan.sets[plan.followed], plan.times(plan.followed, plan.share_repetitions)
    places = [(part_of(data, n), (ONLINE, G)) for n in plan.sizes(data.name)] + [(data, (ONLINE, G, LASVM))]
    grids = [grid for each, solvers in places for grid in _grids(options, each, solvers, repetitions)]
    # traced as Table 3's runs are, which those of LASVM-G over all examples are too
    return [replace(grid, formulations=("c-svc", "c-svc-nobias"), traced=grid.set == data.name) for grid in grids]


def table1(plan: Plan, options: Options) -> list[Grid]:
    """Where on the ramp the examples lay when they came, and which of them CLEAN removed."""
    return _grids(options, plan.sets[plan.followed], (bookkeeping(FULL), bookkeeping(G)), 1)


PARTS: dict[str, Callable[[Plan, Options], list[Grid]]] = {
    "table3": table3,
    "figure2": figure2,
    "figure4": figure4,
    "figure5": figure5,
    "table1": table1,
}


def parts(plan: Plan) -> dict[str, Part]:
    """Return the parts of the study by name, with the sizes of ``plan``."""
    return {name: partial(part, plan) for name, part in PARTS.items()}
