"""What the figures show, as tables: full search and small pool, imbalance, ROC, support vectors while labels are bought."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from reports.border_2007.curves import Curve, learning_curve, metric, support_ratio
from reports.border_2007.figures import Spread, efficiency, imbalance, percent, seconds, told
from reports.border_2007.parts import (
    AL,
    AS_ROC,
    ENDLESS,
    FULL,
    RANDOM,
    SATURATION,
    TO_THE_END,
    bounded,
)
from reports.kit.grids import PaperSet
from reports.kit.markdown import beside, number, table
from reports.kit.results import Results, ratio

LABELS = (500, 1000, 2000, 4000)


def figure2(results: Results) -> str:
    """Full search against the small pool, both to the early stop."""
    rows = []
    for each in results.plan.figure2:
        name = f"{each}{SATURATION}"
        spent = [seconds(results, name, solver) for solver in (FULL, AL)]
        if None in spent:
            continue
        printed = [results.published.get("figure2", each, solver, "seconds") for solver in ("full", "al")]
        values = [results.median(name, solver, "kernel_evaluations") for solver in (FULL, AL)]
        found = [
            told(percent(results, name, solver, quantity)) for quantity in ("prbep", "g-means") for solver in (FULL, AL)
        ]
        labels = [told(efficiency(results, name, solver), form=".1f") for solver in (FULL, AL)]
        rows.append([each, *(beside(*pair) for pair in zip(spent, printed, strict=True)),
                     beside(ratio(*spent), ratio(*printed)), number(ratio(*values)), *found, *labels])  # fmt: skip
    head = ["set", "s, full search", "s, small pool", "full / small", "kernel values", "PRBEP %, full", "small",
            "g-means %, full", "small", "labels %, full", "small"]  # fmt: skip
    return table(head, rows)


def peak(curve: Curve | None) -> tuple[float, float] | None:
    """Return the largest mean of a curve and at how many labels."""
    if curve is None:
        return None
    at = int(np.argmax(curve.mean))
    return float(curve.mean[at]), float(curve.labels[at])


def thinned(results: Results, sets: Iterable[tuple[int, PaperSet]], quantity: str, endless: str) -> str:
    """A metric of AL and of random sampling as positives become fewer."""
    rows = []
    for imbalanced, data in sets:
        ends = [percent(results, data.name, solver, quantity) for solver in (AL, endless, RANDOM)]
        if ends[0] is None and ends[2] is None:
            continue
        tops = [peak(learning_curve(results, data.name, solver, metric(quantity))) for solver in (endless, RANDOM)]
        rows.append(
            [
                str(imbalanced),
                told(ends[0]),
                told(efficiency(results, data.name), form=".1f"),
                *("" if top is None else f"{top[0]:.2f}, {top[1]:,.0f}" for top in tops),
                told(ends[1]),
                told(ends[2]),
                str(len(results.of(data.name, AL))),
            ]
        )
    last = "AL, end" if endless == ENDLESS else f"AL, {results.plan.bought_of_adult:,} labels"
    head = ["imbalance", "AL, early stop", "labels, %", "AL, peak, at labels", "RS, peak, at labels", last, "RS, end",
            "runs"]  # fmt: skip
    return table(head, rows)


def roc_sets(results: Results) -> tuple[str, ...]:
    """Return the sets whose ROC curves are drawn: those of Figure 7, and adult as it is."""
    return (*results.plan.figure7, *(data.name for _, data in results.plan.adult[:1]))


def figure7(results: Results) -> str:
    """AUC of AL at its early stop, of random sampling with as many labels, and with all."""
    rows = []
    for each in roc_sets(results):
        name = f"{each}{AS_ROC}"
        early = early_random(results, name)
        if early is None:
            continue
        found = [percent(results, name, solver, "roc-auc") for solver in (AL, early, RANDOM)]
        paper = each.partition(" ")[0]
        printed = [results.published.get("figure7", paper, solver, "auc") for solver in ("al", "rs", "batch")]
        rows.append([each, *(told(*pair) for pair in zip(found, printed, strict=True)),
                     told(efficiency(results, name), form=".1f")])  # fmt: skip
    return table(["set", "AUC %, AL", "RS, as many labels", "RS, all", "labels, %"], rows)


def early_random(results: Results, name: str) -> str | None:
    """Return the random sampling with a budget that was measured last on a set."""
    found = [row["solver"] for row in results.runs if row["set"] == name and row["solver"].startswith(f"{RANDOM}[")]
    return str(found[-1]) if found else None


def figure8(results: Results) -> str:
    """SV- / SV+ while labels are bought."""
    rows = []
    for each in results.plan.figure8:
        name = f"{each}{TO_THE_END}"
        for title, solver in (("AL", ENDLESS), ("RS", RANDOM)):
            curve = learning_curve(results, name, solver, support_ratio)
            if curve is not None:
                inside = [labels if labels <= curve.labels[-1] else None for labels in LABELS]
                shown = [
                    "" if labels is None else f"{np.interp(labels, curve.labels, curve.mean):.2f}" for labels in inside
                ]
                end = Spread.of(
                    [ratio for row in results.of(name, solver) if (ratio := support_ratio(row)) is not None]
                )
                rows.append([each, title, *shown, told(end), number(imbalance(results, each), ".1f")])
    head = ["set", "", *(f"{labels:,} labels" for labels in LABELS), "all", "imbalance of the data"]
    return table(head, rows)


def sections(results: Results) -> dict[str, str]:
    """Return the sections of the figures by the name of their markers."""
    return {
        "figure2": figure2(results),
        "figure5": thinned(results, results.plan.waveform, "g-means", ENDLESS),
        "figure6": thinned(results, results.plan.adult, "prbep", bounded(ENDLESS, results.plan.bought_of_adult)),
        "figure7": figure7(results),
        "figure8": figure8(results),
    }
