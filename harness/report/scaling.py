"""How a solver's time to a target grows with the number of points or of dimensions of one data set: the exponent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import isinf, log
from statistics import fmean
from typing import Any

from harness.report.figures import is_number
from harness.report.timing import TARGETS

AXES = {"n_train": "points, n", "n_features": "dimensions, d"}
LEAST = 3  # sizes that a line is fitted to
LEVEL = 0.05  # an exponent's interval misses it with this probability

Times = tuple[Mapping[str, Any], Any, float | None, Sequence[float | None] | None]
"""The facts of a problem, a solver, the target of its runs, and their seconds to each of `TARGETS`: infinite if never."""


def fits(rows: Iterable[Times]) -> list[dict[str, Any]]:
    """Return the fits of ``log(seconds) = intercept + exponent * log(size)``, by least squares.

    There is one for each solver, target, and data set that was drawn in three sizes or more: over different data sets a line
    would compare easy with hard ones. Several problems of one size (a sweep over C) are one point, their geometric mean.
    """
    times: dict[tuple[Any, ...], dict[float, list[float]]] = {}
    for fact, solver, own_target, spent in rows:
        for axis, (target, seconds) in ((axis, each) for axis in AXES for each in enumerate(spent or ())):
            # a run was made for its own target: what it did after a smaller one is no measurement of that
            late = not seconds or isinf(seconds) or TARGETS[target] < (own_target or 0.0) * (1 - 1e-9)
            if seconds and not late and is_number(size := fact.get(axis)) and size > 0:
                key = axis, str(fact.get("formulation") or ""), family(fact.get("set")), target, solver
                times.setdefault(key, {}).setdefault(float(size), []).append(log(seconds))
    names = "axis", "formulation", "family", "target", "solver"
    return [dict(zip(names, key, strict=True)) | _line(of) for key, of in sorted(times.items()) if len(of) >= LEAST]


def family(dataset: object) -> str:
    """Return the name of a data set without its parameters."""
    return str(dataset or "?").partition("[")[0]


def _line(times: Mapping[float, Sequence[float]]) -> dict[str, Any]:
    from scipy.stats import linregress, t

    sizes = sorted(times)
    line = linregress([log(size) for size in sizes], [fmean(times[size]) for size in sizes])
    room = t.ppf(1 - LEVEL / 2, len(sizes) - 2) * line.stderr
    ends = [line.slope, line.slope - room, line.slope + room]
    found = {"points": len(sizes), "exponent": list(map(float, ends)), "intercept": float(line.intercept)}
    return found | {"sizes": [sizes[0], sizes[-1]]}
