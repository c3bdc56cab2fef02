"""The tables of reports/lasvm_nc: ours, with the published number in parentheses."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from reports.kit.markdown import NOT_MEASURED, beside, machine, met, millions, missing, number, table
from reports.kit.results import Results, ratio
from reports.lasvm_nc.parts import part_of
from reports.lasvm_nc.plan import FULL, LASVM, NC, NOISY, ONLINE, SOLVERS, G, I, bookkeeping, with_bend

ACCURACY_POINTS = 0.3
WELL_BELOW = 0.75  # of full-svm's

# quantity of Table 3 -> (title, our column, factor, form)
QUANTITIES = {
    "accuracy": ("accuracy %", "error", 1.0, ".2f"),
    "prbep": ("PRBEP %", "metrics.prbep", 100.0, ".2f"),
    "auc": ("AUC", "metrics.roc-auc", 1.0, ".3f"),
    "g_means": ("g-means %", "metrics.g-means", 100.0, ".2f"),
    "support_vectors": ("SV", "support_vectors", 1.0, ".0f"),
    "kernel_values": ("kernel values, M", "kernel_evaluations", 1e-6, ""),
    "seconds": ("seconds", "cpu", 1.0, ""),
}


def measured_sets(results: Results) -> list[str]:
    """Return the sets with runs, in the plan's order, which is the paper's."""
    return [name for name in results.plan.sets if name in results.sets]


def ours(results: Results, name: str, solver: str, quantity: str) -> float | None:
    """Return a quantity of Table 3 in the paper's units: the mean over repetitions, of seconds the median."""
    _, column, factor, _ = QUANTITIES[quantity]
    over = results.median if quantity == "seconds" else results.mean
    value = over(name, solver, column)
    if value is None:
        return None
    return 100.0 - value if quantity == "accuracy" else factor * value


def table3(results: Results) -> str:
    """Table 3, a line a set and solver."""
    rows = []
    for name in measured_sets(results):
        for solver in SOLVERS:
            runs = results.of(name, solver)
            if runs:
                cells = [
                    beside(
                        ours(results, name, solver, quantity),
                        results.published.get("table3", name, solver, quantity),
                        QUANTITIES[quantity][3],
                    )
                    for quantity in QUANTITIES
                ]
                rows.append([name, solver, *cells, str(len(runs))])
    return table(["set", "solver", *(title for title, *_ in QUANTITIES.values()), "runs"], rows)


def verdict(results: Results) -> str:
    """Table 3's order: sizes and kernel values against full-svm, accuracy, and the chain of kernel values."""
    rows = []
    for name in measured_sets(results):
        best = ours(results, name, FULL, "accuracy")
        if best is None:
            continue
        cells = [f"**{name}**" if name in NOISY else name]
        for quantity in ("support_vectors", "kernel_values"):
            for solver in (NC, I):
                share = ratio(ours(results, name, solver, quantity), ours(results, name, FULL, quantity))
                paper = ratio(*(results.published.get("table3", name, each, quantity) for each in (solver, FULL)))
                mark = "" if share is None or name not in NOISY else met(share <= WELL_BELOW)
                cells.append(f"{beside(share, paper, '.2f')} {mark}".strip())
        for solver in (NC, I):
            value = ours(results, name, solver, "accuracy")
            cells.append("" if value is None else f"{value - best:+z.2f} {met(value >= best - ACCURACY_POINTS)}")
        chain = [ours(results, name, solver, "kernel_values") for solver in (I, NC, G, FULL)]
        known = [each for each in chain if each is not None]
        holds = len(known) == len(chain) and all(small <= large for small, large in pairwise(known))
        cells.append(f"{' <= '.join(number(each) or '?' for each in chain)} {met(holds)}")
        rows.append(cells)
    head = ["set", "SV: nc / full", "SV: i / full", "kernel values: nc / full", "kernel values: i / full",
            "accuracy: nc - full", "accuracy: i - full", "kernel values, M: i <= nc <= g <= full"]  # fmt: skip
    return table(head, rows)


WORDED = {"accuracy": "accuracy {} %", "support_vectors": "{} SV", "kernel_values": "{} million kernel values"}


def differences(results: Results) -> str:
    """Name every number far from the published one: accuracy by 0.3 points, counts by a quarter."""
    lines = []
    for name in measured_sets(results):
        for solver in SOLVERS:
            for quantity in ("accuracy", "support_vectors", "kernel_values"):
                form = QUANTITIES[quantity][3]
                here, there = (
                    ours(results, name, solver, quantity),
                    results.published.get("table3", name, solver, quantity),
                )
                if here is None or there is None:
                    continue
                far = abs(here - there) > ACCURACY_POINTS if quantity == "accuracy" else abs(here / there - 1.0) > 0.25
                if far:
                    ratios = "" if quantity == "accuracy" else f" ({here / there:.2f} times)"
                    found, theirs = WORDED[quantity].format(number(here, form)), number(there, form)
                    lines.append(f"* {name}, {solver}: {found} against {theirs} published{ratios}.")
    return "\n".join(lines) or ("None beyond that." if measured_sets(results) else NOT_MEASURED)


