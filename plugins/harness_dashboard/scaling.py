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
    targets : the places of the targets that are wanted

    One fit for each solver over all data sets of a formulation, and one for each data set that was drawn in three sizes
    or more. Several problems of one size of one data set (a sweep over C) are one point, their geometric mean. Fits over
    all data sets compare easy with hard ones: a wide interval says so.
    """
    found = []
    formulations = sorted({str(fact.get("formulation") or "") for fact in facts})
    for axis in AXES:
        sizes = np.array([fact.get(axis) if is_number(fact.get(axis)) else np.nan for fact in facts], dtype=float)
        for formulation in formulations:
            of = np.array([str(fact.get("formulation") or "") == formulation for fact in facts]) & (sizes > 0)
            for family in (None, *sorted({name for name, here in zip(units, of, strict=True) if here})):
                here = np.flatnonzero(of & np.array([family in (None, name) for name in units])).tolist()
                if len(np.unique(sizes[here])) < LEAST or (
                    family and len({units[i] for i in np.flatnonzero(of).tolist()}) == 1
                ):
                    continue
                groups = _groups([(units[i], sizes[i]) for i in here])
                for place, target in enumerate(targets):
                    fitted = _lines(costs[:, here, target], sizes[here], groups)
                    found += [
                        {"axis": axis, "formulation": formulation, "family": family, "target": place, **line}
                        for line in fitted
                    ]
    return found


def _groups(keys: Sequence[Any]) -> Array:
    """Return for each key the number of its group."""
    numbers: dict[Any, int] = {}
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys])


def _lines(costs: Array, sizes: Array, groups: Array) -> list[dict[str, Any]]:
    """Return the line of each solver that reached the target at three sizes or more."""
    from scipy.stats import linregress, t

    found = []
    for solver, spent in enumerate(costs):
        reached = np.isfinite(spent) & (spent > 0)
        if len(np.unique(sizes[reached])) < LEAST:
            continue
        kept = np.unique(groups[reached])
        x = np.log([sizes[groups == group][0] for group in kept])
        y = np.array([np.log(spent[reached & (groups == group)]).mean() for group in kept])
        line = linregress(x, y)
        room = t.ppf(1 - LEVEL / 2, len(x) - 2) * line.stderr
        found.append(
            {
                "solver": solver,
                "points": len(x),
                "exponent": [rounded(float(each), 4) for each in (line.slope, line.slope - room, line.slope + room)],
                "intercept": rounded(float(line.intercept), 6),
                "sizes": [rounded(float(np.exp(each))) for each in (x.min(), x.max())],
            }
        )
    return found
