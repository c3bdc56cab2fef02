"""Core sets: their sizes beside the papers' bounds, and the margins that are optimal for them alone."""

from __future__ import annotations

import math
from typing import Any

from reports.frank_wolfe_2009.figures import at, geometry, levels, measured_sets
from reports.frank_wolfe_2009.plan import CORE_SETS, margins_of
from reports.kit.markdown import met, number, table
from reports.kit.results import Results
from reports.kit.sources import Simplices, least_core_set

ACCURACIES = (1e-1, 1e-2, 1e-3)


def sizes(results: Results) -> str:
    """Sizes of core sets between the lower bound and that of Theorem 3.3."""
    rows = []
    for name in measured_sets(results):
        found = geometry(results, name)
        if found is None:
            continue
        n = next(each for each in results.runs if each["set"] == name)["n_train"]
        for epsilon in ACCURACIES:
            reached = [at(results, name, solver, epsilon) for solver in CORE_SETS]
            if not any(reached):
                continue
            low, high = found.lower_bound(epsilon)
            cells = ["" if each is None else f"{each['core_set']:,}" for each in reached]
            bound = f"{found.upper_bound(epsilon):.2g}"
            rows.append([name, f"{n:,}", f"{epsilon:.0e}", *cells, f"{number(low)} - {number(high)}", bound])
    head = ["problem", "n", "epsilon", *CORE_SETS, "sigma / (2 epsilon) + 2", "Theorem 3.3"]
    return table(head, rows)


def simplices(results: Results) -> str:
    """The two simplices, whose least core set is known."""
    name, data = "simplices", Simplices()
    found = geometry(results, name) if name in results.plan.sets else None
    rows = []
    for level in levels(results, name, "fw") if found else ():
        epsilon = level["epsilon"]
        reached = [at(results, name, solver, epsilon) for solver in results.plan.solvers]
        cells = ["" if each is None else f"{each['core_set']:,}" for each in reached]
        low, high = found.lower_bound(epsilon) if found else (0.0, 0.0)
        least = least_core_set(data.m, data.height, epsilon)
        rows.append([f"{epsilon:.1e}", f"{least:,}", f"{number(low)} - {number(high)}", *cells])
    return table(["epsilon", "least core set", "sigma / (2 epsilon) + 2", *results.plan.solvers], rows)


def lost(results: Results, name: str, solver: str) -> list[dict[str, Any]]:
    """Return of each core set of a solver its size and what it loses: 1 - margin(all) / margin(core set).

    ``least`` and ``most`` bound the loss; a model of gap 1e-9 certifies each of the two margins.
    """
    runs = [row for row in results.runs if row["set"] == margins_of(name)]
    found = [row for row in runs if row["solver"] == results.plan.margins_by(solver, name)]
    if not found or "margin" not in found[-1]["info"]:
        return []
    low, high = found[-1]["info"]["margin"]
    return [
        {
            **level,
            "least": max(0.0, 1.0 - high / level["margin"][0]),
            "most": max(0.0, 1.0 - low / level["margin"][1]),
        }
        for level in found[-1]["info"]["levels"]
    ]


def ratios(results: Results) -> str:
    """margin(all) / margin(core set), a line for each problem and accuracy, with the size and Theorem 3.3's bound."""
    rows = []
    for name in results.plan.sets:
        known = [lost(results, name, solver) for solver in CORE_SETS]
        bound = geometry(results, name)
        for epsilon in (*ACCURACIES, 1e-4) if any(known) else ():
            here = [next((each for each in found if math.isclose(each["epsilon"], epsilon)), None) for found in known]
            if not any(here):
                continue
            cells = [f"{1.0 - each['most']:.6f} ({each['core_set']:,})" if each else "" for each in here]
            holds = all(each["most"] <= each["epsilon"] for each in here if each)
            upper = "" if bound is None else f"{bound.upper_bound(epsilon):.2g}"
            rows.append([name, f"{epsilon:.0e}", f"{1.0 - epsilon:g}", *cells, upper, met(holds)])
    return table(["problem", "epsilon", "1 - epsilon", *CORE_SETS, "Theorem 3.3", "at least 1 - epsilon"], rows)