TABLE1 = {
    "support_vectors": "SV",
    "non_support": "others in S",
    "admitted": "admitted",
    "admitted_left": "admitted with y f < -1",
    "admitted_right": "admitted with y f > 1",
    "cleaned_left": "removed, y f was < -1",
    "cleaned_right": "removed, y f was > 1",
}


def table1(results: Results) -> str:
    """Table 1: where examples lay on the ramp at their turn, and which of them were removed."""
    rows = []
    for solver in (FULL, G):
        label = bookkeeping(solver)
        for name in measured_sets(results):
            if results.of(name, label):
                cells = [
                    beside(
                        results.mean(name, label, f"info.{quantity}"),
                        results.published.get("table1", name, solver, quantity),
                        ".0f",
                    )
                    for quantity in TABLE1
                ]
                rows.append([name, solver, *cells])
    return table(["set", "solver", *TABLE1.values()], rows)


def figure5(results: Results) -> str:
    """Figure 5 as numbers: error and support vectors of the ramp solvers for each s."""
    rows = []
    for name in measured_sets(results):
        for s in results.plan.bends:
            labels = [with_bend(solver, s) for solver in (NC, I)]
            if not all(results.of(name, label) for label in labels):
                continue
            cells = [
                number(results.mean(name, label, quantity), form)
                for label in labels
                for quantity, form in (("error", ".2f"), ("support_vectors", ".0f"))
            ]
            rows.append([name, f"{s:g}", *cells])
    return table(["set", "s", *(f"{solver}: {title}" for solver in (NC, I) for title in ("error %", "SV"))], rows)


def during(results: Results, name: str, solver: str, quantity: str) -> dict[int, float]:
    """Return number of examples -> a column's mean over the models after so many of them, the last after all."""
    plan = results.plan
    places = {n: part_of(plan.sets[name], n).name for n in plan.sizes(name)} | {plan.n[name]: name}
    found = {n: results.mean(place, solver, quantity) for n, place in places.items()}
    return {n: value for n, value in found.items() if value is not None}


def figure4(results: Results) -> str:
    """Figure 4 as numbers: PRBEP after more and more examples."""
    rows = []
    for name in measured_sets(results):
        curves = {solver: during(results, name, solver, "metrics.prbep") for solver in SOLVERS}
        for n in sorted({n for curve in curves.values() for n in curve}):
            cells = [number(None if n not in curve else 100.0 * curve[n], ".2f") for curve in curves.values()]
            rows.append([name, f"{n:,}", *cells])
    return table(["set", "examples", *(f"{solver}: PRBEP %" for solver in SOLVERS)], rows)


def figure2(results: Results) -> str:
    """Figure 2 as numbers: LASVM's and LASVM-G's error and support vectors after more and more examples."""
    name, titles = results.plan.followed, {ONLINE: "LASVM", G: "LASVM-G"}
    curves = [
        (during(results, name, solver, quantity), form)
        for solver in titles
        for quantity, form in (("error", ".2f"), ("support_vectors", ",.0f"))
    ]
    rows = [
        [f"{n:,}", *(number(curve.get(n), form) for curve, form in curves)]
        for n in sorted({n for curve, _ in curves for n in curve})
    ]
    if results.of(name, LASVM):
        last = [results.mean(name, LASVM, quantity) for quantity in ("error", "support_vectors")]
        rows.append(["after the finishing step", number(last[0], ".2f"), number(last[1], ",.0f"), "", ""])
    return table(["examples", *(f"{title}: {what}" for title in titles.values() for what in ("error %", "SV"))], rows)


def growth(results: Results) -> str:
    """Figures 1, 6 and 7 as numbers: the last point before a quarter and half of the examples, and the end."""
    rows = []
    for name in measured_sets(results):
        for solver in SOLVERS:
            points = trace(results, name, solver)
            if not points:
                continue
            n = results.of(name, solver)[0]["n_train"]
            for share in (0.25, 0.5, 1.0):
                last = [point for point in points if point["info"]["visited"] <= share * n]
                if last:
                    point = last[-1]
                    visited = point["info"]["visited"]
                    rows.append(
                        [
                            name,
                            solver,
                            f"{visited:,}",
                            number(point["info"]["gap"] / visited, ".2e"),
                            f"{point['support_vectors']:,}",
                            number(millions(point["kernel_evaluations"])),
                        ]
                    )
    return table(["set", "solver", "examples", "gap / examples", "SV", "kernel values, M"], rows)


def trace(results: Results, name: str, solver: str) -> list[dict[str, Any]]:
    """Return the points of the first run's trace that say how many examples had come; the run's end is the last one."""
    runs = results.of(name, solver)
    if not runs:
        return []
    *course, end = runs[0]["trace"]
    points = [*course, {**end, "info": runs[0]["info"]}]
    return [point for point in points if point.get("info", {}).get("visited")]


def sections(results: Results) -> dict[str, str]:
    """Return every section of the page by the name of its markers."""
    return {
        "machine": machine(results),
        "verdict": verdict(results),
        "table3": table3(results),
        "differences": differences(results),
        "table1": table1(results),
        "figure2": figure2(results),
        "figure4": figure4(results),
        "figure5": figure5(results),
        "growth": growth(results),
        "missing": missing(results),
    }
