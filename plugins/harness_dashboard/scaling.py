"""How a solver's time to a target grows with the number of points or of dimensions: the exponent, and how sure it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from harness.report.figures import is_number
from harness_dashboard.contest import LEVEL
from harness_dashboard.numbers import rounded

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from harness.support.arrays import Array

AXES = ("n_train", "n_features")
LEAST = 3
"""Sizes that a line is fitted to, at least."""


def fits(
    costs: Array, facts: Sequence[Mapping[str, Any]], units: Sequence[str], targets: Sequence[int]
) -> list[dict[str, Any]]:
    """Return the fits of ``log(seconds) = intercept + exponent * log(size)``, by least squares.

    costs : shape (solvers, problems, targets)
    facts, units : of each problem; the unit is the data set whatever its size
    targets : the places of the targets among those of the costs

    There is one for each solver on each data set that was drawn in three sizes or more: over different data sets a line
    would compare easy with hard ones. Several problems of one size (a sweep over C) are one point, their geometric mean.
    """
    lines = []
    keys = [(str(fact.get("formulation") or ""), unit) for fact, unit in zip(facts, units, strict=True)]
    for axis in AXES:
        sizes = np.array([fact.get(axis) if is_number(fact.get(axis)) else np.nan for fact in facts], dtype=float)
        for formulation, family in sorted(set(keys)):
            here = np.array([key == (formulation, family) for key in keys]) & (sizes > 0)
            for place, target in enumerate(targets):
                lines += [
                    {"axis": axis, "formulation": formulation, "family": family, "target": place, **line}
                    for line in _lines(costs[:, here, target], sizes[here])
                ]
    return lines


def _lines(costs: Array, sizes: Array) -> list[dict[str, Any]]:
    """Return the line of each solver that reached the target at three sizes or more."""
    from scipy.stats import linregress, t

    lines = []
    for solver, spent in enumerate(costs):
        reached = np.isfinite(spent) & (spent > 0)
        x = np.unique(sizes[reached])
        if len(x) < LEAST:
            continue
        y = np.array([np.log(spent[reached & (sizes == size)]).mean() for size in x])
        line = linregress(np.log(x), y)
        room = t.ppf(1 - LEVEL / 2, len(x) - 2) * line.stderr
        lines.append({
            "solver": solver, "points": len(x), "intercept": rounded(float(line.intercept), 6),
            "exponent": [rounded(float(each), 4) for each in (line.slope, line.slope - room, line.slope + room)],
            "sizes": [rounded(float(x[0])), rounded(float(x[-1]))],
        })  # fmt: skip
    return lines
