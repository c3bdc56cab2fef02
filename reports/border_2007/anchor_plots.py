"""The pictures of the anchor and of Figure 16: accuracy over labels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

from reports.border_2007 import figure16
from reports.border_2007.anchor import (
    ANCHORS,
    BENCHMARK,
    BENCHMARK_UNIFORM,
    FULL_SEARCH,
    RANDOM,
    RETRAINED,
    RETRAINED_UNIFORM,
    SMALL_POOL,
    Areas,
    Curve,
)
from reports.border_2007.anchor_tables import NAMES
from reports.border_2007.plan import PLAN
from reports.kit.pictures import grid, save
from reports.kit.results import Results

STYLES = {
    FULL_SEARCH: ("#D55E00", "-"),
    SMALL_POOL: ("#E69F00", "-"),
    RETRAINED: ("#0072B2", "--"),
    BENCHMARK: ("#222222", ":"),
    RANDOM: ("#777777", "-"),
    RETRAINED_UNIFORM: ("#009E73", "--"),
    BENCHMARK_UNIFORM: ("#BBBBBB", ":"),
}


def averaged(curves: list[Curve], points: int = 60) -> tuple[Any, Any]:
    """Return labels, geometrically spaced over the range that all curves share, and the mean of the curves there."""
    begin, end = max(each[0][0] for each in curves), min(each[-1][0] for each in curves)
    labels = np.unique(np.geomspace(begin, end, points).round())
    return labels, np.mean([np.interp(labels, *zip(*each, strict=True)) for each in curves], axis=0)


def _plain(axis: Any, ticks: tuple[float, ...]) -> None:
    """Write numbers on a logarithmic axis as they are, and no others."""
    axis.set_major_locator(mpl.ticker.FixedLocator(ticks))
    axis.set_major_formatter(mpl.ticker.ScalarFormatter())
    axis.set_minor_formatter(mpl.ticker.NullFormatter())


def _legend(figure: Any, panels: Any) -> None:
    """Put one legend of all panels below them."""
    found = [axes.get_legend_handles_labels() for axes in panels.flat]
    handles = {label: handle for each in found for handle, label in zip(*each, strict=True)}
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=3, frameon=False, fontsize=8)


def aubc(results: Results, path: Path) -> bool:
    """Draw the mean learning curves of the sets, a panel each."""
    areas = Areas.of(results)
    names = [name for name in ANCHORS if any(areas.curves(name, solver) for solver in STYLES)]
    if not names:
        return False
    figure, panels = grid(len(names), height=2.9, legend=0.6)
    for axes, name in zip(panels.flat, names, strict=False):
        for solver, (colour, line) in STYLES.items():
            curves = areas.curves(name, solver)
            if curves:
                axes.plot(*averaged(curves), line, color=colour, linewidth=1.2, label=NAMES[solver])
        axes.set(title=name, xscale="log", xlabel="labels", ylabel="accuracy")
        _plain(axes.xaxis, (20, 50, 100, 200, 500, 2000))
        axes.grid(alpha=0.25)
    _legend(figure, panels)
    return save(figure, path)


def figure_16(results: Results, path: Path) -> bool:
    """Draw the mean test error of each method of Figure 16 over labels."""
    areas = figure16.curves_of(results)
    names = [
        name for name in dict(PLAN.divisions) if any(areas.curves(name, solver) for solver in figure16.METHODS.values())
    ]
    if not names:
        return False
    figure, panels = grid(len(names), height=3.4, legend=0.4)
    for axes, name in zip(panels.flat, names, strict=False):
        for (method, solver), (colour, line) in zip(figure16.METHODS.items(), figure16.STYLES, strict=True):
            curves = areas.curves(name, solver)
            if curves:
                labels, accuracy = averaged(curves)
                axes.plot(labels, 100.0 * (1.0 - accuracy), line, color=colour, linewidth=1.2, label=method)
        axes.set(title=name, xlabel="labels", ylabel="test error, %", yscale="log")
        _plain(axes.yaxis, (0.2, 0.5, 1, 2, 5, 10))
        axes.grid(alpha=0.25, which="both")
    _legend(figure, panels)
    return save(figure, path)


PICTURES = {"aubc": aubc, "figure16": figure_16}
