"""RandSVM: the runs that the study asks for."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from reports.kit.grids import Grid, Options, Part
from reports.randsvm.plan import LIBSVM, LIBSVR, Plan


def table1(plan: Plan, options: Options) -> list[Grid]:
    """RandSVM-1 over two oracles and LIBSVM on the sets of Table 1, mnist and covtype; what may take longest is last."""
    chosen = [each for each in plan.table1 if options.sets is None or each.name in options.sets]
    ours = [Grid(each.name, (each.selection,), each.ours, limit=each.limit) for each in chosen]
    patient = sorted(chosen, key=lambda each: each.patience)
    theirs = [Grid(each.name, (each.selection,), (LIBSVM,), limit=each.patience) for each in patient]
    return [options.adjusted(grid) for grid in (*ours, *theirs)]


def table2(plan: Plan, options: Options) -> list[Grid]:
    """The same for regression."""
    grids = []
    for each in plan.table2:
        if options.sets is None or each.name in options.sets:
            for solvers, limit in ((each.ours, each.limit), ((LIBSVR,), each.patience)):
                grids.append(
                    Grid(
                        each.name, (each.selection,), solvers, formulations=("eps-svr",), limit=limit,
                        metrics=("same-sign",),
                    )
                )  # fmt: skip
    return [options.adjusted(grid) for grid in grids]


def ringnorm(plan: Plan, options: Options) -> list[Grid]:
    """LIBSVM over C and gamma, the wide class of ringnorm at the origin and off it."""
    search = plan.search
    if options.sets is not None and search.name not in options.sets:
        return []
    datasets = tuple(search.selection(mean) for mean in search.means)
    return [
        options.adjusted(Grid(search.name, datasets, (LIBSVM,), C=c, gamma=gamma, limit=60.0))
        for gamma in search.gamma
        for c in search.C
    ]


def parts_of(plan: Plan) -> Mapping[str, Part]:
    """Return the parts of the study by name."""
    return {
        name: partial(part, plan) for name, part in {"table1": table1, "table2": table2, "ringnorm": ringnorm}.items()
    }
