"""The tables of reports/frank_wolfe_2009."""

from __future__ import annotations

import math
from typing import Any

from harness import Status
from reports.frank_wolfe_2009.core_sets import ratios, simplices, sizes
from reports.frank_wolfe_2009.figures import (
    LINEAR,
    MODERATE,
    at,
    course,
    finished,
    geometry,
    last_factor,
    levels,
    measured_sets,
)
from reports.frank_wolfe_2009.plan import LINEAR_PEERS, VERTEX, Hulls, Plan, large_of, product_of
from reports.frank_wolfe_2009.rivals import against_library, against_smo, linear_peers, peers
from reports.frank_wolfe_2009.seen import between, seen
from reports.frank_wolfe_2009.theorems import bounds, large, lemma
from reports.kit.markdown import NOT_MEASURED, machine, met, number, table
from reports.kit.results import Results

RATES = (1e-2, 1e-4, 1e-6, 1e-8, 1e-10)
GOAL = 1e-8


def given(results: Results) -> str:
    """What each run was given: the accuracies, time and memory."""
    plan: Plan = results.plan
    ladders = [each for each in plan.problems if each.seconds]
    return (
        f"A ladder ends with its CPU time, {between([each.seconds for each in ladders])} s for all its accuracies; the later ones "
        f"are then missing. The peers are asked for a relative gap of {plan.gap:g}, the checkerboards for epsilon = "
        f"{plan.large_epsilon:g}; each run of these is a process of its own and is stopped by wall time: {plan.peers_limit:g} s "
        f"beside SMO, {plan.vertex_limit:g} s of the seven on linear problems, {plan.limit:g} s of fw-newton and LinearSVC there, "
        f"{plan.large_limit:g} s on checkerboards. A run that was stopped has an empty cell, and a line in the last section with "
        f"its wall time. The memory for kernel rows is {between([each.cache_mb for each in ladders])} MB, so that the rows of the "
        "core set fit."
    )


def problems(results: Results) -> str:
    """The problems: their size, and what the bounds depend on."""
    rows = []
    for name in measured_sets(results):
        each: Hulls = results.plan.sets[name]
        found = geometry(results, name)
        row = next(run for run in results.runs if run["set"] == name)
        size = f"{row['n_train']:,} x {row['n_features']}"
        cells = ["", "", ""]
        if found is not None:
            low, high = found.sigma
            cells = [number(found.zeta), f"{number(low)} - {number(high)}", number(math.sqrt(2.0 * found.psi_lower))]
        kind = f"{each.formulation}, {each.kernel}"
        rows.append([name, each.selection, kind, number(row["C"]), number(row["gamma"]), size, *cells])
    head = ["problem", "data", "formulation, kernel", "C (chi)", "gamma", "n x d", "zeta", "sigma", "margin"]
    return table(head, rows)


def rates(results: Results) -> str:
    """Iterations to one accuracy after another, and what the last factor of ten took."""
    rows = []
    for name in measured_sets(results):
        for solver in results.plan.solvers if results.plan.sets[name].rates else ():
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


def verdict(results: Results) -> str:
    """Whether fw reaches epsilon = 1e-8 at a linear rate, and gilbert does not."""
    lines = []
    for name in [each for each in results.plan.must if each in measured_sets(results)]:
        ours, other = (course(results, name, solver) for solver in ("fw", "gilbert"))
        if ours is None or other is None:
            continue
        level, factor = at(results, name, "fw", GOAL), last_factor(results, name, "fw")
        linear = level is not None and factor is not None and factor <= LINEAR
        text = f"* {name}: fw "
        if level is None:
            text += f"ends at epsilon = {levels(results, name, 'fw')[-1]['epsilon']:.0e}"
        else:
            text += f"reaches epsilon = {GOAL:.0e} in {level['iterations']:,} iterations and {level['cpu']:.3g} s"
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
        for solver in results.plan.solvers:
            level, row = at(results, name, solver, MODERATE), course(results, name, solver)
            if level is None or row is None:
                cells.append("")
            elif quantity == "evaluations":
                cells.append(number(level[quantity] / row["n_train"]))
            else:
                cells.append(number(level[quantity]))
        if any(cells):
            rows.append([name, *cells])
    return table(["problem", *results.plan.solvers], rows)


def products(results: Results) -> str:
    """An iteration on a linear kernel beside one product X @ w, timed in turns."""
    rows = []
    for name, _ in results.plan.products:
        for solver in VERTEX:
            for row in results.of(product_of(name), results.plan.turns_of(solver)):
                info, size = row["info"], f"{row['n_train']:,} x {row['n_features']}"
                low, middle, high = info["ratio"]
                times = [f"{1e3 * info[each]:.3g}" for each in ("product", "iteration")]
                rows.append([f"{name}, {size}", solver, *times, f"{middle:.2f}", f"{low:.2f} - {high:.2f}"])
    return table(["points", "solver", "X @ w, ms", "iteration, ms", "ratio", "quartiles"], rows)


def stopped(results: Results) -> str:
    """The runs that did not come to the end of their ladder or to their gap, a line each."""
    plan: Plan = results.plan
    lines = []
    for name in measured_sets(results):
        for solver in plan.solvers:
            label = plan.ladder_of(solver, name)
            for row in [each for each in results.runs if (each["set"], each["solver"]) == (name, label)][-1:]:
                if finished(row):
                    continue
                reached = levels(results, name, solver)
                far = f"reached {reached[-1]['epsilon']:.0e}" if reached else "reached nothing"
                standing = stood(row["info"])
                ended = row["info"].get("ended") or row["reason"]
                lines.append(f"* {name}, {solver}: {far}; {standing + '; ' if standing else ''}{ended}")
    sought = dict.fromkeys(map(plan.peers_of, plan.sets), plan.gap)
    sought |= dict.fromkeys(map(large_of, plan.large), 2.0 * plan.large_epsilon)
    for row in [each for each in results.runs if each["set"] in sought and each["solver"] not in LINEAR_PEERS]:
        if row["status"] != Status.OK or not (row["relative_gap"] or 0.0) <= sought[row["set"]]:
            gap = "" if row["relative_gap"] is None else f"relative gap {row['relative_gap']:.2g}; "
            why = row["reason"] or row["info"].get("status", "")
            wall = "" if row["seconds"] is None else f" (wall time inside the solver: {number(row['seconds'])} s)"
            lines.append(f"* {row['set']}, {row['solver']}: {gap}{why}{wall}")
    lines += [f"* {row['set']}: {row['missing']}" for row in results.missing]
    return "\n".join(dict.fromkeys(lines)) or "Nothing."


def sections(results: Results) -> dict[str, str]:
    """Return every section of the page by the name of its markers."""
    return {
        "machine": machine(results),
        "given": given(results),
        "seen": seen(results),
        "problems": problems(results),
        "verdict": verdict(results),
        "rates": rates(results),
        "iterations": moderate(results, "iterations"),
        "evaluations": moderate(results, "evaluations"),
        "core-set": moderate(results, "core_set"),
        "seconds": moderate(results, "cpu"),
        "core-sets": sizes(results),
        "margins": ratios(results),
        "simplices": simplices(results),
        "bounds": bounds(results),
        "lemma": lemma(results),
        "peers": peers(results),
        "against-peer": against_smo(results),
        "linear-peers": linear_peers(results),
        "against-library": against_library(results),
        "products": products(results),
        "large": large(results),
        "missing": stopped(results),
    }
