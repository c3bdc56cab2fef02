"""Balcazar, Dai, Tanaka, Watanabe 2008: the runs that the study asks for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial

from reports.kit.grids import Grid, Options, Part
from reports.random_sampling_2008.plan import KernelSet, Plan

BISECTION, DOUBLING = "chosen-k", "chosen-k[how=doubling]"


def _seeds(options: Options, count: int) -> range:
    return range(options.repetitions or count)


def rounds(plan: Plan, options: Options) -> list[Grid]:
    """Rounds with the theorems' delta and r over m and n, and of the adaptive scheme."""
    return [
        options.adjusted(each.grid((each.theorem, each.adaptive), _seeds(options, plan.repetitions), plan.limit))
        for each in (*plan.hard, *plan.soft)
        if each.m <= (options.n or each.m)
    ]


def counted(plan: Plan, options: Options) -> list[Grid]:
    """Rounds with delta = n + 2 k - 1 and its r = 6 delta^2, where that is less than the theorems'."""
    return [
        options.adjusted(each.grid((each.smaller,), _seeds(options, plan.repetitions), plan.limit))
        for each in plan.soft
        if each.m <= (options.n or each.m)
    ]


def small(plan: Plan, options: Options) -> list[Grid]:
    """The theorems' delta with a smaller r."""
    return [
        options.adjusted(each.grid(tuple(plan.sweep(each).values()), _seeds(options, plan.few), plan.limit))
        for each in plan.swept
    ]


def dimension(plan: Plan, options: Options) -> list[Grid]:
    """The support of the optimum, and violators of samples, over n and the number of outliers."""
    grids = []
    for each in plan.sized:
        grids.append(options.adjusted(each.grid((each.whole(),), limit=plan.limit)))
        grids.append(options.adjusted(each.grid((each.first_round,), _seeds(options, plan.samples), plan.limit)))
    return grids


def tubes(plan: Plan, options: Options) -> list[Grid]:
    """Rounds with the delta and r of Theorems 5.1 and 5.2, and the support of the optimum."""
    chosen = [each for each in plan.tubes if each.m <= (options.n or each.m)]
    return [
        options.adjusted(grid)
        for each in chosen
        for grid in (
            each.grid((each.theorem,), _seeds(options, plan.repetitions), plan.limit),
            each.grid((each.whole,), limit=plan.limit),
        )
    ]


def bases(plan: Plan, options: Options) -> list[Grid]:
    """The combinatorial dimension by its definition, and the counterexample."""
    return [options.adjusted(each.grid(plan.limit)) for each in plan.small]


def choosing(plan: Plan, options: Options) -> Iterator[Grid]:
    """Both ways to a k, and the test error over k: of those alone that separate, once the smallest is known."""
    for each in plan.choosing:
        asked = Grid(
            each.name, (each.selection,), (BISECTION,), (0,), ("hard-margin",), kernel="linear", limit=plan.limit
        )  # fmt: skip
        yield options.adjusted(asked)
        seeds = tuple(_seeds(options, plan.repetitions))
        yield options.adjusted(replace(asked, solvers=(DOUBLING,), seeds=seeds))
        known = [row for row in options.measured if (row.get("set"), row.get("solver")) == (each.name, BISECTION)]
        info = known[-1]["info"] if known else {}
        ladder = each.ladder(info.get("k") or 1, info.get("most") or 1, plan.step)
        yield options.adjusted(replace(asked, solvers=tuple(ladder.values()), formulations=("reduced-hull",)))


def kernels(plan: Plan, options: Options) -> Iterator[Grid]:
    """The optimum of all points, one round on samples of them, and the adaptive scheme, in an RBF kernel's space."""

    def grid(each: KernelSet, solvers: tuple[str, ...], seeds: range) -> Grid:
        asked = Grid(each.called, (each.selection,), solvers, tuple(seeds), ("reduced-hull",), limit=plan.limit)
        return options.adjusted(asked)

    for each in plan.kernels:
        yield grid(each, (each.whole,), range(1))
        known = [row for row in options.measured if (row.get("set"), row.get("solver")) == (each.called, each.whole)]
        m = known[-1]["n_train"] if known else 1000
        one = tuple(each.one_round(m, share) for share in each.shares)
        yield grid(each, one, _seeds(options, plan.kernel_samples))
        yield grid(each, (each.adaptive,), _seeds(options, plan.few))


def parts_of(plan: Plan) -> Mapping[str, Part]:
    """Return the parts of the study by name."""
    every = (rounds, small, dimension, counted, tubes, bases, choosing, kernels)
    return {part.__name__: partial(part, plan) for part in every}
