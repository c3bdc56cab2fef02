"""Time to gap: how fast each solver came how near to the optimum, in the terminal and as a figure."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from harness.report import figures, layout, output, paths, pictures, timing
from harness.report.rows import Group, Row, grouped, is_cell, is_path, short_name
from harness.run.record import Record
from harness.support.errors import UsageError

Curve = list[tuple[float, float]]
"""Seconds and certified relative gaps, both above 0."""

SECONDS = {"cpu": "CPU seconds", "wall": "wall seconds"}
STEPS = {"drawstyle": "steps-post"}
_HEIGHT = 16  # lines of a panel in the terminal
_PANELS = 4  # in the terminal
_UNBROKEN = "\N{NO-BREAK SPACE}"
_EXTRAS = {"plotext": ("--plot", "plot"), "matplotlib": ("result.plot()", "report")}


@dataclass
class Panel:
    """One panel of a picture, and a curve in it for each solver.

    missing : solvers that were run here and have no value
    strokes : intervals and fitted lines, of a solver or, with an empty name, of nobody
    log : the axes that are logarithmic
    style : what of a solver's style is replaced
    note : a sentence below the picture
    bars : the curves are a value and a place each, a bar where the axis is linear, and this is their order
    path : of `harness.report.paths.grids`, whose errors are drawn
    """

    title: str
    x: str
    y: str
    curves: dict[str, Curve] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)
    strokes: list[tuple[str, Curve]] = field(default_factory=list)
    log: str = "xy"
    style: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""
    bars: Sequence[str] = ()
    path: Mapping[str, Any] = field(default_factory=dict)


def check(library: str) -> None:
    """Refuse to draw without the library that draws.

    Raises
    ------
    UsageError : it is not installed.
    """
    what, extra = _EXTRAS[library]
    if importlib.util.find_spec(library) is None:
        raise UsageError(f"{what} needs {library}, which is not installed; run `pip install 'svm-harness[{extra}]'`.")


def panels(groups: Sequence[Group]) -> list[Panel]:
    """Return what there is to draw: of each row the run of median time, its trace and its end; paths have no curve."""
    found = []
    for unit in (unit for group in groups for unit in group.units if not is_path(unit.rows[0].first)):
        _, clock = timing.clocks([record for row in unit.rows for record in row.measured])
        # one quantity a panel: the gap, unless some model has none and a dual of another run gives all a suboptimality
        figure = "suboptimality" if any(row.borrows_dual for row in unit.rows) else "relative_gap"
        curves = {row.name: curve for row in unit.rows if (curve := _curve(row, clock, figure))}
        missing = [row.name for row in unit.rows if row.begun and row.name not in curves]
        found.append(Panel(title(unit), SECONDS[clock], figure.replace("_", " "), curves, missing, style=STEPS))
    return found


def title(unit: Group) -> str:
    """Return the data set and the kernel of a panel."""
    return ", ".join(filter(None, (short_name(unit.dataset), unit.kernel)))


def _curve(row: Row, clock: str, figure: str) -> Curve:
    """Return the points of the run of median time; what rounding hides of a gap is at its rounding."""
    runs = sorted(row.measured, key=lambda run: timing.seconds(run, "fit_seconds") or 0.0)
    if not runs:
        return []
    run = runs[(len(runs) - 1) // 2]
    at = "cpu_seconds" if clock == "cpu" else "seconds"
    pairs = [(point.get(at), max(gap, point.get("gap_rounding") or 0.0))
             for point in timing.points(run) if figures.is_number(gap := point.get(figure))]  # fmt: skip
    return sorted({(at, gap) for at, gap in pairs if figures.is_number(at) and at > 0.0 and gap > 0.0})


# -- the terminal ------------------------------------------------------------------------------------------


def text(records: Sequence[Record], *, width: int = output.PIPE_WIDTH, styled: bool = False) -> str:
    """Return the first panels as text, and of paths, each followed by its cells, the errors of the cells.

    Each solver has a marker of its own; if ``styled``, curves have colours.
    """
    groups = grouped([record for record in records if not is_cell(record)])
    drawn = [panel for panel in panels(groups) if panel.curves]
    looks = pictures.looks(row.name for group in groups for row in group.rows)
    grids = paths.grids(records)
    lines = [line for path in grids[:_PANELS] for line in paths.lines(path, width)]
    lines += [line for panel in drawn[:_PANELS] for line in _text(panel, looks, width, styled=styled)]
    if left := max(0, len(grids) - _PANELS) + max(0, len(drawn) - _PANELS):
        lines += layout.paragraph(f"{left} more to draw: result.plot() in Python and --format html draw all.", width)
    return "\n".join(["", *(lines or ["Nothing to draw: no run has a certified gap."])]) + "\n"


def _text(panel: Panel, looks: Mapping[str, int], width: int, *, styled: bool) -> list[str]:
    check("plotext")
    import plotext

    logs = {name: [(math.log10(at), math.log10(gap)) for at, gap in curve] for name, curve in panel.curves.items()}
    plot, marks = plotext.figure, {name: pictures.in_a_terminal(looks[name]) for name in logs}
    plotext.terminal.limit(False, False)  # of the terminal of this process; the picture may go elsewhere
    plot.clear()
    plot.theme("colorless")
    plot.plot_size(width, _HEIGHT)
    for name, curve in logs.items():
        plot.draw(plot.signal(*zip(*curve, strict=True), marker=plotext.marker(*marks[name])).lines())
    points = [point for curve in logs.values() for point in curve]
    for axis, values in zip("xy", zip(*points, strict=True), strict=True):
        low, high = math.floor(min(values)), math.ceil(max(values))
        places = list(range(low, high + 1, max(1, (high - low) // 6)))
        plot.ruler(axis).lim(low, high).ticks(places, [f"1e{place}" for place in places])
    lines = str(plot.build()) if styled else plotext.uncolorize(str(plot.build()))
    names = "   ".join(f"{sign} {name}".replace(" ", _UNBROKEN) for name, (sign, _) in marks.items())
    legend = [line.replace(_UNBROKEN, " ") for line in layout.paragraph(names, width)]
    head = layout.paragraph(f"{panel.title}: {panel.y} (up) against {panel.x}", width)
    absent = layout.paragraph(f"No {panel.y}: {', '.join(panel.missing)}.", width) if panel.missing else []
    return [*head, *legend, *map(str.rstrip, lines.splitlines()), *absent, ""]
