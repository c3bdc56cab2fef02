"""Ding, Xu, Random Gradient Descent Tree (2015): the runs behind Figure 4, Table 1, and what no library tells."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from reports.kit.grids import Grid, Options, Part
from reports.rgd_tree_2015.plan import (
    BOOSTED,
    BOUNDED,
    MARGINS,
    METRICS,
    OUTLIER_EXACT,
    RAMP,
    RAMP_EXACT,
    RBF,
    SOFT,
    TREE,
    WHOLE,
    Benchmark,
    Method,
    Plan,
    boosted,
    tree,
)

CLEAN = ", clean"
"""Behind the name of a set none of whose labels is flipped."""


def share_name(share: float) -> str:
    """Return the set of figure 4(a)."""
    return f"outliers {100 * share:g} %"


def ratio_name(ratio: float) -> str:
    """Return the set of figures 4(b) and 4(c)."""
    return f"D/rho {ratio:g}"


def _grids(
    plan: Plan, name: str, selection: str, count: int, methods: Sequence[Method], options: Options
) -> list[Grid]:
    """Return the runs of methods on ``count`` draws; those of a grid share its session, and the data are drawn once for it.

    Trees and SVMs have grids of their own: a filter takes both formulations, and only one of them has a C.
    """
    families: dict[tuple[bool, str], list[Method]] = {}
    for method in methods:
        families.setdefault((method.formulation == TREE.formulation, method.kernel), []).append(method)
    return [
        options.adjusted(
            Grid(
                name,
                tuple(selection.format(k=k) for k in range(options.repetitions or count)),
                tuple(dict.fromkeys(solver for method in family for solver in method.candidates)),
                formulations=tuple(dict.fromkeys(method.formulation for method in family)),
                kernel=kernel,
                limit=plan.limit,
            )
        )
        for (_, kernel), family in families.items()
    ]


def _gaussians(
    plan: Plan, name: str, share: float, ratio: float, methods: Sequence[Method], options: Options
) -> list[Grid]:
    return _grids(plan, name, plan.gaussian.format(share=share, ratio=ratio), plan.repetitions, methods, options)


def told(share: float) -> Method:
    """Return the tree of height ten that is told the true share."""
    return Method("rgd-tree", TREE.formulation, (tree(share),))


def figure4a(plan: Plan, options: Options) -> list[Grid]:
    """Error against the share of outliers, for the tree and for what people would use instead."""
    return [
        grid
        for share in plan.shares
        for grid in _gaussians(plan, share_name(share), share, plan.ratio, (told(share), *plan.rivals), options)
    ]


def figure4b(plan: Plan, options: Options) -> list[Grid]:
    """Error against D / rho, trees of height ten."""
    return [
        grid
        for ratio in plan.ratios
        for grid in _gaussians(plan, ratio_name(ratio), plan.share, ratio, (told(plan.share),), options)
    ]


def figure4c(plan: Plan, options: Options) -> list[Grid]:
    """Error and time of boosting with trees of height five at the largest D / rho, beside 4(b)'s tree of height ten."""
    ratio = plan.ratios[-1]
    candidates = tuple(boosted(plan.share, count, nodes) for nodes in plan.nodes for count in plan.rounds)
    rounds = Method("rgd-boosted", BOOSTED.formulation, candidates)
    return _gaussians(plan, ratio_name(ratio), plan.share, ratio, (told(plan.share), rounds), options)


def _chosen(plan: Plan, options: Options) -> list[Benchmark]:
    return [plan.sets[name] for name in options.sets or plan.sets]


def _measured(grids: Sequence[Grid]) -> list[Grid]:
    return [replace(grid, metrics=METRICS) for grid in grids]


def table1(plan: Plan, options: Options) -> list[Grid]:
    """Every method's candidates on ten draws of every set; one run gives the validation and the test error."""
    return [
        grid
        for each in _chosen(plan, options)
        for grid in _measured(_grids(plan, each.name, each.selection, plan.repetitions, plan.methods, options))
    ]


def clean(plan: Plan, options: Options) -> list[Grid]:
    """What soft margins learn of the same divisions from the right labels: nobody is asked to do better from wrong ones."""
    methods = tuple(each for each in plan.methods if each.name in (SOFT.name, RBF.name))
    return [
        grid
        for each in _chosen(plan, options)
        for grid in _measured(_grids(plan, f"{each.name}{CLEAN}", each.clean, plan.repetitions, methods, options))
    ]


def exact(plan: Plan, options: Options) -> list[Grid]:
    """Heuristics and the global optimum of the ramp loss and of the margin with outliers, at most 40 points."""
    methods = (
        Method("ramp", "ramp-svc", (RAMP_EXACT, *RAMP)),
        Method("margin", "outlier-margin", (OUTLIER_EXACT, *MARGINS)),
    )
    return [
        grid
        for name, selection in plan.small
        for grid in _measured(_grids(plan, name, selection, plan.draws, methods, options))
    ]


def effort(plan: Plan, options: Options) -> list[Grid]:
    """The same share and ever larger trees on two sets of Table 1."""
    method = Method("efforts", TREE.formulation, plan.efforts)
    return [
        grid
        for name in plan.laboured
        for grid in _measured(
            _grids(plan, f"{name}, effort", plan.sets[name].selection, plan.repetitions, (method,), options)
        )
    ]


def theorem(plan: Plan, options: Options) -> list[Grid]:
    """The whole tree, and the one that keeps fifty nodes of a level, from so many seeds."""
    return [
        options.adjusted(
            Grid(
                each.name,
                (each.selection,),
                tuple(each.tree(nodes) for nodes in (WHOLE, BOUNDED)),
                seeds=tuple(range(options.repetitions or each.seeds)),
                formulations=("outlier-margin",),
                kernel="linear",
                limit=plan.limit,
            )
        )
        for each in plan.promises
    ]


def cost(plan: Plan, options: Options) -> list[Grid]:  # noqa: ARG001  nothing that a session measures
    """What a level of a tree costs: see cost.py."""
    return []


def parts(plan: Plan) -> dict[str, Part]:
    """Return the parts of the study by name."""
    made: tuple[Callable[[Plan, Options], list[Grid]], ...] = (
        figure4a, figure4b, figure4c, table1, clean, exact, effort, theorem, cost,
    )  # fmt: skip
    return {each.__name__: partial(each, plan) for each in made}
