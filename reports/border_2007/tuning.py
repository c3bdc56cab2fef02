"""The choice of the early stop's window and tolerance, on sets that stand in no table."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import mean

from reports.border_2007.figures import efficiency, percent
from reports.border_2007.parts import AL, BATCH, MARGIN, TOLERANCES, WINDOWS, stopped
from reports.kit.markdown import number, table
from reports.kit.results import Results

WITHIN = 1.0  # percentage points of g-means below batch, on every set
LARGEST = 5000
"""Support vectors up to which a rule must mean something: while each label adds one, more than window / tolerance of them
count as stable. With a fortieth of the points and 2 % these are more than there are points."""


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
    for data in results.plan.tuned:
        name = data.name
        pair = [percent(results, name, each, "g-means") for each in (solver, BATCH)]
        bought = efficiency(results, name, solver)
        if pair[0] is None or pair[1] is None or bought is None:
            return None
        differences.append(pair[0].mean - pair[1].mean)
        labels.append(bought.mean)
    return Rule(solver, differences, labels) if labels else None


def good(rule: Rule) -> bool:
    """Return whether a rule loses no more than is allowed."""
    return min(rule.differences) >= -WITHIN


def best(results: Results) -> str | None:
    """Return the rule that buys the fewest labels of those that are good, and have a meaning; None where none is."""
    known = [
        rule
        for window in WINDOWS
        for tolerance in TOLERANCES
        if (window is None or window >= tolerance * LARGEST)
        and (rule := measured(results, stopped(window, tolerance))) is not None
    ]
    able = [rule for rule in known if good(rule)]
    return min(able, key=lambda rule: mean(rule.labels)).solver if able else None


def rules(results: Results) -> str:
    """Each window and tolerance, and the rule of the margin: g-means against batch, and labels."""
    rows = []
    found = best(results)
    every: list[tuple[int | None, float | None]] = [(w, t) for w in WINDOWS for t in TOLERANCES]
    for window, tolerance in [*every, (None, None)]:
        solver = MARGIN if tolerance is None else stopped(window, tolerance)
        rule = measured(results, solver)
        if rule is not None:
            marks = [mark for holds, mark in ((solver == found, "best"), (solver == AL, "taken")) if holds]
            worst = min(range(len(rule.differences)), key=rule.differences.__getitem__)
            below = sum(difference < -WITHIN for difference in rule.differences)
            rows.append(
                [
                    "margin" if tolerance is None else "n / 40" if window is None else str(window),
                    number(tolerance, "g"),
                    "" if window is None or not tolerance else f"{window / tolerance:,.0f}",
                    f"{mean(rule.differences):+.2f}",
                    f"{rule.differences[worst]:+.2f}, {results.plan.tuned[worst].name}",
                    str(below),
                    number(mean(rule.labels), ".1f"),
                    f"{min(rule.labels):.1f} to {max(rule.labels):.1f}",
                    ", ".join(marks),
                ]
            )
    head = [
        "window, labels",
        "tolerance",
        "window / tolerance",
        "g-means over batch, mean",
        "worst",
        "sets more than a point below",
        "labels, %, mean",
        "over the sets",
        "",
    ]
    return table(head, rows)
