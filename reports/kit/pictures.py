"""Pictures of matplotlib: a panel a set, a line a solver."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd

mpl.use("agg")

import matplotlib.pyplot as plt

from harness.report import pictures
from harness.report.pictures import grid, legend, plain
from reports.kit.rows import IDENTITY, REPETITION, grouped

__all__ = ["COLOURS", "dots", "grid", "legend", "lines", "plain", "plt"]

# panels are small
mpl.rcParams.update({"axes.titlesize": 9, "axes.labelsize": 9, "xtick.labelsize": 7, "ytick.labelsize": 7})
COLOURS = (*pictures.COLOURS, "#999933", "#882255")


def lines(
    points: pd.DataFrame, x: str, y: str, *, panel: str = "set", line: str = "solver", colours: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None, style: str = "-", columns: int = 4, over: Sequence[str] | None = REPETITION,
    bounds: pd.DataFrame | None = None, **axes_options: Any,
) -> Any:  # fmt: skip
    """Return a figure of ``y`` over ``x``: a panel for each value of ``panel``, the mean of each ``line`` with its range.

    None where no panel has a line of two points. A line is of one formulation and kernel, a point is a group of
    `reports.kit.rows.grouped`; ``over=None``: the points are no runs, and are drawn as they are. ``bounds``: points of stopped
    runs, below the values they would have, drawn as triangles after the line.
    """  # fmt: skip
    points = points.dropna(subset=[x, y])
    if over is not None:
        free = [name for name in IDENTITY if name not in ("formulation", "kernel")]
        grouped(points.drop_duplicates([panel, line, "run"]), [panel, line], ["run"], free)
        grouped(points.drop_duplicates([panel, line, x, "run"]), [panel, line, x], over)
    enough = points.groupby([panel, line])[x].transform("nunique") > 1
    names = list(dict.fromkeys(points.loc[enough, panel]))
    if not names:
        return None
    known = colours or dict(zip(dict.fromkeys(points[line]), COLOURS, strict=False))
    figure, panels = grid(len(names), columns=columns)
    handles: dict[str, Any] = {}
    for axes, name in zip(panels, names, strict=True):
        for solver, points_of_line in points[points[panel] == name].groupby(line, sort=False):
            if solver not in known:
                continue
            at = points_of_line.groupby(x)[y]
            middle, least, most = at.mean(), at.min(), at.max()
            (handles[str(solver)],) = axes.plot(middle.index, middle, style, color=known[str(solver)], linewidth=1.3)
            if (most > least).any():
                axes.fill_between(middle.index, least, most, color=known[str(solver)], alpha=0.15, linewidth=0)
            of_line = (bounds[panel] == name) & (bounds[line] == solver) if bounds is not None else []
            if np.any(of_line):
                how = {"color": known[str(solver)], "markerfacecolor": "white", "markersize": 6, "linewidth": 1.0}
                before = middle.tail(1) if "-" in style else middle.head(0)
                after = pd.concat([before, bounds[of_line].set_index(x)[y]]).sort_index()
                axes.plot(after.index, after, ":^" if len(before) else "^", markevery=slice(len(before), None), **how)
        axes.set(title=name, **axes_options)
        if axes.get_xscale() == "linear":
            axes.locator_params(axis="x", integer=True, nbins=6)
        axes.grid(alpha=0.25)
    legend(plain(figure), {(labels or {}).get(name, name): handle for name, handle in handles.items()})
    return figure


def dots(
    values: pd.DataFrame, title: str, colours: Sequence[str] = COLOURS, *, spread: pd.DataFrame | None = None,
    yscale: str = "log",
) -> Any:  # fmt: skip
    """Return a figure of points: a group for each row of ``values``, a colour for each column, with bars of ``spread``.

    None where there is no value; a column without one has no entry in the legend.
    """
    values = values.dropna(how="all").dropna(how="all", axis="columns")
    if values.empty:
        return None
    figure, axes = plt.subplots(figsize=(max(8.0, 0.7 * len(values)), 3.4), layout="constrained")
    handles = {}
    for place, (name, column) in enumerate(values.items()):
        x = np.arange(len(values)) + (place - (len(values.columns) - 1) / 2) * 0.5 / len(values.columns)
        colour = colours[place % len(colours)]
        (handles[str(name)],) = axes.plot(x, column, "o", color=colour, markersize=5)
        if spread is not None:
            axes.errorbar(x, column, yerr=spread.loc[column.index, name], fmt="none", ecolor=colour)
    axes.set_xticks(range(len(values)), [str(name) for name in values.index], rotation=20, ha="right", fontsize=8)
    axes.set_title(title, fontsize=9, loc="left")
    axes.set_yscale(yscale)
    axes.grid(alpha=0.25, axis="y")
    legend(plain(figure), handles)
    return figure
