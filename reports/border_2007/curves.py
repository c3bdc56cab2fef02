"""Learning curves: means over the runs of a solver, at numbers of labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from reports.kit.results import Results

Value = Callable[[Mapping[str, Any]], float | None]
"""Takes a point of a trace."""


@dataclass(frozen=True)
class Curve:
    """A mean over runs.

    labels : (m,) numbers of labels, on a ladder of equal ratios and at the end of the shortest run
    mean, deviation : (m,) over the runs; the deviation of one run is 0
    """

    labels: Any
    mean: Any
    deviation: Any
    runs: int


def metric(name: str) -> Value:
    """Return what looks up a metric of a point of a trace, in percent."""

    def value(point: Mapping[str, Any]) -> float | None:
        found = (point.get("metrics") or {}).get(name)
        return None if found is None else 100.0 * float(found)

    return value


def support_ratio(point: Mapping[str, Any]) -> float | None:
    """Return SV- / SV+ of a point of a trace or of a row, None without a support vector of the positives."""
    support, positive = point.get("support_vectors"), point.get("positive_support_vectors")
    return (support - positive) / positive if positive and support is not None else None


def learning_curve(results: Results, name: str, solver: str, value: Value, points: int = 60) -> Curve | None:
    """Return the mean curve of a solver on a set; between the points of a trace it goes straight over log labels.

    None where no run has two points.
    """
    runs = []
    for row in results.of(name, solver):
        found = {
            point["labels_used"]: figure
            for point in row["trace"]
            if point.get("labels_used") and (figure := value(point)) is not None
        }
        if len(found) > 1:
            runs.append((np.log(sorted(found)), np.array([found[labels] for labels in sorted(found)])))
    if not runs:
        return None
    first, last = max(labels[0] for labels, _ in runs), min(labels[-1] for labels, _ in runs)
    if last <= first:
        return None
    at = np.linspace(first, last, points)
    together = np.array([np.interp(at, labels, figures) for labels, figures in runs])
    deviation = together.std(axis=0, ddof=1) if len(runs) > 1 else np.zeros(points)
    return Curve(np.exp(at), together.mean(axis=0), deviation, len(runs))
