"""The tables of reports/frank_wolfe_2009."""

from __future__ import annotations

import math
from typing import Any

from harness.run.record import Status
from reports.frank_wolfe_2009.figures import at, course, finished, geometry, levels, measured_sets
from reports.frank_wolfe_2009.parts import (
    EPSILON,
    GAP,
    LARGE,
    LINEAR_PEERS,
    SETS,
    SOLVERS,
    Hulls,
    large_of,
    on_the_ladder,
    peers_of,
)
from reports.frank_wolfe_2009.rivals import against_library, against_smo, linear_peers, peers
from reports.frank_wolfe_2009.theorems import bounds, large, lemma
from reports.kit.markdown import NOT_MEASURED, machine, met, number, table
from reports.kit.results import Results
from reports.kit.sources import Simplices, least_core_set

RATES = (1e-2, 1e-4, 1e-6, 1e-8, 1e-10)
MODERATE = 1e-3  # "for which a moderately small accuracy suffices"
MUST = ("wdbc", "usps")  # fw is to reach GOAL, gilbert is not
GOAL = 1e-8
LINEAR = 2.0  # times as many iterations for a factor of ten: a linear rate has less, one of 1 / epsilon ten
SHOWN = ("fw", "gilbert", "fw-fully-corrective", "cvm")


def kind(problem: Hulls) -> str:
    """Return formulation and kernel as text."""
    return f"{problem.formulation}, {problem.kernel}"


def problems(results: Results) -> str:
    """The problems: their size, and what the bounds depend on."""
    rows = []
    for name in measured_sets(results):
        found = geometry(results, name)
        row = next(each for each in results.runs if each["set"] == name)
        size = f"{row['n_train']:,} x {row['n_features']}"
        cells = ["", "", ""]
        if found is not None:
            low, high = found.sigma
            cells = [number(found.zeta), f"{number(low)} - {number(high)}", number(math.sqrt(2.0 * found.psi_lower))]
        rows.append(
            [name, SETS[name].selection, kind(SETS[name]), number(row["C"]), number(row["gamma"]), size, *cells]
        )
    head = ["problem", "data", "formulation, kernel", "C (chi)", "gamma", "n x d", "zeta", "sigma", "margin"]
    return table(head, rows)


def rates(results: Results) -> str:
    """Iterations to one accuracy after another, and what the last factor of ten took."""
    rows = []
    for name in measured_sets(results):
        for solver in SOLVERS if SETS[name].rates else ():
            reached = levels(results, name, solver)
            if not reached:
                continue
            found = [at(results, name, solver, epsilon) for epsilon in RATES]
            cells = ["" if each is None else f"{each['iterations']:,}" for each in found]
            factor = last_factor(results, name, solver)
            text = "" if factor is None else f"{factor:.2f}"
            rows.append([name, solver, *cells, f"{reached[-1]['epsilon']:.0e}", text])
    head = ["problem", "solver", *(f"{epsilon:.0e}" for epsilon in RATES), "least reached", "last factor of ten: times"]
    return table(head, rows)


def last_factor(results: Results, name: str, solver: str) -> float | None:
    """Return the iterations to the smallest epsilon reached over those to ten times that; None for fewer levels."""
    reached = levels(results, name, solver)
    before = at(results, name, solver, 10.0 * reached[-1]["epsilon"]) if reached else None
    return reached[-1]["iterations"] / before["iterations"] if before and before["iterations"] else None


def verdict(results: Results) -> str:
    """Whether fw reaches epsilon = 1e-8 at a linear rate, and gilbert does not."""
    lines = []
    for name in [each for each in MUST if each in measured_sets(results)]:
        ours, other = (course(results, name, solver) for solver in ("fw", "gilbert"))
        if ours is None or other is None:
            continue
        level, factor = at(results, name, "fw", GOAL), last_factor(results, name, "fw")
        linear = level is not None and factor is not None and factor <= LINEAR
        text = f"* {name}: fw "
        if level is None:
            text += f"ends at epsilon = {levels(results, name, 'fw')[-1]['epsilon']:.0e}"
        else:
            text += f"reaches epsilon = {GOAL:.0e} in {level['iterations']:,} iterations and {level['seconds']:.3g} s"
        if factor is not None:
            text += f", the last factor of ten with {factor:.2f} times the iterations"
        far = levels(results, name, "gilbert")[-1]
        text += f" {met(linear)}; gilbert reaches {far['epsilon']:.0e} in {far['iterations']:,} iterations"
        standing = stood(other["info"])
        text += f" and stands at {standing} when its time is over" if standing and not finished(other) else ""
        lines.append(f"{text} {met(at(results, name, 'gilbert', GOAL) is None)}.")
    return "\n".join(lines) or NOT_MEASURED


