"""Which solver to take: the ranking of every kind of problem that was measured, for the page that answers it.

A kind is a choice of formulation, number of points, dimension and density, each of which may be 'all'. Only kinds
with data sets are kept, and those that have the same problems share one ranking. `harness_dashboard.contest` has the
statistics; here cells become its matrices and its answers become columns.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.report.figures import is_number
from harness.report.noise import interval
from harness_dashboard import contest, scaling
from harness_dashboard.contest import Contest
from harness_dashboard.numbers import rounded
from harness_dashboard.tables import TARGETS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from harness.support.arrays import Array

RANKED = (1e-2, 1e-3, 1e-6)
COSTS = ("seconds", "kernel_evaluations")
SIZES = ((1_000.0, "up to 1,000"), (5_000.0, "1,000 to 5,000"), (50_000.0, "5,000 to 50,000"), (None, "more"))
DIMENSIONS = ((10.0, "up to 10"), (100.0, "10 to 100"), (None, "over 100"))
SPARSE = 0.25
"""Up to this share of values that are not zero, a data set is called sparse."""


@dataclass(frozen=True)
class Cells:
    """The cells of a table as matrices of s solvers and p problems.

    ran : shape (s, p)
    costs : for each of `COSTS` shape (s, p, targets): infinite where a target was not reached, NaN where none was run
    low, high : of the same shapes, the intervals
    place : the number of the problem of each row
    facts : (p,), what is known of each problem
    unit : (p,), the data set of each problem, whatever its size, noise and problem
    """

    ran: Array
    costs: dict[str, Array]
    low: dict[str, Array]
    high: dict[str, Array]
    place: list[int]
    facts: Sequence[Mapping[str, Any]]
    unit: list[str]


def ranking(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the pages need to say which solver to take, and how sure that is.

    table : the newest cells, column by column, as `tables` makes them
    """
    cells = read(table)
    kinds, chosen = subsets(cells.facts)
    certified: Array = np.asarray(np.isfinite(cells.costs["seconds"]).any(axis=(0, 2)))
    ranked = [
        {cost: [_ranked(cells, cost, target, [each for each in of if certified[each]], table["solvers"]) for target in RANKED]
         for cost in COSTS}
        for of in chosen
    ]  # fmt: skip
    return {
        "targets": RANKED, "level": contest.LEVEL, "sizes": SIZES, "dimensions": DIMENSIONS, "sparse": SPARSE,
        "formulations": sorted({kind.split("|")[0] for kind in kinds} - {""}), "kinds": kinds, "place": cells.place,
        "problems": chosen, "ranked": ranked,
        "scaling": scaling.fits(cells.costs["seconds"], cells.facts, cells.unit, list(map(TARGETS.index, RANKED))),
    }  # fmt: skip


def unit(name: str) -> str:
    """Return the data set behind a name with parameters: draws of other sizes or with noise are not independent."""
    return name.partition("[")[0]


def read(table: Mapping[str, Any]) -> Cells:
    """Return the cells as matrices; a data set on which different problems were solved is several columns.

    A run that was asked for a larger gap only was not run for the smaller ones, whatever it reached: it would count
    where it went further than it was asked, and not where it stopped as it should.
    """
    columns, rows = table["columns"], range(table["rows"])
    nothing = [None] * table["rows"]
    asked_of = list(zip(columns.get("dataset", nothing), columns.get("problem", nothing), strict=True))
    problems = sorted(set(asked_of), key=lambda key: (key[0], -1 if key[1] is None else key[1]))
    facts = [
        {**table["dataset_facts"][dataset], **({} if problem is None else table["problems"][problem])}
        for dataset, problem in problems
    ]
    numbers = {key: i for i, key in enumerate(problems)}
    at = (np.array(columns.get("solver", nothing), dtype=int), np.array([numbers[key] for key in asked_of], dtype=int))
    shape = (len(table["solvers"]), len(problems))
    ran = np.zeros(shape, dtype=bool)
    ran[at] = columns.get("ran", nothing)
    asked = np.array([0.0 if each is None else each for each in columns.get("target_gap", nothing)])
    not_asked = np.array(TARGETS) < asked[:, None] * (1 - 1e-9)
    costs: dict[str, Array] = {}
    low: dict[str, Array] = {}
    high: dict[str, Array] = {}
    for cost in COSTS:
        spent, within = (columns.get(f"{cost}_to{ending}", nothing) for ending in ("", "_intervals"))
        values = np.full((table["rows"], len(TARGETS)), np.inf)
        ends = np.full((2, *values.shape), np.nan)
        for row, place in itertools.product(rows, range(len(TARGETS))):
            if spent[row] is not None and is_number(value := spent[row][place]):
                once = cost == "seconds" and columns["runs"][row] == 1
                values[row, place] = value
                ends[:, row, place] = _ends(value, within[row] and within[row][place], once=once)
        values[not_asked] = np.nan
        if cost == "kernel_evaluations":
            values[_unseen(columns, nothing)] = np.nan
        for of, found in ((costs, values), (low, ends[0]), (high, ends[1])):
            of[cost] = np.full((*shape, len(TARGETS)), np.nan)
            of[cost][at] = found
        costs[cost][~ran] = np.nan
    units = [unit(str(fact.get("set") or "?")) for fact in facts]
    return Cells(ran, costs, low, high, [numbers[key] for key in asked_of], facts, units)


