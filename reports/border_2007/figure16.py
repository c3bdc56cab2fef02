"""Figure 16 of Bordes et al. 2005: the labels that training anew and one LASVM step choose, and what choosing costs."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import mean, median, stdev

import numpy as np

from reports.border_2007.anchor import Areas, curve
from reports.border_2007.plan import Plan
from reports.kit.grids import Grid, Options
from reports.kit.journal import Row
from reports.kit.markdown import met, number, table
from reports.kit.results import Published, Results
from reports.kit.signed_ranks import signed_ranks

LABELS = 500
LIMIT = 1800.0  # seconds of wall time, a run
MARKS = (50, 100, 200, 500)  # labels at which the table tells the error
FASTER = 10.0  # than training anew over all, on reuters
EQUAL = 0.5  # percent of test error
ALPHA = 0.05

_BUDGET = f"budget={LABELS}"
METHODS = {
    "trained anew, all": f"retrain-active[oracle=smo-block,{_BUDGET}]",
    "trained anew, 50": f"retrain-active[oracle=smo-block,candidates=50,{_BUDGET}]",
    "LASVM, all": f"active-full-search[{_BUDGET}]",
    "LASVM, 50": f"active-small-pool[candidates=50,{_BUDGET}]",
    "LASVM, random": f"random-sampling[{_BUDGET}]",
}
"""The paper's five, by what tables call them."""
STYLES = (("#0072B2", "-"), ("#56B4E9", "--"), ("#D55E00", "-"), ("#E69F00", "--"), ("#777777", ":"))
SLOWEST, FASTEST = METHODS["trained anew, all"], METHODS["LASVM, 50"]


def figure16(plan: Plan, options: Options) -> list[Grid]:
    """Five methods in turns on ten divisions of each set."""
    return [
        options.adjusted(
            Grid(
                f"{name}, figure 16",
                tuple(selection.format(k=k) for k in range(options.repetitions or plan.divided)),
                tuple(METHODS.values()),
                formulations=("pool-svc",),
                limit=LIMIT,
            )
        )
        for name, selection in plan.divisions
        if options.sets is None or name in options.sets
    ]


def curves_from(rows: Iterable[Row], options: Options) -> list[Row]:  # noqa: ARG001  a part's end is given both
    """Return a row for each run that a session measured: its learning curve."""
    found = []
    for row in rows:
        points = [[labels, round(accuracy, 5)] for labels, accuracy in curve(row["record"])]
        if len(points) > 1:
            kept = {name: row[name] for name in ("dataset", "solver", "seed", "cpu", "error", "kernel_evaluations")}
            name = row["set"].removesuffix(", figure 16")
            found.append({"derived": "figure16", "set": name, **kept, "curve": points})
    return found


FINISH = {"figure16": curves_from}


def curves_of(results: Results) -> Areas:
    """Return the learning curves that were measured."""
    wanted = [row for row in results.derived if row["derived"] == "figure16"]
    return Areas({(row["set"], row["solver"], row["dataset"]): row for row in wanted})


def _errors(areas: Areas, name: str, solver: str) -> str:
    """Return the mean test errors at the marks, percent."""
    curves = areas.curves(name, solver)
    found = np.mean([np.interp(MARKS, *zip(*each, strict=True)) for each in curves], axis=0)
    return ", ".join(f"{100.0 * (1.0 - accuracy):.2f}" for accuracy in found)


def methods(areas: Areas, published: Published, plan: Plan) -> str:
    """Error and CPU seconds of 500 labels; equal is within half a point of training anew, or not told from it."""
    rows = []
    for name, _ in plan.divisions:
        for method, solver in METHODS.items():
            errors = list(areas.by_draw(name, solver, "error").values())
            if not errors:
                continue
            ours, theirs = areas.paired(name, solver, SLOWEST, "cpu")
            times = median(b / a for a, b in zip(ours, theirs, strict=True)) if ours else None
            gap, asked = "", number(times)
            if solver != SLOWEST and ours:
                pairs = areas.paired(name, solver, SLOWEST, "error")
                apart = mean(pairs[0]) - mean(pairs[1])
                gap = f"{apart:+.2f} (p {signed_ranks(*pairs):.2f})"
                if solver == FASTEST and name == "reuters" and times is not None:
                    asked += f" {met(times >= FASTER and apart <= EQUAL)}"
            spread = f" ± {stdev(errors):.2f}" if len(errors) > 1 else ""
            cpu = median(areas.by_draw(name, solver, "cpu").values())
            rows.append([name, method, str(len(errors)), _errors(areas, name, solver), f"{mean(errors):.2f}{spread}", gap,
                         number(cpu), number(published.get("figure16", name, method, "seconds")), asked])  # fmt: skip
    marks = ", ".join(map(str, MARKS))
    head = ["set", "method", "draws", f"error % at {marks} labels", "error % at the end", "beyond training anew, all",
            "CPU s, median", "published s", "times as fast as training anew, all"]  # fmt: skip
    return table(head, rows)


def sections(results: Results) -> dict[str, str]:
    """Return the section of Figure 16 by the name of its marker."""
    from reports.border_2007.anchor_tables import PUBLISHED

    return {"figure16": methods(curves_of(results), Published.read(PUBLISHED), results.plan)}