def stood(info: dict[str, Any]) -> str:
    """Return where a run was in the level that it did not reach."""
    epsilon = float(info.get("last_epsilon", math.inf))  # a record spells infinity as text
    if not math.isfinite(epsilon):
        return ""
    return f"epsilon_+ = {epsilon:.2g} after {info['last_iterations']:,} iterations"


def moderate(results: Results, quantity: str) -> str:
    """What epsilon = 1e-3 takes, a line a problem and a column a solver; kernel values as multiples of n."""
    rows = []
    for name in measured_sets(results):
        cells = []
        for solver in SOLVERS:
            level, row = at(results, name, solver, MODERATE), course(results, name, solver)
            if level is None or row is None:
                cells.append("")
            elif quantity == "evaluations":
                cells.append(number(level[quantity] / row["n_train"]))
            else:
                cells.append(number(level[quantity]))
        rows.append([name, *cells])
    return table(["problem", *SOLVERS], rows)


def core_sets(results: Results) -> str:
    """Sizes of core sets between the lower bound and that of Theorem 3.3."""
    rows = []
    for name in measured_sets(results):
        found = geometry(results, name)
        if found is None:
            continue
        n = next(each for each in results.runs if each["set"] == name)["n_train"]
        for epsilon in (1e-1, 1e-2, 1e-3):
            reached = [at(results, name, solver, epsilon) for solver in SHOWN]
            sizes = ["" if each is None else f"{each['core_set']:,}" for each in reached]
            low, high = found.lower_bound(epsilon)
            bound = f"{found.upper_bound(epsilon):.2g}"
            rows.append([name, f"{n:,}", f"{epsilon:.0e}", *sizes, f"{number(low)} - {number(high)}", bound])
    head = ["problem", "n", "epsilon", *SHOWN, "sigma / (2 epsilon) + 2", "Theorem 3.3"]
    return table(head, rows)


def simplices(results: Results) -> str:
    """The two simplices, whose least core set is known."""
    name, data = "simplices", Simplices()
    found = geometry(results, name)
    rows = []
    for level in levels(results, name, "fw") if found else ():
        epsilon = level["epsilon"]
        reached = [at(results, name, solver, epsilon) for solver in SOLVERS]
        sizes = ["" if each is None else f"{each['core_set']:,}" for each in reached]
        low, high = found.lower_bound(epsilon) if found else (0.0, 0.0)
        least = least_core_set(data.m, data.height, epsilon)
        rows.append([f"{epsilon:.1e}", f"{least:,}", f"{number(low)} - {number(high)}", *sizes])
    return table(["epsilon", "least core set", "sigma / (2 epsilon) + 2", *SOLVERS], rows)


def stopped(results: Results) -> str:
    """The runs that did not come to the end of their ladder or to their gap, a line each."""
    lines = []
    for name in measured_sets(results):
        for solver in SOLVERS:
            label = on_the_ladder(solver, SETS[name])
            for row in [each for each in results.runs if (each["set"], each["solver"]) == (name, label)][-1:]:
                if finished(row):
                    continue
                ended = row["info"].get("ended")
                reached = levels(results, name, solver)
                far = f"reached {reached[-1]['epsilon']:.0e}" if reached else "reached nothing"
                standing = stood(row["info"])
                lines.append(
                    f"* {name}, {solver}: {far}; {standing + '; ' if standing else ''}{ended or row['reason']}"
                )
    others = {*map(peers_of, SETS), *map(large_of, LARGE)}
    for row in [each for each in results.runs if each["set"] in others and each["solver"] not in LINEAR_PEERS]:
        wanted = GAP if row["set"] in map(peers_of, SETS) else 2.0 * EPSILON
        if row["status"] != Status.OK or not (row["relative_gap"] or 0.0) <= wanted:
            gap = "" if row["relative_gap"] is None else f"relative gap {row['relative_gap']:.2g}; "
            lines.append(f"* {row['set']}, {row['solver']}: {gap}{row['reason'] or row['info'].get('status', '')}")
    lines += [f"* {row['set']}: {row['missing']}" for row in results.missing]
    return "\n".join(dict.fromkeys(lines)) or "Nothing."


def sections(results: Results) -> dict[str, str]:
    """Return every section of the page by the name of its markers."""
    return {
        "machine": machine(results),
        "problems": problems(results),
        "verdict": verdict(results),
        "rates": rates(results),
        "iterations": moderate(results, "iterations"),
        "evaluations": moderate(results, "evaluations"),
        "core-set": moderate(results, "core_set"),
        "seconds": moderate(results, "seconds"),
        "core-sets": core_sets(results),
        "simplices": simplices(results),
        "bounds": bounds(results),
        "lemma": lemma(results),
        "peers": peers(results),
        "against-peer": against_smo(results),
        "linear-peers": linear_peers(results),
        "against-library": against_library(results),
        "large": large(results),
        "missing": stopped(results),
    }
