"""g-means while lasvm visits what a baseline trains on: Figure 9's curves of US, SMOTE and DC.

A record's trace has metrics where labels are bought. The baselines have all labels, so their models are scored here, as
they come, in this process; the seeds are those of the runs, but not the course of their generators.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from harness import CSVC, RBF, Iterate, KernelOracle, get_solver
from harness.measure.metrics import g_means
from harness.registry import load_registry
from reports.border_2007.parts import COSTS, PLUGINS, SMOTE, UNDER
from reports.border_2007.plan import PLAN, QUICK
from reports.kit.grids import PaperSet
from reports.kit.journal import Journal

DERIVED = "visits"
OFTEN = "lasvm[block=16]"  # yields after so many examples
_FIRST, _PER_DECADE = 20, 10


def ladder(n: int) -> Iterator[int]:
    """Yield numbers of visited examples: from 20 on ten a decade."""
    at = float(_FIRST)
    while at < n:
        yield round(at)
        at *= 10.0 ** (1.0 / _PER_DECADE)


def scores(found: Iterate, gamma: float, train: Any, points: Any) -> Any:
    """Return f of ``points``, (m,), of a model that may rest on points of its own."""
    coef = np.asarray(found.dual_coef if found.free_coef is None else found.free_coef)
    n, values = train.shape[0], np.full(points.shape[0], float(found.intercept))
    parts = [(train, coef[:n])] if found.extra_points is None else [(train, coef[:n]), (found.extra_points, coef[n:])]
    for of, weights in parts:
        support = np.flatnonzero(weights)
        values += RBF(gamma).block(points, of[support]) @ weights[support]
    return values


def course(of: PaperSet, solver: str, seed: int = 0) -> list[tuple[int, float]]:
    """Return (examples visited, g-means in percent) on a ladder, and at the end, after the finishing step."""
    (source,) = load_registry(list(PLUGINS)).select_datasets(of.selection.format(k=0, k1=1))
    data = source.load()
    gamma = float(data.defaults["gamma"] if of.gamma is None else of.gamma)
    values = {"C": data.defaults["C"] if of.C is None else of.C}
    problem = CSVC.build(KernelOracle(RBF(gamma), data.x_train), data.y_train, values)
    points: list[tuple[int, float]] = []
    due, last = ladder(10**9), None
    at = next(due)
    name, _, rest = solver.partition("[")
    given: dict[str, Any] = {"ratio": float(rest[:-1].partition("=")[2])} if rest else {}
    for found in get_solver(name, oracle=OFTEN, **given).iterates(problem, np.random.default_rng(seed)):
        last, visited = found, int(found.info.get("visited", 0))
        if found.done or visited >= at:
            found_scores = scores(found, gamma, data.x_train, data.x_test)
            points.append((visited, round(100.0 * g_means(data.y_test, found_scores), 3)))
            while at <= visited:
                at = next(due)
    assert last is not None
    return points


def complete(journal: Journal) -> None:
    """Write down the courses of the sets of Figure 9 that have runs of undersampling, and no course yet."""
    known = {(row["set"], row["solver"]) for row in journal.rows if row.get("derived") == DERIVED}
    sets = {**QUICK.sets, **PLAN.sets}
    for name in (*QUICK.figure9, *PLAN.figure9):
        found = [row["solver"] for row in journal.rows if row.get("set") == name and "status" in row]
        under = [solver for solver in found if solver.startswith(UNDER)]
        for solver in (under[-1], SMOTE, COSTS) if under else ():
            if (name, solver) not in known:
                points = course(sets[name], solver)
                journal.append({"derived": DERIVED, "set": name, "solver": solver, "seed": 0, "points": points})
