"""The anytime traces as the pages need them: few points, and only of the newest runs of a cell."""

from __future__ import annotations

from decimal import ROUND_CEILING, Context
from typing import TYPE_CHECKING, Any

from harness import is_number, places
from harness_dashboard.numbers import rounded
from harness_dashboard.records import read_file

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

Point = dict[str, Any]

TARGETS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
"""The certified relative gaps that performance profiles are drawn for."""

POINTS = 32
_FIGURES = (
    "seconds",
    "cpu_seconds",
    "kernel_evaluations",
    "labels_used",
    "relative_gap",
    "test_accuracy",
    "support_vectors",
    "epsilon",
    "gap_rounding",
)


def thinned(trace: Sequence[Point], points: int = POINTS) -> list[Point]:
    """Return at most about ``points`` points of a trace with the figures that are drawn.

    The first, the last and those at which a target was first reached are always among them, so that thinning changes
    no performance profile.
    """
    wanted = {0, len(trace) - 1, *(place for place in places(trace, TARGETS) if place is not None)}
    if len(trace) > points:
        wanted.update(round(i * (len(trace) - 1) / (points - 1)) for i in range(points))
    else:
        wanted.update(range(len(trace)))
    return [
        {
            name: upward(point[name]) if name == "relative_gap" else _rounded(point[name])
            for name in _FIGURES
            if is_number(point.get(name))
        }
        for place, point in enumerate(trace)
        if place in wanted
    ]


def _rounded(value: float) -> float | int:
    return value if isinstance(value, int) else rounded(value, 4)


def upward(gap: float, digits: int = 4) -> float:
    """Return a gap with a few significant digits, none below the measured one: rounding must not reach a target."""
    return float(Context(prec=digits, rounding=ROUND_CEILING).create_decimal(repr(float(gap))))


def prune(folder: Path, environment: str) -> None:
    """Drop the traces of exported runs whose cell was measured at a newer commit: no page shows them.

    environment : what the names of the environments of exported results begin with
    """
    holding = [path for path in folder.glob(f"*-{environment}*.json") if b'"trace":' in path.read_bytes()]
    files = sorted((read_file(path) for path in holding), key=lambda file: file.commit_time or 0, reverse=True)
    seen: set[tuple[str, str, str, str]] = set()
    for file in files:
        keys = [(file.machine, file.environment, record["solver"], record["dataset"]) for record in file.records]
        stale = [
            record for key, record in zip(keys, file.records, strict=True) if key in seen and record.pop("trace", None)
        ]
        seen.update(key for key, record in zip(keys, file.records, strict=True) if record.get("trace"))
        if stale:
            file.write(folder)
