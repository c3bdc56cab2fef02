"""Kumar & Yildirim 2009: the runs that the study asks for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from reports.frank_wolfe_2009.plan import (
    CORE_SETS,
    LARGE_SOLVERS,
    LEMMA,
    LINEAR_PEERS,
    NEWTON,
    VERTEX,
    Hulls,
    Plan,
    large_of,
    lemma_of,
    margins_of,
    product_of,
)
from reports.kit.grids import Grid, Options, Part


def chosen(plan: Plan, options: Options) -> list[Hulls]:
    """Return the problems that the command line names, else all."""
    return list(plan.problems) if options.sets is None else [plan.sets[name] for name in options.sets]


def ladder(plan: Plan, options: Options) -> list[Grid]:
    """The seven solvers to epsilon = 0.1 and down: rates, growth against 1 / epsilon, and core sets."""
    return [
        each.grid(tuple(plan.ladder_of(solver, each.name) for solver in plan.solvers), plan.limit)
        for each in chosen(plan, options)
        if each.seconds > 0.0
    ]


def lemma(plan: Plan, options: Options) -> list[Grid]:
    """What fw gains in each iteration, to epsilon = 1e-3."""
    return [
        each.grid((LEMMA,), plan.limit, lemma_of(each.name)) for each in chosen(plan, options) if each.lemma
    ]  # fmt: skip


def margins(plan: Plan, options: Options) -> list[Grid]:
    """The optimal margin of each core set alone, beside that of all points."""
    solvers = [solver for solver in CORE_SETS if solver in plan.solvers]
    return [
        each.grid(tuple(plan.margins_by(solver, each.name) for solver in solvers), plan.limit, margins_of(each.name))
        for each in chosen(plan, options)
        if each.margins
    ]


def peers(plan: Plan, options: Options) -> list[Grid]:
    """The seven solvers and the peers to the same relative gap: SMO on kernel problems, LinearSVC on linear ones."""
    grids = []
    for each in chosen(plan, options):
        shares = [((*plan.solvers, *plan.peers), plan.peers_limit)]
        if each.kernel == "linear":
            shares = [((NEWTON, *LINEAR_PEERS), plan.limit), (plan.solvers, plan.vertex_limit)]
        seeds = tuple(range(options.repetitions or each.peers))
        grids += [
            replace(each.grid(solvers, limit, plan.peers_of(each.name)), target_gap=plan.gap, seeds=seeds)
            for solvers, limit in shares
            if each.peers
        ]
    return grids


def large(plan: Plan, options: Options) -> list[Grid]:
    """Points on a checkerboard, many more than rows of theirs fit into memory, to epsilon = 1e-3."""
    return [
        Grid(
            large_of(n),
            (f"checkerboard[n={n},n_test=1000]",),
            LARGE_SOLVERS,
            formulations=("l2-svc",),
            target_gap=2.0 * plan.large_epsilon,
            limit=plan.large_limit,
        )
        for n in plan.large
        if n <= (options.n or n)
    ]


def iterations(plan: Plan, options: Options) -> list[Grid]:  # noqa: ARG001  its sets are others
    """An iteration on a linear kernel beside one X @ w of numpy."""
    return [
        Hulls(product_of(name), selection, kernel="linear", C=1.0).grid(
            tuple(plan.turns_of(solver) for solver in VERTEX), plan.limit
        )
        for name, selection in plan.products
    ]


def parts(plan: Plan) -> dict[str, Part]:
    """Return the parts of the study by name."""
    made: dict[str, Callable[[Plan, Options], list[Grid]]] = {
        "ladder": ladder,
        "lemma": lemma,
        "margins": margins,
        "peers": peers,
        "large": large,
        "iterations": iterations,
    }
    return {name: partial(_adjusted, part, plan) for name, part in made.items()}


def _adjusted(part: Callable[[Plan, Options], list[Grid]], plan: Plan, options: Options) -> list[Grid]:
    return [options.adjusted(grid) for grid in part(plan, options)]
