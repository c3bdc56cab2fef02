"""Time to gap: how fast each solver came how near to the optimum, in the terminal and as a figure."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.report import figures, layout, path_table, pictures, timing
from harness.report.rows import Row, grouped, short_name
from harness.support.errors import UsageError

if TYPE_CHECKING:
    from harness.run.record import Record

Curve = list[tuple[float, float]]
"""Seconds and certified relative gaps, both above 0."""

_WIDTH, _HEIGHT = 80, 16  # columns and lines of a panel in the terminal, at most
_PANELS = 4  # in the terminal
_UNBROKEN = "\N{NO-BREAK SPACE}"
_EXTRAS = {"plotext": ("--plot", "plot"), "matplotlib": ("result.plot()", "report")}


@dataclass(frozen=True)
class Panel:
    """The curves of one data set, kernel and problem.

    clock : ``cpu`` or ``wall``
    missing : solvers that were run and have no curve
    """

    title: str
    clock: str
    curves: dict[str, Curve]
    missing: list[str]


def check(library: str) -> None:
    """Refuse to draw without the library that draws.

    Raises
    ------
    UsageError : it is not installed.
    """
    what, extra = _EXTRAS[library]
    if importlib.util.find_spec(library) is None:
        raise UsageError(f"{what} needs {library}, which is not installed; run `pip install 'svm-harness[{extra}]'`.")


def panels(records: Sequence[Record]) -> list[Panel]:
    """Return what there is to draw: of each row the run of median time, its trace and its end; paths have no curve."""
    found = []
    for unit in (unit for group in grouped(path_table.without_paths(records)) for unit in group.units):
        _, clock = timing.clocks([record for row in unit.rows for record in row.measured])
        curves = {row.name: curve for row in unit.rows if (curve := _curve(row, clock))}
        title = ", ".join(filter(None, (short_name(unit.dataset), unit.kernel)))
        found.append(
            Panel(title, clock, curves, [row.name for row in unit.rows if row.begun and row.name not in curves])
        )
    return found


def _curve(row: Row, clock: str) -> Curve:
    """Return the points of the run of median time; what rounding hides of a gap is at its rounding."""
    runs = sorted(row.measured, key=lambda run: run.get("fit_seconds") or 0.0)
    if not runs:
        return []
    run = runs[(len(runs) - 1) // 2]
    points = [*(run.get("trace") or ()), {**run, "seconds": run.get("fit_seconds")}]
    pairs = [(point.get("cpu_seconds" if clock == "cpu" else "seconds"), max(gap, point.get("gap_rounding") or 0.0))
             for point in points if figures.is_number(gap := point.get("relative_gap"))]  # fmt: skip
    return sorted({(at, gap) for at, gap in pairs if figures.is_number(at) and at > 0.0 and gap > 0.0})


# -- the terminal ------------------------------------------------------------------------------------------


def text(records: Sequence[Record], *, width: int = _WIDTH, styled: bool = False) -> str:
    """Return the first panels as text, at most 80 columns wide; each solver has a marker of its own, and if ``styled`` a colour."""
    check("plotext")
    drawn, width = [panel for panel in panels(records) if panel.curves], min(width, _WIDTH)
    looks = pictures.looks(row.name for group in grouped(records) for row in group.rows)
    lines = [line for panel in drawn[:_PANELS] for line in _text(panel, looks, width, styled=styled)]
    if len(drawn) > _PANELS:
        more = f"{len(drawn) - _PANELS} more to draw: result.plot() in Python and --format html draw all."
        lines += layout.paragraph(more, width)
    return "\n".join(["", *(lines or ["Nothing to draw: no run has a certified gap."])]) + "\n"


def _text(panel: Panel, looks: Mapping[str, int], width: int, *, styled: bool) -> list[str]:
    import plotext

    logs = {name: [(math.log10(at), math.log10(gap)) for at, gap in curve] for name, curve in panel.curves.items()}
    plot = plotext.figure
    plot.clear()
    plot.theme("colorless")
    plot.plot_size(width, _HEIGHT)
    names = [f"{pictures.in_a_terminal(looks[name])[0]} {name}".replace(" ", _UNBROKEN) for name in logs]
    for name, curve in logs.items():
        plot.draw(
            plot.signal(*zip(*curve, strict=True), marker=plotext.marker(*pictures.in_a_terminal(looks[name]))).lines()
        )
    points = [point for curve in logs.values() for point in curve]
    for axis, values in zip("xy", zip(*points, strict=True), strict=True):
        low, high = math.floor(min(values)), math.ceil(max(values))
        places = list(range(low, high + 1, max(1, (high - low) // 6)))
        plot.ruler(axis).lim(low, high).ticks(places, [f"1e{place}" for place in places])
    lines = str(plot.build()) if styled else plotext.uncolorize(str(plot.build()))
    head = f"{panel.title}: relative gap (up) against {'CPU ' if panel.clock == 'cpu' else ''}seconds"
    legend = [line.replace(_UNBROKEN, " ") for line in layout.paragraph("   ".join(names), width)]
    return [*layout.paragraph(head, width), *legend, *map(str.rstrip, lines.splitlines()), ""]
