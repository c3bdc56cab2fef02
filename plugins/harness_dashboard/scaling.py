"""How a solver's time to a target grows with the number of points or of dimensions of one data set: the exponent."""

from __future__ import annotations

from math import log
from statistics import fmean
from typing import TYPE_CHECKING, Any

from harness.report.figures import is_number
from harness_dashboard.numbers import rounded
from harness_dashboard.tables import TARGETS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

AXES = ("n_train", "n_features")
LEAST = 3  # sizes that a line is fitted to
LEVEL = 0.05  # an exponent's interval misses it with this probability


def fits(columns: Mapping[str, Any], facts: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the fits of ``log(seconds) = intercept + exponent * log(size)``, by least squares.

    columns : of a table
    facts : of the problem of each row

    There is one for each solver, target, and data set that was drawn in three sizes or more: over different data sets a line
    would compare easy with hard ones. Several problems of one size (a sweep over C) are one point, their geometric mean.
    """
    times: dict[tuple[Any, ...], dict[float, list[float]]] = {}
    nothing = [None] * len(facts)
    rows = zip(facts, *(columns.get(name, nothing) for name in ("solver", "target_gap", "seconds_to")), strict=True)
    for fact, solver, asked, spent in rows:
        family = str(fact.get("set") or "?").partition("[")[0]
        for axis, (target, seconds) in ((axis, each) for axis in AXES for each in enumerate(spent or ())):
            # a run was made for its own target: what it did after a smaller one is no measurement of that
            reached = is_number(seconds) and seconds > 0 and TARGETS[target] >= (asked or 0.0) * (1 - 1e-9)
            if reached and is_number(size := fact.get(axis)) and size > 0:
                key = axis, str(fact.get("formulation") or ""), family, target, solver
                times.setdefault(key, {}).setdefault(float(size), []).append(log(seconds))
    names = "axis", "formulation", "family", "target", "solver"
    return [dict(zip(names, key, strict=True)) | _line(of) for key, of in sorted(times.items()) if len(of) >= LEAST]


def _line(times: Mapping[float, Sequence[float]]) -> dict[str, Any]:
    from scipy.stats import linregress, t

    sizes = sorted(times)
    line = linregress([log(size) for size in sizes], [fmean(times[size]) for size in sizes])
    room = t.ppf(1 - LEVEL / 2, len(sizes) - 2) * line.stderr
    ends = [line.slope, line.slope - room, line.slope + room]
    return {
        "points": len(sizes), "exponent": [rounded(float(each), 4) for each in ends],
        "intercept": rounded(float(line.intercept), 6), "sizes": [rounded(sizes[0]), rounded(sizes[-1])],
    }  # fmt: skip