def _ends(value: float, within: Sequence[float | None] | None, *, once: bool) -> tuple[float, float]:
    """Return the interval of a cost; it has no upper end where some run never reached the target."""
    if within:
        return within[0] or 0.0, math.inf if within[1] is None else within[1]
    return interval([value], noisy=once)


def _unseen(columns: Mapping[str, Any], nothing: list[None]) -> Array:
    """Return where kernel evaluations cannot be compared: they are not observable, or only at least so many."""
    counts, measured, least = (columns.get(name, nothing) for name in ("kernel_evaluations", "measured", "at_least"))
    cells = zip(counts, measured, least, strict=True)
    return np.array([bool(partly or (model and not is_number(count))) for count, model, partly in cells], dtype=bool)


def place(value: Any, classes: Sequence[tuple[float | None, str]]) -> str:
    """Return the number of the class that a value is in, '' if the value is not known."""
    if not is_number(value):
        return ""
    return str(next(i for i, (high, _) in enumerate(classes) if high is None or value <= high))


def subsets(facts: Sequence[Mapping[str, Any]]) -> tuple[dict[str, int], list[tuple[int, ...]]]:
    """Return the kinds of problems, and the problems of each.

    The first is ``{"formulation|size|dimension|density": place in the second}``, '' is all of them.
    """
    classes = [
        (
            str(fact.get("formulation") or ""), place(fact.get("n_train"), SIZES), place(fact.get("n_features"), DIMENSIONS),
            "" if not is_number(share := fact.get("density")) else "sparse" if share <= SPARSE else "dense",
        )
        for fact in facts
    ]  # fmt: skip
    members: dict[tuple[str, ...], list[int]] = {}
    for problem, each in enumerate(classes):
        for kind in {*itertools.product(*((name, "") for name in each))}:
            members.setdefault(kind, []).append(problem)
    chosen: dict[tuple[int, ...], int] = {}
    kinds = {"|".join(kind): chosen.setdefault(tuple(of), len(chosen)) for kind, of in sorted(members.items())}
    return kinds, list(chosen)


def _ranked(cells: Cells, cost: str, target: float, problems: list[int], names: Sequence[str]) -> dict[str, Any] | None:
    """Return the ranking of the solvers that were run on at least half of the data sets; None where none got there."""
    place = TARGETS.index(target)
    costs, low, high = (each[cost][:, problems, place] for each in (cells.costs, cells.low, cells.high))
    units, unit = np.unique([cells.unit[problem] for problem in problems], return_inverse=True)
    run = np.zeros((len(costs), len(units)), dtype=bool)
    for problem, of in enumerate(unit):
        run[:, of] |= ~np.isnan(costs[:, problem])
    solvers = np.flatnonzero((2 * run.sum(axis=1) >= len(units)) & run.any(axis=1))
    solved = np.isfinite(costs[solvers]).any(axis=0) if solvers.size else np.zeros(0, dtype=bool)
    if not solved.any():
        return None
    never = solvers[~np.isfinite(costs[solvers]).any(axis=1)]
    solvers = np.setdiff1d(solvers, never)  # who failed everywhere has no rank
    left, unit_left = np.unique(unit[solved], return_inverse=True)
    of = Contest(costs[np.ix_(solvers, solved)], low[np.ix_(solvers, solved)], high[np.ix_(solvers, solved)], unit_left)
    ranked = contest.order(of, [names[int(i)] for i in solvers])
    of = Contest(of.costs[ranked], of.low[ranked], of.high[ranked], unit_left)
    solvers = solvers[ranked]
    reached = Contest(costs[solvers], low[solvers], high[solvers], unit).reached
    summary = {
        "sets": len(left), "few": int((run.any(axis=1) & (2 * run.sum(axis=1) < len(units))).sum()),
        "solver": solvers.tolist(), "never": never.tolist(), "ran": run[solvers].sum(axis=1).tolist(),
        "solved": _short(np.nansum(reached, axis=1)), "wins": _short(np.nansum(of.wins, axis=1)),
    }  # fmt: skip
    return summary | _tests(of)


def _tests(of: Contest) -> dict[str, Any]:
    """Return mean ranks, tests against the first solver, and groups; the solvers are in their order."""
    p = contest.tests(of) if of.sets >= contest.FEWEST else np.full((len(of.costs), len(of.costs)), np.nan)
    holm = contest.corrected(p)
    least = contest.least_p(of.sets, len(of.costs))
    sign = np.sign(of.between[0])  # below zero: the first one spent less
    return {
        "rank": _short(contest.means(of.ranks)),
        "ahead": (sign < 0).sum(axis=1).tolist(), "equal": (sign == 0).sum(axis=1).tolist(),
        "behind": (sign > 0).sum(axis=1).tolist(), "p": _short(holm[0]), "least_p": least,
        "groups": contest.groups(holm) if of.sets >= contest.FEWEST and least < contest.LEVEL else [],
    }  # fmt: skip


def _short(values: Array) -> list[float | int | None]:
    return [rounded(float(value), 4) if is_number(float(value)) else None for value in values]
