"""The choice of the early stop's window and tolerance, on sets that stand in no table."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import mean

from benchmarks.papers.border_2007.figures import efficiency, percent
from benchmarks.papers.border_2007.parts import BATCH, CHOSEN, MARGIN, TOLERANCES, TUNED, WINDOWS, stopped
from benchmarks.papers.markdown import number, table
from benchmarks.papers.results import Results

WITHIN = 1.0  # percentage points of g-means below batch, on every set


@dataclass(frozen=True)
class Rule:
    """What a stopping rule gives over the sets it is chosen on.

    differences : of the mean g-means from batch's, percentage points, a set each
    labels : percent of the training points, a set each
    """

    solver: str
    differences: list[float]
    labels: list[float]


def measured(results: Results, solver: str) -> Rule | None:
    """Return what a rule gives, None where a set lacks it."""
    differences, labels = [], []
    for name in TUNED:
        pair = [percent(results, name, each, "g-means") for each in (solver, BATCH)]
        bought = efficiency(results, name, solver)
        if pair[0] is None or pair[1] is None or bought is None:
            return None
        differences.append(pair[0].mean - pair[1].mean)
        labels.append(bought.mean)
    return Rule(solver, differences, labels)


def best(results: Results) -> str | None:
    """Return the rule that buys the fewest labels of those that lose no more than a point of g-means on any set.

    Where none is so good, the one that loses least on its worst set.
    """
    known = [rule for w in WINDOWS for t in TOLERANCES if (rule := measured(results, stopped(w, t))) is not None]
    if not known:
        return None
    good = [rule for rule in known if min(rule.differences) >= -WITHIN]
    if good:
        return min(good, key=lambda rule: mean(rule.labels)).solver
    return max(known, key=lambda rule: min(rule.differences)).solver


def rules(results: Results) -> str:
    """Each window and tolerance, and the rule of the margin: g-means against batch, and labels."""
    rows = []
    found = best(results)
    for window, tolerance in [*((w, t) for w in WINDOWS for t in TOLERANCES), (None, None)]:
        solver = MARGIN if window is None or tolerance is None else stopped(window, tolerance)
        rule = measured(results, solver)
        if rule is not None:
            marks = [
                mark for holds, mark in ((solver == found, "best"), ((window, tolerance) == CHOSEN, "taken")) if holds
            ]
            worst = min(range(len(rule.differences)), key=rule.differences.__getitem__)
            rows.append(
                [
                    "margin" if window is None else str(window),
                    number(tolerance, "g"),
                    f"{mean(rule.differences):+.2f}",
                    f"{rule.differences[worst]:+.2f}, {list(TUNED)[worst]}",
                    number(mean(rule.labels), ".1f"),
                    f"{min(rule.labels):.1f} to {max(rule.labels):.1f}",
                    ", ".join(marks),
                ]
            )
    head = ["window, labels", "tolerance", "g-means over batch, mean", "worst", "labels, %, mean", "over the sets", ""]
    return table(head, rows)
